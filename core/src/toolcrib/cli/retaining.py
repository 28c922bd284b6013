"""``toolcrib ledger prune`` and ``forget``: what the ledger need not keep any longer."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
import time

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs
import click

from toolcrib.errors import RecordError

from .exits import EXIT
from .options import ledger_of, load_policy, policy_options
from .output import complain, counted, json_option, note, print_json, say


if TYPE_CHECKING:
    from toolcrib.artifacts import ArtifactStore, Namespace
    from toolcrib.record import Ledger


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
    """Remove what is old: receipts, what calls gave, and artifacts that nobody read since.

    The chains stay verifiable. That a call ran, and how it ended, stays, so it never runs
    again. Unfinished calls, open questions and pinned artifacts stay whole.
    """
    before = time.time() - age
    with _changing(**options) as (book, store):
        if conversation is not None and conversation not in book.conversations():
            complain(f"there is no conversation {conversation!r}", code=EXIT["not_ok"])
        gone = book.prune(before=before, conversation=conversation, trial=dry_run)
        artifacts = sum(
            space.expire(unused_for=age, trial=dry_run)
            for space in _namespaces(store, conversation)
        )
        compacted = not dry_run and _compact(book)
    when = dt.datetime.fromtimestamp(before).astimezone().isoformat(timespec="seconds")
    facts = {**attrs.asdict(gone), "artifacts": artifacts}
    _tell(facts, f"from before {when}", dry_run=dry_run, as_json=as_json, compacted=compacted)


@click.command()
@click.argument("conversation")
@_dry_run
@json_option
@policy_options
def forget(*, conversation: str, dry_run: bool, as_json: bool, **options: Any) -> None:
    """Remove all of CONVERSATION: receipts, questions, approvals, artifacts.

    Its calls are new if they come again, and run again. Refused while one of them runs.
    """
    with _changing(**options) as (book, store):
        gone = book.forget(conversation, trial=dry_run)
        if gone is None:
            complain(f"there is no conversation {conversation!r}", code=EXIT["not_ok"])
        artifacts = 0
        for space in _namespaces(store, conversation):
            artifacts += len(space.list())
            if not dry_run:
                space.clear()
        compacted = not dry_run and _compact(book)
    facts = {**attrs.asdict(gone), "artifacts": artifacts}
    _tell(facts, f"of {conversation}", dry_run=dry_run, as_json=as_json, compacted=compacted)


@contextlib.contextmanager
def _changing(**options: Any) -> Iterator[tuple[Ledger, ArtifactStore | None]]:
    """Open ledger and artifacts; what cannot be written is a sentence, not a traceback."""
    from toolcrib.artifacts import ArtifactStore  # noqa: PLC0415 - --help must not pay for it
    from toolcrib.places import state_folder  # noqa: PLC0415 - as above

    policy = load_policy(**options)
    folder = (policy.state or state_folder()) / "artifacts"
    with contextlib.ExitStack() as stack:
        try:
            book = stack.enter_context(ledger_of(policy))
            store = ArtifactStore(folder, clock=time.time) if folder.is_dir() else None
            if store is not None:
                stack.callback(store.close)
            yield book, store
        except RecordError as error:
            complain(str(error), code=EXIT["ledger"])


def _namespaces(store: ArtifactStore | None, conversation: str | None) -> list[Namespace]:
    """Return where the artifacts of one conversation, or of all, are."""
    scopes = () if store is None else store.namespaces()
    return [
        store.namespace(*scope)
        for scope in scopes
        if store is not None and conversation in {None, scope[0]}
    ]


def _compact(book: Ledger) -> bool:
    try:
        book.compact()
    except RecordError as error:
        note(f"toolcrib: removed, but the file is as large as before: {error}", colour="yellow")
        return False
    return True


def _tell(
    gone: Mapping[str, int], what: str, *, dry_run: bool, as_json: bool, compacted: bool
) -> None:
    if as_json:
        print_json({**gone, "dry_run": dry_run, "compacted": compacted})
        return
    verb = "Would remove" if dry_run else "Removed"
    say(
        f"{verb} {what}: {counted(gone['entries'], 'entry', 'entries')}, "
        f"what {counted(gone['contents'], 'call')} gave, "
        f"{counted(gone['batches'], 'batch', 'batches')}, "
        f"{counted(gone['artifacts'], 'artifact')}."
    )
