"""Looks at a page: its tree, without what nobody is to see, as text for a model."""

from __future__ import annotations

import asyncio
import re

from collections.abc import Awaitable
from typing import Any

import attrs

from toolcrib import Transient

from .budget import show
from .changes import changes
from .desk import Desk
from .fields import hide, redacted
from .inside import asked, surveyed
from .marks import cleaned, fenced
from .origins import shown_url
from .outline import Outline, parse
from .tabs import Look, PageHungError, Tab


__all__ = ["Observation", "View", "describe", "look", "observe"]

_SNAPSHOT_SECONDS = 20.0
_TRIES = 3
_FRAMES = 12
_NAVIGATING = re.compile(r"navigat|context was destroyed|detached|Target closed", re.IGNORECASE)


@attrs.frozen(kw_only=True)
class View:
    """How a look is shown.

    Attributes:
        most: Bytes of the text.
        depth: Levels, or None for all.
        region: Ref of the part that is shown, or None.
        since: The look whose difference to this one is shown, or None.
    """

    most: int = 32 * 1024
    depth: int | None = None
    region: str | None = None
    since: Look | None = None


@attrs.frozen(kw_only=True)
class Observation:
    """A look, and the text that shows it.

    Attributes:
        look: What was seen.
        text: What is shown of it.
        left_out: How many nodes are not shown.
        changed: Whether anything differs from the look before; None if not compared.
        partly: Whether the text is of what changed only.
        notes: Short words on how far to trust it.
    """

    look: Look
    text: str
    left_out: int = 0
    changed: bool | None = None
    partly: bool = False
    notes: tuple[str, ...] = ()


async def look(desk: Desk, tab: Tab, *, boxes: bool = False) -> Look:
    """Take the whole tree of a page, of one document and not of two.

    Raises:
        PageHungError: the page does not answer.
        Transient: it changes its document again and again (``browser.restless``).
    """
    for _ in range(_TRIES):
        generation, frames = tab.generation, tab.frames
        try:
            found = await _undisturbed(tab, boxes=boxes)
        except PageHungError:
            raise
        except Exception as error:
            known = _NAVIGATING.search(str(error)) or tab.generation != generation
            if tab.dead or not known:
                raise
            found = None
        if found is not None and tab.generation == generation:
            outline, title = found
            tab.whole = True
            return Look(
                id=desk.look_id(),
                generation=generation,
                frames=frames,
                outline=outline,
                refs=frozenset(),
                url=tab.url,
                origin=tab.origin,
                title=cleaned(redacted(title, desk.secrets), 200),
            )
        await _settled(tab)
    text = (
        f"Page {tab.id} goes from one document to the next without rest, at "
        f"{shown_url(tab.url)}. Wait for a text or an address of the one that you want."
    )
    raise Transient(text, code="browser.restless")


async def _undisturbed(tab: Tab, *, boxes: bool) -> tuple[Outline, str] | None:
    """Return tree and title, or None as soon as another document comes."""
    tab.turned.clear()
    work = asyncio.ensure_future(_tree(tab, boxes=boxes))
    turn = asyncio.ensure_future(tab.turned.wait())
    try:
        await asyncio.wait({work, turn}, return_when=asyncio.FIRST_COMPLETED)
        return work.result() if work.done() else None
    finally:
        turn.cancel()
        work.add_done_callback(_dropped)
        work.cancel()


def _dropped(work: asyncio.Future[tuple[Outline, str]]) -> None:
    if not work.cancelled():
        work.exception()


async def _settled(tab: Tab) -> None:
    try:
        await tab.page.wait_for_load_state("domcontentloaded", timeout=3000)
    except Exception:  # noqa: BLE001 - the next try says what is wrong
        return


async def _tree(tab: Tab, *, boxes: bool) -> tuple[Outline, str]:
    page = tab.page
    frames = page.frames[:_FRAMES]
    options: dict[str, Any] = {"boxes": True} if boxes else {}
    tree = page.aria_snapshot(mode="ai", timeout=_SNAPSHOT_SECONDS * 1000, **options)
    text, found = await tab.ask(_both(tree, surveyed(frames)), _SNAPSHOT_SECONDS + 2.0)
    outline = parse(text)
    told = [survey for survey in found if survey is not None]
    unsure = len(told) < len(page.frames) or any(survey["more"] for survey in told)
    hide(outline, [facts for survey in told for facts in survey["fields"]], unsure=unsure)
    return outline, str(told[0]["title"])


async def _both(
    tree: Awaitable[str], surveys: Awaitable[list[dict[str, Any] | None]]
) -> tuple[str, list[dict[str, Any] | None]]:
    """Wait for the tree and the surveys; what is wrong with the tree counts first."""
    text, found = await asyncio.gather(tree, surveys, return_exceptions=True)
    if isinstance(text, BaseException):
        raise text
    if isinstance(found, BaseException):
        raise found
    return text, found


async def observe(desk: Desk, tab: Tab, view: View, *, boxes: bool = False) -> Observation:
    """Look at a page, keep the look, and return it with its text.

    Raises:
        KeyError: there is no such region.
    """
    seen = await look(desk, tab, boxes=boxes)
    outline = seen.outline
    notes: list[str] = []
    difference = None
    if view.region is not None and view.region not in outline.refs:
        raise KeyError(view.region)
    if view.since is not None and view.since.generation == seen.generation:
        difference = changes(view.since.outline, outline, most=view.most // 2)
    changed = None if view.since is None else difference is None or difference.text != ""
    if difference is not None and view.since is not None:
        text, refs, left_out = difference.text, difference.refs | view.since.refs, 0
    else:
        whole = show(outline, most=view.most, depth=view.depth, region=view.region)
        text, refs, left_out = whole.text, whole.refs, whole.left_out
    if left_out:
        notes.append("truncated")
    if not outline.nodes or not text:
        told = await _told(tab, outline, changed=changed)
        text = text or told
        notes += ["empty"] if not outline.nodes else []
    # Refs stay while their element does: those that were shown earlier still count.
    earlier = tab.last
    if earlier is not None and earlier.generation == seen.generation:
        refs |= earlier.refs & frozenset(outline.refs)
    seen = attrs.evolve(seen, refs=refs & frozenset(outline.refs))
    tab.keep(seen)
    return Observation(
        look=seen,
        text=redacted(text, desk.secrets),
        left_out=left_out,
        changed=changed,
        partly=difference is not None,
        notes=tuple(notes),
    )


async def _told(tab: Tab, outline: Outline, *, changed: bool | None) -> str:
    """Say why there is nothing to read."""
    if outline.nodes:
        return "Nothing that can be read has changed." if changed is False else ""
    try:
        facts = await tab.ask(asked(tab.page, "opaque"), 3.0)
    except Exception:  # noqa: BLE001 - then the page says nothing at all
        facts = {}
    if facts.get("type") == "application/pdf" or facts.get("embed"):
        return "The page is a PDF or another plug-in's: it has no elements. Use inspect."
    words = [
        f"{facts[name]} {name} element{'s' if facts[name] > 1 else ''}"
        for name in ("canvas", "video")
        if facts.get(name)
    ]
    if words or facts.get("text"):
        holds = " and ".join(words) or "text in closed shadow roots"
        return f"No element can be read; the page holds {holds}. Take a screenshot to see it."
    return "The page is blank, or draws in a closed shadow root. Take a screenshot to see it."


def describe(desk: Desk, tab: Tab, seen: Observation) -> str:
    """Return what is told of a look, the page's own text marked as its own."""
    look_ = seen.look
    others = [t for t in desk.tabs.values() if t is not tab]
    lines = [
        f"Page {tab.id} at {shown_url(redacted(look_.url, desk.secrets))}",
        f"Origin {look_.origin or 'none'}, snapshot {look_.id}",
    ]
    if others:
        lines.append("Other pages: " + ", ".join(f"{t.id} ({t.origin})" for t in others))
    if seen.partly and seen.changed:
        lines.append("Only what changed is shown; the rest is as it was, and its refs hold.")
    if seen.left_out:
        lines.append(
            f"{seen.left_out:,} elements are not shown; ask with region, or more bytes."
        )
    title = f"title: {look_.title}\n" if look_.title else ""
    return "\n".join([*lines, fenced(title + seen.text, tab.id)])
