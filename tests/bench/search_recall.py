"""How well ``crib.search`` finds tools: recall over a labelled set of our own.

``python tests/bench/search_recall.py`` prints recall@1 and recall@5 over the queries that
the ranking was tuned with, over those held out, and over all; and what one query costs
over ten thousand tools. A query counts as answered if any of the tools that would do is
among the first *k*.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

from pathlib import Path
from typing import NamedTuple

from toolcrib.search import SearchIndex
from toolcrib.tool import Description, Tool


DATA = Path(__file__).parent / "data"


class Query(NamedTuple):
    """Words, the tools that would do, and whether they were held out from tuning."""

    text: str
    wanted: frozenset[str]
    held_out: bool


def _lines(name: str) -> list[list[str]]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [
        [part.strip() for part in line.split("|")]
        for line in lines
        if line and not line.startswith("#")
    ]


def tools(folder: str = "search_tools.txt") -> list[Tool]:
    """Read the made-up catalog."""
    return [_tool(*line) for line in _lines(folder)]


def _tool(id_: str, summary: str, parameters: str, tags: str, *_: str) -> Tool:
    return Tool(
        id=id_,
        title=id_.partition(".")[2].replace("_", " ").capitalize(),
        description=Description(summary),
        input_schema={
            "type": "object",
            "properties": {name: {"type": "string"} for name in parameters.split()},
        },
        tags=tags.split(),
    )


def queries() -> list[Query]:
    """Read the labelled queries; every second one is held out."""
    return [
        Query(text, frozenset(wanted.split()), number % 2 == 1)
        for number, (text, wanted) in enumerate(_lines("search_queries.txt"))
    ]


def recall(index: SearchIndex, asked: list[Query], k: int) -> float:
    """Return the share of queries that are answered among the first ``k`` tools."""
    answered = 0
    for query in asked:
        found = {hit.tool_id for hit in index.search(query.text, limit=k)}
        answered += bool(found & query.wanted)
    return answered / len(asked)


def measure() -> dict[str, dict[str, float]]:
    """Return recall@1 and recall@5 by part of the set."""
    index = SearchIndex(tools())
    every = queries()
    parts = {
        "tuned": [q for q in every if not q.held_out],
        "held out": [q for q in every if q.held_out],
        "all": every,
    }
    return {
        name: {"queries": len(part), "@1": recall(index, part, 1), "@5": recall(index, part, 5)}
        for name, part in parts.items()
    }


def many(count: int = 10_000) -> list[Tool]:
    """Make a large catalog of the small one: every tool once more for each of many sources."""
    base = tools()
    made: list[Tool] = []
    for number in range(count):
        tool = base[number % len(base)]
        pack, _, name = tool.id.partition(".")
        copy = Tool(
            id=f"mcp.{pack}{number // len(base)}.{name}",
            title=tool.title,
            description=tool.description,
            input_schema=tool.input_schema,
            tags=tool.tags,
        )
        made.append(copy)
    return made


def seconds_a_query(count: int = 10_000) -> float:
    """Return the median cost of a query over a large catalog."""
    index = SearchIndex(many(count))
    spent = []
    for query in queries():
        started = time.perf_counter()
        index.search(query.text, limit=5)
        spent.append(time.perf_counter() - started)
    return sorted(spent)[len(spent) // 2]


def misses(k: int = 5) -> list[str]:
    """Return the tuning queries that are not answered, with what was found instead."""
    index = SearchIndex(tools())
    lines = []
    for query in queries():
        found = [hit.tool_id for hit in index.search(query.text, limit=k)]
        if not query.held_out and not query.wanted & set(found):
            lines.append(f"{query.text}: wanted {' '.join(query.wanted)}; {' '.join(found)}")
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--misses", type=int, metavar="K", help="list tuning misses among K")
    options = parser.parse_args()
    if options.misses:
        sys.stdout.write("\n".join(misses(options.misses)) + "\n")
        return
    measured = measure()
    cost = seconds_a_query()
    if options.json:
        sys.stdout.write(json.dumps({"recall": measured, "seconds": cost}) + "\n")
        return
    for name, part in measured.items():
        row = (
            f"{name:<9} {part['queries']:>4} queries  @1 {part['@1']:.3f}  @5 {part['@5']:.3f}"
        )
        sys.stdout.write(row + "\n")
    sys.stdout.write(f"one query over 10,000 tools: {cost * 1000:.2f} ms (median)\n")


if __name__ == "__main__":
    main()
