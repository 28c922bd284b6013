"""How commands print: tables for people, JSON for programs, errors on stderr.

Off a terminal nothing is decorated: a table is tab-separated lines. On a terminal
nothing that a pack or a remote wrote can move the cursor: what is not printable is shown
as an escape. No character that a terminal lacks ever loses a report.
"""

from __future__ import annotations

import json
import os
import sys

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, TypeVar

import click

from .exits import EXIT


if TYPE_CHECKING:
    from toolcrib.outcome import Refusal


__all__ = [
    "complain",
    "counted",
    "json_option",
    "note",
    "plain",
    "print_json",
    "print_line",
    "problem_facts",
    "problem_line",
    "problems",
    "receipts",
    "said_once",
    "say",
    "table",
    "unbreakable",
]

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """Add ``--json``; the command gets it as ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def unbreakable() -> None:
    """Let the standard streams carry every text, escaped where they cannot."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def plain(text: str, *, keep: str = "\n\t") -> str:
    """Make what is not printable visible: control codes, direction marks, half characters."""
    if text.isprintable():
        return text
    return "".join(
        c if c in keep or c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )


def said_once() -> None:
    """Leave the refusals of packs to the commands, which tell them; no logger does, too."""
    import logging  # noqa: PLC0415 - only where packs are activated

    refusals = logging.getLogger("toolcrib.activation")
    if not refusals.handlers:
        refusals.addHandler(logging.NullHandler())


def say(text: str, *, colour: str | None = None) -> None:
    """Print a line for people on standard output."""
    _print(sys.stdout, text, colour)


def note(text: str, *, colour: str | None = None) -> None:
    """Print a line for people on stderr."""
    _print(sys.stderr, text, colour)


def _print(stream: TextIO, text: str, colour: str | None) -> None:
    if stream.isatty():
        text = plain(text)
        if colour is not None and not os.environ.get("NO_COLOR"):
            text = click.style(text, fg=colour)
    stream.write(text + "\n")
    stream.flush()


def print_json(value: Any) -> None:
    """Print a value as JSON, in ASCII, so that any terminal and pipe can carry it."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=True, default=_word) + "\n")
    sys.stdout.flush()


def print_line(value: Any) -> None:
    """Print a value as one line of JSON, at once."""
    sys.stdout.write(json.dumps(value, ensure_ascii=True, default=_word) + "\n")
    sys.stdout.flush()


def _word(value: Any) -> Any:
    if isinstance(value, frozenset | set):
        return sorted(value)
    return str(value)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; off a terminal, tab-separated lines with no decoration."""
    if not sys.stdout.isatty():
        for row in rows:
            # One row is one line, whatever its cells hold.
            sys.stdout.write("\t".join(plain(cell, keep="") for cell in row) + "\n")
        sys.stdout.flush()
        return
    from rich.console import Console  # noqa: PLC0415 - 60 ms that only terminals pay
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    shown = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        shown.add_column(column, overflow="fold")
    for row in rows:
        cells = [plain(cell) for cell in row]
        shown.add_row(Text(cells[0], style="bold"), *map(Text, cells[1:]))
    Console(highlight=False).print(shown)


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number of things in words: ``1 pack``, ``2 packs``."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def problem_facts(refusal: Refusal) -> dict[str, Any]:
    """Return a refusal as a JSON-safe value."""
    return {
        "code": refusal.code,
        "subject": refusal.subject,
        "text": refusal.text,
        "details": dict(refusal.details),
    }


def problem_line(refusal: Refusal) -> str:
    """Return a refusal as a line."""
    return f"{refusal.subject}: {refusal.text} [{refusal.code}]"


def problems(found: Iterable[Refusal]) -> None:
    """Print one line for each refusal on stderr."""
    for refusal in found:
        note(problem_line(refusal), colour="yellow")


def receipts(conversation: str) -> str:
    """Return where to read what ran and how it ended."""
    return f"receipts: toolcrib ledger show {conversation}"


def complain(text: str, *, code: int = EXIT["usage"]) -> NoReturn:
    """Print an error on stderr and leave with an exit code."""
    note(f"toolcrib: {text}", colour="red")
    raise SystemExit(code)
