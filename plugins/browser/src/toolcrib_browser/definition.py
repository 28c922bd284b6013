"""The pack itself, and what its calls share: a browser for all, a desk for each session."""

from __future__ import annotations

import asyncio

from collections.abc import AsyncIterator

from toolcrib import Context, Pack

from .desk import Desk
from .engine import Engine
from .openings import tag
from .settings import BrowserSettings


__all__ = ["desk", "engine", "pack"]

pack = Pack("browser", title="Browser", category="browser")


@pack.resource(scope="toolbox")
async def engine(ctx: Context) -> AsyncIterator[Engine]:
    """Own the browser of a toolbox."""
    found = Engine(BrowserSettings.read(ctx.host.settings))
    try:
        yield found
    finally:
        await found.close()


@pack.resource(scope="session")
async def desk(ctx: Context) -> AsyncIterator[Desk]:
    """Own what one session has open."""
    shared = await ctx.use(engine)
    folder = await asyncio.to_thread(lambda: ctx.host.state / "openings")
    found = Desk(shared, await asyncio.to_thread(tag, folder, ctx.conversation))
    try:
        yield found
    finally:
        await found.close()
