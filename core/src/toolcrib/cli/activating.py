"""Activate every enabled pack, and report what that brings to light."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib.activation.activepack import ActivePack
from toolcrib.events import Event
from toolcrib.record import Ledger
from toolcrib.toolbox import Toolbox

from .mending import mend
from .output import counted, said_once
from .signs import Sign


if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib.policy.value import Policy


__all__ = ["activated"]


async def activated(policy: Policy) -> list[Sign]:
    """Import each pack, open its sources, ask which tools are active; no tool is called."""
    said_once()
    with Ledger.open(None) as scratch:
        async with Toolbox(policy, ledger=scratch) as box:
            await box.sources.settle()
            return await _seen(box, policy)


async def _seen(box: Toolbox, policy: Policy) -> list[Sign]:
    signs: list[Sign] = []
    for pack_id in box.catalog.packs:
        answer = await box.activate(pack_id)
        if not isinstance(answer, ActivePack):
            line = f"toolcrib packs disable {box.catalog.packs[pack_id].distribution}"
            signs.append(
                Sign(
                    area="activation",
                    state="fail",
                    code=answer.code,
                    text=answer.text,
                    mend=mend(answer, policy) or (line,),
                )
            )
            continue
        text = f"{answer.finding} loads, and is what its manifest says"
        signs.append(Sign(area="activation", state="ok", text=text))
    async with box.session() as session:
        await session.view("mcp")
        for pack in box.activator.active.values():
            signs += _problems(pack)
    for (_, _), live in sorted(box.catalog.sources.items()):
        signs += (
            Sign(area="sources", state="fail", code=r.code, text=r.text, mend=mend(r, policy))
            for r in live.refusals()
        )
        if not live.stale:
            text = f"{live.pack}.{live.source}: {counted(len(live.tools), 'tool')}"
            signs.append(Sign(area="sources", state="ok", text=text))
    _, events = box.news.read(0)
    signs += _failures(event for event in events if isinstance(event, Event))
    return signs


def _problems(pack: ActivePack) -> Iterator[Sign]:
    for problem in pack.problems:
        yield Sign(area="activation", state="fail", text=f"pack {pack.id}: {problem}")


def _failures(events: Iterator[Event]) -> Iterator[Sign]:
    for event in events:
        if event.name == "lifecycle.failed":
            text = f"{event.data['function']} of {event.tool_id}: {event.data['problem']}"
            yield Sign(area="lifecycle", state="fail", text=text)
