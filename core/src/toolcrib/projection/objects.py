"""Objects with named properties, for a form that is rebuilt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .inverse import Step
from .losses import Unfit, in_words
from .maps import map_, which, with_required
from .reading import escape
from .scalars import SCALARS, carry, finished
from .walk import Node, Walk


__all__ = ["obj", "sent_names"]


def sent_names(walk: Walk, properties: Mapping[str, Any], at: str) -> dict[str, str]:
    """Return the name under which each property is sent, all different."""
    names = {name: walk.key(name) for name in properties}
    if len(set(names.values())) < len(names):
        seen: dict[str, str] = {}
        for name, sent in names.items():
            if sent in seen:
                text = f"the properties {seen[sent]!r} and {name!r} would both be {sent!r}"
                raise Unfit(at, "properties", text)
            seen[sent] = name
    return names


def obj(walk: Walk, node: dict[str, Any], at: str) -> Node:
    """Rewrite an object: with named properties, or a map."""
    profile = walk.profile
    properties = node.get("properties") or {}
    extra = node.get("additionalProperties")
    if node.get("unevaluatedProperties") is False and extra is None:
        extra = False
    if extra == {}:
        extra = True
    patterns = node.get("patternProperties") or {}
    maps = bool(patterns) or (
        extra is not None and extra.__class__ is not bool and isinstance(extra, Mapping)
    )
    root = at == ""
    if not properties and maps:
        return map_(walk, node, patterns, extra, at)
    if properties and maps and not profile.mixed:
        raise Unfit(at, which(patterns), "named properties and a map in one object")
    if extra is True and not profile.mixed:
        raise Unfit(at, "additionalProperties", "open object")
    if not properties and extra is not False and not (root and extra is None):
        if not profile.mixed:
            raise Unfit(at, "additionalProperties", "open object")
        wire, folded = carry(walk, node, at)
        finished(walk, wire, with_required(node, folded))
        return {"type": "object", **wire}, None
    return _fields(walk, node, properties, extra, at)


def _fields(
    walk: Walk, node: dict[str, Any], properties: Mapping[str, Any], extra: Any, at: str
) -> Node:
    """Rewrite an object with named properties."""
    wanted = node.get("required") or ()
    sent: dict[str, dict[str, Any]] = {}
    fields: dict[str, list[Any]] = {}
    needed: list[str] = []
    names = properties if walk.profile.key_pattern is None else _names(walk, properties, at)
    _enter(walk, properties, at)
    for name, sub in properties.items():
        if sub is False:
            walk.lose(f"{at}/properties/{escape(name)}", "false", "dropped", "never accepted")
            continue
        wire_name = name if names is properties else names[name]
        wire, step, drops = _property(walk, name, sub, name in wanted, at)
        sent[wire_name] = wire
        if step is not None or drops or wire_name != name:
            fields[wire_name] = [name, drops, step]
        if walk.profile.absent == "null" or name in wanted:
            needed.append(wire_name)
    walk.level -= 1
    wire, folded = carry(walk, node, at)
    lost = [name for name in wanted if name not in properties]
    if lost:
        _undeclared(walk, lost, folded, at)
    undone = _extra(walk, node, extra, wire, folded, at)
    if at == "":
        walk.notes += [f"{word[0].upper()}{word[1:]}." for word in in_words(folded)]
    else:
        finished(walk, wire, folded)
    whole = {"type": "object", **wire, "properties": sent}
    if walk.profile.closed:
        whole["required"] = needed
        whole["additionalProperties"] = False
    else:
        whole["required"] = [walk.key(n) for n in wanted if n in properties]
        if "additionalProperties" in wire:
            whole["additionalProperties"] = whole.pop("additionalProperties")
        if "required" not in node:
            del whole["required"]
    undo: Step = None
    if fields or undone is not None:
        undo = {"fields": fields} if undone is None else {"fields": fields, "rest": undone}
    return whole, undo


def _names(walk: Walk, properties: Mapping[str, Any], at: str) -> Mapping[str, str]:
    if at == "" or walk.profile.keys_everywhere:
        return sent_names(walk, properties, at)
    return {name: name for name in properties}


def _enter(walk: Walk, properties: Mapping[str, Any], at: str) -> None:
    """Count what the profile limits."""
    walk.level += 1
    walk.properties += len(properties)
    limits = walk.profile.limits
    if limits.depth is not None and walk.level > limits.depth:
        raise Unfit(at, "properties", f"objects are nested deeper than {limits.depth}")
    if limits.characters is not None:
        walk.characters += sum(map(len, properties))


def _property(
    walk: Walk, name: str, sub: Any, required: bool, at: str
) -> tuple[dict[str, Any], Step, bool]:
    """Rewrite one property; tell whether a null of ours stands for its absence."""
    below = f"{at}/properties/{escape(name)}"
    if required:
        wire, step = walk.visit(walk, sub, below)
        return wire, step, False
    before = dict(walk.optional_above) if walk.profile.recursion == "optional" else None
    if before is not None:
        walk.optional_above = {known: count + 1 for known, count in before.items()}
    wire, step = walk.visit(walk, sub, below)
    if before is not None:
        walk.optional_above = before
    if walk.profile.absent == "omit":
        if not walk.inlining:
            walk.optional += 1
        return wire, step, False
    kind = sub.get("type") if sub.__class__ is dict else None
    if (kind.__class__ is not str or kind == "null") and _admits_null(walk, sub, below, 0):
        if isinstance(sub, Mapping) and "default" in sub and sub["default"] is None:
            # Leaving it out means null, and null can be said: nothing to undo.
            return wire, step, False
        raise Unfit(below, "type", "tri_state: null is a value, so it cannot mean absent")
    return _or_null(walk, wire), step, True


def _or_null(walk: Walk, wire: dict[str, Any]) -> dict[str, Any]:
    """Admit a null that stands for absence."""
    kind = wire.get("type")
    if "enum" not in wire and "anyOf" not in wire:
        if kind.__class__ is str and kind in SCALARS:
            wire["type"] = [kind, "null"]
            return wire
        if isinstance(kind, list):
            wire["type"] = [*kind, "null"]
            return wire
    about: dict[str, Any] = {k: wire.pop(k) for k in ("title", "description") if k in wire}
    if wire.keys() == {"anyOf"}:
        return {**about, "anyOf": [*wire["anyOf"], {"type": "null"}]}
    return {**about, "anyOf": [wire, {"type": "null"}]}


def _admits_null(walk: Walk, sub: Any, at: str, depth: int) -> bool:
    """Tell whether null is a value of its own; when in doubt, it is."""
    if not isinstance(sub, Mapping):
        return bool(sub)
    if depth > 32:
        return True
    if sub.get("nullable") is True:
        return True
    kind = sub.get("type")
    if kind is not None and kind != "null" and not (isinstance(kind, list) and "null" in kind):
        return False
    if "const" in sub:
        return sub["const"] is None
    if "enum" in sub:
        return None in sub["enum"]
    if "$ref" in sub:
        target = walk.document.resolve(walk.document.pointer(sub["$ref"], at), at)
        return _admits_null(walk, target, at, depth + 1)
    if any(not _admits_null(walk, each, at, depth + 1) for each in sub.get("allOf") or ()):
        return False
    for keyword in ("anyOf", "oneOf"):
        branches = sub.get(keyword)
        if branches and not any(_admits_null(walk, b, at, depth + 1) for b in branches):
            return False
    return True


def _undeclared(walk: Walk, lost: list[str], folded: dict[str, Any], at: str) -> None:
    """Handle required names that no property declares."""
    if walk.profile.closed:
        raise Unfit(at, "required", f"{lost[0]!r} is required but not declared")
    walk.lose(at, "required", "folded", f"{lost[0]!r} is required but not declared")
    folded["required"] = lost


def _extra(
    walk: Walk,
    node: dict[str, Any],
    extra: Any,
    wire: dict[str, Any],
    folded: dict[str, Any],
    at: str,
) -> Step:
    """Say what further properties may be, where the form can."""
    if walk.profile.closed:
        if extra is None:
            walk.lose(at, "additionalProperties", "closed")
        return None
    patterns = node.get("patternProperties") or {}
    if "additionalProperties" not in walk.profile.keeps:
        return None
    if patterns:
        # Properties that are not declared may be anything that any pattern allows.
        walk.lose(at, "patternProperties", "folded")
        folded["patternProperties"] = patterns
        return None
    if isinstance(extra, bool):
        wire["additionalProperties"] = extra
    elif extra is not None:
        wire["additionalProperties"], step = walk.visit(
            walk, extra, f"{at}/additionalProperties"
        )
        return step
    return None
