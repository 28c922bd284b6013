"""Judge calls as a session would, and leave no trace: nothing runs, nothing is recorded."""

from __future__ import annotations

import contextlib

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolcrib.activation.activepack import ActivePack
from toolcrib.call import Call
from toolcrib.conversation import submission
from toolcrib.conversation.asking import preview_of
from toolcrib.conversation.item import Item
from toolcrib.errors import ToolFailure
from toolcrib.outcome import Refusal
from toolcrib.permission import explain
from toolcrib.record import Ledger
from toolcrib.toolbox import Toolbox

from .advice import in_ids


if TYPE_CHECKING:
    from toolcrib.conversation.session import Session
    from toolcrib.conversation.view import View
    from toolcrib.policy.value import Policy


__all__ = ["Judgement", "judged", "judging", "tool_call"]


@contextlib.asynccontextmanager
async def judging(
    policy: Policy, *, principal: str, mode: str | None = None
) -> AsyncIterator[Session]:
    """Open a session beside the real one: its grants hold, its ledger is in memory."""
    with Ledger.open(None) as scratch:
        _lend_grants(policy, principal, scratch)
        async with (
            Toolbox(policy, ledger=scratch) as box,
            box.session(principal=principal, mode=mode) as session,
        ):
            await box.sources.settle()
            yield session


def _lend_grants(policy: Policy, principal: str, scratch: Ledger) -> None:
    """Copy standing grants of the project, where there is a ledger."""
    if policy.ledger is None or not Path(policy.ledger).is_file():
        return
    project = str(policy.workspace.expanduser().resolve())
    with Ledger.open(policy.ledger) as book:
        for grant in book.project_grants(principal, project):
            scratch.grant(grant, project=project)


class Judgement:
    """What would happen to one call.

    Attributes:
        refusal: Why it does not come as far as the rules, or None.
        decision: The whole decision of rules, grants and mode, or None.
        preview: The tool's own description of what would happen.
        steps: Its ``debug_steps``.
    """

    def __init__(self, item: Item, refusal: Refusal | None) -> None:
        self.item = item
        self.refusal = refusal
        self.decision: Any = None
        self.preview: str | None = None
        self.steps: list[str] = []

    @property
    def repairs(self) -> list[str]:
        """What was repaired, in words."""
        admitted = self.item.admitted
        found = self.item.call.repairs if admitted is None else admitted.repairs
        return list(map(str, found))

    def data(self) -> dict[str, Any]:
        """Return it as a JSON-safe value."""
        admitted = self.item.admitted
        refusal = self.refusal
        found: dict[str, Any] = {
            "tool": self.item.tool_id,
            "verdict": "refuse",
            "arguments": dict(admitted.arguments) if admitted is not None else None,
            "repairs": self.repairs,
            "preview": self.preview,
            "debug_steps": self.steps,
        }
        if refusal is not None:
            return found | {"code": refusal.code, "reasons": [refusal.text]}
        decided: dict[str, Any] = self.decision.data()
        return found | decided

    def __str__(self) -> str:
        if self.refusal is not None:
            name = self.item.tool_id
            why = in_ids(self.refusal.text, name).replace("\n", "\n    ")
            lines = [f"{name}: refuse [{self.refusal.code}]", f"  because {why}"]
        else:
            lines = [str(self.decision)]
        if self.repairs:
            lines += ["  mended:", *(f"    {repair}" for repair in self.repairs)]
        if self.preview:
            lines += ["  preview:", *(f"    {line}" for line in self.preview.split("\n"))]
        if self.steps:
            lines += ["  steps:", *(f"    {step}" for step in self.steps)]
        return "\n".join(lines)


async def tool_call(session: Session, tool: str, arguments: str) -> tuple[View, Call]:
    """Make the call of a tool by its id or wire name."""
    view, tool_id, wire_name = session.shown.single(tool)
    call = Call(
        id="call_explained",
        wire_name=wire_name,
        tool_id=tool_id,
        arguments=arguments,
    )
    return view, call


async def judged(session: Session, view: View, call: Call) -> Judgement:
    """Take a call up to the rules and explain what they come to."""
    item = Item(call)
    refusal = call.problem or await submission.readmit(session, view, item, call)
    found = Judgement(item, refusal)
    admitted = item.admitted
    if refusal is not None or admitted is None:
        return found
    found.decision = explain(admitted, item.signature, session.authority.context())
    pack = await session.toolbox.activate(admitted.tool.pack)
    if isinstance(pack, ActivePack):
        found.preview = await preview_of(session, admitted, pack)
        found.steps = await _steps(session, pack, item)
    return found


async def _steps(session: Session, pack: ActivePack, item: Item) -> list[str]:
    admitted = item.admitted
    implementation = pack.implementations.get(item.tool_id)
    if admitted is None or implementation is None:
        return []
    try:
        steps = await pack.companion(
            implementation, "debug_steps", admitted.arguments, host=session.host_of(pack.id)
        )
    except ToolFailure as failure:
        return [f"(they cannot be told: {failure.text})"]
    return [str(step) for step in ([steps] if isinstance(steps, str) else steps or ())]
