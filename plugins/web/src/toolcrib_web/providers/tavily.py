"""Tavily."""

from __future__ import annotations

import json

from typing import Any

from toolcrib_net import Request

from .base import Asking, Found, Query, plain_text, rows_of


__all__ = ["Tavily"]

_HOST = "api.tavily.com"


class Tavily:
    """Asks Tavily's search; it knows no pages, so further ones are cut from a longer list."""

    name = "tavily"

    async def search(self, query: Query, asking: Asking) -> list[Found]:
        """Return results, the best first."""
        wanted = min(query.count * query.page, 20)
        body: dict[str, Any] = {"query": query.text, "max_results": wanted}
        if query.recency != "any":
            body["time_range"] = query.recency
        if query.allowed:
            body["include_domains"] = list(query.allowed)
        if query.blocked:
            body["exclude_domains"] = list(query.blocked)
        base = asking.url or f"https://{_HOST}"
        request = Request(
            url=f"{base.rstrip('/')}/search",
            method="POST",
            headers={"content-type": "application/json", "accept": "application/json"},
            secret_headers={"authorization": f"Bearer {await asking.key(base)}"},
            body=json.dumps(body).encode(),
        )
        rows = rows_of(await asking.send(request), "results")
        return [
            Found(
                title=plain_text(row.get("title")),
                url=str(row.get("url") or ""),
                snippet=plain_text(row.get("content")),
                published=plain_text(row.get("published_date")) or None,
            )
            for row in rows[query.count * (query.page - 1) :]
        ]
