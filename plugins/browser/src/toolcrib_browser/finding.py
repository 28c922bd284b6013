"""Where the browser is that is installed on this machine."""

from __future__ import annotations

import os
import shutil
import sys

from collections.abc import Mapping
from pathlib import Path

from toolcrib import Unavailable


__all__ = ["environment", "executable", "install_command"]

_NAMES = ("chromium", "google-chrome-stable", "google-chrome", "chromium-browser", "chrome")
_MAC = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
# What a browser needs; none of these is where secrets live.
_BASE = (
    *("HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TMPDIR"),
    *("USER", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"),
    *("DBUS_SESSION_BUS_ADDRESS", "FONTCONFIG_PATH", "FONTCONFIG_FILE"),
)
_LONGEST = 32 * 1024


def executable(wanted: Path | None, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the browser's program.

    Raises:
        Unavailable: there is none (``browser.not_installed``); the text says how to get one.
    """
    if wanted is not None:
        if os.access(wanted, os.X_OK) and wanted.is_file():
            return wanted
        text = (
            f"There is no program {wanted}, which executable in [pack.browser] names. The "
            f"user can mend that, or remove it and install one: {install_command()}"
        )
        raise Unavailable(text, code="browser.not_installed")
    for name in _NAMES:
        found = shutil.which(name, path=environ.get("PATH", os.defpath))
        if found is not None:
            return Path(found)
    if sys.platform == "darwin":
        for place in _MAC:
            if os.access(place, os.X_OK):
                return Path(place)
    text = (
        "No Chromium or Chrome is installed on this machine. The user can install one: "
        f"{install_command()}"
    )
    raise Unavailable(text, code="browser.not_installed")


def install_command() -> str:
    """Return the command that installs a browser here."""
    if sys.platform == "darwin":
        return "brew install --cask chromium"
    if shutil.which("apt-get"):
        return "sudo apt-get install --no-install-recommends chromium"
    if shutil.which("dnf"):
        return "sudo dnf install chromium"
    if shutil.which("pacman"):
        return "sudo pacman -S chromium"
    if shutil.which("apk"):
        return "sudo apk add chromium"
    return "install Chromium or Chrome with the system's own package manager"


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return exactly the variables that the browser gets."""
    return {
        name: environ[name]
        for name in _BASE
        if name in environ and len(environ[name]) <= _LONGEST
    }
