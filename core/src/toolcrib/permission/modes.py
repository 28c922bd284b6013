"""What each mode permits at all, and what it runs without asking.

=========  ==============================================  ========================
mode       runs                                            permits
=========  ==============================================  ========================
``plan``   reads in the workspace, the pack's own state    reads, the pack's own state
``ask``    the same                                        everything
``edits``  and writes in the workspace                     everything
``trust``  everything                                      everything
=========  ==============================================  ========================

``net_read`` is a read, but only ``trust`` runs it. What a mode does not permit is refused
whatever rule, grant or person says; what it does not run is asked.
"""

from __future__ import annotations

from toolcrib.vocabulary import Access, Effect, Mode

from .context import AuthorityContext
from .part import Part


__all__ = ["permits", "runs"]

_FS_READ, _FS_WRITE, _NET_READ = Effect.FS_READ, Effect.FS_WRITE, Effect.NET_READ
_PLAN, _EDITS, _TRUST = Mode.PLAN, Mode.EDITS, Mode.TRUST


def permits(part: Part, context: AuthorityContext) -> bool:
    """Tell whether the mode permits a part at all."""
    if context.mode is not _PLAN or part.own:
        return True
    if part.effect is None:
        return part.access is not Access.WRITE
    return part.effect is _FS_READ or part.effect is _NET_READ


def runs(part: Part, context: AuthorityContext) -> bool:
    """Tell whether the mode lets a part run without asking."""
    mode = context.mode
    if mode is _TRUST or part.own:
        return True
    if part.type != "path" or part.value is None:
        return False
    effect = part.effect
    if effect is _FS_READ or (effect is _FS_WRITE and mode is _EDITS):
        return context.is_inside(part.value)
    return False
