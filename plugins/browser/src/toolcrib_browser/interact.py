"""The tool ``browser.interact``: do one thing to a page."""

from __future__ import annotations

from typing import Annotated, Any

from toolcrib import Between, Context, Length, Result, Signature, resources

from .acting import Acting, Wish
from .actions import Action, Upload, check_action, told, word_of
from .definition import desk, pack
from .observing import View
from .origins import origin_of, site_url
from .outputs import Done
from .parameters import More, OriginName, PageName, SnapshotName, origin_at, origins_at


__all__ = ["interact"]


@pack.tool(
    effects={"browser", "net_read", "net_write", "fs_read"},
    idempotent="no",
    concurrency="shared",
    labels={"reads_private", "returns_untrusted", "sends_out"},
    result_budget=72 * 1024,
    output_schema=Done,
    usage=[
        "Give page, snapshot and origin as the last answer about the page had them.",
        "Password fields take the name of a secret, never a value.",
        "Several fields go into one fill.",
    ],
    cautions=["An answer of uncertain means: it may have happened. Look before you repeat it."],
    examples=[
        (
            "click a button",
            {
                "page": "p1abcd",
                "snapshot": "s2abcd",
                "origin": "https://example.com",
                "action": {"kind": "click", "ref": "e12"},
            },
        ),
    ],
)
async def interact(
    ctx: Context,
    *,
    page: PageName,
    snapshot: SnapshotName,
    origin: Annotated[OriginName, "Of the page, as it was seen"],
    action: Annotated[Action, "What to do"],
    frame_origin: Annotated[
        OriginName | None, "Of the frame that the element is in, if it is another one"
    ] = None,
    origins: More = (),
    dialogs: Annotated[
        bool, "Accept dialogs (confirm, prompt) that come up; they are dismissed otherwise"
    ] = False,
    dialog_text: Annotated[str | None, "Typed into a prompt", Length(0, 1000)] = None,
    timeout_ms: Annotated[int, Between(100, 30_000)] = 10_000,
    changes: Annotated[bool, "Show what changed, rather than the whole page"] = True,
    max_bytes: Annotated[int, Between(500, 65_536)] = 16_384,
) -> Result:
    """Do one thing to a page: click, fill, type, press, select, scroll, upload, drag."""
    wish = Wish(
        page=page,
        snapshot=snapshot,
        origin=origin_at("/origin", origin),
        action=action,
        frame_origin=None if frame_origin is None else origin_at("/frame_origin", frame_origin),
        origins=frozenset(origins_at("/origins", origins)),
        accept_dialogs=dialogs,
        dialog_text=dialog_text,
        seconds=timeout_ms / 1000,
        view=View(most=max_bytes),
        changes=changes,
    )
    return await Acting(ctx, await ctx.use(desk), wish).run()


@interact.signature
def _(
    page: str,
    origin: str,
    action: Action,
    frame_origin: str | None = None,
    origins: tuple[str, ...] = (),
    **_: Any,
) -> Signature:
    places = [origin] if frame_origin is None else [origin, frame_origin]
    files = [resources.Path(p) for p in action.paths] if isinstance(action, Upload) else []
    return Signature(
        writes=[resources.Url(site_url(origin_of(each))) for each in places],
        reads=[
            resources.Custom("browser-action", f"{word_of(action)}@{page}"),
            *(resources.Url(site_url(origin_of(each))) for each in origins),
            *files,
        ],
        effects={"browser"},
    )


@interact.generalize
def _(
    origin: str,
    action: Action,
    frame_origin: str | None = None,
    origins: tuple[str, ...] = (),
    **_: Any,
) -> str | None:
    if origins or frame_origin is not None or isinstance(action, Upload):
        return None
    root = site_url(origin_of(origin)).rstrip("/")
    return f"allow browser.interact(url={root}, browser-action={word_of(action)}@*)"


@interact.preview
def _(
    page: str,
    origin: str,
    action: Action,
    frame_origin: str | None = None,
    origins: tuple[str, ...] = (),
    *,
    dialogs: bool = False,
    **_: Any,
) -> str:
    lines = [f"{told(action)}", f"on page {page} of {origin}"]
    if frame_origin is not None:
        lines.append(f"in a frame of {frame_origin}")
    if origins:
        lines.append(f"may go on to {', '.join(origins)}")
    if dialogs:
        lines.append("accepts dialogs")
    return "\n".join(lines)


@interact.check
def _(
    origin: str,
    action: Action,
    frame_origin: str | None = None,
    origins: tuple[str, ...] = (),
    **_: Any,
) -> None:
    origin_at("/origin", origin)
    if frame_origin is not None:
        origin_at("/frame_origin", frame_origin)
    origins_at("/origins", origins)
    check_action(action)
