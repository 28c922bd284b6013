"""After something was done: until the page has come to rest, and what came of it."""

from __future__ import annotations

import asyncio
import contextlib
import re

from typing import Any

from toolcrib import Context

from .desk import Desk
from .marks import cleaned, quoted
from .moments import Happening, Moment
from .observing import Observation, View, observe
from .tabs import Tab


__all__ = ["Arrival", "safe_name"]

_REST = 10.0
_READY = 5000
_SAVE = 60.0
_ROUNDS = 3


class Arrival:
    """The time between an action and the look that shows its result."""

    def __init__(self, ctx: Context, desk: Desk, tab: Tab, moment: Moment) -> None:
        self._ctx = ctx
        self._desk = desk
        self._tab = tab
        self._moment = moment
        self._kept = 0

    async def seen(self, view: View) -> Observation:
        """Wait for navigations, windows and downloads that began, and look.

        What only begins during the look is waited for as well, and looked at again.

        Raises:
            PageHungError: the page does not answer.
        """
        for _ in range(_ROUNDS):
            await self.rest()
            generation, happened = self._tab.generation, len(self._moment.happened)
            found = await observe(self._desk, self._tab, view)
            await self.rest()
            if self._tab.generation == generation and len(self._moment.happened) == happened:
                break
        return found

    async def rest(self) -> None:
        """Wait until what began has come, and keep what was downloaded."""
        moment, tab = self._moment, self._tab
        if not await moment.rest(_REST):
            words = f"something was still under way after {_REST:.0f} s"
            moment.tell(Happening(kind="note", text=words))
            moment.give_up()
        if moment.committed and not tab.dead:
            moment.committed = False
            self._explain()
            with contextlib.suppress(Exception):
                await tab.page.wait_for_load_state("domcontentloaded", timeout=_READY)
        for download in moment.downloads[self._kept :]:
            self._kept += 1
            moment.tell(await self._keep(download))
            # That nothing was shown is what a download looks like.
            moment.happened = [h for h in moment.happened if h.kind != "ended"]

    def _explain(self) -> None:
        """Say so where the filtering proxy answered in the place of the site."""
        gone = [h.url for h in self._moment.happened if h.kind in {"navigated", "ended"}]
        found = self._desk.engine.refusal(gone[-1], self._moment.started) if gone else None
        if found is not None:
            words = f"what is shown is not the site's: {cleaned(found[1], 300)} [{found[0]}]"
            self._moment.tell(Happening(kind="note", text=words))

    async def _keep(self, download: Any) -> Happening:
        """Put a download into the artifact store."""
        name = safe_name(download.suggested_filename)
        most = self._desk.engine.settings.download_mib << 20
        try:
            path = await asyncio.wait_for(download.path(), _SAVE)
            size = (await asyncio.to_thread(path.stat)).st_size
            if size > most:
                words = f"a download {quoted(name)} of {size:,} bytes was not kept: too large"
                return Happening(kind="note", text=words)
            data = await asyncio.to_thread(path.read_bytes)
            link = await self._ctx.artifacts.put(
                data, media_type="application/octet-stream", title=name
            )
        except Exception as error:  # noqa: BLE001 - the action itself was done
            words = f"a download {quoted(name)} did not come: {cleaned(str(error), 120)}"
            return Happening(kind="note", text=words)
        finally:
            # One that is not over yet would be waited for, and go on.
            with contextlib.suppress(Exception):
                await asyncio.wait_for(download.cancel(), 5.0)
            with contextlib.suppress(Exception):
                await asyncio.wait_for(download.delete(), 5.0)
        words = (
            f"a file {quoted(name)} of {size:,} bytes was downloaded, artifact {link.digest}"
        )
        return Happening(kind="download", text=words, artifact=link)


def safe_name(name: str) -> str:
    """Return the last part of a file's name, without what leads elsewhere."""
    last = re.split(r"[/\\]", name)[-1]
    last = re.sub(r"^[._]*\.\.[._]*", "", cleaned(last, 120)).strip(" .")
    return re.sub(r'[<>:"|?*\x00-\x1f]', "_", last) or "download"
