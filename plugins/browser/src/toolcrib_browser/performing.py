"""Each action as what the browser is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from .actions import (
    Action,
    Check,
    Click,
    Drag,
    Fill,
    Hover,
    Press,
    Scroll,
    Select,
    Type,
    Upload,
)
from .elements import Element
from .guarding import Guard
from .inside import asked
from .tabs import Tab


if TYPE_CHECKING:
    from playwright.async_api import FilePayload


__all__ = ["Doing"]

# A wheel only sets scrolling off: whether it began, and has ended, is what pages are told.
_SCROLLS = """() => {
  const once = name => new Promise(done =>
    addEventListener(name, done, {capture: true, once: true}));
  return {began: once('scroll'), ended: once('scrollend')};
}"""
_SCROLLED = """async watch => {
  const late = ms => new Promise(done => setTimeout(done, ms, 'late'));
  if (await Promise.race([watch.began, late(200)]) === 'late') return;
  await Promise.race([watch.ended, late(1500)]);
}"""


@attrs.define
class Doing:
    """One action that is being performed.

    Attributes:
        tab: On which page.
        elements: Those that it names, by ref.
        values: What goes into fields, by ref; secrets included.
        files: What is uploaded.
        timeout: Seconds for the page to be ready for each step.
        steps: What was done so far, in words.
    """

    tab: Tab
    elements: Mapping[str, Element]
    values: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    files: Sequence[FilePayload] = attrs.field(factory=list, repr=False)
    timeout: float = 10.0
    steps: list[str] = attrs.field(factory=list)

    @property
    def guard(self) -> Guard | None:
        """What watches its press, if it has one."""
        return next((e.guard for e in self.elements.values() if e.guard is not None), None)

    def release(self) -> None:
        """Let go of what was only for the time of the action."""
        if self.guard is not None:
            self.guard.close()

    async def run(self, action: Action) -> None:
        """Do it."""
        limit = self.timeout * 1000
        if isinstance(action, Click):
            await self._click(action, limit)
        elif isinstance(action, Hover):
            await self._handle(action.ref).hover(timeout=limit)
        elif isinstance(action, Fill):
            await self._fill(action, limit)
        elif isinstance(action, Type):
            await self._type(action, limit)
        elif isinstance(action, Press):
            await self._press(action, limit)
        elif isinstance(action, Select):
            await self._select(action, limit)
        elif isinstance(action, Check):
            await self._check(action, limit)
        elif isinstance(action, Scroll):
            await self._scroll(action, limit)
        elif isinstance(action, Upload):
            await self._upload(action, limit)
        else:
            await self._drag(action, limit)

    def _handle(self, ref: str) -> Any:
        return self.elements[ref].handle

    async def _click(self, action: Click, limit: float) -> None:
        await self._handle(action.ref).click(
            button=action.button,
            click_count=action.count,
            modifiers=list(action.modifiers),
            timeout=limit,
        )

    async def _fill(self, action: Fill, limit: float) -> None:
        for field in action.fields:
            await self._handle(field.ref).fill(self.values[field.ref], timeout=limit)
            self.steps.append(f"filled {field.ref}")
        if action.submit:
            await self._handle(action.fields[-1].ref).press("Enter", timeout=limit)
            self.steps.append("pressed Enter")

    async def _type(self, action: Type, limit: float) -> None:
        handle = self._handle(action.ref)
        await handle.wait_for_element_state("editable", timeout=limit)
        await handle.type(action.text, timeout=max(limit, 100.0 * len(action.text)))

    async def _press(self, action: Press, limit: float) -> None:
        if action.ref is not None:
            await self._handle(action.ref).press(action.key, timeout=limit)
        else:
            await self.tab.page.keyboard.press(action.key)

    async def _select(self, action: Select, limit: float) -> None:
        options = await asked(self.tab.page, "options", action.ref, seconds=limit / 1000)
        values = [str(value) for value, _ in options]
        labels = [str(label).strip() for _, label in options]
        chosen = []
        for wanted in action.options:
            if wanted in values:
                chosen.append(values.index(wanted))
            elif wanted.strip() in labels:
                chosen.append(labels.index(wanted.strip()))
            else:
                message = f"did not find some options: {wanted}"
                raise LookupError(message)
        await self._handle(action.ref).select_option(index=chosen, timeout=limit)

    async def _check(self, action: Check, limit: float) -> None:
        await self._handle(action.ref).set_checked(action.kind == "check", timeout=limit)

    async def _scroll(self, action: Scroll, limit: float) -> None:
        page = self.tab.page
        if action.ref is not None:
            await self._handle(action.ref).scroll_into_view_if_needed(timeout=limit)
            await self._handle(action.ref).hover(timeout=limit)
        sign = -1 if action.direction in {"up", "left"} else 1
        along = sign * action.amount
        across = action.direction in {"left", "right"}
        watch = await page.evaluate_handle(_SCROLLS)
        await page.mouse.wheel(along if across else 0, 0 if across else along)
        await self.tab.ask(watch.evaluate(_SCROLLED))

    async def _upload(self, action: Upload, limit: float) -> None:
        element = self.elements[action.ref]
        files = list(self.files)
        if element.facts.get("tag") == "input" and element.facts.get("type") == "file":
            await element.handle.set_input_files(files, timeout=limit)
            return
        async with self.tab.page.expect_file_chooser(timeout=limit) as opened:
            await element.handle.click(timeout=limit)
        await (await opened.value).set_files(files, timeout=limit)

    async def _drag(self, action: Drag, limit: float) -> None:
        mouse = self.tab.page.mouse
        source, target = self._handle(action.ref), self._handle(action.to)
        await source.scroll_into_view_if_needed(timeout=limit)
        await source.hover(timeout=limit)
        await mouse.down()
        try:
            await target.scroll_into_view_if_needed(timeout=limit)
            box = await target.bounding_box()
            if box is None:
                message = "element is not visible"
                raise LookupError(message)
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            # Two moves: many pages notice a drag by the second one.
            await mouse.move(x, y, steps=5)
            await mouse.move(x, y)
        finally:
            await mouse.up()
