"""From a ref to the very element that was seen, or a refusal that says what changed."""

from __future__ import annotations

import asyncio
import contextlib

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import attrs

from toolcrib import Failed, Refused

from .desk import Desk
from .failing import with_look
from .observing import look
from .origins import origin_of, shown_url
from .outline import Node, parse
from .tabs import Look, Tab


if TYPE_CHECKING:
    from playwright.async_api import Frame, JSHandle


__all__ = ["Element", "Sight"]

_RESOLVE = 500
#: Run on an element before something is done with it: facts, and a guard that stops a
#: press if the element reads differently when it comes than it does now.
_GUARD = """e => {
  const words = () => [e.getAttribute('aria-label'), e.getAttribute('href'),
    (e.textContent || '').slice(0, 2000), e.tagName === 'INPUT' ? e.type : '',
    ['submit', 'button', 'reset'].includes(e.type) ? e.value : ''].join('\\u0000');
  const before = words();
  const state = {stopped: false, open: true};
  const names = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'auxclick',
    'contextmenu', 'dblclick'];
  const listen = event => {
    if (!state.open || !event.isTrusted || !event.composedPath().includes(e)) return;
    if (event.type === 'pointerdown') {
      if (words() === before) { state.open = false; return; }
      state.stopped = true;
    }
    if (!state.stopped) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  const view = e.ownerDocument.defaultView;
  // One that a cancelled call left behind must not stop the press of another.
  const key = Symbol.for('toolcrib.guard');
  if (view[key]) view[key]();
  for (const name of names) view.addEventListener(name, listen, true);
  state.end = view[key] = () => {
    state.open = false;
    for (const name of names) view.removeEventListener(name, listen, true);
    return state.stopped;
  };
  return state;
}"""
_FACTS = """e => ({
  tag: e.tagName.toLowerCase(),
  type: (e.type || '').toString().slice(0, 40),
  auto: (e.getAttribute('autocomplete') || '').slice(0, 200),
  editable: e.isContentEditable === true,
  names: [e.name, e.id, e.getAttribute('aria-label'), e.placeholder, e.title,
    ...[...(e.labels || [])].slice(0, 3).map(l => (l.textContent || '').slice(0, 200))]
    .filter(x => typeof x === 'string' && x).map(x => x.slice(0, 200)),
})"""


@attrs.define(kw_only=True)
class Element:
    """An element that was looked at again, and is what it was.

    Attributes:
        ref: Its ref.
        node: How it reads.
        handle: Playwright's hold on it: a handle, or for a press its locator.
        origin: Origin of the frame that it is in.
        facts: Tag, type and names of a field, once learned.
        stopped: Whether the guard stopped a press, once it has ended.
    """

    ref: str
    node: Node
    handle: Any
    origin: str
    facts: dict[str, Any] = attrs.field(factory=dict)
    stopped: bool = False
    _guard: JSHandle | None = None

    async def learn(self) -> None:
        """Find out about a field."""
        self.facts = await self.handle.evaluate(_FACTS)

    async def arm(self) -> None:
        """From now on, stop a press if the element reads differently by then."""
        # A locator waits for its element, a handle has it.
        wait = {} if _is_handle(self.handle) else {"timeout": _RESOLVE}
        self._guard = await self.handle.evaluate_handle(_GUARD, **wait)

    async def end(self) -> None:
        """End the guard, if there is one and its document is still there."""
        guard, self._guard = self._guard, None
        if guard is None:
            return
        with contextlib.suppress(Exception):
            self.stopped = await asyncio.wait_for(guard.evaluate("s => s.end()"), 2.0)


class Sight:
    """What a caller says it saw of a page, held against how the page is now.

    Args:
        desk: The session's pages.
        tab: The page.
        snapshot: Id of what was seen.
        origin: Origin that the caller takes the page to have.
        frame_origin: Origin of the frame that refs may be in, if another one.
    """

    def __init__(
        self, desk: Desk, tab: Tab, snapshot: str, origin: str, frame_origin: str | None
    ) -> None:
        self._desk = desk
        self._tab = tab
        self._snapshot = snapshot
        self._origin = origin
        self._frame_origin = frame_origin

    async def seen(self) -> Look:
        """Return what was seen, if it was of the document that is there now.

        Raises:
            Refused: the page has another origin (``browser.origin_changed``).
            Failed: it was of another document, or is too old (``browser.stale``).
        """
        tab = self._tab
        if tab.origin != self._origin:
            text = (
                f"Page {tab.id} is at {tab.origin or shown_url(tab.url)}, not at "
                f"{self._origin}. Nothing was done; decide anew for the origin it has."
            )
            raise Refused(await with_look(self._desk, tab, text), code="browser.origin_changed")
        found = tab.looks.get(self._snapshot)
        if found is None:
            await self._stale(
                f"There is no snapshot {self._snapshot} of page {tab.id}, or newer ones have "
                "taken its place."
            )
        if found.generation != tab.generation:
            await self._stale(
                f"Page {tab.id} has gone to another document since snapshot "
                f"{self._snapshot} was taken ({shown_url(found.url)})."
            )
        return found

    async def elements(
        self, refs: Sequence[str], *, facts: bool = False, guarded: bool = False
    ) -> list[Element]:
        """Return the elements of refs, each looked at again.

        Args:
            refs: What they are called.
            facts: Whether tag, type and names of fields are wanted.
            guarded: Whether a press is to be stopped should they change until it comes.

        Raises:
            Failed: one is not what was seen any more (``browser.stale``), or its frame
                has no origin that can be named (``browser.opaque_frame``).
            Refused: its frame has another origin (``browser.frame_origin``).
        """
        seen = await self.seen()
        for ref in refs:
            if ref not in seen.refs:
                await self._stale(f"Snapshot {seen.id} shows no element {ref}.")
        found = await self._quickly(seen, refs, facts=facts, guarded=guarded)
        if found is None:
            fresh = await self._fresh(seen, refs)
            found = [
                await self._element(ref, fresh[ref], facts=facts, guarded=guarded)
                for ref in refs
            ]
        for element in found:
            if seen.outline.is_framed(element.ref):
                await self._in_frame(element, seen.frames)
        return found

    async def _quickly(
        self, seen: Look, refs: Sequence[str], *, facts: bool, guarded: bool
    ) -> list[Element] | None:
        """Look at one element alone; None where that does not say that it is the same."""
        tab = self._tab
        if len(refs) != 1 or not tab.whole:
            return None
        ref, before = refs[0], seen.outline.node(refs[0])
        if before is None:
            return None
        locator = tab.page.locator(_of(ref))
        # A press needs no hold on the element beyond its ref: one question less.
        quick = guarded and not facts and not seen.outline.is_framed(ref)
        handle: Any = locator if quick else await tab.ask(tab.page.query_selector(_of(ref)))
        if handle is None:
            return None
        element = Element(ref=ref, node=before, handle=handle, origin=self._origin)
        tab.whole = False
        # The guard comes first: what changes after it is noticed by it.
        *others, text = await tab.ask(
            asyncio.gather(
                element.arm() if guarded else _nothing(),
                element.learn() if facts else _nothing(),
                locator.aria_snapshot(mode="ai", depth=1, timeout=_RESOLVE),
                return_exceptions=True,
            )
        )
        if not any(isinstance(each, BaseException) for each in (*others, text)):
            nodes = parse(str(text)).nodes
            if nodes and nodes[0].fingerprint() == before.fingerprint():
                return [element]
        await element.end()
        return None

    async def _fresh(self, seen: Look, refs: Sequence[str]) -> dict[str, Node]:
        """Look at the whole page again."""
        tab = self._tab
        now = await look(self._desk, tab)
        found: dict[str, Node] = {}
        for ref in refs:
            before, after = seen.outline.node(ref), now.outline.node(ref)
            if after is None or before is None:
                was = f" ({before.line()[2:202]})" if before is not None else ""
                await self._stale(f"Element {ref}{was} is not in page {tab.id} any more.")
            if before.fingerprint() != after.fingerprint():
                await self._stale(
                    f"Element {ref} has changed: it was {before.line()[2:202]}, and is now "
                    f"{after.line()[2:202]}."
                )
            found[ref] = after
        return found

    async def _element(self, ref: str, node: Node, *, facts: bool, guarded: bool) -> Element:
        tab = self._tab
        handle = await tab.ask(tab.page.query_selector(_of(ref)))
        if handle is None:
            await self._stale(f"Element {ref} is not in page {tab.id} any more.")
        element = Element(ref=ref, node=node, handle=handle, origin=self._origin)
        if guarded:
            await tab.ask(element.arm())
        if facts:
            await tab.ask(element.learn())
        return element

    async def _in_frame(self, element: Element, frames: int) -> None:
        """See whether a frame's document is the one that was seen, and its origin judged."""
        ref = element.ref
        frame = await self._tab.ask(element.handle.owner_frame())
        if self._tab.moved_since(frame, frames):
            await self._stale(f"The frame of {ref} has another document by now.")
        element.origin = await self._frame(ref, frame)

    async def _frame(self, ref: str, frame: Frame | None) -> str:
        """Return the origin of an element's frame, if the call was judged for it."""
        origin = await _origin_of_frame(frame)
        if not origin:
            text = (
                f"Element {ref} is in a frame without an origin of its own (sandboxed, or of a "
                "data: address). Nothing was done."
            )
            raise Failed(text, code="browser.opaque_frame")
        if origin in {self._origin, self._frame_origin}:
            return origin
        text = (
            f"Element {ref} is in a frame of {origin}, another origin than the page's. "
            f"Nothing was done; call again with frame_origin={origin}, which is judged anew."
        )
        raise Refused(text, code="browser.frame_origin")

    async def _stale(self, text: str, cause: BaseException | None = None) -> NoReturn:
        whole = f"{text} Nothing was done. Act on the snapshot below."
        raise Failed(
            await with_look(self._desk, self._tab, whole), code="browser.stale"
        ) from cause


def _of(ref: str) -> str:
    return f"aria-ref={ref}"


def _is_handle(hold: Any) -> bool:
    return hasattr(hold, "owner_frame")


async def _nothing() -> None:
    """Stand in where nothing is wanted."""


async def _origin_of_frame(frame: Frame | None) -> str:
    """Return the origin of a frame, or nothing if it is opaque."""
    while frame is not None:
        parent = frame.parent_frame
        if parent is not None:
            holder = await frame.frame_element()
            sandbox = await holder.get_attribute("sandbox")
            if sandbox is not None and "allow-same-origin" not in sandbox.lower().split():
                return ""
        try:
            return origin_of(frame.url)
        except ValueError:
            if frame.url not in {"about:blank", "about:srcdoc", ""}:
                return ""
        frame = parent
    return ""
