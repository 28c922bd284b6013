"""What a server can do: as it said at its start, and as it registers later."""

from __future__ import annotations

import os

from collections.abc import Mapping
from typing import Any

from .globbing import matches
from .places import path_of


__all__ = ["FEATURES", "Features"]

# Method → where ``initialize`` answers for it.
FEATURES: dict[str, str] = {
    "textDocument/definition": "definitionProvider",
    "textDocument/references": "referencesProvider",
    "textDocument/implementation": "implementationProvider",
    "textDocument/typeDefinition": "typeDefinitionProvider",
    "textDocument/hover": "hoverProvider",
    "textDocument/documentSymbol": "documentSymbolProvider",
    "workspace/symbol": "workspaceSymbolProvider",
    "textDocument/prepareCallHierarchy": "callHierarchyProvider",
    "textDocument/rename": "renameProvider",
    "textDocument/codeAction": "codeActionProvider",
    "textDocument/formatting": "documentFormattingProvider",
    "textDocument/rangeFormatting": "documentRangeFormattingProvider",
    "textDocument/diagnostic": "diagnosticProvider",
    "workspace/executeCommand": "executeCommandProvider",
}
WATCHED = "workspace/didChangeWatchedFiles"


class Features:
    """The abilities of one running server."""

    def __init__(self, capabilities: Mapping[str, Any]) -> None:
        self._static = capabilities
        # Id of a registration → method and options.
        self._registered: dict[str, tuple[str, Mapping[str, Any]]] = {}
        # What it said it has and then did not know.
        self._denied: set[str] = set()

    def register(self, params: Any) -> None:
        """Take registrations."""
        for each in params["registrations"]:
            options = each.get("registerOptions")
            made = (str(each["method"]), options if isinstance(options, Mapping) else {})
            self._registered[str(each["id"])] = made
            self._denied.discard(made[0])

    def unregister(self, params: Any) -> None:
        """Take registrations back."""
        # The misspelling is the protocol's.
        entries = params.get("unregisterations") or params.get("unregistrations") or ()
        for each in entries:
            self._registered.pop(str(each["id"]), None)

    def deny(self, method: str) -> None:
        """Note that the server does not know a method after all."""
        self._denied.add(method)

    def options(self, method: str, path: str | None, language: str | None) -> Any:
        """Return the options of a method for a file, or None if it is not supported."""
        if method in self._denied:
            return None
        for registered, options in self._registered.values():
            if registered == method and _selected(options, path, language):
                return options
        value = self._static.get(FEATURES.get(method, method))
        if value is None or value is False:
            return None
        return value if isinstance(value, Mapping) else {}

    def supports(
        self, method: str, path: str | None = None, language: str | None = None
    ) -> bool:
        """Tell whether a method may be used for a file."""
        return self.options(method, path, language) is not None

    def watches(self, path: str) -> bool | None:
        """Tell whether changes of a file are to be told; None if nobody has said."""
        asked = None
        for method, options in self._registered.values():
            if method != WATCHED:
                continue
            asked = False
            for watcher in options.get("watchers") or ():
                if _watched(watcher.get("globPattern"), path):
                    return True
        return asked

    def sync(self) -> tuple[int, bool, bool]:
        """Return how it wants changes (0 none, 1 whole, 2 parts), and saves, with text."""
        value = self._static.get("textDocumentSync")
        if isinstance(value, int):
            return value, False, False
        if not isinstance(value, Mapping):
            return self._registered_sync()
        change = value.get("change", 0)
        save = value.get("save", False)
        text = isinstance(save, Mapping) and bool(save.get("includeText"))
        kind = change if isinstance(change, int) else 0
        return kind or self._registered_sync()[0], save is not False and save is not None, text

    def _registered_sync(self) -> tuple[int, bool, bool]:
        for method, options in self._registered.values():
            if method == "textDocument/didChange":
                return int(options.get("syncKind", 1)), False, False
        return 0, False, False

    def commands(self) -> frozenset[str]:
        """Return the commands that it runs."""
        found: set[str] = set()
        static = self._static.get("executeCommandProvider")
        if isinstance(static, Mapping):
            found.update(static.get("commands") or ())
        for method, options in self._registered.values():
            if method == "workspace/executeCommand":
                found.update(options.get("commands") or ())
        return frozenset(found)


def _selected(options: Mapping[str, Any], path: str | None, language: str | None) -> bool:
    selector = options.get("documentSelector")
    if path is None or not isinstance(selector, list):
        return True
    return any(_fits(entry, path, language) for entry in selector)


def _fits(entry: Any, path: str, language: str | None) -> bool:
    if isinstance(entry, str):
        return entry in ("*", language)
    if not isinstance(entry, Mapping):
        return False
    if entry.get("scheme", "file") != "file":
        return False
    if entry.get("language", language) not in ("*", language):
        return False
    pattern = entry.get("pattern")
    return pattern is None or _watched(pattern, path)


def _watched(pattern: Any, path: str) -> bool:
    if isinstance(pattern, str):
        return matches(pattern, path) or matches(pattern, path.lstrip("/"))
    if not isinstance(pattern, Mapping):
        return False
    base = pattern.get("baseUri")
    folder = path_of(base.get("uri") if isinstance(base, Mapping) else base)
    if folder is None or not path.startswith(folder.rstrip("/") + "/"):
        return False
    return matches(str(pattern.get("pattern", "")), os.path.relpath(path, folder))
