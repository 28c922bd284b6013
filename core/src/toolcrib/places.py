"""Where toolcrib keeps a user's configuration and state on this platform."""

from __future__ import annotations

import os
import sys

from pathlib import Path

from .errors import PolicyError


__all__ = [
    "LOCK_FILE",
    "POLICY_FILE",
    "config_folder",
    "expanded",
    "home_folder",
    "policy_file",
    "state_folder",
]

POLICY_FILE = "toolcrib.toml"
LOCK_FILE = "toolcrib.lock"


def home_folder() -> Path:
    """Return the user's home folder.

    Raises:
        PolicyError: nothing says where it is, as in a container whose user has no entry
            in the user database.
    """
    return expanded(Path("~"))


def expanded(path: Path) -> Path:
    """Return a path with ``~`` or ``~user`` at its start filled in, if there is one.

    Raises:
        PolicyError: nothing says where that home folder is.
    """
    try:
        return path.expanduser()
    except RuntimeError as error:
        text = "nothing says where this home folder is: "
        text += "set HOME, or XDG_CONFIG_HOME and XDG_STATE_HOME, and write paths without '~'"
        raise PolicyError(text, file=path) from error


def config_folder() -> Path:
    """Return the folder of the user's configuration; it may not exist yet."""
    if sys.platform == "win32":
        return _from("APPDATA", "AppData", "Roaming") / "toolcrib"
    if sys.platform == "darwin":
        return home_folder() / "Library" / "Application Support" / "toolcrib"
    return _from("XDG_CONFIG_HOME", ".config") / "toolcrib"


def state_folder() -> Path:
    """Return the folder of what toolcrib remembers for the user; it may not exist yet."""
    if sys.platform == "win32":
        return _from("LOCALAPPDATA", "AppData", "Local") / "toolcrib"
    if sys.platform == "darwin":
        return home_folder() / "Library" / "Application Support" / "toolcrib" / "state"
    return _from("XDG_STATE_HOME", ".local", "state") / "toolcrib"


def policy_file() -> Path:
    """Return the path of the user's policy file, whether or not it exists."""
    return config_folder() / POLICY_FILE


def _from(variable: str, *default: str) -> Path:
    # A relative value is to be ignored (XDG base directory specification), and it would
    # let the folder that one happens to be in carry authority.
    value = Path(os.environ.get(variable, ""))
    return value if value.is_absolute() else home_folder().joinpath(*default)
