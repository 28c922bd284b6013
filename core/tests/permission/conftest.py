"""Tools, calls and contexts for the tests of permission."""

from __future__ import annotations

from types import SimpleNamespace

import hypothesis
import pytest

from toolcrib import call as calls
from toolcrib import canonical, permission
from toolcrib.question import Grant
from toolcrib.tool import Description, Tool
from toolcrib.vocabulary import Effect, Label, Scope


hypothesis.settings.register_profile(
    "permission", deadline=None, max_examples=150, database=None
)
hypothesis.settings.register_profile(
    "permission-slow", deadline=None, max_examples=10_000, database=None
)


def pytest_configure(config):
    slow = config.getoption("--slow", default=False)
    hypothesis.settings.load_profile("permission-slow" if slow else "permission")


def make_tool(id="files.read", effects=("fs_read",), labels=(), **fields):
    fields.setdefault("input_schema", {"type": "object", "properties": {}})
    return Tool(
        id=id,
        title=id,
        description=Description("Does it."),
        effects=frozenset(map(Effect, effects)),
        labels=frozenset(map(Label, labels)),
        **fields,
    )


def make_call(tool, arguments=None, id="call_1"):
    text = canonical.dumps(arguments or {})
    return calls._admitted(
        call=calls.Call(id=id, wire_name="w", tool_id=tool.id),
        tool=tool,
        text=text,
        digest=canonical.digest(arguments or {}),
    )


def make_context(rules=(), workspace="/ws", home="/home/me", **fields):
    fields.setdefault("principal", "alice")
    fields.setdefault("conversation", "c")
    fields.setdefault("clock", lambda: 1000.0)
    if "grants" in fields:
        fields["grants"] = permission.GrantView(fields["grants"])
    return permission.AuthorityContext(
        workspace=workspace,
        rules=permission.RuleSet(rules, workspace=workspace, home=home),
        **fields,
    )


def make_grant(admitted, **fields):
    values = {
        "id": "g_1",
        "tool_id": admitted.tool.id,
        "definition_digest": admitted.tool.definition_digest,
        "arguments_digest": None if fields.get("rule") else admitted.digest,
        "rule": None,
        "approver": "alice",
        "principal": "alice",
        "conversation": "c",
        "scope": Scope.SESSION,
        "created": 10.0,
    }
    return Grant(**(values | fields))


def verdict_of(result):
    """``run``, ``ask``, or the refusal's code."""
    if isinstance(result, calls.AuthorizedCall):
        return "run"
    return "ask" if isinstance(result, permission.Asked) else result.code


@pytest.fixture(scope="session")
def make():
    return SimpleNamespace(
        tool=make_tool,
        call=make_call,
        context=make_context,
        grant=make_grant,
        verdict=verdict_of,
    )


@pytest.fixture(scope="session")
def judged():
    """Judge one call of one tool: ``run``, ``ask``, or the refusal's code."""

    def judge(signature, *rules, tool=None, arguments=None, answer=None, **context):
        tool = tool or make_tool(effects=list(Effect))
        admitted = make_call(tool, arguments)
        return verdict_of(
            permission.authorize(
                admitted, signature, make_context(rules, **context), answer=answer
            )
        )

    return judge
