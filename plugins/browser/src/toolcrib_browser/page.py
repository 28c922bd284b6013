"""The tool ``browser.page``: which pages are open."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from toolcrib import Context, Invalid, Result, Signature, Text, resources

from .definition import desk, pack
from .desk import Desk
from .outputs import Pages, plain
from .parameters import PageId
from .showing import open_pages


__all__ = ["page"]

Order = Literal["list", "open", "select", "close", "reset"]


@pack.tool(
    effects={"browser"},
    idempotent="no",
    concurrency="shared",
    labels={"reads_private", "returns_untrusted"},
    output_schema=Pages,
    usage=["reset closes every page and forgets cookies and storage of this session."],
    examples=[("which pages are open", {"action": "list"})],
)
async def page(
    ctx: Context,
    *,
    action: Annotated[Order, "What to do"] = "list",
    page: Annotated[PageId, "For select and close"] = None,
) -> Result:
    """List, open, select or close pages, or start anew."""
    own = await ctx.use(desk)
    async with own.gate.turn():
        said = await _done(own, action, page)
        found = open_pages(own)
    lines = [
        f"{each.page}{' (selected)' if each.selected else ''}: {each.url}" for each in found
    ]
    text = "\n".join([said, *(lines or ["No page is open."])])
    return Result(summary=said, content=[Text(text)], structured=plain(Pages(pages=found)))


async def _done(own: Desk, action: Order, page: str | None) -> str:
    if action == "open":
        return f"Opened {(await own.open()).id}."
    if action == "reset":
        await own.reset()
        return "All pages are closed; cookies and storage are gone."
    if action == "list":
        await own.notice()
        return f"{len(own.tabs)} pages are open."
    tab = await own.tab(page)
    if action == "select":
        own.selected = tab.id
        return f"Selected {tab.id}."
    await tab.close()
    own.forget(tab, "it was closed by browser.page")
    return f"Closed {tab.id}."


@page.signature
def _(action: Order = "list", **_: Any) -> Signature:
    return Signature(reads=[resources.Custom("browser-action", f"{action}@pages")])


@page.generalize
def _(action: Order = "list", **_: Any) -> str:
    return f"allow browser.page(browser-action={action}@pages)"


@page.preview
def _(action: Order = "list", page: str | None = None, **_: Any) -> str:
    return f"{action} {page or 'pages'}"


@page.check
def _(action: Order = "list", page: str | None = None, **_: Any) -> None:
    if action in {"select", "close"} and page is None:
        text = f"{action} needs the id of a page."
        raise Invalid("/page", text, code="browser.which_page")
    if action not in {"select", "close"} and page is not None:
        text = f"{action} takes no page."
        raise Invalid("/page", text, code="browser.which_page")
