"""Forms that accept every JSON Schema: change only what the profile says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .inverse import Step
from .losses import ROOT, Unfit
from .merging import Clash
from .objects import sent_names
from .reading import ATOMS, LISTS, MAPS, SINGLE, copied, escape, json_type, modern, references
from .rewritten import Rewritten
from .roots import root
from .scalars import SCALARS
from .walk import Node, Walk


__all__ = ["keep"]


def keep(schema: Mapping[str, Any], profile: Any) -> Rewritten:
    """Say a schema in a form that accepts everything."""
    walk = Walk(schema, profile, visit)
    node = root(walk)
    if walk.wrapper is not None:
        inner, _ = _node(walk, node, "")
        definitions = inner.pop("$defs", None)
        wire: dict[str, Any] = {
            "type": "object",
            "properties": {walk.wrapper: inner},
            "required": [walk.wrapper],
        }
        if definitions:
            wire["$defs"] = definitions
        step: Step = None
    else:
        wire, step = _root(walk, node)
    rewritten = walk.finish(wire, step)
    if walk.referred:
        _check_closed(wire)
    return rewritten


def _root(walk: Walk, node: dict[str, Any]) -> Node:
    """Rename what the provider refuses at the root, and copy the rest."""
    wire, _ = _node(walk, node, "")
    wire.setdefault("properties", {})
    properties = wire.get("properties")
    if not properties or walk.profile.key_pattern is None:
        return wire, None
    names = sent_names(walk, properties, "")
    changed = {sent: name for name, sent in names.items() if name != sent}
    if not changed:
        return wire, None
    wire["properties"] = {names[name]: sub for name, sub in properties.items()}
    if "required" in wire:
        wire["required"] = [names.get(name, name) for name in wire["required"]]
    for keyword in ("dependentRequired", "dependentSchemas", "if", "then", "else", "allOf"):
        # They would speak of names that are no longer there.
        if wire.pop(keyword, None) is not None:
            walk.lose("", keyword, "dropped", "a property that it names is renamed")
    if any(ref == "#" or ref.startswith("#/properties") for ref in references(wire)):
        raise Unfit(ROOT, "$ref", "a reference leads to a root whose properties are renamed")
    return wire, {"fields": {sent: [name, False, None] for sent, name in changed.items()}}


def visit(walk: Walk, schema: Any, at: str) -> Node:
    """Copy one schema."""
    if schema.__class__ is dict:
        kind = schema.get("type")
        if kind.__class__ is str and kind in SCALARS and schema.keys() <= _COPIED:
            return {
                k: v if v.__class__ in ATOMS else copied(v) for k, v in schema.items()
            }, None
    elif isinstance(schema, bool):
        return ({} if schema else {"not": {}}), None
    elif not isinstance(schema, Mapping):
        raise Unfit(at, "type", f"a schema is an object or a boolean, not {schema!r:.80}")
    return _node(walk, modern(schema, at), at)


_COPIED = frozenset(
    {
        "type",
        "description",
        "title",
        "minimum",
        "maximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "default",
        "enum",
        "examples",
    }
)


def _node(walk: Walk, node: dict[str, Any], at: str) -> Node:
    walk.count(at)
    profile = walk.profile
    if "$ref" in node:
        pointer = walk.document.pointer(node["$ref"], at)
        if profile.refs == "inline" and not walk.document.cyclic(pointer, at):
            beside = {k: v for k, v in node.items() if k not in ("$ref", "$defs")}
            return walk.inline(pointer, beside, at)
    if "allOf" in node and profile.merges and at:
        try:
            return _node(walk, walk.conjunction(node, at), at)
        except Clash:
            pass
    wire: dict[str, Any] = {}
    for keyword, value in node.items():
        if keyword not in _STRUCTURE:
            wire[keyword] = value if value.__class__ in ATOMS else copied(value)
            continue
        wire_keyword, sent = _keyword(walk, keyword, value, at)
        if wire_keyword:
            wire[wire_keyword] = sent
    if "prefixItems" in wire and node.get("items") is False:
        _close_tuple(wire)
    _after(walk, node, wire)
    return wire, None


_STRUCTURE = SINGLE | LISTS | MAPS | {"$ref"}


def _keyword(walk: Walk, keyword: str, value: Any, at: str) -> tuple[str | None, Any]:
    below = f"{at}/{keyword}"
    if keyword == "$defs":
        return _definitions(walk, value, below)
    if keyword in MAPS and isinstance(value, Mapping):
        subs = {}
        for name, sub in value.items():
            if sub is False and keyword == "properties":
                walk.lose(f"{below}/{escape(name)}", "false", "dropped", "never accepted")
                continue
            subs[name] = visit(walk, sub, f"{below}/{escape(name)}")[0]
        return keyword, subs
    if keyword in LISTS and isinstance(value, list | tuple):
        if walk.wrapper is not None and keyword == "oneOf":
            keyword = "anyOf"
        return keyword, [visit(walk, sub, f"{below}/{i}")[0] for i, sub in enumerate(value)]
    if keyword in SINGLE:
        if isinstance(value, bool):
            return (keyword, {}) if keyword == "items" and value else (keyword, value)
        return keyword, visit(walk, value, below)[0]
    if keyword == "$ref":
        walk.referred = True
        return keyword, _ref(walk, value)
    walk.lose(at, keyword, "dropped", "it holds no schemas")
    return None, None


def _definitions(walk: Walk, value: Any, below: str) -> tuple[str | None, Any]:
    if not isinstance(value, Mapping):
        return None, None
    if walk.profile.refs == "inline":
        # Only what is recursive is still referred to.
        used = {
            name: sub
            for name, sub in value.items()
            if walk.document.cyclic(_pointer(walk, name), below)
        }
    else:
        used = dict(value)
    out = {n: visit(walk, sub, f"{below}/{escape(n)}")[0] for n, sub in used.items()}
    return ("$defs" if out else None), out


def _pointer(walk: Walk, name: str) -> str:
    definitions = walk.document.root.get("$defs")
    keyword = "$defs" if isinstance(definitions, Mapping) and name in definitions else None
    return f"/{keyword or 'definitions'}/{escape(name)}"


def _ref(walk: Walk, ref: Any) -> str:
    if ref == "#":
        return f"#/properties/{walk.wrapper}" if walk.wrapper else "#"
    text = str(ref)
    if text.startswith("#/definitions/"):
        return "#/$defs/" + text.removeprefix("#/definitions/")
    if walk.wrapper and not text.startswith("#/$defs/"):
        return f"#/properties/{walk.wrapper}{text[1:]}"
    return text


def _close_tuple(wire: dict[str, Any]) -> None:
    """Say a closed tuple by its length, which more readers know."""
    del wire["items"]
    most = len(wire["prefixItems"])
    wire["maxItems"] = min(most, wire.get("maxItems", most))


def _after(walk: Walk, node: dict[str, Any], wire: dict[str, Any]) -> None:
    """Apply what the profile says beyond a copy."""
    if walk.wrapper is not None and "const" in wire:
        # A wrapped root is rewritten anyway, so its tags take the form all accept.
        constant = wire.pop("const")
        wire.setdefault("type", json_type(constant))
        wire["enum"] = [constant]
    if "required" in wire and node.get("properties"):
        gone = [n for n, sub in node["properties"].items() if sub is False]
        if gone:
            wire["required"] = [name for name in wire["required"] if name not in gone]
    if (
        walk.profile.fills_properties
        and wire.get("type") == "object"
        and wire.keys().isdisjoint({"properties", "additionalProperties", "patternProperties"})
    ):
        wire["properties"] = {}


def _check_closed(wire: Mapping[str, Any]) -> None:
    """Refuse a document with a reference that leads nowhere."""
    for ref in references(wire):
        target: Any = wire
        for token in ref[1:].split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            if isinstance(target, list) and key.isdecimal() and int(key) < len(target):
                target = target[int(key)]
            else:
                target = target.get(key) if isinstance(target, Mapping) else None
        if target is None:
            raise Unfit(ROOT, "$ref", f"the reference {ref} leads nowhere in what is sent")
