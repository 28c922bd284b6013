"""Which description belongs to which program."""

from __future__ import annotations

from collections.abc import Sequence

from toolcrib.resources import commands

from toolcrib_shell.words import Word

from .base import Args, Look, Program
from .builtins import BUILTINS, HARMLESS
from .files import FILES
from .git import git
from .running import RUNNING
from .scripts import SCRIPTS


__all__ = ["look_into"]

_PROGRAMS: dict[str, Program] = {
    **FILES, **BUILTINS, **RUNNING, **SCRIPTS, "git": git,
}  # fmt: skip


def look_into(words: Sequence[Word], at: Look) -> None:
    """Tell what a command does beside running its program."""
    # Letter case counts here, as it does for the system; folders do not.
    name = words[0].text.rpartition("/")[2]
    program = _PROGRAMS.get(name) or _PROGRAMS.get(commands.program([name]))
    args = Args(name, tuple(words[1:]))
    if program is not None:
        program(args, at)
    elif name.rstrip("0123456789.") in {"python", "pypy", "perl", "ruby", "lua", "php", "node"}:
        _PROGRAMS[name.rstrip("0123456789.")](args, at)
    if name not in HARMLESS and program not in FILES.values():
        _count_words(name, args, at)


def _count_words(name: str, args: Args, at: Look) -> None:
    if any(word.many and not (word.glob and word.lead) for word in args):
        at.doubt(
            f"{name}: a word may become several, or an option; put variables between double"
            " quotes and ./ before patterns"
        )
