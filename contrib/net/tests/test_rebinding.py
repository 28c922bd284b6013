"""Names that lead elsewhere each time, from a real name server: judged once, and pinned."""

import asyncio
import json
import subprocess
import sys
import textwrap

import pytest

from toolcrib_net import Client, NetError, Request
from toolcrib_net.fixtures import PUBLIC
from toolcrib_net.testing import NameServer, ok, reply


def fetch(policy, resolver, *urls):
    """Fetch one address after the other; give bodies, and codes of what was refused."""

    async def main():
        found = []
        async with Client(policy, resolver=resolver) as client:
            for url in urls:
                try:
                    found.append((await client.fetch(Request(url=url))).body)
                except NetError as error:
                    found.append(error.code)
        return found

    return asyncio.run(main())


INNER = ["127.0.0.1", "10.0.0.5", "169.254.169.254", "100.64.0.1", "0.0.0.0"]
INNER_6 = ["::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "fd00::1"]


@pytest.mark.parametrize("there", [*INNER, *INNER_6])
def test_address_that_changes_between_two_requests_is_judged_anew(
    site, inner, policy, connections, there
):
    site.add("/", ok("public"))
    with NameServer({"rebind.test": [[PUBLIC], [PUBLIC, there]]}) as names:
        url = site.url("/", "rebind.test")
        found = fetch(policy(), names, url, url)
    assert found == [b"public", "net.address_refused"]
    assert set(connections) == {(PUBLIC, site.port)}
    assert inner.connections == 0


@pytest.mark.parametrize("there", ["127.0.0.1", "::1"])
def test_address_that_changes_before_a_redirect_to_the_same_name_is_judged_anew(
    site, inner, policy, connections, there
):
    site.add("/go", reply(302, "", [("Location", "/")]))
    with NameServer({"rebind.test": [[PUBLIC], [there]]}) as names:
        found = fetch(policy(), names, site.url("/go", "rebind.test"))
    assert found == ["net.address_refused"]
    assert site.hits == ["GET /go"]
    assert set(connections) == {(PUBLIC, site.port)}


def test_name_is_asked_for_once_for_each_hop_and_never_between_check_and_connection(
    site, policy, connections
):
    """The server gives the inner address to whoever asks a second time."""
    site.add("/", ok("public"))
    with NameServer({"rebind.test": [[PUBLIC], ["127.0.0.1"]]}) as names:
        assert fetch(policy(), names, site.url("/", "rebind.test")) == [b"public"]
        assert names.asked == ["rebind.test"] * 2  # of each family of addresses
    assert connections == [(PUBLIC, site.port)]


@pytest.mark.parametrize(
    "answers",
    [[["alias.test"]], [["one.test"]], [[PUBLIC, "::1"]], [["::1", PUBLIC]]],
    ids=["alias", "chain", "families", "families-turned"],
)
def test_inner_address_behind_an_alias_or_beside_a_public_one_is_refused(
    site, policy, connections, answers
):
    names = {
        "evil.test": answers,
        "one.test": [["two.test"]],
        "two.test": [["alias.test"]],
        "alias.test": [["127.0.0.1"]],
    }
    with NameServer(names) as server:
        found = fetch(policy(), server, site.url("/", "evil.test"))
    assert found == ["net.address_refused"]
    assert connections == []


def test_many_at_once_under_a_name_that_alternates_reach_the_public_address_only(
    site, inner, policy, connections
):
    site.add("/", ok("public"))
    answers = [[PUBLIC], ["127.0.0.1"]] * 20

    async def main(names):
        async with Client(policy(), resolver=names) as client:
            url = site.url("/", "rebind.test")
            asked = (client.fetch(Request(url=url)) for _ in range(40))
            return await asyncio.gather(*asked, return_exceptions=True)

    with NameServer({"rebind.test": answers}) as names:
        found = asyncio.run(main(names))
    codes = {e.code if isinstance(e, NetError) else e.body for e in found}
    assert codes == {b"public", "net.address_refused"}
    assert set(connections) == {(PUBLIC, site.port)}
    assert inner.connections == 0


# In a network of its own, where the system itself asks our name server.
SYSTEM = """
import asyncio, fcntl, json, socket, struct, sys
from toolcrib_net import Client, NetError, NetPolicy, Request, SystemResolver
from toolcrib_net.testing import NameServer, Site, ok, watched

with socket.socket() as lo:  # up, and running
    fcntl.ioctl(lo, 0x8914, struct.pack("16sh", b"lo", 0x41))
answers = {"rebind.test": [["127.0.0.2"], ["127.0.0.1"]] * 3}

async def main(url):
    found = []
    policy = NetPolicy(allow=["127.0.0.2/32"], deadline=10)
    async with Client(policy, resolver=SystemResolver()) as client:
        for _ in range(6):
            try:
                found.append((await client.fetch(Request(url=url))).body.decode())
            except NetError as error:
                found.append(error.code)
    return found

with (
    NameServer(answers, host="127.0.0.53", port=53) as names,
    Site("127.0.0.2") as site,
    Site("127.0.0.1") as inner,
    watched() as seen,
):
    site.add("/", ok("public"))
    found = asyncio.run(main(site.url("/", "rebind.test")))
    facts = {"found": found, "seen": [list(e) for e in seen], "port": site.port}
    print(json.dumps(facts | {"inner": inner.connections, "asked": names.asked}))
"""


@pytest.mark.peer
def test_system_that_is_rebound_is_judged_for_each_request(tmp_path, program):
    """The whole way: the C library asks a name server that alternates its answers."""
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.53\noptions attempts:1\n")
    (tmp_path / "run.py").write_text(textwrap.dedent(SYSTEM))
    line = 'mount --bind "$1/resolv.conf" /etc/resolv.conf && exec "$2" "$1/run.py"'
    command = [program("unshare"), "-n", "-m", "sh", "-c", line, "sh", tmp_path, sys.executable]
    if subprocess.run([program("unshare"), "-n", "-m", "true"], check=False).returncode:
        pytest.skip("networks of one's own are not allowed here")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["found"] == ["public", "net.address_refused"] * 3
    assert facts["seen"] == [["127.0.0.2", facts["port"]]] * len(facts["seen"])
    assert facts["inner"] == 0
    assert "rebind.test" in facts["asked"]
