"""Who may come in over HTTP, with how much, and whose session is whose."""

from __future__ import annotations

import hashlib
import hmac
import json

from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import attrs

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from .clients import Clients
from .crowd import HOLDER, room, share


__all__ = ["Guard", "Tokens"]

_SESSION = b"mcp-session-id"
_VERSION = b"mcp-protocol-version"
_EVERYBODY = ("local", "local")

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


@attrs.frozen
class Tokens:
    """Bearer tokens, kept as digests: digest → principal."""

    _digests: Mapping[bytes, str]

    @classmethod
    def of(cls, tokens: Mapping[str, str]) -> Tokens:
        """Make it from token → principal."""
        return cls({_digest(token): name for token, name in tokens.items()})

    def __len__(self) -> int:
        return len(self._digests)

    def holder(self, header: bytes) -> tuple[str, str] | None:
        """Return whom an Authorization header stands for, and by which token; or None."""
        kind, _, token = header.partition(b" ")
        if kind.lower() != b"bearer" or not token:
            return None
        wanted = _digest(token.strip().decode("latin-1"))
        found = None
        # All of them, always: how long it takes says nothing.
        for digest, name in self._digests.items():
            if hmac.compare_digest(digest, wanted):
                found = name, digest.hex()[:32]
        return found


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


class Guard:
    """Looks at every request before the protocol does.

    A request goes on only when it is whole, so that one which comes slowly holds nothing.

    Args:
        app: What is guarded.
        tokens: Who may come in; None for everybody on this machine.
        clients: Whose sessions end with a DELETE.
        body: Bytes of a body that are looked at; what is larger the app refuses.
    """

    def __init__(self, app: Any, tokens: Tokens | None, clients: Clients, *, body: int) -> None:
        self._app = app
        self._tokens = tokens
        self._clients = clients
        self._body = body
        self._owners: dict[bytes, str] = {}
        # Of each token: its sessions, the one used last at the end.
        self._sessions: dict[str, OrderedDict[bytes, None]] = {}
        self._under_way: Counter[str | bytes] = Counter()
        self._at_once = share(room(), 1 if tokens is None else len(tokens))

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Let a request in, or answer why not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # Not every parser takes off the blanks that may stand around a value.
        scope["headers"] = [(key, value.strip(b" \t")) for key, value in scope["headers"]]
        headers = dict(scope["headers"])
        holder: tuple[str, str] | None = _EVERYBODY
        if self._tokens is not None:
            holder = self._tokens.holder(headers.get(b"authorization", b""))
        if holder is None:
            await _refuse(send, 401, "a bearer token is wanted", b"Bearer")
            return
        scope[HOLDER] = holder
        token, session = holder[1], headers.get(_SESSION)
        if session is not None and self._owners.get(session) != token:
            await _refuse(send, 404, "no such session")
            return
        if self._under_way[token] >= self._at_once:
            await _refuse(send, 503, "too many requests of this token are under way")
            return
        done = self._count(token, session)

        async def sent(message: Any) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                # Its client may come again before all is put away.
                done()
            await send(message)

        try:
            await self._admitted(scope, headers, receive, sent)
        finally:
            done()

    def _count(self, token: str, session: bytes | None) -> Callable[[], None]:
        """Count a request that is under way; what is returned ends that, once."""
        counted: list[str | bytes] = [token] if session is None else [token, session]
        self._under_way.update(counted)

        def done() -> None:
            while counted:
                each = counted.pop()
                self._under_way[each] -= 1
                if not self._under_way[each]:
                    del self._under_way[each]

        return done

    async def _admitted(
        self, scope: Any, headers: Mapping[bytes, bytes], receive: Receive, send: Send
    ) -> None:
        token, session = scope[HOLDER][1], headers.get(_SESSION)
        whole = await _whole(receive, self._body)
        if whole is None:
            return
        if session is not None:
            if session in self._owners:
                self._sessions[token].move_to_end(session)
        elif _opens(headers) and not await self._has_room(scope, token):
            await _refuse(send, 503, "too many sessions of this token are open; end one first")
            return

        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                for key, value in message.get("headers", ()):
                    if key.lower() == _SESSION and session is None:
                        self._owners[value] = token
                        self._sessions.setdefault(token, OrderedDict())[value] = None
            await send(message)

        await self._app(scope, _again(whole, receive), sent)
        if scope["method"] == "DELETE" and session is not None:
            await self._over(token, session)

    # -- sessions ----------------------------------------------------------------------

    async def _has_room(self, scope: Any, token: str) -> bool:
        """See to it that a token may begin a session; the one longest unused makes room."""
        own = self._sessions.get(token, OrderedDict())
        if len(own) < self._clients.most_of_one:
            return True
        found = {
            each: self._clients.rank(_key(token, each))
            for each in own
            if not self._under_way[each]
        }
        ranks = {each: rank for each, rank in found.items() if rank is not None}
        if not ranks:
            return False
        oldest = min(ranks, key=ranks.__getitem__)
        await self._end(scope, oldest)
        await self._over(token, oldest)
        return True

    async def _end(self, scope: Any, session: bytes) -> None:
        """End a session as its client would."""
        host = [pair for pair in scope["headers"] if pair[0] == b"host"]
        ending = {**scope, "method": "DELETE", "headers": [*host, (_SESSION, session)]}

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(_: Any) -> None:
            """Nobody waits for the answer."""

        await self._app(ending, receive, send)

    async def _over(self, token: str, session: bytes) -> None:
        self._owners.pop(session, None)
        if token in self._sessions:
            self._sessions[token].pop(session, None)
        await self._clients.forget(_key(token, session))


def _key(token: str, session: bytes) -> str:
    return f"{token}\n{session.decode('latin-1')}"


def _opens(headers: Mapping[bytes, bytes]) -> bool:
    """Tell whether a request without a session is one that may begin one."""
    version = headers.get(_VERSION)
    return version is None or version.decode("latin-1") in HANDSHAKE_PROTOCOL_VERSIONS


async def _whole(receive: Receive, most: int) -> Any:
    """Return a request's body in one message, whole or too large; None: the client is gone."""
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        return message
    body = bytearray()
    while message["type"] == "http.request":
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if not more or len(body) > most:
            return {"type": "http.request", "body": bytes(body), "more_body": more}
        message = await receive()
    return None


def _again(first: Any, receive: Receive) -> Receive:
    """Return a receiver that begins with a message that was received already."""
    waiting = [first]

    async def receiver() -> Any:
        return waiting.pop() if waiting else await receive()

    return receiver


async def _refuse(send: Send, status: int, text: str, challenge: bytes | None = None) -> None:
    body = json.dumps({"error": text}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    if challenge is not None:
        headers.append((b"www-authenticate", challenge))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
