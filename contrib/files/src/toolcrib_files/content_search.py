"""Search in files: one answer, whichever engine finds it.

Which files are searched, and how their bytes become lines, is decided here for both
engines. ripgrep gets plain UTF-8 files and patterns that both read alike; everything
else goes to the Python engine.
"""

from __future__ import annotations

import json
import os
import sys

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing
from itertools import groupby
from typing import Literal

import attrs

from . import ripgrep, searching
from .candidates import Candidate, Candidates
from .faults import Fault
from .patterns import Pattern, compile_pattern
from .places import Place, printable
from .texts import visible
from .walking import Entry, Include, Skipped


__all__ = ["Answer", "FileHits", "LineHit", "Query", "grep"]

LONGEST_LINE = 500

# Line number from 1, text without its end, start of the match in it.
_Hit = tuple[int, str, int]
Mode = Literal["content", "files", "count"]


@attrs.frozen(kw_only=True)
class Query:
    """What to search for.

    Attributes:
        pattern: In the grammar of :mod:`toolcrib_files.patterns`.
        literal: Whether it is plain text.
        ignore_case, multiline: As they say.
        glob: Which files; a pattern without ``/`` matches at any depth.
        mode: Lines, names of files, or number of lines of each file.
        before, after: Lines of context.
        include: Reasons that are no reason to leave a file out.
        limit: Most lines or files in one answer.
        cursor: Where the answer before ended.
        seconds: How long the Python engine may search in one file.
    """

    pattern: str
    literal: bool = False
    ignore_case: bool = False
    multiline: bool = False
    glob: str | None = None
    mode: Mode = "content"
    before: int = 0
    after: int = 0
    include: frozenset[Include] = frozenset()
    limit: int = 100
    cursor: str | None = None
    seconds: float = 10.0


@attrs.frozen
class LineHit:
    """A line, or with ``multiline`` several joined by line feeds, that holds a match."""

    line: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class FileHits:
    """What was found in one file; ``count`` is of the lines here, or all in mode count."""

    path: str
    count: int
    lines: tuple[LineHit, ...] = ()


@attrs.frozen(kw_only=True)
class Answer:
    """A page of what was found.

    Attributes:
        files: In the order of the walk.
        cursor: For the next page, or None at the end.
        searched: How many files were searched for this page.
        skipped: What was left out, and why.
        engine: Which one was meant to search.
    """

    files: tuple[FileHits, ...]
    cursor: str | None
    searched: int
    skipped: Skipped
    engine: Literal["ripgrep", "python"]


def grep(
    place: Place,
    query: Query,
    *,
    program: str | None = None,
    stop: Callable[[], None] = lambda: None,
    barred: Callable[[str], bool] = lambda _: False,
) -> Answer:
    """Search a file, or everything below a folder.

    Args:
        place: Where to search; what is named itself is searched whatever it is.
        query: What to search for.
        program: Path of ripgrep; None for the Python engine alone.
        stop: Called again and again; raises to end the search.
        barred: Whether rules keep the call from a path below a folder.
    """
    pattern = compile_pattern(
        query.pattern,
        literal=query.literal,
        ignore_case=query.ignore_case,
        multiline=query.multiline,
    )
    candidates = Candidates(place, query.glob, query.include, stop, barred)
    return _Search(candidates, query, pattern, program, stop).answer()


class _Search:
    def __init__(
        self,
        candidates: Candidates,
        query: Query,
        pattern: Pattern,
        program: str | None,
        stop: Callable[[], None],
    ) -> None:
        self.query = query
        self.pattern = pattern
        self.program = program if pattern.rust is not None else None
        self.stop = stop
        self.after_key, self.after_line = _decode(query.cursor)
        self.candidates = candidates
        self.searched = 0
        self._searcher: searching.Searcher | None = None

    def answer(self) -> Answer:
        files: list[FileHits] = []
        room = self.query.limit
        cursor = None
        try:
            with closing(self.found()) as found:
                for candidate, hits in found:
                    if room <= 0:
                        cursor = _encode(files[-1])
                        break
                    shown = hits[:room] if self.query.mode == "content" else hits[:1]
                    files.append(self.finish(candidate, shown, hits))
                    room -= len(shown)
                    if self.query.mode == "content" and len(hits) > len(shown):
                        cursor = _encode(files[-1])
                        break
        finally:
            if self._searcher is not None:
                self._searcher.close()
        return Answer(
            files=tuple(files),
            cursor=cursor,
            searched=self.searched,
            skipped=self.candidates.skipped,
            engine="ripgrep" if self.program else "python",
        )

    def finish(self, candidate: Candidate, shown: list[_Hit], hits: list[_Hit]) -> FileHits:
        """Make what is shown of one file, while it is still open."""
        path = candidate.entry.path
        if self.query.mode != "content":
            return FileHits(path=path, count=len(hits) if self.query.mode == "count" else 1)
        around: list[str] = []
        if self.query.before or self.query.after:
            around = candidate.text().text.split("\n")
            if around and not around[-1]:
                around.pop()
        lines = tuple(self.line(hit, around) for hit in shown)
        return FileHits(path=path, count=len(lines), lines=lines)

    def line(self, hit: _Hit, around: list[str]) -> LineHit:
        number, text, start = hit
        first = max(0, number - 1 - self.query.before)
        last = number + text.count("\n")
        return LineHit(
            number,
            _clip(visible(text), start),
            tuple(_clip(visible(t.removesuffix("\r")), 0) for t in around[first : number - 1]),
            tuple(
                _clip(visible(t.removesuffix("\r")), 0)
                for t in around[last : last + self.query.after]
            ),
        )

    def found(self) -> Generator[tuple[Candidate, list[_Hit]], None, None]:
        """Yield files that hold a match, in the order of the walk, each still open."""
        for batch in self.candidates.batches(self.wanted):
            with ExitStack() as open_files:
                for candidate in batch:
                    open_files.callback(os.close, candidate.descriptor)
                for by_ripgrep, group in groupby(batch, self.by_ripgrep):
                    for candidate, hits in self.run(list(group), by_ripgrep=by_ripgrep):
                        kept = self.kept(candidate, hits)
                        if kept:
                            yield candidate, kept

    def wanted(self, entry: Entry) -> bool:
        if self.after_key is None:
            return True
        if self.query.mode == "content":
            return entry.key >= self.after_key
        return entry.key > self.after_key

    def by_ripgrep(self, candidate: Candidate) -> bool:
        return self.program is not None and candidate.plain

    def kept(self, candidate: Candidate, hits: list[_Hit]) -> list[_Hit]:
        if candidate.entry.key == self.after_key:
            return [hit for hit in hits if hit[0] > self.after_line]
        return hits

    def most(self, group: list[Candidate]) -> int | None:
        """Return how many hits of one file can matter."""
        if self.query.mode == "files":
            return 1
        if self.query.mode == "count" or any(c.entry.key == self.after_key for c in group):
            return None
        return self.query.limit + 1

    def run(
        self, group: list[Candidate], *, by_ripgrep: bool
    ) -> Iterator[tuple[Candidate, list[_Hit]]]:
        most = self.most(group)
        if by_ripgrep:
            try:
                yield from self.run_ripgrep(group, most)
                return
            except (ripgrep.RipgrepFailed, OSError):
                self.program = None  # it cannot do it here; the answer stays the same
        for candidate in group:
            self.stop()
            hits = self.run_python(candidate, most)
            if hits:
                yield candidate, hits

    def run_ripgrep(
        self, group: list[Candidate], most: int | None
    ) -> list[tuple[Candidate, list[_Hit]]]:
        assert self.program is not None  # noqa: S101 - by_ripgrep says so
        assert self.pattern.rust is not None  # noqa: S101
        found: dict[int, list[_Hit]] = {}
        matches = ripgrep.search(
            self.program, self.pattern.rust, [c.descriptor for c in group], most=most
        )
        with closing(matches):
            for index, number, text, start in matches:
                found.setdefault(index, []).append((number, text, start))
                self.stop()
        self.searched += len(group)
        return [(group[index], found[index]) for index in sorted(found)]

    def run_python(self, candidate: Candidate, most: int | None) -> list[_Hit]:
        try:
            text = candidate.text().text
        except (Fault, OSError):
            self.candidates.skipped.add("unreadable", candidate.entry.path)
            return []
        self.searched += 1
        try:
            hits = self.searcher().search(text, most if most is not None else len(text) + 1)
        except searching.PatternTooSlow:
            message = (
                f"The pattern did not come to an end within {self.query.seconds:g} seconds in"
                f" {printable(candidate.entry.path)}. Avoid repeats within repeats, or name a"
                " smaller folder."
            )
            raise Fault(
                message, kind="failed", code="files.pattern_slow", pointer="/pattern"
            ) from None
        return [(n, _plain_ends(text[start:end]), at - start) for n, start, end, at in hits]

    def searcher(self) -> searching.Searcher:
        if self._searcher is None:
            pattern, multiline = self.pattern.python, self.query.multiline
            if self.pattern.plain or not sys.executable:
                self._searcher = searching.InProcess(pattern, multiline=multiline)
            else:
                self._searcher = searching.Child(
                    pattern, multiline=multiline, seconds=self.query.seconds
                )
        return self._searcher


def _plain_ends(text: str) -> str:
    return text.removesuffix("\r").replace("\r\n", "\n")


def _clip(text: str, start: int) -> str:
    """Cut a long line to the part around a match; marks show where it was cut."""
    if len(text) <= LONGEST_LINE:
        return text
    low = max(0, min(start - LONGEST_LINE // 4, len(text) - LONGEST_LINE))
    high = low + LONGEST_LINE
    return ("…" if low else "") + text[low:high] + ("…" if high < len(text) else "")


def _encode(last: FileHits) -> str:
    return json.dumps([last.lines[-1].line if last.lines else 0, last.path])


def _decode(cursor: str | None) -> tuple[tuple[str, ...] | None, int]:
    if cursor is None:
        return None, 0
    try:
        line, path = json.loads(cursor)
        if not isinstance(line, int) or not isinstance(path, str):
            raise ValueError  # noqa: TRY301, TRY004 - one answer for every broken cursor
    except (ValueError, TypeError):
        text = "The cursor is not one that this tool gave. Leave it out to start again."
        raise Fault(text, kind="invalid", code="files.bad_cursor", pointer="/cursor") from None
    return tuple(path.split("/")), line
