"""Programs run, end, and are stopped with all that they started."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading

from pathlib import Path

import pytest

from toolcrib_runners import Spec, run, run_sync
from toolcrib_runners.engine import Engine


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


def test_output_and_exit_code(python):
    """Both streams and the exit code come back."""
    done = run_sync(
        python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    )
    assert (done.ended, done.returncode, done.signal, done.ok) == ("exited", 3, None, False)
    assert (done.stdout.text(), done.stderr.text()) == ("out\n", "err\n")
    assert done.detached == done.survivors == ()


def test_success(python):
    """Exit code 0 is the only success."""
    assert run_sync(python("pass")).ok


def test_merged_output_keeps_its_order(python):
    """With merge both streams are one."""
    code = "import os; os.write(1, b'a'); os.write(2, b'b'); os.write(1, b'c')"
    done = run_sync(python(code), merge=True)
    assert (done.stdout.data, done.stderr.total) == (b"abc", 0)


def test_a_signal_is_named(python):
    """A program that kills itself has no exit code."""
    done = run_sync(python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))
    assert (done.returncode, done.signal) == (None, "SIGKILL")


def test_a_program_that_does_not_exist_raises():
    """What cannot be started is the caller's to tell."""
    with pytest.raises(FileNotFoundError):
        run_sync(["/no/such/program"])


@pytest.mark.parametrize("argv", ["ls -l", b"ls", []])
def test_a_shell_line_is_refused(argv):
    """Text is never split into arguments here."""
    with pytest.raises(TypeError, match="not a shell line"):
        run_sync(argv)


def test_standard_input_is_at_its_end(python):
    """A program that reads gets nothing, at once."""
    assert run_sync(python("import sys; print(repr(sys.stdin.read()))")).stdout.text() == "''\n"


def test_input_is_fed_while_output_is_read(python):
    """More than the pipes can hold goes through in both directions."""
    data = os.urandom(1 << 20)
    done = run_sync(
        python("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"),
        input=data,
        output_limit=1 << 21,
    )
    assert done.stdout.data == data


def test_input_that_nobody_reads_does_not_hang(python):
    """A program may end without having read its input."""
    assert run_sync(python("pass"), input=b"x" * (1 << 20)).ok


def test_the_child_has_no_terminal_and_its_own_group(python):
    """Nothing that is typed, and no signal from a terminal, reaches the child."""
    code = (
        "import os\n"
        "print(os.getsid(0) == os.getpgid(0) == os.getpid())\n"
        "try: os.open('/dev/tty', os.O_RDWR); print('terminal')\n"
        "except OSError: print('none')"
    )
    assert run_sync(python(code)).stdout.text() == "True\nnone\n"


def test_the_child_inherits_no_descriptors(python):
    """Pipes and sockets of the host stay in the host."""
    read, write = os.pipe()
    os.set_inheritable(write, True)
    try:
        code = (
            f"import os\ntry: os.fstat({write}); print('open')\nexcept OSError: print('closed')"
        )
        assert run_sync(python(code)).stdout.text() == "closed\n"
    finally:
        os.close(read)
        os.close(write)


@linux
def test_the_engine_leaks_no_descriptors(python):
    """After many runs as many are open as before."""
    run_sync(python("pass"))
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        run_sync(["true"])
        with pytest.raises(FileNotFoundError):
            run_sync(["/no/such"], answer_limit=10)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_timeout_keeps_what_was_said(python):
    """The output until then is there, and the end is no exit."""
    done = run_sync(
        python("print('begun', flush=True); import time; time.sleep(60)"), timeout=0.5
    )
    assert (done.ended, done.stdout.text(), done.ok) == ("timeout", "begun\n", False)


STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "print('ready', flush=True); time.sleep(60)"
)


def stop_when(ready, argv, **spec):
    """Cancel a run as soon as a word was printed; return how it ended."""
    seen = bytearray()

    def look(stream, data):
        seen.extend(data)
        if ready in seen:
            engine.cancel()

    engine = Engine(Spec(argv=argv, on_output=look, **spec))
    return engine.run()


def test_a_program_that_ignores_the_polite_signal_is_killed(python):
    """After the grace nobody is asked again."""
    done = stop_when(b"ready", python(STUBBORN), grace=0.1)
    assert (done.ended, done.signal) == ("cancelled", "SIGKILL")


def test_a_program_may_clean_up_within_the_grace(python):
    """The first signal is the polite one."""
    code = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *a: (os.write(1, b'cleaned\\n'), sys.exit(0)))\n"
        "print('ready', flush=True); time.sleep(60)"
    )
    done = stop_when(b"ready", python(code), grace=5)
    assert (done.ended, done.returncode, done.stdout.text()) == (
        "cancelled",
        0,
        "ready\ncleaned\n",
    )


DESCENDANTS = {
    "same group": "sleep 60 & echo $!; echo ready; wait",
    "own session": "setsid sh -c 'echo $$; echo ready; exec sleep 60' & wait",
    "orphan": "(setsid sh -c 'echo $$; echo ready; exec sleep 60' &) ; sleep 60",
    "deaf": "trap '' TERM; sh -c 'echo $$; echo ready; while :; do sleep 1; done'",
}


@linux
@pytest.mark.parametrize("kind", DESCENDANTS)
def test_descendants_are_stopped_too(kind, gone):
    """Whatever a program starts ends with it, wherever it went."""
    done = stop_when(b"ready", ["sh", "-c", DESCENDANTS[kind]], grace=0.1)
    pid = int(done.stdout.text().split()[0])
    assert gone(pid)
    assert done.survivors == ()


@linux
def test_a_program_that_restarts_its_child_is_stopped(gone):
    """A supervisor gets no chance to start another one."""
    line = "while :; do sh -c 'echo $$; echo ready; exec sleep 60'; done"
    done = stop_when(b"ready", ["sh", "-c", line], grace=0.1)
    assert gone(*map(int, done.stdout.text().replace("ready", "").split()))


@linux
@pytest.mark.parametrize("output", ["", ">/dev/null 2>&1"])
def test_what_is_left_behind_is_named_and_stopped(output, gone):
    """A command that detaches itself is not simply done."""
    # Whoever waited for it as well would be stopped by the limit.
    done = run_sync(["sh", "-c", f"(setsid sleep 600 {output} &) ; exit 0"], timeout=60)
    assert (done.ended, done.returncode) == ("exited", 0)
    # Seen in the moment of its start it still has its starter's name.
    assert [m.name in {"sh", "setsid", "sleep"} for m in done.detached] == [True]
    assert gone(done.detached[0].pid)


@linux
def test_what_is_left_behind_may_go_on_if_that_is_wanted(alive, gone):
    """The caller may allow it; it is named all the same."""
    done = run_sync(
        ["sh", "-c", "setsid sleep 60 >/dev/null 2>&1 & exit 0"], leave_detached=True
    )
    (member,) = done.detached
    assert alive(member.pid)
    os.kill(member.pid, signal.SIGKILL)
    assert gone(member.pid)


def test_a_last_word_of_any_length_is_heard(python):
    """A program that writes much while it cleans up is not blocked by us."""
    code = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *a: (os.write(1, b'x' * 300_000), sys.exit(0)))\n"
        "print('ready', flush=True); time.sleep(60)"
    )
    done = stop_when(b"ready", python(code), grace=5)
    assert (done.returncode, done.stdout.total) == (0, 300_006)


def test_endless_output_is_bounded_and_counted():
    """A flood ends at the limit of time, with head, tail and an exact count."""
    done = run_sync(["yes", "0123456789"], timeout=0.3, output_limit=1000)
    assert len(done.stdout.data) == 1000
    assert done.stdout.total > 1000
    assert done.stdout.dropped == done.stdout.total - 1000
    assert f"of {done.stdout.total} bytes left out" in done.stdout.text()


def test_a_question_that_nobody_answers_is_recognised(python):
    """The result hints at why the program failed."""
    asked = run_sync(python("input('Password: ')"))
    assert asked.wanted_input
    assert not run_sync(python("print('Password: '); raise SystemExit(1)")).wanted_input
    assert not run_sync(python("input('Password: ')"), input=b"x\n").wanted_input


def test_a_listener_that_fails_stops_the_program(python):
    """Nothing goes on without an owner."""

    def broken(stream, data):
        pids.append(int(data))
        msg = "no"
        raise RuntimeError(msg)

    pids = []
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    with pytest.raises(RuntimeError, match="no"):
        run_sync(python(code), on_output=broken)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


class Token:
    """A cancellation that has to be looked at."""

    requested = False


def test_a_sync_handler_passes_its_cancellation_on(python):
    """A run in a thread ends when its call is cancelled."""
    token = Token()

    def cancel(stream, data):
        token.requested = True

    done = run_sync(
        python("print('ready', flush=True); import time; time.sleep(60)"),
        cancellation=token,
        on_output=cancel,
    )
    assert done.ended == "cancelled"


class Listened(Token):
    """A cancellation that tells whoever listens."""

    def __init__(self):
        self.listeners = []

    def listen(self, callback):
        """Take a listener; return what removes it."""
        self.listeners.append(callback)
        return lambda: self.listeners.remove(callback)


def test_a_cancellation_that_can_be_listened_to_is_heard_at_once(python):
    """Nothing is polled, and nobody listens any more afterwards."""
    token = Listened()
    done = run_sync(
        python("print('ready', flush=True); import time; time.sleep(60)"),
        cancellation=token,
        on_output=lambda stream, data: token.listeners[0](),
    )
    assert done.ended == "cancelled"
    assert token.listeners == []


def test_cancelling_a_task_stops_its_program(python, gone):
    """The cancellation arrives when everything is stopped, not before."""
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    pids = []

    async def main():
        loop, ready = asyncio.get_running_loop(), asyncio.Event()

        def look(stream, data):
            pids.append(int(data))
            loop.call_soon_threadsafe(ready.set)

        task = asyncio.create_task(run(python(code), on_output=look))
        await ready.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert gone(*pids)


def test_many_runs_beside_each_other(python):
    """Runs do not see each other's descendants."""

    async def main():
        codes = [python(f"print({n})") for n in range(8)]
        return await asyncio.gather(*(run(argv) for argv in codes))

    done = asyncio.run(main())
    assert [d.stdout.text() for d in done] == [f"{n}\n" for n in range(8)]
    assert all(d.ok and not d.detached for d in done)


def test_cancelling_before_the_start_stops_at_once(python):
    """A cancellation that came first is not lost."""
    engine = Engine(Spec(argv=python("import time; time.sleep(60)")))
    engine.cancel()
    assert engine.run().ended == "cancelled"
    engine.cancel()
    assert threading.active_count() < 50


def test_what_was_fed_before_the_program_read_anything_arrives(python):
    """Also when its input was closed in the same moment."""
    for _ in range(20):
        engine = Engine(Spec(argv=python("print(input())"), keep_open=True))
        assert engine.feed(b"one\n", close=True)
        assert not engine.feed(b"too late\n")
        assert engine.run().stdout.data == b"one\n"
