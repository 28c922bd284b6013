"""``toolcrib rules import`` and ``suggest``: take rules over, and make them narrower."""

from __future__ import annotations

import json

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .exits import EXIT
from .inputs import file_lines, stdin_lines
from .options import conversation_option, load_policy, policy_options
from .output import complain, counted, json_option, note, print_json, say


if TYPE_CHECKING:
    from toolcrib.permission import Use
    from toolcrib.policy.value import Policy


__all__ = ["import_", "suggest"]


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True, dir_okay=False))
@json_option
def import_(*, file: Path, as_json: bool) -> None:
    """Take over a list of Tool(pattern) rules, such as Bash(git commit:*).

    FILE is JSON with the lists allow, ask and deny, by themselves or under permissions.
    Prints the rules for your policy; what cannot be carried over exactly is reported on
    stderr, and exit code 1 says that there is some.
    """
    from toolcrib.permission import carry_over  # noqa: PLC0415 - as above

    found = carry_over(_lists(file))
    left = [one for one in found if one.rule is None]
    if as_json:
        print_json(
            [
                {
                    "source": one.source,
                    "list": one.verdict,
                    "status": one.status,
                    "rule": one.rule.text if one.rule is not None else None,
                    "text": one.text,
                }
                for one in found
            ]
        )
    else:
        say("rules = [")
        for one in found:
            if one.rule is not None:
                about = f"  # {one.status}: {one.text}" if one.text else ""
                say(f"    {_toml(one.rule.text)},{about}")
        say("]")
        for one in left:
            note(str(one), colour="yellow")
    raise SystemExit(EXIT["not_ok"] if left else EXIT["ok"])


def _toml(text: str) -> str:
    # JSON's escapes are TOML's, but for those of half characters, which rules never hold.
    return f"'{text}'" if "'" not in text else json.dumps(text, ensure_ascii=False)


def _lists(file: Path) -> Mapping[str, list[str]]:
    try:
        data = b"".join(stdin_lines() if str(file) == "-" else file_lines(file))
        value = json.loads(data)
    except OSError as error:
        complain(f"{file}: {error.strerror}")
    except ValueError as error:
        complain(f"{file} is not JSON: {error}")
    if isinstance(value, Mapping) and isinstance(value.get("permissions"), Mapping):
        value = value["permissions"]
    known = {"allow", "ask", "deny"}
    if not isinstance(value, Mapping) or not known & value.keys():
        complain(f"{file} holds none of the lists allow, ask, deny")
    lists = {name: value[name] for name in ("allow", "ask", "deny") if name in value}
    for name, items in lists.items():
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            complain(f"{file}: {name} is not a list of texts")
    return lists


@click.command()
@conversation_option("Look only at the calls of one conversation.")
@json_option
@policy_options
def suggest(*, conversation: str | None, as_json: bool, **options: Any) -> None:
    """Suggest narrower allow rules from the calls that ran; never a wider one."""
    from toolcrib.permission import suggest as narrower  # noqa: PLC0415 - as above

    policy = load_policy(**options)
    uses = _uses(policy, conversation)
    workspace = str(policy.workspace.expanduser().resolve())
    found = narrower(policy.rules, uses, workspace=workspace)
    if as_json:
        print_json(
            [
                {
                    "replaces": one.replaces.text,
                    "rules": [rule.text for rule in one.rules],
                    "uses": one.uses,
                    "text": one.text,
                }
                for one in found
            ]
        )
        return
    for one in found:
        say(f"{one.text} ({counted(one.uses, 'call')})")
    if not found:
        say(f"{counted(len(uses), 'call')} looked at, nothing to narrow.")


def _uses(policy: Policy, conversation: str | None) -> list[Use]:
    """Return the calls that ran, with what they touched, as the ledger noted it."""
    from toolcrib.record import Ledger  # noqa: PLC0415 - as above

    if policy.ledger is None or not Path(policy.ledger).is_file():
        complain(f"there is no ledger yet at {policy.ledger}", code=EXIT["ledger"])
    with Ledger.open(policy.ledger) as book:
        entries = book.entries(conversation)
    return [_use(entry.body["call"]) for entry in entries if entry.kind == "intent"]


def _use(facts: Mapping[str, Any]) -> Use:
    from toolcrib.permission import Use  # noqa: PLC0415 - as above
    from toolcrib.signature import Resource  # noqa: PLC0415 - as above
    from toolcrib.vocabulary import Access  # noqa: PLC0415 - as above

    resources: Any = []
    for text in facts["resources"]:
        access, kind, value = text.split(" ", 2)
        resources.append(Resource(kind, "" if value == "(any)" else value, Access(access)))
    return Use(tool_id=facts["tool_id"], resources=resources)
