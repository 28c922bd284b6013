"""From a ref to the very element that was seen, or a refusal that says what changed."""

from __future__ import annotations

import asyncio

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

import attrs

from toolcrib import Failed, Refused

from .desk import Desk
from .failing import with_look
from .guarding import Guard
from .inside import asked, asking
from .observing import look
from .origins import origin_of, shown_url
from .outline import Node, parse
from .tabs import Look, Tab


if TYPE_CHECKING:
    from playwright.async_api import Frame


__all__ = ["Element", "Sight"]

_RESOLVE = 0.5


@attrs.define(kw_only=True)
class Element:
    """An element that was looked at again, and is what it was.

    Attributes:
        ref: Its ref.
        node: How it reads.
        handle: Playwright's hold on it: a handle, or for a press its locator.
        origin: Origin of the frame that it is in.
        facts: Tag, type and names of a field, if asked for.
        guard: What watches the press that is to come, if asked for.
    """

    ref: str
    node: Node
    handle: Any
    origin: str
    facts: dict[str, Any] = attrs.field(factory=dict)
    guard: Guard | None = None


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
            guarded: Whether a press on the first of them is to be watched, and stopped
                should the element change until it comes.

        Raises:
            Failed: one is not what was seen any more (``browser.stale``), or its frame
                has no origin that can be named (``browser.opaque_frame``), or a press on
                it could land in a frame (``browser.frame_inside``).
            Refused: its frame has another origin (``browser.frame_origin``).
        """
        seen = await self.seen()
        for ref in refs:
            if ref not in seen.refs:
                await self._stale(f"Snapshot {seen.id} shows no element {ref}.")
        guard = Guard(self._tab.page, self._tab.ear, refs[0]) if guarded else None
        try:
            found = await self._quickly(seen, refs, facts=facts, guard=guard)
            if found is None:
                found = await self._slowly(seen, refs, facts=facts, guard=guard)
            for element in found:
                if seen.outline.is_framed(element.ref):
                    await self._in_frame(element, seen.frames)
            if guard is not None and guard.framed:
                await self._frame_inside(refs[0])
        except BaseException:
            if guard is not None:
                guard.close()
            raise
        return found

    async def _quickly(
        self, seen: Look, refs: Sequence[str], *, facts: bool, guard: Guard | None
    ) -> list[Element] | None:
        """Look at one element alone; None where that does not say that it is the same."""
        if len(refs) != 1 or not self._tab.whole:
            return None
        before = seen.outline.node(refs[0])
        if before is None:
            return None
        # A press needs no hold on the element beyond its ref.
        held = guard is None or facts or seen.outline.is_framed(refs[0])
        self._tab.whole = False
        found = await self._same(refs[0], before, facts=facts, held=held, guard=guard)
        return None if found is None else [found]

    async def _same(
        self, ref: str, before: Node, *, facts: bool, held: bool, guard: Guard | None
    ) -> Element | None:
        """Look at an element, in the same moment as its guard is set; None: it differs."""
        page = self._tab.page
        locator = page.locator(_of(ref))
        looked = page.locator(guard.selector) if guard is not None else locator
        answers = await self._tab.ask(
            asyncio.gather(
                page.query_selector(_of(ref)) if held else _nothing(),
                asked(page, "facts", ref, seconds=_RESOLVE) if facts else _nothing(),
                looked.aria_snapshot(mode="ai", depth=1, timeout=_RESOLVE * 1000),
                return_exceptions=True,
            )
        )
        if any(isinstance(answer, BaseException) for answer in answers):
            return None
        handle, learned, text = cast("tuple[Any, Any, str]", tuple(answers))
        nodes = parse(text).nodes
        if not nodes or nodes[0].fingerprint() != before.fingerprint():
            return None
        if held and handle is None:
            return None
        return Element(
            ref=ref,
            node=before,
            handle=handle if held else locator,
            origin=self._origin,
            facts=learned or {},
            guard=guard,
        )

    async def _slowly(
        self, seen: Look, refs: Sequence[str], *, facts: bool, guard: Guard | None
    ) -> list[Element]:
        """Look at the whole page again, and take hold of each element."""
        fresh = await self._fresh(seen, refs)
        # A look at one element alone makes Playwright forget the others: it comes last.
        found = [await self._element(ref, fresh[ref], facts=facts) for ref in refs]
        if guard is not None:
            self._tab.whole = False
            node = fresh[refs[0]]
            watched = await self._same(refs[0], node, facts=False, held=False, guard=guard)
            if watched is None:
                await self._stale(f"Element {refs[0]} changes all the time.")
            found[0].guard = guard
        return found

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

    async def _element(self, ref: str, node: Node, *, facts: bool) -> Element:
        tab = self._tab
        handle = await tab.ask(tab.page.query_selector(_of(ref)))
        if handle is None:
            await self._stale(f"Element {ref} is not in page {tab.id} any more.")
        learned = (
            await tab.ask(asked(tab.page, "facts", ref, seconds=_RESOLVE)) if facts else {}
        )
        return Element(
            ref=ref, node=node, handle=handle, origin=self._origin, facts=learned or {}
        )

    async def _in_frame(self, element: Element, frames: int) -> None:
        """See whether a frame's document is the one that was seen, and its origin judged."""
        ref = element.ref
        frame = await self._tab.ask(element.handle.owner_frame())
        if self._tab.moved_since(frame, frames):
            await self._stale(f"The frame of {ref} has another document by now.")
        element.origin = await self._frame(f"Element {ref}", frame)

    async def focus(self) -> None:
        """See that what has the focus is in a frame that the call was judged for.

        Raises:
            Failed: that frame has no origin that can be named (``browser.opaque_frame``).
            Refused: it has another origin (``browser.frame_origin``).
        """
        await self.seen()
        frame: Frame | None = self._tab.page.main_frame
        inner: Frame | None = frame
        while inner is not None:
            frame = inner
            holder = await self._tab.ask(frame.query_selector(asking("focus")))
            inner = None if holder is None else await holder.content_frame()
        if frame is not None and frame.parent_frame is not None:
            await self._frame("What has the focus", frame)

    async def _frame(self, what: str, frame: Frame | None) -> str:
        """Return the origin of an element's frame, if the call was judged for it."""
        origin = await _origin_of_frame(frame)
        if not origin:
            text = (
                f"{what} is in a frame without an origin of its own (sandboxed, or of a "
                "data: address). Nothing was done."
            )
            raise Failed(text, code="browser.opaque_frame")
        if origin in {self._origin, self._frame_origin}:
            return origin
        text = (
            f"{what} is in a frame of {origin}, another origin than the page's. "
            f"Nothing was done; call again with frame_origin={origin}, which is judged anew."
        )
        raise Refused(text, code="browser.frame_origin")

    async def _frame_inside(self, ref: str) -> NoReturn:
        text = (
            f"Element {ref} is or holds a frame, in which the press could land unseen. Nothing "
            "was done. Act on an element in the frame, or on one that holds none."
        )
        raise Failed(await with_look(self._desk, self._tab, text), code="browser.frame_inside")

    async def _stale(self, text: str, cause: BaseException | None = None) -> NoReturn:
        whole = f"{text} Nothing was done. Act on the snapshot below."
        raise Failed(
            await with_look(self._desk, self._tab, whole), code="browser.stale"
        ) from cause


def _of(ref: str) -> str:
    return f"aria-ref={ref}"


async def _nothing() -> None:
    """Stand in where nothing is wanted."""


async def _origin_of_frame(frame: Frame | None) -> str:
    """Return the origin of a frame, or nothing if it is opaque."""
    found = ""
    while frame is not None:
        parent = frame.parent_frame
        if parent is not None:
            # What is in a sandbox is in it as a whole.
            holder = await frame.frame_element()
            sandbox = await holder.get_attribute("sandbox")
            if sandbox is not None and "allow-same-origin" not in sandbox.lower().split():
                return ""
        if not found:
            try:
                found = origin_of(frame.url)
            except ValueError:
                if frame.url not in {"about:blank", "about:srcdoc", ""}:
                    return ""
        frame = parent
    return found
