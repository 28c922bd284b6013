"""The tool ``browser.snapshot``: look at a page."""

from __future__ import annotations

from typing import Annotated, Any

from toolcrib import Between, Context, Failed, NotFound, Result, Signature, Text

from .actions import Ref
from .definition import desk, pack
from .failing import answering
from .observing import View, describe, observe
from .outputs import PageState, plain
from .parameters import OriginName, PageId, SnapshotName
from .reading import checked, expected, reading_signature
from .showing import state_of


__all__ = ["snapshot"]


@pack.tool(
    effects={"net_read"},
    idempotent="no",
    concurrency="shared",
    labels={"reads_private", "returns_untrusted"},
    result_budget=72 * 1024,
    output_schema=PageState,
    usage=["Refs such as e12 name elements in browser.interact, with this snapshot's id."],
    examples=[("only what changed", {"changes_since": "s3abcd"})],
)
async def snapshot(
    ctx: Context,
    *,
    page: PageId = None,
    origin: Annotated[
        OriginName | None, "Of the page, as it was seen; refused if it has another one by now"
    ] = None,
    depth: Annotated[int | None, "Levels; left out: all", Between(1, 40)] = None,
    region: Annotated[Ref | None, "Only what is in this element"] = None,
    changes_since: Annotated[
        SnapshotName | None, "Only what is different from this snapshot"
    ] = None,
    boxes: Annotated[bool, "Place and size of each element"] = False,
    max_bytes: Annotated[int, Between(500, 65_536)] = 32_768,
) -> Result:
    """Look at a page: its elements as a tree, each with a ref to act on it."""
    own = await ctx.use(desk)
    async with own.gate.turn():
        tab = await own.tab(page)
        async with answering(ctx, own, tab):
            await expected(own, tab, origin)
            since = tab.looks.get(changes_since) if changes_since is not None else None
            if changes_since is not None and since is None:
                text = (
                    f"There is no snapshot {changes_since} of page {tab.id}, or newer ones "
                    "have taken its place. Ask without changes_since."
                )
                raise Failed(text, code="browser.stale")
            view = View(most=max_bytes, depth=depth, region=region, since=since)
            try:
                seen = await observe(own, tab, view, boxes=boxes)
            except KeyError:
                text = f"Page {tab.id} has no element {region}. Ask without region."
                raise NotFound(text, code="browser.no_element") from None
        state = state_of(own, tab, seen)
        return Result(
            summary=f"snapshot {seen.look.id} of {tab.id} at {state.url[:80]}",
            content=[Text(describe(own, tab, seen))],
            structured=plain(state),
            notes=seen.notes,
        )


@snapshot.signature
def _(origin: str | None = None, **_: Any) -> Signature:
    return reading_signature(origin)


@snapshot.check
def _(origin: str | None = None, **_: Any) -> None:
    checked(origin)
