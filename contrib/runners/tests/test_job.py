"""Programs as jobs, and runs as results."""

from __future__ import annotations

import asyncio

import pytest

from toolcrib_runners import ProcessKind, run_sync
from toolcrib_runners.report import describe, result_of


class Control:
    """Takes output as the job store would."""

    def __init__(self):
        self.data = b""
        self.written = asyncio.Event()

    def write(self, data):
        """Take output."""
        self.data += data
        self.written.set()


def test_a_job_writes_its_output_and_returns_how_it_ended(python):
    """Both streams come in order, and nothing is kept twice."""

    async def main():
        control = Control()
        code = "import os; os.write(1, b'a'); os.write(2, b'b'); raise SystemExit(4)"
        result = await ProcessKind().run(control, {"argv": python(code)})
        return control.data, result

    data, result = asyncio.run(main())
    assert data == b"ab"
    assert (result["ended"], result["returncode"], result["detached"]) == ("exited", 4, [])


def test_stopping_a_job_stops_its_program(python, gone):
    """A cancelled job leaves nothing behind."""

    async def main():
        control = Control()
        code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
        task = asyncio.create_task(ProcessKind().run(control, {"argv": python(code)}))
        await control.written.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return int(control.data)

    assert gone(asyncio.run(main()))


def test_the_shorter_limit_wins(python):
    """A job cannot ask for more time than the app allows."""

    async def main():
        kind = ProcessKind(timeout=0.3, grace=0.1)
        arguments = {"argv": python("import time; time.sleep(60)"), "timeout": 50}
        return await kind.run(Control(), arguments)

    assert asyncio.run(main())["ended"] == "timeout"


def test_unknown_arguments_are_refused():
    """A misspelt argument is not dropped."""

    async def main():
        await ProcessKind().run(Control(), {"argv": ["true"], "shell": True})

    with pytest.raises(TypeError, match="shell"):
        asyncio.run(main())


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("pass", "exit code 0."),
        ("raise SystemExit(2)", "exit code 2."),
        ("import os; os.abort()", "ended by SIGABRT."),
        ("input('Go on? ')", "asked a question"),
    ],
)
def test_a_run_is_described_from_facts(python, code, words):
    """Success is never claimed from the look of the output."""
    assert words in describe(run_sync(python(code)))


def test_a_timeout_is_described(python):
    """The reader is told that it was stopped, and after what time."""
    done = run_sync(python("import time; time.sleep(60)"), timeout=0.2)
    assert "stopped after its limit, 0." in describe(done)


def test_a_run_becomes_a_result(python):
    """How it ended comes first, then what it said; counts are for programs."""
    pytest.importorskip("toolcrib")
    result = result_of(run_sync(python("print('out')")))
    assert [block.text for block in result.content][1:] == ["stdout:\nout\n"]
    assert result.summary.endswith("exit code 0.")
    assert (result.metadata["returncode"], result.metadata["stdout_bytes"]) == (0, 4)
