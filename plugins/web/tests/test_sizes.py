"""Work on a page is bounded by what is counted of it, whatever its shape."""

from __future__ import annotations

import sys

import pytest

from toolcrib_web import sizes
from toolcrib_web.documents import Encoding
from toolcrib_web.pages import read_page


ENCODING = Encoding(name="utf-8", source="header")

SHAPES = {
    "siblings": "<p>word</p>" * 200_000,
    "links": '<a href="/x">word</a> ' * 200_000,
    "cells": "<table>" + ("<tr>" + "<td>word" * 10) * 10_000 + "</table>",
    "cells of one row": "<table><tr>" + "<td>word" * 100_000 + "</table>",
    "headings": "<h2>word</h2><p>text" * 50_000,
    "hidden": "<p>word" + "<div hidden>gone</div>" * 200_000,
    "attributes": "<p " + " ".join(f"a{n}=1" for n in range(200_000)) + ">word",
    "nested quotations": "<blockquote>" * 350 + "<p>word</p>" * 20_000,
}


def read(body, form="markdown"):
    return read_page(
        f"<title>t</title><body>{body}",
        "http://site.test/",
        encoding=ENCODING,
        form=form,
        scope="main",
        headers={},
    )


def calls(body):
    """How many Python functions reading a page calls, and what came of it."""
    count = 0

    def counted(frame, event, argument):
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(counted)
    try:
        document = read(body)
    finally:
        sys.setprofile(None)
    return count, document


@pytest.mark.parametrize("shape", SHAPES)
def test_huge_page_is_read_in_a_bounded_number_of_steps(shape):
    """A page of any shape costs some calls and characters for each of its tags."""
    body = SHAPES[shape]
    count, document = calls(body)
    assert count < 30 * body.count("<") + 200_000
    assert "word" in document.text
    assert len(document.text) < 2 * len(body)
    assert document.notes


@pytest.mark.parametrize("deep", ["<div>", "<b><i>", "<div hidden>x"])
def test_page_nested_deeper_than_any_tree_keeps_its_text_and_says_so(deep):
    """What no converter can follow is shown as text, without structure."""
    document = read(deep * 50_000 + "deep words")
    assert document.text.endswith("deep words")
    assert "too_deep_for_structure" in document.notes


def test_page_in_one_line_of_20_megabytes_is_shown_whole():
    """A long text costs no more than its length: nothing of it is lost."""
    text = "word " * 4_000_000
    document = read(f"<p>{text}")
    assert document.text == text.strip()
    assert document.notes == ("whole_page",)


def test_page_of_too_many_tags_is_cut_and_says_so():
    """More tags than are read are not counted away in silence."""
    document = read("<b>x" * (sizes.MOST_TAGS + 10), "text")
    assert "page_cut" in document.notes
    assert 0 < document.text.count("x") <= sizes.MOST_TAGS


def test_page_just_within_the_bound_has_its_main_content_found():
    """The bound is on elements: one page beyond it is shown whole, one within it is not."""
    menu = "<nav>menu</nav>"
    words = "<p>Some words that are long enough to be the content of a page.</p>"
    within, beyond = sizes.MOST_ELEMENTS // 10, sizes.MOST_ELEMENTS + 1
    assert "menu" not in read(menu + words * within).text
    assert "menu" in read(menu + words * beyond).text


@pytest.mark.parametrize(
    "body",
    [
        "<script>if (a<b" + " c" * 3_000 + ") d()</script><p>after",
        "<!-- <p" + " c" * 3_000 + "--><p>after",
        "<textarea><p" + " c" * 3_000 + "</textarea><p>after",
    ],
)
def test_what_only_looks_like_a_tag_of_many_attributes_is_left_alone(body):
    """Code and comments may hold anything, and are not taken for tags."""
    assert sizes.cut(body) == (body, False)


def test_tag_of_too_many_attributes_loses_the_last_of_them_only():
    """The parser compares each attribute with all before it, so there is a most."""
    many = " ".join(f'a{n}="<{n}>"' for n in range(5_000))
    text, was_cut = sizes.cut(f"<p {many}>word</p><p class=b>more</p>")
    assert was_cut
    assert text.endswith(">word</p><p class=b>more</p>")
    assert text.count("=") == 1_001


@pytest.mark.parametrize("opening", ["<", "<a", "<!--", "<script", "<a \"'", "<a b='", "&amp"])
def test_openings_that_nothing_ends_are_read_once(opening):
    """Text of a page without a tree: an opening of anything costs its length only."""
    text = opening * 200_000
    assert len(sizes.flat(text)) <= len(text)
    assert text.startswith(sizes.cut(text)[0])
