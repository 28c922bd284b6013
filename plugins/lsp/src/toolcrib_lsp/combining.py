"""The plans of several servers for one call, as one plan."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import attrs

from toolcrib import Failed

from .edits import FileChange, Plan, replaced
from .places import shown
from .texts import Snapshot


__all__ = ["combined"]


def combined(plans: Sequence[Plan]) -> Plan:
    """Return what all of some plans would write; what several say is written once.

    Args:
        plans: Of one workspace; at least one.

    Raises:
        Failed: they do not fit together.
    """
    root = plans[0].root
    files: dict[str, FileChange] = {}
    for plan in plans:
        for each in plan.files:
            known = files.get(each.path)
            files[each.path] = each if known is None else _both(root, known, each)
    return Plan(root, tuple(files[path] for path in sorted(files)))


def _both(root: str, one: FileChange, other: FileChange) -> FileChange:
    """Return both changes of a file as one."""
    name = shown(root, one.path)
    if one.before != other.before:
        text = f"{name} changed while servers were asked. Nothing was changed. Call again."
        raise Failed(text, code="lsp.changed")
    if one.after == other.after and one.came_from == other.came_from:
        return one
    partly = one.spans and other.spans and None not in {one.after, other.after}
    if not partly or one.before is None:
        raise _conflict(name)
    spans = tuple(sorted({*one.spans, *other.spans}))
    for (start, stop, _), (begin, end, _) in pairwise(spans):
        # Two different texts for one place, or for places that overlap.
        if begin < stop or (start, stop) == (begin, end):
            raise _conflict(name)
    after = replaced(Snapshot.of(one.path, one.before), spans).data
    return attrs.evolve(one, after=after, edits=len(spans), spans=spans)


def _conflict(name: str) -> Failed:
    text = (
        f"The servers do not agree on what becomes of {name}. Nothing was changed. Ask a "
        "person to use one of them only."
    )
    return Failed(text, code="lsp.conflict")
