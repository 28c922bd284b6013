"""What a server lists, page by page, bounded: a list that never ends ends here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import mcp_types as types

from mcp import MCPError
from pydantic import TypeAdapter

from .connection import Live
from .wire import RAW


__all__ = ["ANY", "Listed", "Unlistable", "everything"]

ANY: Any = TypeAdapter(dict[str, Any])
"""Takes a result as it is."""

MOST_PAGES = 200
MOST_ITEMS = 10_000
MOST_BYTES = 32 * 1024 * 1024

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
        items += found if isinstance(found, list) else []
        size += len(str(found))
        if len(items) >= MOST_ITEMS or size > MOST_BYTES:
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


async def _page(live: Live, what: str, cursor: str | None, timeout: float) -> Mapping[str, Any]:
    params = types.PaginatedRequestParams(cursor=cursor) if cursor is not None else None
    if what == "tools":
        # The SDK reads here which arguments go into headers as well, and which tools
        # declare such headers wrongly.
        result = await live.session.list_tools(params=params)
        raw = dict((result.meta or {}).get(RAW, {}))
        kept = {tool.name for tool in result.tools}
        raw["tools"] = [t for t in raw.get("tools") or () if _headers_are_right(t, kept)]
        return raw
    request, _ = _REQUESTS[what]
    answer = await live.session.send_request(
        request(params=params), ANY, request_read_timeout_seconds=timeout
    )
    raw = answer["_meta"][RAW]
    return raw if isinstance(raw, Mapping) else {}


def _headers_are_right(tool: Any, kept: set[str]) -> bool:
    if not isinstance(tool, dict) or "x-mcp-header" not in str(tool.get("inputSchema")):
        return True
    return tool.get("name") in kept
