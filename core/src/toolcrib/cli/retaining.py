"""``toolcrib ledger prune`` and ``forget``: what the ledger need not keep any longer."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
import time

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import attrs
import click

from toolcrib.errors import RecordError

from .exits import EXIT
from .options import open_ledger, policy_options
from .output import complain, json_option, note, print_json, say


if TYPE_CHECKING:
    from toolcrib.record import Ledger, Pruned


__all__ = ["forget", "prune"]

_SECONDS: Final = {"h": 3600.0, "d": 86_400.0, "w": 7 * 86_400.0}


class _Age(click.ParamType[float]):
    """A count of hours, days or weeks; becomes seconds."""

    name = "age"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        found = re.fullmatch(r"(\d{1,5})([hdw])", str(value), re.ASCII)
        if found is None:
            self.fail(f"{value!r} is no age; write 12h, 30d or 8w", param, ctx)
        return int(found[1]) * _SECONDS[found[2]]


_dry_run = click.option("--dry-run", is_flag=True, help="Say what would go, and keep it.")


@click.command()
@click.argument("conversation", required=False)
@click.option(
    "--older-than",
    "age",
    type=_Age(),
    required=True,
    help="What was noted longer ago goes: 12h, 30d, 8w.",
)
@_dry_run
@json_option
@policy_options
def prune(
    *,
    conversation: str | None,
    age: float,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Remove what is old: receipts, and what calls gave. The chains stay verifiable.

    That a call ran, and how it ended, stays, so it never runs again. Unfinished calls and
    open questions stay whole.
    """
    before = time.time() - age
    with _changing(**options) as book:
        if conversation is not None and conversation not in book.conversations():
            complain(f"there is no conversation {conversation!r}", code=EXIT["not_ok"])
        gone = book.prune(before=before, conversation=conversation, trial=dry_run)
        compacted = not dry_run and _compact(book)
    when = dt.datetime.fromtimestamp(before).astimezone().isoformat(timespec="seconds")
    _tell(gone, f"from before {when}", dry_run=dry_run, as_json=as_json, compacted=compacted)


@click.command()
@click.argument("conversation")
@_dry_run
@json_option
@policy_options
def forget(*, conversation: str, dry_run: bool, as_json: bool, **options: Any) -> None:
    """Remove all of CONVERSATION: receipts, questions, approvals, and what is known of it.

    Its calls are new if they come again, and run again. Refused while one of them runs.
    """
    with _changing(**options) as book:
        gone = book.forget(conversation, trial=dry_run)
        if gone is None:
            complain(f"there is no conversation {conversation!r}", code=EXIT["not_ok"])
        compacted = not dry_run and _compact(book)
    _tell(gone, f"of {conversation}", dry_run=dry_run, as_json=as_json, compacted=compacted)


@contextlib.contextmanager
def _changing(**options: Any) -> Iterator[Ledger]:
    """Open the ledger; what cannot be written is a sentence, not a traceback."""
    with open_ledger(**options) as book:
        try:
            yield book
        except RecordError as error:
            complain(str(error), code=EXIT["ledger"])


def _compact(book: Ledger) -> bool:
    try:
        book.compact()
    except RecordError as error:
        note(f"toolcrib: removed, but the file is as large as before: {error}", colour="yellow")
        return False
    return True


def _tell(gone: Pruned, what: str, *, dry_run: bool, as_json: bool, compacted: bool) -> None:
    if as_json:
        print_json(attrs.asdict(gone) | {"dry_run": dry_run, "compacted": compacted})
        return
    verb = "Would remove" if dry_run else "Removed"
    say(
        f"{verb} {what}: {gone.entries} entries, what {gone.contents} calls gave, "
        f"{gone.batches} batches."
    )
