"""Batches, questions, decisions and grants outlive the process that asked."""

from __future__ import annotations

import threading

import pytest

from toolcrib.errors import RecordError
from toolcrib.question import Allow, AllowRule, Deny
from toolcrib.record import Ledger
from toolcrib.vocabulary import Scope


def cover(ledger, make, **fields):
    values = {
        "tool_id": make.tool.id,
        "definition_digest": make.tool.definition_digest,
        "arguments_digest": make.grant().arguments_digest,
        "principal": "alice",
        "conversation": "c",
    }
    return [g.id for g in ledger.covering(**{**values, **fields})]


def test_a_batch_is_restored_with_its_questions(tmp_path, make):
    """In another process, at any later time."""
    path = tmp_path / "ledger.db"
    payload = {"calls": ["é", {"n": 1.5}], "view": "sha256:1"}
    question = make.question()
    with Ledger.open(path) as ledger:
        ledger.save_batch("b-1", "c", payload, response_digest="r", questions=[question])

    with Ledger.open(path) as ledger:
        batch = ledger.load_batch("b-1")
        assert (batch.id, batch.conversation, batch.payload) == ("b-1", "c", payload)
        assert ledger.find_batch("c", "r") == batch
        assert [i.question for i in ledger.questions("c", batch_id="b-1")] == [question]
        assert ledger.verify() == ()


def test_an_unknown_batch_is_none(ledger):
    """By id or by response."""
    assert ledger.load_batch("b") is None
    assert ledger.find_batch("c", "r") is None


def test_a_batch_id_is_taken_once(ledger):
    """And a batch that is refused leaves nothing behind."""
    ledger.save_batch("b", "c", 1)

    with pytest.raises(RecordError, match="saved already"):
        ledger.save_batch("b", "c", 2)
    assert ledger.load_batch("b").payload == 1
    assert len(ledger.entries("c")) == 1


@pytest.mark.parametrize(
    "decision",
    [
        Allow(by="alice", scope=Scope.SESSION, expires=5.0, uses=3),
        AllowRule(by="alice", rule="allow web.fetch(host=x)"),
        Deny(by="bob", reason="not today"),
    ],
)
def test_a_decision_comes_back_as_it_was_given(ledger, make, decision):
    """Every kind, every field."""
    question = make.question()
    ledger.question(question)
    assert ledger.inquiry(question.id).pending

    assert ledger.decision(question.id, decision) == decision

    found = ledger.inquiry(question.id)
    assert (found.question, found.decision, found.pending) == (question, decision, False)
    assert found.decided == 1000.0


def test_the_first_decision_holds(ledger, make):
    """Who answers second learns what was answered first."""
    question = make.question()
    ledger.question(question)
    ledger.decision(question.id, Deny(by="bob"))

    assert ledger.decision(question.id, Allow(by="alice")) == Deny(by="bob")
    assert [e.kind for e in ledger.entries("c")] == ["question", "decision"]


def test_an_answer_needs_its_question(ledger):
    """A misspelt id is not a no."""
    with pytest.raises(RecordError, match="no question"):
        ledger.decision("q", Deny(by="bob"))
    assert ledger.inquiry("q") is None


def test_a_question_of_an_ended_call_is_closed(ledger, make):
    """It is not offered for an answer any more."""
    call = make.authorized()
    question = make.question(call_id=call.call.id)
    other = make.question()
    ledger.question(question)
    ledger.question(other)
    ledger.intent(call, conversation="c", principal="alice")
    ledger.outcome(make.outcome(call))

    assert ledger.inquiry(question.id).closed
    assert [i.question for i in ledger.questions(pending=True)] == [other]
    assert len(ledger.questions("c")) == 2
    assert ledger.questions("d") == ()


def test_a_grant_covers_its_exact_call(ledger, make):
    """Same tool, definition, arguments, principal; nothing else."""
    grant = make.grant()
    ledger.grant(grant)

    assert ledger.grants() == (grant,)
    assert cover(ledger, make) == [grant.id]
    for other in ("tool_id", "definition_digest", "arguments_digest", "principal"):
        assert cover(ledger, make, **{other: "other"}) == []


def test_rule_grants_of_the_tool_come_after_exact_ones(ledger, make):
    """Whether the rule matches is for the caller to say."""
    rule = make.grant(arguments_digest=None, rule="allow web.fetch(host=x)")
    exact = make.grant()
    ledger.grant(rule)
    ledger.grant(exact)

    assert cover(ledger, make) == [exact.id, rule.id]
    assert cover(ledger, make, arguments_digest="other") == [rule.id]


def test_scopes_end_where_they_should(ledger, make):
    """Session grants with the session, project grants with the project."""
    session = make.grant(scope=Scope.SESSION)
    project = make.grant(scope=Scope.PROJECT)
    ledger.grant(session, session="s1", project="p1")
    ledger.grant(project, session="s1", project="p1")

    assert cover(ledger, make, session="s1", project="p1") == [session.id, project.id]
    assert cover(ledger, make, session="s2", project="p1") == [project.id]
    assert cover(ledger, make, session="s1", conversation="d", project="p2") == []
    assert ledger.end_session("c", "s1") == 1
    assert cover(ledger, make, session="s1", project="p1") == [project.id]


def test_a_session_finds_what_it_may_use(ledger, make):
    """Its own, and the project's; of its principal, and standing."""
    own = make.grant()
    project = make.grant(scope=Scope.PROJECT, conversation="d")
    others = [make.grant(principal="bob"), make.grant(conversation="d"), make.grant()]
    for grant in (own, project, *others):
        ledger.grant(grant, session="s", project="p")
    ledger.revoke_grant(others[2].id)

    found = ledger.standing(principal="alice", conversation="c", session="s", project="p")

    assert found == (own, project)


def test_an_expired_grant_covers_nothing(ledger, make, clock):
    """Not even in the very second."""
    grant = make.grant(expires=1010.0)
    ledger.grant(grant)
    assert cover(ledger, make) == [grant.id]

    clock.now = 1010.0

    assert cover(ledger, make) == []
    assert not ledger.use_grant(grant.id)
    assert ledger.grants() == ()
    assert [g.id for g in ledger.grants(standing=False)] == [grant.id]


def test_a_revoked_grant_covers_nothing(ledger, make):
    """At once, and it is noted."""
    grant = make.grant()
    ledger.grant(grant)

    assert ledger.revoke_grant(grant.id)
    assert not ledger.revoke_grant(grant.id)
    assert not ledger.revoke_grant("unknown")
    assert cover(ledger, make) == []
    assert ledger.grants(standing=False)[0].revoked
    assert [e.kind for e in ledger.entries("c")] == ["grant", "grant.revoked"]


def test_uses_are_counted(ledger, make):
    """A grant for two runs covers two."""
    grant = make.grant(uses_left=2)
    ledger.grant(grant)

    assert [ledger.use_grant(grant.id) for _ in range(3)] == [True, True, False]
    assert cover(ledger, make) == []


def test_a_grant_once_is_for_one_use(ledger, make):
    """Whatever its number of uses says."""
    grant = make.grant(scope=Scope.ONCE)
    ledger.grant(grant)

    assert ledger.grants()[0].uses_left == 1
    assert ledger.use_grant(grant.id)
    assert not ledger.use_grant(grant.id)


def test_an_intent_uses_its_grant_or_is_refused(ledger, make):
    """The approval is used up exactly if the call begins."""
    grant = make.grant(scope=Scope.ONCE)
    ledger.grant(grant)
    first, second = (make.authorized(grant_id=grant.id) for _ in range(2))

    assert ledger.intent(first, conversation="c", principal="alice") is None
    refused = ledger.intent(second, conversation="c", principal="alice")

    assert refused.code == "grant.used"
    assert ledger.replay(second.call, conversation="c") is None
    assert [e.kind for e in ledger.entries("c")] == ["grant", "grant.used", "intent"]


@pytest.mark.parametrize("uses", [1, 5])
def test_a_replayed_call_does_not_use_its_grant(ledger, make, uses):
    """What does not run costs nothing."""
    grant = make.grant(uses_left=uses)
    ledger.grant(grant)
    call = make.authorized(grant_id=grant.id)
    ledger.intent(call, conversation="c", principal="alice")
    ledger.outcome(make.outcome(call))

    assert ledger.intent(call, conversation="c", principal="alice").state == "finished"
    assert ledger.grants(standing=False)[0].uses_left == uses - 1


def test_a_grant_is_used_once_among_many(tmp_path, make):
    """Two ledgers on one file, many threads, one winner."""
    path = tmp_path / "ledger.db"
    won = []
    with Ledger.open(path) as one, Ledger.open(path) as two:
        grant = make.grant(scope=Scope.ONCE)
        one.grant(grant)

        def work(ledger):
            won.append(ledger.use_grant(grant.id))

        threads = [threading.Thread(target=work, args=(x,)) for x in [one, two] * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(won) == [False] * 7 + [True]


@pytest.mark.parametrize("fields", [{"rule": "allow web.*"}, {"arguments_digest": None}])
def test_a_grant_is_for_arguments_or_for_a_rule(ledger, make, fields):
    """Never for both, never for neither."""
    with pytest.raises(RecordError, match="either"):
        ledger.grant(make.grant(**fields))


def test_grants_are_listed_by_conversation(ledger, make):
    """In the order in which they were given."""
    first, second, other = make.grant(), make.grant(), make.grant(conversation="d")
    for grant in (first, other, second):
        ledger.grant(grant)

    assert ledger.grants("c") == (first, second)


def test_the_first_value_of_a_key_holds(ledger):
    """Keys of one scope do not meet those of another."""
    assert ledger.once("jobs", "k", {"id": 1}) == {"id": 1}
    assert ledger.once("jobs", "k", {"id": 2}) == {"id": 1}
    assert ledger.once("other", "k", None) is None


def test_grants_and_decisions_are_in_the_chain(ledger, make):
    """Who decided what can be proved."""
    question = make.question()
    ledger.question(question)
    ledger.decision(question.id, Allow(by="alice"))
    ledger.grant(make.grant(approver="alice"))

    bodies = [e.body for e in ledger.entries("c")]
    assert bodies[1]["decision"]["by"] == "alice"
    assert bodies[2]["grant"]["approver"] == "alice"
    assert ledger.verify() == ()
