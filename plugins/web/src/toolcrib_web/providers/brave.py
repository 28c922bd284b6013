"""Brave Search."""

from __future__ import annotations

from urllib.parse import urlencode

from toolcrib_net import Request

from .base import Asking, Found, Query, plain_text, rows_of


__all__ = ["Brave"]

_HOST = "api.search.brave.com"
_RECENCY = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}


class Brave:
    """Asks Brave's web search."""

    name = "brave"

    async def search(self, query: Query, asking: Asking) -> list[Found]:
        """Return results, the best first."""
        fields = {
            "q": query.with_sites(),
            "count": str(min(query.count, 20)),
            "offset": str(min(query.page - 1, 9)),
        }
        if query.recency in _RECENCY:
            fields["freshness"] = _RECENCY[query.recency]
        if query.language:
            fields["search_lang"] = query.language.partition("-")[0].lower()
        base = asking.url or f"https://{_HOST}"
        request = Request(
            url=f"{base.rstrip('/')}/res/v1/web/search?{urlencode(fields)}",
            headers={"accept": "application/json"},
            secret_headers={"x-subscription-token": await asking.key(base)},
        )
        return [
            Found(
                title=plain_text(row.get("title")),
                url=str(row.get("url") or ""),
                snippet=plain_text(row.get("description")),
                published=plain_text(row.get("page_age") or row.get("age")) or None,
            )
            for row in rows_of(await asking.send(request), "web", "results")
        ]
