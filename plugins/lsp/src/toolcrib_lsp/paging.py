"""Pages of a list: a place to go on that says when the list is another one."""

from __future__ import annotations

import hashlib

from collections.abc import Callable, Sequence
from typing import TypeVar

from toolcrib import Invalid


__all__ = ["page"]

T = TypeVar("T")


def page(
    items: Sequence[T], limit: int, cursor: str | None, key: Callable[[T], str]
) -> tuple[Sequence[T], str | None]:
    """Return one page, and where to go on, or None at the end.

    Raises:
        Invalid: the cursor is none, or of another answer than today's.
    """
    if cursor is None and len(items) <= limit:
        return items, None
    digest = hashlib.sha256("\n".join(map(key, items)).encode("utf-8", "replace"))
    mark = digest.hexdigest()[:12]
    start = 0
    if cursor is not None:
        number, _, given = cursor.partition(".")
        if not number.isascii() or not number.isdigit() or len(number) > 9 or not given:
            text = f"{cursor[:40]!r} is no cursor that this tool gave. Leave it out."
            raise Invalid("/cursor", text, code="lsp.bad_cursor")
        if given != mark:
            text = "The answer has changed since that page. Begin again without a cursor."
            raise Invalid("/cursor", text, code="lsp.stale_cursor")
        start = int(number)
    end = start + limit
    return items[start:end], f"{end}.{mark}" if end < len(items) else None
