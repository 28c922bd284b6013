"""Weigh how long a backtracking engine may take on a pattern.

The pattern is read as an automaton without empty moves: a state is a character set of the
pattern, an edge says which set may come next, and two ways to the same next set are two
edges. Two questions are asked:

* Is there a loop in which one text can be read in two ways? Then time can double with
  every character (``^(a+)+$``), and the pattern is refused.
* How many loops can share out one text among them (``a*a*``)? That many is the power of
  the text's length that bounds the time, and gives the longest text that is tried.
"""

from __future__ import annotations

import attrs

from .charsets import complement, mask
from .expression import Alt, Assert, Expression, Look, Loop, Seq, Set


__all__ = ["Weight", "weigh"]

_MOST_STATES = 400
_MOST_EDGES = 5_000
_MOST_LOOPS = 30
_MOST_PAIRS = 100_000
_HIGHEST_POWER = 4
_WORK = 10_000_000

_Edges = dict[tuple[int, int], list[tuple[int, int]]]


@attrs.frozen
class Weight:
    """What weighing found: a problem, or the longest text (None: any)."""

    problem: str = ""
    limit: int | None = None


def weigh(expression: Expression) -> Weight:
    """Weigh a parsed pattern, which is searched for anywhere in a text."""
    if not _anchored(expression):
        anything = Loop(Set(complement(())), 0, None)
        expression = Seq((anything, expression))
    try:
        power = _power(expression)
    except _TooHeavyError as error:
        return Weight(str(error))
    if power > _HIGHEST_POWER:
        return Weight("has too many repetitions that can share one text")
    return Weight() if power <= 1 else Weight(limit=int(_WORK ** (1 / power)))


class _TooHeavyError(ValueError):
    """Raised when a pattern may take exponential time, or cannot be weighed."""


def _power(expression: Expression) -> int:
    automaton = _Automaton()
    automaton.build(expression)
    loops = _components(automaton.edges)
    if len(automaton.masks) > _MOST_STATES or len(loops) > _MOST_LOOPS:
        message = "has too many parts"
        raise _TooHeavyError(message)
    if automaton.empty_loop or any(automaton.ambiguous(loop) for loop in loops):
        message = "repeats a group that can read one text in two ways"
        raise _TooHeavyError(message)
    # A look ahead walks anew from wherever the pattern around it stands.
    return automaton.sharing(loops) + max(map(_power, automaton.looks), default=0)


def _anchored(expression: Expression) -> bool:
    match expression:
        case Assert(python):
            return python == r"\A"
        case Seq(parts):
            return bool(parts) and _anchored(parts[0])
        case Alt(options):
            return all(_anchored(option) for option in options)
        case _:
            return False


@attrs.define
class _Piece:
    """First and last states of a part, and whether it matches the empty text."""

    first: list[int]
    last: list[int]
    nullable: bool


@attrs.define
class _Automaton:
    masks: list[int] = attrs.field(factory=list)
    edges: list[list[int]] = attrs.field(factory=list)
    looks: list[Expression] = attrs.field(factory=list)
    empty_loop: bool = False
    size: int = 0

    def build(self, expression: Expression) -> _Piece:
        match expression:
            case Set(ranges):
                self.masks.append(mask(ranges))
                self.edges.append([])
                return _Piece([len(self.masks) - 1], [len(self.masks) - 1], nullable=False)
            case Assert():
                return _Piece([], [], nullable=True)
            case Look(body, _):
                self.looks.append(body)
                return _Piece([], [], nullable=True)
            case Alt(options):
                pieces = [self.build(option) for option in options]
                return _Piece(
                    [state for piece in pieces for state in piece.first],
                    [state for piece in pieces for state in piece.last],
                    nullable=any(piece.nullable for piece in pieces),
                )
            case Seq(parts):
                return self.sequence([self.build(part) for part in parts])
            case Loop(body, least, most):
                return self.loop(self.build(body), least, most)

    def join(self, last: list[int], first: list[int]) -> None:
        self.size += len(last) * len(first)
        if self.size > _MOST_EDGES:
            message = "has too many alternatives in a row"
            raise _TooHeavyError(message)
        for state in last:
            self.edges[state].extend(first)

    def sequence(self, pieces: list[_Piece]) -> _Piece:
        whole = _Piece([], [], nullable=True)
        for piece in pieces:
            self.join(whole.last, piece.first)
            first = whole.first + piece.first if whole.nullable else whole.first
            last = whole.last + piece.last if piece.nullable else piece.last
            whole = _Piece(first, last, nullable=whole.nullable and piece.nullable)
        return whole

    def loop(self, body: _Piece, least: int, most: int | None) -> _Piece:
        if most not in (0, 1):
            self.empty_loop |= body.nullable
            # Read as if without bounds: that only adds ways.
            self.join(body.last, body.first)
        return _Piece(body.first, body.last, nullable=body.nullable or least == 0)

    def ambiguous(self, loop: list[int]) -> bool:
        """Whether a loop can read one text in two ways."""
        inside = set(loop)
        for state in loop:
            chosen = [target for target in self.edges[state] if target in inside]
            if len(chosen) != len(set(chosen)):
                return True
        edges = sum(len(self.edges[state]) for state in loop)
        if edges * edges > _MOST_PAIRS:
            message = "repeats a group of too many parts"
            raise _TooHeavyError(message)
        return self._two_ways(inside)

    def _two_ways(self, inside: set[int]) -> bool:
        """Whether two different walks of equal text leave and rejoin one state."""
        forward: _Edges = {
            (one, two): [
                (a, b)
                for a in self.edges[one]
                if a in inside
                for b in self.edges[two]
                if b in inside and self.masks[a] & self.masks[b]
            ]
            for one in inside
            for two in inside
        }
        reached = _closure(forward, [(state, state) for state in inside])
        apart = [pair for pair in reached if pair[0] != pair[1]]
        return any(one == two for one, two in _closure(forward, apart))

    def sharing(self, loops: list[list[int]]) -> int:
        """Return how many loops in a row can share out one text."""
        alphabets = [self._alphabet(loop) for loop in loops]
        after = [
            [
                other
                for other in range(len(loops))
                if other != one
                and self._linked(loops[one], loops[other], alphabets[one] & alphabets[other])
            ]
            for one in range(len(loops))
        ]
        longest: dict[int, int] = {}

        def chain(one: int) -> int:
            if one not in longest:
                longest[one] = 1 + max(map(chain, after[one]), default=0)
            return longest[one]

        return max(map(chain, range(len(loops))), default=1)

    def _alphabet(self, states: list[int]) -> int:
        bits = 0
        for state in states:
            bits |= self.masks[state]
        return bits

    def _linked(self, one: list[int], other: list[int], shared: int) -> bool:
        """Whether a text of shared characters leads from one loop into the other."""
        if not shared:
            return False
        wanted, found, waiting = set(other), set(one), list(one)
        while waiting:
            for target in self.edges[waiting.pop()]:
                if target not in found and self.masks[target] & shared:
                    found.add(target)
                    waiting.append(target)
        return not wanted.isdisjoint(found)


def _closure(edges: _Edges, start: list[tuple[int, int]]) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    waiting = [target for state in start for target in edges[state]]
    while waiting:
        state = waiting.pop()
        if state not in found:
            found.add(state)
            waiting.extend(edges[state])
    return found


def _components(edges: list[list[int]]) -> list[list[int]]:
    """Return the loops of a graph: its strongly connected parts that hold an edge."""
    order: list[int] = []
    seen: set[int] = set()
    for start in range(len(edges)):
        if start not in seen:
            _finish(start, edges, seen, order)
    reverse: list[list[int]] = [[] for _ in edges]
    for state, targets in enumerate(edges):
        for target in targets:
            reverse[target].append(state)
    components: list[list[int]] = []
    seen.clear()
    for start in reversed(order):
        if start not in seen:
            members: list[int] = []
            _finish(start, reverse, seen, members)
            if len(members) > 1 or start in edges[start]:
                components.append(members)
    return components


def _finish(start: int, edges: list[list[int]], seen: set[int], order: list[int]) -> None:
    """Walk a graph in depth and note each state when all that it leads to is noted."""
    seen.add(start)
    stack = [(start, iter(edges[start]))]
    while stack:
        state, targets = stack[-1]
        target = next((each for each in targets if each not in seen), None)
        if target is None:
            stack.pop()
            order.append(state)
        else:
            seen.add(target)
            stack.append((target, iter(edges[target])))
