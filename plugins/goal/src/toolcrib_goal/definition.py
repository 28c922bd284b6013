"""The pack, and what its tools share: the store, identities, failures in the core's words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing

from toolcrib import Context, Pack, Signature, resources
from toolcrib_store import told as store_told

from .engine import GoalStore
from .store import SqliteGoals


__all__ = ["FILE", "identity", "of_goals", "pack", "place", "store", "told"]

FILE = "goals.db"

pack = Pack("goal", title="Goals", category="goal")
pack.command_group(
    "goal", help="Goals: show, verdict, clear.", target="toolcrib_goal.cli:group"
)


@pack.resource(scope="toolbox")
def store(ctx: Context) -> Iterator[GoalStore]:
    """Open the file of goals; all sessions share it."""
    with told():
        opened = SqliteGoals(ctx.host.state / FILE, time=ctx.host.clock.time)
    with closing(opened):
        yield opened


def identity(ctx: Context) -> str:
    """Return who calls: the conversation, for whoever it stands."""
    return f"session:{ctx.principal}:{ctx.conversation}"


def place(ctx: Context) -> str:
    """Return where goals belong: the workspace."""
    return str(ctx.workspace.root)


def told() -> AbstractContextManager[None]:
    """Turn what the store refuses into the failure that ends a call that way."""
    return store_told("goal.store")


def of_goals() -> Signature:
    """Return the signature of a call that only touches the file of goals."""
    return Signature(writes=[resources.State(FILE)])
