"""``toolcrib goal``: goals, for people; a person's verdict counts as another identity's."""

from __future__ import annotations

import getpass
import json
import time

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from toolcrib import Policy, Toolbox

from .database import DatabaseError
from .definition import FILE
from .model import Budget, Goal, GoalError
from .store import SqliteGoals


__all__ = ["group"]


@click.group()
def group() -> None:
    """Goals of this workspace: show, verdict, budget, clear."""


def _json(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def _opened() -> tuple[SqliteGoals, str]:
    policy = Policy.discover(Path())
    path = Toolbox(policy).pack_state("goal") / FILE
    if not path.is_file():
        text = "there are no goals yet"
        raise click.ClickException(text)
    try:
        return SqliteGoals(path, time=time.time), str(Path(policy.workspace).resolve())
    except DatabaseError as error:
        raise click.ClickException(str(error)) from error


def _done(work: Callable[[SqliteGoals, str], Any]) -> Any:
    store, where = _opened()
    try:
        return work(store, where)
    except GoalError as error:
        raise click.ClickException(error.text) from error
    finally:
        store.close()


def _safe(text: str) -> str:
    """Make visible what could move the cursor of a terminal."""
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )


def _say(goals: list[Goal], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([goal.facts() for goal in goals]))
        return
    for goal in goals:
        click.echo(_safe(goal.described()))
        click.echo(_safe(f"  objective (revision {goal.revision}): {goal.objective}"))
        for name in ("calls", "seconds", "tokens"):
            limit, used = getattr(goal.budget, name), getattr(goal.budget, f"used_{name}")
            if limit is not None or used:
                click.echo(f"  {name}: {used:.0f} of {'no limit' if limit is None else limit}")
        if goal.digest:
            click.echo(_safe(f"  completion asked by {goal.requester}"))
            click.echo(_safe(f"  evidence: {goal.evidence}"))
            click.echo(f"  digest: {goal.digest}")
        if goal.verdict:
            word = "passed" if goal.verdict["passed"] else "failed"
            click.echo(_safe(f"  verdict: {word}, by {goal.verdict['by']}"))
            click.echo(_safe(f"  grounds: {goal.verdict['grounds']}"))
    if not goals:
        click.echo("no goals")


@group.command()
@click.argument("goal_id", required=False)
@_json
def show(goal_id: str | None, as_json: bool) -> None:  # noqa: FBT001
    """Show one goal, or all of this workspace."""

    def work(store: SqliteGoals, where: str) -> list[Goal]:
        return [store.get(where, goal_id)] if goal_id else list(store.select(where, limit=200))

    _say(_done(work), as_json=as_json)


@group.command()
@click.argument("goal_id")
@click.option("--pass/--fail", "passed", required=True, help="Whether the goal is reached.")
@click.option("--digest", required=True, help="Digest of the request, as show prints it.")
@click.option("--grounds", required=True, help="What you looked at, and what you saw.")
@_json
def verdict(goal_id: str, passed: bool, digest: str, grounds: str, as_json: bool) -> None:  # noqa: FBT001
    """Judge a request for completion."""
    by = f"person:{getpass.getuser()}"
    goal = _done(
        lambda store, where: store.verdict(
            where, goal_id, by=by, passed=passed, digest=digest, grounds=grounds
        )
    )
    _say([goal], as_json=as_json)


@group.command()
@click.argument("goal_id")
@click.option("--calls", type=click.IntRange(1), help="New limit.")
@click.option("--seconds", type=click.FloatRange(1), help="New limit.")
@click.option("--tokens", type=click.IntRange(1), help="New limit.")
@_json
def budget(
    goal_id: str,
    calls: int | None,
    seconds: float | None,
    tokens: int | None,
    as_json: bool,  # noqa: FBT001
) -> None:
    """Raise a goal's budget, and let work go on."""
    limits = Budget(calls=calls, seconds=seconds, tokens=tokens)
    goal = _done(lambda store, where: store.raise_budget(where, goal_id, limits))
    _say([goal], as_json=as_json)


@group.command()
@click.argument("goal_id")
@click.option("--reason", default="", help="Why.")
@_json
def clear(goal_id: str, reason: str, as_json: bool) -> None:  # noqa: FBT001
    """Drop a goal, whatever its state; it does not come back."""

    def work(store: SqliteGoals, where: str) -> Goal:
        # A person's word counts whatever happens meanwhile.
        while True:
            goal = store.get(where, goal_id)
            try:
                return store.act(
                    where, goal_id, "drop", by="person", version=goal.version, text=reason
                )
            except GoalError as error:
                if error.code != "goal.stale":
                    raise

    _say([_done(work)], as_json=as_json)
