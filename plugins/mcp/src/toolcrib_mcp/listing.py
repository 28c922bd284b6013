"""What a server lists, page by page, bounded: a list that never ends ends here."""

from __future__ import annotations

import asyncio
import json

from collections.abc import Mapping
from typing import Any

import attrs
import mcp_types as types

from mcp import MCPError
from pydantic import TypeAdapter

from .connection import Live


__all__ = ["ANY", "Listed", "Unlistable", "everything"]

ANY: Any = TypeAdapter(dict[str, Any])
"""Takes a result as it is."""

MOST_PAGES = 200
MOST_ITEMS = 10_000
MOST_BYTES = 8 * 1024 * 1024

_REQUESTS: dict[str, tuple[type[Any], str]] = {
    "tools": (types.ListToolsRequest, "tools"),
    "resources": (types.ListResourcesRequest, "resources"),
    "templates": (types.ListResourceTemplatesRequest, "resourceTemplates"),
    "prompts": (types.ListPromptsRequest, "prompts"),
}


class Unlistable(Exception):  # noqa: N818 - it says what is so
    """Raised when a server's list cannot be told."""


@attrs.frozen
class Listed:
    """Raw items in the server's order, and what was odd about the list."""

    items: tuple[Any, ...]
    warnings: tuple[str, ...] = ()


async def everything(live: Live, what: str, *, timeout: float) -> Listed:
    """Return everything of a kind that a server lists.

    Args:
        live: The connection.
        what: ``tools``, ``resources``, ``templates`` or ``prompts``.
        timeout: Seconds for each page.

    Raises:
        Unlistable: the first page cannot be had.
    """
    items: list[Any] = []
    warnings: list[str] = []
    seen: set[str] = set()
    cursor: str | None = None
    size = 0
    for page in range(MOST_PAGES + 1):
        if page == MOST_PAGES:
            warnings.append(f"the list goes on after {MOST_PAGES} pages; the rest is left out")
            break
        try:
            raw = await _page(live, what, cursor, timeout)
        except MCPError as error:
            if page == 0:
                raise Unlistable(error.message) from error
            warnings.append(f"page {page + 1} of the list cannot be read: {error.message}")
            break
        found = raw.get(_REQUESTS[what][1])
        found = found if isinstance(found, list) else []
        fit, taken = await asyncio.to_thread(_fitting, found, MOST_BYTES - size)
        items += fit
        size += taken
        if len(items) >= MOST_ITEMS or len(fit) < len(found):
            del items[MOST_ITEMS:]
            warnings.append(f"the list is too long; what comes after {len(items)} is left out")
            break
        # An empty mark is no mark; servers send it for the last page.
        cursor = raw.get("nextCursor") or None
        if cursor is None:
            break
        if not isinstance(cursor, str) or cursor in seen:
            warnings.append("the list's continuation mark comes again; the list ends there")
            break
        seen.add(cursor)
    return Listed(tuple(items), tuple(warnings))


def _fitting(items: list[Any], most: int) -> tuple[list[Any], int]:
    """Return the first items that are together not too large, and their size."""
    size = 0
    for place, item in enumerate(items):
        try:
            own = len(json.dumps(item))
        except (TypeError, ValueError, RecursionError):
            own = 0  # Whoever looks at the item alone says what is wrong with it.
        if size + own > most:
            return items[:place], size
        size += own
    return items, size


async def _page(live: Live, what: str, cursor: str | None, timeout: float) -> Mapping[str, Any]:
    params = types.PaginatedRequestParams(cursor=cursor) if cursor is not None else None
    if what == "tools":
        # The SDK reads here which arguments go into headers as well, and which tools
        # declare such headers wrongly.
        result = await live.session.list_tools(params=params)
        raw = dict(live.tap.taken(result.meta))
        kept = {tool.name for tool in result.tools}
        listed = raw.get("tools")
        raw["tools"] = await asyncio.to_thread(_right, listed, kept)
        return raw
    request, _ = _REQUESTS[what]
    answer = await live.session.send_request(
        request(params=params), ANY, request_read_timeout_seconds=timeout
    )
    return live.tap.taken(answer.get("_meta"))


def _right(listed: Any, kept: set[str]) -> list[Any]:
    listed = listed if isinstance(listed, list) else []
    return [tool for tool in listed if _headers_are_right(tool, kept)]


def _headers_are_right(tool: Any, kept: set[str]) -> bool:
    if not isinstance(tool, dict) or "x-mcp-header" not in str(tool.get("inputSchema")):
        return True
    return tool.get("name") in kept
