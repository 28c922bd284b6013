"""A press that is watched: whether the element read as it was seen when the press came.

The guard stands in the page, in a world that the page's code does not reach, and compares
how the element reads the moment the press comes with how it read during the last look. What
it found it says on the browser's console, under a number that the page never sees: that
reaches us although the press itself may have led to another document.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets

from typing import TYPE_CHECKING, Any, Literal

from .inside import asked, asking


if TYPE_CHECKING:
    from playwright.async_api import Page


__all__ = ["Ear", "Guard", "Verdict", "is_ours"]

#: ``went``: the element read the same; ``stopped``: it did not, and nothing was pressed;
#: empty: the press never came by.
Verdict = Literal["went", "stopped", ""]

_LATE = 1.0
_NOISE = 50
_OURS = re.compile(r"toolcrib (?P<number>[0-9a-f]{32}) (?P<word>framed|went|stopped)")


def is_ours(message: str) -> bool:
    """Tell whether a message of the console is one of a guard's."""
    return _OURS.fullmatch(message) is not None


class Ear:
    """What hears the guards of a page.

    Args:
        page: The page.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self._guards: dict[str, Guard] = {}
        self._listening = False
        self._others = 0

    def hear(self, number: str, guard: Guard) -> None:
        """Pass on to a guard what is said under its number."""
        self._guards[number] = guard
        self._others = 0
        if not self._listening:
            self._listening = True
            self._page.on("console", self._said)

    def forget(self, number: str) -> None:
        """Pass on nothing more under a number."""
        self._guards.pop(number, None)

    def _said(self, message: Any) -> None:
        found = _OURS.fullmatch(str(message.text))
        if found is not None and found["number"] in self._guards:
            self._guards[found["number"]].told(found["word"])
            return
        # To go on listening costs nothing, unless the page itself has much to say.
        self._others += 1
        if self._others > _NOISE and not self._guards and self._listening:
            self._listening = False
            self._page.remove_listener("console", self._said)


class Guard:
    """The watch over one press.

    Args:
        page: Where.
        ear: What hears the guards of that page.
        ref: The element that is to be pressed.

    Attributes:
        framed: Whether the element is or holds a frame, in which the press could land.
    """

    def __init__(self, page: Page, ear: Ear, ref: str) -> None:
        self.framed = False
        self._page = page
        self._ear = ear
        self._ref = ref
        self._number = secrets.token_hex(16)
        self._verdict: Verdict = ""
        self._known = asyncio.Event()
        ear.hear(self._number, self)

    @property
    def selector(self) -> str:
        """What finds the element and sets the guard, in one moment."""
        return asking(f"arm {self._number}", self._ref)

    @property
    def stopped(self) -> bool:
        """Whether it is known that it stopped the press."""
        return self._verdict == "stopped"

    def told(self, word: str) -> None:
        """Note what the guard in the page said; of the press, the first word counts."""
        if word == "framed":
            self.framed = True
        elif not self._verdict:
            self._verdict = "went" if word == "went" else "stopped"
            self._known.set()

    async def verdict(self) -> Verdict:
        """Return what came of the press; to be asked once it was made."""
        # It was said before the press returned, unless the page is on its way elsewhere.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LATE):
                await self._known.wait()
        return self._verdict

    def close(self) -> None:
        """Hear no more of it; the next look at the page ends what stands in the page."""
        self._ear.forget(self._number)

    async def end(self) -> None:
        """End what stands in the page, where no look will."""
        self.close()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(asked(self._page, "end", self._ref, seconds=0.5), 2.0)
