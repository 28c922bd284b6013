"""Intent, outcome, refusal and replay."""

from __future__ import annotations

import multiprocessing
import threading

import attrs
import pytest

from toolcrib.call import Call
from toolcrib.codes import refuse
from toolcrib.errors import RecordError, StageError
from toolcrib.outcome import (
    ArtifactLink,
    Audio,
    Directive,
    File,
    Image,
    Json,
    Link,
    Outcome,
    Result,
    Text,
)
from toolcrib.record import Ledger, begin, end
from toolcrib.tool import Provenance
from toolcrib.vocabulary import Effect, Status


def test_a_finished_call_is_replayed_whole(ledger, make):
    """Every block and field of the outcome comes back, marked as replayed."""
    authorized = make.authorized()
    result = Result(
        summary="all kinds",
        content=[
            Text("t"),
            Json({"a": [1, None]}),
            Image("aa==", "image/png"),
            Audio("bb==", "audio/wav"),
            File("cc==", "application/pdf", "x.pdf"),
            Link("https://example.com", "title", "text/html"),
            ArtifactLink("sha256:00", 12, "text/plain", "big"),
        ],
        structured={"n": 1.5},
        metadata={"m": True},
        notes=["degraded"],
        directives=[Directive("use_mode", "plan")],
    )
    outcome = make.outcome(authorized, result=result, details={"d": [1]}, attempts=2)
    ledger.intent(authorized, conversation="c", principal="alice")
    ledger.outcome(outcome)

    found = ledger.replay(authorized.call, conversation="c")

    assert found.state == "finished"
    assert found.outcome == attrs.evolve(outcome, replayed=True)


def test_a_failed_outcome_keeps_code_and_text(ledger, make):
    """A replayed failure says the same as the first time."""
    authorized = make.authorized()
    outcome = make.outcome(
        authorized, Status.TIMEOUT, code="call.timeout", text="too slow", retryable=True
    )
    ledger.intent(authorized, conversation="c", principal="alice")
    ledger.outcome(outcome)

    found = ledger.replay(authorized.call, conversation="c").outcome

    assert (found.status, found.code, found.text) == (
        Status.TIMEOUT,
        "call.timeout",
        "too slow",
    )
    assert found.retryable


def test_a_new_call_has_no_replay(ledger, make, run):
    """Neither another place in the response nor another conversation is the same call."""
    done = run(ledger)
    same = done.call.response_digest

    assert ledger.replay(make.call(), conversation="c") is None
    assert ledger.replay(make.call(response_digest=same, position=1), conversation="c") is None
    assert ledger.replay(make.call(response_digest=same), conversation="d") is None


def test_same_key_with_a_new_id_is_the_recorded_call(ledger, make, run):
    """After a restart the host numbers the call anew; its key still finds it."""
    done = run(ledger)
    again = make.authorized(response_digest=done.call.response_digest, provider_id=None)

    found = ledger.intent(again, conversation="c", principal="alice")

    assert (found.state, found.call_id) == ("finished", done.call.id)


def test_same_provider_id_and_arguments_is_the_recorded_call(ledger, make, run):
    """A response that was serialised anew has another digest but the same calls."""
    done = run(ledger, {"url": "x"})
    again = make.authorized({"url": "x"}, provider_id=done.call.provider_id)

    assert ledger.intent(again, conversation="c", principal="alice").call_id == done.call.id


@pytest.mark.parametrize("reused", ["provider_id", "response_digest", "id"])
def test_reuse_with_other_arguments_is_refused(ledger, make, run, reused):
    """An id or place that was used for other arguments runs nothing."""
    done = run(ledger, {"url": "x"})
    fields = {"provider_id": None, reused: getattr(done.call, reused)}
    again = make.authorized({"url": "y"}, **fields)

    found = ledger.intent(again, conversation="c", principal="alice")

    assert found.code == "call.reused"
    assert len(ledger.receipts("c")) == 1


def test_the_same_provider_id_in_another_conversation_is_new(ledger, make, run):
    """Providers number calls per conversation at best."""
    done = run(ledger)
    again = make.authorized(provider_id=done.call.provider_id)

    assert ledger.intent(again, conversation="d", principal="alice") is None


def test_a_call_id_of_another_conversation_is_refused(ledger, make, run):
    """Ids are unique in the whole ledger."""
    done = run(ledger)
    again = make.authorized(id=done.call.id)

    assert ledger.intent(again, conversation="d", principal="bob").code == "call.reused"


def test_an_id_says_more_than_a_key_and_a_key_more_than_a_providers_id(ledger, make, run):
    """Where they point to different calls, the closest one answers."""
    by_provider, by_key, by_id = (run(ledger, {"url": "x"}) for _ in range(3))
    fields = {
        "provider_id": by_provider.call.provider_id,
        "response_digest": by_key.call.response_digest,
    }
    digest = by_id.arguments_digest

    def found(call):
        return ledger.replay(call, conversation="c", arguments_digest=digest).call_id

    assert found(make.call(**fields)) == by_key.call.id
    assert found(make.call(**fields, id=by_id.call.id)) == by_id.call.id
    assert found(make.call(provider_id=fields["provider_id"])) == by_provider.call.id


def test_calls_without_response_digest_have_no_key(ledger, make):
    """Two calls made in Python at position 0 are two calls."""
    for _ in range(2):
        one = make.authorized(response_digest="", provider_id=None)
        assert ledger.intent(one, conversation="c", principal="alice") is None


def test_a_running_call_is_not_begun_again(ledger, make):
    """While its process is there, the call has no outcome to give."""
    authorized = make.authorized()
    ledger.intent(authorized, conversation="c", principal="alice")

    found = ledger.intent(authorized, conversation="c", principal="alice")

    assert (found.state, found.outcome) == ("running", None)


def test_a_second_outcome_is_a_bug(ledger, make, run):
    """Exactly one outcome per call."""
    done = run(ledger)

    with pytest.raises(StageError, match="outcome already"):
        ledger.outcome(make.outcome(done))
    ledger.receipts()
    with pytest.raises(StageError, match="outcome already"):
        ledger.outcome(make.outcome(done))
    assert len(ledger.receipts("c")) == 1


def test_an_outcome_without_intent_is_a_bug(ledger, make):
    """Nothing can end that did not begin."""
    with pytest.raises(StageError, match="no intent"):
        ledger.outcome(make.outcome(make.authorized()))


def test_a_refused_call_has_a_receipt_and_is_replayed(ledger, make):
    """What was refused once is refused the same way again."""
    call = make.call()
    refusal = refuse("rule.denied", "web.fetch", "No.", rule="deny web.*")
    outcome = Outcome.from_refusal(refusal, call_id=call.id, tool_id="web.fetch")

    written = ledger.refusal(
        outcome, call=call, conversation="c", principal="alice", decided_by=["rule user:3"]
    )

    assert written
    (receipt,) = ledger.receipts("c")
    assert (receipt.status, receipt.code) == (Status.REFUSED, "rule.denied")
    assert (receipt.decided_by, receipt.attempts) == (("rule user:3",), 0)
    assert ledger.replay(call, conversation="c").outcome == attrs.evolve(outcome, replayed=True)


def test_a_refused_call_leaves_its_provider_id_free(ledger, make):
    """It did not run, so a corrected call under the same id is no reuse."""
    call = make.call()
    refusal = refuse("arguments.invalid", "web.fetch", "url is missing")
    outcome = Outcome.from_refusal(refusal, call_id=call.id, tool_id="web.fetch")
    ledger.refusal(outcome, call=call, conversation="c", principal="alice")

    again = make.authorized({"url": "x"}, provider_id=call.provider_id)

    assert ledger.intent(again, conversation="c", principal="alice") is None


def test_a_refused_reuse_is_noted_without_taking_the_key(ledger, make, run):
    """The receipt of the reuse stands beside the recorded call."""
    done = run(ledger, {"url": "x"})
    call = make.call(
        response_digest=done.call.response_digest, provider_id=done.call.provider_id
    )
    refusal = refuse("call.reused", "web.fetch", "used")
    outcome = Outcome.from_refusal(refusal, call_id=call.id, tool_id="web.fetch")

    assert ledger.refusal(outcome, call=call, conversation="c", principal="alice")
    assert [r.status for r in ledger.receipts("c")] == [Status.OK, Status.INVALID]
    assert ledger.replay(done.call, conversation="c").state == "finished"


def test_refusing_a_begun_call_is_a_bug(ledger, make, run):
    """A call that ran has its outcome."""
    done = run(ledger)

    with pytest.raises(StageError, match="already"):
        ledger.refusal(
            make.outcome(done, Status.REFUSED),
            call=done.call,
            conversation="c",
            principal="alice",
        )


def test_the_receipt_says_all(ledger, make):
    """Who, what, with which code and definition, decided by whom, for how long."""
    authorized = make.authorized({"url": "x"})
    where = Provenance("toolcrib-web", "1.2", "m:pack", "/site", "wheel")
    ledger.intent(authorized, conversation="c", principal="alice", provenance=where)
    ledger.outcome(make.outcome(authorized, result=Result(notes=["degraded"])))

    (receipt,) = ledger.receipts("c")

    assert receipt == ledger.receipt(authorized.call.id)
    assert receipt.number == 2
    assert (receipt.tool_id, receipt.pack) == ("web.fetch", "web")
    assert (receipt.distribution, receipt.version) == ("toolcrib-web", "1.2")
    assert receipt.arguments_digest == authorized.arguments_digest
    assert receipt.definition_digest == make.tool.definition_digest
    assert receipt.effects == {Effect.NET_READ}
    assert receipt.provider_call_id == authorized.call.provider_id
    assert (receipt.attempts, receipt.started, receipt.ended) == (1, 1.0, 2.0)
    assert (receipt.notes, receipt.principal) == (("degraded",), "alice")
    assert receipt.previous == ledger.entries("c")[0].digest


def test_what_json_cannot_say_is_recorded_all_the_same(ledger, make):
    """The effect has happened: a bad value must not lose the record of it."""
    loop = []
    loop.append(loop)
    authorized = make.authorized()
    ledger.intent(authorized, conversation="c", principal="alice")
    result = Result(structured={1: float("nan"), "x": {"s", "t"}, "l": loop}, summary="\ud800")

    assert ledger.outcome(make.outcome(authorized, result=result))
    found = ledger.recorded(authorized.call.id).result
    assert found.structured["1"] == "nan"
    assert found.structured["x"] == ["s", "t"]
    assert found.summary == "\ud800"


def test_a_late_result_is_kept_and_changes_nothing(ledger, make):
    """A handler that outlived its deadline may still tell what it did."""
    authorized = make.authorized()
    ledger.intent(authorized, conversation="c", principal="alice")
    ledger.outcome(make.outcome(authorized, Status.UNCERTAIN, code="call.uncertain"))
    ledger.late(make.outcome(authorized))

    assert ledger.recorded(authorized.call.id).status is Status.UNCERTAIN
    assert [e.kind for e in ledger.history(authorized.call.id)] == ["intent", "outcome", "late"]
    assert ledger.history(authorized.call.id)[2].body["outcome"]["status"] == "ok"


def test_diagnostics_stand_on_the_receipt(ledger, make):
    """Facts for people are in the chain."""
    authorized = make.authorized()
    ledger.intent(authorized, conversation="c", principal="alice")
    ledger.outcome(make.outcome(authorized), diagnostics={"bytes": 12})

    entry = ledger.history(authorized.call.id)[1]
    assert entry.body["outcome"]["diagnostics"] == {"bytes": 12}


def test_a_conversation_needs_a_name(ledger, make):
    """The empty name is the ledger's own chain."""
    with pytest.raises(RecordError, match="name"):
        ledger.intent(make.authorized(), conversation="", principal="alice")


def test_a_closed_ledger_refuses(ledger, make):
    """Nothing runs unrecorded after the ledger is closed."""
    ledger.receipts()
    ledger.close()

    with pytest.raises(RecordError, match="closed"):
        ledger.receipts()


def test_calls_of_many_threads_are_all_recorded(ledger, make):
    """One ledger serves all threads of a process."""
    calls = [make.authorized() for _ in range(80)]

    def work(part):
        for one in part:
            ledger.intent(one, conversation="c", principal="alice")
            ledger.outcome(make.outcome(one))

    threads = [threading.Thread(target=work, args=(calls[i::4],)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(ledger.receipts("c")) == 80
    assert ledger.verify() == ()


def _race(path, ready, results):
    with Ledger.open(path) as ledger:
        ready.wait()
        won = 0
        for number in range(20):
            call = Call(
                id=f"{multiprocessing.current_process().name}-{number}",
                wire_name="web_fetch",
                tool_id="web.fetch",
                response_digest=f"sha256:{number}",
            )
            outcome = Outcome(call_id=call.id, tool_id="web.fetch", status=Status.REFUSED)
            ledger.refusal(outcome, call=call, conversation="c", principal="a")
            won += ledger.once("test", str(number), call.id) == call.id
        results.put(won)


def test_processes_share_one_chain(tmp_path):
    """Writers of several processes neither lose nor fork the chain."""
    path = tmp_path / "ledger.db"
    context = multiprocessing.get_context("spawn")
    ready, results = context.Barrier(3), context.Queue()
    workers = [context.Process(target=_race, args=(path, ready, results)) for _ in range(3)]
    for worker in workers:
        worker.start()
    won = sum(results.get(timeout=60) for _ in workers)
    for worker in workers:
        worker.join()

    with Ledger.open(path) as ledger:
        assert won == 20
        assert len(ledger.receipts("c")) == 60
        assert ledger.verify() == ()


def test_the_stage_refuses_what_was_not_authorized(ledger, make):
    """Skipping *authorize* is an error, not a run."""
    with pytest.raises(StageError, match="AuthorizedCall"):
        begin(ledger, make.authorized().admitted, conversation="c", principal="alice")


def test_the_stage_turns_an_unwritable_ledger_into_a_refusal(ledger, make):
    """What cannot be recorded does not run."""
    authorized = make.authorized()
    assert begin(ledger, authorized, conversation="c", principal="alice") is None
    assert end(ledger, make.outcome(authorized))
    ledger.receipts()
    ledger.close()

    refused = begin(ledger, authorized, conversation="c", principal="alice")

    assert refused.code == "ledger.unwritable"


@pytest.mark.parametrize("key", [{}, {"provider_id": None, "response_digest": ""}])
def test_a_call_is_looked_for_by_indexes_only(ledger, make, key):
    """Whether a call is known costs the same among few calls and among very many."""
    authorized = make.authorized()
    begin(ledger, authorized, conversation="c", principal="alice")
    end(ledger, make.outcome(authorized))
    ledger.receipts()
    looked = []
    ledger._connection.set_trace_callback(looked.append)

    assert not ledger.knows(make.call(**key), conversation="c")

    ledger._connection.set_trace_callback(None)
    looks = [text for text in looked if text.startswith("SELECT")]
    plans = [
        step[3] for text in looks for step in ledger._execute(f"EXPLAIN QUERY PLAN {text}")
    ]
    assert plans
    assert not [step for step in plans if "SCAN" in step or step.endswith("(conversation=?)")]
