"""Find tools by words: a small inverted index with impacts computed when it is built.

Ranking is BM25 over weighted fields (Robertson & Zaragoza, 2009), with four additions
that tool names need: names are split at underscores and capitals, a light stemmer folds
plurals and verb endings, words that mean the same to a tool's author (``remove`` and
``delete``) count at a discount, and tools that answer to more of a query's words are
preferred. A word that occurs nowhere is replaced by the closest known ones, at a larger
discount. ``tests/bench/search_recall.py`` measures what it is worth.
"""

from __future__ import annotations

import difflib
import heapq
import math

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import attrs

from .lexicon import MEANINGS, words


if TYPE_CHECKING:
    from toolcrib.tool import Tool


__all__ = ["Hit", "SearchIndex"]

# How much a word counts for where it stands; found with tests/bench/search_recall.py.
_FIELDS = {
    "name": 3.0,
    "title": 1.0,
    "tags": 3.0,
    "summary": 2.0,
    "parameters": 0.5,
    "rest": 0.4,
}
_K1 = 1.2
_B = 0.3
_SAME_MEANING = 0.6
_MISSPELT = 0.4
_COVERAGE = 0.5
# So many times the wanted hits are candidates before common words are only looked up.
_ENOUGH = 40


@attrs.frozen
class Hit:
    """One tool that was found; a higher score is better."""

    tool_id: str
    score: float


def _fields(tool: Tool) -> Mapping[str, str]:
    description = tool.description
    properties = tool.input_schema.get("properties")
    parameters = " ".join(properties) if isinstance(properties, Mapping) else ""
    return {
        "name": tool.id.replace(".", " "),
        "title": tool.title,
        "tags": " ".join((*tool.tags, tool.category or "")),
        "summary": description.summary,
        "parameters": parameters,
        "rest": " ".join((description.details, *description.usage)),
    }


def _raise(best: dict[int, float], found: Mapping[int, float], factor: float) -> None:
    """Keep for each tool the better of what it has and what one word gives it."""
    if not best:
        best.update({number: factor * impact for number, impact in found.items()})
        return
    get = best.get
    for number, impact in found.items():
        value = factor * impact
        if value > get(number, 0.0):
            best[number] = value


class SearchIndex:
    """An index over the tools of one catalog; build it once, ask it often."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._ids: list[str] = []
        weights: list[Counter[str]] = []
        for tool in sorted(tools, key=lambda t: t.id):
            counted: Counter[str] = Counter()
            for field, text in _fields(tool).items():
                for word in words(text):
                    counted[word] += _FIELDS[field]  # type: ignore[assignment]
            self._ids.append(tool.id)
            weights.append(counted)
        self._postings = self._impacts(weights)
        self._vocabulary = sorted(self._postings)

    def __len__(self) -> int:
        return len(self._ids)

    @staticmethod
    def _impacts(weights: list[Counter[str]]) -> dict[str, dict[int, float]]:
        total = len(weights)
        lengths = [sum(counted.values()) for counted in weights]
        mean = (sum(lengths) / total if total else 0.0) or 1.0
        documents: Counter[str] = Counter()
        for counted in weights:
            documents.update(counted.keys())
        idf = {w: math.log(1 + (total - n + 0.5) / (n + 0.5)) for w, n in documents.items()}
        postings: dict[str, dict[int, float]] = {}
        for number, counted in enumerate(weights):
            norm = _K1 * (1 - _B + _B * lengths[number] / mean)
            for word, weight in counted.items():
                impact = idf[word] * weight * (_K1 + 1) / (weight + norm)
                postings.setdefault(word, {})[number] = impact
        return postings

    def search(
        self, query: str, *, limit: int = 5, may: Callable[[str], bool] | None = None
    ) -> tuple[Hit, ...]:
        """Return the best tools for some words, best first.

        Args:
            query: Any text; punctuation has no meaning.
            limit: How many hits at most.
            may: Tells whether a tool may be found; all may, without it.
        """
        groups = self._expanded(query)
        hits, whole = self._best(groups, limit, may, most=_ENOUGH * limit)
        if may is not None and len(hits) < limit and not whole:
            # Most of the candidates may not be found: then all tools are looked at.
            hits, _ = self._best(groups, limit, may, most=len(self._ids))
        return hits

    def _best(
        self,
        groups: list[dict[str, float]],
        limit: int,
        may: Callable[[str], bool] | None,
        most: int,
    ) -> tuple[tuple[Hit, ...], bool]:
        """Return the best tools, and whether every tool was a candidate."""
        scores, covered = self._scored(groups, most)
        # A tool that answers to more of the words is better than one that answers to one
        # of them loudly. Ids are sorted, so the number breaks ties the same way everywhere.
        share = _COVERAGE / max(len(groups), 1)
        factors = [1 - _COVERAGE + share * count for count in range(len(groups) + 1)]
        ranked: Iterable[tuple[float, int]] = [
            (-score * factors[covered[number]], number) for number, score in scores.items()
        ]
        if may is not None:
            ranked = (pair for pair in ranked if may(self._ids[pair[1]]))
        best = heapq.nsmallest(limit, ranked)
        hits = tuple(Hit(self._ids[number], -score) for score, number in best)
        return hits, len(scores) < most

    def _scored(
        self, groups: list[dict[str, float]], most: int
    ) -> tuple[dict[int, float], dict[int, int]]:
        """Return the score of each tool, and how many words it answers to.

        The rarest words come first. Once they have found many tools, a common word only
        tells those apart: a tool that has nothing but common words would not win.
        """
        postings = self._postings
        scores: dict[int, float] = {}
        covered: dict[int, int] = {}
        sizes = {id(group): sum(len(postings[word]) for word in group) for group in groups}
        for group in sorted(groups, key=lambda group: sizes[id(group)]):
            here: dict[int, float] = {}
            if len(scores) >= most and sizes[id(group)] > len(scores):
                for word, factor in group.items():
                    found = postings[word]
                    for number in scores.keys() & found.keys():
                        value = factor * found[number]
                        if value > here.get(number, 0.0):
                            here[number] = value
            else:
                for word, factor in group.items():
                    _raise(here, postings[word], factor)
            if not scores:
                scores, covered = here, dict.fromkeys(here, 1)
                continue
            for number, value in here.items():
                scores[number] = scores.get(number, 0.0) + value
                covered[number] = covered.get(number, 0) + 1
        return scores, covered

    def _expanded(self, query: str) -> list[dict[str, float]]:
        """Return, for each word of a query, the indexed words that it stands for.

        Of the words of one group only the best counts for a tool, or a tool that has many
        words for one thing would win by repeating itself.
        """
        groups: list[dict[str, float]] = []
        for word in dict.fromkeys(words(query)):
            group: dict[str, float] = {}
            if word in self._postings:
                group[word] = 1.0
            for other in MEANINGS.get(word, ()):
                if other in self._postings:
                    group.setdefault(other, _SAME_MEANING)
            if word not in self._postings and word not in MEANINGS:
                group = dict.fromkeys(self._closest(word), _MISSPELT)
            if group:
                groups.append(group)
        return groups

    def _closest(self, word: str) -> list[str]:
        if len(word) < 3:
            return []
        starting = [known for known in self._vocabulary if known.startswith(word)]
        if starting:
            return starting[:8]
        same_start = [known for known in self._vocabulary if known[0] == word[0]]
        return difflib.get_close_matches(word, same_start, n=3, cutoff=0.75)
