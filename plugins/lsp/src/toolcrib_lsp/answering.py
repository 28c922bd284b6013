"""What a server asks of us, answered at once: values, yes, no, or not known."""

from __future__ import annotations

import os

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .places import uri_of


if TYPE_CHECKING:
    from .client import Client


__all__ = ["answer", "section_of"]

_MOST_ITEMS = 1000


def section_of(settings: Mapping[str, Any], section: Any) -> Any:
    """Return a part of the settings by its dotted name, or None."""
    value: Any = settings
    for name in str(section).split(".") if section else ():
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _configuration(client: Client, params: Any) -> Any:
    items = params["items"][:_MOST_ITEMS]
    return [section_of(client.spec.settings, item.get("section")) for item in items]


def _register(client: Client, params: Any) -> Any:
    client.features.register(params)


def _unregister(client: Client, params: Any) -> Any:
    client.features.unregister(params)


def _nothing(client: Client, params: Any) -> Any:
    """Say that it was heard."""


def _folders(client: Client, params: Any) -> Any:
    name = os.path.basename(client.folder) or client.folder
    return [{"uri": uri_of(client.folder), "name": name}]


def _apply_edit(client: Client, params: Any) -> Any:
    """Keep an edit for the call that caused it; never apply one by ourselves.

    What a tool call writes was shown and allowed; a server's own idea was not.
    """
    edit = params["edit"]
    if client.proposed is None:
        reason = "this client applies no edit that nobody asked for"
        client.log.warning("%s proposed an edit that nobody asked for", client.name)
        return {"applied": False, "failureReason": reason}
    client.proposed.append(edit)
    return {"applied": False, "failureReason": "a person looks at it first"}


def _show_document(client: Client, params: Any) -> Any:
    return {"success": False}


_ANSWERS: dict[str, Callable[[Client, Any], Any]] = {
    "client/registerCapability": _register,
    "client/unregisterCapability": _unregister,
    "window/showDocument": _show_document,
    "window/showMessageRequest": _nothing,
    "window/workDoneProgress/create": _nothing,
    "workspace/applyEdit": _apply_edit,
    "workspace/codeLens/refresh": _nothing,
    "workspace/configuration": _configuration,
    "workspace/diagnostic/refresh": _nothing,
    "workspace/foldingRange/refresh": _nothing,
    "workspace/inlayHint/refresh": _nothing,
    "workspace/inlineValue/refresh": _nothing,
    "workspace/semanticTokens/refresh": _nothing,
    "workspace/workspaceFolders": _folders,
}


def answer(client: Client, method: str, params: Any) -> Any:
    """Return the result of a server's question.

    Raises:
        LookupError: the question is not known.
    """
    return _ANSWERS[method](client, params)
