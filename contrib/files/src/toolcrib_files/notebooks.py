"""Notebooks: text edits that would break one are refused before they are written."""

from __future__ import annotations

import json

from .faults import Fault
from .places import Place


__all__ = ["require_sound"]


def _is_notebook(text: str) -> bool:
    try:
        value = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and isinstance(value.get("cells"), list)


def require_sound(place: Place, before: str | None, after: str, *, pointer: str = "") -> None:
    """Refuse to turn a notebook that can be opened into one that cannot."""
    if not place.name.casefold().endswith(".ipynb") or _is_notebook(after):
        return
    if before is not None and not _is_notebook(before):
        return  # it is broken already; a step of mending need not mend all
    text = (
        f"After this change {place.shown} would be no notebook: it must stay a JSON object"
        " with a list 'cells', in which quotes and line ends of a cell's source are escaped."
        " Nothing was changed. Correct the text and call again."
    )
    raise Fault(text, kind="invalid", code="files.notebook_broken", pointer=pointer)
