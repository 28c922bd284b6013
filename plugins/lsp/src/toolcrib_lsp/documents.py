"""The documents that a server has open, in step with the disk."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from typing import Any, Protocol

import attrs

from toolcrib import ToolFailure

from .languages import language_of
from .places import uri_of
from .positions import units_of
from .texts import Snapshot, Texts
from .watching import Change


__all__ = ["Documents", "Opened"]

_CREATED, _CHANGED, _DELETED = 1, 2, 3
_KINDS = {"created": _CREATED, "changed": _CHANGED, "deleted": _DELETED}


class _Server(Protocol):
    encoding: str

    def notify(self, method: str, params: Any) -> None: ...
    def sync(self) -> tuple[int, bool, bool]: ...
    def watches(self, path: str) -> bool | None: ...


@attrs.define
class Opened:
    """One open document: what the server was told, and when."""

    snapshot: Snapshot
    version: int
    language: str
    opened: float


class Documents:
    """Opens, changes and closes documents of one server.

    Args:
        server: Who is told.
        texts: What is on the disk.
        own: Languages by extension, besides the table's.
        languages: That the server serves.
        most: How many are kept open.
        changes: Where counting begins.
    """

    def __init__(
        self,
        server: _Server,
        texts: Texts,
        *,
        own: dict[str, str],
        languages: Iterable[str],
        most: int,
        changes: int = 0,
    ) -> None:
        self._server = server
        self._texts = texts
        self._own = own
        self._languages = frozenset(languages)
        self._most = most
        self._open: OrderedDict[str, Opened] = OrderedDict()
        # Counts every notice of a change, so that answers can be dated.
        self.changes = changes
        # How often a document was opened or closed.
        self._turns = 0
        self._unsure: frozenset[str] = frozenset()
        self._unsure_of = (-1, -1)

    def get(self, path: str) -> Opened | None:
        """Return an open document."""
        return self._open.get(path)

    def snapshot(self, path: str) -> Snapshot | None:
        """Return what the server was told of a file; None if it is not open."""
        opened = self._open.get(path)
        return None if opened is None else opened.snapshot

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that are open."""
        return tuple(self._open)

    def open(self, path: str, *, now: float) -> Opened:
        """Make sure that a document is open, with the content of the disk.

        Raises:
            ToolFailure: the file cannot be read.
        """
        known = self._open.get(path)
        if known is not None:
            self._open.move_to_end(path)
            return known
        snapshot = self._texts.now(path)
        language = language_of(path, self._own) or "plaintext"
        opened = self._open[path] = Opened(snapshot, 1, language, now)
        item = {
            "uri": uri_of(path),
            "languageId": language,
            "version": 1,
            "text": snapshot.text,
        }
        self.changes += 1
        self._turns += 1
        self._server.notify("textDocument/didOpen", {"textDocument": item})
        while len(self._open) > self._most:
            self._close(next(iter(self._open)))
        return opened

    def make_room(self, needed: int) -> None:
        """Let at least so many documents be open at once."""
        self._most = max(self._most, needed)

    def unsure(self, covers: Callable[[str], bool], version: int) -> frozenset[str]:
        """Return the open files whose changes may go unnoticed.

        Args:
            covers: Whether every change of a file is noticed.
            version: Changes when ``covers`` may say something else.
        """
        state = (version, self._turns)
        if state != self._unsure_of:
            self._unsure_of = state
            self._unsure = frozenset(path for path in self._open if not covers(path))
        return self._unsure

    def in_step(self, paths: Collection[str] | None = None) -> None:
        """Tell the server of every open document that is no longer what it was told.

        Args:
            paths: The only files that may have changed; None: any may.
        """
        for path in tuple(self._open) if paths is None else paths:
            opened = self._open.get(path)
            if opened is None:
                continue
            try:
                snapshot = self._texts.now(path)
            except ToolFailure:
                self._close(path)
                continue
            if snapshot is not opened.snapshot and snapshot.digest != opened.snapshot.digest:
                self._change(path, opened, snapshot)

    def _change(self, path: str, opened: Opened, snapshot: Snapshot) -> None:
        before, opened.snapshot = opened.snapshot, snapshot
        kind, save, with_text = self._server.sync()
        opened.version += 1
        self.changes += 1
        uri = uri_of(path)
        if kind:
            change: dict[str, Any] = {"text": snapshot.text}
            if kind == 2:
                change["range"] = self._whole(before)
            identifier = {"uri": uri, "version": opened.version}
            params = {"textDocument": identifier, "contentChanges": [change]}
            self._server.notify("textDocument/didChange", params)
        if save:
            saved: dict[str, Any] = {"textDocument": {"uri": uri}}
            if with_text:
                saved["text"] = snapshot.text
            self._server.notify("textDocument/didSave", saved)

    def _whole(self, before: Snapshot) -> dict[str, Any]:
        last = before.lines[-1]
        end = units_of(last, len(last), self._server.encoding)
        return {
            "start": {"line": 0, "character": 0},
            "end": {"line": len(before.lines) - 1, "character": end},
        }

    def _close(self, path: str) -> None:
        del self._open[path]
        self._turns += 1
        self._server.notify("textDocument/didClose", {"textDocument": {"uri": uri_of(path)}})

    def files_changed(self, changes: Iterable[Change]) -> None:
        """Tell the server what happened to files, open or not, that it cares for."""
        told = [
            {"uri": uri_of(change.path), "type": _KINDS[change.kind]}
            for change in changes
            if self._cares(change.path)
        ]
        if told:
            self.changes += 1
            self._server.notify("workspace/didChangeWatchedFiles", {"changes": told})

    def _cares(self, path: str) -> bool:
        asked = self._server.watches(path)
        if asked is not None:
            return asked
        # It has not said; it is told of files in its own languages.
        return language_of(path, self._own) in self._languages
