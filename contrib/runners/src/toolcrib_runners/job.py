"""Programs that outlive a call: the job kind ``process``."""

from __future__ import annotations

import asyncio
import contextlib
import threading

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from .engine import Engine, Spec
from .process import in_thread


__all__ = ["ProcessKind"]


class JobControl(Protocol):
    """What the job store gives to a running job."""

    def write(self, data: bytes) -> None:
        """Add output."""


@attrs.frozen(kw_only=True)
class ProcessKind:
    """The job kind ``process``: register it with the app's job store.

    A job's arguments are ``argv``, and perhaps ``cwd``, ``env`` and ``timeout``. Its
    output is standard output and error in order; stopping it stops everything that it
    started. What a program leaves behind is stopped when it ends, and named.

    Attributes:
        timeout: Seconds for jobs that ask for no limit or a longer one; None: no limit.
        grace: Seconds between asking to end and killing.
    """

    name: str = "process"
    timeout: float | None = None
    grace: float = 1.0

    async def run(self, control: JobControl, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run a program to its end.

        Raises:
            OSError: the program cannot be started.
            TypeError: the arguments are not those of a process.
        """
        unknown = set(arguments) - {"argv", "cwd", "env", "timeout"}
        if unknown:
            text = (
                f"a process takes argv, cwd, env and timeout, not {', '.join(sorted(unknown))}"
            )
            raise TypeError(text)
        limits = [t for t in (self.timeout, arguments.get("timeout")) if t is not None]
        spec = Spec(
            argv=arguments.get("argv", ()),
            cwd=arguments.get("cwd"),
            env=arguments.get("env"),
            timeout=min(limits, default=None),
            grace=self.grace,
            merge=True,
            # The job store keeps the output; here it would only be kept twice.
            output_limit=0,
            on_output=_forwarder(control),
        )
        completed = await in_thread(Engine(spec))
        return {
            "ended": completed.ended,
            "returncode": completed.returncode,
            "signal": completed.signal,
            "duration": completed.duration,
            "detached": [m.pid for m in completed.detached],
            "survivors": [m.pid for m in completed.survivors],
        }


def _forwarder(control: JobControl) -> Callable[[Any, bytes], None]:
    """Return what hands output to the loop, one piece at a time, so none piles up."""
    loop = asyncio.get_running_loop()

    def forward(_stream: str, data: bytes) -> None:
        taken = threading.Event()

        def take() -> None:
            control.write(data)
            taken.set()

        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(take)
            while not taken.wait(1.0) and not loop.is_closed():
                pass

    return forward
