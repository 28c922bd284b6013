"""What is asked of pages from within, out of the reach of their own code.

Playwright runs selector engines that are registered as content scripts in a world of their
own: they see the same document, but a page can neither call nor replace what they are made
of. ``inside.js`` is one; a text that it answers comes back as a comment that is in no page.
"""

from __future__ import annotations

import asyncio
import json

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any


if TYPE_CHECKING:
    from playwright.async_api import Frame, Page, Playwright


__all__ = ["asked", "asking", "install", "surveyed"]

_NAME = "toolcrib"
_SOURCE = Path(__file__).with_name("inside.js")
_SECONDS = 30.0


async def install(driver: Playwright) -> None:
    """Make the pack's questions known to a driver, before it opens pages."""
    await driver.selectors.register(_NAME, path=_SOURCE, content_script=True)


def asking(what: str, ref: str = "") -> str:
    """Return the selector that asks something, of an element if a ref is given."""
    return f"aria-ref={ref} >> {_NAME}={what}" if ref else f"{_NAME}={what}"


async def asked(
    where: Page | Frame, what: str, ref: str = "", *, seconds: float = _SECONDS
) -> Any:
    """Ask something and return the answer.

    Args:
        where: A frame; for an element, the page.
        what: ``survey``, ``opaque``, ``end``, ``cover`` with the places of fields in the
            last survey, or ``uncover``; ``facts`` or ``options`` of an element.
        ref: The element.
        seconds: How long to look for the element or wait for a document.
    """
    text = await where.text_content(asking(what, ref), timeout=seconds * 1000)
    return json.loads(text or "null")


async def surveyed(frames: Sequence[Frame]) -> list[dict[str, Any] | None]:
    """Return what each frame says of its fields; None of those that cannot be asked.

    Raises:
        Exception: the first one, the page itself, cannot be.
    """
    found = await asyncio.gather(
        *(asked(frame, "survey") for frame in frames), return_exceptions=True
    )
    if found and isinstance(found[0], BaseException):
        raise found[0]
    return [survey if isinstance(survey, dict) else None for survey in found]
