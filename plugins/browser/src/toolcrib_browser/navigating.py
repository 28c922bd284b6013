"""How ``browser.navigate`` works: judge the address, go there, say where one came out."""

from __future__ import annotations

import contextlib
import re

from typing import TYPE_CHECKING, Any, Literal, NoReturn

import attrs

from toolcrib import Context, Failed, NotFound, Refused, Result, Transient

from .arriving import Arrival
from .desk import Desk
from .failing import answering, hung, is_gone, with_look
from .moments import Moment, way_to
from .observing import View
from .origins import BLANK, shown_url
from .showing import not_observed, shown
from .tabs import PageHungError, Tab


if TYPE_CHECKING:
    from playwright.async_api import Response


__all__ = ["Move", "Navigating", "Ready", "Trip"]

Move = Literal["goto", "back", "forward", "reload"]
Ready = Literal["commit", "domcontentloaded", "load"]
_NET = re.compile(r"net::(ERR_[A-Z_]+)")
_STATUS = "() => performance.getEntriesByType('navigation')[0]?.responseStatus || null"
_WORDS = {
    "ERR_NAME_NOT_RESOLVED": "there is no such host",
    "ERR_CONNECTION_REFUSED": "nobody listens there",
    "ERR_CONNECTION_RESET": "the server broke off the connection",
    "ERR_CONNECTION_CLOSED": "the server closed the connection",
    "ERR_EMPTY_RESPONSE": "the server answered nothing",
    "ERR_UNSAFE_PORT": "the browser asks no such port",
    "ERR_TOO_MANY_REDIRECTS": "it redirects without end",
    "ERR_CERT_AUTHORITY_INVALID": "its certificate is of nobody that is trusted",
    "ERR_CERT_DATE_INVALID": "its certificate is not valid at this time",
    "ERR_CERT_COMMON_NAME_INVALID": "its certificate is for another host",
    "ERR_SSL_PROTOCOL_ERROR": "it does not speak TLS as it should",
    "ERR_TUNNEL_CONNECTION_FAILED": "it could not be reached",
    "ERR_PROXY_CONNECTION_FAILED": "the filtering proxy does not answer",
    "ERR_INVALID_RESPONSE": "its answer is none",
}


@attrs.frozen(kw_only=True)
class Trip:
    """What a call asks for; the fields are the tool's parameters."""

    move: Move = "goto"
    url: str = BLANK
    page: str | None = None
    origin: str = ""
    origins: frozenset[str] = frozenset()
    until: Ready = "domcontentloaded"
    seconds: float = 30.0
    view: View = attrs.field(factory=View)


class Navigating:
    """One call of ``browser.navigate``."""

    def __init__(self, ctx: Context, desk: Desk, trip: Trip) -> None:
        self._ctx = ctx
        self._desk = desk
        self._trip = trip

    async def run(self) -> Result:
        """Go.

        Raises:
            ToolFailure: one did not arrive; the page is as it was, or is told.
        """
        desk, trip = self._desk, self._trip
        self._judge()
        async with desk.gate.turn():
            tab = await self._tab()
            async with answering(self._ctx, desk, tab):
                await desk.allow(tab, {trip.origin, *trip.origins} - {""})
            moment = Moment()
            async with desk.watching(tab, moment):
                arrival = Arrival(self._ctx, desk, tab, moment)
                response = await self._gone(tab, moment)
                did = self._did(tab)
                try:
                    seen = await arrival.seen(trip.view)
                except PageHungError:
                    await hung(desk, tab, done=False)
                except Exception as error:
                    if isinstance(error, Transient):
                        raise
                    if tab.dead or is_gone(error) or not desk.alive:
                        await self._lost(tab)
                    return not_observed(desk, tab, did, moment)
                await self._let_through(tab, moment)
                status = await self._status(tab, response)
                if status in {403, 502, 504} and tab.url.startswith("http:"):
                    # The proxy's own answer is no page.
                    self._refusal(tab.url, moment)
            return shown(desk, tab, seen, moment, did=did, status=status)

    def _judge(self) -> None:
        """Refuse what no page may be, before any browser is started."""
        trip, engine = self._trip, self._desk.engine
        if trip.move == "goto" and trip.url != BLANK:
            from toolcrib_net import NetError, failure, target

            try:
                target(trip.url, engine.policy)
            except NetError as error:
                raise failure(error, passing=False) from error
        for origin in sorted({trip.origin, *trip.origins} - {""}):
            if not engine.settings.navigate.admits(origin):
                text = (
                    f"{origin} is not among the origins that pages may have here (navigate in "
                    "[pack.browser]). Only the user can change that."
                )
                raise Refused(text, code="browser.origin_refused")

    async def _tab(self) -> Tab:
        desk, trip = self._desk, self._trip
        if trip.page is not None or trip.move != "goto":
            tab = await desk.tab(trip.page)
        else:
            # The first page, and one that replaces what was lost, need no call of their own.
            await desk.context()
            with contextlib.suppress(NotFound):
                return await desk.tab(None)
            tab = await desk.open()
        if trip.move not in {"goto", "reload"}:
            return tab
        if trip.move == "reload" and tab.origin != trip.origin:
            text = (
                f"Page {tab.id} is at {tab.origin or shown_url(tab.url)}, not at "
                f"{trip.origin}. Nothing was done."
            )
            raise Refused(await with_look(desk, tab, text), code="browser.origin_changed")
        return tab

    def _did(self, tab: Tab) -> str:
        if self._trip.move == "goto":
            return f"go to {shown_url(self._trip.url)}"
        return f"{self._trip.move} to {shown_url(tab.url)}"

    async def _gone(self, tab: Tab, moment: Moment) -> Response | None:
        """Set out; a failure ends the call with its reason."""
        trip, page = self._trip, tab.page
        options: dict[str, Any] = {"timeout": trip.seconds * 1000, "wait_until": trip.until}
        try:
            if trip.move == "goto":
                return await page.goto(trip.url, **options)
            if trip.move == "reload":
                return await page.reload(**options)
            before = tab.generation, tab.url
            move = page.go_back if trip.move == "back" else page.go_forward
            response = await move(**options)
        except Exception as error:  # noqa: BLE001 - told apart below
            await self._not_there(tab, moment, error)
            return None
        if response is None and (tab.generation, tab.url) == before and not moment.happened:
            text = f"There is nothing to go {trip.move} to in page {tab.id}."
            raise NotFound(text, code="browser.no_history")
        return response

    async def _not_there(self, tab: Tab, moment: Moment, error: Exception) -> None:
        if tab.dead or is_gone(error) or not self._desk.alive:
            await self._lost(tab)
        text = str(error)
        if "Download is starting" in text or moment.downloads:
            return
        await self._let_through(tab, moment)
        found = _NET.search(text)
        if found is None and "Timeout" in text:
            await self._late(tab)
        code = found[1] if found else ""
        if code == "ERR_ABORTED":
            self._aborted(tab, moment)
            return
        self._refusal(self._trip.origin or self._trip.url, moment)
        words = _WORDS.get(code, code.lower().replace("_", " ") or "it failed")
        wrong = f"{shown_url(self._trip.url)} was not reached: {words}."
        raise Failed(await with_look(self._desk, tab, wrong), code="browser.not_reached")

    def _aborted(self, tab: Tab, moment: Moment) -> None:
        """Go on where nothing was fetched on purpose: no content, or a page that said no."""
        if any(h.kind == "dialog" for h in moment.happened):
            text = (
                f"Page {tab.id} asked not to be left (a dialog), so it was not. Open another "
                "page with browser.page, or close this one."
            )
            raise Failed(text, code="browser.kept")

    async def _late(self, tab: Tab) -> NoReturn:
        trip = self._trip
        try:
            await tab.ask(tab.page.evaluate("1"), 2.0)
        except PageHungError:
            await hung(self._desk, tab, done=False)
        except Exception:  # noqa: BLE001, S110 - it is between two documents
            pass
        text = (
            f"{shown_url(trip.url)} was not ready ({trip.until}) after {trip.seconds:g} s. "
            "Something in it loads without end, perhaps; wait_until commit or "
            "domcontentloaded asks for less."
        )
        raise Failed(await with_look(self._desk, tab, text), code="browser.not_ready")

    async def _let_through(self, tab: Tab, moment: Moment) -> None:
        """End the call if the way led to another origin than was judged."""
        blocked = moment.blocked()
        if blocked is None:
            return
        text = (
            f"The way to {shown_url(self._trip.url)} leads on: {blocked.text}. The page was "
            f"not changed to it.{way_to(blocked)}"
        )
        raise Refused(await with_look(self._desk, tab, text), code="browser.new_origin")

    def _refusal(self, url: str, moment: Moment) -> None:
        """End the call with the proxy's own reason, if it was the proxy that said no."""
        found = self._desk.engine.refusal(url, moment.started)
        if found is not None:
            from toolcrib_net import NetError, failure

            raise failure(NetError(found[1], code=found[0]), passing=False)

    async def _status(self, tab: Tab, response: Response | None) -> int | None:
        if response is not None:
            return int(response.status)
        try:
            found = await tab.ask(tab.page.evaluate(_STATUS), 2.0)
        except Exception:  # noqa: BLE001 - then nobody says
            return None
        return found if isinstance(found, int) and found > 0 else None

    async def _lost(self, tab: Tab) -> NoReturn:
        reason = await self._desk.gone(tab)
        text = f"Page {tab.id} was lost on its way: {reason}. {self._desk.listing()}"
        raise Failed(text, code="browser.lost")
