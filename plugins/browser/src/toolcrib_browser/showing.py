"""Results: what was done and what happened, in our own words; then the page, as its own."""

from __future__ import annotations

from typing import Any

from toolcrib import Result, Text

from .desk import Desk
from .fields import redacted
from .moments import Moment
from .observing import Observation, describe
from .origins import shown_url
from .outputs import Done, Event, OpenPage, PageState, plain
from .tabs import Tab


__all__ = ["not_observed", "open_pages", "shown", "state_of"]


def open_pages(desk: Desk) -> tuple[OpenPage, ...]:
    """Return the open pages, the oldest first."""
    return tuple(
        OpenPage(
            page=tab.id,
            url=shown_url(redacted(tab.url, desk.secrets)),
            origin=tab.origin,
            selected=tab.id == desk.selected,
        )
        for tab in desk.tabs.values()
    )


def state_of(
    desk: Desk,
    tab: Tab,
    seen: Observation | None,
    moment: Moment | None = None,
    *,
    status: int | None = None,
) -> PageState:
    """Return how a page is, for programs."""
    happened = moment.happened if moment is not None else []
    return PageState(
        page=tab.id,
        snapshot=seen.look.id if seen is not None else None,
        origin=tab.origin,
        url=shown_url(redacted(tab.url, desk.secrets)),
        title=seen.look.title if seen is not None else "",
        left_out=seen.left_out if seen is not None else 0,
        changed=seen.changed if seen is not None else None,
        status=status,
        happened=tuple(
            Event(kind=h.kind, text=redacted(h.text, desk.secrets)) for h in happened
        ),
        pages=open_pages(desk),
    )


def shown(
    desk: Desk,
    tab: Tab,
    seen: Observation,
    moment: Moment,
    *,
    did: str,
    status: int | None = None,
) -> Result:
    """Return the result of a call that did something."""
    lines = [f"Done: {did}.{'' if status is None else f' Status {status}.'}"]
    lines += [f"Then {redacted(h.text, desk.secrets)}." for h in moment.happened]
    if not moment.happened and seen.changed is False:
        lines.append("Nothing that can be read has changed.")
    lines.append(describe(desk, tab, seen))
    done = Done(action=did, state=state_of(desk, tab, seen, moment, status=status))
    content: list[Any] = [Text("\n".join(lines))]
    content += [h.artifact for h in moment.happened if h.artifact is not None]
    return Result(
        summary=f"{did} on {tab.id} at {shown_url(redacted(tab.url, desk.secrets), 80)}",
        content=content,
        structured=plain(done),
        notes=list(dict.fromkeys([*seen.notes, *_notes(moment)])),
    )


def not_observed(desk: Desk, tab: Tab, did: str, moment: Moment) -> Result:
    """Return the result of an action that was done, and whose page could not be seen."""
    lines = [
        f"Done: {did}. The page could not be looked at afterwards; take a snapshot.",
        *(f"Then {redacted(h.text, desk.secrets)}." for h in moment.happened),
    ]
    done = Done(action=did, state=state_of(desk, tab, None, moment))
    content: list[Any] = [Text("\n".join(lines))]
    content += [h.artifact for h in moment.happened if h.artifact is not None]
    return Result(
        summary=f"{did} on {tab.id}, not observed",
        content=content,
        structured=plain(done),
        notes=["not_observed", *_notes(moment)],
    )


def _notes(moment: Moment) -> list[str]:
    names = {"dialog": "dialog", "popup": "new_page", "download": "downloaded"}
    return [names[h.kind] for h in moment.happened if h.kind in names]
