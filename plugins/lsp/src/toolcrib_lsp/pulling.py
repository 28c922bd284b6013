"""Get diagnostics of one file from one server, whichever way it gives them."""

from __future__ import annotations

import asyncio
import time

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from toolcrib import Unavailable

from .asking import Desk
from .client import Client, Unsupported
from .documents import Opened
from .places import uri_of
from .published import Known


__all__ = ["Unsupported", "question"]

_PULL = "textDocument/diagnostic"
_POLL = 0.15


def question(desk: Desk) -> Callable[[Client], Awaitable[Known]]:
    """Return what asks a server for a file's diagnostics.

    It raises Unavailable if the server does not answer in time: that is no empty list.
    """

    async def ask(client: Client) -> Known:
        end = asyncio.get_running_loop().time() + desk.wait
        opened = desk.opened(client)
        while True:
            client.check()
            if client.features.supports(_PULL, desk.place.path, desk.language):
                try:
                    return await _pulled(desk, client, end)
                except Unsupported:
                    opened = desk.opened(client)
                    continue
            # A server registers the pulling way a moment after its start, if at all.
            known = await _pushed(desk, client, opened, end)
            if known is not None:
                return known

    return ask


async def _pulled(desk: Desk, client: Client, end: float) -> Known:
    loop = asyncio.get_running_loop()
    while True:
        opened = desk.opened(client)
        options = client.features.options(_PULL, desk.place.path, desk.language) or {}
        params: dict[str, Any] = {"textDocument": {"uri": uri_of(opened.snapshot.path)}}
        if options.get("identifier") is not None:
            params["identifier"] = options["identifier"]
        version, digest = opened.version, opened.snapshot.digest
        changes = client.documents.changes
        busy = client.progress.busy
        result = await client.request(_PULL, params, until=desk.until)
        items = result.get("items") if isinstance(result, Mapping) else None
        if items is not None:
            path = desk.place.path
            client.published.take(path, items, version=version, changes=changes, digest=digest)
        left = end - loop.time()
        if items or left <= 0 or not (busy or _is_doubtful(client, opened)):
            break
        await client.progress.changed(min(_POLL, left))
    known = client.published.get(desk.place.path)
    if known is None or (not known.items and client.progress.busy):
        said = client.progress.said()
        text = f"{client.name} is still working ({said}). Ask again, or with a longer wait."
        raise Unavailable(text, code="lsp.indexing")
    return known


def _is_doubtful(client: Client, opened: Opened) -> bool:
    settled = max(client.started + client.spec.settle, opened.opened + client.spec.opening)
    return client.progress.busy or time.monotonic() < settled


async def _pushed(desk: Desk, client: Client, opened: Opened, end: float) -> Known | None:
    """Wait for what a server pushes about the present text; None: look for another way.

    Raises:
        Unavailable: it did not push in time.
    """
    loop, path, quiet = asyncio.get_running_loop(), desk.place.path, client.spec.quiet
    known = client.published.get(path)
    digest = opened.snapshot.digest
    mine = known is not None and known.digest == digest and _is_of(known, client)
    if known is not None and mine and known.changes == client.documents.changes:
        return await _last(client, path, known, end)
    # Another file has changed: it may speak again of this one, or have nothing to add.
    patience = min(end, loop.time() + max(2 * quiet, 1.0)) if mine else end
    number = known.number if known is not None else -1
    while loop.time() < patience:
        await client.published.news(min(patience - loop.time(), 0.25))
        client.check()
        if client.features.supports(_PULL, path, desk.language):
            return None
        new = client.published.get(path)
        if new is not None and new.number != number and new.digest == digest:
            return await _last(client, path, new, end)
    if known is not None and mine:
        return known
    seconds = f"within {desk.wait:g} s"
    said = client.progress.said()
    doing = f" and is still working ({said})" if said else ""
    text = f"timed out: {client.name} said nothing about the present text {seconds}{doing}."
    raise Unavailable(text, code="lsp.timed_out")


def _is_of(known: Known, client: Client) -> bool:
    """Tell whether this process said so, and not one before it."""
    return known.changes // 1_000_000_000 == client.documents.changes // 1_000_000_000


async def _last(client: Client, path: str, known: Known, end: float) -> Known:
    """Wait until a server that speaks several times has finished, as far as one can tell."""
    loop = asyncio.get_running_loop()
    quiet = client.spec.quiet
    while time.time() - known.time < quiet or client.progress.busy:
        rest = min(max(quiet - (time.time() - known.time), 0.05), end - loop.time())
        if rest <= 0:
            break
        await client.published.news(rest)
        client.check()
        known = client.published.get(path) or known
    return known
