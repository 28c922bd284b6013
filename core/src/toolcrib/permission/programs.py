"""Programs whose words are programs: to allow one is to allow anything."""

from __future__ import annotations

from toolcrib.resources import commands
from toolcrib.rules import Pattern


__all__ = ["runs_others"]

_INTERPRETERS = frozenset({
    "ash", "awk", "bash", "bun", "bunx", "cmd", "csh", "dash", "deno", "eval", "fish",
    "gawk", "groovy", "irb", "java", "julia", "ksh", "lua", "make", "mawk", "nawk", "node",
    "npm", "npx", "nu", "osascript", "perl", "php", "pip", "pipx", "pnpm", "pnpx",
    "powershell", "pwsh", "python", "python2", "python3", "r", "rscript", "ruby", "sh",
    "source", "ssh", "tclsh", "tsx", "uv", "uvx", "yarn", "zsh",
})  # fmt: skip
_WITH_WORDS = frozenset({
    "busybox", "chroot", "command", "doas", "env", "exec", "find", "flock", "git", "ionice",
    "nice", "nohup", "parallel", "sed", "setsid", "stdbuf", "sudo", "tar", "time",
    "timeout", "toybox", "vi", "vim", "watch", "xargs",
})  # fmt: skip


def runs_others(pattern: Pattern) -> bool:
    """Tell whether a command pattern leaves it open which program is run.

    ``python *``, ``git *`` and ``xargs *`` do; ``git status *`` and ``python x.py`` do not.
    """
    tokens = [t for t in pattern.tokens if not (isinstance(t, str) and "=" in t)]
    if not tokens or not isinstance(tokens[0], str):
        return True
    if all(isinstance(token, str) for token in tokens):
        return False
    name = commands.program([tokens[0]])
    open_after = next(i for i, token in enumerate(tokens) if not isinstance(token, str))
    if name in _INTERPRETERS or name in commands.wrappers():
        # Words before the open one may already name the script.
        return open_after == 1 or any(
            isinstance(token, str) and token.startswith("-") for token in tokens[1:open_after]
        )
    return name in _WITH_WORDS and open_after == 1
