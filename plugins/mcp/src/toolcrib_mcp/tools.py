"""From what a server declares to a tool of ours: nothing is believed that loosens."""

from __future__ import annotations

import functools
import hashlib
import json

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import attrs

from toolcrib import (
    Cancellation,
    Concurrency,
    Description,
    Effect,
    Idempotence,
    Implementation,
    Label,
    SchemaError,
    Tool,
    Validators,
)

from .settings import ServerConfig
from .texts import cleaned, name, one_line


__all__ = ["Offer", "Withheld", "offers"]

Run = Callable[..., Awaitable[Any]]

_MOST_TEXT = 16 * 1024
_MOST_SCHEMA = 256 * 1024
_DEEPEST = 64
_HEADER = "x-mcp-header"

_HERE = frozenset({Effect.FS_READ, Effect.FS_WRITE, Effect.PROCESS, Effect.HOST_STATE})
_READS = frozenset({Effect.FS_READ, Effect.NET_READ})
_CHANGES = frozenset({Effect.FS_WRITE, Effect.NET_WRITE})
_WIDEST = frozenset(Effect)
_LABELS = frozenset(Label)


@attrs.frozen
class Withheld:
    """A tool that is not offered, and why."""

    name: str
    text: str


@attrs.frozen
class Offer:
    """The tools of a server at one moment."""

    implementations: tuple[Implementation, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    output_schemas: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    hints: Mapping[str, str] = attrs.field(factory=dict)
    tasks: frozenset[str] = frozenset()


class _Bad(ValueError):  # noqa: N818 - as it reads where it is raised
    pass


def offers(config: ServerConfig, listed: Iterable[Any], run: Run) -> Offer:
    """Make tools of what a server lists; what is wrong with one concerns it alone.

    Args:
        config: The server.
        listed: Raw declarations.
        run: ``run(ctx, name, arguments)`` calls one.
    """
    made: dict[str, Implementation] = {}
    outputs: dict[str, Mapping[str, Any]] = {}
    hints: dict[str, str] = {}
    tasks: set[str] = set()
    withheld: dict[str, Withheld] = {}
    for position, raw in enumerate(listed):
        known = raw.get("name") if isinstance(raw, Mapping) else None
        shown = known if isinstance(known, str) else f"number {position + 1}"
        if isinstance(known, str) and not _wanted(config, known):
            continue
        if shown in made or shown in withheld:
            if shown in made and _same(made[shown], raw, config):
                continue
            made.pop(shown, None)
            withheld[shown] = Withheld(one_line(shown, 80), "the server lists the name twice")
            continue
        try:
            made[shown] = _implementation(config, raw, run)
            hints[shown] = _said(raw.get("annotations"))
            if _as_task(config, shown, raw):
                tasks.add(shown)
            if (schema := output_schema(raw.get("outputSchema"))) is not None:
                outputs[shown] = schema
        except _Bad as error:
            withheld[shown] = Withheld(one_line(shown, 80), str(error))
    return Offer(
        tuple(made.values()), tuple(withheld.values()), outputs, hints, frozenset(tasks)
    )


def _wanted(config: ServerConfig, tool: str) -> bool:
    return tool not in config.without and (not config.tools or tool in config.tools)


def _same(one: Implementation, raw: Any, config: ServerConfig) -> bool:
    """Tell whether a second entry says exactly what the first one says."""
    try:
        return _tool(config, raw).definition_digest == one.tool.definition_digest
    except _Bad:
        return False


def _implementation(config: ServerConfig, raw: Any, run: Run) -> Implementation:
    tool = _tool(config, raw)
    remote = tool.id.split(".", 2)[2]
    return Implementation(
        tool=tool,
        handler=functools.partial(_call, run, remote),
        structure=lambda arguments: {"arguments": dict(arguments)},
    )


async def _call(run: Run, remote: str, ctx: Any, *, arguments: dict[str, Any]) -> Any:
    return await run(ctx, remote, arguments)


def _tool(config: ServerConfig, raw: Any) -> Tool:
    if not isinstance(raw, Mapping):
        text = "it is no object"
        raise _Bad(text)
    remote = name(raw.get("name"))
    if remote is None:
        text = "its name is empty, too long, or holds characters that cannot be shown"
        raise _Bad(text)
    hints = raw.get("annotations")
    hints = hints if isinstance(hints, Mapping) else {}
    title = _title(raw, hints, remote)
    trusted = config.trusted
    # Any: type checkers cannot see through the converters of a tool.
    tags: Any = ("mcp", config.name)
    return Tool(
        id=f"mcp.{config.name}.{remote}",
        title=title,
        description=_description(config, raw, hints, title),
        input_schema=_input_schema(raw.get("inputSchema")),
        # Output is checked here, not by the core: there, output that does not fit fails
        # the call, and this one's effect has happened. What it should be still pins it.
        version=_version(raw.get("outputSchema")),
        category="mcp",
        tags=tags,
        effects=_effects(config, hints),
        idempotent=(
            Idempotence.YES
            if trusted and (_hint(hints, "idempotentHint") is True or _reads_only(hints))
            else Idempotence.NO
        ),
        concurrency=Concurrency.SHARED if config.concurrency > 1 else Concurrency.EXCLUSIVE,
        cancellation=Cancellation.REMOTE,
        labels=_LABELS,
        timeout=config.timeout,
    )


def _title(raw: Mapping[str, Any], hints: Mapping[str, Any], remote: str) -> str:
    for value in (raw.get("title"), hints.get("title")):
        if isinstance(value, str) and one_line(value, 120):
            return one_line(value, 120)
    return remote


def _description(
    config: ServerConfig, raw: Mapping[str, Any], hints: Mapping[str, Any], title: str
) -> Description:
    text = raw.get("description")
    text = cleaned(text).strip() if isinstance(text, str) else ""
    if len(text) > _MOST_TEXT:
        text = text[:_MOST_TEXT] + " […]"
    summary, _, details = text.partition("\n\n")
    cautions: Any = ()
    if _hint(hints, "destructiveHint") is True and not _reads_only(hints):
        cautions = ("The server says that this may destroy something.",)
    return Description(summary or title, details.strip(), (), cautions)


def _schema(value: Any, what: str) -> tuple[dict[str, Any], str]:
    """Return a schema as it was sent, and its text; bounded in size and depth."""
    if not isinstance(value, Mapping):
        text = f"its {what} is no JSON Schema object"
        raise _Bad(text)
    try:
        sent = json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError) as error:
        text = f"its {what} is no JSON: {error}"
        raise _Bad(text) from error
    if len(sent) > _MOST_SCHEMA or _depth(value) > _DEEPEST:
        text = f"its {what} is larger than {_MOST_SCHEMA} bytes or deeper than {_DEEPEST}"
        raise _Bad(text)
    return dict(value), sent


def _depth(value: Any) -> int:
    deepest, waiting = 0, [(value, 1)]
    while waiting:
        item, depth = waiting.pop()
        deepest = max(deepest, depth)
        if deepest > _DEEPEST:
            break
        inner = item.values() if isinstance(item, dict) else item
        waiting += [(each, depth + 1) for each in inner if isinstance(each, dict | list)]
    return deepest


def _input_schema(value: Any) -> dict[str, Any]:
    schema, sent = _schema(value, "input schema")
    kind = schema.get("type")
    if kind is None:
        # Without a type it would be a schema of anything; arguments are an object.
        schema = {"type": "object", **schema}
    elif kind != "object":
        text = f"its arguments are declared as {one_line(kind, 40)}, not as an object"
        raise _Bad(text)
    clean: dict[str, Any] = _without_headers(schema) if _HEADER in sent else schema
    return clean


def _without_headers(schema: Any) -> Any:
    """Take out what tells the transport which arguments go into headers as well."""
    if isinstance(schema, dict):
        return {k: _without_headers(v) for k, v in schema.items() if k != _HEADER}
    if isinstance(schema, list):
        return [_without_headers(each) for each in schema]
    return schema


def _version(output_schema: Any) -> str:
    if output_schema is None:
        return "1"
    text = json.dumps(output_schema, sort_keys=True, default=str)
    return "output " + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def output_schema(value: Any) -> Mapping[str, Any] | None:
    """Return a schema that can be enforced; without one, output is simply not typed."""
    if value is None:
        return None
    try:
        schema, _ = _schema(value, "output schema")
        Validators().get(schema)
    except (_Bad, SchemaError, ValueError, TypeError, RecursionError):
        return None
    return schema


def _as_task(config: ServerConfig, tool: str, raw: Mapping[str, Any]) -> bool:
    """Tell whether a tool is called as a task: it has to be, or may be and is named long."""
    execution = raw.get("execution")
    support = execution.get("taskSupport") if isinstance(execution, Mapping) else None
    return support == "required" or (support == "optional" and tool in config.long)


def _said(hints: Any) -> str:
    """Return hints as words, for people."""
    if not isinstance(hints, Mapping):
        return ""
    known = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
    return ", ".join(f"{key}={hints[key]}" for key in known if isinstance(hints.get(key), bool))


def _hint(hints: Mapping[str, Any], key: str) -> bool | None:
    value = hints.get(key)
    return value if isinstance(value, bool) else None


def _reads_only(hints: Mapping[str, Any]) -> bool:
    """Tell whether hints say that nothing is changed, and nothing of them says otherwise."""
    return _hint(hints, "readOnlyHint") is True and _hint(hints, "destructiveHint") is not True


def _effects(config: ServerConfig, hints: Mapping[str, Any]) -> frozenset[Effect]:
    """Return the upper bound of what a tool may do.

    Hints of a server that policy does not trust can only add to what the user declared.
    """
    widest = _WIDEST - _HERE if config.remote else _WIDEST
    bound = config.effects if config.effects is not None else widest
    says_changes = _hint(hints, "readOnlyHint") is False or (
        _hint(hints, "destructiveHint") is True
    )
    if config.trusted and _reads_only(hints):
        reads = frozenset({Effect.NET_READ}) if config.remote else _READS
        if _hint(hints, "openWorldHint") is False and not config.remote:
            reads = frozenset({Effect.FS_READ})
        return reads & (bound | reads)
    if says_changes and not bound & _CHANGES and config.effects is not None:
        return bound | ({Effect.NET_WRITE} if config.remote else _CHANGES)
    return bound
