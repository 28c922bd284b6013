"""The list of tools whose schemas are hidden, for the system prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolcrib import crib, names


if TYPE_CHECKING:
    from toolcrib.tool import Tool


__all__ = ["listing"]

BUDGET = 12_000
_SUMMARY = 120


def listing(tools: Sequence[Tool], budget: int = BUDGET) -> str:
    """List deferred tools: by pack or source, one line each, in the order of code points.

    Args:
        tools: The tools whose schemas are hidden until they are searched for.
        budget: Bytes of UTF-8 at most; what does not fit is counted.
    """
    if not tools:
        return ""
    search = names.wire_name(crib.SEARCH.id)
    lines = [f"Tools that {search} has to load before they can be called:"]
    size = _size(lines[0])
    group, left = "", len(tools)
    for tool in sorted(tools, key=lambda t: (_group(t), t.id)):
        new = [] if _group(tool) == group else [f"{_group(tool)}:"]
        new.append(f"- {names.wire_name(tool.id)}: {_summary(tool)}")
        more = f"… and {left} more; search for them."
        if size + sum(map(_size, new)) + (_size(more) if left > 1 else 0) > budget:
            lines.append(more)
            break
        size += sum(map(_size, new))
        group = _group(tool)
        lines += new
        left -= 1
    return "\n".join(lines)


def _size(line: str) -> int:
    return len(line.encode(errors="replace")) + 1


def _summary(tool: Tool) -> str:
    # One line, whatever a remote wrote: a line break would look like another tool.
    return " ".join(tool.description.summary.split())[:_SUMMARY]


def _group(tool: Tool) -> str:
    """Return the pack, or pack and source, that a tool is listed under."""
    return f"{tool.pack}.{tool.source}" if tool.source else tool.pack
