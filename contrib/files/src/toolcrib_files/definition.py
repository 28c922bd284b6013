"""The pack itself, and what its tools share: the session's memory, authority, failures."""

from __future__ import annotations

import hashlib

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs

from toolcrib import (
    Access,
    Busy,
    Context,
    Failed,
    Invalid,
    NotFound,
    Pack,
    Refused,
    Resource,
    ToolFailure,
    Unavailable,
)

from .faults import Fault, Kind
from .journal import Journal
from .places import Place, canonical_root, identity_of, locate
from .tracking import Tracker


__all__ = ["Desk", "desk", "pack", "told"]

pack = Pack("files", title="Files", category="files")

_FAILURES: dict[Kind, type[NotFound | Refused | Failed | Busy | Unavailable]] = {
    "not_found": NotFound,
    "refused": Refused,
    "failed": Failed,
    "busy": Busy,
    "unavailable": Unavailable,
}


@attrs.define
class Memory:
    """What lives as long as a session.

    Attributes:
        tracker: What was seen of which file.
        identity: Of the workspace folder, from the first call on.
    """

    tracker: Tracker = attrs.field(factory=Tracker)
    identity: tuple[int, int] | None = None


@pack.resource(scope="session")
def memory(ctx: Context) -> Iterator[Memory]:
    """Remember which files, and which lines of them, a session has seen."""
    yield Memory()


@attrs.frozen
class Desk:
    """What one call works with: its workspace, its authority, the session's memory."""

    ctx: Context
    root: str
    tracker: Tracker
    journal: Journal

    def place(self, path: Path, access: Access, *, pointer: str = "/path") -> Place:
        """Return where a path leads now, if that is what the call may touch."""
        place = locate(self.root, str(path), pointer=pointer)
        self.judge(place, access, pointer=pointer)
        return place

    def judge(self, place: Place, access: Access, *, pointer: str = "/path") -> None:
        """Refuse a place that is not the one that the call was authorised for.

        The signature was judged before this call ran. If a link on the way was changed
        since, the path leads elsewhere now, and nobody has judged that place.
        """
        judged = _judged(self.ctx, access)
        if judged is None:
            if place.inside:
                return
            text = f"{place.shown} lies outside of the workspace. Name a file in it."
            raise Fault(text, kind="refused", code="files.outside", pointer=pointer)
        if place.path not in judged:
            text = (
                f"{place.shown} is not where the path led when this call was judged: a link"
                " on the way was changed. Nothing was done. Call again."
            )
            raise Fault(text, kind="refused", code="files.path_changed", pointer=pointer)

    def barred(self, path: str) -> bool:
        """Tell whether rules keep this call from a file or folder that it came upon."""
        return self.ctx.bars(Resource("path", path))

    def stop(self) -> None:
        """End the call if it was cancelled."""
        self.ctx.cancellation.check()


def _judged(ctx: Context, access: Access) -> frozenset[str] | None:
    """Return the paths that the call was authorised for; None where nobody says."""
    signature = getattr(ctx, "signature", None)
    if signature is None:
        return None
    allowed = (access,) if access is Access.WRITE else tuple(Access)
    paths = [r for r in signature.resources if r.type == "path" and r.access in allowed]
    # An empty value is *any* path: nobody has judged this one, so the workspace bounds it.
    return frozenset(r.value for r in paths if r.value) or None


def desk(ctx: Context) -> Desk:
    """Return what a call works with; a workspace that is gone ends it here."""
    remembered = ctx.wait(ctx.use(memory))
    root = canonical_root(ctx.workspace.root, identity=remembered.identity)
    remembered.identity = identity_of(root)
    # Each workspace has a journal of its own: undoing is for who works there.
    name = hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return Desk(ctx, root, remembered.tracker, Journal(ctx.host.state / "journal" / name))


@contextmanager
def told() -> Iterator[None]:
    """Turn a fault of the engine into the failure that ends a call that way."""
    try:
        yield
    except Fault as fault:
        raise _failure(fault) from fault


def _failure(fault: Fault) -> ToolFailure:
    if fault.kind == "invalid":
        return Invalid(fault.pointer, fault.text, code=fault.code)
    return _FAILURES[fault.kind](fault.text, code=fault.code)
