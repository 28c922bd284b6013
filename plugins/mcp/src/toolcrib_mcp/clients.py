"""All clients of a served toolbox: who they are, and room for each."""

from __future__ import annotations

import contextlib

from collections.abc import Mapping
from typing import Any

import mcp_types as types

from mcp import MCPError
from toolcrib import Toolbox

from .crowd import share
from .gateway import TASK_AFTER, Client


__all__ = ["Clients"]

_MOST = 1000
_MOST_OF_ONE = 100


class Clients:
    """The clients of a served toolbox, each by what identifies it.

    Every token has room for as many as any other one, and nobody else's fill it.

    Args:
        holders: How many tokens there are.

    Attributes:
        most_of_one: How many clients a token may have.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        *,
        mode: str | None = None,
        names: bool = False,
        idle: float = 1800.0,
        task_after: float = TASK_AFTER,
        holders: int = 1,
    ) -> None:
        self.toolbox = toolbox
        self.most_of_one = min(share(_MOST, holders), _MOST_OF_ONE)
        self._options: dict[str, Any] = {
            "mode": mode,
            "names": names,
            "task_after": task_after,
        }
        self._idle = idle
        self._clients: dict[str, Client] = {}
        self._headers: Mapping[str, Mapping[str, Any]] = {}

    async def of(self, key: str, principal: str) -> Client:
        """Return a client, new or known; idle ones make room."""
        client = self._clients.get(key)
        if client is None:
            await self._make_room(key.partition("\n")[0])
            # Its second request may have come meanwhile.
            client = self._clients.get(key)
        if client is None:
            client = self._clients[key] = Client(self.toolbox, principal, **self._options)
        return await client.open()

    def all(self) -> list[Client]:
        """Return every client."""
        return list(self._clients.values())

    def rank(self, key: str) -> tuple[bool, bool, float] | None:
        """Return what of several clients goes last; None if it may not go.

        Whoever listens, or has results to come back for, goes after others.
        """
        client = self._clients.get(key)
        if client is None:
            return (False, False, 0.0)
        return None if client.busy else (bool(client.listening), client.keeps, client.used)

    async def _make_room(self, holder: str) -> None:
        """See to it that a token that comes in often does not keep itself out.

        Raises:
            MCPError: there is no room.
        """
        own = [key for key in self._clients if key.partition("\n")[0] == holder]
        if len(own) < self.most_of_one:
            return
        ranks = {key: rank for key in own if (rank := self.rank(key)) is not None}
        if not ranks:
            message = "too many clients of this token are at work; try again later"
            raise MCPError(code=types.INTERNAL_ERROR, message=message)
        await self.forget(min(ranks, key=ranks.__getitem__))

    async def prime(self) -> None:
        """Look at the catalog as a new client would: what is projected is kept for all."""
        client = Client(self.toolbox, "toolcrib", **self._options)
        try:
            tools = await (await client.open()).tools()
        finally:
            await client.close()
        self._headers = {
            each["name"]: each["inputSchema"]
            for each in tools
            if _names_headers(each["inputSchema"])
        }

    def schema_with_headers(self, tool: str) -> Mapping[str, Any] | None:
        """Return a tool's schema, if arguments of it stand in headers as well."""
        return self._headers.get(tool)

    async def expire(self) -> None:
        """Close the sessions of clients that have not been heard of for long."""
        old = self.toolbox.clock.monotonic() - self._idle
        for key, client in list(self._clients.items()):
            if client.used < old and not (client.busy or client.keeps or client.listening):
                await self.forget(key)

    async def forget(self, key: str) -> None:
        """Close a client's session."""
        client = self._clients.pop(key, None)
        if client is not None:
            with contextlib.suppress(Exception):
                await client.close()

    async def close(self) -> None:
        """Close every session."""
        for key in list(self._clients):
            await self.forget(key)


def _names_headers(schema: Any) -> bool:
    """Tell whether a schema says that an argument stands in a header as well."""
    if isinstance(schema, Mapping):
        return "x-mcp-header" in schema or any(map(_names_headers, schema.values()))
    return isinstance(schema, list) and any(map(_names_headers, schema))
