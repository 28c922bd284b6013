"""``toolcrib goal``: goals, for people; a person's verdict counts as another identity's."""

from __future__ import annotations

import asyncio
import getpass
import json
import time

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import click

from toolcrib import Policy, Toolbox
from toolcrib_store.commands import file_of, json_option, look_after, visible, worked
from toolcrib_store.person import confirm

from .definition import FILE
from .model import Budget, Goal, GoalError
from .store import SqliteGoals


__all__ = ["group"]


@click.group()
def group() -> None:
    """Goals of this workspace: show, verdict, budget, clear; check, backup, export."""


def _keeper() -> SqliteGoals | None:
    path, _ = file_of("goal", FILE)
    return SqliteGoals(path, time=time.time) if path.is_file() else None


look_after(group, _keeper)


def _done(work: Callable[[SqliteGoals, str], Any]) -> Any:
    with worked():
        store = _keeper()
    if store is None:
        text = "there are no goals yet"
        raise click.ClickException(text)
    with worked(store):
        return work(store, file_of("goal", FILE)[1])


def _say(goals: list[Goal], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([goal.facts() for goal in goals]))
        return
    for goal in goals:
        click.echo(visible(goal.described()))
        click.echo(visible(f"  objective (revision {goal.revision}): {goal.objective}"))
        for name in ("calls", "seconds", "tokens"):
            limit, used = getattr(goal.budget, name), getattr(goal.budget, f"used_{name}")
            if limit is not None or used:
                click.echo(f"  {name}: {used:.0f} of {'no limit' if limit is None else limit}")
        if goal.digest:
            click.echo(visible(f"  completion asked by {goal.requester}"))
            click.echo(visible(f"  evidence: {goal.evidence}"))
            click.echo(f"  digest: {goal.digest}")
        if goal.verdict:
            word = "passed" if goal.verdict["passed"] else "failed"
            click.echo(visible(f"  verdict: {word}, by {goal.verdict['by']}"))
            click.echo(visible(f"  grounds: {goal.verdict['grounds']}"))
    if not goals:
        click.echo("no goals")


@group.command()
@click.argument("goal_id", required=False)
@json_option
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
@json_option
def verdict(goal_id: str, passed: bool, digest: str, grounds: str, as_json: bool) -> None:  # noqa: FBT001
    """Judge a request for completion, at a terminal: it asks whether that is your word."""
    by = f"person:{getpass.getuser()}"
    word = "reached" if passed else "not reached"
    confirm(f"{goal_id} is {word}, says {by}: {visible(grounds)}", goal_id)
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
@json_option
def budget(
    goal_id: str,
    calls: int | None,
    seconds: float | None,
    tokens: int | None,
    as_json: bool,  # noqa: FBT001
) -> None:
    """Raise a goal's budget, and let work go on, at a terminal: it asks."""
    confirm(f"The budget of {goal_id} is raised", goal_id)
    limits = Budget(calls=calls, seconds=seconds, tokens=tokens)
    goal = _done(lambda store, where: store.raise_budget(where, goal_id, limits))
    _say([goal], as_json=as_json)


@group.command()
@click.argument("goal_id")
@click.option("--reason", default="", help="Why.")
@json_option
def clear(goal_id: str, reason: str, as_json: bool) -> None:  # noqa: FBT001
    """Drop a goal, whatever its state, and stop what runs for it; it does not come back."""

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

    goal = _done(work)
    left = asyncio.run(_stop(goal.conversation, reason or f"{goal.id} was cleared"))
    _say([goal], as_json=as_json)
    for job_id in left:
        click.echo(f"{job_id} still runs: the process that runs it did not react", err=True)


async def _stop(conversation: str, reason: str) -> tuple[str, ...]:
    """Stop what runs for a conversation, where hosts share a ledger on disk."""
    policy = Policy.discover(Path())
    box = Toolbox(policy)
    # Where the commands of toolcrib keep it if policy names none.
    ledger = policy.ledger or box.state / "ledger.sqlite"
    if not ledger.is_file():
        return ()
    box = Toolbox(attrs.evolve(policy, ledger=ledger))
    try:
        by = f"person:{getpass.getuser()}"
        return (await box.stop(conversation, by=by, reason=reason)).left
    finally:
        await box.jobs.close()
