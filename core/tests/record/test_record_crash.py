"""What the ledger knows after its process was killed, or its disk was full."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from toolcrib.errors import RecordError, StageError
from toolcrib.record import Ledger
from toolcrib.vocabulary import Status


pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills by signal")

# The child records one call, and kills itself where the test says.
_CHILD = textwrap.dedent(
    """
    import os, signal, sys
    sys.path[:0] = sys.argv[3:]
    from conftest import Maker
    from toolcrib.record import Ledger

    path, point = sys.argv[1:3]

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    def die_at(statement):
        def trace(sql):
            if statement in sql:
                die()
        ledger._connection.set_trace_callback(trace)

    ledger = Ledger.open(path)
    make = Maker()
    call = make.authorized()
    if point == "in intent":
        die_at("INSERT INTO calls")
    if point == "at intent's commit":
        die_at("COMMIT")
    ledger.intent(call, conversation="c", principal="alice", batch_id="b-1")
    if point == "after intent":
        die()
    open(path + ".effect", "w").close()
    if point == "after effect":
        die()
    if point == "in outcome":
        die_at("INSERT INTO outcomes")
    if point == "at outcome's commit":
        die_at("COMMIT")
    ledger.outcome(make.outcome(call))
    if point == "after outcome":
        die()
    ledger.close()
    """
)


def crash(path, point):
    here = os.path.dirname(__file__)  # noqa: PTH120
    arguments = [sys.executable, "-c", _CHILD, str(path), point, here]
    done = subprocess.run(arguments, check=False, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


@pytest.mark.parametrize("point", ["in intent", "at intent's commit"])
def test_killed_before_the_intent_is_a_call_that_surely_did_not_run(path, make, point):
    """The same call may run now, and its grant was not used."""
    crash(path, point)

    with Ledger.open(path) as ledger:
        call = make.authorized()
        assert ledger.unfinished() == ()
        assert ledger.replay(call.call, conversation="c") is None
        assert ledger.intent(call, conversation="c", principal="alice") is None
        assert ledger.verify() == ()


@pytest.mark.parametrize(
    "point", ["after intent", "after effect", "in outcome", "at outcome's commit"]
)
def test_killed_after_the_intent_is_unknown(path, make, point):
    """The effect may have happened: the call is uncertain and does not run again."""
    crash(path, point)

    with Ledger.open(path) as ledger:
        call = make.authorized()
        (left,) = ledger.unfinished("c")
        assert (left.call_id, left.live, left.batch_id) == (call.call.id, False, "b-1")
        assert left.idempotency_key == call.idempotency_key
        found = ledger.intent(call, conversation="c", principal="alice")
        assert found.state == "unknown"
        assert found.outcome.status is Status.UNCERTAIN
        assert ledger.verify() == ()


def test_killed_after_the_outcome_is_finished(path, make):
    """The recorded outcome is given again."""
    crash(path, "after outcome")

    with Ledger.open(path) as ledger:
        call = make.authorized()
        assert ledger.unfinished() == ()
        found = ledger.intent(call, conversation="c", principal="alice")
        assert found.state == "finished"
        assert found.outcome.result.content == make.outcome(call).result.content
        assert ledger.verify() == ()


def test_recovery_gives_each_call_its_one_outcome(path, make):
    """A call of a dead process is closed as uncertain, once."""
    crash(path, "after effect")

    with Ledger.open(path) as ledger:
        (outcome,) = ledger.recover("c")
        assert outcome.status is Status.UNCERTAIN
        assert ledger.recover("c") == ()
        (receipt,) = ledger.receipts("c")
        assert (receipt.status, receipt.principal) == (Status.UNCERTAIN, "alice")
        assert ledger.replay(make.authorized().call, conversation="c").state == "finished"
        with pytest.raises(StageError, match="already"):
            ledger.outcome(make.outcome(make.authorized(id=outcome.call_id)))


def test_an_idempotent_call_may_be_taken_over_once(path, make):
    """Of two hosts that resume a call, one gets it."""
    crash(path, "after effect")
    call = make.authorized()

    with Ledger.open(path) as one, Ledger.open(path) as two:
        assert one.intent(call, conversation="c", principal="alice", again=True) is None
        lost = two.intent(call, conversation="c", principal="alice", again=True)
        assert lost.state == "running"
        assert one.outcome(make.outcome(call))
        assert [r.status for r in one.receipts("c")] == [Status.OK]
        assert [e.kind for e in one.history(call.call.id)] == ["intent", "intent", "outcome"]


def test_a_call_of_a_live_process_is_left_alone(path, make):
    """Opening the ledger elsewhere neither closes nor repeats what runs here."""
    call = make.authorized()
    with Ledger.open(path) as one, Ledger.open(path) as two:
        one.intent(call, conversation="c", principal="alice")

        assert two.unfinished()[0].live
        assert two.recover() == ()
        assert (
            two.intent(call, conversation="c", principal="alice", again=True).state == "running"
        )
        assert one.outcome(make.outcome(call))


def test_a_closed_run_is_a_dead_one(path, make):
    """A host that leaves while a call runs cannot say how it ended."""
    call = make.authorized()
    with Ledger.open(path) as one:
        one.intent(call, conversation="c", principal="alice")

    with Ledger.open(path) as two:
        assert not two.unfinished()[0].live


def test_lock_files_of_the_dead_are_swept(path, make):
    """Crashes leave nothing behind for ever."""
    for _ in range(3):
        crash(path, "after outcome")
        path.unlink()
    with Ledger.open(path) as ledger:
        ledger.intent(make.authorized(), conversation="c", principal="alice")
        runs = path.with_name("ledger.db.runs")
        assert len(list(runs.iterdir())) == 1
    assert list(runs.iterdir()) == []


def test_a_full_disk_blocks_new_calls_until_the_outcome_is_written(path, make):
    """The outcome is returned and kept; nothing runs unrecorded."""
    with Ledger.open(path, max_bytes=400_000) as ledger:
        call, other = make.authorized(), make.authorized()
        ledger.intent(call, conversation="c", principal="alice")
        big = make.outcome(call, text="x" * 500_000)

        assert ledger.outcome(big) is False
        assert "size limit" in ledger.blocked
        with pytest.raises(RecordError, match="nothing may run"):
            ledger.intent(other, conversation="c", principal="alice")
        assert ledger.replay(call.call, conversation="c").state == "running"

    with Ledger.open(path) as ledger:  # the process ended with it unwritten
        assert ledger.replay(call.call, conversation="c").state == "unknown"


def test_the_block_is_lifted_when_the_outcome_can_be_written(path, make):
    """Free space, and the next call writes what is owed first."""
    with Ledger.open(path, max_bytes=400_000) as ledger:
        call, other = make.authorized(), make.authorized()
        ledger.intent(call, conversation="c", principal="alice")
        ledger.outcome(make.outcome(call, text="x" * 500_000))
        ledger._connection.execute("PRAGMA max_page_count=100000")

        assert ledger.intent(other, conversation="c", principal="alice") is None
        assert ledger.blocked is None
        assert [r.call_id for r in ledger.receipts("c")] == [call.call.id]
        assert ledger.verify() == ()


def test_a_file_that_cannot_grow_refuses_the_intent(path):
    """The operating system's own limit says no; the ledger stays whole."""
    script = textwrap.dedent(
        """
        import resource, sys
        sys.path[:0] = sys.argv[2:]
        from conftest import Maker
        from toolcrib.errors import RecordError
        from toolcrib.record import Ledger

        ledger, make = Ledger.open(sys.argv[1]), Maker()
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        done = 0
        try:
            while True:
                call = make.authorized()
                ledger.intent(call, conversation="c", principal="alice")
                if not ledger.outcome(make.outcome(call)):
                    assert ledger.blocked
                done += 1
        except RecordError as error:
            print(done, error)
        """
    )
    here = os.path.dirname(__file__)  # noqa: PTH120
    arguments = [sys.executable, "-c", script, str(path), here]
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)

    assert "free space" in done.stdout
    with Ledger.open(path) as ledger:
        assert len(ledger.receipts("c")) + len(ledger.unfinished()) > 3
        assert ledger.verify() == ()


def test_a_forked_child_must_open_its_own(path, make):
    """SQLite's connections do not survive a fork."""
    with Ledger.open(path) as ledger:
        ledger.intent(make.authorized(), conversation="c", principal="alice")
        child = os.fork()
        if child == 0:
            try:
                ledger.receipts()
            except RecordError:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
