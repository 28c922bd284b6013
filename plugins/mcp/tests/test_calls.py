"""Calls of remote tools: results, refusals, cancellation, time, and lost answers."""

from __future__ import annotations

import asyncio

from pathlib import Path
from typing import Any

import pytest

from mcp_kit import opened, tool, until, yes
from toolcrib import Allow, Effect


pytestmark = pytest.mark.usefixtures("nothing_left")


def test_a_tool_is_listed_and_called(tmp_path: Path, peer: Any) -> None:
    """A server's tool has its name verbatim, and its answer comes back."""

    async def main() -> None:
        one = peer({"tools": [tool("create-Issue")], "calls": {"create-Issue": [{"echo": 1}]}})
        async with opened(tmp_path, {"git": one}) as (box, session):
            assert "mcp.git.create-Issue" in box.catalog
            outcome = await session.call("mcp.git.create-Issue", {}, approver=yes)
            assert (outcome.status, outcome.code) == ("ok", None), outcome.text
            assert outcome.result.content[0].text == "{}"

    asyncio.run(main())
