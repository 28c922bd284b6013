"""Search without a key, by ddgs; nothing else knows of that library.

It does its own networking, in Rust, so it runs behind the filtering proxy and reaches the
hosts of the engines that are asked and nothing else.
"""

from __future__ import annotations

from typing import Any

from .base import Asking, Found, ProviderError, Query, plain_text


__all__ = ["ENGINE_HOSTS", "Keyless"]

#: Engine → hosts that it needs. What redirects elsewhere is not followed there.
ENGINE_HOSTS = {
    "duckduckgo": ("html.duckduckgo.com", "duckduckgo.com"),
    "brave": ("search.brave.com",),
    "mojeek": ("www.mojeek.com",),
    "startpage": ("www.startpage.com",),
    "wikipedia": ("*.wikipedia.org",),
    "yahoo": ("search.yahoo.com",),
}
DEFAULT_ENGINES = ("duckduckgo", "brave", "mojeek")
_LIMITS = {"day": "d", "week": "w", "month": "m", "year": "y"}


class Keyless:
    """Asks public engines as a reader would; they may refuse programs at any time."""

    name = "ddgs"

    async def search(self, query: Query, asking: Asking) -> list[Found]:
        """Return results, the best first."""
        engines = asking.engines or DEFAULT_ENGINES
        unknown = [name for name in engines if name not in ENGINE_HOSTS]
        if unknown:
            text = f"engine {unknown[0]!r} is not known; known are {', '.join(ENGINE_HOSTS)}"
            raise ProviderError(text, code="setup")
        hosts = tuple(host for name in engines for host in ENGINE_HOSTS[name])
        rows = await asking.through_proxy(hosts, _search, query, engines, asking.timeout)
        return [
            Found(
                title=plain_text(row.get("title")),
                url=str(row.get("href") or ""),
                snippet=plain_text(row.get("body")),
            )
            for row in rows
            if isinstance(row, dict)
        ]


def _search(
    proxy: str, verify: Any, query: Query, engines: tuple[str, ...], timeout: float
) -> list[dict[str, Any]]:
    """Run the library; called in a thread."""
    from ddgs import DDGS
    from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

    region = (query.language or "").lower()
    language, _, country = region.partition("-")
    try:
        found = DDGS(proxy=proxy, timeout=max(1, int(timeout)), verify=verify).text(
            query.with_sites(),
            region=f"{country}-{language}" if country else "wt-wt",
            safesearch="moderate",
            timelimit=_LIMITS.get(query.recency),
            max_results=query.count,
            page=query.page,
            backend=",".join(engines),
        )
    except RatelimitException as error:
        text = "the engines ask to wait"
        raise ProviderError(text, code="limited", wait=60.0) from error
    except TimeoutException as error:
        text = "the engines did not answer in time"
        raise ProviderError(text, code="timeout") from error
    except DDGSException as error:
        if "no results" in str(error).lower():
            return []
        text = "the engines gave no answer that could be read"
        raise ProviderError(text) from error
    return list(found)
