"""What goes wrong in a browser, as failures of calls that say what to do next."""

from __future__ import annotations

import asyncio
import re

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NoReturn

from toolcrib import Failed, ToolFailure, Transient, Uncertain

from .desk import Desk
from .fields import redacted
from .marks import cleaned
from .observing import View, describe, observe
from .tabs import PageHungError, Tab


if TYPE_CHECKING:
    from toolcrib import Context


__all__ = ["answering", "hung", "is_gone", "obstacle", "with_look"]

_LOOK = View(most=8 * 1024)
_GONE = re.compile(r"has been closed|Target crashed|Target closed|Connection closed|closed$")
_OBSTACLES = (
    (r"(<[^\n]{1,200}?>)[^\n]*intercepts pointer events", "{} covers it"),
    (r"element is not stable", "it keeps moving"),
    (r"element is not visible", "it cannot be seen"),
    (r"element is not enabled", "it is disabled"),
    (r"element is not editable", "it cannot be edited"),
    (r"element is outside of the viewport", "it is outside of the window"),
    (r"element was detached|not attached to the DOM", "it was taken out of the page"),
    (r"did not find some options", "it has no such option"),
    (r"Not a checkbox or radio", "it is no checkbox and no radio button"),
    (r"Clicking the checkbox did not change its state", "its state did not change"),
    (r"not an <input>, <textarea>|Element is not an <(?:input|select)", "it is no field"),
    (r"Malformed value|Cannot type text into", "it does not take such a value"),
)


def is_gone(error: BaseException) -> bool:
    """Tell whether an error says that page, context or browser is no more."""
    return type(error).__name__ == "TargetClosedError" or bool(
        _GONE.search(str(error).partition("\n")[0])
    )


def obstacle(error: BaseException) -> str | None:
    """Return what was in an action's way, in words, or None if nothing known was.

    Taken from known phrases only: the rest of such an error repeats what was typed.
    """
    text = str(error)
    best: tuple[int, str] | None = None
    for pattern, words in _OBSTACLES:
        for match in re.finditer(pattern, text):
            found = words.format(cleaned(match[1], 160)) if match.groups() else words
            if best is None or match.start() > best[0]:
                best = (match.start(), found)
    return None if best is None else best[1]


async def with_look(desk: Desk, tab: Tab, text: str) -> str:
    """Return a text with a fresh look at the page behind it, where there can be one."""
    text = redacted(text, desk.secrets)
    if tab.dead or not desk.alive:
        return f"{text} {desk.listing()}"
    try:
        seen = await asyncio.wait_for(observe(desk, tab, _LOOK), 10.0)
    except Exception:  # noqa: BLE001 - the text itself matters more
        return f"{text} Page {tab.id} could not be looked at; try browser.snapshot."
    return f"{text}\nThis is how the page is now.\n{describe(desk, tab, seen)}"


async def hung(desk: Desk, tab: Tab, *, done: bool) -> NoReturn:
    """Close a page that does not answer, and say so.

    Raises:
        Uncertain: something was being done to it.
        Failed: nothing was.
    """
    reason = "its code ran without end and it was closed"
    tab.end(reason)
    await tab.close()
    desk.forget(tab, reason)
    text = f"Page {tab.id} does not answer: {reason}. {desk.listing()}"
    if done:
        raise Uncertain(
            f"{text} Whether the action took effect cannot be known.", code="browser.page_hung"
        )
    raise Failed(text, code="browser.page_hung")


@asynccontextmanager
async def answering(ctx: Context, desk: Desk, tab: Tab) -> AsyncIterator[None]:
    """Turn what a browser raises, while nothing is being changed, into failures."""
    try:
        yield
    except ToolFailure:
        raise
    except PageHungError:
        await hung(desk, tab, done=False)
    except Exception as error:  # noqa: BLE001 - whatever the driver raises
        if tab.dead or is_gone(error) or not desk.alive:
            reason = await desk.gone(tab)
            text = f"Page {tab.id} is gone: {reason}. Nothing was done. {desk.listing()}"
            raise Failed(text, code="browser.page_gone") from None
        first = str(error).partition("\n")[0][:200]
        ctx.sub_logger().warning("page %s: %s", tab.id, first)
        text = f"Page {tab.id} could not be looked at: {_harmless(first)}. Try again."
        raise Transient(text, code="browser.failed") from None


def _harmless(text: str) -> str:
    return cleaned(text, 200).rstrip(".")
