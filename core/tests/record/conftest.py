"""Calls and ledgers for the tests of the record stage."""

from __future__ import annotations

import itertools

import pytest

from toolcrib import canonical
from toolcrib.call import Call, _admitted, _authorized
from toolcrib.outcome import Outcome, Result, Text
from toolcrib.question import Grant, Question
from toolcrib.record import Ledger
from toolcrib.signature import Signature
from toolcrib.testing import Clock
from toolcrib.tool import Description, Tool
from toolcrib.vocabulary import Effect, Scope, Status


TOOL = Tool(
    id="web.fetch",
    title="Fetch",
    description=Description("Fetch a page."),
    input_schema={"type": "object"},
)


class Maker:
    """Makes calls, outcomes, questions and grants with new ids."""

    tool = TOOL

    def __init__(self):
        self._numbers = itertools.count(1)

    def call(self, **fields):
        """Make a call of a response of its own."""
        number = next(self._numbers)
        values = {
            "id": f"call-{number}",
            "wire_name": "web_fetch",
            "tool_id": TOOL.id,
            "provider_id": f"toolu_{number}",
            "position": 0,
            "response_digest": f"sha256:{number:064d}",
        }
        return Call(**{**values, **fields})

    def authorized(self, arguments=None, *, grant_id=None, **fields):
        """Make a call that may run."""
        text = canonical.dumps(arguments or {})
        admitted = _admitted(
            call=self.call(**fields), tool=TOOL, text=text, digest=digest(arguments)
        )
        return _authorized(
            admitted,
            signature=Signature(effects=[Effect.NET_READ]),
            decided_by=("mode ask",),
            grant_id=grant_id,
            idempotency_key="key-" + admitted.call.id,
        )

    def outcome(self, authorized, status=Status.OK, **fields):
        """Make an outcome of a call."""
        values = {
            "call_id": authorized.call.id,
            "tool_id": TOOL.id,
            "status": status,
            "result": Result(summary="done", content=[Text("hello")]),
            "attempts": 1,
            "started": 1.0,
            "ended": 2.0,
        }
        return Outcome(**{**values, **fields})

    def question(self, **fields):
        """Make a question."""
        number = next(self._numbers)
        values = {
            "id": f"q-{number}",
            "conversation": "c",
            "batch_id": "b-1",
            "call_id": f"call-{number}",
            "tool_id": TOOL.id,
            "title": "Fetch a page",
            "preview": "GET https://example.com",
            "arguments": {"url": "https://example.com"},
            "resources": ("read host example.com",),
            "reasons": ("mode ask",),
        }
        return Question(**{**values, **fields})

    def grant(self, **fields):
        """Make a grant of this session for the call without arguments."""
        values = {
            "id": f"grant-{next(self._numbers)}",
            "tool_id": TOOL.id,
            "definition_digest": TOOL.definition_digest,
            "arguments_digest": digest(None),
            "rule": None,
            "approver": "alice",
            "principal": "alice",
            "conversation": "c",
            "scope": Scope.SESSION,
            "created": 1000.0,
        }
        return Grant(**{**values, **fields})


def digest(arguments):
    return canonical.digest(arguments or {})


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def make():
    return Maker()


@pytest.fixture(params=["memory", "file"])
def ledger(request, tmp_path, clock):
    path = None if request.param == "memory" else tmp_path / "state" / "ledger.db"
    with Ledger.open(path, clock=clock) as one:
        yield one


@pytest.fixture
def run(make):
    """Record one whole call and return it."""

    def record(ledger, arguments=None, conversation="c", **fields):
        authorized = make.authorized(arguments, **fields)
        assert ledger.intent(authorized, conversation=conversation, principal="alice") is None
        assert ledger.outcome(make.outcome(authorized))
        return authorized

    return record
