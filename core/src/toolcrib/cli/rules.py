"""``toolcrib rules``: look into permission rules, try them out, take others over."""

from __future__ import annotations

import asyncio

from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .call import given
from .checking import lint_of
from .exits import EXIT
from .explain import decision
from .inputs import file_lines, stdin_lines
from .narrowing import import_, suggest
from .options import catalog_of, load_policy, login, mode_option, policy_options
from .output import complain, counted, json_option, note, print_json, say
from .trusting import trust


if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from toolcrib.call import AdmittedCall
    from toolcrib.conversation.session import Session
    from toolcrib.permission import Difference
    from toolcrib.rules import Rule
    from toolcrib.signature import Signature

    from .transcript import Entry


__all__ = ["rules"]


@click.group()
def rules() -> None:
    """Look into permission rules: allow|ask|deny tool(field=pattern, …)."""


@rules.command()
@json_option
@policy_options
def lint(*, as_json: bool, **options: Any) -> None:
    """Report rules that match nothing, are shadowed, or are wider than they look."""
    policy = load_policy(**options)
    found = lint_of(policy, catalog_of(policy))
    if as_json:
        print_json([finding.data() for finding in found])
    else:
        for finding in found:
            say(str(finding), colour="red" if finding.severity == "error" else "yellow")
        if not found:
            say(f"{counted(len(policy.rules), 'rule')}, nothing to say.", colour="green")
    wrong = any(finding.severity == "error" for finding in found)
    raise SystemExit(EXIT["not_ok"] if wrong else EXIT["ok"])


@rules.command()
@click.argument("tool")
@click.argument("arguments", default="{}")
@click.option("--principal", help="On whose behalf; your login name by default.")
@mode_option
@json_option
@policy_options
def explain(
    *,
    tool: str,
    arguments: str,
    principal: str | None,
    mode: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Explain what would be decided on a call of TOOL with ARGUMENTS, and why."""
    policy = load_policy(**options)
    decision(policy, tool, given(arguments), principal, mode, as_json=as_json)


# -- trying out ------------------------------------------------------------------------


@rules.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("calls", type=click.Path(path_type=Path, allow_dash=True, dir_okay=False))
@click.option("--dialect", help="The form of the calls; told from their shape by default.")
@click.option("--principal", help="On whose behalf; your login name by default.")
@mode_option
@json_option
@policy_options
def shadow(
    *,
    file: Path,
    calls: Path,
    dialect: str | None,
    principal: str | None,
    mode: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Judge CALLS by the rules in FILE, and say where they differ from those of now.

    FILE is a policy file, or one rule a line; CALLS is what 'toolcrib run' takes. Nothing
    runs. Exit code 1 if any call would be decided otherwise.
    """
    tried = _rules_in(file)
    policy = load_policy(**options)
    from .judging import judging  # noqa: PLC0415 - --help must not pay for it

    session = judging(policy, principal=principal or login(), mode=mode)
    count, found = asyncio.run(_shadow(session, tried, _entries(calls), dialect))
    if as_json:
        print_json({"calls": count, "differences": [one.data() for one in found]})
    else:
        for one in found:
            say(str(one), colour="red" if one.direction == "looser" else "yellow")
        say(f"{counted(count, 'call')} judged, {len(found)} decided otherwise.")
    raise SystemExit(EXIT["not_ok"] if found else EXIT["ok"])


def _rules_in(file: Path) -> tuple[Rule, ...]:
    from toolcrib.policy.file import read  # noqa: PLC0415 - --help must not pay for it
    from toolcrib.rules import parse_lines  # noqa: PLC0415 - as above

    if file.suffix == ".toml":
        found: tuple[Rule, ...] = read(file).fields.get("rules", ())
        return found
    try:
        return parse_lines(file.read_text(encoding="utf-8"), file=file)
    except (OSError, UnicodeDecodeError) as error:
        complain(f"{file}: {error}")


def _entries(calls: Path) -> list[Entry]:
    from .transcript import read  # noqa: PLC0415 - as above

    try:
        return list(read(stdin_lines() if str(calls) == "-" else file_lines(calls)))
    except OSError as error:
        complain(f"{calls}: {error.strerror}")


async def _shadow(
    session: AbstractAsyncContextManager[Session],
    tried: tuple[Rule, ...],
    entries: Iterable[Entry],
    dialect: str | None,
) -> tuple[int, tuple[Difference, ...]]:
    import attrs  # noqa: PLC0415 - as above

    from toolcrib.permission import RuleSet, shadow  # noqa: PLC0415 - as above

    async with session as opened:
        pairs = [pair async for pair in _judged(opened, entries, dialect)]
        now = opened.authority.context()
        folder = opened.toolbox.workspace.root
        other = attrs.evolve(now, rules=RuleSet(tried, workspace=folder))
        return len(pairs), shadow(pairs, now, other)


async def _judged(
    session: Session, entries: Iterable[Entry], dialect: str | None
) -> AsyncIterator[tuple[AdmittedCall, Signature | None]]:
    """Give the calls that come as far as the rules; the others are named."""
    from .judging import judged  # noqa: PLC0415 - as above
    from .transcript import detect  # noqa: PLC0415 - as above

    for entry in entries:
        form = dialect or detect(entry.reply)
        if entry.problem is not None or form is None:
            note(f"{entry.problem or entry.where + ' is in no form known'}: passed over")
            continue
        view = await session.view(form)
        try:
            calls = view.calls(entry.reply)
        except (ValueError, RecursionError) as error:
            note(f"{entry.where}: {error}: passed over")
            continue
        for call in calls:
            item = (await judged(session, view, call)).item
            if item.admitted is not None:
                yield item.admitted, item.signature
            else:
                note(f"{item.tool_id}: does not come as far as the rules; passed over")


rules.add_command(import_)
rules.add_command(suggest)
rules.add_command(trust)
