"""Builtins of the shell, and programs that nothing makes dangerous."""

from __future__ import annotations

import re

from .base import Args, Look, Program


__all__ = ["BUILTINS", "HARMLESS"]

HARMLESS = frozenset({
    ":", "arch", "basename", "break", "cal", "continue", "dirname", "echo", "exit", "expr",
    "factor", "false", "groups", "hostid", "id", "jobs", "logname", "nproc", "pathchk",
    "printenv",
    "pwd", "return", "seq", "shift", "sleep", "times", "tr", "true", "tty", "type", "umask",
    "uname", "uptime", "users", "wait", "which", "who", "whoami", "yes", "kill", "ps", "pgrep",
    "free", "lscpu", "locale", "getconf", "numfmt", "column", "date", "hostname", "cd",
    "printf",
    "test", "[", "read", "export", "declare", "typeset", "local", "readonly", "unset", "set",
})  # fmt: skip
"""Programs to which no word, known or not, gives more than they do anyway."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNARY = frozenset(f"-{letter}" for letter in "abcdefghknoprstuwxzGLNOS")
_BINARY = frozenset({"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge",
                     "-nt", "-ot", "-ef"})  # fmt: skip


def _cd(args: Args, at: Look) -> None:
    for word in args.operands():
        at.touched.read(word)


def _test(args: Args, at: Look) -> None:
    words = list(args.words)
    if words and words[0].known and words[0].text == "!":
        words = words[1:]
    if all(word.known for word in words):
        for word in words:
            if word.text in {"-v", "-R"}:
                at.doubt("test -v may run what stands in brackets")
        return
    if any(word.many for word in words):
        at.doubt("test: how many words there are is not known")
    elif len(words) == 1 or (
        len(words) == 2 and words[0].known and words[0].text in _UNARY - {"-o", "-a"}
    ):
        return
    elif len(words) != 3 or not words[1].known or words[1].text not in _BINARY:
        at.doubt("test: which comparison is made is not known")


def _names(args: Args, at: Look) -> None:
    """``export``, ``declare`` and their like; assignments are noted by the reader."""
    for word in args:
        text = word.text if word.known else word.lead
        if text.startswith("-"):
            if set(text[1:]) - set("gprxa"):
                at.doubt(f"{args.program} {text} may evaluate what it is given")
            continue
        name = text.partition("=")[0].removesuffix("+")
        if not _NAME.fullmatch(name):
            at.doubt(f"{args.program}: a name in it is not plain")
        else:
            at.names(name, exported=args.program == "export" or _exports(args))


def _exports(args: Args) -> bool:
    return any("x" in text for text in args.options())


def _unset(args: Args, at: Look) -> None:
    for word in args:
        if not word.known or not re.fullmatch(r"-[fvn]|[A-Za-z_]\w*", word.text):
            at.doubt("unset: a name in it is not plain")
        elif not word.text.startswith("-"):
            at.names(word.text)


def _read(args: Args, at: Look) -> None:
    for word in args.operands("dnNptu"):
        if not word.known or not _NAME.fullmatch(word.text):
            at.doubt("read: a name in it is not plain")
        else:
            at.names(word.text)
    if args.loose or args.has(short="aei"):
        at.doubt("read is given an option that is not looked into, or may be")


def _printf(args: Args, at: Look) -> None:
    first = args.words[0] if args.words else None
    if first is None or (first.known and not first.text.startswith("-")) or first.text == "--":
        return
    if first.may_be_option:
        at.doubt("printf may set a variable")


def _set(args: Args, at: Look) -> None:
    words = [word.text for word in args]
    plain = re.compile(r"[-+][efux]+|[-+]o|pipefail|errexit|nounset|noglob|xtrace|[-+][efux]*o")
    is_plain = bool(words) and all(w.known and plain.fullmatch(w.text) for w in args)
    if not is_plain and words[:1] != ["--"]:
        at.doubt("set changes what the shell does next")


def _date(args: Args, at: Look) -> None:
    if args.has(long=("set", "file"), short="sf"):
        at.doubt("date is given an option that sets the clock or reads a file")


def _hostname(args: Args, at: Look) -> None:
    if args.words and not args.options():
        at.doubt("hostname sets the name of the machine")


def _kill(args: Args, at: Look) -> None:
    if any(not word.known for word in args):
        at.doubt("which process is stopped is not known")


def _harmless(args: Args, at: Look) -> None:
    """Nothing but what its name says."""


def _wait(args: Args, at: Look) -> None:
    if args.options() or args.loose:
        at.doubt("wait may set a variable")


BUILTINS: dict[str, Program] = {
    **dict.fromkeys(HARMLESS, _harmless),
    "cd": _cd, "pushd": _cd, "popd": _cd,
    "test": _test, "[": _test,
    "export": _names, "declare": _names, "typeset": _names, "local": _names,
    "readonly": _names,
    "unset": _unset,
    "read": _read,
    "printf": _printf,
    "set": _set,
    "date": _date,
    "hostname": _hostname,
    "kill": _kill,
    "wait": _wait,
}  # fmt: skip
