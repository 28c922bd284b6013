"""``toolcrib call``: call one tool through all stages."""

from __future__ import annotations

import asyncio
import secrets as random
import sys

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .exits import EXIT, of_calls
from .options import conversation_option, load_policy, login, mode_option, policy_options
from .output import complain, json_option, note, print_json, receipts, say


if TYPE_CHECKING:
    from toolcrib.outcome import Outcome
    from toolcrib.policy.value import Policy


__all__ = ["call", "given"]


@click.command()
@click.argument("tool")
@click.argument("arguments", default="{}")
@conversation_option("A durable name.")
@click.option("--principal", help="On whose behalf; your login name by default.")
@click.option("--ask/--no-ask", default=True, help="Ask at the terminal, or leave open.")
@mode_option
@json_option
@policy_options
def call(
    *,
    tool: str,
    arguments: str,
    conversation: str | None,
    principal: str | None,
    ask: bool,
    mode: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Call TOOL (its id, such as files.read) with ARGUMENTS.

    ARGUMENTS is a JSON object, @FILE, or - for standard input. What is left out is not
    sent: the tool's own defaults hold. The exit code follows how the call ended.
    """
    text = given(arguments)
    policy = load_policy(**options)
    name = conversation or "call-" + random.token_hex(6)
    session = {"principal": principal or login(), "mode": mode, "conversation": name}
    try:
        outcome, steps = asyncio.run(_call(policy, tool, text, session, ask=ask))
    except KeyboardInterrupt:
        complain(f"interrupted; {receipts(name)}", code=EXIT["interrupted"])
    if as_json:
        from toolcrib.record.forms import outcome_to_json  # noqa: PLC0415 - only with --json

        print_json(outcome_to_json(outcome))
    else:
        _show(outcome)
    for line in steps:
        note(line, colour="yellow")
    raise SystemExit(of_calls([outcome.status]))


def given(arguments: str) -> str:
    """Return the text of arguments: as they are, from @FILE, or from standard input."""
    try:
        if arguments == "-":
            return bytes(sys.stdin.buffer.read()).decode()
        if arguments.startswith("@"):
            return Path(arguments[1:]).read_bytes().decode()
    except OSError as error:
        complain(f"{arguments[1:]}: {error.strerror}", code=EXIT["usage"])
    except UnicodeDecodeError as error:
        complain(f"{arguments}: is not UTF-8 ({error.reason})", code=EXIT["usage"])
    return arguments


async def _call(
    policy: Policy, tool: str, arguments: str, options: dict[str, Any], *, ask: bool
) -> tuple[Outcome, tuple[str, ...]]:
    """Call, and say what a person can do about what they typed."""
    from toolcrib.toolbox import Toolbox  # noqa: PLC0415 - --help must not pay for it

    from .advice import advised  # noqa: PLC0415 - as above
    from .job import warn_of_rules  # noqa: PLC0415 - as above
    from .terminal import TerminalApprover  # noqa: PLC0415 - as above

    async with Toolbox(policy) as box, box.session(**options) as session:
        warn_of_rules(policy, box)
        if tool not in box.catalog:
            await box.sources.settle()
        approver = TerminalApprover(by=options["principal"]) if ask else None
        outcome = await session.call(tool, arguments, approver=approver)
        return advised(outcome, tool, box.catalog, policy)


def _show(outcome: Outcome) -> None:
    from toolcrib.projection import render  # noqa: PLC0415 - only for people

    from .advice import in_ids  # noqa: PLC0415 - as above

    rendered = render(outcome)
    if outcome.ok:
        say(rendered.text)
    else:
        note(in_ids(rendered.text, outcome.tool_id), colour="red")
    for media in rendered.media:
        note(f"({media.media_type}, {len(media.data)} characters of base64; see --json)")
    sys.stdout.flush()
