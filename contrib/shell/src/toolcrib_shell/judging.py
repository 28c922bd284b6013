"""From the text of a line to what it touches."""

from __future__ import annotations

import os
import shutil

from collections.abc import Callable, Sequence

import attrs

from .grammar import read
from .line import Line, Redirect, Simple
from .programs import look_into
from .touched import Touched
from .words import Word


__all__ = ["Folder", "touched_by"]

_DEEPEST = 8
_MOST = 400
_MOST_FOLDERS = 4
# Variables that change what the shell itself does, or what every program loads.
_POWERFUL = frozenset({
    "BASH_ENV", "BASHOPTS", "CDPATH", "ENV", "GLOBIGNORE", "IFS", "PATH", "POSIXLY_CORRECT",
    "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4", "SHELLOPTS", "EXECIGNORE", "HOME", "PWD",
    "OLDPWD", "SHELL", "TMPDIR", "BASH_CMDS", "BASH_ALIASES", "BASH_LOADABLES_PATH",
})  # fmt: skip
_SYNTAX = frozenset({"{", "}", "(", ")", "[[", "!", "if", "while", "until", "for", "case",
                     "select", "function", "coproc", "time"})  # fmt: skip


@attrs.frozen
class Folder:
    """Where lines run.

    Attributes:
        root: The workspace; None: not known.
        home: The home folder that the shell knows.
        exported: Names of variables that programs inherit.
        path: Where programs are looked for.
    """

    root: str | None = None
    home: str | None = None
    exported: frozenset[str] = frozenset()
    path: str | None = None


def touched_by(text: str, *, cwd: str = ".", folder: Folder | None = None) -> Touched:
    """Return what a line touches when it runs in a folder (relative to the workspace)."""
    folder = folder if folder is not None else Folder()
    line = read(text)
    judge = _Judge(folder, Touched(_folders(line, cwd), folder.home))
    judge.whole(line)
    return judge.touched


def _folders(line: Line, cwd: str) -> tuple[str, ...] | None:
    """Return every folder that the line may be in at some time."""
    found = {cwd}
    for simple in line.commands:
        name = simple.words[0].text.rpartition("/")[2] if simple.words[0].known else ""
        if (
            name in {"pushd", "popd", "eval", "env", "command", "builtin"}
            and len(simple.words) > 1
        ):
            if name != "popd" and not any("cd" in w.text for w in simple.words[1:]):
                continue
            return None
        if name != "cd":
            continue
        targets = [w for w in simple.words[1:] if not w.text.startswith("-")]
        if len(targets) != 1 or targets[0].path(None) is None:
            return None
        target = targets[0].text
        for known in list(found):
            raw = target if target.startswith("/") else f"{known}/{target}"
            found |= {raw, os.path.normpath(raw)}
        if len(found) > _MOST_FOLDERS * 2:
            return None
    return tuple(sorted(found))


_ANY = Word('$"…"', known=False)


class _Judge:
    """Looks into commands, and into commands inside of commands."""

    def __init__(self, folder: Folder, touched: Touched) -> None:
        self.touched = touched
        self._folder = folder
        self._depth = 0
        self._count = 0
        self._line_env: dict[str, Word] = {}
        self._env: tuple[tuple[str, Word], ...] = ()
        self._values: dict[str, Word] = {}

    def whole(self, line: Line) -> None:
        """Look into all of a line."""
        for doubt in line.unclear:
            self.doubt(doubt)
        for name, value in line.assigned:
            self._set(name, value)
        for simple in line.commands:
            if self._depth == 0 or simple.words:
                self._simple(simple)
        for redirect in line.redirects:
            self._redirect(redirect)

    def _redirect(self, redirect: Redirect) -> None:
        target = redirect.target
        if target.lead.startswith(("/dev/tcp/", "/dev/udp/")):
            self.doubt("a redirection opens a connection")
        if redirect.writes:
            self.touched.write(target)
        if redirect.reads:
            self.touched.read(target)

    def _set(self, name: str, value: Word | None) -> None:
        """Note a variable that the line sets for what follows."""
        if name in _POWERFUL or name.startswith(("BASH_", "LD_", "DYLD_")):
            self.doubt(f"the variable {name} changes what programs are, or do")
        elif name in self._folder.exported or name.startswith("LC_"):
            self._line_env[name] = value or self._values.get(name) or _ANY
        if value is not None:
            # Where it is set twice, nobody can tell which value counts.
            self._values[name] = _ANY if name in self._values else value

    # -- what descriptions of programs call (programs.Look) --------------------------------

    def doubt(self, text: str) -> None:
        """The line may do anything."""
        self.touched.doubt(text)

    def names(self, name: str, *, exported: bool = False) -> None:
        """A command sets, or exports, a variable for what follows."""
        self._set(name, None)
        if exported:
            self._line_env[name] = self._values.get(name) or _ANY

    def command(self, words: Sequence[Word], env: Sequence[tuple[str, Word]] = ()) -> None:
        """A command runs another one."""
        if words and words[0].known and words[0].text in _SYNTAX:
            self.doubt(f"{words[0].text!r} is a word of the shell's own there")
        if words:
            self._inside(lambda: self._simple(Simple(tuple(words), (*self._env, *env))))

    def line(self, text: str) -> None:
        """A command runs a text as a shell line."""
        self._inside(lambda: self._text(text))

    def _text(self, text: str) -> None:
        line = read(text)
        if any(s.words[0].text in {"cd", "pushd", "popd"} for s in line.commands):
            self.touched.folders = None
        self.whole(line)

    def _inside(self, look: Callable[[], None]) -> None:
        if self._depth >= _DEEPEST:
            self.doubt("commands run commands too deeply")
            return
        self._depth += 1
        try:
            look()
        finally:
            self._depth -= 1

    def _simple(self, simple: Simple) -> None:
        self._count += 1
        if self._count > _MOST:
            self.doubt(f"it holds more than {_MOST} commands")
            return
        program = simple.words[0]
        if not program.known or program.tilde or not program.text:
            self.doubt("which program is run is not known")
            return
        named = self._named(program)
        kept, self._env = self._env, simple.env
        look_into(simple.words, self)
        self._env = kept
        env = {**self._line_env, **dict(simple.env)}
        self.touched.command((named, *simple.words[1:]), env.items())

    def _named(self, program: Word) -> Word:
        """Return the program as rules see it: by place where it lies in the workspace."""
        name, root = program.text, self._folder.root
        if "/" in name:
            if not name.startswith("/"):
                folders = self.touched.folders
                if folders is None or len(set(map(os.path.normpath, folders))) != 1:
                    self.doubt("a program is named from a folder that the line changes")
                elif folders[0] != ".":
                    return Word("./" + os.path.normpath(f"{folders[0]}/{name}"))
            return program
        found = shutil.which(name, path=self._folder.path) if self._folder.path else None
        if found and root and os.path.realpath(found).startswith(root.rstrip("/") + "/"):
            return Word(found)
        return program
