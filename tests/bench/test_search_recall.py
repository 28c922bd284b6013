"""The labelled queries are sound, and search answers them as well as is said."""

from __future__ import annotations

import random
import sys

from pathlib import Path

import pytest


sys.path.insert(0, str(Path(__file__).parent))

search_recall = pytest.importorskip("search_recall")
from toolcrib.search import SearchIndex  # noqa: E402 - behind the path


def test_the_set_is_large_and_every_label_names_a_tool():
    """At least 300 tools and 150 queries, half of them held out from tuning."""
    known = {tool.id for tool in search_recall.tools()}
    asked = search_recall.queries()
    assert len(known) >= 300
    assert len(asked) >= 150
    assert len({query.text for query in asked}) == len(asked)
    assert all(query.wanted and query.wanted <= known for query in asked)
    assert abs(sum(q.held_out for q in asked) - len(asked) / 2) <= 1


def test_recall_does_not_fall():
    """Held-out queries count: they were not looked at while the ranking was tuned."""
    measured = search_recall.measure()
    assert measured["all"]["@1"] >= 0.75
    assert measured["all"]["@5"] >= 0.92
    assert measured["held out"]["@1"] >= 0.66
    assert measured["held out"]["@5"] >= 0.87


def test_what_is_found_does_not_depend_on_what_was_looked_up_before():
    """Looking up in another order finds the same."""
    index = SearchIndex(search_recall.tools())
    asked = [query.text for query in search_recall.queries()]
    first = {text: index.search(text) for text in asked}
    random.Random(7).shuffle(asked)
    assert {text: index.search(text) for text in asked} == first


@pytest.mark.parametrize(
    "query",
    ["", "   ", "¿?", "the of and", "x" * 500, "\ud800", "select:", "🙂", "a" * 3, "zzzzqq"],
)
def test_any_text_may_be_asked_for(query):
    """Nonsense finds nothing, or something, and never fails."""
    hits = SearchIndex(search_recall.tools()).search(query, limit=25)
    assert len(hits) <= 25


def test_a_few_tools_among_many_are_found_when_only_they_may_be():
    """What may not be found does not crowd out what may."""
    index = SearchIndex(search_recall.many(4_000))
    wanted = "mcp.mail3.send"
    hits = index.search("send a message", limit=5, may={wanted, "mcp.web1.fetch"}.__contains__)
    assert [hit.tool_id for hit in hits] == [wanted]
