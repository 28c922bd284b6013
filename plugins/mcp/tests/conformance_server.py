"""Serves the conformance pack over HTTP on the port given, as ``toolcrib serve`` does."""

from __future__ import annotations

import asyncio
import sys
import tempfile

from pathlib import Path

from conformance_pack import offers, pack
from toolcrib import Policy

from toolcrib_mcp.serving import run


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    options = {
        "address": sys.argv[1],
        "everybody": True,
        "own_names": True,
        "poll_after": 0.15,
        "task_after": 0.1,
        "offers": [offers],
    }
    asyncio.run(run(Policy(local=[pack], workspace=folder, state=folder / ".state"), **options))
