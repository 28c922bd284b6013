"""Files that are uploaded: the ones that were judged, read before the browser has them."""

from __future__ import annotations

import asyncio
import mimetypes
import os
import stat

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib import Context, Failed, NotFound, Refused


if TYPE_CHECKING:
    from playwright.async_api import FilePayload


__all__ = ["files_of"]

_LARGEST = 32 << 20


async def files_of(ctx: Context, paths: Sequence[str]) -> list[FilePayload]:
    """Return the files of an upload.

    Raises:
        Refused: one leads elsewhere than was judged (``browser.path_changed``).
        NotFound: there is no such file (``browser.no_file``).
        Failed: it is no file, or too large.
    """
    judged = None
    if ctx.signature is not None:
        judged = {r.value for r in ctx.signature.resources if r.type == "path"}
    root = ctx.workspace.root
    return await asyncio.to_thread(lambda: [_file(root, path, judged) for path in paths])


def _file(root: Path, path: str, judged: set[str] | None) -> FilePayload:
    real = Path(os.path.realpath(root / path))
    if judged is not None and str(real) not in judged:
        text = f"{path} leads to another file than was judged. Nothing was uploaded."
        raise Refused(text, code="browser.path_changed")
    try:
        # Whoever puts a link in its place meanwhile must not be followed.
        number = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        text = f"{path} cannot be read: {error.strerror}. Nothing was uploaded."
        raise NotFound(text, code="browser.no_file") from error
    with os.fdopen(number, "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            text = f"{path} is no ordinary file. Nothing was uploaded."
            raise Failed(text, code="browser.no_file")
        if facts.st_size > _LARGEST:
            text = f"{path} has {facts.st_size:,} bytes; at most {_LARGEST:,} are uploaded."
            raise Failed(text, code="browser.file_too_large")
        data = file.read(_LARGEST + 1)
    kind = mimetypes.guess_type(real.name)[0] or "application/octet-stream"
    return {"name": real.name, "mimeType": kind, "buffer": data}
