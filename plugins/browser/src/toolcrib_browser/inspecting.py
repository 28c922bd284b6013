"""How ``browser.inspect`` works: what a page said, asked for, holds, and looks like."""

from __future__ import annotations

import base64
import contextlib

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal

import attrs

from toolcrib import Between, Context, Failed, Image, Length, NotFound, Result, Text

from .actions import Ref
from .desk import Desk
from .failing import answering
from .fields import hidden_values, is_secret_field, redacted
from .guarding import is_ours
from .inside import asked, asking, surveyed
from .marks import cleaned, fenced
from .origins import shown_url
from .outputs import Inspected, plain
from .reading import expected
from .regions import markdown_of, rows_of, table_text
from .tabs import Tab


if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Frame, Locator


__all__ = ["Inspecting", "Log", "Part", "Picture", "Print", "Search", "Target"]

_LONGEST = 4000
_SHOWN = 3_000_000


@attrs.frozen(kw_only=True)
class Log:
    """What the page wrote to its console, which errors its code had, what it fetched."""

    kind: Literal["console", "errors", "network"]
    limit: Annotated[int, "The latest so many", Between(1, 100)] = 50


@attrs.frozen(kw_only=True)
class Search:
    """Where a text stands in the page, letter case aside."""

    kind: Literal["find"]
    text: Annotated[str, Length(1, 1000)]
    limit: Annotated[int, Between(1, 50)] = 20


@attrs.frozen(kw_only=True)
class Picture:
    """A picture of the page, or of one element."""

    kind: Literal["screenshot"]
    ref: Ref | None = None
    full: Annotated[bool, "The whole page, not only what is in the window"] = False
    format: Literal["png", "jpeg"] = "png"


@attrs.frozen(kw_only=True)
class Print:
    """The page as a PDF, kept as an artifact."""

    kind: Literal["pdf"]
    landscape: bool = False


@attrs.frozen(kw_only=True)
class Part:
    """The page, or one element, as text to read; a table also as rows."""

    kind: Literal["markdown", "table"]
    ref: Annotated[Ref | None, "Left out: the page; for table: its first one"] = None
    limit: Annotated[int, "Most characters, or rows", Between(1, 50_000)] = 20_000


Target = Log | Search | Picture | Print | Part


class Inspecting:
    """One call of ``browser.inspect``."""

    def __init__(self, ctx: Context, desk: Desk, target: Target) -> None:
        self._ctx = ctx
        self._desk = desk
        self._target = target

    async def run(self, page: str | None, origin: str | None) -> Result:
        """Find out.

        Raises:
            NotFound: there is no such element, table or page.
        """
        desk, target = self._desk, self._target
        async with desk.gate.turn():
            tab = await desk.tab(page)
            async with answering(self._ctx, desk, tab):
                await expected(desk, tab, origin)
                if isinstance(target, Log):
                    return await self._log(tab, target)
                if isinstance(target, Search):
                    return await self._search(tab, target)
                if isinstance(target, Picture):
                    return await self._picture(tab, target)
                if isinstance(target, Print):
                    return await self._print(tab, target)
                return await self._part(tab, target)

    def _result(self, tab: Tab, found: Inspected, lines: list[str], body: str) -> Result:
        text = redacted(body, self._desk.secrets)
        shown = [fenced(text, tab.id)] if text else []
        return Result(
            summary=f"{found.target} of {tab.id}: {found.count}",
            content=[Text("\n".join([*lines, *shown]))],
            structured=plain(found),
        )

    # -- logs ------------------------------------------------------------------------

    async def _log(self, tab: Tab, target: Log) -> Result:
        sources: dict[str, Callable[[Tab], Awaitable[list[dict[str, Any]]]]] = {
            "console": self._console,
            "errors": self._errors,
            "network": self._network,
        }
        every = await sources[target.kind](tab)
        kept = [
            {name: self._clean(value) for name, value in entry.items()}
            for entry in every[-target.limit :]
        ]
        found = Inspected(
            page=tab.id, target=target.kind, count=len(every), entries=tuple(kept)
        )
        body = "\n".join(" ".join(str(v) for v in entry.values() if v != "") for entry in kept)
        head = f"{target.kind} of page {tab.id}: {len(every)}, the latest last."
        return self._result(tab, found, [head], body)

    def _clean(self, value: Any) -> Any:
        return redacted(value, self._desk.secrets) if isinstance(value, str) else value

    async def _console(self, tab: Tab) -> list[dict[str, Any]]:
        messages = await tab.ask(tab.page.console_messages())
        return [
            {"type": cleaned(m.type, 20), "text": cleaned(m.text, _LONGEST)}
            for m in messages
            if not is_ours(m.text)
        ]

    async def _errors(self, tab: Tab) -> list[dict[str, Any]]:
        errors = await tab.ask(tab.page.page_errors())
        return [{"text": cleaned(str(error), _LONGEST)} for error in errors]

    async def _network(self, tab: Tab) -> list[dict[str, Any]]:
        found = []
        for request in await tab.ask(tab.page.requests()):
            entry = {
                "method": cleaned(request.method, 20),
                "url": shown_url(request.url, 300),
                "type": cleaned(request.resource_type, 20),
                "result": await self._result_of(tab, request),
            }
            found.append(entry)
        return found

    async def _result_of(self, tab: Tab, request: Any) -> str:
        refused = self._refused(request.url)
        if request.failure:
            return refused or cleaned(str(request.failure), 100)
        response = request.existing_response
        if response is None:
            return "no answer yet"
        return (
            refused if response.status in {403, 502, 504} and refused else str(response.status)
        )

    def _refused(self, url: str) -> str:
        found = self._desk.engine.refusal(url)
        return f"refused: {found[0]}" if found is not None else ""

    # -- content ---------------------------------------------------------------------

    async def _search(self, tab: Tab, target: Search) -> Result:
        from .observing import look

        seen = await look(self._desk, tab)
        wanted = target.text.casefold()
        hits = [
            (place, node)
            for place, node in enumerate(seen.outline.nodes)
            if wanted in node.text.casefold() or wanted in node.name.casefold()
        ]
        entries = []
        for place, node in hits[: target.limit]:
            near = node.ref or next((n.ref for n in seen.outline.parents(place) if n.ref), "")
            entries.append({"ref": near, "text": self._clean(node.line()[2:502])})
        shown = frozenset(entry["ref"] for entry in entries if entry["ref"])
        tab.keep(attrs.evolve(seen, refs=shown | _earlier(tab, seen)))
        found = Inspected(page=tab.id, target="find", count=len(hits), entries=tuple(entries))
        body = "\n".join(f"{entry['ref'] or '-'}: {entry['text']}" for entry in entries)
        head = f"{len(hits)} elements of page {tab.id} have it; snapshot {seen.id}."
        return self._result(tab, found, [head], body)

    async def _part(self, tab: Tab, target: Part) -> Result:
        handle = await self._element(tab, target.ref)
        secret = hidden_values(facts for _, facts in await self._fields(tab))
        if target.kind == "table":
            rows = await rows_of(tab, handle)
            if rows is None:
                text = f"There is no table in {target.ref or 'page ' + tab.id}."
                raise NotFound(text, code="browser.no_table")
            kept = tuple(
                tuple(self._clean(_without(secret, cell)) for cell in row)
                for row in rows[: target.limit]
            )
            found = Inspected(page=tab.id, target="table", count=len(rows), rows=kept)
            head = f"{len(rows)} rows of page {tab.id}."
            return self._result(tab, found, [head], table_text(kept))
        text = _without(secret, await markdown_of(tab, handle))
        found = Inspected(page=tab.id, target="markdown", count=len(text))
        cut = f", the first {target.limit:,} shown" if len(text) > target.limit else ""
        head = f"{len(text):,} characters of page {tab.id}{cut}."
        return self._result(tab, found, [head], text[: target.limit])

    async def _element(self, tab: Tab, ref: str | None) -> ElementHandle | None:
        """Return the element of a ref, as the last looks had it."""
        if ref is None:
            return None
        if not tab.whole:
            from .observing import look

            await look(self._desk, tab)
        known = any(
            ref in x.refs and x.generation == tab.generation for x in tab.looks.values()
        )
        locator = tab.page.locator(f"aria-ref={ref}")
        if not known or await tab.ask(locator.count()) == 0:
            text = f"Page {tab.id} has no element {ref}. Take a new snapshot."
            raise NotFound(text, code="browser.no_element")
        return await tab.ask(locator.element_handle(timeout=1500))

    # -- pictures --------------------------------------------------------------------

    async def _picture(self, tab: Tab, target: Picture) -> Result:
        options: dict[str, Any] = {"type": target.format, "animations": "disabled"}
        if target.format == "jpeg":
            options["quality"] = 80
        handle = await self._element(tab, target.ref)
        # What credential fields hold is not for pictures either.
        options["mask"] = await self._masks(tab)
        if handle is not None:
            data = await tab.ask(handle.screenshot(**options), 20.0)
        else:
            data = await tab.ask(tab.page.screenshot(full_page=target.full, **options), 20.0)
        kind = f"image/{target.format}"
        link = await self._ctx.artifacts.put(
            data, media_type=kind, title=f"{tab.id}.{target.format}"
        )
        found = Inspected(
            page=tab.id, target="screenshot", count=1, artifact=link.digest, size=len(data)
        )
        words = f"Screenshot of {target.ref or 'page'} {tab.id}, {len(data):,} bytes."
        content: list[Any] = [Text(words)]
        if len(data) <= _SHOWN:
            content.append(Image(base64.b64encode(data).decode("ascii"), kind))
        content.append(link)
        return Result(summary=words, content=content, structured=plain(found))

    async def _masks(self, tab: Tab) -> list[Locator]:
        """Return the fields that no picture may show."""
        return [
            frame.locator(asking(f"field {facts['at']}"))
            for frame, facts in await self._fields(tab)
            if is_secret_field(facts)
        ]

    @asynccontextmanager
    async def _covered(self, tab: Tab) -> AsyncIterator[None]:
        """Cover what credential fields hold, for as long as the block lasts."""
        places: dict[Frame, list[str]] = {}
        for frame, facts in await self._fields(tab):
            if is_secret_field(facts):
                places.setdefault(frame, []).append(str(facts["at"]))
        try:
            for frame, numbers in places.items():
                await tab.ask(asked(frame, f"cover {'.'.join(numbers)}"))
            yield
        finally:
            for frame in places:
                with contextlib.suppress(Exception):
                    await tab.ask(asked(frame, "uncover"), 2.0)

    async def _fields(self, tab: Tab) -> list[tuple[Frame, dict[str, Any]]]:
        """Return what the page and its frames say of their fields."""
        frames = tab.page.frames
        return [
            (frame, facts)
            for frame, survey in zip(frames, await tab.ask(surveyed(frames)), strict=True)
            if survey is not None
            for facts in survey["fields"]
        ]

    async def _print(self, tab: Tab, target: Print) -> Result:
        try:
            async with self._covered(tab):
                data = await tab.ask(
                    tab.page.pdf(landscape=target.landscape, print_background=True), 30.0
                )
        except Exception as error:
            if "PDF" not in str(error):
                raise
            text = f"This browser prints no PDF of page {tab.id}. Take a screenshot."
            raise Failed(text, code="browser.no_pdf") from None
        link = await self._ctx.artifacts.put(
            data, media_type="application/pdf", title=f"{tab.id}.pdf"
        )
        found = Inspected(
            page=tab.id, target="pdf", count=1, artifact=link.digest, size=len(data)
        )
        words = f"Page {tab.id} as PDF, {len(data):,} bytes."
        return Result(summary=words, content=[Text(words), link], structured=plain(found))


def _without(secret: list[str], text: str) -> str:
    """Return a text of the page without what its secret fields hold."""
    for value in secret:
        text = text.replace(value, "(value hidden)")
    return text


def _earlier(tab: Tab, seen: Any) -> frozenset[str]:
    last = tab.last
    if last is None or last.generation != seen.generation:
        return frozenset()
    return last.refs & frozenset(seen.outline.refs)
