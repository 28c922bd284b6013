"""Sessions that fetch from a site on this machine that stands for the public internet."""

from __future__ import annotations

import pytest

from toolcrib import Allow, Policy, Toolbox
from toolcrib_net.fixtures import PUBLIC, connections, inner, program, site

import toolcrib_web


__all__ = ["connections", "inner", "program", "site", "text", "web"]

HOSTS = {
    "site.test": [PUBLIC],
    "other.test": [PUBLIC],
    "inner.test": ["127.0.0.1"],
    "search.test": [PUBLIC],
}


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
