"""What a search provider is asked, what it gives, and what it is given to work with."""

from __future__ import annotations

import json
import re

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import attrs

from toolcrib_net import Answer, Request

from toolcrib_web.wishes import Recency


__all__ = ["Asking", "Found", "Provider", "ProviderError", "Query", "plain_text", "rows_of"]

_TAG = re.compile(r"<[^>]{0,500}>")
_MOST_ROWS = 100
_LONGEST = 2000


@attrs.frozen(kw_only=True)
class Query:
    """What is searched for; every provider understands it as well as it can.

    Attributes:
        text: Words.
        count: Results wanted.
        page: From 1.
        recency: Not older than.
        language: Such as ``de`` or ``pt-BR``.
        allowed, blocked: Domains, whole labels.
    """

    text: str
    count: int = 10
    page: int = 1
    recency: Recency = "any"
    language: str | None = None
    allowed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()

    def with_sites(self) -> str:
        """Return the words with the domains in the form that most engines understand."""
        only = " OR ".join(f"site:{domain}" for domain in self.allowed[:8])
        wanted = f"({only})" if len(self.allowed) > 1 else only
        unwanted = " ".join(f"-site:{domain}" for domain in self.blocked[:8])
        return " ".join(part for part in (self.text, wanted, unwanted) if part)


@attrs.frozen(kw_only=True)
class Found:
    """One result as a provider gives it."""

    title: str
    url: str
    snippet: str = ""
    published: str | None = None


class ProviderError(Exception):
    """Raised by a provider that has no results to give.

    Attributes:
        reason: A clause for people and models; no secrets, no markup.
        code: Short word: ``refused limited failed timeout setup``.
        wait: Seconds for which it asks to be left alone.
    """

    def __init__(self, reason: str, *, code: str = "failed", wait: float | None = None) -> None:
        self.reason = reason
        self.code = code
        self.wait = wait
        super().__init__(reason)


@attrs.frozen(kw_only=True)
class Asking:
    """What a provider works with: a bounded request, and its key.

    Attributes:
        send: Makes a request under the pack's rules for the network.
        key: Gives the provider's secret for a host.
        url: The address that policy names, if the provider needs one.
        timeout: Seconds.
        engines: For a provider of several.
        through_proxy: Runs what does its own networking behind the filtering proxy.
    """

    send: Callable[[Request], Awaitable[Answer]]
    key: Callable[[str], Awaitable[str]]
    url: str | None = None
    timeout: float = 12.0
    engines: tuple[str, ...] = ()
    through_proxy: Callable[..., Awaitable[Any]]


class Provider(Protocol):
    """Searches the web."""

    name: str

    async def search(self, query: Query, asking: Asking) -> list[Found]:
        """Return results, the best first.

        Raises:
            ProviderError: there are none to be had here.
            toolcrib_net.NetError: the provider was not reached.
        """


def rows_of(answer: Answer, *path: str) -> list[Mapping[str, Any]]:
    """Return the rows of a JSON answer at a path.

    Raises:
        ProviderError: the answer says no, or is not what it should be.
    """
    check_status(answer)
    try:
        value = json.loads(answer.body)
        for step in path:
            value = value.get(step) or ({} if step != path[-1] else [])
    except (ValueError, AttributeError, RecursionError) as error:
        text = "its answer is not the JSON that was expected"
        raise ProviderError(text) from error
    if not isinstance(value, list):
        text = "its answer holds no list of results"
        raise ProviderError(text)
    return [row for row in value[:_MOST_ROWS] if isinstance(row, Mapping)]


def check_status(answer: Answer) -> None:
    """Refuse an answer that is no success."""
    if answer.status in {401, 403}:
        text = f"it answered {answer.status}: the key is missing or wrong"
        raise ProviderError(text, code="refused")
    if answer.status in {402, 429, 432, 433}:
        import time

        from toolcrib_net import retry_after

        wait = retry_after(answer.header("retry-after"), time.time())
        text = f"it answered {answer.status}: its limit is reached"
        raise ProviderError(text, code="limited", wait=wait or 60.0)
    if answer.status != 200:
        text = f"it answered {answer.status}"
        raise ProviderError(text)


def plain_text(value: Any) -> str:
    """Return a text of a provider without tags, on one line, bounded."""
    if not isinstance(value, str):
        return ""
    from html import unescape

    return " ".join(unescape(_TAG.sub("", value[: 4 * _LONGEST])).split())[:_LONGEST]
