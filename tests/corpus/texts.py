"""A text that a regular expression finds, made from its parse."""

from __future__ import annotations

import random
import re

from typing import Any


__all__ = ["matching"]

# Private, but the only parser of Python's patterns; what it does not give is not sampled.
_parse = re._parser.parse  # type: ignore[attr-defined]
_CATEGORIES = {"DIGIT": "0", "NOT_DIGIT": "a", "WORD": "a", "NOT_WORD": "-", "SPACE": " "}


def matching(pattern: str, chance: random.Random) -> str | None:
    """Return a text in which the pattern is found, or None where none was made."""
    try:
        text = _sequence(_parse(pattern), chance)
        return text if re.search(pattern, text) else None
    except (re.error, KeyError, RecursionError, NotImplementedError):
        return None


def _sequence(parts: Any, chance: random.Random) -> str:
    return "".join(_part(str(name), value, chance) for name, value in parts)


def _part(name: str, value: Any, chance: random.Random) -> str:
    if name == "LITERAL":
        return chr(value)
    if name == "ANY":
        return "a"
    if name == "AT":
        return ""
    if name == "IN":
        return _one(value, chance)
    if name == "BRANCH":
        return _sequence(chance.choice(value[1]), chance)
    if name == "SUBPATTERN":
        return _sequence(value[3], chance)
    if name in {"MAX_REPEAT", "MIN_REPEAT"}:
        least, most, inner = value
        count = chance.randint(least, min(int(most), least + 3))
        return "".join(_sequence(inner, chance) for _ in range(count))
    raise NotImplementedError(name)


def _one(choices: Any, chance: random.Random) -> str:
    """Return one character of a set."""
    if str(choices[0][0]) == "NEGATE":
        taken = {chr(value) for name, value in choices if str(name) == "LITERAL"}
        return next(c for c in "aA0-_ " if c not in taken)
    name, value = chance.choice(choices)
    if str(name) == "RANGE":
        return chr(chance.randint(*value))
    if str(name) == "CATEGORY":
        return _CATEGORIES[str(value).removeprefix("CATEGORY_")]
    return chr(value)
