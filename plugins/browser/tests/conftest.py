"""Sessions that browse a site of this machine, through all stages.

The site listens on 127.0.0.2 and policy names that address; what listens on 127.0.0.1 stays
refused, so that reaching it is a failure of the test.
"""

from __future__ import annotations

import os
import re

import attrs
import pytest

from toolcrib import Allow, Policy, Toolbox, Unavailable
from toolcrib.testing import async_run
from toolcrib_net.testing import Site, ok

import toolcrib_browser

from toolcrib_browser.finding import executable


PUBLIC = "127.0.0.2"
OTHER = "127.0.0.3"


@pytest.fixture(scope="session")
def chromium():
    """The browser; absent it is a skip, or a failure where peers must be there."""
    try:
        return executable(None)
    except Unavailable as error:
        if os.environ.get("TOOLCRIB_PEERS"):
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture
def site():
    with Site(PUBLIC) as served:
        yield served


@pytest.fixture
def other():
    with Site(OTHER) as served:
        yield served


@pytest.fixture
def inner():
    with Site("127.0.0.1") as served:
        served.add("/", ok("inner secret"))
        yield served


@attrs.define
class Surfer:
    """A session that remembers what it saw, as a model would."""

    session: object
    asked: list = attrs.field(factory=list)
    page: str = ""
    snapshot: str = ""
    origin: str = ""
    seen: str = ""
    outcome: object = None

    async def call(self, tool, **arguments):
        """Make a call; every question is approved."""

        def approve(question):
            self.asked.append(question)
            return Allow(by="tester")

        outcome = await self.session.call(tool, arguments, approver=approve)
        self.outcome = outcome
        state = (outcome.result.structured or {}).get("state", outcome.result.structured or {})
        if isinstance(state, dict) and state.get("snapshot"):
            self.page, self.snapshot = state["page"], state["snapshot"]
            self.origin = state["origin"]
        told = said(outcome)
        # What a failure shows of the page is as good as a snapshot.
        found = re.search(
            r"^Page (\w+) at .*\nOrigin (\S+), snapshot (\w+)", told, re.MULTILINE
        )
        if found:
            self.page, self.origin, self.snapshot = found.groups()
        if "[ref=" in told:
            # Refs hold while their element does, so what was seen earlier still counts.
            self.seen = f"{told}\n{self.seen}"[:400_000]
        return outcome

    async def go(self, url, **more):
        return await self.call("browser.navigate", url=url, **more)

    async def look(self, **more):
        return await self.call("browser.snapshot", **more)

    def ref(self, text):
        """The ref of the first element whose line has a text."""
        found = re.search(rf"{re.escape(text)}[^\n]*?\[ref=(\w+)\]", self.seen)
        assert found, f"no {text!r} in\n{self.seen}"
        return found[1]

    async def act(self, kind, element=None, **more):
        """Do something to an element that is named by words of its line."""
        outer = {
            name: more.pop(name)
            for name in (
                "page",
                "snapshot",
                "origin",
                "origins",
                "frame_origin",
                "dialogs",
                "dialog_text",
                "timeout_ms",
                "changes",
            )
            if name in more
        }
        action = {"kind": kind, **more}
        if element is not None:
            action["ref"] = self.ref(element)
        arguments = {"page": self.page, "snapshot": self.snapshot, "origin": self.origin}
        return await self.call("browser.interact", **(arguments | {"action": action} | outer))

    async def click(self, element, **more):
        return await self.act("click", element, **more)


class Browser:
    """Runs a scenario in one session of a toolbox of its own."""

    def __init__(self, root):
        self.root = root
        self.settings = {"net": {"allow": [f"{PUBLIC}/32", f"{OTHER}/32"]}}
        self.policy = {}
        self.pack = toolcrib_browser.pack

    def make_policy(self):
        return Policy(
            **{
                "local": [self.pack],
                "workspace": self.root,
                "state": self.root / ".state",
                "settings": {"browser": self.settings},
                **self.policy,
            }
        )

    def run(self, scenario):
        """Run ``scenario(surfer)`` to its end and return what it gives."""

        async def main():
            async with Toolbox(self.make_policy()) as box, box.session("test") as session:
                return await scenario(Surfer(session))

        return async_run(main())

    def click(self, url, element, **more):
        """Open a page, click one element of it, and return how that came out."""

        async def scenario(me):
            await me.go(url)
            return await me.click(element, **more)

        return self.run(scenario)

    def run_box(self, scenario):
        """Run ``scenario(box)``, for several sessions."""

        async def main():
            async with Toolbox(self.make_policy()) as box:
                return await scenario(box)

        return async_run(main())


@pytest.fixture
def browser(chromium, tmp_path):
    return Browser(tmp_path)


@pytest.fixture
def dry(tmp_path):
    """The same, for what needs no browser."""
    return Browser(tmp_path)


def said(outcome):
    """What the model sees of an outcome's text."""
    blocks = [b.text for b in outcome.result.content if b.type == "text"]
    return "\n".join([*blocks, outcome.text])


@pytest.fixture
def text():
    return said


@pytest.fixture
def surfing():
    """Makes a surfer of a session."""
    return Surfer
