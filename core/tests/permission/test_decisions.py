"""What an answer leads to: the call now, and grants for later."""

from __future__ import annotations

import attrs
import pytest

from toolcrib import permission, resources
from toolcrib.outcome import Refusal
from toolcrib.question import Allow, AllowRule, Deny, Question
from toolcrib.signature import Signature


WRITE = Signature(writes=[resources.Path("/ws/src/a")])
OTHER = Signature(writes=[resources.Path("/ws/src/b")])
ASKS = "ask files.write"


def _tool(make):
    return make.tool(id="files.write", effects=["fs_write"])


def _decide(make, decision, rules=(ASKS,), **question):
    admitted = make.call(_tool(make), {"path": "a"})
    context = make.context(rules)
    asked = permission.authorize(admitted, WRITE, context)
    return permission.decide(
        Question(
            id="q_1",
            conversation="c",
            batch_id="b",
            call_id="call_1",
            tool_id="files.write",
            title="Write",
            answers=asked.answers,
            **question,
        ),
        decision,
        admitted,
        WRITE,
        context,
    )


def _later(make, grant, signature=WRITE, arguments=None, rules=(ASKS,), **context):
    admitted = make.call(_tool(make), arguments or {"path": "a"}, id="call_2")
    return make.verdict(
        permission.authorize(
            admitted, signature, make.context(rules, grants=[grant], **context)
        )
    )


def test_once_is_this_call_only(make):
    """Nothing is left to remember."""
    authorized, grant = _decide(make, Allow(by="alice"))
    assert authorized.decided_by == ("person alice",)
    assert grant is None


def test_the_same_call_is_not_asked_again(make):
    """In this conversation; another call is."""
    _, grant = _decide(make, Allow(by="alice", scope="session"))
    assert _later(make, grant) == "run"
    assert _later(make, grant, arguments={"path": "b"}) == "ask"
    assert _later(make, grant, conversation="d") == "ask"


def test_a_project_remembers_across_conversations(make):
    """For the same principal only."""
    _, grant = _decide(make, Allow(by="alice", scope="project"))
    assert _later(make, grant, conversation="d") == "run"
    assert _later(make, grant, conversation="d", principal="bob") == "ask"


def test_a_rule_covers_other_calls(make):
    """And answers the rule that asked, but no other."""
    decision = AllowRule(by="alice", rule="allow files.write(path=src/**)")
    _, grant = _decide(make, decision)
    assert grant.rule == "allow files.write(path=src/**)"
    assert _later(make, grant, OTHER, {"path": "b"}) == "run"
    outside = Signature(writes=[resources.Path("/ws/a")])
    assert _later(make, grant, outside, {"path": "c"}) == "ask"
    more = (ASKS, "ask *(path=**/b)")
    assert _later(make, grant, OTHER, {"path": "b"}, rules=more) == "ask"


def test_a_rule_is_forced_to_its_own_tool(make):
    """Whatever else it says."""
    _, grant = _decide(make, AllowRule(by="alice", rule="ask *(path=src/**)"))
    assert grant.rule == "allow files.write(path=src/**)"
    other = make.call(make.tool(id="files.delete", effects=["fs_write"]))
    context = make.context(grants=[grant])
    assert make.verdict(permission.authorize(other, WRITE, context)) == "ask"


def test_the_rule_that_was_offered_is_the_default(make):
    """Without one, *always* means the exact call."""
    _, grant = _decide(
        make, AllowRule(by="alice"), rule_offered="allow files.write(path=src/*)"
    )
    assert grant.rule == "allow files.write(path=src/*)"
    _, grant = _decide(make, AllowRule(by="alice"))
    assert grant.rule is None
    assert grant.arguments_digest


def test_a_rule_that_does_not_cover_the_call_is_no_answer(make):
    """Not even in a case that only looks alike."""
    for rule in ["allow files.write(path=SRC/**)", "allow files.write(host=*)", "nonsense"]:
        refusal = _decide(make, AllowRule(by="alice", rule=rule))
        assert isinstance(refusal, Refusal)
        assert refusal.code == "answer.narrow"


@pytest.mark.parametrize(("uses", "left"), [(None, None), (3, 2), (2, 1)])
def test_uses_count_runs(uses, left, make):
    """The call that was asked about is the first."""
    _, grant = _decide(make, Allow(by="alice", scope="session", uses=uses))
    assert grant.uses_left == left
    view = permission.GrantView([grant])
    for _ in range(left or 5):
        assert _later(make, view.get(grant.id)) == "run"
        view.used(grant.id)
    assert _later(make, view.get(grant.id)) == ("run" if left is None else "ask")


def test_one_use_is_this_call(make):
    """So nothing is stored."""
    assert _decide(make, Allow(by="alice", scope="session", uses=1))[1] is None


def test_a_grant_expires(make):
    """And does not hold at all where nobody knows the time."""
    _, grant = _decide(make, Allow(by="alice", scope="session", expires=2000.0))
    assert _later(make, grant) == "run"
    assert _later(make, grant, clock=lambda: 2000.0) == "ask"
    assert _later(make, grant, clock=None) == "ask"


def test_a_no_and_a_deny_end_it(make):
    """A yes does not pass a rule that denies now."""
    assert _decide(make, Deny(by="alice")).code == "person.denied"
    admitted = make.call(_tool(make))
    question = Question(
        id="q", conversation="c", batch_id="b", call_id="call_1", tool_id="x", title="x"
    )
    denied = make.context(["deny files.*"])
    result = permission.decide(question, Allow(by="alice"), admitted, WRITE, denied)
    assert result.code == "rule.denied"


def test_an_answer_may_be_stored_before_it_is_used(make):
    """The grant of one call is given back as its answer, and pre-answers nothing."""
    admitted = make.call(_tool(make), {"path": "a"})
    context = make.context([ASKS])
    question = Question(
        id="q_1",
        conversation="c",
        batch_id="b",
        call_id="call_1",
        tool_id="files.write",
        title="Write",
        answers=(ASKS,),
        binding=permission.binding(admitted, preview=None, view="v", principal="alice"),
    )
    once, lasting = permission.apply_decision(
        question,
        AllowRule(by="alice", rule="allow files.write(path=src/**)"),
        admitted=admitted,
        signature=WRITE,
        context=context,
        preview=None,
        view="v",
    )
    assert _later(make, once) == "ask"
    assert _later(make, lasting) == "run"
    assert permission.authorize(admitted, WRITE, context, answer=once).grant_id == once.id
    used = attrs.evolve(once, uses_left=0)
    assert permission.authorize(admitted, WRITE, context, answer=used).code == "grant.used"


def test_the_oldest_grant_is_used_up_first_and_only_one(make):
    """The same one in every process."""
    admitted = make.call(_tool(make), {"path": "a"})
    new = make.grant(admitted, id="g_new", created=20.0, rule="allow files.write(path=src/**)")
    old = attrs.evolve(new, id="g_old", created=10.0)
    for grants in [[new, old], [old, new]]:
        found = permission.authorize(admitted, WRITE, make.context(grants=grants))
        assert found.grant_id == "g_old"
        assert found.decided_by == ("grant g_old",)


def test_no_grant_is_used_where_none_is_needed(make):
    """A rule or the mode comes first."""
    admitted = make.call(_tool(make))
    grants = [make.grant(admitted)]
    for context in [
        make.context(["allow *"], grants=grants),
        make.context(grants=grants, mode="edits"),
    ]:
        assert permission.authorize(admitted, WRITE, context).grant_id is None


def test_an_approval_of_one_says_nothing_of_others(make):
    """Neither of another call of the batch nor of another tool of the pack."""
    _, grant = _decide(make, Allow(by="alice", scope="session"))
    assert _later(make, grant, OTHER, {"path": "b"}, rules=()) == "ask"
    tool = make.tool(id="files.move", effects=["fs_write"])
    context = make.context(grants=[grant])
    found = permission.authorize(make.call(tool, {"path": "a"}), WRITE, context)
    assert make.verdict(found) == "ask"
