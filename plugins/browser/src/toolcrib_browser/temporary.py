"""A short path to the folder for temporary files, which the browser's socket stands below."""

from __future__ import annotations

import contextlib
import os
import tempfile

from collections.abc import Iterator, Mapping
from pathlib import Path

from toolcrib import Unavailable


__all__ = ["shortened"]

#: Bytes of TMPDIR up to which Chromium can listen below it. A socket's path has at most 103
#: (macOS) or 107 (Linux), of which ``/.org.chromium.Chromium.XXXXXX/SingletonSocket`` takes
#: 46; the rest is for browsers with longer names. Beyond it Chromium ends at its start.
_LONGEST = 50
_PLACES = ("/tmp", "/var/tmp")  # noqa: S108 - what is made there is private to the user
_PREFIX = "toolcrib-"


@contextlib.contextmanager
def shortened(variables: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Give a browser's variables with a TMPDIR that is short enough while the context lasts.

    A long TMPDIR is reached by a link in a private folder, so that what the browser stores
    (its shared memory, too) stays on the disk that was chosen for it. Only the link and its
    folder are removed at the end.

    Args:
        variables: What the browser gets of the environment.

    Raises:
        Unavailable: TMPDIR is too long, and there is no place for a link
            (``browser.not_started``).
    """
    wanted = variables.get("TMPDIR", "")
    if len(os.fsencode(wanted)) <= _LONGEST:
        yield dict(variables)
        return
    with _private(wanted, variables) as folder:
        link = Path(folder, "t")
        link.symlink_to(Path(wanted).absolute())
        yield {**variables, "TMPDIR": str(link)}


def _private(wanted: str, variables: Mapping[str, str]) -> tempfile.TemporaryDirectory[str]:
    """Make a folder with a short path, which nobody else may enter."""
    runtime = variables.get("XDG_RUNTIME_DIR", "")
    places = [place for place in (runtime, *_PLACES) if _fits(place)]
    for place in places:
        with contextlib.suppress(OSError):
            return tempfile.TemporaryDirectory(
                prefix=_PREFIX, dir=place, ignore_cleanup_errors=True
            )
    text = (
        f"The browser cannot start: the path of TMPDIR, {wanted}, has "
        f"{len(os.fsencode(wanted))} bytes, too many for the socket that the browser makes "
        f"below it, and no folder could be made in {' or '.join(places)} to shorten it. The "
        f"user can set TMPDIR to a folder whose path has at most {_LONGEST} bytes, or make "
        "one of these writable."
    )
    raise Unavailable(text, code="browser.not_started")


def _fits(place: str) -> bool:
    # The folder's own name has eight random characters; "/t" is the link.
    longest = _LONGEST - len(f"/{_PREFIX}12345678/t")
    return place.startswith("/") and len(os.fsencode(place)) <= longest
