"""Options that several commands share, and what they stand for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from toolcrib import names

from .exits import EXIT
from .output import complain, note, said_once


if TYPE_CHECKING:
    from toolcrib.catalog.stage import Catalog
    from toolcrib.policy.value import Policy
    from toolcrib.record import Ledger


__all__ = [
    "catalog_of",
    "conversation_option",
    "ledger_of",
    "load_policy",
    "login",
    "mode_option",
    "open_ledger",
    "policy_options",
]

F = TypeVar("F", bound=Callable[..., Any])
MODES = ("plan", "ask", "edits", "trust")


def policy_options(command: F) -> F:
    """Add the options that choose a policy."""
    for option in (
        click.option(
            "--develop",
            is_flag=True,
            help="Also compose editable packs that have no manifest yet.",
        ),
        click.option(
            "--workspace",
            type=click.Path(path_type=Path, file_okay=False, exists=True),
            default=Path(),
            show_default="the current folder",
            help="The folder that the tools work in.",
        ),
        click.option(
            "--policy",
            "policy_file",
            type=click.Path(path_type=Path, dir_okay=False),
            help="A policy file that carries full authority, instead of your own.",
        ),
    ):
        command = option(command)
    return command


def conversation_option(meaning: str) -> Callable[[F], F]:
    """Add ``--conversation``; a name that no ledger could hold is wrong use."""
    return click.option("--conversation", callback=_checked, help=meaning)


def _checked(_context: click.Context, _option: click.Parameter, name: str | None) -> str | None:
    if name is not None:
        try:
            names.check_text("a conversation's name", name)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error
    return name


def mode_option(command: F) -> F:
    """Add ``--mode``."""
    choice = click.Choice(MODES)
    return click.option("--mode", type=choice, help="Instead of the mode of the policy.")(
        command
    )


def load_policy(*, policy_file: Path | None, workspace: Path, develop: bool) -> Policy:
    """Load the policy that the options name, or leave with every problem of it.

    Without a ledger in the policy, receipts go to the user's state folder.
    """
    import attrs  # noqa: PLC0415 - --help must not pay for it

    from toolcrib.errors import PolicyError  # noqa: PLC0415 - as above
    from toolcrib.places import state_folder  # noqa: PLC0415 - as above
    from toolcrib.policy.value import Policy  # noqa: PLC0415 - as above

    try:
        if policy_file is not None:
            policy = Policy.load(policy_file, workspace=workspace.absolute())
        else:
            policy = Policy.discover(workspace)
    except PolicyError as error:
        for text in getattr(error, "__notes__", ()):
            note(f"toolcrib: {text}", colour="red")
        complain(str(error), code=EXIT["policy"])
    except OSError as error:
        complain(f"{policy_file or error.filename}: {error.strerror}", code=EXIT["policy"])
    said_once()
    for notice in policy.notices:
        note(f"toolcrib: {notice}", colour="yellow")
    ledger = policy.ledger or (policy.state or state_folder()) / "ledger.sqlite"
    return attrs.evolve(policy, ledger=ledger, develop=policy.develop or develop)


def open_ledger(**options: Any) -> Ledger:
    """Open the ledger of the policy that the options name, or leave; it is never made."""
    return ledger_of(load_policy(**options))


def ledger_of(policy: Policy) -> Ledger:
    """Open the ledger of a policy, or leave; it is never made."""
    from toolcrib.errors import RecordError  # noqa: PLC0415 - as above
    from toolcrib.record import Ledger  # noqa: PLC0415 - as above

    path = policy.ledger
    if path is None or not Path(path).is_file():
        complain(f"there is no ledger yet at {path}", code=EXIT["ledger"])
    try:
        return Ledger.open(path)
    except RecordError as error:
        complain(str(error), code=EXIT["ledger"])


def catalog_of(policy: Policy) -> Catalog:
    """Compose the catalog of a policy; no pack code is imported."""
    from toolcrib.registry import Registry  # noqa: PLC0415 - as above

    return Registry.discover(develop=policy.develop).compose(policy)


def login() -> str:
    """Return the user's login name: on whose behalf calls run by default."""
    import getpass  # noqa: PLC0415 - as above

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "user"
