"""The transport for libraries that bring an httpx2 client."""

import asyncio

import pytest

from toolcrib_net import FixedResolver, NetError
from toolcrib_net.fixtures import PUBLIC
from toolcrib_net.testing import ok, reply


httpx2 = pytest.importorskip("httpx2")
NAMES = {"site.test": [PUBLIC], "inner.test": ["127.0.0.1"]}


def get(policy, url):
    from toolcrib_net import PinnedTransport

    async def main():
        transport = PinnedTransport(policy, resolver=FixedResolver(NAMES))
        async with httpx2.AsyncClient(
            transport=transport, trust_env=False, follow_redirects=True
        ) as client:
            return await client.get(url)

    return asyncio.run(main())


def test_client_of_another_library_gets_its_answer(site, policy):
    site.add("/a", ok("hello", "text/plain"))
    assert get(policy(), site.url("/a", "site.test")).text == "hello"


@pytest.mark.parametrize("goal", ["127.0.0.1", "inner.test", "0x7f.1"])
def test_redirect_to_an_inner_address_is_refused(site, inner, policy, connections, goal):
    site.add("/a", reply(302, "", [("Location", f"http://{goal}:{inner.port}/")]))
    with pytest.raises(httpx2.ConnectError) as caught:
        get(policy(), site.url("/a", "site.test"))
    assert isinstance(caught.value.__cause__, NetError)
    assert inner.connections == 0
    assert set(connections) == {(PUBLIC, site.port)}
