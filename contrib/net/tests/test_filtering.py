"""The proxy for programs that do their own networking."""

import asyncio
import base64
import socket

import pytest

from toolcrib_net import FilteringProxy, FixedResolver
from toolcrib_net.fixtures import PUBLIC
from toolcrib_net.testing import ok, reply


NAMES = {"site.test": [PUBLIC], "inner.test": ["127.0.0.1"], "mixed.test": [PUBLIC, "::1"]}


async def talk(proxy, text, *, authorized=True):
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", int(proxy.url.rpartition(":")[2])
    )
    pair = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
    line = f"Proxy-Authorization: Basic {pair}\r\n" if authorized else ""
    head, _, rest = text.partition("\r\n\r\n")
    writer.write((head + "\r\n" + line + "\r\n" + rest).encode())
    await writer.drain()
    data = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    return data


def through(policy, *texts, authorized=True, **options):
    async def main():
        seen = []
        resolver = options.pop("resolver", FixedResolver(NAMES))
        async with FilteringProxy(
            policy, resolver=resolver, observe=seen.append, **options
        ) as proxy:
            return [await talk(proxy, text, authorized=authorized) for text in texts], seen

    return asyncio.run(main())


def test_request_is_passed_on_with_its_own_host(site, policy):
    site.add("/a", ok("hello", "text/plain"))
    (data,), seen = through(
        policy(),
        f"GET http://site.test:{site.port}/a HTTP/1.1\r\nHost: evil.test\r\nX: 1\r\n\r\n",
    )
    assert data.startswith(b"HTTP/1.1 200")
    assert data.endswith(b"hello")
    assert b"connection: close" in data.lower()
    assert site.asked[0].headers["host"] == f"site.test:{site.port}"
    assert "proxy-authorization" not in site.asked[0].headers
    assert [(d.host, d.code) for d in seen] == [("site.test", None)]


def test_body_is_passed_on_as_it_is_framed(site, policy):
    site.add("/a", lambda asked: ok(asked.body, "text/plain"))
    head = f"POST http://site.test:{site.port}/a HTTP/1.1\r\nHost: x\r\n"
    text = head + "Content-Length: 4\r\n\r\ndata"
    extra = text + f"GET http://inner.test:{site.port}/ HTTP/1.1\r\nHost: x\r\n\r\n"
    (data,), _ = through(policy(), extra)
    assert data.endswith(b"data")
    assert site.hits == ["POST /a"]


FORMS = [
    *("127.0.0.1", "127.1", "2130706433", "0x7f000001", "[::1]", "[::ffff:127.0.0.1]"),
    *("inner.test", "mixed.test", "169.254.169.254", "[64:ff9b::7f00:1]", "10.0.0.1"),
]


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_an_inner_address_is_reached(inner, policy, connections, form):
    goal = f"{form}:{inner.port}"
    answers, seen = through(
        policy(),
        f"GET http://{goal}/ HTTP/1.1\r\nHost: {goal}\r\n\r\n",
        f"CONNECT {goal} HTTP/1.1\r\nHost: {goal}\r\n\r\n",
    )
    assert all(data.startswith(b"HTTP/1.1 403") for data in answers)
    assert all(d.code == "net.address_refused" for d in seen)
    assert inner.connections == 0
    assert all(port != inner.port for _, port in connections)


def test_name_is_resolved_once_for_each_connection(site, inner, policy):
    answers = iter([[PUBLIC], ["127.0.0.1"]])
    resolver = FixedResolver({"rebind.test": lambda: next(answers)})
    site.add("/", ok("public"))
    text = f"GET http://rebind.test:{site.port}/ HTTP/1.1\r\nHost: x\r\n\r\n"
    (first, second), _ = through(policy(), text, text, resolver=resolver)
    assert first.endswith(b"public")
    assert second.startswith(b"HTTP/1.1 403")
    assert resolver.asked == ["rebind.test"] * 2


def test_tunnel_carries_bytes_both_ways(site, policy):
    site.add("/t", ok("tunnelled", "text/plain"))
    goal = f"site.test:{site.port}"
    (data,), _ = through(
        policy(),
        f"CONNECT {goal} HTTP/1.1\r\nHost: {goal}\r\n\r\nGET /t HTTP/1.1\r\nHost: x\r\n\r\n",
    )
    assert data.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200")
    assert data.endswith(b"tunnelled")


def test_who_does_not_know_the_password_gets_nothing(site, policy):
    (data,), _ = through(
        policy(),
        f"GET http://site.test:{site.port}/ HTTP/1.1\r\nHost: x\r\n\r\n",
        authorized=False,
    )
    assert data.startswith(b"HTTP/1.1 407")
    assert site.connections == 0


def test_program_may_be_held_to_some_hosts(site, policy):
    (data,), seen = through(
        policy(),
        f"GET http://site.test:{site.port}/ HTTP/1.1\r\nHost: x\r\n\r\n",
        allow=lambda host, port: host == "allowed.test",
    )
    assert data.startswith(b"HTTP/1.1 403")
    assert seen[0].code == "net.host_refused"


@pytest.mark.parametrize(
    "text",
    [
        "GET /a HTTP/1.1\r\nHost: site.test\r\n\r\n",
        "GET file:///etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET http://u:p@site.test/ HTTP/1.1\r\nHost: x\r\n\r\n",
        "CONNECT site.test:25 HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
def test_what_is_no_proxy_request_for_a_web_server_is_refused(policy, text):
    (data,), _ = through(policy(), text)
    assert data.startswith(b"HTTP/1.1 403")


def test_redirect_is_the_programs_own_and_judged_when_it_comes_back(site, policy):
    site.add("/a", reply(302, "", [("Location", "http://127.0.0.1/")]))
    (data, next_), _ = through(
        policy(),
        f"GET http://site.test:{site.port}/a HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET http://127.0.0.1/ HTTP/1.1\r\nHost: x\r\n\r\n",
    )
    assert data.startswith(b"HTTP/1.1 302")
    assert next_.startswith(b"HTTP/1.1 403")


def test_server_that_fails_is_a_bad_gateway(site, policy):
    async def nothing(asked, writer):
        pass

    site.add("/a", nothing)
    (data,), _ = through(
        policy(), f"GET http://site.test:{site.port}/a HTTP/1.1\r\nHost: x\r\n\r\n"
    )
    assert data.startswith(b"HTTP/1.1 502")


def test_it_listens_on_loopback_only(policy):
    async def main():
        async with FilteringProxy(policy()) as proxy:
            return [s.getsockname()[0] for s in proxy._server.sockets]

    assert asyncio.run(main()) == ["127.0.0.1"]
    assert socket.has_ipv6 in {True, False}
