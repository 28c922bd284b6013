"""From a server's edit to the bytes that would be written; nothing is written here."""

from __future__ import annotations

import difflib
import hashlib
import os

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import attrs

from toolcrib import Failed, Refused

from .documents import Documents
from .places import CONTROLLED, inside, path_of, shown
from .positions import at_units, line_starts
from .texts import Snapshot, Texts


__all__ = ["FileChange", "Plan", "files_of", "miscounted", "plan_of", "replaced", "touched"]

_OWN = frozenset({"toolcrib.toml", "toolcrib.lock"})
_MOST_FILES = 1000
_LONGEST_DIFF = 200_000


Span = tuple[int, int, str]


@attrs.frozen(kw_only=True)
class FileChange:
    """What becomes of one file.

    Attributes:
        path: The file.
        before: Its bytes as the server saw them; None: there is no such file.
        after: Its bytes afterwards; None: it is gone.
        edits: How many places change.
        came_from: For a moved file, where it was.
        spans: What is replaced by what, where that is all that happens: from and up to
            which character of the text, and the new text; by place.
    """

    path: str
    before: bytes | None
    after: bytes | None
    edits: int = 0
    came_from: str | None = None
    spans: tuple[Span, ...] = ()

    @property
    def kind(self) -> Literal["created", "updated", "deleted"]:
        """What it is, in a word."""
        if self.before is None:
            return "created"
        return "deleted" if self.after is None else "updated"


@attrs.frozen
class Plan:
    """All changes of one call, by path."""

    root: str
    files: tuple[FileChange, ...]

    @property
    def digest(self) -> str:
        """Of everything that would be written, and what it would be written over."""
        total = hashlib.sha256()
        for each in self.files:
            for part in (each.path.encode("utf-8", "surrogateescape"), each.before, each.after):
                total.update(b"-" if part is None else hashlib.sha256(part).digest())
        return total.hexdigest()

    def diff(self) -> str:
        """Return everything as unified diffs."""
        parts = [self._moves(), *(self._diff(each) for each in self.files)]
        text = "".join(parts)
        if len(text) > _LONGEST_DIFF:
            # A person cannot approve what is not shown; the digest says what is meant.
            text = text[:_LONGEST_DIFF] + f"\n… cut; the whole has the digest {self.digest}\n"
        return text

    def _moves(self) -> str:
        return "".join(
            f"move {shown(self.root, each.came_from)} -> {shown(self.root, each.path)}\n"
            for each in self.files
            if each.came_from is not None
        )

    def _diff(self, each: FileChange) -> str:
        name = shown(self.root, each.path)
        before = _lines(each.before)
        after = _lines(each.after)
        if each.came_from is not None:
            origin = next(f for f in self.files if f.path == each.came_from)
            before = _lines(origin.before)
        elif each.after is None and any(f.came_from == each.path for f in self.files):
            return ""  # shown where it goes
        old = "/dev/null" if each.before is None and each.came_from is None else f"a/{name}"
        new = "/dev/null" if each.after is None else f"b/{name}"
        lines = difflib.unified_diff(before, after, old, new)
        out = "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in lines
        )
        return out or (f"--- {old}\n+++ {new}\n" if each.kind != "updated" else "")


def _lines(data: bytes | None) -> list[str]:
    text = (data or b"").decode("utf-8", "replace")
    return text.splitlines(keepends=True) if "\r" not in text else _kept(text)


def _kept(text: str) -> list[str]:
    starts = [*line_starts(text), len(text)]
    return [text[a:b] for a, b in pairwise(starts) if a < b]


def replaced(snapshot: Snapshot, spans: Sequence[Span]) -> Snapshot:
    """Return a file with some places replaced, which are in order and do not overlap."""
    out: list[str] = []
    at = 0
    for start, stop, new in spans:
        out += [snapshot.text[at:start], new]
        at = stop
    out.append(snapshot.text[at:])
    return Snapshot.of(snapshot.path, snapshot.encode("".join(out)))


@attrs.define
class _Working:
    """A file while the operations of an edit are carried out in memory."""

    before: bytes | None
    snapshot: Snapshot | None
    edits: int = 0
    came_from: str | None = None
    spans: tuple[Span, ...] = ()


def files_of(edit: Any) -> set[str]:
    """Return the files whose text an edit changes."""
    found = {path_of(uri) for uri, _, _ in _text_edits(edit)}
    return {path for path in found if path is not None}


def touched(edit: Any) -> set[str]:
    """Return every file that an edit changes, makes, moves or deletes, links resolved.

    Raises:
        KeyError, TypeError, AttributeError: it cannot be read.
    """
    uris = [uri for uri, _, _ in _text_edits(edit)]
    steps = edit.get("documentChanges") if isinstance(edit, Mapping) else None
    for step in steps if isinstance(steps, list) else ():
        uris += [step[name] for name in ("uri", "oldUri", "newUri") if name in step]
    paths = {path_of(uri) for uri in uris}
    return {os.path.realpath(path) for path in paths if path is not None}


def _text_edits(edit: Any) -> Iterator[tuple[Any, Sequence[Any], Any]]:
    """Give URI, edits and version of each changed document."""
    if not isinstance(edit, Mapping):
        return
    changes = edit.get("documentChanges")
    if isinstance(changes, list):
        for each in changes:
            if isinstance(each, Mapping) and "kind" not in each:
                document = each["textDocument"]
                yield document["uri"], each["edits"], document.get("version")
    elif isinstance(edit.get("changes"), Mapping):
        for uri, edits in edit["changes"].items():
            yield uri, edits, None


def miscounted(edit: Any, name: str, documents: Documents, encoding: str) -> str | None:
    """Return the file of a rename that would replace something else than the name.

    A server that counts columns otherwise than it says hits beside the name, behind
    characters that are counted in different ways. What it replaces there must be the
    name, or a part of it.
    """
    for uri, edits, _ in _text_edits(edit):
        opened = documents.get(os.path.realpath(path_of(uri) or ""))
        lines = opened.snapshot.lines if opened is not None else []
        for each in edits if lines else ():
            begin = at_units(each["range"]["start"], lines, encoding)
            end = at_units(each["range"]["end"], lines, encoding)
            line = lines[begin[0]]
            replaced = line[begin[1] : end[1]] if begin[0] == end[0] else name
            if not line[: begin[1]].isascii() and replaced.strip("\"'`") not in name:
                return path_of(uri)
    return None


def plan_of(root: str, edit: Any, texts: Texts, documents: Documents, encoding: str) -> Plan:
    """Return what an edit would write.

    Args:
        root: The workspace.
        edit: The server's ``WorkspaceEdit``.
        texts: What is on the disk.
        documents: What the server was told; every changed file must be open.
        encoding: Of the server's positions.

    Raises:
        Refused: it leaves the workspace, or touches what no tool may change.
        Failed: it cannot be carried out as a whole.
    """
    planner = _Planner(root, texts, documents, encoding)
    changes = edit.get("documentChanges") if isinstance(edit, Mapping) else None
    try:
        if isinstance(changes, list):
            for each in changes:
                planner.step(each)
        else:
            for uri, edits, version in _text_edits(edit):
                planner.change(uri, edits, version)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        text = f"The server's edit cannot be read ({error!r}). Nothing was changed."
        raise Failed(text, code="lsp.bad_edit") from error
    return planner.plan()


class _Planner:
    def __init__(self, root: str, texts: Texts, documents: Documents, encoding: str) -> None:
        self._root = root
        self._texts = texts
        self._documents = documents
        self._encoding = encoding
        self._files: dict[str, _Working] = {}

    def plan(self) -> Plan:
        """Return everything that is different afterwards."""
        found = []
        for path in sorted(self._files):
            file = self._files[path]
            after = file.snapshot.data if file.snapshot is not None else None
            if after == file.before:
                continue
            found.append(
                FileChange(
                    path=path,
                    before=file.before,
                    after=after,
                    edits=file.edits,
                    came_from=file.came_from,
                    spans=file.spans,
                )
            )
        if len(found) > _MOST_FILES:
            text = f"The edit changes {len(found)} files; at most {_MOST_FILES} are at once."
            raise Failed(text, code="lsp.too_large")
        return Plan(self._root, tuple(found))

    def step(self, each: Mapping[str, Any]) -> None:
        """Take one operation of an edit."""
        kind = each.get("kind")
        if kind is None:
            document = each["textDocument"]
            self.change(document["uri"], each["edits"], document.get("version"))
        elif kind == "create":
            self._create(each)
        elif kind == "rename":
            self._move(each)
        elif kind == "delete":
            self._delete(each)
        else:
            text = f"The server's edit holds {kind!r}, which is not known. Nothing was changed."
            raise Failed(text, code="lsp.bad_edit")

    def change(self, uri: Any, edits: Sequence[Any], version: Any) -> None:
        """Change the text of a file."""
        path = self._place(uri)
        file = self._file(path)
        if file.snapshot is None:
            text = f"{shown(self._root, path)} is to be changed and does not exist."
            raise Failed(text + " Nothing was changed.", code="lsp.bad_edit")
        opened = self._documents.get(path)
        if isinstance(version, int) and opened is not None and version != opened.version:
            text = (
                f"The server's edit is for version {version} of {shown(self._root, path)}, "
                f"which is at version {opened.version}. Nothing was changed. Call again."
            )
            raise Failed(text, code="lsp.stale_edit")
        spans = self._spans(path, file.snapshot, edits)
        # Further edits are about the text that the ones before have made.
        file.spans = spans if file.snapshot.data == file.before else ()
        file.snapshot = replaced(file.snapshot, spans)
        file.edits += len(edits)

    def _spans(self, path: str, snapshot: Snapshot, edits: Sequence[Any]) -> tuple[Span, ...]:
        starts = line_starts(snapshot.text)
        spans: list[tuple[int, int, int, str]] = []
        for number, edit in enumerate(edits):
            if not isinstance(edit.get("newText"), str):
                text = f"The server's edit of {shown(self._root, path)} holds no plain text."
                raise Failed(text + " Nothing was changed.", code="lsp.bad_edit")
            begin = at_units(edit["range"]["start"], snapshot.lines, self._encoding)
            end = at_units(edit["range"]["end"], snapshot.lines, self._encoding)
            start, stop = starts[begin[0]] + begin[1], starts[end[0]] + end[1]
            if start > stop:
                message = "a range that ends before it starts"
                raise ValueError(message)
            spans.append((start, stop, number, edit["newText"]))
        spans.sort(key=lambda span: span[:3])
        if any(begin < stop for (_, stop, _, _), (begin, _, _, _) in pairwise(spans)):
            text = (
                f"The server's edits of {shown(self._root, path)} overlap, so nobody can "
                "tell what is meant. Nothing was changed."
            )
            raise Failed(text, code="lsp.overlap")
        return tuple((start, stop, new) for start, stop, _, new in spans)

    def _create(self, each: Mapping[str, Any]) -> None:
        path = self._place(each["uri"])
        file = self._file(path)
        options = each.get("options") or {}
        if file.snapshot is not None:
            if options.get("ignoreIfExists") and not options.get("overwrite"):
                return
            raise self._exists(path)
        file.snapshot = Snapshot.of(path, b"")

    def _move(self, each: Mapping[str, Any]) -> None:
        old, new = self._place(each["oldUri"]), self._place(each["newUri"])
        if os.path.isdir(old):
            text = f"The folder {shown(self._root, old)} would be moved, which is not done."
            raise Refused(text + " Nothing was changed.", code="lsp.folder")
        source, target = self._file(old), self._file(new)
        if target.snapshot is not None:
            if (each.get("options") or {}).get("ignoreIfExists"):
                return
            raise self._exists(new)
        if source.snapshot is None:
            text = f"{shown(self._root, old)} is to be moved and does not exist."
            raise Failed(text + " Nothing was changed.", code="lsp.bad_edit")
        target.snapshot, source.snapshot = source.snapshot, None
        target.edits, target.came_from = source.edits, source.came_from or old

    def _delete(self, each: Mapping[str, Any]) -> None:
        path = self._place(each["uri"])
        if os.path.isdir(path):
            text = f"The folder {shown(self._root, path)} would be deleted; that is not done."
            raise Refused(text + " Nothing was changed.", code="lsp.folder")
        self._file(path).snapshot = None

    def _exists(self, path: str) -> Failed:
        text = f"{shown(self._root, path)} exists already and is not written over."
        return Failed(text + " Nothing was changed.", code="lsp.exists")

    def _file(self, path: str) -> _Working:
        file = self._files.get(path)
        if file is None:
            opened = self._documents.get(path)
            snapshot: Snapshot | None = None
            if opened is not None:
                snapshot = opened.snapshot
            elif os.path.lexists(path) and not os.path.isdir(path):
                snapshot = self._texts.now(path)
            data = snapshot.data if snapshot is not None else None
            file = self._files[path] = _Working(data, snapshot)
        return file

    def _place(self, uri: Any) -> str:
        """Return the real path that a URI means, if it may be changed."""
        path = path_of(uri)
        if path is None:
            text = f"The server wants to change {str(uri)[:200]!r}, which is no file."
            raise Refused(text + " Nothing was changed.", code="lsp.outside")
        real = os.path.realpath(path)
        if not inside(self._root, real) or real == self._root:
            text = (
                f"The server wants to change {real}, which lies outside of the workspace "
                f"{self._root}. Nothing was changed."
            )
            raise Refused(text, code="lsp.outside")
        relative = real[len(self._root.rstrip("/")) + 1 :]
        if CONTROLLED.intersection(relative.split("/")) or relative in _OWN:
            text = f"The server wants to change {relative}, which no tool may change here."
            raise Refused(text + " Nothing was changed.", code="lsp.protected")
        return real
