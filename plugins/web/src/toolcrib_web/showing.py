"""How an answer is shown: what it is, said by us; what it says, marked as its own."""

from __future__ import annotations

import base64

from http import HTTPStatus
from typing import Any

import attrs

from toolcrib import ArtifactLink, Context, Image, Invalid, NotFound, Result, Text
from toolcrib_net import Answer
from toolcrib_net import shown as printable

from .documents import Document
from .labelling import cleaned, fenced, quoted
from .outputs import FetchResult, HopFact, plain
from .reading import Material
from .windows import Section, digest, find, outline, place, section, window
from .wishes import Wish, pages_of


__all__ = ["Shown", "shown", "stored"]

# Pictures that models take, and how large they may be to be shown at once.
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_LARGEST_PICTURE = 2_000_000
_EMPTY = {
    202: "The server has accepted the request and is not done: this is not the result yet.",
    204: "The server did what was asked and sends no content.",
    205: "The server did what was asked and sends no content.",
}


@attrs.frozen(kw_only=True)
class Shown:
    """What is shown: the wish, the answer, and where its body was stored."""

    wish: Wish
    answer: Answer
    material: Material
    notes: tuple[str, ...] = ()
    artifact: ArtifactLink | None = None


@attrs.frozen(kw_only=True)
class _Part:
    """The part of a document's text that is shown."""

    text: str
    start: int = 0
    end: int = 0
    total: int = 0
    cursor: str | None = None
    lines: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


async def stored(ctx: Context, what: Shown) -> Shown:
    """Keep the body as an artifact, for what cannot be shown, or not all of it."""
    if not what.answer.body:
        return what
    kind = what.material.sniffed.media_type or "application/octet-stream"
    name = what.answer.url.partition("?")[0].rstrip("/").rpartition("/")[2] or "body"
    link = await ctx.artifacts.put(
        what.answer.body, media_type=kind, title=printable(name)[:100]
    )
    return attrs.evolve(what, artifact=link)


def shown(what: Shown, document: Document | None) -> Result:
    """Return the result of a call."""
    part = _Part(text="") if document is None else _part(what, document)
    lines = [*_head(what, document), *part.lines]
    content: list[Any] = [Text("\n".join(lines))]
    if part.text.strip():
        content[0] = Text("\n".join([*lines, "", fenced(part.text, what.answer.url)]))
    if what.artifact is not None:
        content.append(what.artifact)
    content += _picture(what)
    notes = [*what.notes, *(document.notes if document else ()), *part.notes]
    if not what.answer.complete:
        notes.append("incomplete")
    if what.answer.status in {202, 203, 206}:
        notes.append("partial" if what.answer.status == 206 else "not_final")
    if what.answer.age is not None:
        notes.append("cached")
    return Result(
        summary=_summary(what, document),
        content=content,
        structured=plain(_facts(what, document, part)),
        notes=list(dict.fromkeys(notes)),
    )


def _summary(what: Shown, document: Document | None) -> str:
    title = document.title if document is not None and document.title else None
    name = quoted(title, 100) + " " if title else ""
    return f"{what.answer.status} {name}{printable(what.answer.url)}"


def _head(what: Shown, document: Document | None) -> list[str]:
    """Say what came back, in our own words."""
    answer = what.answer
    try:
        phrase = " " + HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = ""
    lines = [f"Status: {answer.status}{phrase}", f"URL: {answer.url}"]
    lines += [*_way(answer), *_state(what), *_nature(what, document)]
    if what.wish.method == "HEAD":
        lines += [f"{n}: {printable(v)[:200]}" for n, v in answer.headers if n != "set-cookie"]
    return lines


def _way(answer: Answer) -> list[str]:
    """Say how it was come by."""
    lines = []
    if answer.hops:
        way = "; ".join(f"{hop.status} {hop.url} -> {hop.location}" for hop in answer.hops)
        lines.append(f"Redirected: {way}. The final address differs from the one asked for.")
    if answer.redirect is not None:
        lines.append(_elsewhere(answer.redirect.location))
    if answer.age is not None:
        lines.append(f"From the store, {answer.age:.0f} s old.")
    return lines


def _state(what: Shown) -> list[str]:
    """Say how much of the content it is."""
    answer = what.answer
    if answer.status in _EMPTY:
        return [_EMPTY[answer.status]]
    if answer.status == 206:
        return ["The server sent a part of the content only."]
    if not answer.body and what.wish.method != "HEAD" and answer.redirect is None:
        return ["The body is empty."]
    return []


def _nature(what: Shown, document: Document | None) -> list[str]:
    """Say what it is, and what is wrong with it."""
    answer, sniffed = what.answer, what.material.sniffed
    kind = sniffed.media_type or "no type"
    lines = [f"Type: {kind}, {len(answer.body):,} bytes{_coding(document)}"]
    if sniffed.contradicts is not None:
        lines.append(f"The header calls it {quoted(sniffed.contradicts, 60)}; it is not that.")
    if answer.problem is not None:
        lines.append(f"Not as it should be: {answer.problem}.")
    if document is not None and document.refresh is not None:
        lines.append(f"The page leads a browser on to {printable(document.refresh)}.")
    if document is None and answer.body:
        lines.append("It is no text; the body is stored as it is.")
    return lines


def _elsewhere(location: str) -> str:
    return (
        f"It redirects to {location}, which was not followed: another host"
        " needs a decision of its own. Call web.fetch with that address if it is wanted."
    )


def _coding(document: Document | None) -> str:
    encoding = document.encoding if document is not None else None
    if encoding is None:
        return ""
    by = {
        "bom": "by its byte order mark",
        "header": "as the header says",
        "meta": "as the page says",
        "content": "by its bytes",
        "guess": "a guess",
    }[encoding.source]
    passed = ""
    if encoding.passed_over:
        passed = f"; declared {' and '.join(encoding.passed_over)}, which the bytes are not"
    return f", {encoding.name} ({by}{passed})"


def _part(what: Shown, document: Document) -> _Part:
    """Return the part of the text that the call wants."""
    text, gone = cleaned(document.whole)
    notes = ("invisible_characters_left_out",) if gone else ()
    wish = what.wish
    said = _about(document)
    if wish.find is not None:
        part = _found(text, wish)
    elif wish.section is not None:
        part = _section(text, wish)
    else:
        part = _window(text, document, wish)
    body = (
        said + part.text if part.start == 0 and wish.find is None and part.text else part.text
    )
    return attrs.evolve(part, text=body, notes=(*part.notes, *notes))


def _about(document: Document) -> str:
    """Return what the page says of itself; it stands among its own words."""
    facts = {
        "title": document.title,
        "by": document.author,
        "site": document.site,
        "published": document.published,
        "modified": document.modified,
        "language": document.language,
    }
    lines = [f"{name}: {cleaned(value)[0]}" for name, value in facts.items() if value]
    return "\n".join(lines) + "\n\n" if lines and document.kind in {"html", "pdf"} else ""


def _window(text: str, document: Document, wish: Wish) -> _Part:
    start, end, notes = 0, None, []
    if wish.pages is not None:
        start, end = _span(document, wish.pages)
    if wish.cursor is not None:
        at = place(wish.cursor) or (0, "")
        start = at[0]
        if at[1] != digest(text):
            notes.append("changed_since_the_cursor")
    found = window(text, start, wish.max_chars, end=end)
    lines = []
    if found.start > 0 or found.end < found.total:
        lines.append(f"Shown: characters {found.start:,}-{found.end:,} of {found.total:,}.")
    if found.cursor is not None:
        lines.append(f"More follows: call again with cursor={found.cursor!r}.")
    return _Part(
        text=found.text,
        start=found.start,
        end=found.end,
        total=found.total,
        cursor=found.cursor,
        lines=tuple(lines),
        notes=(*notes, *(["part"] if found.cursor or found.start else [])),
    )


def _span(document: Document, wanted: str) -> tuple[int, int | None]:
    first, last = pages_of(wanted)
    starts = {page.number: page.start for page in document.pages}
    if not starts:
        text = "The document has no pages; leave pages out."
        raise Invalid("/pages", text, code="web.bad_pages")
    if first not in starts:
        text = f"The document has {max(starts)} pages; page {first} is not among them."
        raise Invalid("/pages", text, code="web.bad_pages")
    return starts[first], starts.get(last + 1)


def _section(text: str, wish: Wish) -> _Part:
    wanted = wish.section or ""
    found = section(text, wanted)
    if not isinstance(found, Section):
        known = [s.title for s in (found or outline(text))][:30]
        names = "; ".join(quoted(name, 80) for name in known) or "none"
        what = "means several headings" if found else "is not among the headings"
        message = f"{quoted(wanted, 80)} {what}. Headings: {names}."
        raise NotFound(message, code="web.no_section")
    start = found.start
    if wish.cursor is not None and (at := place(wish.cursor)) is not None:
        start = min(max(at[0], found.start), found.end)
    part = window(text, start, wish.max_chars, end=found.end)
    lines = [f"Section {quoted(found.title, 80)}."]
    if part.cursor is not None:
        lines.append(f"More follows: call again with cursor={part.cursor!r}.")
    return _Part(
        text=part.text,
        start=part.start,
        end=part.end,
        total=part.total,
        cursor=part.cursor,
        lines=tuple(lines),
        notes=("part",),
    )


def _found(text: str, wish: Wish) -> _Part:
    wanted = wish.find or ""
    places, count = find(text, wanted)
    lines = [f"Found {quoted(wanted, 80)} {count} times" + ("." if places else " in the text.")]
    if count > len(places):
        lines.append(f"The first {len(places)} are shown.")
    mark = digest(text)
    shown_ = "\n\n".join(
        f"at {each.start} (cursor {each.start}-{mark}): {each.text}" for each in places
    )
    return _Part(
        text=shown_, end=len(shown_), total=len(text), lines=tuple(lines), notes=("part",)
    )


def _picture(what: Shown) -> list[Any]:
    sniffed = what.material.sniffed
    small = len(what.answer.body) <= _LARGEST_PICTURE and what.answer.complete
    if sniffed.kind != "image" or sniffed.media_type not in _PICTURES or not small:
        return []
    return [Image(base64.b64encode(what.answer.body).decode(), sniffed.media_type)]


def _facts(what: Shown, document: Document | None, part: _Part) -> FetchResult:
    answer, sniffed = what.answer, what.material.sniffed
    page = document or Document(kind=sniffed.kind, text="")
    heads = outline(page.whole)[:100] if page.kind in {"html", "pdf", "text"} else []
    return FetchResult(
        url=answer.url,
        requested_url=what.wish.url,
        status=answer.status,
        redirects=tuple(
            HopFact(status=h.status, url=h.url, location=h.location) for h in answer.hops
        ),
        redirect_to=None if answer.redirect is None else answer.redirect.location,
        kind=page.kind,
        media_type=sniffed.media_type,
        charset=None if page.encoding is None else page.encoding.name,
        title=page.title,
        author=page.author,
        site=page.site,
        description=page.description,
        language=page.language,
        canonical_url=page.canonical,
        published=page.published,
        modified=page.modified,
        refresh_to=page.refresh,
        size=len(answer.body),
        complete=answer.complete and answer.status != 206,
        start=part.start,
        end=part.end,
        total=part.total,
        cursor=part.cursor,
        sections=tuple(s.title for s in heads),
        pages=len(page.pages),
        cache_age=answer.age,
        artifact=None if what.artifact is None else what.artifact.digest,
        http_version=answer.http,
    )
