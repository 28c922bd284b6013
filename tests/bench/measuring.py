"""Rows: each gives seconds of ours, and of its floor.

A module ``rows*.py`` adds its own; ``python MODULE ROW`` prints both as JSON. A floor is
what the same work costs without us, measured in turn with ours in the same process.
"""

from __future__ import annotations

import json
import sys
import tempfile

from collections.abc import Callable
from pathlib import Path


Row = Callable[[Path], list[float]]
ROWS: dict[str, Row] = {}


def row(function: Row) -> Row:
    """Add a row under the function's name; it is given an empty folder."""
    ROWS[function.__name__.replace("_", "-")] = function
    return function


def main() -> None:
    """Measure one row."""
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as name:
        print(json.dumps(ROWS[sys.argv[1]](Path(name).resolve())))
