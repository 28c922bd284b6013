"""Values that fit a schema in normal form, varied but the same in every run."""

from __future__ import annotations

import json
import math
import random

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from samples import Sampler
from texts import matching


__all__ = ["broken", "variants"]

_SHALLOW = 5
_NAMES = ("a", "b", "other", "x y", "0", "ä/~")
# What is put in place of a part of a value, to see who notices.
_ODD: tuple[Any, ...] = (
    *("", "no such word", "a" * 2_000, 0, -1, 10**9, -(10**9), 0.5, True, None),
    *([], [1, "1", 1, None] * 20, {}, {"no such property": 1}),
)


class Varied(Sampler):
    """Samples that choose by chance where the plain ones take the first or the least."""

    def __init__(self, root: Any, chance: random.Random) -> None:
        super().__init__(root)
        self._chance = chance

    def chosen(self, choices: list[Any]) -> Any:
        """Return one of some alternatives."""
        return self._chance.choice(choices)

    def keys(self, schema: Mapping[str, Any], depth: int) -> Iterator[str]:
        """Yield what is required, some of what is optional, and keys of maps."""
        properties = schema.get("properties", {})
        yield from schema.get("required", [])
        if depth <= _SHALLOW:
            yield from (n for n in properties if self._chance.random() < 0.5)
            if schema.get("additionalProperties", True) is not False and not properties:
                yield from self._chance.sample(_NAMES, self._chance.randint(0, 2))

    def count(self, schema: Mapping[str, Any], depth: int) -> int:
        """Return how many items a list has."""
        least = schema.get("minItems", 0)
        most = schema.get("maxItems", least + 2) if depth <= _SHALLOW else least
        return self._chance.randint(least, max(least, min(most, least + 2)))

    def number(self, schema: Mapping[str, Any], *, whole: bool) -> float | int:
        """Return a number, at or near a bound as often as not."""
        low = schema.get("minimum", schema.get("exclusiveMinimum", -100))
        high = schema.get("maximum", schema.get("exclusiveMaximum", max(low, 0) + 100))
        step = schema.get("multipleOf") or (1 if whole else 0.5)
        count = math.floor((high - low) / step)
        place = self._chance.choice((0, 1, count, count - 1, self._chance.randint(0, 100)))
        value = math.ceil(low / step) * step + max(0, min(place, count)) * step
        return int(value) if whole else value

    def text(self, schema: Mapping[str, Any]) -> str:
        """Return a text, of letters that ask for care where nothing forbids them."""
        if "pattern" in schema:
            return matching(schema["pattern"], self._chance) or super().text(schema)
        if "format" in schema:
            return super().text(schema)
        least = schema.get("minLength", 0)
        most = min(schema.get("maxLength", least + 12), least + 12)
        letters = "abc XYZ019_-./\\\"'{}[]<>ä日\n"
        size = self._chance.randint(least, max(least, most))
        return "".join(self._chance.choices(letters, k=size))


def variants(
    schema: Any, count: int, seed: str, fits: Callable[[Any], bool]
) -> list[dict[str, Any]]:
    """Return so many values that fit, if that many are found."""
    sampler = Varied(schema, random.Random(seed))
    found = []
    for _ in range(6 * count):
        value = sampler.value(schema, 0)
        if isinstance(value, dict) and fits(value):
            found.append(value)
            if len(found) == count:
                break
    return found


def broken(value: dict[str, Any], seed: str, count: int) -> Iterator[dict[str, Any]]:
    """Yield copies of a value in which one part is odd, missing or added."""
    chance = random.Random(seed)
    for _ in range(count):
        copy = json.loads(json.dumps(value))
        holder, key = chance.choice(list(_parts({"": copy})))
        if isinstance(holder, dict) and key and chance.random() < 0.2:
            del holder[key]
        else:
            holder[key] = chance.choice(_ODD)
        whole = copy if key != "" else holder[""]
        if isinstance(whole, dict):
            yield whole


def _parts(holder: Any) -> Iterator[tuple[Any, Any]]:
    """Yield where each part of a value hangs."""
    entries = holder.items() if isinstance(holder, dict) else enumerate(holder)
    for key, part in list(entries):
        yield holder, key
        if isinstance(part, dict | list):
            yield from _parts(part)
