"""Admit a call of a session: undo what the model was shown, check, ask the tool itself."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial
from typing import TYPE_CHECKING, Any

from toolcrib import admission
from toolcrib.call import AdmittedCall, Call
from toolcrib.outcome import Refusal
from toolcrib.repair import LOSSLESS


if TYPE_CHECKING:
    from toolcrib.projection import Inverse
    from toolcrib.tool import Tool

    from .runnable import RunnablePack
    from .session import Session
    from .view import View


__all__ = ["admit", "inverse_of", "repairs_of"]


async def admit(
    session: Session, view: View | None, call: Call, tool: Tool, pack: RunnablePack
) -> AdmittedCall | Refusal:
    """Admit a call by its tool's schema and by the tool's own check.

    Args:
        session: Whose call it is.
        view: What the model saw, if the arguments are in the terms of that.
        call: The call.
        tool: What it calls.
        pack: Whose code the tool runs.
    """
    inverse = inverse_of(view, call) if view is not None else None
    repairs = repairs_of(session)
    admitted = admission.admit(
        call,
        tool,
        validators=session.toolbox.validators,
        inverse=inverse,
        repairs=repairs,
    )
    implementation = pack.implementations.get(tool.id)
    if isinstance(admitted, Refusal) or implementation is None:
        return admitted
    check = implementation.companions.check
    if check is None:
        return admitted
    hosted = "check" in implementation.companions.hosted
    leading = (session.host_of(pack.id),) if hosted else ()

    def verify(arguments: dict[str, Any]) -> Awaitable[None]:
        return pack.verify(tool.id, "check", partial(check, *leading, **arguments))

    return await admission.checked(admitted, verify, inverse=inverse, repairs=repairs)


def inverse_of(view: View, call: Call) -> Inverse | None:
    """Return what undoes the rewriting of the tool's schema that the model saw."""
    projected = None if view.direct else view.projection(call.wire_name)
    return None if projected is None else projected.inverse


def repairs_of(session: Session) -> frozenset[str]:
    """Return the repairs that may be made: the lossless ones, and those that policy wants."""
    wanted = session.toolbox.policy.optional_repairs
    return LOSSLESS | wanted if wanted else LOSSLESS
