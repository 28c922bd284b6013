"""Command groups of enabled packs: listed from their manifests, imported when used."""

from __future__ import annotations

import importlib

from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from toolcrib.errors import ToolcribError

from .exits import EXIT
from .output import complain


if TYPE_CHECKING:
    from toolcrib.policy.value import Policy


__all__ = ["PackGroup", "asleep", "load", "pack_groups"]


@attrs.frozen
class PackGroup:
    """A group of a pack: its name, its help, its ``module:attribute``, and whose it is."""

    name: str
    help: str
    target: str
    owner: str


def pack_groups(file: Path | None = None) -> dict[str, PackGroup]:
    """Return the groups of the packs that the user's own policy enables.

    A policy that cannot be read, or any other trouble, leaves them out: the core's
    commands are needed to mend it.

    Args:
        file: A policy that is named on the command line, which enables packs as well.

    Raises:
        PolicyError: the one that is named cannot be read.
    """
    from toolcrib.places import policy_file  # noqa: PLC0415 - only when commands are listed

    if file is None and not policy_file().is_file():
        return {}  # Nothing is enabled; most first runs need no more than this.
    from toolcrib.policy.value import Policy  # noqa: PLC0415 - as above

    named = _groups_of(Policy.load(file)) if file is not None else {}
    try:
        return {**_groups_of(Policy.discover(Path())), **named}
    except (ToolcribError, OSError):
        return named


def _groups_of(policy: Policy) -> dict[str, PackGroup]:
    from toolcrib.registry import Registry  # noqa: PLC0415 - as above

    if not policy.packs:
        return {}
    packs = Registry.discover().compose(policy).packs
    found: dict[str, PackGroup] = {}
    for _, finding in sorted(packs.items()):
        for group in finding.manifest.groups:
            one = PackGroup(group.name, group.help, group.target, str(finding))
            found.setdefault(group.name, one)
    return found


def asleep(name: str) -> str | None:
    """Say which installed pack would bring a group, and the line that enables it."""
    from toolcrib.registry import Registry  # noqa: PLC0415 - as above

    for finding in Registry.discover().findings.packs:
        if any(group.name == name for group in finding.manifest.groups):
            return (
                f"{name!r} is a command of {finding}, which is installed and not enabled; "
                f"run: toolcrib packs enable {finding.distribution}"
            )
    return None


def load(group: PackGroup) -> click.Command:
    """Import the command of a pack, or leave with whose it is and why it cannot be."""
    module, _, attribute = group.target.partition(":")
    try:
        command = importlib.import_module(module)
        for part in attribute.split("."):
            command = getattr(command, part)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - pack code; its failure is the answer
        text = f"{type(error).__name__}: {error}".partition("\n")[0]
        complain(
            f"the command {group.name!r} of {group.owner} cannot be loaded: {text}",
            code=EXIT["not_ok"],
        )
    if not isinstance(command, click.Command):
        text = (
            f"the command {group.name!r} of {group.owner}: {group.target} is no click command"
        )
        complain(text, code=EXIT["not_ok"])
    return command
