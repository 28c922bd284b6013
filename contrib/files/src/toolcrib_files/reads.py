"""The tools that look at one place: ``files.read`` and ``files.list``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from toolcrib import (
    Access,
    AtLeast,
    Between,
    Context,
    File,
    Image,
    Result,
    Signature,
    Text,
    resources,
)

from .definition import desk, pack, told
from .generalizing import rule_for
from .listing import Listing, list_folder
from .outputs import FoundEntry, FoundFiles, ReadResult, counted, plain
from .places import Place, printable
from .reading import Bytes, Window
from .reading import read as read_place


__all__ = ["list_", "read"]

_DOCUMENTS = {"application/pdf", "audio/wav"}


@pack.tool(
    effects={"fs_read"},
    idempotent="yes",
    concurrency="shared",
    labels={"reads_private", "returns_untrusted"},
    output_schema=ReadResult,
    usage=[
        "Lines come with their numbers and a tab; neither is part of the file.",
        "Read a file before replacing it with files.write.",
    ],
    examples=[
        ("the first lines of a file", {"path": "src/main.py", "limit": 40}),
        ("the last 100 lines", {"path": "build.log", "start": -100}),
    ],
)
def read(
    ctx: Context,
    path: Annotated[Path, "File, from the workspace or absolute"],
    *,
    start: Annotated[int, "First line, from 1; below zero counts from the end"] = 1,
    limit: Annotated[int, "Most lines", Between(1, 10_000)] = 2000,
    column: Annotated[
        int, "First character of each line, to go on in long ones", AtLeast(1)
    ] = 1,
) -> Result:
    """Read lines of a text file, or an image or document as a whole."""
    with told():
        work = desk(ctx)
        place = work.place(path, Access.READ)
        found = read_place(place, start=start, limit=limit, column=column)
        if column == 1:
            # After success only: who was refused has seen nothing.
            work.tracker.saw(place, found)
    return _bytes(place, found) if isinstance(found, Bytes) else _window(place, found)


@read.signature
def _(path: Path, **_: Any) -> Signature:
    return Signature(reads=[resources.Path(path)])


@read.generalize
def _(path: Path, **_: Any) -> str | None:
    return rule_for("files.read", path)


def _window(place: Place, found: Window) -> Result:
    lines = "".join(f"{number:>6}\t{text}\n" for number, text in found.lines)
    said = []
    if found.total == 0:
        said.append("The file is empty.")
    if found.next_start is not None:
        said.append(
            f"Lines {found.next_start}-{found.total} follow: call again with"
            f" start={found.next_start}."
        )
    if found.clipped:
        some = ", ".join(map(str, found.clipped[:10])) + (", …" if found.clipped[10:] else "")
        said.append(f"Only a part of these long lines is shown: {some}. Move on with column.")
    if found.lossy:
        said.append("Some bytes are no text; they show as U+FFFD. Edits elsewhere keep them.")
    if found.guessed:
        said.append(f"The encoding, {found.encoding}, is a guess.")
    value = ReadResult(
        path=place.shown,
        kind="text",
        size=found.size,
        digest=found.digest,
        start=found.start,
        end=found.end,
        total=found.total,
        next_start=found.next_start,
        clipped=found.clipped,
        encoding=found.encoding,
        newline=found.newline,
        final_newline=found.final_newline,
        lossy=found.lossy,
    )
    return Result(
        summary=f"{place.shown}: lines {found.start}-{found.end} of {found.total}",
        content=[Text(text) for text in (lines, "\n".join(said)) if text],
        structured=plain(value),
        notes=[
            *(["lossy"] if found.lossy else []),
            *(["encoding_guessed"] if found.guessed else []),
            *(["partial"] if found.next_start or found.clipped or found.start > 1 else []),
        ],
    )


def _bytes(place: Place, found: Bytes) -> Result:
    kind: Literal["image", "document", "binary"] = "binary"
    if found.media_type.startswith("image/"):
        kind = "image"
    elif found.media_type in _DOCUMENTS:
        kind = "document"
    said = f"{place.shown} is no text: {found.media_type}, {found.size:,} bytes."
    content: list[Text | Image | File] = [Text(said)]
    if found.data is None:
        content = [Text(said + " It is too large to be handed over.")]
    elif kind == "image":
        content.append(Image(found.data, found.media_type))
    else:
        content.append(File(found.data, found.media_type, printable(place.name)))
    value = ReadResult(
        path=place.shown,
        kind=kind,
        media_type=found.media_type,
        size=found.size,
        digest=found.digest,
    )
    return Result(
        summary=said,
        content=content,
        structured=plain(value),
        notes=["too_large"] if found.data is None else [],
    )


@pack.tool(
    name="list",
    effects={"fs_read"},
    idempotent="yes",
    concurrency="shared",
    labels={"reads_private", "returns_untrusted"},
    output_schema=FoundFiles,
    examples=[("the workspace, two levels deep", {"path": ".", "depth": 2})],
)
def list_(
    ctx: Context,
    path: Annotated[Path, "Folder, from the workspace or absolute"] = Path(),
    *,
    depth: Annotated[int, "How many levels", Between(1, 8)] = 1,
    limit: Annotated[int, "Most entries", Between(1, 1000)] = 200,
    cursor: Annotated[str | None, "From the answer before, to go on"] = None,
) -> Result:
    """List what a folder holds, hidden entries too, ordered by name."""
    with told():
        work = desk(ctx)
        place = work.place(path, Access.READ)
        found = list_folder(
            place,
            depth=depth,
            limit=limit,
            cursor=cursor,
            stop=work.stop,
            barred=work.barred,
        )
    return _listing(place, found)


@list_.signature
def _(path: Path = Path(), **_: Any) -> Signature:
    return Signature(reads=[resources.Path(path)])


@list_.generalize
def _(path: Path = Path(), **_: Any) -> str | None:
    return rule_for("files.list", path, folder=True)


def _listing(place: Place, found: Listing) -> Result:
    entries = [
        FoundEntry(
            path=printable(each.entry.path),
            kind=each.entry.kind,
            size=each.entry.size,
            modified=each.entry.modified / 1e9,
            target=each.target,
        )
        for each in found.entries
    ]
    lines = [_line(entry) for entry in entries]
    if not entries:
        lines.append("The folder is empty." if not found.skipped.counts else "Nothing to show.")
    if found.cursor is not None:
        lines.append(f"More entries follow: call again with cursor={found.cursor!r}.")
    if said := found.skipped.sentence(switches=False):
        lines.append(said)
    value = FoundFiles(
        entries=tuple(entries), cursor=found.cursor, skipped=found.skipped.as_words()
    )
    more = "" if found.cursor is None else ", more follow"
    return Result(
        summary=f"{place.shown}: {counted(len(entries), 'entry', 'entries')}{more}",
        content=[Text("\n".join(lines))],
        structured=plain(value),
        notes=["partial"] if found.cursor is not None else [],
    )


def _line(entry: FoundEntry) -> str:
    if entry.kind == "folder":
        return f"{entry.path}/"
    if entry.kind == "link":
        return f"{entry.path} -> {entry.target}"
    return (
        f"{entry.path}  {entry.size:,}" if entry.kind == "file" else f"{entry.path} (special)"
    )
