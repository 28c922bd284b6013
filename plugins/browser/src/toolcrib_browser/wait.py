"""The tool ``browser.wait``: wait until something is so."""

from __future__ import annotations

from typing import Annotated, Any

from toolcrib import Between, Context, Result, Signature

from .definition import desk, pack
from .observing import View
from .outputs import Done
from .parameters import OriginName, PageId
from .reading import checked, reading_signature
from .waiting import Condition, Waiting


__all__ = ["wait"]


@pack.tool(
    effects={"net_read"},
    idempotent="no",
    concurrency="shared",
    labels={"reads_private", "returns_untrusted"},
    result_budget=72 * 1024,
    output_schema=Done,
    examples=[("for a text", {"condition": {"kind": "text", "text": "Thank you"}})],
)
async def wait(
    ctx: Context,
    *,
    condition: Annotated[Condition, "What to wait for"],
    page: PageId = None,
    origin: Annotated[
        OriginName | None, "Of the page, as it was seen; refused if it has another one by now"
    ] = None,
    timeout_ms: Annotated[int, Between(100, 30_000)] = 10_000,
    max_bytes: Annotated[int, Between(500, 65_536)] = 16_384,
) -> Result:
    """Wait until a page has loaded, or shows a text, or has an address; then look at it."""
    waiting = Waiting(ctx, await ctx.use(desk), condition, timeout_ms / 1000)
    return await waiting.run(page, origin, View(most=max_bytes))


@wait.signature
def _(origin: str | None = None, **_: Any) -> Signature:
    return reading_signature(origin)


@wait.check
def _(origin: str | None = None, **_: Any) -> None:
    checked(origin)
