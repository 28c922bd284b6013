"""Keep long results out of the model's way, and page through them later."""

from __future__ import annotations

import base64

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from toolcrib import execution
from toolcrib.errors import ToolcribError
from toolcrib.execution.terms import SMALLEST, SUMMARY
from toolcrib.outcome import File, Json, Result, Text


if TYPE_CHECKING:
    from toolcrib.execution.budget import Keep
    from toolcrib.outcome import ArtifactLink, Outcome
    from toolcrib.tool import Tool

    from .item import Item
    from .session import Session


__all__ = ["bounded", "fit", "is_short", "page"]

_SMALL = frozenset({bool, float, type(None)})
_WIDE = 10**18


async def bounded(session: Session, tool: Tool, outcome: Outcome) -> Outcome:
    """Shorten a result to its budget; the whole goes to the artifact store."""
    policy = session.toolbox.policy
    budget = tool.result_budget if tool.result_budget is not None else policy.result_budget
    result = await execution.bound(outcome.result, budget, keep=_keeper(session))
    return outcome if result is outcome.result else attrs.evolve(outcome, result=result)


async def fit(session: Session, items: Sequence[Item]) -> None:
    """Shorten the results of one reply where together they are beyond their budget.

    Receipts keep each as it was; so the same reply, handed in again, is fitted the same.
    """
    budget = session.toolbox.policy.batch_budget
    ended = [item for item in items if item.outcome is not None]
    results = [item.outcome.result for item in ended if item.outcome is not None]
    if len(results) < 2 or sum(map(execution.shown_size, results)) <= budget:
        return
    fitted = await execution.bound_all(
        results, each=budget, total=budget, keep=_keeper(session)
    )
    for item, result in zip(ended, fitted, strict=True):
        if item.outcome is not None and result is not item.outcome.result:
            item.outcome = attrs.evolve(item.outcome, result=result)


def _keeper(session: Session) -> Keep:
    """Return what puts the whole of a shortened result where it can be paged."""

    async def keep(data: bytes, media_type: str, title: str) -> ArtifactLink | None:
        try:
            link = await session.artifacts.put(data, media_type=media_type, title=title)
        except ToolcribError:
            return None
        session.shown.stored()
        return link

    return keep


def is_short(result: Result) -> bool:
    """Tell whether a result fits every budget; most do, and need no looking at."""
    if len(result.content) != 1 or len(result.summary) > SUMMARY:
        return False
    block = result.content[0]
    if isinstance(block, Text):
        return len(block.text) <= SMALLEST
    if not isinstance(block, Json):
        return False
    value = block.value
    if value.__class__ is int:
        return -_WIDE < value < _WIDE
    return value.__class__ in _SMALL


async def page(session: Session, digest: str, start: int, size: int) -> Result:
    """Return a part of an artifact of this conversation, for ``crib.read``."""
    data = await session.artifacts.get(digest, start=start, size=size)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        # A range may cut a character at either end; more than that is no text.
        if len(data) - error.end > 4 and error.start > 4:
            encoded = base64.b64encode(data).decode()
            block = File(encoded, "application/octet-stream", "part")
            return Result(f"{len(data)} bytes from {start}", [block])
        text = data.decode(errors="ignore")
    more = len(data) == size
    note = f"; continue with start={start + len(data)}" if more else ""
    return Result(f"{len(data)} bytes from {start}{note}", [Text(text)])
