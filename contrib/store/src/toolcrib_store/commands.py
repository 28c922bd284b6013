"""What people do with a pack's file, and how they are shown what models wrote."""

from __future__ import annotations

import json

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import click

from toolcrib import Policy, Toolbox

from .database import Database
from .errors import DatabaseError, StoreError


__all__ = ["Keeper", "file_of", "json_option", "look_after", "visible", "worked"]


class Keeper(Protocol):
    """A store that keeps everything in one file."""

    @property
    def database(self) -> Database:
        """Its file."""

    def check(self) -> list[str]:
        """Return what is damaged, or does not fit together; empty is good."""

    def export(self) -> Iterator[dict[str, Any]]:
        """Give everything as JSON-safe values."""

    def close(self) -> None:
        """Close the file."""


def visible(text: str) -> str:
    """Make visible what could move the cursor of a terminal; lines stay lines."""
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--json``, which the command takes as ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def file_of(pack: str, name: str) -> tuple[Path, str]:
    """Return where a pack keeps a file, and the workspace of this folder."""
    policy = Policy.discover(Path())
    where = str(Path(policy.workspace).resolve())
    return Toolbox(policy).pack_state(pack) / name, where


class worked:  # noqa: N801 - a context manager
    """Say what a store refuses as a command does, and close the store."""

    def __init__(self, store: Keeper | None = None) -> None:
        self._store = store

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._store is not None:
            self._store.close()
        if isinstance(error, UnicodeEncodeError):
            text = f"a text holds half a character at {error.start}: {error.object!a:.60}"
            raise click.ClickException(text) from error
        if isinstance(error, (StoreError, DatabaseError)):
            text = visible(error.text if isinstance(error, StoreError) else str(error))
            raise click.ClickException(text) from error


def look_after(group: click.Group, opened: Callable[[], Keeper | None]) -> None:
    """Add the commands ``check``, ``backup`` and ``export``.

    Args:
        group: Where to.
        opened: Opens the store, which is closed afterwards; None: there is none yet.
    """
    target = click.Argument(["target"], type=click.Path(path_type=Path, dir_okay=False))
    for name, work, help_, params in (
        ("check", _check, "Look whether the file, and all that is in it, is whole.", []),
        ("backup", _backup, "Copy the file, as of one moment, to a new one.", [target]),
        ("export", _export, "Print everything, one JSON object to a line.", []),
    ):
        run = partial(_with_store, opened, work)
        group.add_command(click.Command(name, callback=run, params=list(params), help=help_))


def _with_store(
    opened: Callable[[], Keeper | None], work: Callable[..., None], **given: Any
) -> None:
    with worked():
        store = opened()
    if store is None:
        text = "there is no file yet; the first call that keeps something makes it"
        raise click.ClickException(text)
    with worked(store):
        work(store, **given)


def _check(store: Keeper) -> None:
    wrong = store.check()
    for line in wrong:
        click.echo(line, err=True)
    if wrong:
        text = "Make a copy of what can be read (export), then restore a backup."
        raise click.ClickException(text)
    click.echo("ok")


def _backup(store: Keeper, *, target: Path) -> None:
    try:
        store.database.backup(target)
    except OSError as error:
        text = f"{target}: {error.strerror}"
        raise click.ClickException(text) from error
    click.echo(str(target))


def _export(store: Keeper) -> None:
    for facts in store.export():
        click.echo(json.dumps(facts))
