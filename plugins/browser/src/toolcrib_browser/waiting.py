"""How ``browser.wait`` works: until something is so, told by the browser and not by a clock."""

from __future__ import annotations

import asyncio

from typing import Annotated, Any, Literal

import attrs

from toolcrib import Between, Context, Failed, Length, Refused, Result, ToolFailure, Transient

from .actions import Ref
from .arriving import Arrival
from .desk import Desk
from .failing import answering, is_gone, with_look
from .marks import quoted
from .moments import Moment, way_to
from .observing import View
from .parameters import SnapshotName
from .reading import expected
from .showing import shown
from .tabs import PageHungError, Tab


__all__ = ["AddressIs", "Condition", "ElementIs", "Loaded", "TextIs", "TimePasses", "Waiting"]


_DETACHED = """e => new Promise(done => {
  const look = () => e.isConnected || (watch.disconnect(), done());
  const watch = new MutationObserver(look);
  for (let root = e.getRootNode(); root; root = root.host && root.host.getRootNode())
    watch.observe(root, {childList: true, subtree: true});
  look();
})"""


@attrs.frozen(kw_only=True)
class Loaded:
    """The page has loaded so far."""

    kind: Literal["load"]
    state: Literal["domcontentloaded", "load", "networkidle"] = "load"


@attrs.frozen(kw_only=True)
class TextIs:
    """A text is there, or is gone."""

    kind: Literal["text"]
    text: Annotated[str, Length(1, 4096)]
    exact: Annotated[bool, "The whole text of an element, letter case too"] = False
    state: Literal["visible", "hidden"] = "visible"


@attrs.frozen(kw_only=True)
class AddressIs:
    """The page has an address; a star stands for any characters, the fragment is ignored."""

    kind: Literal["url"]
    url: Annotated[str, Length(1, 8192)]


@attrs.frozen(kw_only=True)
class ElementIs:
    """An element comes to a state."""

    kind: Literal["ref"]
    snapshot: SnapshotName
    ref: Ref
    state: Literal[
        "visible", "hidden", "enabled", "disabled", "editable", "attached", "detached"
    ] = "visible"


@attrs.frozen(kw_only=True)
class TimePasses:
    """Some time passes; for what nothing else can tell."""

    kind: Literal["time"]
    ms: Annotated[int, Between(0, 5000)]


Condition = Loaded | TextIs | AddressIs | ElementIs | TimePasses


class Waiting:
    """One call of ``browser.wait``."""

    def __init__(self, ctx: Context, desk: Desk, condition: Condition, seconds: float) -> None:
        self._ctx = ctx
        self._desk = desk
        self._condition = condition
        self._seconds = seconds

    async def run(self, page: str | None, origin: str | None, view: View) -> Result:
        """Wait, and look.

        Raises:
            Transient: it did not become so in time (``browser.not_yet``).
            Refused: the page wanted to go to another origin (``browser.new_origin``).
        """
        desk = self._desk
        async with desk.gate.turn():
            tab = await desk.tab(page)
            moment = Moment()
            async with answering(self._ctx, desk, tab), desk.watching(tab, moment):
                await expected(desk, tab, origin)
                before = tab.last
                arrival = Arrival(self._ctx, desk, tab, moment)
                try:
                    await tab.ask(self._wait(tab), self._seconds + 3.0)
                except Exception as error:  # noqa: BLE001 - told apart there
                    await self._not_yet(tab, moment, error)
                seen = await arrival.seen(attrs.evolve(view, since=before))
            return shown(desk, tab, seen, moment, did=f"wait for {self._words()}")

    async def _wait(self, tab: Tab) -> None:
        page, condition, limit = tab.page, self._condition, self._seconds * 1000
        if isinstance(condition, Loaded):
            await page.wait_for_load_state(condition.state, timeout=limit)
        elif isinstance(condition, TextIs):
            found = page.get_by_text(condition.text, exact=condition.exact)
            if condition.state == "visible":
                found = found.filter(visible=True)
            await found.first.wait_for(state=condition.state, timeout=limit)
        elif isinstance(condition, AddressIs):
            fits = _address(condition.url)
            await page.wait_for_url(fits, wait_until="commit", timeout=limit)
        elif isinstance(condition, TimePasses):
            await page.wait_for_timeout(condition.ms)
        else:
            await self._element(tab, condition, limit)

    async def _element(self, tab: Tab, condition: ElementIs, limit: float) -> None:
        look = tab.looks.get(condition.snapshot)
        if look is None or look.generation != tab.generation or condition.ref not in look.refs:
            text = (
                f"Snapshot {condition.snapshot} of {tab.id} shows no {condition.ref} any more."
            )
            raise Failed(await with_look(self._desk, tab, text), code="browser.stale")
        if not tab.whole:
            # Playwright knows the refs of the last whole look only.
            from .observing import look as take

            await take(self._desk, tab)
        locator = tab.page.locator(f"aria-ref={condition.ref}")
        if await locator.count() == 0:
            if condition.state in {"hidden", "detached"}:
                return
            text = f"Element {condition.ref} is not in page {tab.id} any more."
            raise Failed(await with_look(self._desk, tab, text), code="browser.stale")
        handle: Any = await locator.element_handle(timeout=1500)
        if condition.state == "detached":
            async with asyncio.timeout(limit / 1000):
                await handle.evaluate(_DETACHED)
        elif condition.state != "attached":
            await handle.wait_for_element_state(condition.state, timeout=limit)

    async def _not_yet(self, tab: Tab, moment: Moment, error: Exception) -> None:
        if isinstance(error, ToolFailure | PageHungError) or tab.dead or is_gone(error):
            raise error
        blocked = moment.blocked()
        if blocked is not None:
            text = f"While waiting, {blocked.text}.{way_to(blocked)}"
            raise Refused(await with_look(self._desk, tab, text), code="browser.new_origin")
        text = f"Not so after {self._seconds:g} s: {self._words()}."
        raise Transient(await with_look(self._desk, tab, text), code="browser.not_yet")

    def _words(self) -> str:
        condition = self._condition
        if isinstance(condition, Loaded):
            return condition.state
        if isinstance(condition, TextIs):
            gone = " to be gone" if condition.state == "hidden" else ""
            return f"the text {quoted(condition.text)}{gone}"
        if isinstance(condition, AddressIs):
            return f"the address {quoted(condition.url)}"
        if isinstance(condition, TimePasses):
            return f"{condition.ms} ms"
        return f"{condition.ref} to be {condition.state}"


def _address(pattern: str) -> Any:
    import re

    plain = pattern.partition("#")[0]
    wanted = re.compile(".*".join(map(re.escape, plain.split("*"))), re.DOTALL)
    return lambda url: wanted.fullmatch(url.partition("#")[0]) is not None
