"""How ``web.fetch`` works: ask, read, show."""

from __future__ import annotations

import asyncio
import time

from typing import Any, NoReturn

from toolcrib import Context, Failed, Invalid, NotFound, Refused, Result, Transient, Unavailable
from toolcrib_net import Answer, NetError, Request, Target, failure, retry_after, target

from .caching import Freshness
from .desk import Documents, Web, web
from .documents import Document
from .labelling import quoted
from .reading import Material, ReadError, read
from .robots import LARGEST
from .showing import Shown, shown, stored
from .windows import place
from .wishes import Wish


__all__ = ["Fetching"]

# Statuses after which the same request may succeed.
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524})
_OFF_LOOP = 20_000
# Seconds that reading a page gets in any case.
_READING = 20.0
_PAGES = "text/html,application/xhtml+xml"
_ACCEPT = {
    "markdown": f"{_PAGES},text/markdown;q=0.9,application/pdf;q=0.8,*/*;q=0.7",
    "text": f"{_PAGES},text/plain;q=0.9,*/*;q=0.7",
    "html": f"{_PAGES},*/*;q=0.7",
    "json": "application/json,*/*;q=0.5",
    "raw": "*/*",
}


class Fetching:
    """One call of ``web.fetch``."""

    def __init__(self, ctx: Context, wish: Wish) -> None:
        self._ctx = ctx
        self._wish = wish

    async def run(self) -> Result:
        """Ask, read and show.

        In a task of its own: time limits within it cancel the task that they are in, and
        that one must not be taken for the call's.
        """
        return await asyncio.create_task(self._run())

    async def _run(self) -> Result:
        web_ = await self._ctx.use(web)
        if self._wish.cursor is not None and place(self._wish.cursor) is None:
            text = "That is no cursor. Take it from the answer before, or leave it out."
            raise Invalid("/cursor", text, code="web.bad_cursor")
        notes: list[str] = []
        try:
            answer = await self._asked(web_, notes)
        except NetError as error:
            self._fail(error)
        self._judge(answer)
        material = Material(data=answer.body, url=answer.url, headers=dict(answer.headers))
        document = await self._read(web_, material)
        what = Shown(wish=self._wish, answer=answer, material=material, notes=tuple(notes))
        if document is None or not answer.complete:
            what = await stored(self._ctx, what)
        return shown(what, document)

    async def _asked(self, web_: Web, notes: list[str]) -> Answer:
        """Ask robots.txt first, then for the page.

        Raises:
            NetError: nothing usable was answered.
        """
        wish, settings = self._wish, web_.settings
        policy = web_.client.policy
        first = target(wish.url, policy)
        until = time.monotonic() + wish.timeout
        freshness = Freshness(max_age=wish.max_age, offline=wish.offline or settings.offline)
        if settings.robots != "ignore" and not freshness.offline:
            await self._heed(web_, first, notes)
        request = Request(
            url=wish.url,
            method=wish.method,
            headers=self._headers(),
            secret_headers=await self._credentials(web_, first),
            body=None if wish.body is None else wish.body.encode(),
        )
        return await web_.ask(
            request,
            freshness,
            follow=self._follows,
            deadline=max(0.1, until - time.monotonic()),
            max_redirects=0 if wish.redirects == "none" else None,
        )

    async def _heed(self, web_: Web, first: Target, notes: list[str]) -> None:
        async def ask(url: str) -> Answer:
            request = Request(url=url, headers={"accept": "text/plain"})
            limit = min(10.0, float(self._wish.timeout))
            return await web_.ask(
                request, Freshness(), max_body=LARGEST, deadline=limit, follow=self._follows
            )

        if await web_.robots.allows(first.url, ask):
            return
        if web_.settings.robots == "warn":
            notes.append("robots_txt_disallows")
            return
        text = (
            f"The robots.txt of {first.host} asks programs not to fetch this address. Only"
            " the user can change that, with robots in [pack.web]."
        )
        raise Refused(text, code="web.robots")

    def _headers(self) -> list[tuple[str, str]]:
        wish = self._wish
        headers = {name.lower(): value for name, value in wish.headers.items()}
        headers.setdefault("accept", _ACCEPT[wish.form])
        if wish.body is not None:
            like_json = wish.body.lstrip()[:1] in {"{", "["}
            kind = "application/json" if like_json else "text/plain; charset=utf-8"
            headers.setdefault("content-type", kind)
        if wish.idempotency_key is not None:
            headers["idempotency-key"] = wish.idempotency_key
        return list(headers.items())

    async def _credentials(self, web_: Web, first: Target) -> list[tuple[str, str]]:
        """Return what policy lets this host know of us; asked by name, never by the model."""
        known = web_.settings.credentials.get(first.host)
        if known is None:
            return []
        if first.scheme != "https" and not web_.client.policy.host_named(first.host):
            text = f"Credentials for {first.host} are sent with https only."
            raise Refused(text, code="web.credentials_in_clear")
        value = await self._ctx.secret(known.secret, destination=first.host)
        return [(known.header.lower(), f"{known.scheme} {value}".strip())]

    def _follows(self, source: Target, there: Target) -> bool:
        """Follow a redirect to another host only where this call was judged for it."""
        if self._wish.redirects == "any" or there.host == source.host:
            return True
        signature = getattr(self._ctx, "signature", None)
        if signature is None:
            return False
        return any(r.type == "host" and r.value == there.host for r in signature.resources)

    async def _read(self, web_: Web, material: Material) -> Document | None:
        """Read the body, in a thread if it is large; once read, it is kept ready."""
        wish = self._wish
        key = Documents.key(
            material.data,
            material.url,
            material.headers.get("content-type"),
            wish.form,
            wish.scope,
        )
        known = web_.documents.get(key)
        if known is not None:
            return known
        try:
            if len(material.data) < _OFF_LOOP:
                found = read(material, wish.form, wish.scope)
            else:
                work = asyncio.to_thread(read, material, wish.form, wish.scope)
                found = await asyncio.wait_for(work, max(_READING, wish.timeout))
        except TimeoutError as error:
            text = "The page came, but reading it takes too long. Ask for format raw or text."
            raise Failed(text, code="web.reading_slow") from error
        except ReadError as error:
            raise Failed(str(error), code="web.unreadable") from error
        if found is not None:
            web_.documents.put(key, found)
        return found

    def _judge(self, answer: Answer) -> None:
        """End the call where the server says that it went wrong, with its own words."""
        status = answer.status
        if status < 400:
            return
        words = _words(answer)
        came = "".join(f" Redirected from {hop.url}." for hop in answer.hops[:1])
        text = f"{answer.url} answered {status}.{came}{words}"
        code = f"web.http_{status}"
        if status in {404, 410}:
            raise NotFound(text, code=code)
        if status in _PASSING and (self._wish.safe or self._wish.idempotency_key):
            wait = retry_after(answer.header("retry-after"), time.time())
            if wait is not None:
                text += f" It asks to wait {wait:.0f} s."
            raise Transient(text, retry_after=wait, code=code)
        raise Failed(text, code=code)

    def _fail(self, error: NetError) -> NoReturn:
        hops: list[dict[str, Any]] = error.details.get("hops", [])
        way = [f"{hop['status']} {hop['url']} -> {hop['location']}" for hop in hops[:12]]
        if way:
            error.text += " The way: " + "; ".join(way) + "."
        if error.code == "net.unusable":
            raise Unavailable(error.text, code="web.offline") from error
        again = self._wish.safe or self._wish.idempotency_key is not None
        wait = error.details.get("retry_after")
        if wait is not None and again:
            raise Transient(error.text, retry_after=wait, code=error.code) from error
        raise failure(error, passing=again) from error


def _words(answer: Answer) -> str:
    """Return the server's own words about a failure, bounded and marked as its own."""
    material = Material(
        data=answer.body[:200_000], url=answer.url, headers=dict(answer.headers)
    )
    try:
        document = read(material, "text", "page")
    except ReadError:
        return ""
    if document is None or not document.text.strip():
        return ""
    title = f"{document.title}: " if document.title else ""
    return f" Its own words: {quoted(title + document.text, 400)}."
