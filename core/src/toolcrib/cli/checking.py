"""``toolcrib check``: look at everything as the stages will, without running any of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from .exits import EXIT
from .mending import is_for_apps
from .options import catalog_of, load_policy, policy_options
from .output import counted, json_option, note, print_json, problem_facts, problem_line, say


if TYPE_CHECKING:
    from toolcrib.catalog.stage import Catalog
    from toolcrib.outcome import Refusal
    from toolcrib.permission import Finding
    from toolcrib.policy.value import Policy


__all__ = ["check", "lint_of", "problems_of"]

DIALECTS = ("openai", "openai-responses", "anthropic", "mcp")


@click.command()
@json_option
@policy_options
def check(*, as_json: bool, **options: Any) -> None:
    """Check policy, rules, packs and every tool's schemas; exit code 1 if anything is wrong.

    Imports no pack code; 'toolcrib doctor --activate' does.
    """
    policy = load_policy(**options)
    catalog = catalog_of(policy)
    refusals = (*catalog.refusals, *problems_of(catalog))
    found = [problem_facts(r) for r in refusals if not is_for_apps(r)]
    notes = [r for r in refusals if is_for_apps(r)]
    rules = lint_of(policy, catalog)
    found += [
        {"code": r.code, "subject": r.rule.name, "text": r.text, "details": r.data()}
        for r in rules
        if r.severity == "error"
    ]
    warnings = [r for r in rules if r.severity != "error"]
    if as_json:
        told = [warning.data() for warning in warnings]
        print_json(
            {
                "tools": len(catalog.tools),
                "problems": found,
                "warnings": told,
                "notes": [problem_facts(r) for r in notes],
            }
        )
    else:
        for problem in found:
            say(f"{problem['subject']}: {problem['text']} [{problem['code']}]", colour="red")
        for warning in warnings:
            note(str(warning), colour="yellow")
        for refusal in notes:
            note(problem_line(refusal))
        if not found:
            say(f"{counted(len(catalog.tools), 'tool')}, nothing wrong.", colour="green")
    raise SystemExit(EXIT["not_ok"] if found else EXIT["ok"])


def lint_of(policy: Policy, catalog: Catalog) -> tuple[Finding, ...]:
    """Return what is wrong with the rules; tools of live sources are taken for granted."""
    from toolcrib.crib import TOOLS  # noqa: PLC0415 - --help must not pay for it
    from toolcrib.permission import lint  # noqa: PLC0415 - as above
    from toolcrib.resources import paths  # noqa: PLC0415 - as above

    if not policy.rules:
        return ()
    known = {tool.id: tool for tool in TOOLS}
    known |= {id_: entry.tool for id_, entry in catalog.tools.items()}
    live = {id_ for id_, finding in catalog.packs.items() if finding.manifest.sources}
    found = lint(
        policy.rules, known, workspace=str(policy.workspace.absolute()), home=paths.home()
    )
    # What a source will offer is not known before it is connected.
    return tuple(
        f
        for f in found
        if f.code != "rule.nothing" or f.rule.tool_pattern.partition(".")[0] not in live
    )


def problems_of(catalog: Catalog) -> Iterator[Refusal]:
    """Give what would go wrong when the tools of a catalog are shown or called."""
    from toolcrib.codes import refuse  # noqa: PLC0415 - as above
    from toolcrib.errors import SchemaError  # noqa: PLC0415 - as above
    from toolcrib.projection import dialect, project  # noqa: PLC0415 - as above
    from toolcrib.schema import normalize  # noqa: PLC0415 - as above

    for tool_id, entry in catalog.tools.items():
        for schema in (entry.tool.input_schema, entry.tool.output_schema):
            if schema is None:
                continue
            try:
                normalize(schema)
            except SchemaError as error:
                yield refuse("schema.unsupported", tool_id, str(error))
    shown = [entry.tool for entry in catalog.tools.values()]
    for name in DIALECTS:
        for refusal in project(shown, dialect(name)).refusals:
            yield refuse(refusal.code, refusal.subject, f"in {name}: {refusal.text}")
