"""Which results of a provider are shown: of the right domains, each once, to the point."""

from __future__ import annotations

import re

from collections.abc import Iterable, Sequence
from urllib.parse import parse_qsl, urlencode, urlsplit

from toolcrib import resources

from .providers.base import Found, Query


__all__ = ["canonical_url", "domain_of", "fitting", "to_the_point", "within"]

_TRACKING = re.compile(
    r"utm_.*|gclid|dclid|gbraid|wbraid|fbclid|msclkid|yclid|igshid|mc_[ce]id|ref_src|_hs.*|vero_id",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w{2,}")
_OPERATOR = re.compile(r"-?\w+:\S+")


def domain_of(text: str) -> str:
    """Return a domain in canonical form.

    Raises:
        ValueError: it is none.
    """
    return resources.Host(text.strip().removeprefix("*.").removeprefix(".")).value


def within(host: str, domains: Iterable[str]) -> bool:
    """Tell whether a host is one of the domains, or below one; whole labels only."""
    return any(host == domain or host.endswith("." + domain) for domain in domains)


def canonical_url(url: str) -> str | None:
    """Return what two addresses of one page have in common, or None for no web address."""
    try:
        value = resources.Url(url).value
        parts = urlsplit(value)
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"}:
        return None
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    query = urlencode([(k, v) for k, v in pairs if not _TRACKING.fullmatch(k)])
    host = parts.netloc.removeprefix("www.")
    return f"{host}{parts.path.rstrip('/')}{'?' + query if query else ''}"


def fitting(found: Iterable[Found], query: Query, blocked: Sequence[str]) -> list[Found]:
    """Return the results of allowed domains, each page once, in order."""
    kept: dict[str, Found] = {}
    for each in found:
        key = canonical_url(each.url)
        if key is None:
            continue
        host = resources.host_of(resources.Url(each.url).value)
        if within(host, query.blocked) or within(host, blocked):
            continue
        if query.allowed and not within(host, query.allowed):
            continue
        if key not in kept and (each.title or each.snippet):
            kept[key] = each
    return list(kept.values())


def to_the_point(found: Sequence[Found], query: Query) -> bool:
    """Tell whether results have anything to do with the words that were searched for."""
    words = {w.casefold() for w in _WORD.findall(_OPERATOR.sub(" ", query.text))}
    if not words:
        return True
    whole = " ".join(f"{f.title} {f.snippet} {f.url}" for f in found).casefold()
    # Some scripts put no spaces between words: two letters of one are enough.
    pieces = {piece for w in words for piece in ([w] if w.isascii() else _pairs(w))}
    return any(piece in whole for piece in pieces)


def _pairs(word: str) -> list[str]:
    return [word[i : i + 2] for i in range(len(word) - 1)]
