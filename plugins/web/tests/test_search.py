"""``web.search``: providers, failover, what is shown, what is stored.

The hosted providers are contract tests: their documented answers, served on this machine.
"""

import json
import ssl

from urllib.parse import parse_qs, urlsplit

import pytest

from toolcrib import Toolbox
from toolcrib.testing import async_run
from toolcrib_net.testing import Site, ok, reply

from toolcrib_web.health import Health
from toolcrib_web.providers import Found, Query
from toolcrib_web.ranking import canonical_url, fitting, to_the_point
from toolcrib_web.searchcache import SearchCache


ROWS = [
    {
        "title": "About the crib",
        "url": "https://a.example/1?utm_source=x",
        "content": "A <b>crib</b>",
    },
    {"title": "Crib again", "url": "https://www.a.example/1/", "content": "the same page"},
    {
        "title": "Another crib",
        "url": "https://b.example/",
        "content": "words",
        "publishedDate": "2024-05-01",
    },
    {"title": "Not web", "url": "javascript:alert(1)", "content": "crib"},
]


def searx(rows, **more):
    return ok(json.dumps({"results": rows, **more}), "application/json")


@pytest.fixture
def three(site, web):
    """Three providers on this machine; a test says what each answers."""
    web.settings["providers"] = ["searxng", "brave", "exa"]
    base = site.url("", "search.test")
    web.settings["search"] = {
        "searxng": {"url": base},
        "brave": {"url": base, "secret": "key"},
        "exa": {"url": base, "secret": "key"},
    }
    import os

    os.environ["SEARCH_KEY"] = "k3y-of-search"
    web.policy["secrets"] = {"key": {"env": "SEARCH_KEY", "tools": ["web.search"]}}
    yield site
    del os.environ["SEARCH_KEY"]


BRAVE, EXA, SEARX = "/res/v1/web/search", "/search", "/search"
EXA_ROWS = {
    "results": [{"title": "Third crib", "url": "https://c.example/", "text": "crib words"}]
}


def both(first, third):
    """SearXNG asks with GET, Exa with POST, at the same path."""
    return lambda asked: first if asked.method == "GET" else third


def test_first_empty_second_failing_third_good(three, web, text):
    three.add(SEARX, both(searx([]), ok(json.dumps(EXA_ROWS), "application/json")))
    three.add(BRAVE, reply(500, "broken"))
    outcome = web.search("crib")
    facts = outcome.result.structured
    assert [hit["title"] for hit in facts["results"]] == ["Third crib"]
    assert [(t["provider"], t["state"]) for t in facts["provenance"]] == [
        ("searxng", "empty"),
        ("brave", "failed"),
        ("exa", "good"),
    ]
    assert (outcome.status, outcome.attempts) == ("ok", 1)
    assert "degraded" in outcome.result.notes
    assert "https://c.example/" in text(outcome)


def test_call_with_failover_has_one_receipt(three, web):
    three.add(SEARX, both(searx([]), ok(json.dumps(EXA_ROWS), "application/json")))
    three.add(BRAVE, reply(500, "broken"))
    web.policy["rules"] = ["allow web.search"]

    async def main():
        async with Toolbox(web.make_policy()) as box, box.session("t") as session:
            await session.call("web.search", {"query": "crib"})
            return box.ledger.receipts("t")

    receipts = async_run(main())
    assert [(r.tool_id, str(r.status), r.attempts) for r in receipts] == [
        ("web.search", "ok", 1)
    ]


def test_results_are_shown_once_each_and_without_markup(site, web, text):
    web.settings |= {
        "providers": ["searxng"],
        "search": {"searxng": {"url": site.url("", "search.test")}},
    }
    site.add(SEARX, searx(ROWS))
    outcome = web.search("crib")
    hits = outcome.result.structured["results"]
    assert [hit["url"] for hit in hits] == [
        "https://a.example/1?utm_source=x",
        "https://b.example/",
    ]
    assert hits[0]["snippet"] == "A crib"
    assert hits[1]["published"] == "2024-05-01"
    assert all(hit["provider"] == "searxng" and hit["fetched_at"] for hit in hits)
    assert "untrusted data" in text(outcome)


def test_instance_whose_engines_are_down_is_a_failure(site, web):
    web.settings |= {
        "providers": ["searxng"],
        "search": {"searxng": {"url": site.url("", "search.test")}},
    }
    site.add(SEARX, searx([], unresponsive_engines=[["google", "timeout"]]))
    outcome = web.search("crib")
    assert (outcome.status, outcome.code) == ("failed", "web.search_failed")
    assert "google" in outcome.text


def test_nothing_found_anywhere_is_an_answer(site, web, text):
    web.settings |= {
        "providers": ["searxng"],
        "search": {"searxng": {"url": site.url("", "search.test")}},
    }
    site.add(SEARX, searx([]))
    outcome = web.search("crib")
    assert (outcome.status, outcome.result.structured["results"]) == ("ok", [])
    assert "Nothing was found" in text(outcome)


def test_results_beside_the_point_are_given_only_if_nobody_has_better(three, web):
    poor = [{"title": "Buy shoes", "url": "https://shop.example/", "content": "cheap"}]
    three.add(SEARX, both(searx(poor), ok(json.dumps(EXA_ROWS), "application/json")))
    three.add(BRAVE, reply(500, "broken"))
    facts = web.search("crib").result.structured
    assert facts["provenance"][0]["state"] == "poor"
    assert facts["results"][0]["title"] == "Third crib"


def test_every_restriction_reaches_the_provider(site, web):
    web.settings |= {
        "providers": ["searxng"],
        "search": {"searxng": {"url": site.url("", "search.test")}},
    }
    site.add(SEARX, searx(ROWS))
    web.search(
        "crib", page=3, recency="week", language="de",
        allowed_domains=["a.example"], blocked_domains=["x.a.example"],
    )  # fmt: skip
    asked = parse_qs(urlsplit(site.asked[0].path).query)
    assert asked == {
        "q": ["crib site:a.example -site:x.a.example"],
        "format": ["json"],
        "pageno": ["3"],
        "time_range": ["week"],
        "language": ["de"],
    }


@pytest.mark.parametrize(
    ("allowed", "blocked", "urls"),
    [
        (["a.example"], [], ["https://www.a.example/"]),
        ([], ["a.example"], ["https://nota.example/", "https://a.example.evil/"]),
        (["*.A.example."], [], ["https://www.a.example/"]),
    ],
)
def test_domains_are_matched_by_whole_labels(site, web, allowed, blocked, urls):
    web.settings |= {
        "providers": ["searxng"],
        "search": {"searxng": {"url": site.url("", "search.test")}},
    }
    rows = [
        {"title": "crib", "url": url, "content": ""}
        for url in (
            "https://www.a.example/",
            "https://nota.example/",
            "https://a.example.evil/",
        )
    ]
    site.add(SEARX, searx(rows))
    facts = web.search(
        "crib", allowed_domains=allowed, blocked_domains=blocked
    ).result.structured
    assert [hit["url"] for hit in facts["results"]] == urls


def test_domain_that_is_none_is_refused(web):
    outcome = web.search("crib", allowed_domains=["ok.example", "no such/thing"])
    assert (outcome.status, outcome.code) == ("invalid", "web.bad_domain")
    assert "no such/thing" in outcome.text


def test_brave_is_asked_as_documented(three, web):
    web.settings["providers"] = ["brave"]
    rows = {"web": {"results": [
        {
            "title": "<strong>Crib</strong>",
            "url": "https://a.example/",
            "description": "d",
            "page_age": "2024-05-01T00:00:00",
        }
    ]}}  # fmt: skip
    three.add(BRAVE, ok(json.dumps(rows), "application/json"))
    facts = web.search(
        "crib", recency="month", count=5, page=2, language="pt-BR"
    ).result.structured
    asked = three.asked[0]
    assert asked.headers["x-subscription-token"] == "k3y-of-search"
    assert parse_qs(urlsplit(asked.path).query) == {
        "q": ["crib"],
        "count": ["5"],
        "offset": ["1"],
        "freshness": ["pm"],
        "search_lang": ["pt"],
    }  # fmt: skip
    assert facts["results"][0]["title"] == "Crib"
    assert facts["results"][0]["published"] == "2024-05-01T00:00:00"


def test_exa_is_asked_as_documented(three, web):
    web.settings["providers"] = ["exa"]
    three.add(EXA, ok(json.dumps(EXA_ROWS), "application/json"))
    web.search("crib", recency="day", allowed_domains=["c.example"])
    asked = three.asked[0]
    body = json.loads(asked.body)
    assert asked.headers["x-api-key"] == "k3y-of-search"
    assert (body["query"], body["includeDomains"]) == ("crib", ["c.example"])
    assert body["startPublishedDate"].endswith("Z")


def test_tavily_is_asked_as_documented(three, web):
    web.settings["providers"] = ["tavily"]
    web.settings["search"]["tavily"] = {"url": three.url("", "search.test"), "secret": "key"}
    rows = {
        "results": [
            {"title": f"crib {n}", "url": f"https://a.example/{n}", "content": "c"}
            for n in range(10)
        ]
    }
    three.add("/search", ok(json.dumps(rows), "application/json"))
    facts = web.search("crib", count=4, page=2, blocked_domains=["b.example"]).result.structured
    asked = three.asked[0]
    assert asked.headers["authorization"] == "Bearer k3y-of-search"
    assert json.loads(asked.body) == {
        "query": "crib",
        "max_results": 8,
        "exclude_domains": ["b.example"],
    }
    assert [hit["title"] for hit in facts["results"]] == [
        "crib 4",
        "crib 5",
        "crib 6",
        "crib 7",
    ]


def test_key_that_policy_does_not_bind_is_told_and_the_next_one_asked(three, web):
    web.policy["secrets"] = {}
    three.add(SEARX, both(searx([]), ok(json.dumps(EXA_ROWS), "application/json")))
    facts = web.search("crib").result.structured
    assert [t["state"] for t in facts["provenance"]] == ["empty", "setup", "setup"]
    assert three.hits == ["GET /search?q=crib&format=json&pageno=1"]


def test_keys_are_never_shown(three, web, text):
    web.settings["providers"] = ["brave"]
    three.add(BRAVE, reply(403, "your key k3y-of-search is wrong"))
    outcome = web.search("crib")
    assert "refused" in str(outcome.result.structured) or "403" in outcome.text
    assert "k3y-of-search" not in text(outcome) + str(outcome.details)


def test_spent_budget_leaves_a_provider_out(three, web):
    web.settings["search"]["searxng"] |= {"budget": 1}
    three.add(SEARX, both(searx(ROWS), ok(json.dumps(EXA_ROWS), "application/json")))
    three.add(BRAVE, reply(500, "broken"))
    first, second = (web.search(words).result.structured for words in ("crib", "crib words"))
    assert first["provenance"][0]["state"] == "good"
    assert second["provenance"][0]["state"] == "budget"


def test_provider_that_is_down_is_asked_once_more_and_then_rested(three, web):
    web.settings["providers"] = ["brave", "searxng"]
    web.settings["search"]["brave"]["url"] = "http://127.0.0.2:1"
    three.add(SEARX, searx(ROWS))
    outcomes = web.calls(
        ("web.search", {"query": "crib"}), ("web.search", {"query": "crib two"})
    )
    first, second = (outcome.result.structured for outcome in outcomes)
    assert [t["state"] for t in first["provenance"]] == ["failed", "good"]
    assert [t["provider"] for t in second["provenance"]] == ["searxng"]


def test_search_is_answered_from_the_store_and_says_how_old_it_is(site, web):
    web.settings |= {
        "providers": ["searxng"],
        "search": {"searxng": {"url": site.url("", "search.test")}},
    }
    site.add(SEARX, searx(ROWS))
    first, second = web.search("crib"), web.search("crib")
    assert len(site.asked) == 1
    assert second.result.structured["provenance"][0]["cached"]
    assert (
        second.result.structured["results"][0]["fetched_at"]
        == first.result.structured["results"][0]["fetched_at"]
    )
    web.search("crib", max_age=0)
    assert len(site.asked) == 2
    web.search("Crib")
    web.search("crib", page=2)
    assert len(site.asked) == 4


def test_offline_takes_what_is_stored_and_asks_nobody(site, web):
    web.settings |= {
        "providers": ["searxng"],
        "search": {"searxng": {"url": site.url("", "search.test")}},
    }
    site.add(SEARX, searx(ROWS))
    web.search("crib")
    assert web.search("crib", offline=True).status == "ok"
    missing = web.search("other words", offline=True)
    assert (missing.status, missing.code) == ("unavailable", "web.search_unavailable")
    assert len(site.asked) == 1


@pytest.mark.parametrize(
    "body",
    [b"<html>", b"[]", b'{"results": 5}', b'{"results": [5, null, {"url": 7}]}', b"\xff"],
)
def test_answer_that_is_not_what_it_should_be_is_no_exception(site, web, body):
    web.settings |= {
        "providers": ["searxng"],
        "search": {"searxng": {"url": site.url("", "search.test")}},
    }
    site.add(SEARX, ok(body, "application/json"))
    assert web.search("crib").status in {"ok", "failed"}


def test_search_names_the_hosts_that_it_asks(web):
    from toolcrib_web.bound import destinations
    from toolcrib_web.settings import WebSettings

    table = {"providers": ["brave", "ddgs"], "search": {"ddgs": {"engines": ["wikipedia"]}}}
    assert destinations(WebSettings.read(table)) == ["api.search.brave.com", "wikipedia.org"]


def test_search_on_this_machine_needs_to_be_named_in_policy(inner, web):
    web.settings |= {"providers": ["searxng"], "search": {"searxng": {"url": inner.url("")}}}
    outcome = web.search("crib")
    assert outcome.status == "failed"
    assert inner.connections == 0


def test_keyless_search_runs_behind_the_filtering_proxy(web, tmp_path):
    trustme = pytest.importorskip("trustme")
    ca = trustme.CA()
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ca.issue_cert("www.mojeek.com").configure_cert(context)
    page = """<html><ul class="results-standard"><li><h2><a class="title" href="https://a.example/">
    About the crib</a></h2><p class="s">A crib is a guarded room</p></li></ul></html>"""
    seen = []
    with Site("127.0.0.2", tls=context) as engine:
        engine.add("/search", ok(page))
        web.settings |= {
            "providers": ["ddgs"],
            "search": {"ddgs": {"engines": ["mojeek"], "timeout": 5}},
            "ca_file": str(tmp_path / "ca.pem"),
        }
        asked = _keyless_through(web, engine, seen)
    assert [(d.host, d.code) for d in seen] == [("www.mojeek.com", None)]
    assert asked.result.structured["results"][0]["url"] == "https://a.example/"


def _keyless_through(web, engine, seen):
    """Search while the proxy connects the engine's name to the server of the test."""
    from toolcrib_net import connecting
    from toolcrib_net.filtering import FilteringProxy

    inner_connect = connecting.PinnedBackend.connect_tcp
    inner_tell = FilteringProxy._tell

    async def connect(self, host, port, *args, **kwargs):
        return await inner_connect(self, "site.test", engine.port, *args, **kwargs)

    def tell(self, decision):
        seen.append(decision)
        inner_tell(self, decision)

    patch = pytest.MonkeyPatch()
    with patch.context() as patched:
        patched.setattr(connecting.PinnedBackend, "connect_tcp", connect)
        patched.setattr(FilteringProxy, "_tell", tell)
        return web.search("crib")


def test_keyless_search_reaches_nothing_but_its_engines(web):
    outcome = web.search("crib")
    assert (outcome.status, outcome.code) == ("failed", "web.search_failed")
    assert "ddgs" in outcome.text


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("https://a.example/x/", "http://www.a.example/x?utm_campaign=1&fbclid=2", True),
        ("https://a.example/x?a=1", "https://a.example/x?a=2", False),
        ("https://a.example/x", "https://b.example/x", False),
    ],
)
def test_two_addresses_of_one_page_are_one(first, second, same):
    assert (canonical_url(first) == canonical_url(second)) == same


def test_results_in_scripts_without_spaces_are_judged_by_their_letters():
    found = [Found(title="工具室是什么", url="https://a.example/")]
    assert to_the_point(found, Query(text="工具室"))
    assert not to_the_point(found, Query(text="天气预报"))
    assert fitting(found, Query(text="x"), ["example"]) == []


def test_health_rests_a_provider_longer_each_time(tmp_path):
    now = [0.0]
    health = Health(tmp_path, clock=lambda: now[0])
    pauses = []
    for _ in range(3):
        health.failed("a")
        pauses.append(health.pause("a"))
    assert pauses == [15, 30, 60]
    assert health.order(["a", "b"]) == ["b", "a"]
    now[0] = 61
    assert health.order(["a", "b"]) == ["a", "b"]
    health.failed("a", wait=5)
    assert health.pause("a") == 5
    health.succeeded("a", 0.1)
    assert health.pause("a") == 0


def test_budget_begins_anew_each_day(tmp_path):
    day = ["1"]
    health = Health(tmp_path, today=lambda: day[0])
    assert [health.spend("a", 2) for _ in range(3)] == [True, True, False]
    assert Health(tmp_path, today=lambda: day[0]).spend("a", 2) is False
    day[0] = "2"
    assert health.spend("a", 2)
    assert health.spend("b", 0)


def test_store_of_searches_checks_the_query_and_stays_bounded(tmp_path):
    cache = SearchCache(tmp_path)
    query, found = Query(text="a  b"), [Found(title="t", url="https://a.example/")]
    cache.put("p", query, found, now=100)
    assert cache.get("p", Query(text="a b"), max_age=10, now=105).found == found
    assert cache.get("p", query, max_age=10, now=111) is None
    assert cache.get("other", query, max_age=10, now=105) is None
    (path,) = tmp_path.glob("*.json")
    assert path.stat().st_mode & 0o077 == 0
    path.write_text(path.read_text().replace('"a b"', '"c d"'))
    assert cache.get("p", query, max_age=10, now=105) is None
    for n in range(520):
        cache.put("p", Query(text=str(n)), found, now=100)
    assert len(list(tmp_path.glob("*.json"))) <= 500
