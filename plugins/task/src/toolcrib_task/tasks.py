"""The tools for the list: create, get, update, list, claim, delete."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import attrs

from toolcrib import Between, Context, Effect, Length, Result, Signature

from .changing import Change
from .definition import counted, list_name, of_tasks, pack, store, told, told_of
from .model import LIMITS, MOST_NEEDS, NewTask, Priority, Status


__all__ = ["claim", "create", "delete", "get", "list_", "update"]

_ID = Annotated[str, "Id of a task, such as t12", Length(1, 20)]
_VERSION = Annotated[int, "Version that you saw; another one is refused", Between(1, 2**53)]
_NEEDS = Length(0, MOST_NEEDS)
_EFFECTS = (Effect.HOST_STATE,)


@attrs.frozen(kw_only=True)
class TaskToMake:
    """A task to be made."""

    title: Annotated[str, "What is to be done, in a few words", Length(1, 200)]
    description: Annotated[str, "Everything one needs to do it", Length(0, 20_000)] = ""
    priority: Priority = "medium"
    depends_on: Annotated[
        list[str],
        "Ids of tasks to be done first; #1 is the first of this request",
        Length(0, MOST_NEEDS),
    ] = attrs.field(factory=list)
    repeatable: Annotated[
        bool, "It may simply be done again if whoever worked on it has vanished"
    ] = False


@pack.tool(
    effects=_EFFECTS,
    usage=["Give all tasks of a plan in one call; either all are made or none."],
    examples=[
        (
            "two tasks, one after the other",
            {"tasks": [{"title": "Write the parser"},
                       {"title": "Test it", "depends_on": ["#1"]}]},
        )
    ],
)  # fmt: skip
def create(
    ctx: Context, tasks: Annotated[list[TaskToMake], "Tasks to make", Length(1, 200)]
) -> Result:
    """Make tasks, with what each depends on."""
    new = [
        NewTask(
            title=each.title,
            description=each.description,
            priority=each.priority,
            depends_on=tuple(each.depends_on),
            repeatable=each.repeatable,
        )
        for each in tasks
    ]
    with told():
        made = ctx.wait(ctx.use(store)).create(list_name(ctx), new)
    return told_of(f"{counted(len(made), 'task')} made", made, cursor=made[-1].change)


@create.signature
def _(tasks: list[TaskToMake]) -> Signature:
    return of_tasks()


@pack.tool(effects=_EFFECTS, idempotent="yes", concurrency="shared")
def get(ctx: Context, id: _ID) -> Result:  # noqa: A002 - the argument's word
    """Show one task with everything about it."""
    with told():
        task = ctx.wait(ctx.use(store)).get(list_name(ctx), id)
    return told_of(task.described(), [task], full=True)


@get.signature
def _(id: str) -> Signature:  # noqa: A002
    return of_tasks()


@pack.tool(
    effects=_EFFECTS,
    usage=[
        "Say working before you begin with something that must not be done twice.",
        "Done needs the claim; say in evidence how it is known.",
    ],
)
def update(
    ctx: Context,
    id: _ID,  # noqa: A002 - the argument's word
    version: _VERSION,
    *,
    status: Annotated[
        Literal["open", "working", "done", "failed", "uncertain", "cancelled"] | None,
        "open hands it back",
    ] = None,
    title: Annotated[str | None, "New title", Length(1, 200)] = None,
    description: Annotated[str | None, "New description", Length(0, 20_000)] = None,
    priority: Priority | None = None,
    depend_on: Annotated[
        tuple[str, ...], "Ids to depend on as well", Length(0, MOST_NEEDS)
    ] = (),
    no_longer_on: Annotated[
        tuple[str, ...], "Ids to depend on no longer", Length(0, MOST_NEEDS)
    ] = (),
    evidence: Annotated[str | None, "How it is known how it ended", Length(1, 20_000)] = None,
    lease: Annotated[float | None, "Seconds more for the claim", Between(1, 86_400)] = None,
) -> Result:
    """Change a task, if it still is as you saw it."""
    change = Change(
        status=status,
        title=title,
        description=description,
        priority=priority,
        depend_on=tuple(depend_on),
        no_longer_on=tuple(no_longer_on),
        evidence=evidence,
        lease=lease,
    )
    with told():
        changed = ctx.wait(ctx.use(store)).update(
            list_name(ctx), id, change, version=version, by=ctx.conversation
        )
    freed = len(changed) - 1
    more = f"; {counted(freed, 'task')} can be claimed now" if freed else ""
    return told_of(changed[0].described() + more, changed, cursor=changed[0].change)


@update.signature
def _(id: str, version: int, **_: Any) -> Signature:  # noqa: A002
    return of_tasks()


@pack.tool(
    name="list",
    effects=_EFFECTS,
    idempotent="yes",
    concurrency="shared",
    usage=[
        "With since, the cursor of an earlier result, only what changed after it comes.",
        "Give next of a page as after to see the page behind it.",
    ],
)
def list_(
    ctx: Context,
    *,
    status: Annotated[tuple[Status, ...], "Only these states"] = (),
    owner: Annotated[str | None, "Only this owner's; 'me' is yourself"] = None,
    ready: Annotated[bool | None, "Only those that can be claimed"] = None,
    since: Annotated[int | None, "Cursor of an earlier result", Between(0, 2**53)] = None,
    after: Annotated[str | None, "The next of the page before", Length(1, 40)] = None,
    limit: Annotated[int, "Most tasks to show", Between(1, 200)] = 50,
) -> Result:
    """Show tasks by page, or what changed since a cursor."""
    tasks = ctx.wait(ctx.use(store))
    group = list_name(ctx)
    with told():
        if since is not None:
            changed, gone, cursor = tasks.changes(group, since, limit)
            summary = f"{counted(len(changed), 'task')} changed, {len(gone)} deleted"
            return told_of(summary, changed, deleted=list(gone), cursor=cursor)
        # The cursor first: what changes while the page is read is then told again.
        cursor = tasks.changes(group, 2**53, 1)[2]
        page = tasks.select(
            group,
            status=status,
            owner=ctx.conversation if owner == "me" else owner,
            ready=ready,
            after=after,
            limit=limit,
        )
        counts = tasks.counts(group)
    summary = ", ".join(f"{count} {name}" for name, count in counts.items()) or "no tasks"
    following = page[-1].place if len(page) == limit else None
    return told_of(summary, page, counts=counts, cursor=cursor, next=following)


@list_.signature
def _(**_: Any) -> Signature:
    return of_tasks()


@pack.tool(
    effects=_EFFECTS,
    usage=[
        "Without an id the most urgent task that is ready is claimed.",
        "Claim again what you hold to make the lease longer.",
    ],
)
def claim(
    ctx: Context,
    *,
    id: Annotated[str | None, "Id; left out: the next that is ready"] = None,  # noqa: A002
    lease: Annotated[float, "Seconds until it is handed back", Between(1, 86_400)] = 600.0,
    working: Annotated[bool, "Begin at once with what must not be done twice"] = False,
) -> Result:
    """Claim a task, so that nobody else does it."""
    with told():
        task = ctx.wait(ctx.use(store)).claim(
            list_name(ctx), by=ctx.conversation, lease=lease, task_id=id, working=working
        )
    if task is None:
        return told_of("Nothing can be claimed now: all is done, held, or waiting.", [])
    return told_of(task.described(), [task], full=True, cursor=task.change)


@claim.signature
def _(**_: Any) -> Signature:
    return of_tasks()


@pack.tool(effects=_EFFECTS)
def delete(ctx: Context, id: _ID, version: _VERSION) -> Result:  # noqa: A002
    """Delete a task that no other one needs."""
    with told():
        ctx.wait(ctx.use(store)).delete(
            list_name(ctx), id, version=version, by=ctx.conversation
        )
    return told_of(f"{id} is deleted; its id is never used again.", [])


@delete.signature
def _(id: str, version: int) -> Signature:  # noqa: A002
    return of_tasks()


assert LIMITS["title"] == 200  # noqa: S101 - what the schemas above say, the store says too
