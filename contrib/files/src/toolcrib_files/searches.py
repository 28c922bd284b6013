"""The tools that search below a folder: ``files.glob`` and ``files.grep``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from toolcrib import (
    Access,
    Between,
    Context,
    Length,
    Result,
    Signature,
    Text,
    resources,
)

from . import globs, ripgrep
from .content_search import Answer, FileHits, Query
from .content_search import grep as search
from .definition import desk, pack, told
from .generalizing import rule_for
from .outputs import FoundEntry, FoundFiles, GrepFile, GrepLine, GrepResult, counted, plain
from .places import Place, printable
from .walking import Include


__all__ = ["glob", "grep"]

_INCLUDE = "Places to look into although they are left out by default"


@pack.tool(
    effects={"fs_read"},
    idempotent="yes",
    concurrency="shared",
    labels={"reads_private", "returns_untrusted"},
    output_schema=FoundFiles,
    usage=["* stays within a folder, ** spans folders: **/*.py finds every Python file."],
    examples=[("all tests", {"pattern": "**/test_*.py"})],
)
def glob(
    ctx: Context,
    pattern: Annotated[str, "Such as src/**/*.py, from the folder", Length(1, 1024)],
    *,
    path: Annotated[Path, "Folder to search, from the workspace or absolute"] = Path(),
    folders: Annotated[bool, "Whether to find folders too"] = False,
    order: Annotated[Literal["name", "newest"], "Order of the answer"] = "name",
    limit: Annotated[int, "Most entries", Between(1, 1000)] = 200,
    include: Annotated[list[Literal["hidden", "ignored"]], _INCLUDE] = [],  # noqa: B006
    cursor: Annotated[str | None, "From the answer before, to go on"] = None,
) -> Result:
    """Find files by the pattern of their path."""
    with told():
        work = desk(ctx)
        place = work.place(path, Access.READ)
        found = globs.find(
            place,
            pattern,
            include=frozenset[Include](include),
            folders=folders,
            order=order,
            limit=limit,
            cursor=cursor,
            stop=work.stop,
            barred=work.barred,
        )
    return _found(place, pattern, found)


@glob.signature
def _(pattern: str, *, path: Path = Path(), **_: Any) -> Signature:
    return Signature(reads=[resources.Path(path)])


@glob.generalize
def _(pattern: str, *, path: Path = Path(), **_: Any) -> str | None:
    return rule_for("files.glob", path, folder=True)


def _found(place: Place, pattern: str, found: globs.Found) -> Result:
    entries = [
        FoundEntry(
            path=printable(each.path),
            kind=each.kind,
            size=each.size,
            modified=each.modified / 1e9,
        )
        for each in found.entries
    ]
    lines = [f"{each.path}/" if each.kind == "folder" else each.path for each in entries]
    if not entries:
        lines.append(f"Nothing below {place.shown} matches {pattern!r}.")
        if "**" not in pattern:
            lines.append(f"It looks at one depth only; **/{pattern} looks at all.")
    if found.cursor is not None:
        lines.append(f"More follow: call again with cursor={found.cursor!r}.")
    if said := found.skipped.sentence():
        lines.append(said)
    value = FoundFiles(
        entries=tuple(entries), cursor=found.cursor, skipped=found.skipped.as_words()
    )
    more = "" if found.cursor is None else ", more follow"
    return Result(
        summary=f"{len(entries)} found below {place.shown}{more}",
        content=[Text("\n".join(lines))],
        structured=plain(value),
        notes=_notes(partial=found.cursor is not None, skipped=bool(found.skipped.counts)),
    )


def _notes(*, partial: bool, skipped: bool) -> list[str]:
    return [*(["partial"] if partial else []), *(["places_skipped"] if skipped else [])]


@pack.tool(
    effects={"fs_read"},
    idempotent="yes",
    concurrency="shared",
    labels={"reads_private", "returns_untrusted"},
    output_schema=GrepResult,
    usage=[
        "Regular expressions; set literal=true for text with special characters.",
        "A path that is named is searched even if it is hidden, ignored, large or binary.",
    ],
    examples=[
        ("where a function is defined", {"pattern": r"def load\b", "glob": "*.py"}),
        ("text as it stands", {"pattern": "a[0] += b(", "literal": True}),
    ],
)
def grep(
    ctx: Context,
    pattern: Annotated[str, "Regular expression, or text with literal", Length(1, 2000)],
    *,
    path: Annotated[Path, "File or folder to search, from the workspace or absolute"] = Path(),
    glob: Annotated[str | None, "Which files; without / it matches at any depth"] = None,
    literal: Annotated[bool, "Whether the pattern is plain text"] = False,
    ignore_case: Annotated[bool, "Whether letter case makes no difference"] = False,
    multiline: Annotated[bool, "Whether a match may span lines"] = False,
    mode: Annotated[
        Literal["content", "files", "count"], "Lines, names of files, or lines per file"
    ] = "content",
    context: Annotated[int, "Lines before and after each match", Between(0, 20)] = 0,
    limit: Annotated[int, "Most lines, or files", Between(1, 1000)] = 100,
    include: Annotated[list[Literal["hidden", "ignored", "binary", "large"]], _INCLUDE] = [],  # noqa: B006
    cursor: Annotated[str | None, "From the answer before, to go on"] = None,
) -> Result:
    """Search in files for lines that match a pattern."""
    query = Query(
        pattern=pattern,
        literal=literal,
        ignore_case=ignore_case,
        multiline=multiline,
        glob=glob,
        mode=mode,
        before=context,
        after=context,
        include=frozenset[Include](include),
        limit=limit,
        cursor=cursor,
    )
    with told():
        work = desk(ctx)
        place = work.place(path, Access.READ)
        program = ripgrep.find_program()
        answer = search(place, query, program=program, stop=work.stop, barred=work.barred)
    return _answer(place, query, answer)


@grep.signature
def _(pattern: str, *, path: Path = Path(), **_: Any) -> Signature:
    return Signature(reads=[resources.Path(path)])


@grep.generalize
def _(pattern: str, *, path: Path = Path(), **_: Any) -> str | None:
    return rule_for("files.grep", path, folder=True)


def _answer(place: Place, query: Query, answer: Answer) -> Result:
    lines = _lines(query, answer)
    if not answer.files:
        lines.append(f"No match below {place.shown} in {counted(answer.searched, 'file')}.")
    if answer.cursor is not None:
        lines.append(f"More follow: call again with cursor={answer.cursor!r}.")
    if said := answer.skipped.sentence():
        lines.append(said)
    files = tuple(
        GrepFile(
            path=printable(each.path),
            count=each.count,
            lines=tuple(
                GrepLine(line=hit.line, text=hit.text, before=hit.before, after=hit.after)
                for hit in each.lines
            ),
        )
        for each in answer.files
    )
    value = GrepResult(
        files=files,
        cursor=answer.cursor,
        searched=answer.searched,
        skipped=answer.skipped.as_words(),
        engine=answer.engine,
    )
    found = sum(each.count for each in answer.files)
    what = f"{counted(found, 'line')} in " if query.mode != "files" else ""
    more = "" if answer.cursor is None else ", more follow"
    return Result(
        summary=f"{what}{counted(len(answer.files), 'file')} below {place.shown}{more}",
        content=[Text("\n".join(lines))],
        structured=plain(value),
        notes=_notes(partial=answer.cursor is not None, skipped=bool(answer.skipped.counts)),
    )


def _lines(query: Query, answer: Answer) -> list[str]:
    if query.mode == "files":
        return [printable(each.path) for each in answer.files]
    if query.mode == "count":
        return [f"{each.count}\t{printable(each.path)}" for each in answer.files]
    out: list[str] = []
    for each in answer.files:
        out.append(printable(each.path))
        out += _hits(each)
    return out


def _hits(file: FileHits) -> list[str]:
    """Return numbered lines, a match with a colon, context with a hyphen, each once."""
    rows: dict[int, str] = {}
    matched: dict[int, str] = {}
    for hit in file.lines:
        first = hit.line - len(hit.before)
        rows.update({first + at: text for at, text in enumerate(hit.before)})
        parts = hit.text.split("\n")
        matched.update({hit.line + at: text for at, text in enumerate(parts)})
        last = hit.line + len(parts)
        rows.update({last + at: text for at, text in enumerate(hit.after)})
    out: list[str] = []
    previous = None
    for number in sorted(rows | matched):
        if previous is not None and number > previous + 1 and rows:
            out.append("--")
        sign, text = (":", matched[number]) if number in matched else ("-", rows[number])
        out.append(f"{number:>6}{sign} {text}")
        previous = number
    return out
