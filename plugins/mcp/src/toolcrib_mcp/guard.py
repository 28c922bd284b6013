"""Who may come in over HTTP, with how much, and whose session is whose."""

from __future__ import annotations

import hashlib
import hmac
import json

from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

import attrs
import mcp_types as types

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic_core import from_json

from .clients import Clients
from .crowd import HOLDER, room, share
from .events import LOG, Log


__all__ = ["Guard", "Tokens"]

_SESSION = b"mcp-session-id"
_VERSION = b"mcp-protocol-version"
# The SDK would take the first of several, others the last.
_ONCE = frozenset({b"authorization", _SESSION, _VERSION})
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


@attrs.define(eq=False)
class _Session:
    """A session of the older revisions.

    Attributes:
        key: How its client is known.
        asked: The numbers of the requests that are under way in it.
        under_way: How many requests of HTTP are, its open streams among them.
    """

    token: str
    key: str
    log: Log
    asked: set[str] = attrs.field(factory=set)
    under_way: int = 0


@attrs.define(eq=False)
class _Request:
    """One request, as far as it is understood here.

    Attributes:
        number: Its id, if it asks for something.
        done: Whether it is answered, or given up.
    """

    scope: Any
    headers: Mapping[bytes, bytes]
    token: str
    session: _Session | None
    number: str | None = None
    done: bool = False

    @property
    def old(self) -> bool:
        """Whether it is one of the revisions with sessions, which it may begin."""
        version = self.headers.get(_VERSION)
        return version is None or version.decode("latin-1") in HANDSHAKE_PROTOCOL_VERSIONS


class Guard:
    """Looks at every request before the protocol does.

    A request goes on only when it is whole, so that one which comes slowly holds nothing.

    Args:
        app: What is guarded.
        tokens: Who may come in; None for everybody on this machine.
        clients: Whose sessions end with a DELETE.
        body: Bytes of a body that are looked at; what is larger the app refuses.
        resumes: Whether streams can be taken up again.
    """

    def __init__(
        self,
        app: Any,
        tokens: Tokens | None,
        clients: Clients,
        *,
        body: int,
        resumes: bool = False,
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._clients = clients
        self._body = body
        # The SDK has no answer to who comes back where nothing is kept.
        self._unheard = frozenset({b""} if resumes else {b"last-event-id"})
        # The one used last stands at the end.
        self._sessions: OrderedDict[bytes, _Session] = OrderedDict()
        self._under_way: Counter[str] = Counter()
        self._at_once = share(room(), 1 if tokens is None else len(tokens))

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Let a request in, or answer why not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # Not every parser takes off the blanks that may stand around a value.
        scope["headers"] = [
            (key, value.strip(b" \t"))
            for key, value in scope["headers"]
            if key not in self._unheard
        ]
        headers = dict(scope["headers"])
        named = [key for key, _ in scope["headers"] if key in _ONCE]
        if len(named) != len(set(named)):
            await _refuse(send, 400, "a header that says whose a request is stands in it twice")
            return
        holder: tuple[str, str] | None = _EVERYBODY
        if self._tokens is not None:
            holder = self._tokens.holder(headers.get(b"authorization", b""))
        if holder is None:
            await _refuse(send, 401, "a bearer token is wanted", b"Bearer")
            return
        scope[HOLDER] = holder
        name = headers.get(_SESSION)
        session = self._sessions.get(name) if name is not None else None
        if name is not None and (session is None or session.token != holder[1]):
            await _refuse(send, 404, "no such session")
            return
        if self._under_way[holder[1]] >= self._at_once:
            await _refuse(send, 503, "too many requests of this token are under way")
            return
        await self._counted(_Request(scope, headers, holder[1], session), receive, send)

    async def _counted(self, request: _Request, receive: Receive, send: Send) -> None:
        """Pass a request on, and count it for as long as it is under way."""
        self._under_way[request.token] += 1
        if request.session is not None:
            request.session.under_way += 1

        async def sent(message: Any) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                # Its client may come again before all is put away.
                self._done(request)
            await send(message)

        try:
            whole = await _whole(receive, self._body)
            if whole is not None:
                await self._passed_on(request, whole, receive, sent)
        finally:
            self._done(request)

    def _done(self, request: _Request) -> None:
        """Count a request no more; twice is once."""
        if request.done:
            return
        request.done = True
        session = request.session
        if session is not None:
            session.under_way -= 1
            if request.number is not None:
                session.asked.discard(request.number)
        self._under_way[request.token] -= 1
        if not self._under_way[request.token]:
            del self._under_way[request.token]

    async def _passed_on(
        self, request: _Request, whole: Any, receive: Receive, send: Send
    ) -> None:
        refusal = await self._refusal(request, whole)
        if refusal is not None:
            await _refuse(send, *refusal)
            return
        session = request.session
        if session is not None:
            LOG.set(session.log)
        elif request.old:
            send = self._noting(request, send)
        await self._app(request.scope, _again(whole, receive), send)
        if request.scope["method"] == "DELETE" and session is not None:
            await self._over(request.headers[_SESSION])

    def _noting(self, request: _Request, send: Send) -> Send:
        """Return a sender that notes which session a request begins, if it does."""
        log = Log()
        LOG.set(log)

        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                for key, value in message.get("headers", ()):
                    if key.lower() == _SESSION:
                        name = _key(request.token, value)
                        self._sessions[value] = _Session(request.token, name, log)
            await send(message)

        return sent

    async def _refusal(self, request: _Request, whole: Any) -> tuple[int, str] | None:
        """Return how a whole request of an older revision is refused; None: it is not."""
        session = request.session
        if not request.old:
            return None
        if request.scope["method"] == "POST":
            asked = session.asked if session is not None else ()
            number, problem = _understood(whole, asked)
            if problem is not None:
                return 400, problem
            if session is not None and number is not None:
                request.number = number
                session.asked.add(number)
                session.log.begin(number)
        if session is not None:
            name = request.headers[_SESSION]
            if name in self._sessions:
                self._sessions.move_to_end(name)
        elif not await self._has_room(request):
            return 503, "too many sessions of this token are open; end one first"
        return None

    # -- sessions ----------------------------------------------------------------------

    async def _has_room(self, request: _Request) -> bool:
        """See to it that a token may begin a session; the one longest unused makes room."""
        own = {n: each for n, each in self._sessions.items() if each.token == request.token}
        if len(own) < self._clients.most_of_one:
            return True
        idle = [name for name, each in own.items() if not each.under_way]
        found = {name: self._clients.rank(own[name].key) for name in idle}
        ranks = {name: rank for name, rank in found.items() if rank is not None}
        if not ranks:
            return False
        oldest = min(ranks, key=ranks.__getitem__)
        await self._end(request.scope, oldest)
        await self._over(oldest)
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

    async def _over(self, session: bytes) -> None:
        over = self._sessions.pop(session, None)
        if over is not None:
            await self._clients.forget(over.key)


def _key(token: str, session: bytes) -> str:
    return f"{token}\n{session.decode('latin-1')}"


def _understood(whole: Any, asked: Collection[str]) -> tuple[str | None, str | None]:
    """Return the number of a request, or what is wrong with a message; (None, None): neither.

    What the SDK would take for another kind of message, or answer in another's place, is
    refused here. What is no JSON at all the SDK refuses.
    """
    try:
        message = from_json(whole["body"])
    except ValueError:
        return None, None
    if isinstance(message, list):
        return None, "batches are not taken; send each message by itself"
    if not isinstance(message, dict) or "id" not in message or "method" not in message:
        return None, None
    number = message["id"]
    if not isinstance(number, str | int) or isinstance(number, bool):
        return None, "the id of a request is a string or an integer"
    if str(number) in asked:
        return None, "a request with this id is under way in this session; use each id once"
    return str(number), None


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
    said: dict[str, Any] = {"error": text}
    if status == 400:  # It is a message that is refused, in the words of messages.
        error = {"code": types.INVALID_REQUEST, "message": text}
        said = {"jsonrpc": "2.0", "id": None, "error": error}
    body = json.dumps(said).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    if challenge is not None:
        headers.append((b"www-authenticate", challenge))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
