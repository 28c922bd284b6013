"""``toolcrib mcp``."""

from __future__ import annotations

import click


__all__ = ["mcp"]


@click.group()
def mcp() -> None:
    """Servers of the Model Context Protocol."""
