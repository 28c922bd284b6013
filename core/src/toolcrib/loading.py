"""Import a pack's code in a way that harms nobody else: the only place that does.

Whatever the code raises, ``SystemExit`` included, is a refusal of that pack, and the
modules that it had begun to load are taken out again. What cannot be survived inside a
process (``os._exit``, a crash of the interpreter) is why nothing else imports a pack.
"""

from __future__ import annotations

import importlib
import os
import sys

from types import ModuleType
from typing import TYPE_CHECKING, Any

from toolcrib.codes import refuse
from toolcrib.outcome import Refusal


if TYPE_CHECKING:
    from toolcrib.discovery.installed import Claim
    from toolcrib.discovery.searchpath import Location
    from toolcrib.manifest.document import PackManifest


__all__ = ["describe", "forget", "load", "say", "unloadable"]


def load(entry_point: str, *, folder: str | None, subject: str, name: str) -> Any | Refusal:
    """Import what an entry point names.

    Args:
        entry_point: ``module:attribute``.
        folder: Where its top-level package must come from; None does not care.
        subject: The pack's id, for the refusal.
        name: The pack in words, for the refusal.

    Returns:
        The object, or a refusal ``pack.unloadable``.
    """
    module_name, _, attribute = (part.strip() for part in entry_point.partition(":"))
    package = module_name.partition(".")[0]
    before = {key for key in sys.modules if _of(package, key)}
    try:
        importlib.invalidate_caches()
        top = importlib.import_module(package)
        stranger = _stranger(top, folder)
        if stranger:
            forget(package, keep=before)
            return unloadable(subject, name, stranger)
        loaded: Any = importlib.import_module(module_name)
        for part in attribute.split(".") if attribute else ():
            loaded = getattr(loaded, part)
    except KeyboardInterrupt:
        forget(package, keep=before)
        raise
    except BaseException as error:  # noqa: BLE001 - a pack may raise anything at all
        forget(package, keep=before)
        return unloadable(subject, name, say(error))
    return loaded


def forget(package: str, *, keep: set[str] | frozenset[str] = frozenset()) -> None:
    """Take a package's modules out of ``sys.modules``, but for some."""
    for key in [key for key in sys.modules if _of(package, key) and key not in keep]:
        sys.modules.pop(key, None)


def say(error: BaseException) -> str:
    """Return an exception in words, whatever its own methods do."""
    try:
        text = str(error)
    except BaseException as worse:
        if isinstance(worse, KeyboardInterrupt):
            raise
        text = ""
    text = " ".join(text.split())[:500]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def describe(claim: Claim, location: Location) -> PackManifest | Refusal:
    """Import an editable pack and ask it for what its manifest would say."""
    from toolcrib import authoring  # noqa: PLC0415 - under develop only

    plugin = load(
        claim.entry_point,
        folder=location.folder,
        subject=claim.pack_id,
        name=str(claim),
    )
    if isinstance(plugin, Refusal):
        return plugin
    package = claim.entry_point.partition(":")[0].partition(".")[0]
    try:
        described = authoring.describe(plugin, pack=claim.pack_id)
    except Exception as error:  # noqa: BLE001 - the pack's own code declares its tools
        forget(package)
        return unloadable(claim.pack_id, str(claim), say(error))
    if described.pack != claim.pack_id:
        why = f"its code says that it is pack {described.pack!r}"
        return unloadable(claim.pack_id, str(claim), why)
    return described


def _of(package: str, module: str) -> bool:
    return module == package or module.startswith(package + ".")


def _stranger(top: ModuleType, folder: str | None) -> str | None:
    """Say why a loaded package is not the one whose manifest was checked."""
    if folder is None:
        return None
    origin = getattr(top, "__file__", None)
    if not isinstance(origin, str):
        return f"{top.__name__} was loaded from nowhere"
    real = os.path.realpath(origin)
    if real.startswith(os.path.realpath(os.path.join(folder, top.__name__)) + os.sep):  # noqa: PTH118
        return None
    return f"import {top.__name__} gave {real}, which is not in {folder}"


def unloadable(subject: str, name: str, why: str) -> Refusal:
    """Refuse a pack whose code is of no use; ``why`` is a sentence without its end."""
    text = (
        f"{name} could not be loaded: {why.rstrip('.')}. Its tools are withheld, nothing "
        "else is; mend or upgrade it, or take it out of packs in policy"
    )
    return refuse("pack.unloadable", subject, text)
