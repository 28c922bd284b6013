"""What a shell is given: its program, its environment, its limits."""

from __future__ import annotations

import os
import shutil

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib import Unavailable
from toolcrib_runners import environment

from .judging import Folder


if TYPE_CHECKING:
    from toolcrib import PackHost


__all__ = ["Setting", "setting_of"]

_NEVER = frozenset({"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "IFS"})


@attrs.frozen
class Setting:
    """The pack's table of the policy file, ``[pack.shell]``.

    Attributes:
        pass_env: Names of variables that commands get beside the small base environment.
        handoff: Seconds after which a command that still runs goes on in the background;
            0: never.
        output: Bytes kept of each stream of a call.
    """

    pass_env: tuple[str, ...] = ()
    handoff: float = 15.0
    output: int = 64 * 1024

    def environment(self) -> dict[str, str]:
        """Return all variables of a command; programs are looked for in absolute folders."""
        passed = {
            n: os.environ[n] for n in self.pass_env if n in os.environ and n not in _NEVER
        }
        env = environment(passed)
        path = [p for p in env.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(p)]
        env["PATH"] = os.pathsep.join(path)
        return env

    def folder(self, root: str | None) -> Folder:
        """Return where lines run, for judging them."""
        env = self.environment()
        return Folder(
            root=root, home=env.get("HOME"), exported=frozenset(env), path=env["PATH"]
        )

    def argv(self, command: str) -> list[str]:
        """Return the program that runs a command line.

        Raises:
            Unavailable: there is no bash.
        """
        shell = shutil.which("bash", path=self.environment()["PATH"])
        if shell is None:
            text = "there is no bash on PATH; install it"
            raise Unavailable(text, code="shell.missing")
        return [shell, "--noprofile", "--norc", "-c", command]


def setting_of(settings: Mapping[str, Any]) -> Setting:
    """Read the pack's settings; what is wrong in them is named."""
    problems = []
    names = settings.get("pass_env", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        problems.append("pass_env is a list of names")
        names = []
    handoff = settings.get("handoff", 15.0)
    if isinstance(handoff, bool) or not isinstance(handoff, int | float) or handoff < 0:
        problems.append("handoff is a number of seconds")
        handoff = 15.0
    output = settings.get("output", 64 * 1024)
    if isinstance(output, bool) or not isinstance(output, int) or not 1024 <= output <= 1 << 24:
        problems.append("output is a number of bytes from 1024 to 16777216")
        output = 64 * 1024
    problems += [
        f"{name} is no setting"
        for name in sorted(set(settings) - {"pass_env", "handoff", "output"})
    ]
    if problems:
        text = "[pack.shell] of the policy: " + "; ".join(problems)
        raise Unavailable(text, code="shell.setting")
    return Setting(tuple(names), float(handoff), output)


def root_of(host: PackHost | None) -> str | None:
    """Return the workspace's folder."""
    return None if host is None else str(host.workspace.root)
