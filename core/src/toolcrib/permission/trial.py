"""Try rules out on calls without letting them decide."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import attrs

from .explanation import Explanation, explain


if TYPE_CHECKING:
    from toolcrib.call import AdmittedCall
    from toolcrib.signature import Signature

    from .context import AuthorityContext


__all__ = ["Difference", "shadow"]

_LOOSENESS = {"refuse": 0, "ask": 1, "run": 2}


@attrs.frozen(kw_only=True)
class Difference:
    """One call on which the rules of now and the ones tried out disagree.

    Attributes:
        call_id, tool_id: The call.
        direction: ``looser`` or ``stricter`` than now.
        now, tried: What each would do, and why.
    """

    call_id: str
    tool_id: str
    direction: Literal["looser", "stricter"]
    now: Explanation = attrs.field(eq=False)
    tried: Explanation = attrs.field(eq=False)

    def data(self) -> dict[str, Any]:
        """Return it as a JSON-safe value."""
        return {
            "call": self.call_id,
            "tool": self.tool_id,
            "direction": self.direction,
            "now": self.now.data(),
            "tried": self.tried.data(),
        }

    def __str__(self) -> str:
        return (
            f"{self.tool_id} ({self.call_id}): {self.now.verdict} → {self.tried.verdict}, "
            f"{self.direction}: {'; '.join(self.tried.reasons)}"
        )


def shadow(
    calls: Iterable[tuple[AdmittedCall, Signature | None]],
    now: AuthorityContext,
    tried: AuthorityContext,
) -> tuple[Difference, ...]:
    """Judge calls by two contexts and return where they disagree; nothing else happens."""
    found = []
    for admitted, signature in calls:
        mine = explain(admitted, signature, now)
        theirs = explain(admitted, signature, tried)
        if mine.verdict == theirs.verdict:
            continue
        looser = _LOOSENESS[theirs.verdict] > _LOOSENESS[mine.verdict]
        found.append(
            Difference(
                call_id=admitted.call.id,
                tool_id=admitted.tool.id,
                direction="looser" if looser else "stricter",
                now=mine,
                tried=theirs,
            )
        )
    return tuple(found)
