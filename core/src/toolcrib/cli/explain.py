"""``toolcrib explain``: a tool, its projection, or the whole decision on a call."""

from __future__ import annotations

import json

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from .call import given
from .exits import EXIT
from .options import catalog_of, load_policy, login, mode_option, policy_options
from .output import complain, json_option, note, print_json, say


if TYPE_CHECKING:
    from toolcrib.catalog.stage import Catalog, Entry
    from toolcrib.outcome import Refusal
    from toolcrib.policy.value import Policy
    from toolcrib.projection import Dialect, Projected


__all__ = ["decision", "explain"]


_DEEPEST = 8


@click.command()
@click.argument("tool")
@click.argument("arguments", required=False)
@click.option("--dialect", help="Show how a provider is told, and what is lost on the way.")
@click.option("--strict", is_flag=True, help="With --dialect: ask for strict arguments.")
@click.option("--principal", help="On whose behalf; your login name by default.")
@mode_option
@json_option
@policy_options
def explain(
    *,
    tool: str,
    arguments: str | None,
    dialect: str | None,
    strict: bool,
    principal: str | None,
    mode: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Explain TOOL: its declaration, where it comes from, why it is withheld.

    With ARGUMENTS (a JSON object, @FILE or -): what would be decided on that call, and
    why. Nothing runs and nothing is recorded; only then is pack code imported.
    """
    policy = load_policy(**options)
    if arguments is not None:
        decision(policy, tool, given(arguments), principal, mode, as_json=as_json)
        return
    catalog = catalog_of(policy)
    entry = _found(policy, catalog, tool)
    if dialect is not None:
        _projected(policy, entry, dialect, strict=strict, as_json=as_json)
    elif as_json:
        print_json(_facts(policy, entry))
    else:
        for line in _lines(policy, entry):
            say(line)
    raise SystemExit(EXIT["ok"] if _is_offered(entry) else EXIT["unavailable"])


def decision(
    policy: Policy,
    tool: str,
    arguments: str,
    principal: str | None,
    mode: str | None,
    *,
    as_json: bool,
) -> None:
    """Print the whole decision on one call and leave: 0 runs, 12 refused, 13 asked."""
    import asyncio  # noqa: PLC0415 - explaining a tool needs no event loop

    from .judging import judged, judging, tool_call  # noqa: PLC0415 - it loads everything

    async def judge() -> Any:
        async with judging(policy, principal=principal or login(), mode=mode) as session:
            return await judged(session, *await tool_call(session, tool, arguments))

    found = asyncio.run(judge())
    data = found.data()
    if as_json:
        print_json(data)
    else:
        say(str(found))
    if found.refusal is not None:
        raise SystemExit(EXIT[found.refusal.status])
    names = {"run": "ok", "ask": "needs_approval", "refuse": "refused"}
    raise SystemExit(EXIT[names[data["verdict"]]])


# -- a tool, from manifests alone ----------------------------------------------------


class _Withheld:
    """A tool that is not offered, with what is known of it."""

    def __init__(self, refusal: Refusal, tool: Any, finding: Any) -> None:
        self.refusal, self.tool, self.finding = refusal, tool, finding


def _is_offered(entry: Entry | _Withheld) -> bool:
    return not isinstance(entry, _Withheld)


def _found(policy: Policy, catalog: Catalog, name: str) -> Entry | _Withheld:
    """Return a tool, offered or withheld, or leave with what is known of the name."""
    from toolcrib.crib import TOOLS  # noqa: PLC0415 - --help must not pay for it
    from toolcrib.outcome import Refusal  # noqa: PLC0415 - as above

    found = catalog.find(name)
    if not isinstance(found, Refusal):
        return found
    for own in TOOLS:  # the core's own are in no catalog
        if name == own.id:
            say(f"{own.id}: {own.description.text()}")
            raise SystemExit(EXIT["ok"])
    for finding in catalog.packs.values():
        for tool in finding.manifest.tools:
            if tool.id == name and found.code != "tool.unknown":
                return _Withheld(found, tool, finding)
    live = [id_ for id_, finding in catalog.packs.items() if finding.manifest.sources]
    if found.code == "tool.unknown" and name.partition(".")[0] in live:
        text = (
            f"{name!r} may be a tool of a live source, which is known once it is connected: "
            f"toolcrib explain {name} '{{}}'"
        )
        complain(text, code=EXIT["unknown_tool"])
    from .advice import next_steps  # noqa: PLC0415 - as above

    note(f"toolcrib: {found.text} [{found.code}]", colour="red")
    for line in next_steps(name, catalog, policy):
        note(line, colour="yellow")
    raise SystemExit(EXIT[found.status])


def _facts(policy: Policy, entry: Entry | _Withheld) -> dict[str, Any]:
    import attrs  # noqa: PLC0415 - as above

    if isinstance(entry, _Withheld):
        return {
            **entry.tool.declaration(),
            "kind": entry.tool.kind,
            "pack": entry.finding.pack_id,
            "provenance": attrs.asdict(entry.finding.provenance),
            "offered": False,
            "withheld": {"code": entry.refusal.code, "text": entry.refusal.text},
        }
    rules = [rule.name for rule in policy.rules if rule.names_tool(entry.tool.id)]
    return {**entry.facts(), "offered": True, "rules": rules}


def _lines(policy: Policy, entry: Entry | _Withheld) -> Iterator[str]:
    tool = entry.tool
    yield f"{tool.id}: {tool.title}"
    if isinstance(entry, _Withheld):
        yield f"  withheld: {entry.refusal.text} [{entry.refusal.code}]"
    yield from (f"  {line}" if line else "" for line in tool.description.text().split("\n"))
    yield ""
    yield f"  from        {entry.finding}, {entry.finding.provenance.how}"
    if not isinstance(entry, _Withheld):
        if entry.declared.id != tool.id:
            yield f"  declared as {entry.declared.id}"
        if entry.replaces:
            yield f"  replaces    {entry.replaces}"
        if entry.stale:
            yield "  stale       its source cannot be read now"
    yield f"  kind        {tool.kind}"
    yield f"  effects     {_words(tool.effects) or 'none'}"
    yield f"  labels      {_words(tool.labels) or 'none'}"
    yield f"  retries     {tool.idempotent}, {tool.concurrency}, {tool.cancellation}"
    yield f"  audience    {_words(tool.audience)}"
    needs = tool.requires
    required = [*sorted(needs.executables), *sorted(needs.capabilities), *sorted(needs.flags)]
    if required:
        yield f"  requires    {', '.join(required)}"
    if tool.companions:
        yield f"  functions   {_words(tool.companions)}"
    yield f"  definition  {tool.definition_digest}"
    yield "  parameters"
    yield from _parameters(tool.input_schema)
    rules = [rule.name for rule in policy.rules if rule.names_tool(tool.id)]
    yield "  rules" if rules else "  rules       none name it; the mode decides"
    yield from (f"    {rule}" for rule in rules)
    yield f"  decide      toolcrib explain {tool.id} '{{…}}'"


def _words(values: Any) -> str:
    return ", ".join(sorted(values))


def _parameters(schema: Mapping[str, Any]) -> Iterator[str]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        yield "    none"
        return
    required = schema.get("required", ())
    for name, value in properties.items():
        about = value if isinstance(value, Mapping) else {}
        kind = _kind(about)
        extra = "required" if name in required else "optional"
        if "default" in about:
            extra = f"default {about['default']!r}"
        text = f": {about['description']}" if "description" in about else ""
        yield f"    {name} ({kind}, {extra}){text}"


def _kind(schema: Any, depth: int = 0) -> str:
    """Say in words which values a schema takes: ``array of string or null``."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return "any"
    choices = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(choices, list):
        return "one of " + ", ".join(json.dumps(choice) for choice in choices)
    for keyword in ("anyOf", "oneOf"):
        if isinstance(schema.get(keyword), list):
            kinds = [_kind(each, depth + 1) for each in schema[keyword]]
            return " or ".join(dict.fromkeys(kinds))
    if isinstance(schema.get("$ref"), str):
        return schema["$ref"].rpartition("/")[2] or "any"
    kind = schema.get("type", "any")
    kinds = kind if isinstance(kind, list) else [kind]
    items = schema.get("items")
    return " or ".join(
        f"array of {_kind(items, depth + 1)}" if one == "array" and items else str(one)
        for one in kinds
    )


# -- a projection ------------------------------------------------------------------------


def _projected(
    policy: Policy, entry: Entry | _Withheld, name: str, *, strict: bool, as_json: bool
) -> None:
    from toolcrib.projection import project  # noqa: PLC0415 - as above

    shown = project([entry.tool], _dialect(policy, name), strict=strict)
    if as_json:
        print_json(_projected_facts(shown))
        return
    for refusal in shown.refusals:
        complain(f"{refusal.text} [{refusal.code}]", code=EXIT["unavailable"])
    for declaration in shown.declarations:
        print_json(declaration)
    for one in shown.entries:
        say(f"called {one.wire_name}, {'strict' if one.strict else 'not strict'}")
        if one.inverse is not None:
            say("what the model sends is turned back into the tool's own form")
        for loss in one.losses:
            say(f"{loss.kind}: {loss.keyword} at {loss.pointer or '/'}: {loss.text}")
        if not one.losses:
            say("nothing is lost")


def _projected_facts(shown: Projected) -> dict[str, Any]:
    import attrs  # noqa: PLC0415 - as above

    return {
        "dialect": shown.dialect,
        "declarations": list(shown.declarations),
        "refusals": [{"code": r.code, "text": r.text} for r in shown.refusals],
        "entries": [
            {
                "tool": one.tool_id,
                "wire_name": one.wire_name,
                "strict": one.strict,
                "losses": [attrs.asdict(loss) for loss in one.losses],
                "inverse": one.inverse.to_json() if one.inverse is not None else None,
            }
            for one in shown.entries
        ],
    }


def _dialect(policy: Policy, name: str) -> Dialect:
    """Return a dialect; for one that a pack speaks, that pack is imported."""
    from toolcrib.projection import dialect  # noqa: PLC0415 - as above
    from toolcrib.projection.dialects import CORE  # noqa: PLC0415 - as above

    try:
        if name in CORE or not policy.projectors:
            return dialect(name)
        import asyncio  # noqa: PLC0415 - as above

        return asyncio.run(_spoken(policy, name))
    except LookupError as error:
        complain(str(error.args[0]), code=EXIT["usage"])


async def _spoken(policy: Policy, name: str) -> Dialect:
    from .judging import judging  # noqa: PLC0415 - as above

    async with judging(policy, principal=login()) as session:
        return session.shown.dialect(name)
