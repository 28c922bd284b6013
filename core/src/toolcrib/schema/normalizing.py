"""Turn any JSON Schema into the normal form, or refuse it with a pointer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.errors import SchemaError

from . import closing, engines, graph, keywords, lowering
from .copying import HANDLERS
from .copying_more import HANDLERS as MORE_HANDLERS
from .failures import UndecidableError
from .normal import DEEPEST_VALUE, Change, Engine, JsonSchema, NormalSchema
from .rebuild import Rebuild
from .values import Budget, BudgetError, shorten, type_name


__all__ = ["normalize"]

_HANDLERS = {**HANDLERS, **MORE_HANDLERS}
_EXTRA = "install the extra toolcrib[jsonschema-rs]"
# Compiling takes a fraction of a millisecond for each; above this, judging is cheaper.
_MOST_COMPILED = 2_000
_MOST_VERBATIM = 64_000
_MOST_DOUBLINGS = 20
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def normalize(
    schema: JsonSchema, *, draft: str | None = None, arguments: bool = False
) -> NormalSchema:
    """Rebuild a schema into the closed normal form.

    Args:
        schema: Any JSON Schema of draft 4, 6, 7, 2019-09 or 2020-12.
        draft: The draft where ``$schema`` does not say; without both, keywords of every
            draft count.
        arguments: The schema is of a tool's arguments: its root is an object, and the
            closing rule applies.

    Raises:
        SchemaError: it cannot be enforced exactly; names keyword and pointer.
    """
    declared = _declared(schema) or draft
    walk = Rebuild(root=schema, draft=declared, handlers=_HANDLERS)
    built = walk.run()
    if declared == "2019-09":
        _note_contains(built, walk)
    if walk.outside:
        return _verbatim(schema, walk, declared or "2020-12", arguments=arguments)
    if arguments:
        _object_root(built, walk)
    graph.refuse_loops(built)
    closed = closing.close(built) if arguments else ()
    engine = _engine(built, walk)
    if engine != "jsonschema-rs":
        _drop_wrong_defaults(built, walk)
    else:
        engines.Other(built, "2020-12")
    return NormalSchema(
        schema=built,
        losses=tuple(walk.losses),
        repairs=tuple(walk.repairs),
        closed=closed,
        engine=engine,
    )


def _declared(schema: Any) -> str | None:
    if not isinstance(schema, Mapping) or "$schema" not in schema:
        return None
    uri = schema["$schema"]
    if isinstance(uri, str):
        known = uri.removesuffix("#").partition("://")[2]
        if known in keywords.URIS:
            return keywords.URIS[known]
    text = f"{shorten(uri, 80)} is not a draft that is known"
    raise SchemaError(text, keyword="$schema", pointer="/$schema")


def _note_contains(built: dict[str, Any], walk: Rebuild) -> None:
    """Note a schema that later drafts read otherwise: there, contains evaluates items."""
    nodes = [*graph.every(built)]
    for definition in built.get("$defs", {}).values():
        nodes.extend(graph.every(definition))
    if all(any(key in node for node in nodes) for key in ("contains", "unevaluatedItems")):
        text = "Stands with contains, which later drafts read in another way"
        walk.outside.append(SchemaError(text, keyword="unevaluatedItems", pointer=""))


def _object_root(built: dict[str, Any], walk: Rebuild) -> None:
    """Let the root of an arguments schema be an object, as arguments always are."""
    kinds = built.get("type", [])
    if kinds == "object":
        return
    if kinds and "object" not in (kinds if isinstance(kinds, list) else [kinds]):
        text = f"Arguments are an object, but the schema wants {shorten(kinds)}"
        raise SchemaError(text, keyword="type", pointer="/type")
    built["type"] = "object"
    text = "read a missing type as object" if not kinds else "left out the types but object"
    walk.repairs.append(Change("type", "/type", text))


def _engine(built: dict[str, Any], walk: Rebuild) -> Engine:
    heavy = graph.is_heavy(built)
    if walk.needs:
        keyword, pointer = walk.needs[0]
        if heavy:
            text = "Needs jsonschema-rs, but could take exponential time there"
            raise SchemaError(text, keyword=keyword, pointer=pointer)
        if not engines.has_other():
            text = f"Needs another engine; {_EXTRA}"
            raise SchemaError(text, keyword=keyword, pointer=pointer)
        return "jsonschema-rs"
    schemas = [built, *built.get("$defs", {}).values()]
    nodes = [node for schema in schemas for node in graph.every(schema)]
    if heavy or len(nodes) > _MOST_COMPILED or not all(map(lowering.is_exact, nodes)):
        return "toolcrib"
    return "fastjsonschema"


def _drop_wrong_defaults(built: dict[str, Any], walk: Rebuild) -> None:
    """Leave out a default that its own schema rejects; then it means: nothing is sent."""
    doubtful = [each for each in walk.defaults if not _plainly_fits(each[0])]
    if not doubtful:
        return
    from .judge import Judge  # noqa: PLC0415 - only for defaults that need judging

    judge = Judge(built)
    for node, pointer in doubtful:
        try:
            fits = judge.fresh().accepts(node, node["default"])
        except UndecidableError:
            continue
        if not fits:
            text = f"left out {shorten(node.pop('default'))}: its own schema rejects it"
            walk.repairs.append(Change("default", pointer, text))


_LIMITS = frozenset({"minimum", "maximum"})
_ANNOTATING = frozenset({"type", "default", "title", "description", "examples"})


def _plainly_fits(node: dict[str, Any]) -> bool:
    """Whether a default is of the one type that its schema asks for, listed or in bounds.

    False says nothing; these few are most that there are, and need no judge.
    """
    default, more = node["default"], node.keys() - _ANNOTATING
    if node.get("type") != type_name(default):
        return False
    if more == {"enum"} and type(default) is str:
        return default in node["enum"]
    if more <= _LIMITS and type(default) is int:
        least, most = node.get("minimum", default), node.get("maximum", default)
        return bool(least <= default <= most)
    return not more


def _verbatim(
    schema: JsonSchema, walk: Rebuild, draft: str, *, arguments: bool
) -> NormalSchema:
    """Keep a plain copy of a schema that no normal form can hold."""
    first = walk.outside[0]
    kinds = schema.get("type") if isinstance(schema, Mapping) else None
    if not engines.has_other() or (arguments and kinds != "object"):
        raise first
    try:
        copy = Budget(_MOST_VERBATIM).copy(schema)
    except BudgetError as error:
        text = f"The schema {error}"
        raise SchemaError(text, keyword="schema", pointer="") from None
    try:
        engines.Other(copy, draft)
    except SchemaError:
        raise first from None
    return NormalSchema(
        schema=copy,
        losses=tuple(walk.losses),
        engine="jsonschema-rs",
        draft=draft,
        verbatim=True,
        deepest=_deepest(copy),
    )


def _deepest(schema: Any) -> int:
    """Return how deep a value may be: references can double the ways at every level."""
    sites, waiting = 0, [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            sites += sum(isinstance(value.get(key), str) for key in _REFERENCES)
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return DEEPEST_VALUE if sites <= 1 else max(1, _MOST_DOUBLINGS // sites)
