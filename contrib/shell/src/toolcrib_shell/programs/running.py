"""Programs that run other ones: wrappers, shells, interpreters, ``find``, ``xargs``."""

from __future__ import annotations

import re

from collections.abc import Callable, Sequence

import attrs

from toolcrib_shell.touched import Touched
from toolcrib_shell.words import Word

from .base import Args, Look, Program, short_letters


__all__ = ["RUNNING"]

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


@attrs.frozen(kw_only=True)
class _Wrapper:
    """A program that runs the rest of its words.

    Attributes:
        flags: Short options without a value.
        valued: Short options with one.
        long: Long options, those with a value marked by ``=``.
        before: Words of its own that come before the command.
    """

    flags: str = ""
    valued: str = ""
    long: tuple[str, ...] = ()
    before: int = 0

    def __call__(self, args: Args, at: Look) -> None:
        words = list(args.words)
        while words and words[0].lead.startswith("-") and words[0].text != "-":
            if words[0].known and words[0].text == "--":
                words = words[1:]
                break
            taken = self._option(args.program, words[0])
            if taken is None:
                at.doubt(f"{args.program}: what its option {words[0].text} does is not known")
                return
            words = words[taken:]
        own, words = words[: self.before], words[self.before :]
        if any(not word.known for word in own):
            at.doubt(f"{args.program}: where the command begins is not known")
        elif words:
            at.command(words)

    def _option(self, program: str, word: Word) -> int | None:
        """Return how many words an option takes; None if it is not a known one."""
        text = word.text
        if not word.known:
            return None
        if text.startswith("--"):
            name, equals, _ = text[2:].partition("=")
            if f"{name}=" in self.long:
                return 1 if equals else 2
            return 1 if name in self.long and not equals else None
        letters = short_letters(text)
        if program == "nice" and re.fullmatch(r"-?[0-9]+", letters):
            return 1
        for number, letter in enumerate(letters):
            if letter in self.valued:
                return 1 if number < len(letters) - 1 else 2
            if letter not in self.flags:
                return None
        return 1


@attrs.frozen
class _WithMore:
    """Passes on what is found; a command gets words that nobody knows at its end."""

    _look: Look

    @property
    def touched(self) -> Touched:
        """What is gathered."""
        return self._look.touched

    def doubt(self, text: str) -> None:
        """Pass it on."""
        self._look.doubt(text)

    def line(self, text: str) -> None:
        """Pass it on."""
        self._look.line(text)

    def names(self, name: str, *, exported: bool = False) -> None:
        """Pass it on."""
        self._look.names(name, exported=exported)

    def command(self, words: Sequence[Word], env: Sequence[tuple[str, Word]] = ()) -> None:
        """Pass it on, with more words."""
        self._look.command((*words, Word('$"…"', known=False, many=True)), env)


def _env(args: Args, at: Look) -> None:
    words = list(args.words)
    while words and words[0].known and words[0].text.startswith("-"):
        text = words[0].text
        if text in {"-i", "-", "-0", "--ignore-environment", "--null"}:
            words = words[1:]
        elif text in {"-u", "--unset"}:
            words = words[2:]
        elif text.startswith(("--unset=", "-u")):
            words = words[1:]
        elif text == "--":
            words = words[1:]
            break
        else:
            at.doubt(f"env: what its option {text} does is not known")
            return
    env: list[tuple[str, Word]] = []
    while words and _ASSIGNMENT.match(words[0].lead):
        name = words[0].lead.partition("=")[0]
        value = words[0].text.partition("=")[2]
        env.append((name, Word(value) if words[0].known else Word(words[0].text, known=False)))
        words = words[1:]
    if words and not words[0].known:
        at.doubt("env: where the command begins is not known")
    elif words:
        at.command(words, env)


def _command(args: Args, at: Look) -> None:
    words = list(args.words)
    if words and words[0].known and words[0].text in {"-v", "-V"}:
        return
    _Wrapper(flags="p")(args, at)


def _exec(args: Args, at: Look) -> None:
    if args.words:
        _Wrapper(flags="cl", valued="a")(args, at)


_XARGS = _Wrapper(
    flags="0rtpxo",
    valued="nLPIdsEai",
    long=("null", "no-run-if-empty", "max-args=", "max-procs=", "replace=", "delimiter="),
)


def _xargs(args: Args, at: Look) -> None:
    _XARGS(args, _WithMore(at))


_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_WRITES = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
_READS = frozenset({"-files0-from", "-newer", "-samefile", "-anewer", "-cnewer"})


def _find(args: Args, at: Look) -> None:
    words = list(args.words)
    if any(not word.known and word.may_be_option for word in words):
        at.doubt("find: a word whose value is not known may be an action")
        return
    texts = [word.text if word.known else word.lead for word in words]
    first = next(
        (n for n, t in enumerate(texts) if t[:1] in {"-", "(", ")", "!", ","}
         and t not in {"-H", "-L", "-P"}), len(words),
    )  # fmt: skip
    starts = [word for word in words[:first] if not word.text.startswith("-")]
    for word in starts or [Word(".", lead=".")]:
        at.touched.read(word, tree=True)
    number = first
    while number < len(words):
        text, following = texts[number], words[number + 1 : number + 2]
        number += 1
        if text in _RUNS:
            number = _find_runs(words, number, at)
        elif text in _WRITES or text in _READS:
            for word in following:
                (at.touched.write if text in _WRITES else at.touched.read)(word)
            number += 1
        elif text == "-delete":
            at.touched.writes.add(None)


def _find_runs(words: list[Word], start: int, at: Look) -> int:
    """Look into the command of an action, and return where that ends."""
    end = start
    while end < len(words) and not (
        words[end].known
        and (words[end].text == ";" or (words[end].text == "+" and end > start))
    ):
        end += 1
    # What find puts in the place of {} is not known.
    found = Word('$"{}"', known=False, lead="./")
    at.command([found if w.known and "{}" in w.text else w for w in words[start:end]])
    return end + 1


_PLAIN_SHELL = re.compile(r"-[aefnuvx]*c[aefnuvx]*")


def _shell(args: Args, at: Look) -> None:
    words = list(args.words)
    if not words:
        at.doubt(f"{args.program} runs what stands on its input")
        return
    if not words[0].known:
        at.doubt(f"what {args.program} runs is not known")
        return
    text = words[0].text
    while text in {"-e", "-u", "-x", "--norc", "--noprofile"} and len(words) > 1:
        words = words[1:]
        text = words[0].text
    if _PLAIN_SHELL.fullmatch(text) and len(words) > 1:
        if words[1].known:
            at.line(words[1].text)
        else:
            at.doubt(f"the text that {args.program} runs is not known")
    elif text.startswith(("-", "+")) or not words[0].known:
        at.doubt(f"what {args.program} runs with {text} is not looked into")
    elif text.startswith(("/dev/", "/proc/")):
        at.doubt(f"{args.program} runs what comes from {text}")
    else:
        at.touched.read(words[0])


def _interpreter(inline: str, *, modules: bool = False) -> Program:
    def look(args: Args, at: Look) -> None:
        for number, word in enumerate(args.words):
            if not word.known:
                at.doubt(f"what {args.program} runs is not known")
                return
            if word.text in {"--version", "-V", "-v", "--help", "-h"}:
                return
            if modules and word.text == "-m":
                following = args.words[number + 1 : number + 2]
                if not following or following[0].text not in _MODULES:
                    at.doubt(f"the module that {args.program} runs may run its words")
                return
            if word.text.startswith("-"):
                letters = short_letters(word.text)
                if not letters or set(letters) - set("uBEIsOqbd") or set(letters) & set(inline):
                    at.doubt(f"{args.program} {word.text} runs text that is not looked into")
                    return
                continue
            if word.text.startswith(("/dev/", "/proc/")):
                break
            at.touched.read(word)
            return
        at.doubt(f"{args.program} runs what stands on its input")

    return look


_MODULES = frozenset({
    "pytest", "unittest", "mypy", "ruff", "black", "isort", "flake8", "pylint", "coverage",
    "build", "venv", "json.tool", "compileall", "pip", "http.server", "sphinx", "tox", "nox",
})  # fmt: skip


def _eval(args: Args, at: Look) -> None:
    if all(word.known for word in args):
        at.line(" ".join(word.text for word in args))
    else:
        at.doubt("the text of eval is not known")


def _anything(reason: str) -> Program:
    def look(args: Args, at: Look) -> None:
        at.doubt(f"{args.program} {reason}")

    return look


def _npm(args: Args, at: Look) -> None:
    if args.loose or args.has(
        long=(
            "node-options",
            "script-shell",
            "call",
            "package",
            "prefix",
            "userconfig",
            "eval",
        ),
        short="cpC",
    ):
        at.doubt(f"{args.program} is given an option that changes what it runs, or may be")
    first = next(iter(args.operands()), None)
    if first is not None and first.text in {
        "exec",
        "x",
        "dlx",
        "config",
        "explore",
        "edit",
        "set",
    }:
        at.doubt(f"{args.program} {first.text} may run anything")


def _make(args: Args, at: Look) -> None:
    if args.loose or args.has(
        long=("eval", "file", "makefile", "directory", "include-dir"), short="fCIE"
    ):
        at.doubt("make is given other orders than those of the folder, or may be")
    if any("=" in word.text for word in args.operands()):
        at.doubt("make is given variables, which may name programs")


def _pager(args: Args, at: Look) -> None:
    if args.loose or args.options() or any(w.lead.startswith("+") for w in args):
        at.doubt(f"{args.program} may run programs that its options name")
    for word in args.operands():
        at.touched.read(word)


def _man(args: Args, at: Look) -> None:
    if args.loose or set(args.options()) - {"-k", "-f", "-a"}:
        at.doubt("man may run programs that its options name")
    if any("/" in word.text for word in args.operands()):
        at.doubt("man formats a file, which may give orders")


_WORDS: Callable[[str], list[str]] = str.split

RUNNING: dict[str, Program] = {
    "env": _env,
    "timeout": _Wrapper(
        flags="v", valued="ks", before=1,
        long=("foreground", "preserve-status", "verbose", "signal=", "kill-after="),
    ),
    "nice": _Wrapper(valued="n", long=("adjustment=",)),
    "nohup": _Wrapper(),
    "setsid": _Wrapper(flags="cfw", long=("fork", "wait", "ctty")),
    "stdbuf": _Wrapper(valued="ioe", long=("input=", "output=", "error=")),
    "ionice": _Wrapper(flags="t", valued="cn"),
    "time": _Wrapper(flags="pv", long=("portability", "verbose")),
    "busybox": _Wrapper(),
    "toybox": _Wrapper(),
    "command": _command,
    "builtin": _Wrapper(),
    "exec": _exec,
    "xargs": _xargs,
    "find": _find,
    **dict.fromkeys(_WORDS("sh bash dash ash"), _shell),
    **dict.fromkeys(_WORDS("python python2 python3 pypy3"), _interpreter("c", modules=True)),
    **dict.fromkeys(
        _WORDS("node perl ruby php lua deno bun tclsh Rscript julia irb osascript nodejs"),
        _interpreter("ercpRilnmEMIx"),
    ),
    "eval": _eval,
    "npm": _npm, "pnpm": _npm, "yarn": _npm,
    "make": _make, "gmake": _make,
    "less": _pager, "more": _pager, "most": _pager,
    "man": _man,
    **dict.fromkeys(
        _WORDS(
            "sudo doas su ssh chroot unshare nsenter strace ltrace gdb script watch parallel"
            " flock systemd-run at batch crontab npx pnpx bunx uvx pipx zsh ksh mksh fish csh"
            " tcsh nu pwsh powershell cmd expect tclsh socat nc ncat netcat rsync scp sftp ftp"
            " vi vim nvim view ed ex emacs nano pico docker podman kubectl sqlite3 psql mysql"
            " openssl gpg entr ld.so busctl dbus-send screen tmux run-parts start-stop-daemon"
            " xdg-open open make-kpkg valgrind taskset chrt setarch linux32 linux64 capsh"
            " setpriv runuser pkexec prlimit cpulimit firejail proxychains unbuffer xvfb-run"
            " caffeinate zip 7z cpio m4 bc dc gawk-csv"
        ),
        _anything("may run whatever its words say"),
    ),
    **dict.fromkeys(
        _WORDS(
            "source . alias unalias trap enable hash bind complete compgen compopt let fc"
            " history shopt mapfile readarray getopts coproc caller suspend dirs disown"
        ),
        _anything("changes what the shell does next"),
    ),
}  # fmt: skip
