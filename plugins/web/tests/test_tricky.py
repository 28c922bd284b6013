"""Tricky inputs of the web: those that no other test holds, and that each named test exists."""

from __future__ import annotations

import ast
import re

from functools import cache
from pathlib import Path

import pytest

from toolcrib_net import retry_after
from toolcrib_net.testing import ok, reply


ROOT = Path(__file__).resolve().parents[3]
PAGE = Path(__file__).resolve().parents[1] / "TRICKY.md"
LINES = PAGE.read_text("utf-8").splitlines()
ROW = re.compile(r"\| (\d+) \| (.+?) \| (.+?) \| (.+?) \|")
FILE = re.compile(r"- `(\w+)`: `([\w/.]+)`")
ROWS = [row.groups() for row in map(ROW.fullmatch, LINES) if row]
FILES = dict(row.groups() for row in map(FILE.fullmatch, LINES) if row)
NAMED = sorted({name for *_, shown in ROWS for name in re.findall(r"`([^`]+)`", shown)})


@cache
def functions(path):
    """The test functions of a file, without importing it."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", NAMED)
def test_named_test_exists(name):
    """What the page names is there to be run."""
    file, _, function = name.partition("::")
    assert function in functions(FILES[file])


def test_every_input_is_answered_and_shown():
    """The rows are numbered without a gap, each with an answer and a test."""
    assert [int(number) for number, *_ in ROWS] == list(range(1, 28))
    assert all(answer.endswith(".") and "::" in shown for _, _, answer, shown in ROWS)


def raw(answer):
    """A server that writes bytes as they are."""

    async def send(asked, writer):
        writer.write(answer)
        await writer.drain()

    return send


@pytest.mark.parametrize(
    "kind",
    [
        *("text/html; charset=", 'text/html; charset=""utf-8""', "text/html; charset=utf-7"),
        *("text/html; charset=no-such", 'text/html; charset="', "text/html; charset=\u00fc"),
    ],
)
def test_header_with_a_senseless_charset_is_no_failure(site, web, text, kind):
    """A page is read by its bytes where its header names no encoding."""
    site.add("/x", ok("<p>größe und schöne</p>", kind))
    assert "größe und schöne" in text(web.fetch(site.url("/x", "site.test")))


def test_thirty_hops_end_at_the_limit(site, web):
    """A chain of redirects that never repeats is bounded as a loop is."""
    for number in range(30):
        site.add(f"/{number}", reply(302, "", [("Location", f"/{number + 1}")]))
    site.add("/30", ok("<p>there"))
    outcome = web.fetch(site.url("/0", "site.test"))
    assert outcome.code == "net.redirect_loop"
    assert len(site.asked) == 11


def test_body_longer_than_its_length_ends_where_it_says(site, web, text):
    """What follows the stated length is no part of the answer."""
    site.add("/x", raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwords and more"))
    said = text(web.fetch(site.url("/x", "site.test")))
    assert "words" in said
    assert "and more" not in said


@pytest.mark.parametrize("body", [b"<html><p>Words of a page</p>", b"Words of a page"])
def test_answer_without_a_type_is_read_by_its_bytes(site, web, text, body):
    """No Content-Type at all is not a reason to give up on a page."""
    site.add("/x", raw(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)))
    assert "Words of a page" in text(web.fetch(site.url("/x", "site.test")))


def test_archive_is_named_and_not_dumped(site, web, text):
    """A zip file is stored, and said to be one."""
    site.add("/x", ok(b"PK\3\4" + bytes(40) + b"\xff" * 40, "application/octet-stream"))
    said = text(web.fetch(site.url("/x", "site.test")))
    assert "application/zip" in said
    assert "PK\3" not in said


@pytest.mark.parametrize("status", [204, 304])
def test_answer_without_a_body_says_so(site, web, text, status):
    """No content, and nothing new of what was never stored, are told from an empty page."""
    site.add("/x", raw(b"HTTP/1.1 %d Odd\r\n\r\n" % status))
    said = text(web.fetch(site.url("/x", "site.test")))
    assert f"Status: {status}" in said
    assert "no content" in said or "body is empty" in said


@pytest.mark.parametrize("host", ["a" * 300, "a" * 300 + ".test", ".".join(["a" * 60] * 5)])
def test_host_that_is_too_long_is_refused_before_it_is_resolved(web, host):
    """A name that no resolver could have is an input to be mended."""
    outcome = web.fetch(f"http://{host}/")
    assert outcome.status in {"invalid", "refused"}
    assert outcome.code


@pytest.mark.parametrize(
    "host",
    [
        *("127.1", "2130706433", "0x7f000001", "017700000001", "0", "0177.0.0.1"),
        *("127\u30020\u30020\u30021", "\uff11\uff12\uff17.0.0.1", "\u2460\u2461\u2466.0.0.1"),
        *("[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "192.0.0.8"),
        *("100.64.0.1", "10.0.0.5", "169.254.169.254"),
    ],
)
def test_inner_address_is_refused_by_the_tool_in_every_spelling(web, host):
    """However an inner address is written, nothing is asked of it."""
    outcome = web.fetch(f"http://{host}/")
    assert outcome.status in {"invalid", "refused"}
    assert outcome.code in {"net.address_refused", "net.url_invalid"}


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("7", 7.0),
        ("Thu, 01 Jan 1970 00:16:50 GMT", 10.0),
        ("Thu, 01 Jan 1970 00:00:01 GMT", 0.0),
        ("-1", None),
        ("tomorrow", None),
        (None, None),
    ],
)
def test_waiting_time_is_read_in_seconds_and_as_a_date(said, seconds):
    """A date counts from now, one that is past means at once, and nonsense means nothing."""
    assert retry_after(said, 1_000.0) == seconds
