"""``toolcrib run`` and ``toolcrib call``: take a model's calls through all stages."""

from __future__ import annotations

import asyncio
import getpass
import json
import secrets as random
import sys

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from ..codes import refuse
from ..errors import RecordError
from ..outcome import Outcome
from ..vocabulary import Mode, Status
from .options import load_policy, policy_options
from .output import EXIT, complain, console, print_json
from .terminal import TerminalApprover
from .transcript import Entry, detect, read


if TYPE_CHECKING:
    from ..policy import Policy
    from ..session import Session


__all__ = ["call", "run"]

DIALECTS = ("openai", "openai-responses", "anthropic", "mcp")


@click.command()
@click.argument("calls", type=click.File("r", encoding="utf-8"))
@click.option("--dialect", help="The form of the calls; told from their shape by default.")
@click.option("--conversation", help="A durable name; calls of earlier runs are known.")
@click.option("--mode", type=click.Choice([m.value for m in Mode]), help="Instead of policy's.")
@click.option("--principal", help="On whose behalf; the user's login name by default.")
@click.option("--ask/--no-ask", default=True, help="Ask at the terminal, or leave open.")
@click.option("--quiet", is_flag=True, help="Do not tell on stderr what happens.")
@policy_options
def run(
    calls: TextIO,
    dialect: str | None,
    conversation: str | None,
    mode: str | None,
    principal: str | None,
    ask: bool,  # noqa: FBT001 - click passes options by name
    quiet: bool,  # noqa: FBT001 - as above
    **options: Any,
) -> None:
    """Run the tool calls in CALLS (a file, or - for standard input).

    CALLS is a provider's response, or one reply a line. Results go to standard output
    in the same dialect, one for each call, in order; receipts go to the ledger. Exit
    code 1 says that at least one call did not end ok; its result says why.
    """
    try:
        entries = read(calls.read())
    except UnicodeDecodeError as error:
        complain(f"{calls.name} is not UTF-8: {error}", code=EXIT["usage"])
    if not entries:
        complain(f"{calls.name} holds no calls", code=EXIT["usage"])
    policy = load_policy(**options)
    job = _Job(
        entries=entries,
        dialect=dialect,
        conversation=conversation or "run-" + random.token_hex(6),
        mode=Mode(mode) if mode else None,
        principal=principal or _login(),
        ask=ask,
        quiet=quiet,
    )
    try:
        worst = asyncio.run(job.run(policy))
    except RecordError as error:
        complain(str(error), code=EXIT["ledger"])
    except KeyboardInterrupt:
        raise SystemExit(EXIT["interrupted"]) from None
    raise SystemExit(worst)


class _Job:
    """One run of a transcript."""

    def __init__(
        self,
        *,
        entries: list[Entry],
        dialect: str | None,
        conversation: str,
        mode: Mode | None,
        principal: str,
        ask: bool,
        quiet: bool,
    ) -> None:
        self._entries = entries
        self._dialect = dialect
        self._conversation = conversation
        self._mode = mode
        self._principal = principal
        self._approver = TerminalApprover(by=principal) if ask else None
        self._quiet = quiet
        self._worst = EXIT["ok"]

    async def run(self, policy: Policy) -> int:
        from ..toolbox import Toolbox  # noqa: PLC0415 - --help must not pay for it

        async with (
            Toolbox(policy) as box,
            box.session(
                self._conversation, principal=self._principal, mode=self._mode
            ) as session,
        ):
            for entry in self._entries:
                await self._reply(session, entry)
        return self._worst

    async def _reply(self, session: Session, entry: Entry) -> None:
        dialect = self._dialect or (detect(entry.reply) if entry.problem is None else None)
        where = f"line {entry.line}" if entry.line else "the transcript"
        if entry.problem is not None or dialect is None:
            problem = entry.problem or (
                f"{where} is in no form known; pass --dialect ({', '.join(DIALECTS)})"
            )
            self._broken(entry, problem)
            return
        view = await session.view(dialect)
        calls = view.calls(entry.reply)
        if not len(calls):
            self._say(f"{where}: no tool calls")
            return
        batch = await session.submit(calls)
        for question in batch.questions:
            decision = self._approver(question) if self._approver else None
            if decision is not None:
                await batch.decide(question.id, decision)
        async with batch.run() as events:
            async for event in events:
                if event.name == "call.progress":
                    self._say(f"{event.tool_id}: {event.data.get('message', '')}")
        for outcome in batch.outcomes:
            self._told(outcome)
        for message in view.results(batch):
            _write(message)

    def _broken(self, entry: Entry, problem: str) -> None:
        """Answer a line that cannot be read; the others run all the same."""
        refusal = refuse("call.malformed", f"line {entry.line or 1}", problem)
        outcome = Outcome.from_refusal(
            refusal, call_id=f"line-{entry.line or 1}", tool_id="?"
        )
        self._told(outcome)
        _write(
            {
                "error": {"code": refusal.code, "message": problem},
                "line": entry.line,
            }
        )

    def _told(self, outcome: Outcome) -> None:
        if outcome.status is not Status.OK:
            self._worst = EXIT["not_ok"]
        replayed = " (recorded earlier, not run again)" if outcome.replayed else ""
        attempts = f" after {outcome.attempts} attempts" if outcome.attempts > 1 else ""
        detail = outcome.result.summary or outcome.text
        code = f" [{outcome.code}]" if outcome.code else ""
        first = detail.splitlines()[0] if detail else ""
        self._say(f"{outcome.status:<14} {outcome.tool_id}{attempts}{replayed}: {first}{code}")

    def _say(self, text: str) -> None:
        if not self._quiet:
            console(stderr=True).print(text, markup=False)


def _write(message: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(message, ensure_ascii=True) + "\n")
    sys.stdout.flush()


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "user"


@click.command()
@click.argument("tool")
@click.argument("arguments", default="{}")
@click.option("--conversation", help="A durable name.")
@click.option("--mode", type=click.Choice([m.value for m in Mode]), help="Instead of policy's.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole outcome as JSON.")
@policy_options
def call(
    tool: str,
    arguments: str,
    conversation: str | None,
    mode: str | None,
    as_json: bool,  # noqa: FBT001 - click passes options by name
    **options: Any,
) -> None:
    """Call TOOL (its id, such as files.read) with ARGUMENTS (a JSON object, or @FILE)."""
    if arguments.startswith("@"):
        arguments = Path(arguments[1:]).read_text(encoding="utf-8")
    policy = load_policy(**options)
    outcome = asyncio.run(
        _call(policy, tool, arguments, conversation, Mode(mode) if mode else None)
    )
    if as_json:
        from ..record.forms import outcome_to_json  # noqa: PLC0415 - only with --json

        print_json(outcome_to_json(outcome))
    else:
        _show(outcome)
    raise SystemExit(EXIT["ok"] if outcome.ok else EXIT["not_ok"])


async def _call(
    policy: Policy, tool: str, arguments: str, conversation: str | None, mode: Mode | None
) -> Outcome:
    from ..toolbox import Toolbox  # noqa: PLC0415 - --help must not pay for it

    name = conversation or "call-" + random.token_hex(6)
    async with (
        Toolbox(policy) as box,
        box.session(name, principal=_login(), mode=mode) as session,
    ):
        return await session.call(tool, arguments, approver=TerminalApprover(by=_login()))


def _show(outcome: Outcome) -> None:
    from ..projection import as_text  # noqa: PLC0415 - only for people

    (console() if outcome.ok else console(stderr=True)).print(as_text(outcome), markup=False)
