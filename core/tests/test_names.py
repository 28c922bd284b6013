"""The grammar of names and the mapping to wire names."""

from __future__ import annotations

import re

import pytest

from hypothesis import given
from hypothesis import strategies as st
from toolcrib import names


PACK = st.from_regex(r"[a-z][a-z0-9]{0,4}(-[a-z0-9]{1,3}){0,2}", fullmatch=True)
NAME = st.from_regex(r"[a-z][a-z0-9]{0,3}(_[a-z0-9]{1,3}){0,3}", fullmatch=True)
SOURCE = st.from_regex(r"[A-Za-z0-9]{1,4}([_-][A-Za-z0-9]{1,3}){0,2}", fullmatch=True)
REMOTE = st.text(st.characters(codec="utf-8"), min_size=1, max_size=128).filter(str.isprintable)
AWKWARD = st.sampled_from(["a__b", "_a", "a_", "a.b", "A", "a", "a b", "a-b", "a_0123456789"])
IDS = st.one_of(
    st.builds("{}.{}".format, PACK, NAME),
    st.builds("{}.{}.{}".format, PACK, SOURCE, REMOTE | AWKWARD),
).filter(names.is_tool_id)


@pytest.mark.parametrize(
    ("tool_id", "wire"),
    [
        ("web.fetch", "web_fetch"),
        ("crib.search", "crib_search"),
        ("mcp.github.create_issue", "mcp__github__create_issue"),
        ("mcp.list_resources", "mcp_list_resources"),
    ],
)
def test_ordinary_ids_keep_readable_wire_names(tool_id, wire):
    """No digest where none is needed."""
    assert names.wire_name(tool_id) == wire


@given(IDS)
def test_every_wire_name_is_legal_for_every_provider(tool_id):
    """Letters, digits, underscore and hyphen, at most 64."""
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", names.wire_name(tool_id))


@given(st.sets(IDS, min_size=2, max_size=40))
def test_distinct_ids_have_distinct_wire_names(ids):
    """The mapping is injective, hostile names included."""
    assert len({names.wire_name(i) for i in ids}) == len(ids)


def test_parts_that_could_be_read_two_ways_stay_apart():
    """A source with an underscore, a remote name with two, and a helper all differ."""
    ids = [
        "mcp.a.b_c",
        "mcp.a_b.c",
        "mcp.a.b__c",
        "mcp.a_b_c",
        "mcp.a.b.c",
        "mcp.a._b",
        "mcp.a.b-c",
        "mcp.a.b c",
    ]

    assert len({names.wire_name(i) for i in ids}) == len(ids)


def test_a_name_that_looks_suffixed_cannot_meet_a_suffixed_one():
    """A plain name that ends like a digest is given one of its own."""
    long = "mcp.s." + "x" * 100
    imitation = "mcp.s." + names.wire_name(long).removeprefix("mcp__s__")

    assert names.wire_name(imitation) != names.wire_name(long)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "web",
        "web.",
        ".fetch",
        "Web.fetch",
        "web.Fetch",
        "web_x.fetch",
        "web.-a.b",
        "a.b.\n",
    ],
)
def test_what_is_no_tool_id_is_told(text):
    """Case, empty parts, bad sources, underscores in packs, control characters."""
    assert not names.is_tool_id(text)


def test_closest_names_suggest_the_likely_one_first():
    """A bare name finds its tool, a slip finds its neighbour, noise finds nothing."""
    known = ["web_fetch", "web_search", "files_read"]

    assert names.closest("fetch", known) == ["web_fetch"]
    assert names.closest("file_read", known)[0] == "files_read"
    assert names.closest("zzzzzz", known) == []
