"""What a page says of itself: title, address, language, dates."""

from __future__ import annotations

import json
import re

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

import attrs

from .trees import text_of


__all__ = ["Metadata", "metadata_of"]

_LONGEST = 500
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ][\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?")
_REFRESH = re.compile(r"^\s*[\d.]+\s*[;,]\s*(?:url\s*=\s*)?[\"']?([^\"']+)", re.IGNORECASE)
_LANGUAGE = re.compile(r"[a-zA-Z]{2,3}(?:[-_][a-zA-Z0-9]{1,8})*")
_MOST_JSON = 512 * 1024


@attrs.frozen(kw_only=True)
class Metadata:
    """What was found; None for what the page does not say."""

    title: str | None = None
    author: str | None = None
    site: str | None = None
    description: str | None = None
    language: str | None = None
    canonical: str | None = None
    published: str | None = None
    modified: str | None = None
    refresh: str | None = None


def metadata_of(tree: Any, url: str, headers: Mapping[str, str]) -> Metadata:
    """Read a page's head, its JSON-LD, and what its headers add."""
    meta = _meta(tree)
    linked = dict(_json_ld(tree))
    title = meta.get("og:title") or _first(tree, "title") or _first(tree, "h1")
    language = tree.get("lang") or tree.get("{http://www.w3.org/XML/1998/namespace}lang")
    language = language or meta.get("content-language") or headers.get("content-language")
    published = meta.get("article:published_time") or linked.get("datePublished")
    published = published or meta.get("date") or meta.get("dc.date") or _time(tree)
    modified = meta.get("article:modified_time") or linked.get("dateModified")
    return Metadata(
        title=_short(title or linked.get("headline")),
        author=_short(meta.get("author") or linked.get("author")),
        site=_short(meta.get("og:site_name")),
        description=_short(meta.get("description") or meta.get("og:description")),
        language=_language(language),
        canonical=_canonical(tree, url, meta.get("og:url")),
        published=_date(published),
        modified=_date(modified or meta.get("last-modified")),
        refresh=_refresh(meta.get("refresh"), url),
    )


def _meta(tree: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for element in tree.iter("meta"):
        name = element.get("property") or element.get("name") or element.get("http-equiv")
        content = element.get("content")
        if name and content:
            found.setdefault(name.strip().lower(), content)
    return found


def _json_ld(tree: Any) -> Iterator[tuple[str, str]]:
    for element in tree.iter("script"):
        if (element.get("type") or "").lower() != "application/ld+json":
            continue
        text = element.text or ""
        if len(text) > _MOST_JSON:
            continue
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        graph = value.get("@graph", [value]) if isinstance(value, dict) else value
        for node in graph if isinstance(graph, list) else ():
            if isinstance(node, dict):
                yield from _node(node)


def _node(node: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key in ("datePublished", "dateModified", "headline"):
        if isinstance(node.get(key), str):
            yield key, node[key]
    author = node.get("author")
    if isinstance(author, list) and author:
        author = author[0]
    if isinstance(author, dict):
        author = author.get("name")
    if isinstance(author, str):
        yield "author", author


def _first(tree: Any, tag: str) -> str | None:
    element = next(tree.iter(tag), None)
    return None if element is None else text_of(element) or None


def _time(tree: Any) -> str | None:
    element = next((e for e in tree.iter("time") if e.get("datetime")), None)
    return None if element is None else element.get("datetime")


def _short(text: str | None) -> str | None:
    text = " ".join((text or "").split())
    return text[:_LONGEST] or None


def _language(text: str | None) -> str | None:
    match = _LANGUAGE.fullmatch((text or "").strip().partition(",")[0])
    return None if match is None else match[0].replace("_", "-")


def _date(text: str | None) -> str | None:
    match = _DATE.search(text or "")
    if match is not None:
        return match[0]
    return _short(text) and _short(text)[:40]  # type: ignore[index]


def _canonical(tree: Any, url: str, fallback: str | None) -> str | None:
    for element in tree.iter("link"):
        if "canonical" in (element.get("rel") or "").lower().split() and element.get("href"):
            return _address(element.get("href"), url)
    return _address(fallback, url)


def _refresh(text: str | None, url: str) -> str | None:
    match = _REFRESH.match(text or "")
    return None if match is None else _address(match[1].strip(), url)


def _address(href: str | None, url: str) -> str | None:
    if not href:
        return None
    try:
        whole = urljoin(url, href.strip())
        parts = urlsplit(whole)
    except ValueError:
        return None
    return whole[:2000] if parts.scheme in {"http", "https"} and parts.hostname else None
