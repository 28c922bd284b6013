"""Objects with named properties, for a form that is rebuilt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .inverse import Step
from .leaves import leaf, or_null
from .losses import Unfit, in_words
from .maps import map_, which, with_required
from .reading import escape
from .scalars import carry, finished
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
        finished(wire, with_required(node, folded))
        return {"type": "object", **wire}, None
    return _fields(walk, node, properties, extra, at)


def _fields(
    walk: Walk, node: dict[str, Any], properties: Mapping[str, Any], extra: Any, at: str
) -> Node:
    """Rewrite an object with named properties."""
    wanted = node.get("required") or ()
    sent, fields, needed = _properties(walk, properties, wanted, at)
    wire, folded = carry(walk, node, at)
    if not properties.keys() >= set(wanted):
        lost = [name for name in wanted if name not in properties]
        _undeclared(walk, lost, folded, at)
    closing, rest = _extra(walk, node, extra, folded, at)
    if at:
        finished(wire, folded)
    elif folded:
        walk.notes += [f"{word[0].upper()}{word[1:]}." for word in in_words(folded)]
    whole: dict[str, Any] = {"type": "object", **wire, "properties": sent}
    if walk.profile.closed:
        whole["required"] = needed
    elif "required" in node:
        whole["required"] = [walk.key(n) for n in wanted if n in properties]
    if closing is not None:
        whole["additionalProperties"] = closing
    if rest is not None:
        # A named property that needs no undoing must not be taken for one of the rest.
        every = {name: [name, False, None] for name in sent} | fields
        return whole, {"fields": every, "rest": rest}
    return whole, {"fields": fields} if fields else None


def _properties(
    walk: Walk, properties: Mapping[str, Any], wanted: Any, at: str
) -> tuple[dict[str, Any], dict[str, list[Any]], list[str]]:
    """Rewrite named properties; return them, what undoes them, and which are required."""
    sent: dict[str, Any] = {}
    fields: dict[str, list[Any]] = {}
    names = _names(walk, properties, at)
    all_needed = walk.profile.absent == "null"
    _enter(walk, properties, at)
    for name, sub in properties.items():
        wire_name = name if names is None else names[name]
        required = name in wanted
        drops = all_needed and not required
        wire = leaf(walk, sub, at, name, null=drops) if sub.__class__ is dict else None
        if wire is not None:
            sent[wire_name] = wire
            if drops or wire_name != name:
                fields[wire_name] = [name, drops, None]
            if not required and not drops:
                walk.optional += not walk.inlining
            continue
        below = f"{at}/properties/{escape(name)}"
        if sub is False:
            walk.lose(below, "false", "dropped", "never accepted")
            continue
        if required:
            sent[wire_name], step = walk.visit(walk, sub, below)
            drops = False
        else:
            sent[wire_name], step, drops = _optional(walk, sub, below)
        if step is not None or drops or wire_name != name:
            fields[wire_name] = [name, drops, step]
    walk.level -= 1
    if all_needed:
        return sent, fields, list(sent)
    needed = [name if names is None else names[name] for name in properties if name in wanted]
    return sent, fields, [name for name in needed if name in sent]


def _names(walk: Walk, properties: Mapping[str, Any], at: str) -> dict[str, str] | None:
    """Return the names under which properties are sent; None if these are their own."""
    profile = walk.profile
    if profile.key_pattern is None or not (at == "" or profile.keys_everywhere):
        return None
    return sent_names(walk, properties, at)


def _enter(walk: Walk, properties: Mapping[str, Any], at: str) -> None:
    """Count what the profile limits."""
    walk.level += 1
    walk.properties += len(properties)
    limits = walk.profile.limits
    if limits.depth is not None and walk.level > limits.depth:
        raise Unfit(at, "properties", f"objects are nested deeper than {limits.depth}")
    if limits.characters is not None:
        walk.characters += sum(map(len, properties))


def _optional(walk: Walk, sub: Any, at: str) -> tuple[dict[str, Any], Step, bool]:
    """Rewrite a property that may be left out; tell whether our null says so."""
    if walk.profile.recursion == "optional":
        before = walk.optional_above
        walk.optional_above = {known: count + 1 for known, count in before.items()}
        wire, step = walk.visit(walk, sub, at)
        walk.optional_above = before
    else:
        wire, step = walk.visit(walk, sub, at)
    if walk.profile.absent == "omit":
        walk.optional += not walk.inlining
        return wire, step, False
    kind = sub.get("type") if sub.__class__ is dict else None
    unsure = kind.__class__ is not str or kind == "null" or "nullable" in sub
    if unsure and _admits_null(walk, sub, at, 0):
        if isinstance(sub, Mapping) and "default" in sub and sub["default"] is None:
            # Leaving it out means null, and null can be said: nothing to undo.
            return wire, step, False
        raise Unfit(at, "type", "tri_state: null is a value, so it cannot mean absent")
    return or_null(wire), step, True


def _admits_null(walk: Walk, sub: Any, at: str, depth: int) -> bool:
    """Tell whether null is a value of its own; when in doubt, it is."""
    if not isinstance(sub, Mapping):
        return bool(sub)
    if depth > 32 or sub.get("nullable") is True:
        return True
    kind = sub.get("type")
    if kind is not None and kind != "null" and not (isinstance(kind, list) and "null" in kind):
        return False
    if "const" in sub or "enum" in sub:
        return sub["const"] is None if "const" in sub else None in sub["enum"]
    if "$ref" in sub:
        target = walk.document.resolve(walk.document.pointer(sub["$ref"], at), at)
        return _admits_null(walk, target, at, depth + 1)
    for keyword, of in (("allOf", all), ("anyOf", any), ("oneOf", any)):
        branches = sub.get(keyword)
        if branches and not of(_admits_null(walk, b, at, depth + 1) for b in branches):
            return False
    return True


def _undeclared(walk: Walk, lost: list[str], folded: dict[str, Any], at: str) -> None:
    """Handle required names that no property declares."""
    if walk.profile.closed:
        raise Unfit(at, "required", f"{lost[0]!r} is required but not declared")
    walk.lose(at, "required", "folded", f"{lost[0]!r} is required but not declared")
    folded["required"] = lost


def _extra(
    walk: Walk, node: dict[str, Any], extra: Any, folded: dict[str, Any], at: str
) -> tuple[Any, Step]:
    """Say what further properties may be, where the form can; and what undoes them."""
    if walk.profile.closed:
        if extra is None:
            walk.lose(at, "additionalProperties", "closed")
        return False, None
    if "additionalProperties" not in walk.profile.keeps:
        return None, None
    if node.get("patternProperties"):
        # Properties that are not declared may be anything that any pattern allows.
        walk.lose(at, "patternProperties", "folded")
        folded["patternProperties"] = node["patternProperties"]
        return None, None
    if extra is None or isinstance(extra, bool):
        return extra, None
    return walk.visit(walk, extra, f"{at}/additionalProperties")
