"""A session's own browser: one context, its pages, one operation at a time."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time

from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any

from toolcrib import Busy, NotFound, Transient

from .engine import Engine
from .gate import Gate
from .moments import Happening, Moment
from .origins import origin_of, shown_url
from .tabs import Tab


if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page, Route


__all__ = ["Desk"]

_REMEMBERED = 64
_TOGETHER = 5.0
_ASIDE = 1.0
_NOWHERE = "http://nowhere.invalid/"
_ANSWER = 15.0
_SILENT = "the browser did not answer any more"
_ENDED = "the browser ended, and its pages with it"
# Takes the place of a window's first document until it is closed; without an icon of its
# own, the browser would ask the other origin for one.
_STOPPED = (
    '<!doctype html><link rel="icon" href="data:,"><p>This page was stopped: it belongs to'
    " another origin than the page that opened it."
)
_NOTHING = {"Content-Security-Policy": "default-src 'none'; img-src data:; sandbox"}


class Desk:
    """What one session has open.

    Args:
        engine: The browser.
        tag: What its ids end in; no other opening of the conversation has the same.

    Attributes:
        tabs: The open pages, the oldest first.
        selected: The page that is meant where none is named.
        secrets: Values that were typed for the session, by the name of the secret.
    """

    def __init__(self, engine: Engine, tag: str) -> None:
        self.engine = engine
        self.gate = Gate(engine.settings.queue)
        self.tabs: OrderedDict[str, Tab] = OrderedDict()
        self.selected = ""
        self.secrets: dict[str, str] = {}
        # Ids of an earlier opening of the conversation must never name a page of this one.
        self._tag = tag
        self._pages = self._looks = 0
        self._gone: OrderedDict[str, str] = OrderedDict()
        self._closed_at: dict[str, float] = {}
        self._context: BrowserContext | None = None
        self._origins: set[str] = set()
        self._route: Any = None
        self._adopting: set[asyncio.Future[None]] = set()
        self._opening = False

    @property
    def alive(self) -> bool:
        """Whether its context is there."""
        context = self._context
        if context is None or context.browser is None:
            return False
        return context.browser.is_connected() and not context.is_closed()

    async def context(self) -> BrowserContext:
        """Return the context; a lost one is replaced, and its pages are gone."""
        if self.alive and self._context is not None:
            return self._context
        await self.notice()
        context = await self.engine.context()
        context.on("page", self._adopt)
        self._context = context
        return context

    async def notice(self) -> None:
        """See whether the browser is still there."""
        await self._hear()
        if self._context is None or self.alive:
            return
        # Its pages are told of as closed a moment before it is told of as ended.
        now = time.monotonic()
        for page, when in self._closed_at.items():
            if now - when < _TOGETHER or page in self.tabs:
                self._gone[page] = _ENDED
        self.lose(_ENDED)

    async def _hear(self) -> None:
        """If a page was closed just now, hear whether the browser is going with it."""
        last = max(self._closed_at.values(), default=-_TOGETHER)
        if self._context is None or time.monotonic() - last >= _TOGETHER:
            return
        # What the browser tells comes in order: an answer comes after all of it.
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_ASIDE):
                await self._context.cookies(_NOWHERE)

    def _closed(self, tab: Tab) -> None:
        if not tab.dead:
            self._closed_at[tab.id] = time.monotonic()
            while len(self._closed_at) > _REMEMBERED:
                self._closed_at.pop(next(iter(self._closed_at)))
        self.forget(tab, tab.dead or "it was closed")

    def lose(self, reason: str) -> None:
        """Forget all pages, and remember why they are gone."""
        for tab in list(self.tabs.values()):
            self.forget(tab, tab.dead or reason)
        self._context = None
        self._closed_at.clear()
        self._origins.clear()
        self._route = None

    async def close(self) -> None:
        """Close the context with all that it holds."""
        context = self._context
        for task in list(self._adopting):
            task.cancel()
        self.lose("the session ended")
        if context is not None:
            await self.engine.release(context)
        self.secrets.clear()

    async def reset(self) -> None:
        """Drop pages, cookies and storage, and start anew with the next call."""
        await self._drop("the browser of the session was reset")

    async def _drop(self, reason: str) -> None:
        context = self._context
        self.lose(reason)
        if context is not None:
            await self.engine.release(context)

    # -- pages -----------------------------------------------------------------------

    async def open(self) -> Tab:
        """Open a blank page and select it.

        Raises:
            Busy: as many are open as may be (``browser.too_many_pages``).
            Transient: the browser does not answer (``browser.failed``).
        """
        if len(self.tabs) >= self.engine.settings.pages:
            text = (
                f"{len(self.tabs)} pages are open, which is the limit. Close one with "
                f"browser.page: {', '.join(self.tabs)}."
            )
            raise Busy(text, code="browser.too_many_pages")
        for _ in range(2):
            try:
                return await self._opened(await self.context())
            except TimeoutError:
                # A context whose processes were killed may never answer; a new one does.
                await self._drop(_SILENT)
        await self.engine.restart()
        text = "The browser did not answer and was ended. Try again; it is started anew."
        raise Transient(text, code="browser.failed")

    async def _opened(self, context: BrowserContext) -> Tab:
        self._opening = True
        try:
            async with asyncio.timeout(_ANSWER):
                tab = self._new(await context.new_page())
                await tab.attach(await context.new_cdp_session(tab.page))
            self.tabs[tab.id] = tab
        finally:
            self._opening = False
        for page in context.pages:
            self._adopt(page)  # windows that came meanwhile
        self.selected = tab.id
        return tab

    def _new(self, page: Page) -> Tab:
        known = next((tab for tab in self.tabs.values() if tab.page == page), None)
        if known is not None:
            return known
        self._pages += 1
        tab = Tab(f"p{self._pages}{self._tag}", page, self.engine.settings.navigate.admits)
        page.on("close", lambda _: self._closed(tab))
        return tab

    def look_id(self) -> str:
        """Return the id of a new snapshot."""
        self._looks += 1
        return f"s{self._looks}{self._tag}"

    async def tab(self, page: str | None) -> Tab:
        """Return the page of an id, or the selected one.

        Raises:
            NotFound: there is none (``browser.no_page``); the text says what became of it.
        """
        await self.notice()
        if page is None:
            page = self.selected if self.selected in self.tabs else next(iter(self.tabs), "")
        found = self.tabs.get(page)
        if found is not None and not found.dead:
            return found
        if found is not None:
            self.forget(found, found.dead)
        raise NotFound(self._missing(page), code="browser.no_page")

    def _missing(self, page: str) -> str:
        if not page:
            said = "No page is open."
        elif page in self._gone:
            said = f"Page {page} is gone: {self._gone[page]}."
        else:
            said = f"There is no page {page!r}."
        return f"{said} {self.listing()}"

    async def gone(self, tab: Tab) -> str:
        """Take a page off the desk that turned out to be gone, and say why it is."""
        await self.notice()
        reason = tab.dead if self.alive else _ENDED
        reason = reason or "it was closed"
        self.forget(tab, reason)
        return reason

    def listing(self) -> str:
        """Return the open pages in one sentence."""
        if not self.tabs:
            return "Open one with browser.navigate."
        shown = [f"{tab.id} at {shown_url(tab.url, 80)}" for tab in self.tabs.values()]
        return f"Open are {', '.join(shown)}."

    def forget(self, tab: Tab, reason: str) -> None:
        """Take a page off the desk, and remember why it is gone."""
        tab.end(reason)
        self._gone[tab.id] = reason
        while len(self._gone) > _REMEMBERED:
            self._gone.popitem(last=False)
        self.tabs.pop(tab.id, None)
        if self.selected == tab.id:
            self.selected = next(iter(self.tabs), "")

    # -- origins ---------------------------------------------------------------------

    async def allow(self, tab: Tab, origins: Iterable[str]) -> None:
        """Let a page have some origins, and no others any more."""
        tab.allowed = frozenset(origins)
        if tab.allowed <= self._origins:
            return
        self._origins |= tab.allowed
        context = await self.context()
        # Asked for everything that is no origin of ours; only a window that a page opens
        # cannot be watched from its beginning in any other way.
        known = "|".join(re.escape(o) for o in self._spellings())
        pattern = re.compile(rf"^(?!(?:{known})(?:[/?#]|$))")
        before, self._route = self._route, pattern
        async with asyncio.timeout(_ANSWER):
            await context.route(pattern, self._window)
            if before is not None:
                await context.unroute(before)

    def _spellings(self) -> list[str]:
        """Return origins as addresses have them, without the default port."""
        return sorted(
            origin.removesuffix(":80")
            if origin.startswith("http:")
            else origin.removesuffix(":443")
            for origin in self._origins
        )

    async def _window(self, route: Route) -> None:
        """Stop the first request of a window that would have an origin of its own."""
        request = route.request
        with contextlib.suppress(Exception):
            if request.is_navigation_request() and self._unwatched(request):
                await route.fulfill(
                    status=200, content_type="text/html", body=_STOPPED, headers=_NOTHING
                )
                return
            late = self._late(request)
            if late is not None:
                late.refuse(request.url)
                await route.abort("aborted")
                return
            await route.continue_()

    def _unwatched(self, request: Any) -> bool:
        """Tell whether nobody else judges a request: of a window that is not taken in yet."""
        if _frameless(request):
            return True
        known = self._tab_of(request)
        return request.frame.parent_frame is None and (known is None or not known.watched)

    def _late(self, request: Any) -> Tab | None:
        """Return the tab that may not go where a request does, which it may not have judged.

        One that was asked for before the tab was watched, and comes up here only afterwards,
        is in nobody else's hands.
        """
        if not request.is_navigation_request() or request.frame.parent_frame is not None:
            return None
        tab = self._tab_of(request)
        return None if tab is None or tab.may_become(request.url) else tab

    def _tab_of(self, request: Any) -> Tab | None:
        return next((t for t in self.tabs.values() if t.page == request.frame.page), None)

    def _adopt(self, page: Page) -> None:
        if self._opening or any(tab.page == page for tab in self.tabs.values()):
            return
        task = asyncio.ensure_future(self._adopted(page))
        self._adopting.add(task)
        task.add_done_callback(self._adopting.discard)

    async def _adopted(self, page: Page) -> None:
        """Take in a window that a page opened, or close it."""
        opener = await page.opener()
        tabs = self.tabs.values()
        parent = next((t for t in tabs if opener is not None and t.page == opener), None)
        if parent is None:
            # Its opener wanted no tie to it: the page that something is done with.
            parent = next((t for t in tabs if t.moment is not None), None)
        context = self._context
        if parent is None or context is None:
            await page.close()
            return
        moment = parent.moment
        tab = self._new(page)
        tab.allowed, tab.opener = parent.allowed, parent.origin
        full = len(self.tabs) >= self.engine.settings.pages
        stays = not full and tab.may_become(page.url)
        if stays:
            # At once, so that many windows that come together are counted.
            self.tabs[tab.id] = tab
            try:
                async with asyncio.timeout(_ANSWER):
                    await tab.attach(await context.new_cdp_session(page))
                # It may have gone on before anybody judged where to.
                stays = tab.may_become(page.url)
            except Exception:  # noqa: BLE001 - it is gone again, or cannot be watched
                stays = ""
                self.forget(tab, "it could not be watched")
        url = page.url
        if not stays:
            await tab.close()
        if moment is not None:
            moment.tell(_about_window(tab, url, stays=bool(stays), full=full))
            moment.opened()

    @contextlib.asynccontextmanager
    async def watching(self, tab: Tab, moment: Moment) -> AsyncIterator[Moment]:
        """Gather what happens to a page, for as long as the block lasts."""
        tab.moment = moment
        try:
            yield moment
        finally:
            tab.moment = None


def _frameless(request: Any) -> bool:
    """Tell whether a request's page is not there yet: it is a new window's first."""
    try:
        frame = request.frame
    except Exception:  # noqa: BLE001 - Playwright says so by raising
        return True
    return frame is None


def _about_window(tab: Tab, url: str, *, stays: bool, full: bool) -> Happening:
    where = shown_url(url)
    if stays:
        words = f"a new page {tab.id} opened at {where}"
        return Happening(kind="popup", text=words, url=url, page=tab.id)
    if full:
        words = f"a window to {where} was closed: as many pages are open as may be"
        return Happening(kind="note", text=words, url=url)
    try:
        origin = origin_of(url)
    except ValueError:
        origin = ""
    why = "another origin" if origin and url.startswith("http") else "no address of a page"
    words = f"a window to {where} was closed: it is {why}"
    return Happening(kind="blocked", text=words, origin=origin, url=url)
