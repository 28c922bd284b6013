"""Shorten a JSON value by its structure, so that what is left is still a JSON value."""

from __future__ import annotations

from typing import Any

import attrs

from toolcrib import canonical

from .cutting import cut_text


__all__ = ["Pruned", "ends", "prune", "shares", "size_of_json"]

_DEEPEST = 50
# Room for the note on left-out items or keys.
_NOTE = 60
_SMALLEST = 40


@attrs.define
class Pruned:
    """A shortened value, and exactly what it lost.

    ``items`` and ``keys`` count what is gone whole, ``characters`` those of strings
    that were cut; what is inside something that is gone whole is not counted again.
    """

    value: Any = None
    items: int = 0
    keys: int = 0
    characters: int = 0


def size_of_json(value: Any) -> int:
    """Return the length of a JSON value's compact text."""
    if value.__class__ is int or value.__class__ is bool or value is None:
        return len(repr(value))
    return len(canonical.dumps(value))


def shares(sizes: list[int], room: int) -> list[int]:
    """Divide room fairly: who needs less than an equal share leaves the rest to others."""
    given = [0] * len(sizes)
    left = max(room, 0)
    for count, index in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        given[index] = min(sizes[index], left // (len(sizes) - count))
        left -= given[index]
    return given


def prune(value: Any, limit: int) -> Pruned:
    """Return a value whose compact text has at most ``limit`` characters.

    Long lists and objects keep their head and tail, long strings too; a note stands
    where something is gone. A value that cannot be made small enough becomes a note.
    """
    if size_of_json(value) <= limit:
        return Pruned(value)
    for tenths in (10, 8, 6, 4, 2, 1):
        pruned = Pruned()
        pruned.value = _fit(value, limit * tenths // 10, pruned, 0)
        if size_of_json(pruned.value) <= limit:
            return pruned
    size = size_of_json(value)
    return Pruned(f"[… {size} characters of JSON left out …]", characters=size)


def _fit(value: Any, room: int, lost: Pruned, depth: int) -> Any:
    size = size_of_json(value)
    if size <= room:
        return value
    if isinstance(value, str):
        return _fit_text(value, room, lost)
    if isinstance(value, list | tuple) and depth < _DEEPEST:
        return _fit_list(list(value), room, lost, depth)
    if isinstance(value, dict) and depth < _DEEPEST:
        return _fit_object(value, room, lost, depth)
    lost.characters += size
    return f"[… {size} characters left out …]"


def _fit_text(text: str, room: int, lost: Pruned) -> str:
    # Escapes make the JSON text longer than the string; shrink until it fits.
    limit = min(room - 2, len(text) - 1)
    while True:
        cut = cut_text(text, limit, inline=True)
        over = size_of_json(cut.text) - room
        if over <= 0 or limit <= _SMALLEST:
            lost.characters += cut.dropped
            return cut.text
        limit = max(_SMALLEST, min(limit - over // 6 - 1, limit * room // (room + over)))


def _fit_list(items: list[Any], room: int, lost: Pruned, depth: int) -> list[Any]:
    sizes = [size_of_json(item) + 1 for item in items]
    head, tail = ends(sizes, room - 2, most=room // 16)
    kept = items[:head] + items[tail:]
    gone = tail - head
    given = shares(sizes[:head] + sizes[tail:], room - 2 - (_NOTE if gone else 0))
    new = [_fit(i, g - 1, lost, depth + 1) for i, g in zip(kept, given, strict=True)]
    if gone:
        lost.items += gone
        new.insert(head, f"[… {gone} of {len(items)} items left out …]")
    return new


def _fit_object(value: dict[str, Any], room: int, lost: Pruned, depth: int) -> dict[str, Any]:
    names = list(value)
    costs = [size_of_json(name) + 2 for name in names]
    sizes = [size_of_json(value[n]) + cost for n, cost in zip(names, costs, strict=True)]
    head, tail = ends(sizes, room - 2, most=room // 16)
    gone = tail - head
    places = [*range(head), *range(tail, len(names))]
    given = shares([sizes[p] for p in places], room - 2 - (_NOTE if gone else 0))
    new: dict[str, Any] = {}
    for place, share in zip(places, given, strict=True):
        if gone and place == tail:
            _note_keys(new, value, gone, lost)
        name = names[place]
        new[name] = _fit(value[name], share - costs[place], lost, depth + 1)
    if gone and tail == len(names):
        _note_keys(new, value, gone, lost)
    return new


def _note_keys(new: dict[str, Any], value: dict[str, Any], gone: int, lost: Pruned) -> None:
    name = "…"
    while name in value:
        name += "…"
    new[name] = f"{gone} of {len(value)} keys left out"
    lost.keys += gone


def ends(sizes: list[int], room: int, *, most: int) -> tuple[int, int]:
    """Return how many members to keep at the head, and where the tail starts.

    A member counts as ``most`` at the most, since a large one can be shortened itself.
    """
    most = max(_SMALLEST, most)
    if sum(min(size, most) for size in sizes) <= room:
        return len(sizes), len(sizes)
    left = room - _NOTE
    head, tail = 0, len(sizes)
    while head < tail:
        from_head = head <= len(sizes) - tail
        cost = min(sizes[head if from_head else tail - 1], most)
        if cost > left:
            break
        left -= cost
        if from_head:
            head += 1
        else:
            tail -= 1
    return head, tail
