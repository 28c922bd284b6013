"""Previews with the workspace at hand: what would change, as a unified diff.

The functions beside a tool are given arguments only. A diff needs the files too, so the
pack's ``toolcrib_tools`` hook gives every host its own previews.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from toolcrib import Implementation, Pack, PackHost, hookimpl

from .changing import Plan, plan_edit, plan_write
from .definition import told
from .exact import Edit
from .patching import plan_patch
from .places import canonical_root, locate


__all__ = ["bind", "preview_edit", "preview_patch", "preview_write"]


def bind(pack: Pack) -> None:
    """Let the pack's tools be given to a host with previews that know its workspace."""

    @hookimpl
    def toolcrib_tools(host: PackHost) -> tuple[Implementation, ...]:
        return tuple(_bound(each, host) for each in pack.implementations())

    pack.toolcrib_tools = toolcrib_tools  # type: ignore[attr-defined]


def _bound(implementation: Implementation, host: PackHost) -> Implementation:
    plan = _PREVIEWS.get(implementation.tool.id)
    if plan is None:
        return implementation
    structure = implementation.structure

    def preview(**arguments: Any) -> str:
        made = arguments if structure is None else structure(arguments)
        # The workspace is looked up late: a host is complete only once calls are made.
        with told():
            return plan(canonical_root(host.workspace.root), **made).diff()

    companions = attrs.evolve(implementation.companions, preview=preview)
    return attrs.evolve(implementation, companions=companions)


def preview_write(root: str, path: Any, content: str, expect_digest: str | None = None) -> Plan:
    """Plan what ``files.write`` would do."""
    place = locate(root, str(path))
    return plan_write(place, str(path), content, None, expected=expect_digest)


def preview_edit(
    root: str, path: Any, edits: list[Edit], expect_digest: str | None = None
) -> Plan:
    """Plan what ``files.edit`` would do."""
    return plan_edit(locate(root, str(path)), edits, None, expected=expect_digest)


def preview_patch(root: str, patch: str) -> Plan:
    """Plan what ``files.patch`` would do."""
    return plan_patch(root, patch, None, lambda _: None)


_PREVIEWS: dict[str, Callable[..., Plan]] = {
    "files.edit": preview_edit,
    "files.patch": preview_patch,
    "files.write": preview_write,
}
