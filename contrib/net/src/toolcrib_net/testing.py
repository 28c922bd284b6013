"""Servers on this machine for tests: what they answer is up to the test, to the byte.

::

    with Site() as site:
        site.add("/page", ok("hello", "text/plain"))
        policy = NetPolicy(allow=["127.0.0.1"])        # said explicitly, or it is refused
        ...
        assert site.hits == ["GET /page"]
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
import sys
import threading

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address
from types import TracebackType
from typing import Any, Self

import attrs


__all__ = ["Asked", "NameServer", "Responder", "Site", "ok", "reply", "watched"]


@attrs.frozen
class Asked:
    """One request as the server read it."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


#: Bytes to send, or what makes them, or what writes them itself.
Responder = (
    bytes | Callable[[Asked], bytes] | Callable[[Asked, asyncio.StreamWriter], Awaitable[None]]
)


def reply(
    status: int, body: bytes | str = b"", headers: Iterable[tuple[str, str]] = ()
) -> bytes:
    """Return a whole answer, with its length, that ends the connection."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} Status", f"Content-Length: {len(data)}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(lines).encode("utf-8") + b"\r\n\r\n" + data


def ok(body: bytes | str, content_type: str = "text/html; charset=utf-8", **more: str) -> bytes:
    """Return an answer with status 200; further headers by name, ``_`` for ``-``."""
    headers = [("Content-Type", content_type)] if content_type else []
    headers += [(name.replace("_", "-"), value) for name, value in more.items()]
    return reply(200, body, headers)


class Site:
    """A server in a thread of its own, for tests with or without a loop.

    Args:
        host: Address to listen on.
        tls: Context with the server's certificate, for HTTPS.

    Attributes:
        port: Where it listens, once entered.
        asked: Every request, in order.
        connections: How many connections were accepted.
    """

    def __init__(self, host: str = "127.0.0.1", *, tls: ssl.SSLContext | None = None) -> None:
        self.host = host
        self.port = 0
        self.asked: list[Asked] = []
        self.connections = 0
        self._tls = tls
        self._routes: dict[str, Responder] = {}
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._stop: asyncio.Event | None = None

    @property
    def hits(self) -> list[str]:
        """Method and path of every request, in order."""
        return [f"{each.method} {each.path}" for each in self.asked]

    def add(self, path: str, responder: Responder) -> None:
        """Say what is sent for a path; a query is ignored where no path with it is known."""
        self._routes[path] = responder

    def url(self, path: str = "/", host: str | None = None) -> str:
        """Return the address of a path, under a name of the test's choice."""
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://{host or self.host}:{self.port}{path}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._main())
        finally:
            self._loop.close()

    async def _main(self) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._serve, self.host, 0, ssl=self._tls)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        own = asyncio.current_task()
        tasks = [task for task in asyncio.all_tasks() if task is not own]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (asked := await _read(reader)) is not None:
                self.asked.append(asked)
                if not await self._respond(asked, writer):
                    break
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _respond(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Send what the route says; True if the connection stays open."""
        plain = asked.path.partition("?")[0]
        responder = self._routes.get(asked.path, self._routes.get(plain))
        if responder is None:
            responder = reply(404, "nothing here", [("Content-Type", "text/plain")])
        if isinstance(responder, bytes):
            data = responder
        elif responder.__code__.co_argcount == 1:
            data = responder(asked)  # type: ignore[assignment,call-arg]
        else:
            await responder(asked, writer)  # type: ignore[call-arg,misc]
            return False
        writer.write(data)
        await writer.drain()
        return b"Connection: close" not in data.partition(b"\r\n\r\n")[0]


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, body)


_HEAD = struct.Struct(">HHHHHH")
_RECORD = struct.Struct(">HHHIH")
_A, _CNAME, _AAAA = 1, 5, 28


class NameServer:
    """A name server over UDP, in a thread of its own, that answers otherwise each time.

    Whoever resolves names through the system can be led to it; ``resolve`` asks it
    directly, and makes it a resolver for a client.

    Args:
        names: Name → answers, which are given in turn to each kind of question; the last
            one stays. An answer holds addresses, or another name for an alias.
        host, port: Where it listens.

    Attributes:
        asked: The names that were asked for, once for each question, in order.
    """

    def __init__(
        self,
        names: Mapping[str, Sequence[Sequence[str]]],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self.asked: list[str] = []
        self._names = dict(names)
        self._turns: dict[tuple[str, int], int] = {}
        self._place = (host, port)
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens, once entered."""
        host, port = self._socket.getsockname()
        return host, port

    def __enter__(self) -> Self:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(self._place)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", self.address)
        self._thread.join(10)
        self._socket.close()

    def _run(self) -> None:
        while True:
            question, sender = self._socket.recvfrom(4096)
            if not question:
                return
            self._socket.sendto(self._answer(question), sender)

    def _answer(self, question: bytes) -> bytes:
        number, _, _, _, _, _ = _HEAD.unpack_from(question)
        labels, at = [], _HEAD.size
        while size := question[at]:
            labels.append(question[at + 1 : at + 1 + size].decode("ascii").lower())
            at += size + 1
        name, kind = ".".join(labels), struct.unpack_from(">H", question, at + 1)[0]
        self.asked.append(name)
        known = name in self._names
        records = list(self._records(name, kind)) if known else []
        head = _HEAD.pack(number, 0x8580 | (0 if known else 3), 1, len(records), 0, 0)
        return head + question[_HEAD.size : at + 5] + b"".join(records)

    def _records(self, name: str, kind: int) -> Iterator[bytes]:
        answers = self._names[name]
        turn = self._turns.get((name, kind), 0)
        self._turns[name, kind] = turn + 1
        for each in answers[min(turn, len(answers) - 1)]:
            try:
                address = ip_address(each)
            except ValueError:
                yield _record(_CNAME, _name(each))
                # Asked for in turn, as a resolver would; all in one answer, as servers do.
                yield from self._records(each, kind)
                continue
            if kind == (_A if address.version == 4 else _AAAA):
                yield _record(kind, address.packed)

    async def resolve(self, host: str) -> Sequence[str]:
        """Return the addresses of a name, as the server gives them now."""
        return await asyncio.to_thread(self._asking, host)

    def _asking(self, host: str) -> list[str]:
        found = []
        for kind in (_A, _AAAA):
            question = _name(host) + struct.pack(">HH", kind, 1)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
                asking.settimeout(10)
                asking.sendto(_HEAD.pack(kind, 0x100, 1, 0, 0, 0) + question, self.address)
                answer = asking.recv(4096)
            at = _HEAD.size + len(question)
            while at < len(answer):
                _, type_, _, _, size = _RECORD.unpack_from(answer, at)
                at += _RECORD.size + size
                if type_ == kind:
                    found.append(str(ip_address(answer[at - size : at])))
        return found


def _name(host: str) -> bytes:
    """Return a name as messages hold it."""
    labels = host.encode("ascii").split(b".")
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def _record(kind: int, data: bytes) -> bytes:
    """Return a record of the name that was asked for, which nobody may keep."""
    return _RECORD.pack(0xC00C, kind, 1, 0, len(data)) + data


_watchers: list[list[tuple[str, int]]] = []


@contextlib.contextmanager
def watched() -> Iterator[list[tuple[str, int]]]:
    """Give every address that any socket of this process is connected to meanwhile."""
    if _watch not in _installed:
        sys.addaudithook(_watch)  # it cannot be taken back
        _installed.append(_watch)
    seen: list[tuple[str, int]] = []
    _watchers.append(seen)
    try:
        yield seen
    finally:
        # By identity: two that have seen the same are equal.
        _watchers[:] = [each for each in _watchers if each is not seen]


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and _watchers and isinstance(arguments[1], tuple):
        for seen in _watchers:
            seen.append(arguments[1][:2])


_installed: list[object] = []
