"""The pack, and what its tools share: the store, identities, failures in the core's words."""

from __future__ import annotations

import contextlib

from collections.abc import Iterator, Mapping
from typing import Any

from toolcrib import Context, Failed, Invalid, NotFound, Pack, Refused, Signature, resources

from .database import DatabaseError
from .model import GoalError
from .store import SqliteGoals


__all__ = ["FILE", "Books", "books", "identity", "of_goals", "pack", "place", "store", "told"]

FILE = "goals.db"

pack = Pack("goal", title="Goals", category="goal")
pack.command_group(
    "goal", help="Goals: show, verdict, clear.", target="toolcrib_goal.cli:group"
)


class Books:
    """The stores that are open now; observers are given no host, only a conversation."""

    def __init__(self) -> None:
        self._open: list[SqliteGoals] = []

    def opened(self, store: SqliteGoals) -> None:
        """Note a store."""
        self._open.append(store)

    def closed(self, store: SqliteGoals) -> None:
        """Forget a store."""
        self._open.remove(store)

    def count(self, conversation: str) -> None:
        """Count a call of a conversation where that has a goal."""
        for each in list(self._open):
            each.count(conversation, calls=1)


books = Books()


@pack.resource(scope="toolbox")
def store(ctx: Context) -> Iterator[SqliteGoals]:
    """Open the file of goals; all sessions share it."""
    try:
        opened = SqliteGoals(ctx.host.state / FILE, time=ctx.host.clock.time)
    except DatabaseError as error:
        raise Failed(str(error), code="goal.store") from error
    books.opened(opened)
    try:
        yield opened
    finally:
        books.closed(opened)
        opened.close()


@pack.observe
def _(event: Mapping[str, Any]) -> None:
    """Count the calls of conversations that have a goal, where policy lets this pack hear."""
    if event["name"] == "call.finished" and event["conversation"]:
        books.count(event["conversation"])


def identity(ctx: Context) -> str:
    """Return who calls: the conversation, for whoever it stands."""
    return f"session:{ctx.principal}:{ctx.conversation}"


def place(ctx: Context) -> str:
    """Return where goals belong: the workspace."""
    return str(ctx.workspace.root)


_FAILURES: dict[str, Any] = {"refused": Refused, "not_found": NotFound}


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Turn what the store refuses into the failure that ends a call that way."""
    try:
        yield
    except GoalError as error:
        if error.kind == "invalid":
            raise Invalid(error.pointer, error.text, code=error.code) from error
        raise _FAILURES[error.kind](error.text, code=error.code) from error


def of_goals() -> Signature:
    """Return the signature of a call that only touches the file of goals."""
    return Signature(writes=[resources.State(FILE)])
