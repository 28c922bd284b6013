"""``toolcrib stop``: end what runs for a conversation, in whatever process."""

from __future__ import annotations

import asyncio

from typing import Any

import attrs
import click

from toolcrib import names

from .exits import EXIT
from .options import load_policy, login, open_ledger, policy_options
from .output import complain, json_option, note, print_json, say


__all__ = ["stop"]


@click.command()
@click.argument("conversation")
@click.option("--reason", default="", help="Why; those who read the outcomes see it.")
@json_option
@policy_options
def stop(*, conversation: str, reason: str, as_json: bool, **options: Any) -> None:
    """Stop what runs for a conversation: its calls, jobs and sub-agents.

    Processes that share the ledger cancel their calls within a moment. Open questions
    stay, and nothing keeps the conversation from going on later.
    """
    try:
        names.check_text("a reason", reason)
        names.check_text("a conversation's name", conversation)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    with open_ledger(**options) as book:
        if conversation not in book.conversations():
            text = f"there is no conversation {conversation!r}; list them: toolcrib ledger list"
            complain(text, code=EXIT["not_ok"])
    from toolcrib.toolbox import Toolbox  # noqa: PLC0415 - --help must not pay for it

    box = Toolbox(load_policy(**options))
    stopped = asyncio.run(_stopped(box, conversation, by=login(), reason=reason))
    if as_json:
        print_json(attrs.asdict(stopped))
    else:
        say(f"{conversation}: told to stop; jobs stopped: {len(stopped.jobs)}")
    for job_id in stopped.left:
        note(f"{job_id} still runs: the process that runs it did not react", colour="yellow")
    if stopped.left:
        raise SystemExit(EXIT["not_ok"])


async def _stopped(box: Any, conversation: str, *, by: str, reason: str) -> Any:
    try:
        return await box.stop(conversation, by=by, reason=reason)
    finally:
        await box.jobs.close()
