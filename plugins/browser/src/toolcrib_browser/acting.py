"""How ``browser.interact`` works: look again, act once, and say what came of it."""

from __future__ import annotations

import asyncio
import contextlib

from collections.abc import Mapping
from typing import NoReturn

import attrs

from toolcrib import Context, Failed, Result, ToolFailure, Uncertain

from .actions import (
    Action,
    Check,
    Click,
    Drag,
    Fill,
    Press,
    Type,
    Upload,
    refs_of,
    told,
)
from .arriving import Arrival
from .desk import Desk
from .elements import Element, Sight
from .failing import answering, hung, is_gone, obstacle, with_look
from .filling import values_of
from .moments import Moment, way_to
from .observing import View
from .performing import Doing
from .showing import not_observed, shown
from .tabs import PageHungError, Tab
from .uploads import files_of


__all__ = ["Acting", "Wish"]

#: Seconds on top of an action's own time after which a page that is silent is hung.
_PATIENCE = 2.0


@attrs.frozen(kw_only=True)
class Wish:
    """What a call asks for; the fields are the tool's parameters."""

    page: str
    snapshot: str
    origin: str
    action: Action
    frame_origin: str | None = None
    origins: frozenset[str] = frozenset()
    accept_dialogs: bool = False
    dialog_text: str | None = None
    seconds: float = 10.0
    view: View = attrs.field(factory=View)
    changes: bool = True


class Acting:
    """One call of ``browser.interact``."""

    def __init__(self, ctx: Context, desk: Desk, wish: Wish) -> None:
        self._ctx = ctx
        self._desk = desk
        self._wish = wish

    async def run(self) -> Result:
        """Do it, once.

        Raises:
            ToolFailure: it was not done, or nobody knows; the text says which.
        """
        desk, wish = self._desk, self._wish
        async with desk.gate.turn():
            tab = await desk.tab(wish.page)
            async with answering(self._ctx, desk, tab):
                doing = await self._prepared(tab)
            try:
                return await self._acted(tab, doing)
            finally:
                doing.release()

    async def _acted(self, tab: Tab, doing: Doing) -> Result:
        """Do what is made ready, and look at what came of it."""
        desk, wish = self._desk, self._wish
        async with answering(self._ctx, desk, tab):
            await desk.allow(tab, {wish.origin, *wish.origins})
        before = tab.looks.get(wish.snapshot)
        moment = Moment(
            accept=wish.accept_dialogs,
            dialog_text=wish.dialog_text,
            files=isinstance(wish.action, Upload),
        )
        async with desk.watching(tab, moment):
            arrival = Arrival(self._ctx, desk, tab, moment)
            await self._performed(tab, doing, moment)
            await self._pressed(tab, doing, moment)
            view = wish.view
            if wish.changes and before is not None:
                view = attrs.evolve(view, since=before)
            try:
                seen = await arrival.seen(view)
            except PageHungError:
                await hung(desk, tab, done=True)
            except Exception as error:  # noqa: BLE001 - told apart below
                if tab.dead or is_gone(error) or not desk.alive:
                    await self._lost(tab)
                return not_observed(desk, tab, told(wish.action), moment)
        blocked = moment.blocked()
        if blocked is not None:
            text = (
                f"It was done ({told(wish.action)}), but {blocked.text}. What the site did "
                f"by then cannot be known.{way_to(blocked)}"
            )
            raise Uncertain(await with_look(desk, tab, text), code="browser.new_origin")
        return shown(desk, tab, seen, moment, did=told(wish.action))

    async def _prepared(self, tab: Tab) -> Doing:
        """Find the elements, and make ready what goes into them."""
        wish = self._wish
        sight = Sight(self._desk, tab, wish.snapshot, wish.origin, wish.frame_origin)
        refs = refs_of(wish.action)
        if refs:
            found = await sight.elements(
                refs,
                facts=isinstance(wish.action, Fill | Type | Upload),
                guarded=isinstance(wish.action, Click | Check | Drag | Upload),
            )
            elements: Mapping[str, Element] = {e.ref: e for e in found}
        else:
            await (sight.focus() if isinstance(wish.action, Press) else sight.seen())
            elements = {}
        doing = Doing(tab, elements, timeout=wish.seconds)
        if isinstance(wish.action, Fill | Type):
            doing.values = await values_of(self._ctx, self._desk, wish.action, elements)
        elif isinstance(wish.action, Upload):
            doing.files = await files_of(self._ctx, wish.action.paths)
        return doing

    async def _performed(self, tab: Tab, doing: Doing, moment: Moment) -> None:
        """Act, in a task that a call's end cannot leave half done behind the next one."""
        wish = self._wish
        work = asyncio.ensure_future(doing.run(wish.action))
        several = len(wish.action.fields) + 1 if isinstance(wish.action, Fill) else 1
        try:
            done, _ = await asyncio.wait({work}, timeout=wish.seconds * several + _PATIENCE)
        except asyncio.CancelledError:
            # What was begun cannot be called back: the next call waits until it has ended.
            self._desk.gate.hold_for(asyncio.ensure_future(_ending(work, doing)))
            raise
        if not done:
            work.cancel()
            await hung(self._desk, tab, done=True)
        error = work.exception()
        if error is not None and not self._done_all_the_same(error, moment):
            await self._failed(tab, doing, moment, error)

    def _done_all_the_same(self, error: BaseException, moment: Moment) -> bool:
        """Tell whether only the page that the action led to took too long."""
        if "click action done" in str(error):
            return True
        action = self._wish.action
        enter = isinstance(action, Press) or (isinstance(action, Fill) and action.submit)
        return enter and moment.restless and type(error).__name__ == "TimeoutError"

    async def _pressed(self, tab: Tab, doing: Doing, moment: Moment) -> None:
        """See that what was pressed is what was seen."""
        guard = doing.guard
        if guard is None:
            return
        # A box that is as it is wanted is not pressed, and neither is a field for files.
        always = isinstance(self._wish.action, Click | Drag)
        if always and not await guard.verdict():
            if tab.dead or not self._desk.alive:
                await self._lost(tab)
            text = (
                f"It was done ({told(self._wish.action)}), but the page kept the press from "
                "being watched: whether the element still read as in the snapshot, and what "
                f"was pressed, cannot be known.{_also(moment)}"
            )
            raise Uncertain(await with_look(self._desk, tab, text), code="browser.unwatched")
        if guard.stopped:
            await self._stopped(tab, moment)

    async def _stopped(self, tab: Tab, moment: Moment) -> NoReturn:
        text = (
            "The element read differently at the moment of the press than in the snapshot, so "
            f"the press was stopped and nothing was done.{_also(moment)}"
        )
        raise Failed(await with_look(self._desk, tab, text), code="browser.changed")

    async def _failed(
        self, tab: Tab, doing: Doing, moment: Moment, error: BaseException
    ) -> NoReturn:
        """End the call: not done, done in part, or unknown."""
        desk, what = self._desk, told(self._wish.action)
        if isinstance(error, ToolFailure):
            raise error
        if tab.dead or is_gone(error) or not desk.alive:
            await self._lost(tab)
        try:
            await tab.ask(tab.page.evaluate("1"), _PATIENCE)
        except PageHungError:
            await hung(desk, tab, done=True)
        except Exception:  # noqa: BLE001, S110 - it went elsewhere meanwhile
            pass
        if doing.guard is not None and doing.guard.stopped:
            await self._stopped(tab, moment)
        why = obstacle(error)
        begun = "performing " in str(error) or bool(moment.happened) or bool(doing.steps)
        way = f" Before that: {', '.join(doing.steps)}." if doing.steps else ""
        seen = _also(moment)
        if begun:
            text = f"It was begun ({what}) and not finished{_because(why)}.{way}{seen}"
            raise Uncertain(await with_look(desk, tab, text), code="browser.unfinished")
        if why is None:
            self._ctx.sub_logger().warning("%s: %s", what, type(error).__name__)
        text = f"It was not done ({what}){_because(why)}."
        raise Failed(await with_look(desk, tab, text), code="browser.not_ready")

    async def _lost(self, tab: Tab) -> NoReturn:
        reason = await self._desk.gone(tab)
        text = (
            f"Page {tab.id} was lost while this was done ({told(self._wish.action)}): "
            f"{reason}. Whether it took effect cannot be known. {self._desk.listing()}"
        )
        raise Uncertain(text, code="browser.lost")


def _also(moment: Moment) -> str:
    return "".join(f" {h.text[:1].upper()}{h.text[1:]}." for h in moment.happened)


def _because(why: str | None) -> str:
    return f": {why}" if why else ": the page was not ready for it in time"


async def _ending(work: asyncio.Future[None], doing: Doing) -> None:
    """See an action to its end that nobody waits for any more."""
    with contextlib.suppress(Exception):
        await work
    if doing.guard is not None:
        await doing.guard.end()
