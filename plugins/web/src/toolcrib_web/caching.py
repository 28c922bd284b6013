"""The store of answers: RFC 9111 by hishel, on disk, for this user alone, bounded.

Nothing is stored of requests that carry credentials or cookies, nor what is not complete.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
import threading
import time

from collections import OrderedDict
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib_net import Body, Exchange, Headers, NetError, Request, Send, Target


if TYPE_CHECKING:
    from hishel import Entry, Response


__all__ = ["Freshness", "HttpCache"]

_LARGEST = 16 << 20
_MOST_KEPT = 8 << 20
_PRIVATE = frozenset({"authorization", "cookie", "x-api-key", "api-key"})
_OPTIONS = {"shared": False, "supported_methods": ["GET", "HEAD"]}


@attrs.frozen(kw_only=True)
class Freshness:
    """What may be given again.

    Attributes:
        max_age: Oldest answer that is taken without asking, in seconds; None: what the
            server said.
        offline: Whether whatever is stored is taken, and nothing asked.
    """

    max_age: float | None = None
    offline: bool = False


class HttpCache:
    """Answers on disk.

    Args:
        folder: Where; made with mode 0700.
        size: Most bytes.
    """

    def __init__(self, folder: Path, size: int) -> None:
        self._folder = folder
        self._size = size
        self._storage: Any = None
        self._lock = asyncio.Lock()
        self._bodies = _Bodies()

    async def close(self) -> None:
        """Close the store."""
        if self._storage is not None:
            await asyncio.to_thread(self._storage.close)
            self._storage = None

    async def through(
        self, request: Request, where: Target, send: Send, freshness: Freshness
    ) -> Exchange:
        """Answer from the store if that is right, or ask and store; by RFC 9111."""
        if _is_private(request):
            if freshness.offline:
                raise _offline(where)
            return await send(request)
        storage = await self._opened()
        turn = _Turn(storage, self._bodies, request, where, send, freshness=freshness)
        return await turn.run()

    async def _opened(self) -> Any:
        async with self._lock:
            if self._storage is None:
                self._storage = await asyncio.to_thread(self._open)
        return self._storage

    def _open(self) -> Any:
        from hishel import SqliteStorage

        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / "answers-2.db"
        # Made here, so that it is nobody else's from the first byte on.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        return SqliteStorage(
            database_path=path,
            max_size=self._size,
            max_stream_size=_LARGEST,
            default_tti=30 * 86400,
        )


class _Bodies:
    """The bodies that were given last, so that a page that is read on is not loaded again.

    What an entry of the store holds never changes; whether there still is one, and what
    its headers say, is looked up each time.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[Any, bytes] = OrderedDict()
        self._held = 0
        self._lock = threading.Lock()

    def of(self, entry: Entry) -> bytes:
        """Return the body of an entry."""
        with self._lock:
            data = self._kept.get(entry.id)
            if data is not None:
                self._kept.move_to_end(entry.id)
                return data
        stream: Any = entry.response.stream
        data = b"".join(stream)
        with self._lock:
            if entry.id not in self._kept and len(data) <= _MOST_KEPT // 4:
                self._kept[entry.id] = data
                self._held += len(data)
            while self._held > _MOST_KEPT:
                self._held -= len(self._kept.popitem(last=False)[1])
        return data


class _Turn:
    """One request on its way through the states of the cache."""

    def __init__(
        self,
        storage: Any,
        bodies: _Bodies,
        request: Request,
        where: Target,
        send: Send,
        *,
        freshness: Freshness,
    ) -> None:
        self._storage = storage
        self._bodies = bodies
        self._request = request
        self._where = where
        self._send = send
        self._freshness = freshness
        self._key = hashlib.sha256(where.url.encode()).hexdigest()
        self._answer: Exchange | None = None

    async def run(self) -> Exchange:
        import hishel

        try:
            asked, state, stored = await asyncio.to_thread(self._looked)
        except (sqlite3.Error, OSError, RuntimeError):
            # A store that is broken or gone is no reason not to ask.
            return await self._send(self._request)
        if stored is not None:
            return stored
        while True:
            match state:
                case hishel.CacheMiss() | hishel.NeedRevalidation():
                    state = state.next(await self._ask(state.request))
                case hishel.FromCache():
                    return await asyncio.to_thread(self._loaded, state.entry)
                case hishel.StoreAndUse() | hishel.CouldNotBeStored():
                    if isinstance(state, hishel.StoreAndUse):
                        await self._store(asked, state.response)
                    return self._given()
                case _:
                    await asyncio.to_thread(self._mend, state)
                    state = state.next()

    def _looked(self) -> tuple[Any, Any, Exchange | None]:
        """Look into the store, and take what can be given as it is; all in one thread."""
        import hishel

        entries = self._storage.get_entries(self._key)
        if self._freshness.offline:
            return None, None, self._stored_only(entries)
        asked = self._asked(entries)
        # Whoever names an age takes what is that old, where the server does not forbid it.
        options: Any = {**_OPTIONS, "allow_stale": self._freshness.max_age is not None}
        state: Any = hishel.IdleClient(options=options).next(asked, entries)
        found = isinstance(state, hishel.FromCache)
        return asked, state, self._loaded(state.entry) if found else None

    def _mend(self, state: Any) -> None:
        """Bring the store up to date with what a server said of older answers."""
        for entry in getattr(state, "updating_entries", ()):
            self._storage.update_headers(entry.id, entry.response.headers)
        for entry_id in getattr(state, "entry_ids", ()):
            self._storage.remove_entry(entry_id)

    def _asked(self, entries: list[Entry]) -> Any:
        from hishel import Headers as CacheHeaders
        from hishel import Request as CacheRequest

        headers: dict[str, str] = dict(self._request.headers)
        most = self._freshness.max_age
        if most is not None and not any(_age(each.response) <= most for each in entries):
            headers["cache-control"] = "no-cache"
        return CacheRequest(self._request.method, self._where.url, CacheHeaders(headers))

    async def _ask(self, asked: Any) -> Response:
        """Send what the cache wants to send; its own headers are all that differs."""
        from hishel import Headers as CacheHeaders
        from hishel import Response as CacheResponse

        own = {
            name: value
            for name, value in asked.headers.items()
            if name in {"if-none-match", "if-modified-since"}
        }
        kept = tuple((n, v) for n, v in self._request.headers if n not in own)
        request = attrs.evolve(self._request, headers=(*kept, *own.items()))
        self._answer = await self._send(request)
        headers: dict[str, str | list[str]] = {}
        for name, value in _storable(self._answer.headers, len(self._answer.body.data)):
            known = headers.setdefault(name, [])
            if isinstance(known, list):
                known.append(value)
        return CacheResponse(self._answer.status, CacheHeaders(headers))

    async def _store(self, asked: Any, response: Response) -> None:
        answer = self._given()
        if not answer.body.complete or len(answer.body.data) > _LARGEST:
            return
        await asyncio.to_thread(self._save, asked, response, answer.body.data)

    def _save(self, asked: Any, response: Response, data: bytes) -> None:
        from dataclasses import replace

        whole = replace(response, stream=iter([data]))
        entry = self._storage.create_entry(asked, whole, self._key)
        for _ in entry.response.stream:
            pass  # it is stored as it is read

    def _given(self) -> Exchange:
        if self._answer is None:  # pragma: no cover - the states above ask first
            message = "the cache gives what nobody asked"
            raise RuntimeError(message)
        return self._answer

    def _stored_only(self, entries: list[Entry]) -> Exchange:
        same = [e for e in entries if e.request.method == self._request.method]
        if not same:
            raise _offline(self._where)
        return self._loaded(min(same, key=lambda entry: _age(entry.response)))

    def _loaded(self, entry: Entry) -> Exchange:
        data = self._bodies.of(entry)
        headers = tuple(
            (name, value)
            for name in entry.response.headers
            for value in entry.response.headers.get_list(name) or ()
        )
        revalidated = self._answer is not None and self._answer.status == 304
        age = 0.0 if revalidated else _age(entry.response)
        return Exchange(
            self._where, entry.response.status_code, headers, Body(data), "cache", "", age
        )


def _is_private(request: Request) -> bool:
    if request.secret_headers:
        return True
    return any(name in _PRIVATE for name, _ in request.headers)


def _storable(headers: Headers, size: int) -> list[tuple[str, str]]:
    """Return the headers that are true of the body as it is stored: decoded and whole."""
    left_out = {"content-encoding", "content-length", "transfer-encoding", "set-cookie"}
    kept = [(n, v) for n, v in headers if n not in left_out]
    return [*kept, ("content-length", str(size))]


def _age(response: Response) -> float:
    headers: Mapping[str, str] = response.headers
    try:
        sent = parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (ValueError, TypeError, OverflowError):
        return 0.0
    return max(0.0, time.time() - sent)


def _offline(where: Target) -> NetError:
    text = f"Nothing is stored of {where.url}, and nothing is asked while offline."
    return NetError(text, code="net.unusable")
