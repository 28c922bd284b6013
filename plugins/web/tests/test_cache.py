"""What is stored, what is given again, and how fast."""

import sqlite3

from email.utils import formatdate

import pytest

from toolcrib_net.testing import ok, reply


def dated(body="words", **headers):
    return ok(body, "text/plain", Date=formatdate(usegmt=True), **headers)


def test_fresh_answer_is_given_again_with_its_age(site, web):
    site.add("/x", dated(Cache_Control="max-age=60"))
    url = site.url("/x", "site.test")
    first, second = web.calls(*[("web.fetch", {"url": url})] * 2)
    assert len(site.asked) == 1
    assert first.result.structured["cache_age"] is None
    assert second.result.structured["cache_age"] >= 0
    assert "cached" in second.result.notes


def test_store_outlives_the_toolbox_and_belongs_to_its_user_alone(site, web, tmp_path):
    site.add("/x", dated(Cache_Control="max-age=60"))
    web.fetch(site.url("/x", "site.test"))
    web.fetch(site.url("/x", "site.test"))
    assert len(site.asked) == 1
    stored = [
        p for p in (tmp_path / ".state").rglob("answers-2.db*") if p.name == "answers-2.db"
    ]
    assert [p.stat().st_mode & 0o077 for p in stored] == [0]


@pytest.mark.parametrize("control", ["no-store", "no-cache", "max-age=0"])
def test_what_may_not_be_given_again_is_asked_for_anew(site, web, control):
    site.add("/x", dated(Cache_Control=control))
    for _ in range(2):
        web.fetch(site.url("/x", "site.test"))
    assert len(site.asked) == 2


def test_stale_answer_is_checked_and_kept_if_it_still_holds(site, web, text):
    def answer(asked):
        if asked.headers.get("if-none-match") == '"v1"':
            return reply(304, "", [("ETag", '"v1"'), ("Date", formatdate(usegmt=True))])
        return dated("the words", ETag='"v1"', Cache_Control="max-age=0")

    site.add("/x", answer)
    url = site.url("/x", "site.test")
    web.fetch(url)
    second = web.fetch(url)
    assert "the words" in text(second)
    assert site.asked[1].headers["if-none-match"] == '"v1"'
    assert second.result.structured["cache_age"] == 0


def test_answers_that_vary_are_told_apart(site, web, text):
    site.add(
        "/x",
        lambda asked: dated(
            asked.headers["accept-language"], Vary="Accept-Language", Cache_Control="max-age=60"
        ),
    )
    url = site.url("/x", "site.test")
    for language in ("de", "fr", "de"):
        said = text(web.fetch(url, headers={"Accept-Language": language}))
        assert f"\n{language}\n" in said
    assert len(site.asked) == 2


def test_max_age_asks_anew_and_takes_what_is_older_than_the_server_likes(site, web):
    site.add("/x", dated(ETag='"1"', Cache_Control="max-age=60"))
    url = site.url("/x", "site.test")
    web.fetch(url)
    web.fetch(url, max_age=0)
    assert len(site.asked) == 2
    site.add("/y", dated(Cache_Control="max-age=0"))
    web.fetch(site.url("/y", "site.test"))
    web.fetch(site.url("/y", "site.test"), max_age=3600)
    assert len(site.asked) == 3


def test_offline_gives_what_is_stored_however_old(site, web):
    site.add("/x", dated(Cache_Control="max-age=0"))
    url = site.url("/x", "site.test")
    web.fetch(url)
    assert web.fetch(url, offline=True).status == "ok"
    missing = web.fetch(site.url("/y", "site.test"), offline=True)
    assert (missing.status, missing.code) == ("unavailable", "web.offline")
    assert len(site.asked) == 1


def test_nothing_is_stored_of_requests_that_say_who_asks(site, web):
    site.add("/x", dated(Cache_Control="max-age=60"))
    url = site.url("/x", "site.test")
    for _ in range(2):
        web.fetch(url, headers={"Cookie": "session=1"})
    assert len(site.asked) == 2


def test_write_takes_away_what_was_stored_of_the_address(site, web):
    site.add("/x", dated(Cache_Control="max-age=60"))
    url = site.url("/x", "site.test")
    web.fetch(url)
    web.fetch(url, method="POST", body="a")
    web.fetch(url)
    assert site.hits == ["GET /x", "POST /x", "GET /x"]


def test_part_of_a_body_is_not_stored(site, web):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nCache-Control: max-age=60\r\n"
    site.add("/x", head + b"Content-Length: 100\r\nConnection: close\r\n\r\nhalf")
    for _ in range(2):
        web.fetch(site.url("/x", "site.test"))
    assert len(site.asked) == 2


def test_stored_redirect_is_judged_again(site, inner, web):
    site.add(
        "/x", reply(301, "", [("Location", inner.url("/")), ("Cache-Control", "max-age=60")])
    )
    for _ in range(2):
        outcome = web.fetch(site.url("/x", "site.test"), redirects="any")
        assert outcome.code == "net.address_refused"
    assert inner.connections == 0


def test_broken_store_is_no_reason_not_to_fetch(site, web, tmp_path):
    site.add("/x", dated(Cache_Control="max-age=60"))
    web.fetch(site.url("/x", "site.test"))
    for path in (tmp_path / ".state").rglob("answers-2.db*"):
        path.write_bytes(b"no database" * 100)
    assert web.fetch(site.url("/x", "site.test")).status == "ok"


def test_store_stays_within_its_size(tmp_path):
    from toolcrib_web.caching import HttpCache

    storage = HttpCache(tmp_path / "c", 1 << 20)._open()
    try:
        assert storage.max_size == 1 << 20
    finally:
        storage.close()
    assert sqlite3.sqlite_version_info > (3, 0)
