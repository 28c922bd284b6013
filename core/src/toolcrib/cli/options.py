"""Options that several commands share, and what they stand for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import PolicyError
from .output import EXIT, complain, console


if TYPE_CHECKING:
    from ..policy import Policy


__all__ = ["load_policy", "policy_options"]

F = TypeVar("F", bound=Callable[..., Any])


def policy_options(command: F) -> F:
    """Add the options that choose a policy."""
    for option in (
        click.option(
            "--policy",
            "policy_file",
            type=click.Path(path_type=Path, dir_okay=False),
            help="A policy file that carries full authority, instead of your own.",
        ),
        click.option(
            "--workspace",
            type=click.Path(path_type=Path, file_okay=False, exists=True),
            default=Path(),
            show_default="the current folder",
            help="The folder that the tools work in.",
        ),
        click.option(
            "--develop",
            is_flag=True,
            help="Also compose editable packs that have no manifest yet.",
        ),
    ):
        command = option(command)
    return command


def load_policy(
    *, policy_file: Path | None, workspace: Path, develop: bool
) -> Policy:
    """Load the policy that the options name, or leave with the reason."""
    import attrs  # noqa: PLC0415 - --help must not pay for it

    from ..policy import Policy  # noqa: PLC0415 - as above

    try:
        if policy_file is not None:
            policy = Policy.load(policy_file, workspace=workspace)
        else:
            policy = Policy.discover(workspace)
    except PolicyError as error:
        complain(str(error), code=EXIT["policy"])
    for notice in policy.notices:
        console(stderr=True).print(f"toolcrib: {notice}", markup=False)
    return attrs.evolve(policy, develop=True) if develop else policy
