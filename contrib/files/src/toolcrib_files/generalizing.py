"""The rule that "always" would store: the folder of a file, and no more."""

from __future__ import annotations

import re

from pathlib import Path


__all__ = ["rule_for"]

# What means nothing in the language of rules. Anything else: the exact call is offered.
_PLAIN = re.compile(r"[\w./@+=-]+(?: [\w./@+=-]+)*")


def rule_for(tool: str, *paths: Path, folder: bool = False) -> str | None:
    """Return a rule for the folders of all paths, or None for the exact call.

    Args:
        tool: Id of the tool.
        paths: As the call names them.
        folder: Whether they name folders themselves.
    """
    patterns: dict[str, None] = {}  # in order, each once
    for path in paths:
        at = path if folder else path.parent
        if ".." in at.parts or (at.parts and not _PLAIN.fullmatch(str(at))):
            return None
        # A folder's own path is not below it, so a searched folder needs both patterns.
        if at == Path():
            patterns["**" if folder else "*"] = None
        else:
            if folder:
                patterns[str(at)] = None
            patterns[f"{at}/**"] = None
    if not patterns:
        return None
    return f"allow {tool}({', '.join(f'path={pattern}' for pattern in patterns)})"
