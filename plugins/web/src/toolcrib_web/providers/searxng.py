"""SearXNG (and searx), at an address of one's own."""

from __future__ import annotations

from urllib.parse import urlencode

from toolcrib_net import Request

from .base import Asking, Found, ProviderError, Query, plain_text, rows_of


__all__ = ["SearXNG"]

_RANGES = {"day": "day", "week": "week", "month": "month", "year": "year"}


class SearXNG:
    """Asks an instance's JSON interface; one that has it switched off answers 403."""

    name = "searxng"

    async def search(self, query: Query, asking: Asking) -> list[Found]:
        """Return results, the best first."""
        if asking.url is None:
            text = "no address is set: url in [pack.web.search.searxng]"
            raise ProviderError(text, code="setup")
        fields = {"q": query.with_sites(), "format": "json", "pageno": str(query.page)}
        if query.recency in _RANGES:
            fields["time_range"] = _RANGES[query.recency]
        if query.language:
            fields["language"] = query.language
        url = f"{asking.url.rstrip('/')}/search?{urlencode(fields)}"
        answer = await asking.send(Request(url=url, headers={"accept": "application/json"}))
        rows = rows_of(answer, "results")
        if not rows and (silent := _silent(answer.body)):
            text = f"none of its engines answered ({silent})"
            raise ProviderError(text)
        return [
            Found(
                title=plain_text(row.get("title")),
                url=str(row.get("url") or ""),
                snippet=plain_text(row.get("content")),
                published=plain_text(row.get("publishedDate") or row.get("pubdate")) or None,
            )
            for row in rows
        ]


def _silent(body: bytes) -> str:
    """Return the engines that an instance says did not answer: it is a success otherwise."""
    import json

    names = json.loads(body).get("unresponsive_engines") or []
    return ", ".join(plain_text(n[0] if isinstance(n, list) and n else n) for n in names[:5])
