"""The tool ``browser.inspect``: find something out about a page."""

from __future__ import annotations

from typing import Annotated, Any

from toolcrib import Context, Result, Signature

from .definition import desk, pack
from .inspecting import Inspecting, Target
from .outputs import Inspected
from .parameters import OriginName, PageId
from .reading import checked, reading_signature


__all__ = ["inspect"]


@pack.tool(
    effects={"net_read"},
    idempotent="no",
    concurrency="shared",
    labels={"reads_private", "returns_untrusted"},
    result_budget=72 * 1024,
    output_schema=Inspected,
    examples=[
        ("see the page", {"target": {"kind": "screenshot"}}),
        ("read a table", {"target": {"kind": "table", "ref": "e24"}}),
    ],
)
async def inspect(
    ctx: Context,
    *,
    target: Annotated[Target, "What to find out"],
    page: PageId = None,
    origin: Annotated[
        OriginName | None, "Of the page, as it was seen; refused if it has another one by now"
    ] = None,
) -> Result:
    """Find out about a page: console, network, a text, a picture, PDF, Markdown, a table."""
    return await Inspecting(ctx, await ctx.use(desk), target).run(page, origin)


@inspect.signature
def _(origin: str | None = None, **_: Any) -> Signature:
    return reading_signature(origin)


@inspect.check
def _(origin: str | None = None, **_: Any) -> None:
    checked(origin)
