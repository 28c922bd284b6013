"""The small environment that a child gets: what programs need, and no secrets."""

from __future__ import annotations

import os

from collections.abc import Mapping


__all__ = ["BASE", "QUIET", "environment"]

BASE = (
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_RUNTIME_DIR",
)
"""Names taken from the host, with ``LC_*``; none of them is where secrets live."""

QUIET: Mapping[str, str] = {
    # Nobody is there to answer: editors end at once, pagers print, prompts fail.
    "DEBIAN_FRONTEND": "noninteractive",
    "EDITOR": ":",
    "GIT_ASKPASS": "",
    "GIT_EDITOR": ":",
    "GIT_PAGER": "cat",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
    "GIT_TERMINAL_PROMPT": "0",
    "MANPAGER": "cat",
    "PAGER": "cat",
    "PIP_NO_INPUT": "1",
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "SYSTEMD_PAGER": "",
    "TERM": "dumb",
    "VISUAL": ":",
}
"""What keeps programs from waiting for a person."""


def environment(
    extra: Mapping[str, str] | None = None, *, host: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return a child's whole environment: the base, what keeps it quiet, and ``extra``.

    Args:
        extra: What this child is meant to get besides; it wins.
        host: Where the base comes from; None: this process.
    """
    host = os.environ if host is None else host
    base = {name: host[name] for name in BASE if name in host}
    base |= {name: value for name, value in host.items() if name.startswith("LC_")}
    return {**base, **QUIET, **(extra or {})}
