"""Exa."""

from __future__ import annotations

import json
import time

from typing import Any

from toolcrib_net import Request

from .base import Asking, Found, Query, plain_text, rows_of


__all__ = ["Exa"]

_HOST = "api.exa.ai"
_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}


class Exa:
    """Asks Exa's search; it knows no pages, so further ones are cut from a longer list."""

    name = "exa"

    async def search(self, query: Query, asking: Asking) -> list[Found]:
        """Return results, the best first."""
        wanted = min(query.count * query.page, 50)
        body: dict[str, Any] = {
            "query": query.text,
            "type": "auto",
            "numResults": wanted,
            "contents": {"text": {"maxCharacters": 500}},
        }
        if query.recency in _DAYS:
            since = time.gmtime(time.time() - 86_400 * _DAYS[query.recency])
            body["startPublishedDate"] = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", since)
        if query.allowed:
            body["includeDomains"] = list(query.allowed)
        if query.blocked:
            body["excludeDomains"] = list(query.blocked)
        base = asking.url or f"https://{_HOST}"
        request = Request(
            url=f"{base.rstrip('/')}/search",
            method="POST",
            headers={"content-type": "application/json", "accept": "application/json"},
            secret_headers={"x-api-key": await asking.key(base)},
            body=json.dumps(body).encode(),
        )
        rows = rows_of(await asking.send(request), "results")
        return [
            Found(
                title=plain_text(row.get("title")) or str(row.get("url") or ""),
                url=str(row.get("url") or ""),
                snippet=plain_text(row.get("text") or row.get("summary")),
                published=plain_text(row.get("publishedDate")) or None,
            )
            for row in rows[query.count * (query.page - 1) :]
        ]
