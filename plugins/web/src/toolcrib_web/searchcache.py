"""Results of earlier searches, by the whole query, on disk."""

from __future__ import annotations

import hashlib
import json
import os

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from .providers.base import Found, Query


__all__ = ["Remembered", "SearchCache"]

_MOST = 500


@attrs.frozen
class Remembered:
    """What a provider found, and when it was asked (seconds since the epoch)."""

    found: list[Found]
    at: float


class SearchCache:
    """What providers found.

    Args:
        folder: Where; files of mode 0600.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(
        self, provider: str, query: Query, *, max_age: float, now: float
    ) -> Remembered | None:
        """Return what was found for exactly this query, if it is not too old."""
        whole = _whole(provider, query)
        try:
            value = json.loads(self._path(whole).read_text())
            # A digest names the file; the query in it decides.
            if value["query"] != whole or not 0 <= now - value["at"] <= max_age:
                return None
            return Remembered([Found(**each) for each in value["found"]], float(value["at"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, provider: str, query: Query, found: list[Found], *, now: float) -> None:
        """Keep what was found; nothing is not kept."""
        if not found:
            return
        whole = _whole(provider, query)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path(whole)
        new = path.with_suffix(f".{os.getpid()}.new")
        value = {"query": whole, "at": now, "found": [attrs.asdict(each) for each in found]}
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(value, file)
        new.replace(path)
        self._shed()

    def _path(self, whole: Mapping[str, Any]) -> Path:
        text = json.dumps(whole, sort_keys=True)
        return self._folder / f"{hashlib.sha256(text.encode()).hexdigest()}.json"

    def _shed(self) -> None:
        """Let the oldest go once there are too many."""
        files = list(self._folder.glob("*.json"))
        if len(files) <= _MOST:
            return
        files.sort(key=lambda path: path.stat().st_mtime)
        for path in files[: len(files) - _MOST * 9 // 10]:
            path.unlink(missing_ok=True)


def _whole(provider: str, query: Query) -> dict[str, Any]:
    """Return everything that the results depend on, as it is written to disk."""
    fields = attrs.asdict(query)
    fields["text"] = " ".join(query.text.split())
    return json.loads(json.dumps({"provider": provider, **fields}))  # type: ignore[no-any-return]
