"""Markdown as plain text: marks go, words stay, however many marks there are."""

import pytest

from toolcrib_web.documents import Encoding
from toolcrib_web.pages import read_page


def shown(body):
    found = read_page(
        f"<html><body><p>{body}</p></body></html>",
        "http://site.test/",
        encoding=Encoding(name="utf-8", source="header"),
        form="text",
        scope="page",
        headers={},
    )
    return found.text.strip()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<b>a</b> <del>b</del> c", "a b c"),
        ("<a href='http://x.test/a_(b)'>link</a>", "link"),
        ("<a href='/u'><img src='i.png' alt='picture'></a>", "picture"),
    ],
)
def test_marks_of_markdown_are_left_out(body, text):
    assert shown(body) == text


@pytest.mark.parametrize("opening", [" ~~a", " __a", "[", "![", "![](", "[](x"])
def test_openings_that_nothing_closes_are_read_once(opening):
    # Reading to the end from each of them took minutes, in which nothing else ran.
    assert len(shown(opening * 100_000)) >= 100_000
