"""RSS and Atom to Markdown, by feedparser; nothing else knows of that library."""

from __future__ import annotations

import re
import time

from typing import Any

from .documents import Document, Encoding
from .markdown import to_markdown
from .trees import absolute_links, parse, prune


__all__ = ["is_entity_bomb", "read_feed"]

_MOST_ENTRIES = 200
_MOST_EACH = 20_000
_ENTITY = re.compile(r"<!ENTITY", re.IGNORECASE)


def is_entity_bomb(text: str) -> bool:
    """Tell whether XML defines entities of its own, which no feed needs."""
    return _ENTITY.search(text[:100_000]) is not None


def read_feed(text: str, url: str, encoding: Encoding) -> Document | None:
    """Return a feed's entries, newest as the feed has them, or None if it is no feed."""
    import feedparser  # type: ignore[import-untyped,unused-ignore]

    # Given as bytes in a known encoding: the parser never guesses, opens or fetches.
    declared = re.sub(r"^\s*<\?xml[^>]*\?>", "", text[:500]) + text[500:]
    found = feedparser.parse(declared.encode("utf-8", "replace"), sanitize_html=False)
    if not found.version and not found.entries:
        return None
    about = found.feed
    lines = [f"# {_line(about.get('title')) or 'Feed'}", ""]
    if about.get("subtitle"):
        lines += [_html(about.subtitle, url), ""]
    shown = found.entries[:_MOST_ENTRIES]
    for entry in shown:
        lines += _entry(entry, url)
    notes = ("entries_left_out",) if len(found.entries) > len(shown) else ()
    return Document(
        kind="feed",
        text="\n".join(lines).strip(),
        title=_line(about.get("title")),
        description=_line(about.get("subtitle")),
        language=about.get("language"),
        canonical=about.get("link"),
        modified=_date(about.get("updated_parsed")),
        encoding=encoding,
        notes=notes,
    )


def _entry(entry: Any, url: str) -> list[str]:
    title = _line(entry.get("title")) or "(no title)"
    link = entry.get("link")
    date = _date(entry.get("published_parsed") or entry.get("updated_parsed"))
    author = _line(entry.get("author"))
    lines = [f"## {title}", ""]
    facts = [f"<{link}>" if link else None, date, f"by {author}" if author else None]
    facts += [f"<{each.get('href')}>" for each in entry.get("enclosures", ())[:5]]
    if any(facts):
        lines += [" · ".join(fact for fact in facts if fact), ""]
    content = entry.get("content") or [{}]
    body = content[0].get("value") or entry.get("summary") or ""
    if body:
        lines += [_html(body, link or url)[:_MOST_EACH], ""]
    return lines


def _html(source: str, url: str) -> str:
    tree = parse(source[: 4 * _MOST_EACH])
    if tree is None:
        return ""
    prune(tree)
    absolute_links(tree, url)
    from lxml import html  # type: ignore[import-untyped,unused-ignore]

    return to_markdown(str(html.tostring(tree, encoding="unicode")))


def _line(text: str | None) -> str | None:
    return " ".join(re.sub(r"<[^>]*>", "", text or "").split())[:500] or None


def _date(parsed: Any) -> str | None:
    return None if not parsed else time.strftime("%Y-%m-%dT%H:%M:%SZ", parsed)
