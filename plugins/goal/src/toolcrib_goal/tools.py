"""The tools: ``goal.create``, ``goal.get``, ``goal.update`` and ``goal.list``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from toolcrib import (
    Between,
    Context,
    Effect,
    Invalid,
    Length,
    NotFound,
    Refused,
    Result,
    Signature,
    Text,
)

from .definition import identity, of_goals, pack, place, store, told
from .engine import GoalStore
from .model import Budget, Goal, Status


__all__ = ["create", "get", "list_", "update"]

_EFFECTS = (Effect.HOST_STATE,)
_LIMIT = "Most that may be used; counted by the host"


@pack.tool(
    effects=_EFFECTS,
    usage=["A conversation works on one goal at a time."],
    examples=[("a goal with a budget", {"objective": "All tests pass", "calls": 200})],
)
def create(
    ctx: Context,
    objective: Annotated[str, "What is to be reached, so that others can judge it",
                         Length(1, 100_000)],
    *,
    calls: Annotated[int | None, _LIMIT, Between(1, 2**31)] = None,
    seconds: Annotated[float | None, _LIMIT, Between(1, 10**9)] = None,
    tokens: Annotated[int | None, _LIMIT, Between(1, 2**53)] = None,
) -> Result:  # fmt: skip
    """Set a goal for this conversation."""
    budget = Budget(calls=calls, seconds=seconds, tokens=tokens)
    with told():
        goal = _store(ctx).create(
            place(ctx), ctx.conversation, objective, budget, begun=ctx.calls
        )
    return _shown([goal])


@create.signature
def _(objective: str, **_: Any) -> Signature:
    return of_goals()


@pack.tool(effects=_EFFECTS, idempotent="yes", concurrency="shared")
def get(
    ctx: Context,
    *,
    id: Annotated[str | None, "Id; left out: this conversation's goal"] = None,  # noqa: A002
) -> Result:
    """Show a goal, how much of its budget is used, and whether to go on."""
    with told():
        goal = _one(ctx, id)
    return _shown([goal], full=True)


@get.signature
def _(**_: Any) -> Signature:
    return of_goals()


@pack.tool(
    effects=_EFFECTS,
    usage=[
        "request asks for completion: text is the evidence. Somebody else has to judge it.",
        "verdict judges somebody else's request: give digest, passed, and grounds in text.",
        "Three times the same progress, or the same verdict, block the goal.",
    ],
    cautions=["A goal is complete only by a verdict of another identity, never by request."],
)
def update(
    ctx: Context,
    action: Annotated[
        Literal[
            "progress", "pause", "resume", "block", "edit", "request", "withdraw", "drop",
            "verdict",
        ],
        "What to do",
    ],
    version: Annotated[int, "Version that you saw; another one is refused", Between(1, 2**53)],
    *,
    text: Annotated[str, "Reason, evidence, grounds, or the new objective",
                    Length(0, 100_000)] = "",
    id: Annotated[str | None, "Id; left out: this conversation's goal"] = None,  # noqa: A002
    digest: Annotated[str | None, "For a verdict: the request's digest", Length(64, 64)] = None,
    passed: Annotated[bool | None, "For a verdict: whether it is reached"] = None,
) -> Result:  # fmt: skip
    """Say how a goal stands, ask for its completion, or judge somebody else's request."""
    goals = _store(ctx)
    with told():
        goal = _one(ctx, id)
        if action != "verdict":
            if goal.conversation != ctx.conversation:
                said = f"{goal.id} is worked on elsewhere; only a verdict can be given here"
                raise Refused(said, code="goal.foreign")
            goal = goals.act(
                place(ctx), goal.id, action, by=identity(ctx), version=version, text=text
            )
            return _shown([goal], full=True)
        if digest is None or passed is None:
            said = "a verdict needs digest and passed"
            raise Invalid("/digest", said, code="goal.no_digest")
        if goal.version != version:
            said = f"{goal.described()}. Version {version} is stale: look again, then judge."
            raise Refused(said, code="goal.stale")
        goal = goals.verdict(
            place(ctx), goal.id, by=identity(ctx), passed=passed, digest=digest, grounds=text
        )
    return _shown([goal], full=True)


@update.signature
def _(action: str, version: int, **_: Any) -> Signature:
    return of_goals()


@pack.tool(name="list", effects=_EFFECTS, idempotent="yes", concurrency="shared")
def list_(
    ctx: Context,
    *,
    status: Annotated[Status | None, "Only this state"] = None,
    limit: Annotated[int, "Most goals to show", Between(1, 200)] = 50,
) -> Result:
    """List this workspace's goals, the newest first."""
    with told():
        found = _counted(ctx).select(place(ctx), status=status, limit=limit)
    return _shown(found)


@list_.signature
def _(**_: Any) -> Signature:
    return of_goals()


def _store(ctx: Context) -> GoalStore:
    opened: GoalStore = ctx.wait(ctx.use(store))
    return opened


def _counted(ctx: Context) -> GoalStore:
    """Return the store, after the calls that the host has recorded are counted."""
    opened = _store(ctx)
    opened.count(place(ctx), ctx.conversation, begun=ctx.calls)
    return opened


def _one(ctx: Context, goal_id: str | None) -> Goal:
    goals = _counted(ctx)
    if goal_id is not None:
        return goals.get(place(ctx), goal_id)
    goal = goals.current(place(ctx), ctx.conversation)
    if goal is None:
        text = "this conversation has no goal; goal.create sets one"
        raise NotFound(text, code="goal.none")
    return goal


def _shown(goals: Sequence[Goal], *, full: bool = False) -> Result:
    lines = []
    for goal in goals:
        lines.append(f"{goal.described()}\n  objective (revision {goal.revision}): "
                     f"{goal.objective if full else goal.objective[:200]}")  # fmt: skip
        if goal.digest:
            lines.append(f"  request by {goal.requester}, digest {goal.digest}")
            lines.append(f"  evidence: {goal.evidence}")
        if goal.verdict:
            word = "passed" if goal.verdict["passed"] else "failed"
            lines.append(
                f"  verdict: {word}, by {goal.verdict['by']}: {goal.verdict['grounds']}"
            )
    summary = goals[0].described() if len(goals) == 1 else f"{len(goals)} goals"
    return Result(
        summary=summary,
        content=[Text("\n".join(lines) or "no goals")],
        structured={"goals": [goal.facts() for goal in goals]},
    )
