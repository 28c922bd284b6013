"""Python functions in a child process."""

from __future__ import annotations

import asyncio
import sys

from pathlib import Path

import pytest

from toolcrib_runners import ChildError, call


@pytest.fixture
def functions(monkeypatch):
    """The module of functions, importable here and in the child."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.delitem(sys.modules, "importable", raising=False)
    import importable  # noqa: PLC0415 - on the path only now

    return importable


def test_a_function_returns_its_value(functions):
    """Arguments and value are JSON, and prints do not mix with it."""
    assert asyncio.run(call(functions.add, 1, kwargs={"b": 2})) == {"sum": 3}


def test_an_exception_keeps_its_kind_and_text(functions):
    """What went wrong in the child is told here."""
    with pytest.raises(ChildError, match="ValueError: broke") as caught:
        asyncio.run(call(functions.crash))
    assert caught.value.kind == "ValueError"


def test_tool_failures_come_through_as_such(functions):
    """A tool that runs in a child has the statuses of any other."""
    toolcrib = pytest.importorskip("toolcrib")
    with pytest.raises(toolcrib.NotFound, match="no such thing") as caught:
        asyncio.run(call(functions.refuse))
    assert caught.value.code == "probe.gone"


@pytest.mark.parametrize(
    ("name", "text"),
    [("leave", "exit code 7"), ("leave_politely", "SystemExit: 3"), ("not_json", "TypeError")],
)
def test_a_child_that_gives_no_answer(functions, name, text):
    """An exit, or a value that is not JSON, is an error with its reason."""
    with pytest.raises(ChildError, match=text):
        asyncio.run(call(getattr(functions, name)))


def test_a_value_that_is_too_large_is_refused(functions):
    """The parent's memory is bounded, and the size is told."""
    with pytest.raises(ChildError, match=r"returned 1000\d\d bytes"):
        asyncio.run(call(functions.much, 100_000, value_limit=1000))


def test_a_timeout_kills_the_child(functions, tmp_path, gone):
    """A function that does not end is ended."""
    path = tmp_path / "pid"
    with pytest.raises(TimeoutError, match="importable:hang"):
        asyncio.run(call(functions.hang, str(path), timeout=1))
    assert gone(int(path.read_text()))


def test_the_child_gets_the_small_environment(functions, monkeypatch):
    """Secrets of the host stay in the host."""
    monkeypatch.setenv("PROBE_API_KEY", "sk-secret")
    env = asyncio.run(call(functions.secret, env={"GIVEN": "1"}))
    assert "PROBE_API_KEY" not in env
    assert env["GIVEN"] == "1"


def test_a_function_that_cannot_be_imported_is_refused():
    """A local function cannot be named to another process."""
    with pytest.raises(ValueError, match="top of a module"):
        asyncio.run(call(lambda: 1))
