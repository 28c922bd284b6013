"""A connection to our server, byte by byte, for clients that no library would be."""

from __future__ import annotations

import asyncio
import json

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import attrs

from mcp_kit import Listening


TOKENS = {"alice": "alice-token-0123456789", "bob": "bob-token-0123456789"}


@attrs.define
class Line:
    """One connection, byte by byte."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    host: str

    @classmethod
    @asynccontextmanager
    async def open(cls, server: Listening) -> AsyncIterator[Line]:
        """Connect."""
        line = await cls.to(server)
        try:
            yield line
        finally:
            line.writer.close()

    @classmethod
    async def to(cls, server: Listening) -> Line:
        """Connect, for as long as the line is kept."""
        host, port = server.place
        reader, writer = await asyncio.open_connection(host, port, limit=1 << 24)
        return cls(reader, writer, f"{host}:{port}")

    async def close(self) -> None:
        """Leave, and wait until that is so."""
        self.writer.close()
        await self.writer.wait_closed()

    def head(self, who: str | None, length: int, method: str = "POST", **more: str) -> bytes:
        """Return the head of a request, with a token or without."""
        named = {"Host": self.host, "Content-Type": "application/json"}
        named["Accept"] = "application/json, text/event-stream"
        if who is not None:
            named["Authorization"] = f"Bearer {TOKENS[who]}"
        named |= {key.replace("_", "-"): value for key, value in more.items()}
        if method == "POST":
            named["Content-Length"] = str(length)
        lines = "".join(f"{key}: {value}\r\n" for key, value in named.items())
        return f"{method} /mcp HTTP/1.1\r\n{lines}\r\n".encode()

    def request(self, who: str | None, message: Any, **more: str) -> bytes:
        """Return a whole request."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        return self.head(who, len(body), **more) + body

    async def trickle(self, piece: bytes = b" ") -> bytes:
        """Send a little, again and again, and return what comes until the other end closes."""
        reading = asyncio.create_task(self.rest())
        while not reading.done():
            self.writer.write(piece)
            await asyncio.sleep(0.05)
        return await reading

    async def rest(self) -> bytes:
        """Return all that comes until the other end closes."""
        said = b""
        async with asyncio.timeout(10):
            try:
                while piece := await self.reader.read(1 << 16):
                    said += piece
            except ConnectionResetError:
                pass
        return said

    async def until(self, text: bytes) -> bytes:
        """Return what comes until some text has come."""
        said = b""
        async with asyncio.timeout(10):
            while text not in said:
                piece = await self.reader.read(1 << 16)
                assert piece, said
                said += piece
        return said

    async def answer(self) -> tuple[bytes, bytes]:
        """Return head and body of one answer."""
        async with asyncio.timeout(10):
            head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
            if b"content-length: " in head:
                size = int(head.partition(b"content-length: ")[2].split()[0])
                return head, await self.reader.readexactly(size)
            body = b""
            while size := int(await self.reader.readuntil(b"\r\n"), 16):
                body += (await self.reader.readexactly(size + 2))[:-2]
            await self.reader.readexactly(2)
            return head, body

    async def session(self, who: str) -> str:
        """Begin a session of the revision 2025-11-25."""
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        }
        message = {"id": 1, "method": "initialize", "params": params}
        self.writer.write(self.request(who, message))
        head, _ = await self.answer()
        assert b"mcp-session-id: " in head, head
        return head.partition(b"mcp-session-id: ")[2].split()[0].decode()

    async def called(self, who: str, session: str, tool: str, **arguments: Any) -> bytes:
        """Call a tool, and return what is answered."""
        message = {"id": 2, "method": "tools/call", "params": called(tool, arguments)}
        self.writer.write(self.request(who, message, Mcp_Session_Id=session))
        return (await self.answer())[1]

    async def status(self, who: str, session: str | None = None) -> bytes:
        """Return how a plain request is answered."""
        more = {"Mcp-Session-Id": session} if session is not None else {}
        self.writer.write(self.request(who, {"id": 3, "method": "ping"}, **more))
        return (await self.answer())[0].split()[1]


def called(tool: str, arguments: Any) -> dict[str, Any]:
    """Return the parameters of a call."""
    return {"name": f"desk_{tool}", "arguments": arguments}
