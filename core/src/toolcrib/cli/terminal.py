"""Ask the person at the terminal: on its device, never on standard input.

No option, variable or pipe answers in a person's place. What was typed before a question
was shown is no answer to it, and neither is anything in a process that runs in the
background.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading

from collections.abc import Callable, Iterator

from toolcrib.question import Allow, AllowRule, Decision, Deny, Question
from toolcrib.vocabulary import Scope

from .output import note, plain


__all__ = ["TerminalApprover", "confirmed", "is_there"]

_POSIX = os.name == "posix"
_TRIES = 3


class _Device:
    """The open terminal device."""

    def __init__(self, reader: int, writer: int) -> None:
        self._reader, self._writer = reader, writer

    def show(self, text: str) -> None:
        """Write a text; control codes in it are made visible."""
        data = plain(text).encode("utf-8", "backslashreplace")
        while data:
            data = data[os.write(self._writer, data) :]

    def forget(self) -> None:
        """Drop what was typed before now."""
        if _POSIX:
            import termios  # noqa: PLC0415 - there is none elsewhere

            with contextlib.suppress(termios.error):
                termios.tcflush(self._reader, termios.TCIFLUSH)

    async def line(self) -> str | None:
        """Wait for a line; None if the terminal went away. Cancelling stops the wait."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[bytes] = loop.create_future()
        stopped, stop = os.pipe()

        def wait() -> None:
            try:
                data = _read_line(self._reader, stopped)
            except OSError:
                data = b""
            loop.call_soon_threadsafe(_settle, answer, data)

        # select() knows terminals on every system; event loops do not.
        thread = threading.Thread(target=wait, name="terminal", daemon=True)
        thread.start()
        try:
            data = await answer
        finally:
            os.close(stop)
            if _POSIX:
                thread.join()
                os.close(stopped)
        return data.decode("utf-8", "replace") if data else None


def _settle(answer: asyncio.Future[bytes], data: bytes) -> None:
    if not answer.done():
        answer.set_result(data)


def _read_line(reader: int, stopped: int) -> bytes:
    """Read up to a line's end; nothing at the end of input, or if told to stop."""
    import select  # noqa: PLC0415 - only where somebody is asked

    data = b""
    while not data.endswith(b"\n"):
        if _POSIX and stopped in select.select([reader, stopped], [], [])[0]:
            return b""
        more = os.read(reader, 1024)
        if not more:
            return b""
        data += more
    return data


@contextlib.contextmanager
def _device() -> Iterator[_Device | None]:
    """Open the terminal of this process; None where nobody could answer."""
    opened: list[int] = []
    try:
        try:
            if _POSIX:
                opened.append(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
                if os.tcgetpgrp(opened[0]) != os.getpgrp():
                    yield None
                    return
            else:
                opened += [os.open("CONIN$", os.O_RDWR), os.open("CONOUT$", os.O_RDWR)]
        except OSError:
            yield None
            return
        yield _Device(opened[0], opened[-1])
    finally:
        for descriptor in opened:
            os.close(descriptor)


def is_there() -> bool:
    """Tell whether a person could be asked."""
    with _device() as device:
        return device is not None


async def _asked(text: str, keys: str, read: Callable[[str], object | None]) -> object | None:
    """Show a text and read an answer; None: there is none."""
    sys.stdout.flush()
    with _device() as device:
        if device is None:
            return None
        device.show(text)
        for _ in range(_TRIES):
            device.forget()
            device.show(f"{keys}\n> ")
            line = await device.line()
            if line is None:
                return None
            answer = read(line.strip().casefold())
            if answer is not None:
                return answer
    return None


def confirmed(text: str) -> bool | None:
    """Ask the person yes or no; None where nobody can be asked."""
    answers = {"y": True, "yes": True, "n": False, "no": False}
    answer = asyncio.run(_asked(text, "[y] yes  [n] no", answers.get))
    return answer if isinstance(answer, bool) else None


class TerminalApprover:
    """Answers questions by asking at the terminal; None where there is no answer."""

    def __init__(self, *, by: str) -> None:
        self._by = by

    async def __call__(self, question: Question) -> Decision | None:
        """Show a question in full and read the answer."""
        keys = "[y] once  [s] this call, this session"
        if question.rule_offered:
            keys += "  [r] the rule, this session  [p] the rule, always"
        answer = await _asked(
            _shown(question), f"{keys}  [n] no", lambda key: self._decision(key, question)
        )
        if isinstance(answer, Allow | AllowRule | Deny):
            return answer
        note(
            f"{question.tool_id}: {question.id} is open; there is nobody to ask. Run it at a "
            f"terminal, or allow it: toolcrib explain {question.tool_id} ARGUMENTS"
        )
        return None

    def _decision(self, key: str, question: Question) -> Decision | None:
        if key in {"y", "yes"}:
            return Allow(by=self._by)
        if key == "s":
            return Allow(by=self._by, scope=Scope.SESSION)
        if key == "r" and question.rule_offered:
            return AllowRule(by=self._by, scope=Scope.SESSION)
        if key == "p" and question.rule_offered:
            return AllowRule(by=self._by, scope=Scope.PROJECT)
        if key in {"n", "no"}:
            return Deny(by=self._by)
        return None


def _shown(question: Question) -> str:
    """Say everything that would run, and why it is asked."""
    lines = ["", f"── {question.tool_id} asks: {question.title}"]
    lines += [f"   {name}: {value!r}" for name, value in question.arguments.items()]
    lines += [f"   touches: {resource}" for resource in question.resources]
    lines += [f"   because: {reason}" for reason in question.reasons]
    if question.preview:
        lines += ["   preview:", *(f"   │ {t}" for t in question.preview.split("\n"))]
    if question.rule_offered:
        lines.append(f"   rule: {question.rule_offered}")
    return "\n".join(lines) + "\n"
