"""``toolcrib run``: take a model's calls through all stages, one result for each."""

from __future__ import annotations

import asyncio
import secrets as random

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from .exits import EXIT
from .inputs import file_lines, stdin_lines
from .options import conversation_option, load_policy, login, mode_option, policy_options
from .output import complain
from .transcript import Entry, read


__all__ = ["run"]


@click.command()
@click.argument("calls", type=click.Path(path_type=Path, allow_dash=True, dir_okay=False))
@click.option("--dialect", help="The form of the calls; told from their shape by default.")
@conversation_option("A durable name; calls of earlier runs are known.")
@mode_option
@click.option("--principal", help="On whose behalf; your login name by default.")
@click.option("--ask/--no-ask", default=True, help="Ask at the terminal, or leave open.")
@click.option("--quiet", is_flag=True, help="Do not tell on stderr what happens.")
@policy_options
def run(
    *,
    calls: Path,
    dialect: str | None,
    conversation: str | None,
    mode: str | None,
    principal: str | None,
    ask: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Run the tool calls in CALLS (a file, or - for standard input).

    CALLS is a provider's response, or one reply a line; lines are run as they arrive.
    Results go to standard output in the same dialect, a JSON line each, one result for
    each call, in order; receipts go to the ledger. What needs a person is asked at the
    terminal, never on standard input. Run the same CALLS again with the same
    --conversation: what ran is not run again, what was left open is asked.

    The exit code is 0 if every call ended ok, the code of the status that all others
    share, or 1; 'toolcrib --help' lists them.
    """
    from .job import Job  # noqa: PLC0415 - --help must not pay for it

    policy = load_policy(**options)
    job = Job(
        policy,
        dialect=dialect,
        conversation=conversation or "run-" + random.token_hex(6),
        named=conversation is not None,
        mode=mode,
        principal=principal or login(),
        ask=ask,
        quiet=quiet,
    )
    raise SystemExit(asyncio.run(job.run(_entries(calls))))


def _entries(calls: Path) -> Iterable[Entry]:
    if str(calls) == "-":
        return read(stdin_lines())
    try:
        return list(read(file_lines(calls)))
    except OSError as error:
        complain(f"{calls}: {error.strerror}", code=EXIT["usage"])
