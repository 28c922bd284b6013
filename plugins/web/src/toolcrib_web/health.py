"""How providers have been doing, and how often each may still be asked today."""

from __future__ import annotations

import json
import os
import time

from collections.abc import Callable, Sequence
from pathlib import Path

import attrs


__all__ = ["Health"]

_FIRST_PAUSE = 15.0
_LONGEST_PAUSE = 900.0


@attrs.define
class _State:
    failures: int = 0
    until: float = 0.0
    seconds: float = 0.0


class Health:
    """What is known of each provider.

    Args:
        folder: Where the day's numbers are kept.
        clock: Seconds that never go back.
        today: The day's name.
    """

    def __init__(
        self,
        folder: Path,
        *,
        clock: Callable[[], float] = time.monotonic,
        today: Callable[[], str] = lambda: time.strftime("%Y-%m-%d", time.gmtime()),
    ) -> None:
        self._path = folder / "budgets.json"
        self._clock = clock
        self._today = today
        self._states: dict[str, _State] = {}

    def order(self, names: Sequence[str]) -> list[str]:
        """Return providers in the order to ask them: those that pause come last."""
        now = self._clock()
        resting = [n for n in names if self._state(n).until > now]
        return [n for n in names if n not in resting] + resting

    def pause(self, name: str) -> float:
        """Return for how many more seconds a provider is better left alone."""
        return max(0.0, self._state(name).until - self._clock())

    def succeeded(self, name: str, seconds: float) -> None:
        """Note that a provider answered."""
        state = self._state(name)
        state.failures, state.until = 0, 0.0
        state.seconds = seconds if not state.seconds else 0.7 * state.seconds + 0.3 * seconds

    def failed(self, name: str, *, wait: float | None = None) -> None:
        """Note that a provider failed: it is left alone for longer each time."""
        state = self._state(name)
        state.failures += 1
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(state.failures - 1, 10))
        state.until = self._clock() + (pause if wait is None else max(wait, 1.0))

    def spend(self, name: str, budget: int) -> bool:
        """Count a request against a day's budget; False if there is nothing left."""
        if budget <= 0:
            return True
        day, spent = self._read()
        if spent.get(name, 0) >= budget:
            return False
        spent[name] = spent.get(name, 0) + 1
        self._write(day, spent)
        return True

    def _state(self, name: str) -> _State:
        return self._states.setdefault(name, _State())

    def _read(self) -> tuple[str, dict[str, int]]:
        day = self._today()
        try:
            value = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return day, {}
        same = isinstance(value, dict) and value.get("day") == day
        spent = value.get("spent") if same else None
        return day, dict(spent) if isinstance(spent, dict) else {}

    def _write(self, day: str, spent: dict[str, int]) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = self._path.with_suffix(f".{os.getpid()}.new")
        new.write_text(json.dumps({"day": day, "spent": spent}))
        new.replace(self._path)
