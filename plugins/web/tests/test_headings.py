"""Headings of generated documentation, and links, as a reader sees them."""

import re

import pytest

from toolcrib_web.documents import Encoding
from toolcrib_web.pages import read_page


URL = "https://docs.example/std/vec.html"
LONG = "This sentence is long enough to be taken for a part of what the page is about. " * 2
CODE = "<pre><code>let mut vec = Vec::new();\nvec.push({n});</code></pre>"


def markdown(body, scope="main"):
    source = f"<!DOCTYPE html><html><head><title>t</title></head><body>{body}</body></html>"
    encoding = Encoding(name="utf-8", source="header")
    return read_page(
        source, URL, encoding=encoding, form="markdown", scope=scope, headers={}
    ).text


def headings(text):
    return [line for line in text.splitlines() if re.match(r"#{1,6} ", line)]


MARKS = [
    '<h2 id="a"><a class="doc-anchor" href="#a">§</a>Slicing</h2>',
    '<h2 id="a">Slicing<a class="headerlink" href="#a" title="Link">¶</a></h2>',
    '<h2><a class="anchor" href="#a"><svg><path d=""/></svg></a>Slicing</h2>',
    f'<h2 id="a">Slicing <a href="{URL}#a">#</a></h2>',
    '<h2 id="a">Slicing<a href="#a"><img src="/link.png" alt="link"></a></h2>',
    "<h2>Slicing<button>Copy path</button></h2>",
]


@pytest.mark.parametrize("heading", MARKS)
@pytest.mark.parametrize("scope", ["main", "page"])
def test_what_only_points_at_a_heading_is_no_part_of_it(heading, scope):
    text = markdown(f"<main><p>{LONG}</p>{heading}<p>{LONG * 2}</p></main>", scope)
    assert headings(text) == ["## Slicing"]


def test_heading_that_is_a_link_to_itself_keeps_its_words():
    heading = '<h2 id="a"><a href="#a">Slicing</a></h2>'
    text = markdown(f"<main><p>{LONG}</p>{heading}<p>{LONG * 2}</p></main>", "page")
    assert headings(text) == [f"## [Slicing]({URL}#a)"]


def method(number):
    """A method as documentation of Rust shows it: folded behind its own heading."""
    name = f"method{number}"
    return f"""
<details class="toggle" open><summary><section id="{name}"><h4 class="code-header">pub fn
<a href="#{name}" class="fn">{name}</a>(&amp;self) -&gt; <a href="/std/bool.html">bool</a></h4>
</section></summary><div class="docblock"><p>Does <a href="#x">what</a> it is.</p>
<h5 id="e{number}"><a href="#e{number}">§</a>Examples</h5>{CODE.format(n=number)}
<p>{LONG}{number}</p></div></details>"""


def test_folded_sections_keep_their_headings_and_short_texts_in_their_order():
    methods = "".join(map(method, range(6)))
    section = '<h2 id="i">Implementations<a href="#i">§</a></h2>'
    text = markdown(
        f"<main><h1>Vec</h1><p>{LONG * 3}</p>{section}{methods}<p>{LONG * 3}</p></main>"
    )
    found = [re.sub(r"\[(\w+)\]\([^)]*\)", r"\1", line) for line in headings(text)]
    each = [(f"#### pub fn method{n}(&self) -> bool", "##### Examples") for n in range(6)]
    assert found[-13:] == ["## Implementations", *(line for pair in each for line in pair)]
    for number in range(6):
        section = text.partition(f"method{number}](")[2].partition("#### pub")[0]
        assert "it is." in section
        assert f"vec.push({number})" in section


def test_what_is_folded_without_a_heading_gets_none():
    text = markdown(
        f"<main><p>{LONG}</p><details><summary>Expand description</summary><p>{LONG * 2}</p>"
        "</details></main>"
    )
    assert headings(text) == []
    assert LONG.strip() in text


@pytest.mark.parametrize(
    ("href", "whole"),
    [
        ("/a?b=c#d", "https://docs.example/a?b=c#d"),
        ("#part", f"{URL}#part"),
        ("other.html", "https://docs.example/std/other.html"),
        ("../up", "https://docs.example/up"),
        ("/a/../b", "https://docs.example/b"),
        ("/a\tb", "https://docs.example/ab"),
        ("/\n/else.example", "https://else.example"),
        ("ht\ntp://else.example/x", "http://else.example/x"),
        ("//else.example/x", "https://else.example/x"),
        ("http://else.example/x", "http://else.example/x"),
        ("HTTPS://else.example/x", "https://else.example/x"),
        ("mailto:a@b.example", "mailto:a@b.example"),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        (r"/\else.example", r"https://docs.example/\else.example"),
        ("http://[bad", None),
    ],
)
def test_links_are_whole_and_lead_where_the_page_says(href, whole):
    text = markdown(f'<p>{LONG}<a href="{href}">word</a></p>', "page")
    found = re.search(r"\[word\]\(<?([^)>]*)>?\)", text)
    assert (found[1].replace("\\\\", "\\") if found else None) == whole


SMALL = '<h1>Title</h1><p>Some <a href="/x">link</a> here.</p>'
MEDIUM = f'<h1>Title</h1><p>{LONG * 5}<a href="/x">link</a></p>'
CROWDED = (
    '<h1>Title</h1><p>Short, with a <a href="/x">link</a>.</p><pre>code\n  more</pre>'
    "<table><tr><th>A<th>B<tr><td>1<td>2</table>"
)


@pytest.mark.parametrize("scope", ["main", "page"])
@pytest.mark.parametrize("body", [SMALL, MEDIUM, CROWDED])
def test_heading_and_link_of_a_short_page_stay(body, scope):
    """A page too short for an extractor keeps its heading and link in every mode."""
    text = markdown(body, scope)
    assert text.startswith("# Title\n")
    assert "[link](https://docs.example/x)" in text


def test_menu_and_foot_of_a_short_page_are_left_out_of_its_content():
    """What stands around a short page's content is shown with the whole page only."""
    body = f'<nav><a href="/m">Menu</a></nav>{CROWDED}<footer>Foot</footer>'
    main, page = markdown(body), markdown(body, "page")
    assert "Menu" in page
    assert "Foot" in page
    assert "Menu" not in main
    assert "Foot" not in main
    assert "```\ncode\n  more\n```" in main
    assert "| 1 | 2 |" in main


def test_sparse_page_is_not_run_together_to_one_paragraph():
    """A page of many short elements is shown as what it is, not as lines without marks."""
    parts = "".join(f'<h2>Part {n}</h2><a href="/p{n}">go {n}</a>' for n in range(60))
    text = markdown(f"<section>{parts}</section>")
    assert len(headings(text)) == 60
    assert "[go 7](https://docs.example/p7)" in text


AROUND = "".join(
    f'<div class="menu"><a href="/m{n}">Menu entry number {n}</a></div>' for n in range(60)
)
ARTICLE = f"<p>{LONG}</p><h2>Part</h2><p>{LONG * 2}</p><p>{LONG * 3}</p>"


def read(head, body, form="markdown"):
    source = f"<html><head>{head}</head><body>{AROUND}{body}</body></html>"
    encoding = Encoding(name="utf-8", source="header")
    return read_page(source, URL, encoding=encoding, form=form, scope="main", headers={})


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("<title>Head</title>", f"<h1>Head</h1><article>{ARTICLE}</article>"),
        ("<title>Head - Site</title>", f"<header><h1>Site</h1></header><h1>Head</h1>{ARTICLE}"),
        ("<title>Site: Head</title>", f"<h1>Site</h1><h2>Head</h2><div>{ARTICLE}</div>"),
        ("", f"<main><div><h1>Head</h1><div>By someone</div></div>{ARTICLE}</main>"),
        ("<title>Other</title>", f"<section><h1>Head</h1></section><div>{ARTICLE}</div>"),
    ],
)
def test_headline_of_a_crowded_page_stands_above_its_content(head, body):
    """The heading above the content is shown, wherever the page puts it, and once."""
    document = read(head, body)
    assert document.scope == "main"
    assert "Menu entry" not in document.whole
    found = [line.lstrip("# ") for line in headings(document.whole)]
    assert found == ["Head", "Part"]


@pytest.mark.parametrize(
    ("form", "shown"),
    [("markdown", "# Head"), ("text", "Head"), ("html", "<h1>Head</h1>")],
)
def test_headline_comes_in_the_form_that_is_wanted(form, shown):
    """A headline is written as the text below it is."""
    assert read("", f"<h1>Head</h1>{ARTICLE}", form).whole.startswith(shown)


def test_name_of_another_page_is_no_headline():
    """A heading that links elsewhere is the beginning of a list, not of this content."""
    body = f'<h1><a href="/other">Another article</a></h1><p>Short.</p><div>{ARTICLE}</div>'
    assert "Another article" not in read("<title>x</title>", body).whole


def test_link_list_and_bare_link_of_the_content_stay():
    """Links that stand alone between parts of the content are part of it."""
    links = '<ul><li><a href="/one">One</a></li><li><a href="/two">Two</a></li></ul>'
    body = (
        f'<article>{ARTICLE}{links}<div><a href="/bare">Bare</a></div><p>{LONG}</p></article>'
    )
    text = read("", body).text
    for name in ("one", "two", "bare"):
        assert f"https://docs.example/{name})" in text
