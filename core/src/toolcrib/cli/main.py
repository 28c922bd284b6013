"""The command group; each command's module is imported when it is used."""

from __future__ import annotations

import importlib

from typing import Any

import click


__all__ = ["cli", "main"]

# name: (module, attribute, help). Listing them costs no import.
COMMANDS = {
    "packs": ("packs", "packs", "List what is installed, and what would enable it."),
    "tools": ("packs", "tools", "List the tools that policy lets through."),
    "explain": ("explain", "explain", "Explain a tool, a projection or a decision."),
    "call": ("run", "call", "Call one tool through all stages."),
    "run": ("run", "run", "Run a model's tool calls through all stages."),
    "check": ("packs", "check", "Check policy, packs and tools; say what is wrong."),
    "doctor": ("doctor", "doctor", "Look for everything that could be wrong."),
    "new": ("new", "new", "Start a new pack."),
    "manifest": ("manifest", "manifest", "Write or check a pack's manifest."),
    "rules": ("rules", "rules", "Look into permission rules."),
    "ledger": ("ledger", "ledger", "Read receipts."),
    "lock": ("lock", "lock", "Pin the code that was approved."),
}


class Lazy(click.Group):
    """A group that imports a command when it is used, and packs' groups from manifests."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the core's commands, then the packs'."""
        return [*COMMANDS, *(name for name in sorted(_pack_groups()) if name not in COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        if cmd_name in COMMANDS:
            module, attribute, _ = COMMANDS[cmd_name]
            found = getattr(importlib.import_module(f"{__package__}.{module}"), attribute)
            return found if isinstance(found, click.Command) else None
        group = _pack_groups().get(cmd_name)
        return _load(group) if group is not None else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        rows = [(name, text) for name, (_, _, text) in COMMANDS.items()]
        groups = _pack_groups()
        rows += [(n, groups[n].help) for n in sorted(groups) if n not in COMMANDS]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _pack_groups() -> dict[str, Any]:
    """Return the command groups of enabled packs, read from their manifests."""
    from .groups import pack_groups  # noqa: PLC0415 - only when commands are listed

    return pack_groups()


def _load(group: Any) -> click.Command:
    from .groups import load  # noqa: PLC0415 - as above

    return load(group)


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="toolcrib")
def cli() -> None:
    """Give tools to LLM agents: packs from pip, permissions per call, nothing runs twice."""


def main() -> None:
    """Run the command line."""
    cli(prog_name="toolcrib")
