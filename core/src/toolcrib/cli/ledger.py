"""``toolcrib ledger``: read receipts, verify the chains, export them."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import time

from typing import TYPE_CHECKING, Any

import attrs
import click

from .exits import EXIT
from .options import open_ledger, policy_options
from .output import complain, counted, json_option, note, print_json, print_line, say, table
from .retaining import forget, prune


if TYPE_CHECKING:
    from toolcrib.outcome import Receipt
    from toolcrib.record import Entry


__all__ = ["ledger"]


@click.group()
def ledger() -> None:
    """Read receipts: what ran, who let it, how it ended."""


def _json(receipt: Receipt) -> dict[str, Any]:
    return attrs.asdict(receipt) | {"effects": sorted(receipt.effects)}


def _when(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return dt.datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")


def _row(receipt: Receipt) -> tuple[str, ...]:
    return (
        str(receipt.number),
        _when(receipt.ended),
        receipt.tool_id,
        receipt.status,
        receipt.code or "",
        "; ".join(receipt.decided_by),
        " ".join(repair.split(" ", 1)[0] for repair in receipt.repairs),
    )


def _story(entry: Entry) -> dict[str, Any]:
    """Show what an entry says as it is, not as text within text."""
    facts = attrs.asdict(entry)
    with contextlib.suppress(ValueError):  # What was tampered with may be anything.
        facts["text"] = json.loads(entry.text)
    return facts


_COLUMNS = ("#", "ended", "tool", "status", "code", "decided by", "mended")


@ledger.command("list")
@json_option
@policy_options
def list_(*, as_json: bool, **options: Any) -> None:
    """List the conversations: how many receipts each has, and when it was last used."""
    with open_ledger(**options) as book:
        found = [(name, book.receipts(name)) for name in book.conversations()]
    facts = [
        (name, len(receipts), max((r.ended for r in receipts if r.ended), default=None))
        for name, receipts in found
    ]
    if as_json:
        print_json([{"conversation": n, "receipts": c, "last": last} for n, c, last in facts])
    else:
        rows = [(name, str(count), _when(last)) for name, count, last in facts]
        table("Conversations", ("conversation", "receipts", "last"), rows)


@ledger.command()
@click.argument("conversation", required=False)
@json_option
@policy_options
def show(*, conversation: str | None, as_json: bool, **options: Any) -> None:
    """Show the receipts of CONVERSATION, in order; one call's whole story by its id.

    Without CONVERSATION, the receipts of the one that was last used.
    """
    with open_ledger(**options) as book:
        if conversation is None:
            conversation = book.last_used()
            if conversation is None:
                text = "no call has been made yet; make one: toolcrib call"
                complain(text, code=EXIT["not_ok"])
            note(f"{conversation}; the others: toolcrib ledger list")
        if conversation.startswith("call_"):
            history = [_story(entry) for entry in book.history(conversation)]
            if not history:
                complain(f"there is no call {conversation!r}", code=EXIT["not_ok"])
            print_json(history)
            return
        receipts = book.receipts(conversation)
    if not receipts:
        text = f"no receipts of conversation {conversation!r}; list them: toolcrib ledger list"
        complain(text, code=EXIT["not_ok"])
    if as_json:
        print_json([_json(receipt) for receipt in receipts])
    else:
        table(conversation, _COLUMNS, map(_row, receipts))


@ledger.command()
@click.argument("conversation", required=False)
@json_option
@policy_options
def verify(*, conversation: str | None, as_json: bool, **options: Any) -> None:
    """Verify the chains; exit code 1 if a place does not hold, each is named."""
    with open_ledger(**options) as book:
        faults = book.verify(conversation)
        count = len(book.entries(conversation))
    if as_json:
        print_json({"entries": count, "faults": [str(fault) for fault in faults]})
    else:
        for fault in faults:
            say(str(fault), colour="red")
        if not faults:
            say(f"{counted(count, 'entry', 'entries')}, every link holds.", colour="green")
    raise SystemExit(EXIT["not_ok"] if faults else EXIT["ok"])


@ledger.command()
@click.argument("conversation", required=False)
@policy_options
def export(*, conversation: str | None, **options: Any) -> None:
    """Print the chains as JSON lines that can be verified elsewhere."""
    with open_ledger(**options) as book:
        for line in book.export(conversation):
            click.echo(line)


@ledger.command()
@click.argument("conversation", required=False)
@click.option("--follow", is_flag=True, help="Keep printing what happens.")
@policy_options
def tail(*, conversation: str | None, follow: bool, **options: Any) -> None:
    """Print what happened, one JSON line an event."""
    with open_ledger(**options) as book:
        cursor = 0
        while True:
            found = book.tail(cursor, conversation=conversation)
            for event in found.events:
                print_line(attrs.asdict(event))
            if not found.events and not follow:
                return
            if not found.events:
                time.sleep(0.5)
            cursor = found.cursor


@ledger.command()
@click.argument("conversation", required=False)
@click.option("--all", "everything", is_flag=True, help="Those that were answered, too.")
@json_option
@policy_options
def questions(
    *,
    conversation: str | None,
    everything: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """List what awaits a person's answer; run the same calls again to be asked."""
    with open_ledger(**options) as book:
        found = book.questions(conversation, pending=not everything)
    if as_json:
        print_json([attrs.asdict(one.question) | {"pending": one.pending} for one in found])
        return
    rows = [
        (
            one.question.id,
            _when(one.question.created),
            one.question.conversation,
            one.question.tool_id,
            "; ".join(one.question.resources),
            "open" if one.pending else "closed",
        )
        for one in found
    ]
    table("Questions", ("id", "asked", "conversation", "tool", "touches", "state"), rows)


@ledger.command()
@json_option
@policy_options
def grants(*, as_json: bool, **options: Any) -> None:
    """List standing approvals."""
    with open_ledger(**options) as book:
        found = book.grants()
    if as_json:
        print_json([attrs.asdict(grant) for grant in found])
        return
    if not found:
        note("No approval stands.")
        return
    rows = [
        (
            grant.id,
            grant.rule or f"{grant.tool_id} (this call)",
            grant.scope,
            grant.approver,
            _when(grant.expires),
        )
        for grant in found
    ]
    table("Grants", ("id", "covers", "scope", "by", "expires"), rows)


@ledger.command()
@click.argument("grant")
@json_option
@policy_options
def revoke(*, grant: str, as_json: bool, **options: Any) -> None:
    """Revoke an approval at once, in every process."""
    with open_ledger(**options) as book:
        stood = book.revoke_grant(grant)
    if not stood:
        complain(f"no standing grant {grant!r}", code=EXIT["not_ok"])
    if as_json:
        print_json({"grant": grant, "revoked": True})
    else:
        say(f"{grant} is revoked.")


ledger.add_command(prune)
ledger.add_command(forget)
