"""The tools that change files: ``files.write``, ``files.edit`` and ``files.patch``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from toolcrib import (
    Access,
    Context,
    Length,
    PackHost,
    Result,
    Signature,
    Text,
    resources,
)

from .changing import Plan, PlannedChange, plan_edit, plan_write
from .definition import Desk, desk, pack, told
from .diffs import changed_lines
from .exact import Edit, line_number
from .generalizing import rule_for
from .outputs import Changed, ChangedFile, plain
from .patching import patch_paths, plan_patch
from .places import canonical_root, locate
from .texts import digest


__all__ = ["edit", "patch", "write"]

_MOST_DIFF = 8000
_SAID = {
    "hard_link_parted": "The file had other names (hard links); they keep the old content.",
    "written_in_place": "The folder takes no new files, so the file was overwritten in place.",
}
_DIGEST = "Digest that files.read gave; another content refuses the call"


@pack.tool(
    effects={"fs_read", "fs_write"},
    labels={"reads_private", "returns_untrusted"},
    output_schema=Changed,
    usage=[
        "For a new file, or to replace all of a file that was read as a whole.",
        "Folders above a new file are made. To change a part use files.edit.",
    ],
    examples=[("a new file", {"path": "notes/today.md", "content": "# Today\n"})],
)
def write(
    ctx: Context,
    path: Annotated[Path, "File, from the workspace or absolute"],
    content: Annotated[str, "The whole content, written exactly", Length(0, 10_000_000)],
    *,
    expect_digest: Annotated[str | None, _DIGEST] = None,
) -> Result:
    """Write a whole file, in one step."""
    with told():
        work = desk(ctx)
        place = work.place(path, Access.WRITE)
        work.journal.recover()
        plan = plan_write(place, str(path), content, work.tracker, expected=expect_digest)
        return _apply(work, plan)


@write.signature
def _(path: Path, content: str, **_: Any) -> Signature:
    return Signature(reads=[resources.Path(path)], writes=[resources.Path(path)])


@write.generalize
def _(path: Path, content: str, **_: Any) -> str | None:
    return rule_for("files.write", path)


@write.preview
def _(
    host: PackHost, /, path: Path, content: str, *, expect_digest: str | None = None
) -> str | None:
    with told():
        place = locate(canonical_root(host.workspace.root), str(path))
        return plan_write(place, str(path), content, None, expected=expect_digest).diff()


@pack.tool(
    effects={"fs_read", "fs_write"},
    labels={"reads_private", "returns_untrusted"},
    output_schema=Changed,
    usage=[
        "old must stand in the file exactly once, or set replace_all or count.",
        "All edits are sought in the file as it is now; either all apply or none does.",
        "Line numbers of files.read are not part of the text.",
    ],
    examples=[
        (
            "rename a variable in one place",
            {"path": "src/main.py", "edits": [{"old": "total = 0", "new": "count = 0"}]},
        )
    ],
)
def edit(
    ctx: Context,
    path: Annotated[Path, "File, from the workspace or absolute"],
    edits: Annotated[list[Edit], "Replacements of exact text", Length(1, 100)],
    *,
    expect_digest: Annotated[str | None, _DIGEST] = None,
) -> Result:
    """Replace exact text in a file; all other bytes stay."""
    with told():
        work = desk(ctx)
        place = work.place(path, Access.WRITE)
        work.journal.recover()
        plan = plan_edit(place, edits, work.tracker, expected=expect_digest)
        return _apply(work, plan)


@edit.signature
def _(path: Path, edits: list[Edit], **_: Any) -> Signature:
    return Signature(reads=[resources.Path(path)], writes=[resources.Path(path)])


@edit.generalize
def _(path: Path, edits: list[Edit], **_: Any) -> str | None:
    return rule_for("files.edit", path)


@edit.preview
def _(
    host: PackHost, /, path: Path, edits: list[Edit], *, expect_digest: str | None = None
) -> str | None:
    with told():
        place = locate(canonical_root(host.workspace.root), str(path))
        return plan_edit(place, edits, None, expected=expect_digest).diff()


@pack.tool(
    effects={"fs_read", "fs_write"},
    labels={"reads_private", "returns_untrusted"},
    output_schema=Changed,
    details=(
        "The text starts with '*** Begin Patch' and ends with '*** End Patch'. Between them"
        " stand sections: '*** Add File: PATH' (every line starts with '+'), '*** Delete"
        " File: PATH', '*** Update File: PATH', perhaps followed by '*** Move to: PATH'. An"
        " update has hunks: a line '@@', or '@@ LINE' to look behind that line of the file,"
        " then lines that stay (' '), go ('-') or come ('+'). '*** End of File' pins a hunk"
        " to the end."
    ),
    usage=[
        "All of a patch is done, or nothing.",
        "Paths are relative; hunks stand in the order of the file.",
    ],
)
def patch(ctx: Context, patch: Annotated[str, "The patch", Length(1, 1024 * 1024)]) -> Result:
    """Add, delete, update and move several files as one change."""
    with told():
        work = desk(ctx)
        work.journal.recover()
        plan = plan_patch(
            work.root,
            patch,
            work.tracker,
            lambda place: work.judge(place, Access.WRITE, pointer="/patch"),
        )
        return _apply(work, plan)


@patch.signature
def _(patch: str) -> Signature:
    with told():
        reads, writes = patch_paths(patch)
    return Signature(
        reads=[resources.Path(path) for path in reads],
        writes=[resources.Path(path) for path in writes],
    )


@patch.check
def _(patch: str) -> None:
    with told():
        patch_paths(patch)


@patch.generalize
def _(patch: str) -> str | None:
    with told():
        reads, writes = patch_paths(patch)
    return rule_for("files.patch", *map(Path, dict.fromkeys((*reads, *writes))))


@patch.preview
def _(host: PackHost, /, patch: str) -> str | None:
    with told():
        root = canonical_root(host.workspace.root)
        return plan_patch(root, patch, None, lambda _: None).diff()


def _apply(work: Desk, plan: Plan) -> Result:
    """Make the planned changes, remember them, and tell what was done."""
    work.stop()
    done = work.journal.apply(plan.changes)
    for each in plan.planned:
        _remember(work, each)
    files = tuple(_changed(each, plan) for each in plan.planned)
    said = [_SAID[note] for note in done.notes]
    said += [f"Some lines were found with {way.replace('_', ' ')}." for way in plan.ways]
    lines = [f"{file.change} {file.path}" + _moved(file) + _counts(file) for file in files]
    diff = plan.diff()
    if len(diff) <= _MOST_DIFF:
        said.append(diff)
    summary = lines[0] if len(lines) == 1 else f"{len(lines)} files changed"
    return Result(
        summary=summary,
        content=[Text("\n".join([*lines, *said]))],
        structured=plain(Changed(files=files)),
        notes=[*done.notes, *plan.ways],
    )


def _remember(work: Desk, each: PlannedChange) -> None:
    after = each.change.after
    if after is None or each.moved_to is not None:
        work.tracker.forget(each.place)
    if after is None:
        return
    place = each.moved_to or each.place
    if each.kind == "added":
        work.tracker.wrote(place, after, each.after or "")
    else:
        work.tracker.edited(place, after, each.after or "")


def _changed(each: PlannedChange, plan: Plan) -> ChangedFile:
    added, removed = changed_lines(each.before or "", each.after or "")
    after = each.change.after
    return ChangedFile(
        path=each.place.shown,
        change=each.kind,
        moved_to=each.moved_to.shown if each.moved_to else None,
        digest=digest(after) if after is not None else None,
        added=added,
        removed=removed,
        replaced=tuple(line_number(each.before or "", span.start) for span in plan.spans),
    )


def _moved(file: ChangedFile) -> str:
    return f" -> {file.moved_to}" if file.moved_to else ""


def _counts(file: ChangedFile) -> str:
    return f" (+{file.added} -{file.removed})" if file.added or file.removed else ""
