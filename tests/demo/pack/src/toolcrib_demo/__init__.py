"""A weather station that is busy when it is first asked: shows a retry."""

from __future__ import annotations

from typing import Annotated

from toolcrib import Context, Pack, Transient


pack = Pack("station", title="Weather station")


@pack.tool(effects=(), idempotent="yes")
async def temperature(ctx: Context, place: Annotated[str, "Where the station stands"]) -> str:
    """Read the temperature at a station."""
    if ctx.attempt == 1:
        text = f"the station at {place} is busy"
        raise Transient(text)
    return f"12.5 degrees at {place}"
