"""Requests to real servers on this machine: hops, pins, limits, failures."""

import asyncio
import gzip
import ssl
import time
import zlib

import pytest
import trustme

from toolcrib_net import Client, FixedResolver, NetError, Request
from toolcrib_net.fixtures import PUBLIC
from toolcrib_net.testing import Site, ok, reply


NAMES = {"site.test": [PUBLIC], "other.test": [PUBLIC], "inner.test": ["127.0.0.1"]}


def fetch(policy, url, *, resolver=None, follow=None, client_calls=1, **request):
    async def main():
        async with Client(policy, resolver=resolver or FixedResolver(NAMES)) as client:
            answers = [
                await client.fetch(Request(url=url, **request), follow=follow)
                for _ in range(client_calls)
            ]
        return answers[-1]

    return asyncio.run(main())


def refused(policy, url, **more):
    with pytest.raises(NetError) as caught:
        fetch(policy, url, **more)
    return caught.value


def test_answer_says_where_it_came_from(site, policy):
    site.add("/a", ok("hello", "text/plain"))
    found = fetch(policy(), site.url("/a", "site.test"))
    assert (found.status, found.body, found.address) == (200, b"hello", PUBLIC)
    assert found.header("content-type") == "text/plain"
    assert site.asked[0].headers["host"] == f"site.test:{site.port}"


# Every form of an inner address, taken directly, by redirect and by a name that changes.
FORMS = [
    *("127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "[::1]"),
    *("[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "localhost", "inner.test"),
    *("10.0.0.5", "192.168.0.1", "169.254.169.254", "100.64.0.1", "224.0.0.1", "[fe80::1]"),
    *("[fd00::1]", "127。0。0。1"),
]


@pytest.mark.parametrize("way", ["direct", "redirect", "second redirect"])
@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_an_inner_address_is_ever_connected_to(
    site, inner, policy, connections, form, way
):
    goal = f"http://{form}:{inner.port}/"
    site.add("/go", reply(302, "", [("Location", goal)]))
    site.add("/hop", reply(307, "", [("Location", "/go")]))
    start = {"direct": goal, "redirect": "/go", "second redirect": "/hop"}[way]
    names = NAMES | {"localhost": ["127.0.0.1"]}
    url = start if way == "direct" else site.url(start, "site.test")
    error = refused(policy(), url, resolver=FixedResolver(names))
    assert error.code == "net.address_refused"
    assert set(connections) <= {(PUBLIC, site.port)}
    assert inner.connections == 0
    if way != "direct":
        assert error.details["hops"][-1]["status"] in {302, 307}


ANSWERS = [
    *("127.0.0.1", "0.0.0.0", "10.0.0.1", "169.254.169.254", "100.64.0.1", "::1"),
    *("::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "fe80::1%eth0", "192.0.0.8"),
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_name_that_is_rebound_is_not_followed_to_an_inner_address(
    site, inner, policy, connections, answer
):
    site.add("/", ok("public"))
    answers = iter([[PUBLIC], [answer], [answer]])
    resolver = FixedResolver({"rebind.test": lambda: next(answers)})

    async def main():
        async with Client(policy(), resolver=resolver) as client:
            url = site.url("/", "rebind.test")
            first = await client.fetch(Request(url=url))
            with pytest.raises(NetError) as caught:
                await client.fetch(Request(url=url))
            return first, caught.value

    first, error = asyncio.run(main())
    assert first.body == b"public"
    assert error.code == "net.address_refused"
    assert resolver.asked == ["rebind.test"] * 2
    assert set(connections) == {(PUBLIC, site.port)}


def test_name_with_one_inner_address_among_others_is_refused(site, policy, connections):
    resolver = FixedResolver({"mixed.test": [PUBLIC, "10.0.0.1"]})
    error = refused(policy(), site.url("/", "mixed.test"), resolver=resolver)
    assert error.code == "net.address_refused"
    assert connections == []


def test_each_name_is_resolved_once_for_each_hop(site, policy):
    site.add("/a", reply(302, "", [("Location", site.url("/b", "other.test"))]))
    site.add("/b", reply(302, "", [("Location", site.url("/c", "site.test"))]))
    site.add("/c", ok("there"))
    resolver = FixedResolver(NAMES)
    found = fetch(policy(), site.url("/a", "site.test"), resolver=resolver)
    assert found.body == b"there"
    assert resolver.asked == ["site.test", "other.test", "site.test"]


def test_kept_connection_goes_where_the_name_was_judged(site, policy):
    site.add("/", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
    resolver = FixedResolver(NAMES)
    fetch(policy(), site.url("/", "site.test"), resolver=resolver, client_calls=3)
    assert (site.connections, len(site.asked), resolver.asked) == (1, 3, ["site.test"])


def test_connection_from_the_pool_that_was_closed_is_made_anew(site, policy):
    async def once(asked, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        await writer.drain()

    site.add("/", once)
    found = fetch(policy(), site.url("/", "site.test"), client_calls=2)
    assert (found.body, site.connections) == (b"hi", 2)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_other_origin_is_told_no_credentials_and_no_cookies(site, policy, status):
    there = site.url("/b", "other.test")
    site.add("/a", reply(status, "", [("Location", there), ("Set-Cookie", "a=1")]))
    site.add("/b", ok("b"))
    fetch(
        policy(),
        site.url("/a", "site.test"),
        headers={"X-Own": "1", "Cookie": "b=2", "Accept": "text/html"},
        secret_headers={"Authorization": "Bearer s3cret"},
    )
    first, second = (each.headers for each in site.asked)
    assert (first["authorization"], first["x-own"], first["cookie"]) == (
        "Bearer s3cret",
        "1",
        "b=2",
    )
    assert not {"authorization", "x-own", "cookie"} & set(second)
    assert second["accept"] == "text/html"


def test_same_origin_keeps_credentials_and_cookies(site, policy):
    site.add("/a", reply(302, "", [("Location", "/b"), ("Set-Cookie", "a=1; Path=/")]))
    site.add("/b", ok("b"))
    fetch(policy(), site.url("/a", "site.test"), secret_headers={"authorization": "Bearer x"})
    assert site.asked[1].headers["authorization"] == "Bearer x"
    assert site.asked[1].headers["cookie"] == "a=1"


def test_cookies_of_others_and_too_many_of_them_are_left_out(site, policy):
    cookies = [("Set-Cookie", f"c{n}=1") for n in range(200)]
    odd = [("Set-Cookie", "x=1; Domain=bank.test"), ("Set-Cookie", "big=" + "x" * 9000)]
    site.add("/a", reply(302, "", [("Location", "/b"), *odd, *cookies]))
    site.add("/b", ok("b"))
    fetch(policy(), site.url("/a", "site.test"))
    sent = site.asked[1].headers["cookie"]
    assert sent.count("=") == 50
    assert "x=1" not in sent.split("; ")
    assert "big" not in sent


@pytest.mark.parametrize(
    ("status", "method", "then"),
    [(301, "POST", "GET"), (302, "PUT", "GET"), (303, "POST", "GET"), (307, "POST", "POST")],
)
def test_redirect_after_a_write_asks_as_the_standard_says(site, policy, status, method, then):
    site.add("/a", reply(status, "", [("Location", "/b")]))
    site.add("/b", ok("b"))
    fetch(policy(), site.url("/a", "site.test"), method=method, body=b"data")
    assert site.asked[1].method == then
    assert site.asked[1].body == (b"data" if then == "POST" else b"")


def test_body_is_not_sent_to_another_origin(site, policy):
    there = site.url("/b", "other.test")
    site.add("/a", reply(307, "", [("Location", there)]))
    found = fetch(policy(), site.url("/a", "site.test"), method="POST", body=b"data")
    assert (found.status, found.redirect.location) == (307, there)
    assert len(site.asked) == 1


def test_follow_is_asked_for_other_origins_only(site, policy):
    site.add("/a", reply(302, "", [("Location", "/b")]))
    site.add("/b", reply(302, "", [("Location", site.url("/c", "other.test"))]))
    asked = []

    def follow(source, there):
        asked.append(there.host)
        return False

    found = fetch(policy(), site.url("/a", "site.test"), follow=follow)
    assert asked == ["other.test"]
    assert found.redirect.location == site.url("/c", "other.test")
    assert [hop.location for hop in found.hops] == [site.url("/b", "site.test")]


def test_loop_of_redirects_ends_at_the_stated_limit(site, policy):
    site.add("/a", reply(302, "", [("Location", "/a")]))
    error = refused(policy(max_redirects=7), site.url("/a", "site.test"))
    assert error.code == "net.redirect_loop"
    assert len(site.asked) == 8
    assert len(error.details["hops"]) == 8


@pytest.mark.parametrize(
    ("location", "reaches"),
    [
        ("b", "/x/b"),
        ("//other.test:{port}/b", "/b"),
        ("/ü?q=é#f", "/%C3%BC?q=%C3%A9"),
        ("?q", "/x/a?q"),
    ],
)
def test_relative_and_raw_locations_are_resolved(site, policy, location, reaches):
    site.add("/x/a", reply(302, "", [("Location", location.format(port=site.port))]))
    site.add(reaches, ok("there"))
    if location == "?q":
        site.add("/x/a?q", ok("there"))
    assert fetch(policy(), site.url("/x/a", "site.test")).body == b"there"
    assert site.asked[1].path == reaches


def test_redirect_without_a_place_is_an_answer(site, policy):
    site.add("/a", reply(302, "moved"))
    found = fetch(policy(), site.url("/a", "site.test"))
    assert (found.status, found.body, found.redirect) == (302, b"moved", None)


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "data:text/html,x", "http://u:p@site.test/"]
)
def test_redirect_to_another_scheme_or_with_credentials_is_refused(site, policy, location):
    site.add("/a", reply(302, "", [("Location", location)]))
    error = refused(policy(), site.url("/a", "site.test"))
    assert error.code in {"net.scheme_refused", "net.credentials_in_url"}
    assert "u:p" not in str(error) + str(error.details)


BOMB = gzip.compress(b"\0" * (50 << 20))


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", BOMB),
        ("gzip, gzip", gzip.compress(BOMB)),
        ("deflate", zlib.compress(b"\0" * (50 << 20))),
    ],
)
def test_what_grows_on_decompression_is_capped(site, policy, encoding, body):
    site.add("/a", ok(body, Content_Encoding=encoding))
    found = fetch(policy(max_body=100_000), site.url("/a", "site.test"))
    assert (len(found.body), found.complete) == (100_000, False)
    assert "first 100,000 bytes" in found.problem


def test_brotli_and_zstd_bombs_are_capped(site, policy):
    import brotli

    from backports import zstd

    site.add("/br", ok(brotli.compress(b"\0" * (50 << 20)), Content_Encoding="br"))
    site.add("/zstd", ok(zstd.compress(b"\0" * (50 << 20)), Content_Encoding="zstd"))
    for path in ("/br", "/zstd"):
        found = fetch(policy(max_body=100_000), site.url(path, "site.test"))
        assert (len(found.body), found.complete) == (100_000, False)


def _empty_parts(encoding):
    """Return a few hundred bytes that mean megabytes of nothing."""
    import brotli

    from backports import zstd

    member = gzip.compress(b"", mtime=0)
    head, block = b"\x1f\x8b\x08\0\0\0\0\0\0\xff", b"\0\0\0\xff\xff"
    made = {
        "gzip": lambda: member * 20_000,
        "zstd": lambda: zstd.compress(b"") * 20_000,
        "gzip, br": lambda: brotli.compress(member * 20_000),
        "gzip, gzip": lambda: gzip.compress(head + block * (16 << 20)),
    }
    return made[encoding]()


@pytest.mark.parametrize("encoding", ["gzip", "zstd", "gzip, br", "gzip, gzip"])
def test_encoding_that_means_nothing_without_end_is_given_up(site, policy, encoding):
    site.add("/a", ok(_empty_parts(encoding), Content_Encoding=encoding))
    found = fetch(policy(), site.url("/a", "site.test"))
    assert (found.body, found.complete) == (b"", False)
    assert "given up" in found.problem


def test_every_encoding_is_undone(site, policy):
    import brotli

    from backports import zstd

    text = b"text " * 10_000
    raw = zlib.compressobj(wbits=-15)
    made = {
        "gzip": gzip.compress(text[:5]) + gzip.compress(text[5:]),
        "deflate": raw.compress(text) + raw.flush(),
        "br": brotli.compress(text),
        "zstd": zstd.compress(text),
        "gzip, br": brotli.compress(gzip.compress(text)),
    }
    for encoding, body in made.items():
        site.add("/a", ok(body, Content_Encoding=encoding))
        found = fetch(policy(), site.url("/a", "site.test"))
        assert (found.body, found.complete, found.problem) == (text, True, None), encoding


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_text_that_shrinks_to_almost_nothing_comes_back_whole(site, policy, encoding):
    import brotli

    from backports import zstd

    text = b"text " * 400_000
    pack = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "br": brotli.compress,
        "zstd": zstd.compress,
    }
    site.add("/a", ok(pack[encoding](text), Content_Encoding=encoding))
    found = fetch(policy(), site.url("/a", "site.test"))
    assert (len(found.body), found.complete, found.problem) == (len(text), True, None)


def test_body_that_is_not_encoded_as_it_says_is_given_as_it_is(site, policy):
    site.add("/a", ok("plain text", Content_Encoding="gzip"))
    found = fetch(policy(), site.url("/a", "site.test"))
    assert found.body == b"plain text"
    assert "not encoded" in found.problem


def test_truncated_gzip_gives_its_head_marked_as_a_part(site, policy):
    whole = gzip.compress(bytes(range(256)) * 400, compresslevel=0)
    site.add("/a", ok(whole[:50_000], Content_Encoding="gzip"))
    found = fetch(policy(), site.url("/a", "site.test"))
    assert not found.complete
    assert found.body.startswith(bytes(range(256)))


def test_body_shorter_than_its_length_is_marked_as_a_part(site, policy):
    site.add("/a", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\nhalf")
    found = fetch(policy(), site.url("/a", "site.test"))
    assert (found.body, found.complete) == (b"half", False)
    assert "closed before the end" in found.problem


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * (1 << 20) + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nbad\r\n",
        b"garbage\r\n\r\n",
        b"",
    ],
)
def test_broken_framing_is_a_clean_error(site, policy, raw):
    async def send(asked, writer):
        writer.write(raw)
        await writer.drain()

    site.add("/a", send)
    error = refused(policy(), site.url("/a", "site.test"))
    assert error.code in {"net.protocol_error", "net.connection_lost"}


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        (b"HTTP/1.0 200 OK\r\n\r\nold", b"old"),
        (
            b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            b"hi",
        ),
        (
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX: t\r\n"
                b"\r\n"
            ),
            b"hi",
        ),
        (b"HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\nhi", b"hi"),
        (b"HTTP/1.1 204 Nothing\r\n\r\n", b""),
    ],
)
def test_unusual_but_proper_answers_are_read(site, policy, raw, body):
    async def send(asked, writer):
        writer.write(raw)
        await writer.drain()

    site.add("/a", send)
    assert fetch(policy(), site.url("/a", "site.test")).body == body


def test_chunked_body_without_its_end_is_a_part(site, policy):
    async def send(asked, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
        await writer.drain()

    site.add("/a", send)
    found = fetch(policy(), site.url("/a", "site.test"))
    assert (found.body, found.complete) == (b"half", False)


async def _drip(asked, writer):
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.02)


async def _silence(asked, writer):
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
    await writer.drain()
    await asyncio.sleep(60)


@pytest.mark.parametrize(
    ("responder", "fields", "code"),
    [
        (_drip, {"deadline": 0.3}, "net.timeout"),
        (_drip, {"rate_grace": 0.1}, "net.too_slow"),
        (_silence, {"idle_timeout": 0.2}, "net.timeout"),
        (_silence, {"deadline": 0.2}, "net.timeout"),
    ],
)
def test_slow_answer_is_given_up_in_time(site, policy, responder, fields, code):
    site.add("/a", responder)
    error = refused(policy(**fields), site.url("/a", "site.test"))
    assert (error.code, error.kind, error.retryable) == (code, "timeout", True)


def test_deadline_counts_over_all_hops(site, policy):
    async def late(asked, writer):
        await asyncio.sleep(0.15)
        writer.write(reply(302, "", [("Location", asked.path)]))
        await writer.drain()

    site.add("/a", late)
    assert refused(policy(deadline=0.5), site.url("/a", "site.test")).code == "net.timeout"


def test_call_may_lower_a_limit_but_not_lift_it(site, policy):
    site.add("/a", ok("x" * 1000))

    async def main(most):
        async with Client(policy(max_body=100), resolver=FixedResolver(NAMES)) as client:
            return await client.fetch(Request(url=site.url("/a", "site.test")), max_body=most)

    assert len(asyncio.run(main(-1)).body) == 0
    assert len(asyncio.run(main(10)).body) == 10
    assert len(asyncio.run(main(10**9)).body) == 100


def test_hundred_fetches_at_once_stay_within_the_limit_of_a_host(site, policy):
    now = most = 0

    async def busy(asked, writer):
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.005)
        now -= 1
        writer.write(ok("x"))
        await writer.drain()

    site.add("/a", busy)

    async def main():
        async with Client(policy(per_host=4), resolver=FixedResolver(NAMES)) as client:
            request = Request(url=site.url("/a", "site.test"))
            return await asyncio.gather(*(client.fetch(request) for _ in range(100)))

    answers = asyncio.run(main())
    assert all(each.status == 200 for each in answers)
    assert most <= 4


def test_rate_of_a_host_is_kept(site, policy):
    site.add("/a", ok("x"))
    started = time.monotonic()
    fetch(policy(per_host_rate=20.0), site.url("/a", "site.test"), client_calls=5)
    assert time.monotonic() - started >= 0.2


def test_host_that_asks_for_time_is_left_alone(site, policy):
    site.add("/a", reply(429, "slow down", [("Retry-After", "30")]))

    async def main():
        async with Client(policy(), resolver=FixedResolver(NAMES)) as client:
            request = Request(url=site.url("/a", "site.test"))
            first = await client.fetch(request)
            with pytest.raises(NetError) as caught:
                await client.fetch(request)
            return first.status, caught.value

    status, error = asyncio.run(main())
    assert (status, error.code, len(site.asked)) == (429, "net.busy", 1)
    assert 29 < error.details["retry_after"] <= 30


def _certificate(ca, *names, expired=False):
    from datetime import UTC, datetime, timedelta

    past = datetime.now(UTC) - timedelta(days=1)
    issued = ca.issue_cert(*names, not_after=past if expired else None)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    issued.configure_cert(context)
    return context


@pytest.fixture(scope="module")
def ca():
    return trustme.CA()


@pytest.fixture(scope="module")
def trusting(ca):
    context = ssl.create_default_context()
    ca.configure_trust(context)
    return context


def test_certificate_and_host_are_those_of_the_name_that_was_asked(ca, trusting, policy):
    names = []
    context = _certificate(ca, "site.test")
    context.sni_callback = lambda sock, name, ctx: names.append(name)
    with Site(PUBLIC, tls=context) as site:
        site.add("/", ok("secure"))
        found = fetch(policy(tls=trusting), site.url("/", "site.test"))
        assert found.body == b"secure"
        assert names == ["site.test"]
        assert site.asked[0].headers["host"] == f"site.test:{site.port}"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("self-signed", "self-signed|unable to get"),
        ("expired", "expired"),
        ("wrong host", "ostname"),
    ],
)
def test_certificate_that_is_not_to_be_trusted_is_refused_with_the_reason(
    ca, trusting, policy, kind, reason
):
    issuer = trustme.CA() if kind == "self-signed" else ca
    name = "other.test" if kind == "wrong host" else "site.test"
    context = _certificate(issuer, name, expired=kind == "expired")
    with Site(PUBLIC, tls=context) as site:
        error = refused(policy(tls=trusting), site.url("/", "site.test"))
    assert (error.code, error.retryable) == ("net.tls_failed", False)
    import re

    assert re.search(reason, error.text)
    assert site.asked == []


def test_encryption_is_not_given_up_by_a_redirect(ca, trusting, policy, site):
    with Site(PUBLIC, tls=_certificate(ca, "site.test")) as secure:
        secure.add("/", reply(302, "", [("Location", site.url("/", "site.test"))]))
        found = fetch(policy(tls=trusting), secure.url("/", "site.test"))
    assert found.redirect.location == site.url("/", "site.test")
    assert site.asked == []


def test_environment_proxy_is_not_used(site, inner, policy, monkeypatch):
    site.add("/", ok("direct"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, inner.url())
    assert fetch(policy(), site.url("/", "site.test")).body == b"direct"
    assert inner.connections == 0


def test_proxy_is_used_where_policy_says_that_it_resolves(site, inner, policy, monkeypatch):
    monkeypatch.setenv("http_proxy", inner.url())
    monkeypatch.delenv("no_proxy", raising=False)
    inner.add("http://elsewhere.example/", ok("through the proxy"))
    through = policy(proxy="environment", proxy_resolves=True)
    found = fetch(through, "http://elsewhere.example/", resolver=FixedResolver({}))
    assert (found.body, found.address) == (b"through the proxy", "")
    for url in ("http://localhost/", "http://metadata.google.internal/", "http://intranet/"):
        assert refused(through, url).code == "net.host_refused"
    assert refused(through, "http://10.0.0.1/").code == "net.address_refused"


@pytest.mark.parametrize(
    "name", ["Host", "Content-Length", "Transfer-Encoding", "Proxy-Authorization", "a b", "X\n"]
)
def test_headers_of_framing_and_broken_ones_are_refused(name):
    with pytest.raises(ValueError, match="header"):
        Request(url="http://a.com/", headers={name: "1"})


def test_header_value_with_a_line_break_is_refused():
    with pytest.raises(ValueError, match="holds what no header may"):
        Request(url="http://a.com/", headers={"x": "1\r\nHost: evil"})


def test_slow_address_does_not_keep_the_next_one_waiting(site, policy):
    site.add("/", ok("second"))
    # Nothing listens on 127.0.0.3, and 127.0.0.2 is tried after it.
    resolver = FixedResolver({"two.test": ["127.0.0.3", PUBLIC]})
    both = policy(allow=["127.0.0.2/31"])
    assert fetch(both, site.url("/", "two.test"), resolver=resolver).address == PUBLIC


def test_unreachable_place_is_told_from_a_missing_name(policy):
    gone = refused(policy(), f"http://{PUBLIC}:1234/")
    missing = refused(policy(), "http://missing.test/")
    assert (gone.code, gone.retryable) == ("net.connect_failed", True)
    assert (missing.code, missing.kind) == ("net.name_not_found", "not_found")


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"HTTP/1.1 200 OK\r\nX: a\r\n folded\r\nContent-Length: 2\r\n\r\nhi", 200),
        (b"HTTP/1.1 200 OK\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nhi", 200),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", 304),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", None),
        (b"HTTP/1.1 200 OK\r\nX: a\nY: b\r\nContent-Length: 2\r\n\r\nhi", 200),
        (b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 2\r\n\r\nhi", None),
    ],
)
def test_odd_headers_are_read_or_refused_but_never_split(site, policy, raw, status):
    async def send(asked, writer):
        writer.write(raw)
        await writer.drain()

    site.add("/a", send)
    if status is None:
        assert refused(policy(), site.url("/a", "site.test")).code == "net.protocol_error"
        return
    found = fetch(policy(), site.url("/a", "site.test"))
    assert found.status == status
    assert all("\n" not in value and "\r" not in value for _, value in found.headers)


@pytest.mark.parametrize("answers", [[], ["not an address"]])
def test_resolver_without_a_usable_answer_is_told(site, policy, answers):
    resolver = FixedResolver({"odd.test": answers})
    error = refused(policy(), site.url("/", "odd.test"), resolver=resolver)
    assert error.code in {"net.name_not_found", "net.resolver_failed"}


def test_look_alike_name_is_another_host(site, policy):
    error = refused(policy(), f"http://s\u0456te.test:{site.port}/")
    assert error.code == "net.name_not_found"
    assert "xn--" in error.text


@pytest.mark.parametrize("location", ["http://denied.test/", "http://site.test:25/"])
def test_redirect_to_a_host_or_port_that_policy_denies_is_refused(site, policy, location):
    site.add("/a", reply(302, "", [("Location", location)]))
    names = NAMES | {"denied.test": [PUBLIC]}
    error = refused(
        policy(deny=["denied.test"]), site.url("/a", "site.test"), resolver=FixedResolver(names)
    )
    assert error.code in {"net.host_refused", "net.port_refused"}


def test_address_of_ipv6_is_asked_where_policy_names_it(policy):
    try:
        served = Site("::1").__enter__()
    except OSError:
        pytest.skip("this machine has no IPv6")
    try:
        served.add("/", ok("six"))
        found = fetch(policy(allow=["::1"]), f"http://[::1]:{served.port}/")
        assert (found.body, found.address) == (b"six", "::1")
        assert served.asked[0].headers["host"] == f"[::1]:{served.port}"
    finally:
        served.__exit__(None, None, None)
