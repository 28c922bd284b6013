"""``toolcrib task``: the list, for people."""

from __future__ import annotations

import contextlib
import json
import sys
import time

from collections.abc import Iterator
from typing import Any

import click

from toolcrib_store.commands import file_of, json_option, look_after, visible, worked

from .definition import FILE
from .model import STATUSES, Task
from .store import SqliteTasks


__all__ = ["group"]

_SHOWN = {
    "open": "", "claimed": "cyan", "working": "cyan", "done": "green", "failed": "red",
    "uncertain": "yellow", "cancelled": "dim",
}  # fmt: skip


@click.group()
def group() -> None:
    """Tasks of this workspace: list, board, show, watch; check, backup, export."""


def _opened() -> tuple[SqliteTasks, str] | None:
    path, where = file_of("task", FILE)
    with worked():
        return (SqliteTasks(path, time=time.time), where) if path.is_file() else None


def _keeper() -> SqliteTasks | None:
    opened = _opened()
    return None if opened is None else opened[0]


look_after(group, _keeper)


def _all(store: SqliteTasks, where: str, status: tuple[str, ...] = ()) -> Iterator[Task]:
    after = None
    while page := store.select(where, status=status, after=after, limit=200):
        yield from page
        after = page[-1].place


def _line(text: str) -> str:
    return visible(text).replace("\n", "\\n")


def _columns() -> bool:
    return sys.stdout.isatty()


def _row(task: Task) -> tuple[str, ...]:
    note = f"waits for {', '.join(task.waits_for)}" if task.waits_for else (task.owner or "")
    return task.id, task.status, task.priority, _line(note), _line(task.title)


def _tasks(status: tuple[str, ...] = ()) -> list[Task]:
    opened = _opened()
    if opened is None:
        return []
    with worked(opened[0]):
        return list(_all(*opened, status))


@group.command("list")
@click.option("--status", multiple=True, type=click.Choice(STATUSES), help="Only these states.")
@json_option
def list_(status: tuple[str, ...], as_json: bool) -> None:  # noqa: FBT001
    """List all tasks, the most urgent first."""
    tasks = _tasks(status)
    if as_json:
        click.echo(json.dumps([task.facts() for task in tasks]))
        return
    if not tasks:
        click.echo("no tasks")
    elif _columns():
        _print(_table(tasks))
    else:
        for task in tasks:
            click.echo("\t".join(_row(task)))


def _print(what: Any) -> None:
    from rich.console import Console  # noqa: PLC0415 - only on a terminal

    Console().print(what)


def _table(tasks: list[Task]) -> Any:
    from rich.table import Table  # noqa: PLC0415 - only on a terminal
    from rich.text import Text  # noqa: PLC0415 - as above

    table = Table("id", "state", "priority", "who or what it waits for", "task", box=None)
    for task in tasks:
        cells = [Text(cell) for cell in _row(task)]
        cells[1].stylize(_SHOWN[task.status] or "default")
        table.add_row(*cells)
    return table


def _board(tasks: list[Task]) -> Any:
    from rich.columns import Columns  # noqa: PLC0415 - only on a terminal
    from rich.panel import Panel  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    panels = []
    for title, lines in _lanes(tasks).items():
        text = Text("\n".join(lines[:30]) or "-")
        if len(lines) > 30:
            text.append(f"\n… and {len(lines) - 30} more")
        panels.append(Panel(text, title=f"{title} ({len(lines)})", width=38))
    return Columns(panels)


def _lanes(tasks: list[Task]) -> dict[str, list[str]]:
    lanes: dict[str, list[str]] = {
        name: [] for name in ("ready", "waiting", "in work", "needs a look", "over")
    }
    for task in tasks:
        lane = {
            "open": "ready" if task.ready else "waiting",
            "claimed": "in work",
            "working": "in work",
            "failed": "needs a look",
            "uncertain": "needs a look",
        }.get(task.status, "over")
        lanes[lane].append(f"{task.id} {_line(task.title)}")
    return lanes


@group.command()
@json_option
def board(as_json: bool) -> None:  # noqa: FBT001
    """Show tasks in lanes: ready, waiting, in work, needs a look, over."""
    tasks = _tasks()
    if as_json:
        click.echo(json.dumps(_lanes(tasks)))
    elif _columns():
        _print(_board(tasks))
    else:
        for title, lines in _lanes(tasks).items():
            click.echo(f"{title} ({len(lines)})")
            for line in lines:
                click.echo(f"  {line}")


@group.command()
@click.argument("task_id")
@json_option
def show(task_id: str, as_json: bool) -> None:  # noqa: FBT001
    """Show one task with everything about it."""
    opened = _opened()
    if opened is None:
        text = "there are no tasks yet"
        raise click.ClickException(text)
    with worked(opened[0]):
        task = opened[0].get(opened[1], task_id)
    facts = task.facts()
    if as_json:
        click.echo(json.dumps(facts))
        return
    click.echo(visible(task.described()))
    for name, value in facts.items():
        if value not in ("", [], {}, None):
            click.echo(f"{name}: {visible(str(value))}")


@group.command()
@click.option("--every", default=1.0, show_default=True, help="Seconds between looks.")
@click.option("--times", default=0, help="End after so many looks; 0: never.")
@json_option
def watch(every: float, times: int, as_json: bool) -> None:  # noqa: FBT001
    """Show the board as it changes; off a terminal a line for every change."""
    from rich.live import Live  # noqa: PLC0415 - only here

    seen = 0
    cursor = 0
    live = Live(auto_refresh=False) if _columns() and not as_json else None
    with live if live is not None else contextlib.nullcontext():
        while True:
            opened = _opened()
            if opened is not None:
                with worked(opened[0]):
                    if live is not None:
                        live.update(_board(list(_all(*opened))), refresh=True)
                    else:
                        cursor = _changes(*opened, cursor, as_json=as_json)
            seen += 1
            if times and seen >= times:
                return
            time.sleep(every)


def _changes(store: SqliteTasks, where: str, cursor: int, *, as_json: bool) -> int:
    while True:
        changed, gone, now = store.changes(where, cursor, 200)
        for task in changed:
            click.echo(json.dumps(task.facts()) if as_json else "\t".join(_row(task)))
        for task_id in gone:
            line = {"id": task_id, "status": "deleted"}
            click.echo(json.dumps(line) if as_json else f"{task_id}\tdeleted")
        if now == cursor:
            return now
        cursor = now
