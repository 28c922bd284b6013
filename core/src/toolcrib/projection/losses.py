"""What a projection could not carry, and how its text is folded into a description."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring
from typing import Any, Literal

import attrs

from toolcrib import canonical

from .facts import FOLD_ORDER


__all__ = ["ROOT", "Loss", "Unfit", "as_json", "fold", "in_order", "in_words", "matches"]

# The JSON pointer of the root.
ROOT = ""

_LONGEST = 400
_EXACT = 1e15
_ORDER = {keyword: number for number, keyword in enumerate(FOLD_ORDER)}


@attrs.frozen(slots=False)
class Loss:
    """One thing that the declared schema says and the sent one does not.

    The tool's own schema is enforced all the same: a loss is advice that the model
    misses, never a check that is skipped.

    Attributes:
        pointer: JSON pointer of the node in the tool's own schema.
        keyword: The keyword that is not sent as it was.
        kind: ``folded`` into the description, ``dropped``, ``widened`` to something
            looser, ``closed`` to further properties, or ``lax``: strict was asked for
            and cannot be had.
        text: A sentence for people.
    """

    pointer: str
    keyword: str
    kind: Literal["folded", "dropped", "widened", "closed", "lax"]
    text: str = ""


class Unfit(Exception):  # noqa: N818 - a signal between two forms, not an error
    """Raised when a form of a dialect cannot say a schema without losing a value."""

    def __init__(self, pointer: str, keyword: str, text: str) -> None:
        self.keyword = keyword
        self.pointer = pointer
        self.text = text
        super().__init__(f"{text} (keyword {keyword!r} at {pointer or '/'})")


def matches(loss: Loss, forbidden: frozenset[str]) -> bool:
    """Tell whether a loss is among forbidden keywords, kinds or ``*``.

    ``*`` leaves out ``closed``, because the tool's own validator closes too.
    """
    if loss.keyword in forbidden or loss.kind in forbidden:
        return True
    return "*" in forbidden and loss.kind != "closed"


def fold(wire: dict[str, Any], *parts: str) -> None:
    """Append one parenthesis to a node's description."""
    text = "; ".join(parts)
    if not text:
        return
    old = wire.get("description")
    wire["description"] = f"{old} ({text})" if isinstance(old, str) and old else f"({text})"


# Keywords that are said in words rather than as they are.
_WORDY = frozenset({"dependentRequired", "if", "then", "else"})


def _place(keyword: str) -> tuple[int, str]:
    return _ORDER.get(keyword, 99), keyword


def in_order(keywords: Iterable[str]) -> list[str]:
    """Sort keywords into the order in which a description says them."""
    return sorted(keywords, key=_place)


def in_words(folded: Mapping[str, Any]) -> list[str]:
    """Say constraints in a fixed order, values as JSON."""
    if folded.keys().isdisjoint(_WORDY):
        if len(folded) == 1:
            ((keyword, value),) = folded.items()
            return [f"{keyword}={as_json(value)}"]
        return [f"{keyword}={as_json(folded[keyword])}" for keyword in in_order(folded)]
    words = []
    for keyword in in_order(folded):
        if keyword in ("then", "else") and "if" in folded:
            continue
        value = folded[keyword]
        if keyword == "dependentRequired" and isinstance(value, Mapping):
            words += [
                f"if {name} is given, {_listed(needs)} required"
                for name, needs in value.items()
                if needs
            ]
        elif keyword == "if":
            words += _conditional(value, folded.get("then"), folded.get("else"))
        else:
            words.append(f"{keyword}={as_json(value)}")
    return words


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    if len(names) == 1:
        return f"{names[0]} is"
    return f"{', '.join(names[:-1])} and {names[-1]} are"


def _conditional(condition: Any, then: Any, otherwise: Any) -> list[str]:
    """Say ``if``/``then``/``else`` in words where they only compare and require."""
    compared = _comparison(condition)
    words = []
    for branch, joint in ((then, "if"), (otherwise, "unless")):
        if branch is None or branch is True:
            continue
        needs: Any = branch.get("required") if isinstance(branch, Mapping) else None
        premise = compared or as_json(condition)
        if needs and branch.keys() == {"required"}:
            words.append(f"{joint} {premise}, {_listed(needs)} required")
        else:
            words.append(f"{joint} {premise}, {as_json(branch)}")
    return words


def _comparison(condition: Any) -> str | None:
    if not isinstance(condition, Mapping) or not condition.keys() <= {"properties", "required"}:
        return None
    properties = condition.get("properties")
    if not isinstance(properties, Mapping):
        return None
    said = []
    for name, sub in properties.items():
        if not isinstance(sub, Mapping) or sub.keys() - {"type"} not in ({"const"}, {"enum"}):
            return None
        if "const" in sub:
            said.append(f"{name} is {as_json(sub['const'])}")
        else:
            said.append(f"{name} is one of {as_json(sub['enum'])}")
    return " and ".join(said) or None


def as_json(value: Any) -> str:
    """Write a value as JSON, bounded and with readable letters."""
    kind = value.__class__
    if kind is int:
        return str(value)
    if kind is str:
        text = encode_basestring(value)
    elif kind is bool:
        return "true" if value else "false"
    elif kind is float and -_EXACT < value < _EXACT:
        return repr(value)
    else:
        text = canonical.dumps(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
