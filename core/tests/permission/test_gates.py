"""Every gate and every way in which it can fail, beside everything that could open it.

The table is made, not written: each way to fail is tried alone and together with each
thing that lets calls run. Nothing but what may open a gate may open it.
"""

# ruff: noqa: E501 - a table reads best with one row a line

from __future__ import annotations

import itertools

from types import SimpleNamespace

import attrs
import pytest

from toolcrib import permission, resources
from toolcrib.question import Allow, AllowRule, Deny
from toolcrib.signature import Signature
from toolcrib.vocabulary import Scope


INSIDE = Signature(writes=[resources.Path("/ws/a")])
ANY = Signature(effects={"fs_write"})

# What lets a call run, by name. ``rule`` and ``mode`` and ``grant`` need no person now;
# ``answered`` is a grant that answered the very question; ``person`` is an answer now.
OPENERS = ("rule", "mode", "grant", "rule grant", "answered", "person")

# name: (signature, rules, context, what it answers, what alone may open it)
GATES = {
    "nothing decides": (INSIDE, [], {}, "ask", set(OPENERS)),
    "signature missing": (None, [], {}, "ask", {"rule", "grant", "rule grant", "answered", "person"}),
    "signature empty": (Signature(), [], {}, "ask", {"rule", "grant", "rule grant", "answered", "person"}),
    "signature of another kind": (object(), [], {}, "ask", {"rule", "grant", "rule grant", "answered", "person"}),
    "signature wider": (Signature(effects={"agent"}), [], {}, "signature.wider", set()),
    "any resource": (ANY, [], {}, "ask", set(OPENERS)),
    "denied": (INSIDE, ["deny files.*"], {}, "rule.denied", set()),
    "denied by field": (INSIDE, ["deny files.*(path=a)"], {}, "rule.denied", set()),
    "denied by effect": (INSIDE, ["deny *(effect=fs_write)"], {}, "rule.denied", set()),
    "denied, nothing said": (None, ["deny files.*"], {}, "rule.denied", set()),
    "deny may concern it": (ANY, ["deny files.*(path=x)"], {}, "ask", {"answered", "person"}),
    "deny may concern what was not said": (None, ["deny files.*(path=x)"], {}, "ask", {"answered", "person"}),
    "asked": (INSIDE, ["ask files.*"], {}, "ask", {"answered", "person"}),
    "asked by field": (INSIDE, ["ask files.*(path=a)"], {}, "ask", {"answered", "person"}),
    "asked about what was not said": (None, ["ask files.*(path=a)"], {}, "ask", {"answered", "person"}),
    "protected": (INSIDE, [], {"protected": ["/ws/a"]}, "path.protected", set()),
    "in a protected folder": (INSIDE, [], {"protected": ["/ws"]}, "path.protected", set()),
    "holds what is protected": (INSIDE, [], {"protected": ["/ws/a/b"]}, "ask", {"answered", "person"}),
    "outside": (INSIDE, [], {"containment": ["/other"]}, "path.outside", set()),
    "plan": (INSIDE, [], {"mode": "plan"}, "mode.denied", set()),
    "plan, nothing said": (None, [], {"mode": "plan"}, "mode.denied", set()),
    "labels": (INSIDE, [], {"labels_seen": ["reads_private"], "forbid_labels": [["reads_private", "sends_out"]]}, "labels.forbidden", set()),
}  # fmt: skip


def _case(name, openers, make):
    """Judge the call of a gate with some openers at once."""
    signature, rules, context, _, _ = GATES[name]
    context = dict(context)
    tool = make.tool(id="files.write", effects=["fs_write"], labels=["sends_out"])
    admitted = make.call(tool)
    asked = permission.authorize(admitted, signature, make.context(rules, **context))
    answers = "\n".join(getattr(asked, "answers", ())) or None
    grants = []
    if "grant" in openers:
        grants.append(make.grant(admitted, id="g_exact"))
    if "rule grant" in openers:
        grants.append(
            make.grant(admitted, id="g_rule", rule="allow files.write", answered=answers)
        )
        if answers is not None and "concern" not in name and "holds" not in name:
            # A rule that answered the asking rule is as good as the answer itself.
            grants[-1] = attrs.evolve(grants[-1], answered=None)
    if "answered" in openers:
        grants.append(make.grant(admitted, id="g_answered", answered=answers))
    if "mode" in openers and context.get("mode") != "plan":
        context["mode"] = "trust"
    rules = [*(["allow *"] if "rule" in openers else []), *rules]
    answer = Allow(by="alice") if "person" in openers else None
    return make.verdict(
        permission.authorize(
            admitted, signature, make.context(rules, grants=grants, **context), answer=answer
        )
    )


SETS = [
    combination
    for size in range(len(OPENERS) + 1)
    for combination in itertools.combinations(OPENERS, size)
]


@pytest.mark.parametrize("name", GATES)
def test_only_what_may_open_a_gate_opens_it(name, make):
    """All 64 combinations of what lets calls run, before every way to fail."""
    *_, closed, may_open = GATES[name]
    for openers in SETS:
        expected = "run" if may_open & set(openers) else closed
        assert _case(name, openers, make) == expected, openers


LAPSES = {
    "revoked": {"revoked": True},
    "used": {"uses_left": 0},
    "expired": {"expires": 1000.0},
    "of another tool": {"tool_id": "files.read"},
    "of another definition": {"definition_digest": "sha256:x"},
    "of other arguments": {"arguments_digest": "sha256:x"},
    "of another principal": {"principal": "mallory"},
    "of another conversation": {"conversation": "d"},
    "with a rule that does not cover": {"arguments_digest": None, "rule": "allow files.write(path=b)"},
    "with a rule of another tool": {"arguments_digest": None, "rule": "allow files.write(agent=x)"},
    "with a rule that is none": {"arguments_digest": None, "rule": "let me in"},
    "of one call only": {"scope": Scope.ONCE, "uses_left": 1},
}  # fmt: skip


@pytest.mark.parametrize("name", LAPSES)
@pytest.mark.parametrize("rules", [[], ["ask files.*"]])
def test_a_grant_that_does_not_hold_opens_nothing(name, rules, make):
    """Every way in which a grant can fail to be one for this call, now."""
    admitted = make.call(make.tool(id="files.write", effects=["fs_write"]))
    good = make.grant(admitted, answered="ask files.*")
    context = make.context(rules, grants=[good])
    assert make.verdict(permission.authorize(admitted, INSIDE, context)) == "run"
    bad = attrs.evolve(good, **LAPSES[name])
    context = make.context(rules, grants=[bad])
    assert make.verdict(permission.authorize(admitted, INSIDE, context)) == "ask"


@pytest.mark.parametrize("name", [name for name in LAPSES if name != "of one call only"])
def test_a_stored_answer_that_does_not_hold_is_refused(name, make):
    """The same for the grant of one call, given back as its answer."""
    admitted = make.call(make.tool(id="files.write", effects=["fs_write"]))
    once = make.grant(admitted, scope=Scope.ONCE, uses_left=1)
    context = make.context(["ask *"])
    good = permission.authorize(admitted, INSIDE, context, answer=once)
    assert good.grant_id == "g_1"
    bad = permission.authorize(
        admitted, INSIDE, context, answer=attrs.evolve(once, **LAPSES[name])
    )
    assert bad.code in {"grant.used", "answer.stale"}


def _question(make, admitted, **changes):
    from toolcrib.question import Question  # noqa: PLC0415

    shown = {"preview": "writes a", "view": "sha256:v", "principal": "alice"}
    question = Question(
        id="q_1",
        conversation="c",
        batch_id="b",
        call_id=admitted.call.id,
        tool_id=admitted.tool.id,
        title="Write",
        binding=permission.binding(admitted, **shown),
        answers=("ask files.*",),
    )
    return attrs.evolve(question, **changes)


STALE = {
    "the arguments": {"arguments": {"path": "b"}},
    "the tool": {"tool": {"title": "Other"}},
    "the preview": {"preview": "writes b"},
    "the view": {"view": "sha256:w"},
    "the principal": {"principal": "bob"},
    "the call": {"call_id": "call_2"},
}


@pytest.mark.parametrize("what", [None, *STALE])
def test_an_answer_holds_for_what_was_shown(what, make):
    """Arguments, definition, preview, view, principal and call are all bound."""
    change = SimpleNamespace(
        **({"arguments": {}, "tool": {}, "preview": "writes a", "view": "sha256:v",
            "principal": "alice", "call_id": "call_1"} | (STALE[what] if what else {}))
    )  # fmt: skip
    tool = make.tool(id="files.write", effects=["fs_write"])
    question = _question(make, make.call(tool))
    now = make.call(
        attrs.evolve(tool, **change.tool) if change.tool else tool,
        change.arguments,
        id=change.call_id,
    )
    result = permission.apply_decision(
        question,
        Allow(by="alice"),
        admitted=now,
        signature=INSIDE,
        context=make.context(["ask files.*"], principal=change.principal),
        preview=change.preview,
        view=change.view,
    )
    if what is None:
        (once,) = result
        assert once.scope is Scope.ONCE
    else:
        assert result.code == "answer.stale"


@pytest.mark.parametrize(
    ("decision", "answered", "code"),
    [
        (Allow(by="alice"), True, "grant.used"),
        (Deny(by="alice"), False, "person.denied"),
        (AllowRule(by="alice", rule="allow files.write(path=b)"), False, "answer.narrow"),
        (AllowRule(by="alice", rule="let me in"), False, "answer.narrow"),
    ],
)
def test_an_answer_that_lets_nothing_run(decision, answered, code, make):
    """One given twice, a no, and rules that are no answer to the call."""
    admitted = make.call(make.tool(id="files.write", effects=["fs_write"]))
    result = permission.apply_decision(
        _question(make, admitted),
        decision,
        admitted=admitted,
        signature=INSIDE,
        context=make.context(),
        preview="writes a",
        view="sha256:v",
        answered=answered,
    )
    assert result.code == code
