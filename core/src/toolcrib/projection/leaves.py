"""Scalar properties, by far the commonest nodes, for a form that is rebuilt.

What becomes of a scalar hangs on which keywords it has, hardly ever on their values. So it
is worked out once for all scalars of a form that have the same keywords, in the same order.
"""

from __future__ import annotations

from typing import Any

import attrs

from .facts import ANNOTATIONS, Profile
from .losses import as_json, fold, in_order
from .reading import ATOMS, copied, escape
from .scalars import SCALARS, texts
from .walk import Walk


__all__ = ["OF_SCALARS", "leaf", "or_null"]

OF_SCALARS = ANNOTATIONS | {
    *("type", "pattern", "format", "minimum", "maximum", "multipleOf"),
    *("minLength", "maxLength", "enum"),
}
# Live sources may send any order of any keywords.
_MOST_PLANS = 2_000
_CONTAINERS = frozenset({"default", "examples"})


@attrs.frozen
class _Plan:
    """What becomes of the keywords of a scalar.

    Attributes:
        sent: Sent as they are; None: all of them are.
        folded: Said in the description, in the order of words.
        lost: Those of them that are losses, in the order of the node.
        listed: Whether there is an enum.
    """

    sent: tuple[str, ...] | None = None
    folded: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    listed: bool = False


_UNSEEN = _Plan()


def leaf(
    walk: Walk, node: dict[str, Any], at: str, name: str, *, null: bool
) -> dict[str, Any] | None:
    """Rewrite a property of an object if it is a scalar; None if it needs a closer look.

    Args:
        walk: The state of the rewriting.
        node: The property's schema.
        at: JSON pointer of the object.
        name: The property's name.
        null: Whether a null is to be admitted, which stands for absence.
    """
    kind = node.get("type")
    if kind.__class__ is not str or kind not in SCALARS:
        return None
    plan = walk.profile.plans.get(tuple(node), _UNSEEN)
    if plan is _UNSEEN:
        plan = _planned(walk.profile, tuple(node))
    if plan is None or ("default" in node and node["default"] is None):
        return None
    if plan.sent is None:
        return {**node, "type": [kind, "null"]} if null else dict(node)
    wire: dict[str, Any] = {"type": [kind, "null"] if null and not plan.listed else kind}
    if plan.listed:
        if kind != "string" or not texts(walk, node["enum"]):
            return None
        wire["enum"] = list(node["enum"])
    for keyword in plan.sent:
        value = node[keyword]
        wire[keyword] = value if value.__class__ in ATOMS else copied(value)
    if plan.folded:
        _say(node, plan.folded, wire)
        for keyword in plan.lost:
            walk.lose(f"{at}/properties/{escape(name)}", keyword, "folded")
    return or_null(wire) if null and plan.listed else wire


def _say(node: dict[str, Any], folded: tuple[str, ...], wire: dict[str, Any]) -> None:
    text = ""
    for keyword in folded:
        word = f"{keyword}={as_json(node[keyword])}"
        text = f"{text}; {word}" if text else word
    fold(wire, text)


def or_null(wire: dict[str, Any]) -> dict[str, Any]:
    """Admit a null that stands for absence."""
    kind = wire.get("type")
    if "enum" not in wire and "anyOf" not in wire:
        if kind.__class__ is str and kind in SCALARS:
            wire["type"] = [kind, "null"]
            return wire
        if isinstance(kind, list):
            wire["type"] = [*kind, "null"]
            return wire
    about: dict[str, Any] = {}
    if "title" in wire:
        about["title"] = wire.pop("title")
    if "description" in wire:
        about["description"] = wire.pop("description")
    if "anyOf" in wire and len(wire) == 1:
        about["anyOf"] = [*wire["anyOf"], {"type": "null"}]
    else:
        about["anyOf"] = [wire, {"type": "null"}]
    return about


def _planned(profile: Profile, keywords: tuple[str, ...]) -> _Plan | None:
    plan = _plan(profile, keywords)
    if len(profile.plans) < _MOST_PLANS:
        profile.plans[keywords] = plan
    return plan


def _plan(profile: Profile, keywords: tuple[str, ...]) -> _Plan | None:
    """Work out what becomes of a scalar's keywords; None where their values count."""
    if not OF_SCALARS.issuperset(keywords):
        return None
    if profile.simple.issuperset(keywords):
        return _Plan()
    fates = {keyword: profile.fates.get(keyword) for keyword in keywords}
    if "look" in fates.values():
        return None
    sent = tuple(keyword for keyword, fate in fates.items() if fate == "send")
    if not _CONTAINERS.isdisjoint(sent):
        return None
    lost = tuple(keyword for keyword, fate in fates.items() if fate is None)
    folded = [keyword for keyword, fate in fates.items() if fate == "fold" or fate is None]
    return _Plan(sent, tuple(in_order(folded)), lost, listed="enum" in fates)
