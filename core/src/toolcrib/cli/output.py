"""How commands print: tables for people, JSON for programs, errors on stderr."""

from __future__ import annotations

import json
import sys

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click


if TYPE_CHECKING:
    from rich.console import Console

    from ..outcome import Refusal


__all__ = ["EXIT", "complain", "console", "json_option", "print_json", "refusals", "table"]

EXIT = {
    "ok": 0,
    "not_ok": 1,
    "usage": 2,
    "policy": 3,
    "ledger": 4,
    "interrupted": 130,
}
"""Exit codes: 1 means that a call, check or pack is not ok; 2 wrong use or input;
3 a policy file that cannot be used; 4 a ledger that cannot be used."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def console(*, stderr: bool = False) -> Console:
    """Return a console that colours only on a terminal and never breaks on a character."""
    from rich.console import Console  # noqa: PLC0415 - 60 ms that --json need not pay

    stream = sys.stderr if stderr else sys.stdout
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        # A report is never lost because a terminal cannot show one of its characters.
        reconfigure(errors="backslashreplace")
    return Console(stderr=stderr, highlight=False, soft_wrap=not stream.isatty())


def print_json(value: Any) -> None:
    """Print a value as JSON, in ASCII, so that any terminal and pipe can carry it."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=True) + "\n")


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; off a terminal, tab-separated lines with no decoration."""
    rows = list(rows)
    if not sys.stdout.isatty():
        out = console()
        for row in rows:
            out.print("\t".join(row), markup=False)
        return
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    shown = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        shown.add_column(column, overflow="fold")
    for row in rows:
        shown.add_row(*(Text(cell) for cell in row))
    console().print(shown)


def refusals(found: Iterable[Refusal]) -> None:
    """Print one line for each refusal on stderr."""
    out = console(stderr=True)
    for refusal in found:
        out.print(f"{refusal.subject}: {refusal.text} [{refusal.code}]", markup=False)


def complain(text: str, *, code: int) -> NoReturn:
    """Print an error on stderr and leave with an exit code."""
    console(stderr=True).print(f"toolcrib: {text}", markup=False)
    raise SystemExit(code)
