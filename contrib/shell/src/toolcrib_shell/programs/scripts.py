"""Programs whose first operand is a program of their own language: ``sed`` and ``awk``."""

from __future__ import annotations

import re

from toolcrib_shell.words import Word

from .base import Args, Look, Program, short_letters


__all__ = ["SCRIPTS"]


_ADDRESS = r"(?:[0-9]+|\$|/(?:[^/\\\n\[]|\\.|\[\^?\]?[^\]\n]*\])*/[IM]*)"
_SED = re.compile(
    rf"\s*(?:{_ADDRESS}(?:\s*,\s*(?:[+~]?[0-9]+|{_ADDRESS}))?\s*)?!?\s*"
    r"(?:[pdqnNDPhHgGx=]"
    r"|s/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/[gpiI0-9]*"
    r"|s\|(?:[^|\\\n]|\\.)*\|(?:[^|\\\n]|\\.)*\|[gpiI0-9]*"
    r"|s#(?:[^#\\\n]|\\.)*#(?:[^#\\\n]|\\.)*#[gpiI0-9]*"
    r"|s,(?:[^,\\\n]|\\.)*,(?:[^,\\\n]|\\.)*,[gpiI0-9]*"
    r"|y/[^/\\\n]*/[^/\\\n]*/)?\s*"
)


def _plain_sed(script: str) -> bool:
    """Tell whether a script holds only commands that neither write nor run anything."""
    at = 0
    while True:
        match = _SED.match(script, at)
        if match is None:
            return False
        at = match.end()
        if at == len(script):
            return True
        if script[at] not in ";\n":
            return False
        at += 1


def _sed(args: Args, at: Look) -> None:
    from_file = args.has(long=("file", "in-place"), short="f") and not _only_in_place(args)
    if args.loose or from_file:
        at.doubt("sed takes its script from where it cannot be seen")
        return
    scripts, files = _taken_apart(args, at)
    for script in scripts:
        if not script.known or not _plain_sed(script.text.removeprefix("--expression=")):
            at.doubt("the script of sed may write or run something")
    in_place = args.has(long=("in-place",)) or any(
        "i" in short_letters(text) for text in args.options()
    )
    for word in files:
        at.touched.read(word)
        if in_place:
            at.touched.write(word)


def _taken_apart(args: Args, at: Look) -> tuple[list[Word], list[Word]]:
    """Return the scripts, and the files."""
    scripts: list[Word] = []
    operands: list[Word] = []
    waiting = given = False
    for word in args:
        text = word.text
        if waiting or text.startswith("--expression="):
            scripts.append(word)
            given, waiting = True, False
        elif re.fullmatch(r"-[nErsuz]*e", text) or text == "--expression":
            waiting = True
        elif text.startswith("-") and text != "-":
            letters = short_letters(text).partition("i")[0]
            if set(letters) - set("nErsuz"):
                at.doubt(f"sed: what its option {text} does is not known")
        else:
            operands.append(word)
    return (scripts, operands) if given else (operands[:1], operands[1:])


def _only_in_place(args: Args) -> bool:
    return not any(
        text.startswith(("--f", "--fi")) or "f" in short_letters(text).partition("i")[0]
        for text in args.options()
    )


def _awk(args: Args, at: Look) -> None:
    words = list(args.words)
    while words and words[0].lead.startswith("-"):
        text = words[0].text
        if not words[0].known:
            at.doubt("awk: an option of it is not known")
            return
        if text == "--":
            words = words[1:]
            break
        if text in {"-F", "-v"}:
            words = words[2:]
        elif text.startswith(("-F", "-v")):
            words = words[1:]
        else:
            at.doubt(f"awk: what its option {text} does is not looked into")
            return
    if not words:
        return
    program = words[0]
    bare = program.text.replace("||", " ")
    if not program.known or re.search(r"system|getline|[@|>]", bare):
        at.doubt("the program of awk may write or run something")
    for word in words[1:]:
        if not (word.known and re.match(r"[A-Za-z_]\w*=", word.text)):
            at.touched.read(word)


SCRIPTS: dict[str, Program] = {
    "sed": _sed, "gsed": _sed,
    "awk": _awk, "gawk": _awk, "mawk": _awk, "nawk": _awk,
}  # fmt: skip
