"""Objects, maps, lists and tuples, for a form that is rebuilt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .inverse import Step
from .losses import Unfit, fold, in_words
from .merging import Clash, merge
from .reading import copied, escape
from .scalars import SCALARS, carry, finished
from .walk import Node, Walk


__all__ = ["array", "obj", "sent_names"]


def sent_names(walk: Walk, properties: Mapping[str, Any], at: str) -> dict[str, str]:
    """Return the name under which each property is sent, all different."""
    names = {name: walk.key(name) for name in properties}
    if len(set(names.values())) < len(names):
        seen: dict[str, str] = {}
        for name, sent in names.items():
            if sent in seen:
                text = f"the properties {seen[sent]!r} and {name!r} would both be {sent!r}"
                raise Unfit("properties", at, text)
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
        return _map(walk, node, patterns, extra, at)
    if properties and maps and not profile.mixed:
        raise Unfit(_which(patterns), at, "named properties and a map in one object")
    if extra is True and not profile.mixed:
        raise Unfit("additionalProperties", at, "open object")
    if not properties and extra is not False and not (root and extra is None):
        if not profile.mixed:
            raise Unfit("additionalProperties", at, "open object")
        wire, folded = carry(walk, node, at)
        finished(walk, wire, _with_required(node, folded))
        return {"type": "object", **wire}, None
    return _fields(walk, node, properties, extra, at)


def _which(patterns: Any) -> str:
    return "patternProperties" if patterns else "additionalProperties"


def _with_required(node: Mapping[str, Any], folded: dict[str, Any]) -> dict[str, Any]:
    return {**folded, "required": node["required"]} if node.get("required") else folded


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
    step: Step = None
    if fields or undone is not None:
        step = {"fields": fields} if undone is None else {"fields": fields, "rest": undone}
    return whole, step


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
        raise Unfit("properties", at, f"objects are nested deeper than {limits.depth}")
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
        raise Unfit("type", below, "tri_state: null is a value, so it cannot mean absent")
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
    about = {k: wire.pop(k) for k in ("title", "description") if k in wire}
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
        raise Unfit("required", at, f"{lost[0]!r} is required but not declared")
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


# -- maps --------------------------------------------------------------------------


def _map(
    walk: Walk, node: dict[str, Any], patterns: Mapping[str, Any], extra: Any, at: str
) -> Node:
    """Rewrite an object that only has keys of its caller's choice."""
    if patterns and not isinstance(extra, Mapping) and extra is not False:
        if walk.profile.maps == "pairs":
            raise Unfit("patternProperties", at, "other keys may have any value")
        extra = None
    value, step = _map_value(walk, patterns, extra, at)
    rest = {k: v for k, v in node.items() if k != "propertyNames"}
    if walk.profile.maps == "keep":
        return _open_map(walk, node, patterns, extra, value, step, at)
    wire, folded = carry(walk, rest, at)
    finished(walk, wire, _with_required(node, folded), "list of key/value pairs; keys unique")
    pair: dict[str, Any] = {
        "type": "object",
        "properties": {"key": _map_key(walk, node, patterns, extra, at), "value": value},
        "required": ["key", "value"],
    }
    if walk.profile.closed:
        pair["additionalProperties"] = False
    return {"type": "array", **wire, "items": pair}, {"pairs": step}


def _map_value(walk: Walk, patterns: Mapping[str, Any], extra: Any, at: str) -> Node:
    subs = [sub for sub in patterns.values() if sub is not False]
    if isinstance(extra, Mapping):
        subs.append(extra)
    below = f"{at}/{_which(patterns)}"
    if not subs:
        raise Unfit("patternProperties", at, "the map can hold nothing")
    if len(subs) == 1:
        return walk.visit(walk, subs[0], below)
    return walk.visit(walk, {"anyOf": subs}, below)


def _map_key(
    walk: Walk, node: Mapping[str, Any], patterns: Mapping[str, Any], extra: Any, at: str
) -> dict[str, Any]:
    """Say what the keys of a map may be."""
    key: dict[str, Any] = {"type": "string"}
    names = node.get("propertyNames")
    try:
        if isinstance(names, Mapping):
            key = merge(key, names)
        if len(patterns) == 1 and extra is False:
            key = merge(key, {"pattern": next(iter(patterns))})
    except Clash:
        walk.lose(at, "propertyNames", "dropped", "it cannot be said beside the pattern")
    wire, _ = walk.visit(walk, key, f"{at}/propertyNames")
    if len(patterns) > 1 or (patterns and extra is not False):
        walk.lose(at, "patternProperties", "widened", "which value goes with which key")
        fold(wire, [_keys_match(patterns)])
    return wire


def _keys_match(patterns: Mapping[str, Any]) -> str:
    said = " or ".join(word.partition("=")[2] for p in patterns for word in in_words({"pattern": p}))
    return f"keys match {said}"


def _open_map(
    walk: Walk,
    node: Mapping[str, Any],
    patterns: Mapping[str, Any],
    extra: Any,
    value: dict[str, Any],
    step: Step,
    at: str,
) -> Node:
    """Say a map as one, where the form can."""
    wire, folded = carry(walk, node, at)
    more = []
    if patterns:
        walk.lose(at, "patternProperties", "widened", "every key may have any such value")
        more.append(_keys_match(patterns))
    finished(walk, wire, _with_required(node, folded), *more)
    out: dict[str, Any] = {"type": "object"}
    if not patterns or extra is False or isinstance(extra, Mapping):
        out["additionalProperties"] = value
    else:
        step = None
    return {**out, **wire}, None if step is None else {"fields": {}, "rest": step}


# -- lists -------------------------------------------------------------------------


def array(walk: Walk, node: dict[str, Any], at: str) -> Node:
    """Rewrite a list or a tuple."""
    if node.get("prefixItems"):
        return _tuple(walk, node, at)
    items = node.get("items", True)
    if items is False:
        raise Unfit("items", at, "a list that can only be empty")
    if items is True or items == {}:
        if not walk.profile.untyped:
            raise Unfit("items", at, "untyped value: a list without items")
        wire, folded = carry(walk, node, at)
        finished(walk, wire, folded)
        if "items" in node:
            wire["items"] = {}
        return {"type": "array", **wire}, None
    inner, step = walk.visit(walk, items, f"{at}/items")
    wire, folded = carry(walk, node, at)
    finished(walk, wire, folded)
    out = {"type": "array", **wire, "items": inner}
    return out, None if step is None else {"items": step}


def _tuple(walk: Walk, node: dict[str, Any], at: str) -> Node:
    """Rewrite a list whose positions mean different things."""
    length = len(node["prefixItems"])
    closed = node.get("items") is False or node.get("maxItems", length + 1) <= length
    how = walk.profile.tuples
    if how == "object":
        if not closed or node.get("minItems", 0) < length or node.get("maxItems", length) < length:
            raise Unfit("prefixItems", at, "a tuple of varying length")
        return _as_object(walk, node, at)
    wires: list[dict[str, Any]] = []
    steps: list[Step] = []
    for i, sub in enumerate(node["prefixItems"]):
        wire, step = walk.visit(walk, sub, f"{at}/prefixItems/{i}")
        wires.append(wire)
        steps.append(step)
    limits = {"maxItems": min(length, node.get("maxItems", length))} if closed else {}
    wire, folded = carry(walk, {**node, **limits}, at)
    rest: Step = None
    if how == "widen":
        return _widened(walk, node, wires, steps, (wire, folded, closed), at)
    finished(walk, wire, folded)
    out: dict[str, Any] = {"type": "array", **wire, "prefixItems": wires}
    if not closed and isinstance(node.get("items"), Mapping):
        out["items"], rest = walk.visit(walk, node["items"], f"{at}/items")
    if rest is None and all(step is None for step in steps):
        return out, None
    return out, {"prefix": steps, "rest": rest}


def _as_object(walk: Walk, node: dict[str, Any], at: str) -> Node:
    sent: dict[str, Any] = {}
    steps: list[Step] = []
    for i, sub in enumerate(node["prefixItems"]):
        sent[f"item_{i}"], step = walk.visit(walk, sub, f"{at}/prefixItems/{i}")
        steps.append(step)
    kept = {k: v for k, v in node.items() if k not in ("minItems", "maxItems")}
    wire, folded = carry(walk, kept, at)
    finished(walk, wire, folded, f"tuple sent as an object: {', '.join(sent)}")
    out = {
        "type": "object",
        "properties": sent,
        "required": list(sent),
        "additionalProperties": False,
        **wire,
    }
    return out, {"tuple": steps}


def _widened(
    walk: Walk,
    node: dict[str, Any],
    wires: list[dict[str, Any]],
    steps: list[Step],
    about: tuple[dict[str, Any], dict[str, Any], bool],
    at: str,
) -> Node:
    """Say a tuple as a list whose items may be any of its positions."""
    wire, folded, closed = about
    said = "; ".join(f"position {i}: {_label(each)}" for i, each in enumerate(wires))
    if not closed:
        if not isinstance(node.get("items"), Mapping) and not walk.profile.untyped:
            raise Unfit("items", at, "untyped value: further items of a tuple")
        if isinstance(node.get("items"), Mapping):
            more, step = walk.visit(walk, node["items"], f"{at}/items")
            wires, steps = [*wires, more], [*steps, step]
    distinct: list[dict[str, Any]] = []
    for each in wires:
        if each not in distinct:
            distinct.append(each)
    if any(step != steps[0] for step in steps):
        raise Unfit("prefixItems", at, "positions of a tuple need different undoing")
    walk.lose(at, "prefixItems", "widened", "which position holds which value")
    finished(walk, wire, folded, said)
    items = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
    out = {"type": "array", **wire, "items": copied(items)}
    return out, None if steps[0] is None else {"items": steps[0]}


def _label(wire: Mapping[str, Any]) -> str:
    kind = wire.get("type")
    return str(kind) if isinstance(kind, str) else in_words({"schema": wire})[0][7:]
