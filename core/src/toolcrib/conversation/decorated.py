"""Calls whose name is none of the view's: wrapped names, and calls that hold calls.

Each of the two has one reading (R10, R11 of :mod:`toolcrib.repair`). Every other name is
left as it is, and is answered with suggestions.
"""

from __future__ import annotations

import itertools

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import attrs

from toolcrib import canonical, names, repair
from toolcrib.codes import refuse
from toolcrib.outcome import Block, Outcome, Result, Text
from toolcrib.vocabulary import Status


if TYPE_CHECKING:
    from toolcrib.call import Call

    from .view import View


__all__ = ["gathered", "read"]

# As many calls as one reply may hold.
_MOST = 1_000


def read(view: View, call: Call, *, sent: int, before: int) -> Iterable[Call]:
    """Return the calls that a call with an unknown name stands for; itself, as a rule.

    Args:
        view: What the model was shown.
        call: The call, under the name that was sent.
        sent: How many calls the reply holds.
        before: How many calls were made of those before this one.
    """
    if call.problem is not None:
        return (call,)
    known = {names.wire_name(id_) for id_ in view.hidden} | view.projected.by_wire_name.keys()
    inner = repair.unwrap_name(call.wire_name, known)
    if inner is not None:
        return (_found(view, repair.rename(call, inner)),)
    held = repair.expand_parallel(call, positions=itertools.count(sent + before))
    if held is None:
        return (call,)
    if before + len(held) > _MOST:
        text = f"One reply holds more than {_MOST} calls. Nothing of {call.wire_name} ran."
        return (attrs.evolve(call, problem=refuse("call.malformed", call.wire_name, text)),)
    return [_found(view, each) for each in held]


def _found(view: View, call: Call) -> Call:
    projection = view.projection(call.wire_name)
    return call if projection is None else attrs.evolve(call, tool_id=projection.tool_id)


def gathered(pairs: Sequence[tuple[Call, Outcome]]) -> tuple[tuple[Call, Outcome], ...]:
    """Put calls and outcomes back under the names and ids that the provider knows."""
    found: list[tuple[Call, Outcome]] = []
    for position, group in itertools.groupby(pairs, key=lambda pair: _place(pair[0])):
        held = list(group)
        call, outcome = held[0]
        if call.sent is None:
            found += held
            continue
        answered = attrs.evolve(
            call,
            wire_name=call.sent.name,
            provider_id=call.sent.provider_id,
            position=position,
        )
        parallel = any(each.rule == "R11" for each in call.sent.repairs)
        found.append((answered, _together(held) if parallel else outcome))
    return tuple(found)


def _place(call: Call) -> int:
    return call.position if call.sent is None else call.sent.position


def _together(held: Sequence[tuple[Call, Outcome]]) -> Outcome:
    """Say in one outcome how each of several calls ended."""
    blocks: list[Block] = []
    for number, (call, outcome) in enumerate(held, 1):
        about = f" ({outcome.code})" if outcome.code else ""
        said = f": {outcome.text}" if outcome.text else ""
        title = f"{number} of {len(held)}, {call.wire_name}: {outcome.status}{about}{said}"
        blocks += (Text(title), *_content(outcome))
    failed = [outcome for _, outcome in held if not outcome.ok]
    call, first = held[0]
    if not failed:
        return Outcome(
            call_id=call.id,
            tool_id=first.tool_id,
            status=Status.OK,
            result=Result("", blocks),
            replayed=all(outcome.replayed for _, outcome in held),
        )
    return Outcome(
        call_id=call.id,
        tool_id=first.tool_id,
        status=failed[0].status,
        code=failed[0].code,
        text=f"{len(failed)} of {len(held)} calls did not end ok; each is told below.",
        result=Result("", blocks),
        retryable=all(outcome.retryable for outcome in failed),
    )


def _content(outcome: Outcome) -> Iterable[Block]:
    result = outcome.result
    yield from result.content
    if not result.content and result.structured is not None:
        yield Text(canonical.dumps(result.structured))
    elif not result.content and result.summary:
        yield Text(result.summary)
    if result.notes:
        yield Text(f"[notes: {'; '.join(result.notes)}]")
