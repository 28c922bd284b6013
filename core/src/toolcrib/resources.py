"""Constructors of resources: each gives a value its canonical form.

Canonical means: two spellings of one thing give one value, so that a rule judges the
thing and not its spelling. A value that has no canonical form raises ``ValueError``,
and the call is then asked as touching *any* resource of that type.
"""

from __future__ import annotations

import os

from pathlib import PurePath

from .signature import Resource as _Resource


__all__ = ["Command", "Custom", "Host", "Path", "Server", "Table", "Url"]


def Path(value: str | PurePath) -> _Resource:  # noqa: N802 - reads as the resource's type
    """Return a file or folder: absolute, links resolved, ``/`` between parts.

    A path that does not exist yet is resolved as far as it exists.
    """
    text = os.fspath(value)
    if "\0" in text:
        message = "a path cannot hold a null character"
        raise ValueError(message)
    return _Resource("path", os.path.realpath(text).replace(os.sep, "/"))
