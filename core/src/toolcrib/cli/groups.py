"""Command groups of enabled packs: listed from their manifests, imported when used."""

from __future__ import annotations

import importlib

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import ToolcribError
from .output import EXIT, complain


if TYPE_CHECKING:
    from ..manifest import CommandGroup


__all__ = ["load", "pack_groups"]


def pack_groups() -> dict[str, CommandGroup]:
    """Return the groups of the packs that the user's own policy enables.

    A policy that cannot be read, or any other trouble, leaves them out: the core's
    commands are needed to mend it.
    """
    from ..policy import Policy  # noqa: PLC0415 - only when commands are listed
    from ..registry import Registry  # noqa: PLC0415 - as above

    try:
        policy = Policy.discover(Path())
        if not policy.packs:
            return {}
        packs = Registry.discover(develop=policy.develop).compose(policy).packs
    except (ToolcribError, OSError):
        return {}
    found: dict[str, CommandGroup] = {}
    for _, finding in sorted(packs.items()):
        for group in finding.manifest.groups:
            found.setdefault(group.name, group)
    return found


def load(group: CommandGroup) -> click.Command:
    """Import the command of a pack."""
    module, _, attribute = group.target.partition(":")
    try:
        command = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # noqa: BLE001 - pack code; its failure is the answer
        text = f"{group.target}: {type(error).__name__}: {error}"
        complain(f"the command {group.name!r} cannot be loaded: {text}", code=EXIT["not_ok"])
    if not isinstance(command, click.Command):
        text = f"{group.target} is no click command"
        complain(text, code=EXIT["not_ok"])
    return command
