"""How ``web.search`` works: ask one provider after the other until one has good results."""

from __future__ import annotations

import asyncio
import time

from collections.abc import Sequence
from typing import Any

import attrs

from toolcrib import Context, Failed, Result, Text, ToolFailure, Unavailable
from toolcrib_net import Answer, FilteringProxy, NetError, Request, Target

from .desk import Web, web
from .labelling import cleaned, fenced, quoted
from .outputs import SearchHit, SearchResults, Tried, plain
from .providers import Asking, Found, ProviderError, Query, make
from .ranking import fitting, to_the_point, within


__all__ = ["Searching"]

_RETRY_PAUSE = 0.4
_GOOD = "good"


@attrs.frozen
class _Round:
    """What came of one provider."""

    tried: Tried
    found: Sequence[Found] = ()
    at: float = 0.0


class Searching:
    """One call of ``web.search``."""

    def __init__(
        self, ctx: Context, query: Query, *, max_age: float | None, offline: bool
    ) -> None:
        self._ctx = ctx
        self._query = query
        self._max_age = max_age
        self._offline = offline

    async def run(self) -> Result:
        """Ask until there are good results; in a task of its own, as in ``web.fetch``."""
        return await asyncio.create_task(self._run())

    async def _run(self) -> Result:
        web_ = await self._ctx.use(web)
        self._offline = self._offline or web_.settings.offline
        rounds: list[_Round] = []
        for name in web_.health.order(web_.settings.providers):
            self._ctx.report(f"asking {name}")
            rounds.append(await self._round(web_, name))
            if rounds[-1].tried.state == _GOOD:
                break
        if not rounds:
            text = "No search provider is set. The user must name one in [pack.web] providers."
            raise Unavailable(text, code="web.no_provider")
        good = next((r for r in rounds if r.tried.state == _GOOD), None)
        poor = next((r for r in rounds if r.tried.state == "poor"), None)
        best = good or poor
        if best is None:
            self._give_up(rounds)
        return self._result(best, rounds)

    def _give_up(self, rounds: list[_Round]) -> None:
        """End the call where nobody answered; where all are empty, that is the answer.

        Nothing is raised that would let the whole call be made again: what is worth
        another try was tried here.
        """
        if any(r.tried.state == "empty" for r in rounds):
            return
        said = "; ".join(f"{r.tried.provider}: {r.tried.reason}" for r in rounds)
        text = f"No search provider gave results. {said}."
        if all(r.tried.state in {"setup", "budget", "offline"} for r in rounds):
            raise Unavailable(text, code="web.search_unavailable")
        raise Failed(text, code="web.search_failed")

    async def _round(self, web_: Web, name: str) -> _Round:
        """Ask one provider, and say what came of it."""
        started = time.monotonic()
        known = self._remembered(web_, name)
        if known is not None:
            return self._judged(web_, name, known[0], known[1], started, cached=True)
        if self._offline:
            return _ended(name, "offline", "nothing is stored, and nothing is asked", started)
        pause = web_.health.pause(name)
        if pause > 0 and len(web_.settings.providers) > 1:
            return _ended(name, "resting", f"it is left alone for {pause:.0f} s", started)
        if not web_.health.spend(name, web_.settings.provider(name).budget):
            return _ended(name, "budget", "its budget of the day is spent", started)
        try:
            found = await self._asked(web_, name)
        except ProviderError as error:
            if error.code != "setup":
                web_.health.failed(name, wait=error.wait)
            return _ended(name, error.code, error.reason, started)
        web_.health.succeeded(name, time.monotonic() - started)
        now = time.time()
        await asyncio.to_thread(web_.searches.put, name, self._query, found, now=now)
        return self._judged(web_, name, found, now, started)

    def _remembered(self, web_: Web, name: str) -> tuple[list[Found], float] | None:
        age = web_.settings.search_age if self._max_age is None else self._max_age
        age = float("inf") if self._offline else age
        found = web_.searches.get(name, self._query, max_age=age, now=time.time())
        return None if found is None else (found.found, found.at)

    def _judged(
        self,
        web_: Web,
        name: str,
        found: list[Found],
        at: float,
        started: float,
        *,
        cached: bool = False,
    ) -> _Round:
        """Say how good an answer is: an empty one is no success."""
        kept = fitting(found, self._query, web_.settings.blocked_domains)
        state, reason = _GOOD, None
        if not kept:
            state = "empty"
            reason = "it found nothing" if not found else "nothing of the wanted domains"
        elif not to_the_point(kept, self._query):
            state, reason = "poor", "its results do not hold a word of the query"
        tried = Tried(
            provider=name,
            state=state,
            results=len(kept),
            reason=reason,
            seconds=round(time.monotonic() - started, 3),
            cached=cached,
        )
        return _Round(tried, kept, at)

    async def _asked(self, web_: Web, name: str) -> list[Found]:
        """Ask, and once more after a failure that may pass.

        Raises:
            ProviderError: there are no results to be had.
        """
        asking = self._asking(web_, name)
        for last in (False, True):
            try:
                async with asyncio.timeout(asking.timeout * 1.5):
                    return await make(name).search(self._query, asking)
            except NetError as error:
                if last or not error.retryable or error.kind == "timeout":
                    code = "timeout" if error.kind == "timeout" else "failed"
                    raise ProviderError(_clause(error.text), code=code) from error
            except TimeoutError as error:
                text = f"it did not answer within {asking.timeout:.3g} s"
                raise ProviderError(text, code="timeout") from error
            except ToolFailure as error:
                raise ProviderError(_clause(error.text), code="setup") from error
            except ProviderError:
                raise
            except Exception as error:  # one provider's fault is not the others'
                text = f"its answer could not be read ({type(error).__name__})"
                raise ProviderError(text) from error
            await asyncio.sleep(_RETRY_PAUSE)
        return []

    def _asking(self, web_: Web, name: str) -> Asking:
        settings = web_.settings.provider(name)

        async def send(request: Request) -> Answer:
            return await web_.client.fetch(
                request, deadline=settings.timeout, follow=_same_host, max_body=4 << 20
            )

        async def key(destination: str) -> str:
            return await self._ctx.secret(settings.secret or name, destination=destination)

        async def through_proxy(hosts: Sequence[str], work: Any, *arguments: Any) -> Any:
            policy = web_.client.policy
            plain_hosts = [host.removeprefix("*.") for host in hosts]

            def allow(host: str, port: int) -> bool:
                return within(host, plain_hosts)

            async with FilteringProxy(policy, resolver=web_.resolver, allow=allow) as proxy:
                ca = web_.settings.ca_file
                verify = True if ca is None else str(ca)
                return await asyncio.to_thread(work, proxy.credentials_url, verify, *arguments)

        return Asking(
            send=send,
            key=key,
            url=settings.url,
            timeout=settings.timeout,
            engines=settings.engines,
            through_proxy=through_proxy,
        )

    def _result(self, best: _Round | None, rounds: list[_Round]) -> Result:
        hits = [] if best is None else self._hits(best)
        value = SearchResults(
            query=self._query.text,
            results=tuple(hits),
            provenance=tuple(r.tried for r in rounds),
            page=self._query.page,
            more=best is not None and len(best.found) >= self._query.count,
        )
        lines = [_said(each.tried) for each in rounds]
        if not hits:
            lines.append("Nothing was found. Try other words, or fewer restrictions.")
        content = ["\n".join(lines)]
        if hits:
            content.append(fenced(_listing(hits), "search results"))
        notes = [
            *(["degraded"] if len(rounds) > 1 else []),
            *(["cached"] if best is not None and best.tried.cached else []),
            *(["poor"] if best is not None and best.tried.state == "poor" else []),
        ]
        return Result(
            summary=f"{len(hits)} results for {quoted(self._query.text, 80)}",
            content=[Text("\n\n".join(content))],
            structured=plain(value),
            notes=notes,
        )

    def _hits(self, best: _Round) -> list[SearchHit]:
        fetched = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(best.at))
        age = round(max(0.0, time.time() - best.at), 1)
        return [
            SearchHit(
                title=cleaned(each.title)[0][:300],
                url=each.url,
                snippet=cleaned(each.snippet)[0][:600],
                provider=best.tried.provider,
                published=each.published,
                fetched_at=fetched,
                age=age if best.tried.cached else 0.0,
            )
            for each in best.found[: self._query.count]
        ]


def _ended(name: str, state: str, reason: str, started: float) -> _Round:
    seconds = round(time.monotonic() - started, 3)
    return _Round(Tried(provider=name, state=state, reason=reason, seconds=seconds))


def _said(tried: Tried) -> str:
    stored = " from the store" if tried.cached else ""
    reason = f" ({tried.reason})" if tried.reason else ""
    return f"{tried.provider}: {tried.state}, {tried.results} results{stored}{reason}"


def _listing(hits: Sequence[SearchHit]) -> str:
    parts = []
    for number, hit in enumerate(hits, start=1):
        date = f" ({hit.published})" if hit.published else ""
        parts.append(f"{number}. {hit.title}{date}\n   {hit.url}\n   {hit.snippet}".rstrip())
    return "\n".join(parts)


def _clause(text: str) -> str:
    return text.rstrip(".")[:300]


def _same_host(source: Target, there: Target) -> bool:
    return source.host == there.host
