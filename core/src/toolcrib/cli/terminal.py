"""Ask the person at the terminal: on its device, never on standard input."""

from __future__ import annotations

import contextlib
import os
import sys

from collections.abc import Iterator
from typing import TextIO

from ..question import Allow, AllowRule, Decision, Deny, Question
from ..vocabulary import Scope


__all__ = ["TerminalApprover"]

_DEVICE = "CON" if os.name == "nt" else "/dev/tty"
_KEYS = "[y] once  [s] this session  [r] the rule, this session  [p] the rule, always  [n] no"


def _plain(text: str) -> str:
    """Make control characters visible: what is shown is all of what runs."""
    return "".join(
        c if c in "\n\t" or c.isprintable() else c.encode("unicode_escape").decode()
        for c in text
    )


class TerminalApprover:
    """Answers questions by asking on the terminal device; None where there is none."""

    def __init__(self, *, by: str) -> None:
        self._by = by

    @contextlib.contextmanager
    def _device(self) -> Iterator[tuple[TextIO, TextIO] | None]:
        try:
            reader = open(_DEVICE, encoding="utf-8", errors="replace")  # noqa: SIM115
            writer = open(_DEVICE, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
        except OSError:
            yield None
            return
        with reader, writer:
            yield reader, writer

    def __call__(self, question: Question) -> Decision | None:
        """Show a question in full and read the answer."""
        sys.stdout.flush()
        with self._device() as device:
            if device is None:
                return None
            reader, writer = device
            writer.write(self._shown(question))
            for _ in range(3):
                writer.write(f"{_KEYS}\n> ")
                writer.flush()
                line = reader.readline()
                if not line:
                    return None
                decision = self._decision(line.strip().casefold(), question)
                if decision is not None:
                    return decision
        return None

    def _shown(self, question: Question) -> str:
        lines = ["", f"── {question.tool_id} asks: {question.title}"]
        lines += [f"   {name}: {value!r}" for name, value in question.arguments.items()]
        lines += [f"   touches: {resource}" for resource in question.resources]
        lines += [f"   because: {reason}" for reason in question.reasons]
        if question.preview:
            lines += ["   preview:", *(f"   │ {t}" for t in question.preview.splitlines())]
        if question.rule_offered:
            lines.append(f"   rule: {question.rule_offered}")
        return _plain("\n".join(lines)) + "\n"

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
