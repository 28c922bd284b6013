"""A site that stands for the public internet, and sessions that fetch from it.

The site listens on 127.0.0.2, and policy names that address; every other address of this
machine stays refused, so that reaching one is a failure of the test.
"""

from __future__ import annotations

import sys

import pytest

from toolcrib import Allow, Policy, Toolbox
from toolcrib_net.testing import Site

import toolcrib_web


PUBLIC = "127.0.0.2"
HOSTS = {
    "site.test": [PUBLIC],
    "other.test": [PUBLIC],
    "inner.test": ["127.0.0.1"],
    "search.test": [PUBLIC],
}

_seen: list[tuple[str, int]] | None = None


def _watch(event, arguments):
    if event == "socket.connect" and _seen is not None and isinstance(arguments[1], tuple):
        _seen.append(arguments[1][:2])


sys.addaudithook(_watch)


@pytest.fixture
def connections():
    """Every address that any socket of this process was connected to."""
    global _seen  # noqa: PLW0603 - an audit hook cannot be taken back
    _seen = []
    yield _seen
    _seen = None


@pytest.fixture
def site():
    with Site(PUBLIC) as served:
        yield served


@pytest.fixture
def inner():
    with Site("127.0.0.1") as served:
        served.add("/", b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret")
        yield served


class Web:
    """Sessions of the pack; each call takes all stages, and every question is approved."""

    def __init__(self, root):
        self.root = root
        self.settings = {"robots": "ignore"}
        self.net = {"allow": [f"{PUBLIC}/32"], "deadline": 20.0}
        self.policy = {"retry": {"attempts": 1}}

    def make_policy(self):
        table = {"net": self.net, "hosts": HOSTS, **self.settings}
        return Policy(
            local=[toolcrib_web.pack],
            workspace=self.root,
            state=self.root / ".state",
            settings={"web": table},
            **self.policy,
        )

    def calls(self, *calls):
        """Make calls one after the other in one session."""
        from toolcrib.testing import async_run

        async def main():
            async with Toolbox(self.make_policy()) as box, box.session("test") as session:
                return [
                    await session.call(tool, arguments, approver=lambda q: Allow(by="tester"))
                    for tool, arguments in calls
                ]

        return async_run(main())

    def fetch(self, url, **arguments):
        return self.calls(("web.fetch", {"url": url, **arguments}))[0]

    def search(self, query="crib", **arguments):
        return self.calls(("web.search", {"query": query, **arguments}))[0]


@pytest.fixture
def web(tmp_path):
    return Web(tmp_path)


def said(outcome):
    """What the model sees of an outcome's text."""
    return "\n".join(b.text for b in outcome.result.content if b.type == "text") + outcome.text


@pytest.fixture
def text():
    return said
