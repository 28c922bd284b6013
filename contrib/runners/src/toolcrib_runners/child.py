"""Call a Python function in a child process, so that cancelling really stops it.

The function is named, not sent: the child imports it. Arguments and value are JSON,
so nothing of the child's can run code here. What the function prints does not mix with
its value, which comes back through a pipe of its own.
"""

from __future__ import annotations

import json
import sys

from collections.abc import Callable, Mapping
from typing import Any

from .engine import Completed, Engine, Spec
from .process import in_thread
from .report import describe


__all__ = ["ChildError", "call"]

# The child's own search path comes first, as this package may not be on its default one.
_BOOT = (
    "import json, sys; payload = json.load(sys.stdin); sys.path[:] = payload['path']; "
    "from toolcrib_runners.childmain import main; main(payload)"
)


class ChildError(Exception):
    """Raised when a function in a child process raised, or the child gave no answer.

    Attributes:
        kind: Name of the exception's class in the child, or None if it gave no answer.
        completed: How the child ended.
    """

    def __init__(self, text: str, *, kind: str | None, completed: Completed) -> None:
        self.kind = kind
        self.completed = completed
        super().__init__(text)


async def call(
    function: Callable[..., Any],
    *args: Any,
    value_limit: int = 1 << 24,
    kwargs: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Any:
    """Call a function in a child process and return its value.

    Cancelling kills the child with everything that it started.

    Args:
        function: A function at the top of an importable module.
        *args: Its arguments, JSON values.
        value_limit: Most bytes of its value as JSON.
        kwargs: Its keyword arguments, JSON values.
        **spec: Fields of :class:`Spec`: ``timeout``, ``env``, ``cwd`` …

    Raises:
        ChildError: the function raised, or the child ended without an answer. What it
            raised of toolcrib's own tool failures is raised as such.
        TimeoutError: the child was stopped at its limit.
    """
    name = f"{function.__module__}:{function.__qualname__}"
    if "<" in name or function.__module__ == "__main__":
        text = f"{name} cannot be imported by a child process: move it to the top of a module"
        raise ValueError(text)
    payload = {
        "function": name,
        "args": args,
        "kwargs": dict(kwargs or {}),
        "path": sys.path,
    }
    completed = await in_thread(
        Engine(
            Spec(
                argv=[sys.executable, "-I", "-c", _BOOT],
                input=json.dumps(payload).encode(),
                answer_limit=value_limit,
                **spec,
            )
        )
    )
    return _value(completed, name)


def _value(completed: Completed, name: str) -> Any:
    if completed.ended == "timeout":
        text = f"{name} was stopped after {completed.duration:.1f} s"
        raise TimeoutError(text)
    if completed.answer.dropped:
        text = f"{name} returned {completed.answer.total} bytes, more than allowed"
        raise ChildError(text, kind=None, completed=completed)
    try:
        answer = json.loads(completed.answer.data)
    except ValueError:
        text = f"{name} gave no answer: {describe(completed)}"
        raise ChildError(text, kind=None, completed=completed) from None
    if "error" not in answer:
        return answer["value"]
    raise _failure(answer["error"], completed)


def _failure(error: Mapping[str, Any], completed: Completed) -> Exception:
    """Return the tool failure that the function raised, or what tells of another one."""
    if error["module"].partition(".")[0] == "toolcrib":
        import toolcrib  # noqa: PLC0415 - only here, where the child has used it as well

        kind = getattr(toolcrib, error["kind"], None)
        if isinstance(kind, type) and issubclass(kind, toolcrib.ToolFailure):
            failure: Exception = kind(**error["fields"])
            return failure
    text = f"{error['kind']}: {error['text']}"
    return ChildError(text, kind=error["kind"], completed=completed)
