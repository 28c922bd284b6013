"""An index of bound rules by what their patterns must find in a value.

A rule is kept under a literal that every value it fits must hold: the leading folders
or one folder of a path, the last labels of a host, the program of a command. Only rules
without such a literal are tried one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolcrib.resources import commands
from toolcrib.rules import Bound, Token

from .bound import BoundRule, Facts, Strike
from .part import Part


__all__ = ["RuleIndex"]


class RuleIndex:
    """Bound rules of one verdict that name one tool."""

    __slots__ = ("_first", "_keyed", "_plain", "_scanned", "_typed", "empty")

    def __init__(self, bound: Iterable[BoundRule] = ()) -> None:
        self.empty = True
        self._first: BoundRule | None = None
        self._plain: list[BoundRule] = []
        self._typed: dict[str, list[BoundRule]] = {}
        self._scanned: dict[str, list[BoundRule]] = {}
        self._keyed: dict[str, dict[str, list[BoundRule]]] = {}
        for rule in bound:
            self.add(rule)

    def add(self, rule: BoundRule) -> None:
        """Add a rule."""
        self.empty = False
        if self._first is None or rule.order < self._first.order:
            self._first = rule
        if not rule.types:
            self._plain.append(rule)
        for kind in rule.types:
            self._typed.setdefault(kind, []).append(rule)
            keys = {key for bound in rule.positives[kind] for key in _keys_of(bound)}
            if not keys or "" in keys:
                self._scanned.setdefault(kind, []).append(rule)
                continue
            keyed = self._keyed.setdefault(kind, {})
            for key in keys:
                keyed.setdefault(key, []).append(rule)

    def candidates(self, part: Part) -> Iterator[BoundRule]:
        """Give every rule that may meet a part, perhaps more than once."""
        yield from self._plain
        if part.value is None:
            for kind in part.types:
                yield from self._typed.get(kind, ())
            return
        if part.tree and part.type == "path":
            # What lies below has keys that nobody knows.
            yield from self._typed.get("path", ())
            return
        for kind in _kinds(part):
            yield from self._scanned.get(kind, ())
            keyed = self._keyed.get(kind)
            if not keyed:
                continue
            try:
                keys = _keys_in(kind, part)
            except ValueError:
                # What cannot be taken apart may be anything.
                yield from self._typed[kind]
                continue
            for key in keys:
                yield from keyed.get(key, ())

    def strike(self, part: Part, facts: Facts) -> tuple[Strike, BoundRule | None]:
        """Return the strongest strike on a part, and the first rule that gives it."""
        strongest, first = Strike.NO, None
        for rule in self.candidates(part):
            if first is not None and strongest is Strike.YES and rule.order >= first.order:
                continue
            strike = rule.strikes(part, facts)
            if strike is Strike.NO or strike < strongest:
                continue
            if strike > strongest or first is None or rule.order < first.order:
                strongest, first = strike, rule
            if part.value is None and strike is Strike.MIGHT and not self._plain:
                break
        return strongest, first

    def strikes(self, part: Part, facts: Facts) -> list[tuple[Strike, BoundRule]]:
        """Return every rule that meets a part, in order."""
        met: dict[int, tuple[Strike, BoundRule]] = {}
        for rule in self.candidates(part):
            strike = rule.strikes(part, facts)
            if strike is not Strike.NO:
                met[rule.order] = (strike, rule)
        return [met[order] for order in sorted(met)]

    def cover(self, part: Part, facts: Facts) -> BoundRule | None:
        """Return the first rule that covers a part."""
        if self._first is not None and self._first.whole:
            return self._first
        first: BoundRule | None = None
        for rule in self.candidates(part):
            if (first is None or rule.order < first.order) and rule.covers(part, facts):
                first = rule
        return first

    def covers(self, part: Part, facts: Facts) -> Iterator[BoundRule]:
        """Give every rule that covers a part."""
        return (rule for rule in self.candidates(part) if rule.covers(part, facts))


def _kinds(part: Part) -> tuple[str, ...]:
    if part.type in {"url", "host"}:
        return ("url", "host")
    return (part.type,) if part.type else ()


def _keys_of(bound: Bound) -> list[str]:
    """Return a key for each alternative of a pattern; an empty one if it has none."""
    return [_key(bound, tokens) for tokens in bound.alternatives]


def _key(bound: Bound, tokens: tuple[Token, ...]) -> str:
    if bound.type == "url":
        tokens = bound.host_tokens(tokens)
    leading = 0
    while leading < len(tokens) and isinstance(tokens[leading], str):
        leading += 1
    if bound.type in {"host", "url"}:
        trailing = len(tokens)
        while trailing and isinstance(tokens[trailing - 1], str):
            trailing -= 1
        return ".".join(map(str, tokens[trailing:]))
    if bound.type == "path":
        later = [token for token in tokens[leading:] if isinstance(token, str)]
        if later:
            return f":{later[-1]}"
        return "/" + "/".join(map(str, tokens[:leading])) if leading else ""
    if bound.type == "command" and leading and bound.broad:
        return commands.program([str(tokens[0])])
    return str(tokens[0]) if leading else ""


def _keys_in(kind: str, part: Part) -> set[str]:
    """Return every key under which a rule that may meet a part is kept."""
    lists = [*part.narrow(kind), *part.wide(kind)] if kind != "url" else []
    if kind in {"host", "url"}:
        labels = part.narrow("host")[0]
        return {".".join(labels[start:]) for start in range(len(labels))}
    if kind == "path":
        keys = {f":{folder}" for folders in lists for folder in folders}
        for folders in lists:
            lead = ""
            for folder in folders:
                lead += "/" + folder
                keys.add(lead)
        return keys
    keys = {words[0] for words in lists if words}
    if kind == "command":
        keys |= {commands.program(words) for words in lists if words}
    return keys
