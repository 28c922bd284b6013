"""Take over lists of ``Tool(pattern)`` rules, such as ``Bash(git commit:*)``.

Each rule is carried over exactly, or it is reported and *not* carried over: as one that
never did what it says, as one of an unknown tool, or as one that says what rules here
cannot say. An *allow* may become narrower, never wider; *ask* and *deny* the other way.
"""

from __future__ import annotations

import re
import shlex

from collections.abc import Iterable, Mapping
from enum import StrEnum

import attrs

from toolcrib import rules
from toolcrib.errors import RuleSyntaxError
from toolcrib.rules import Rule, Verdict


__all__ = ["TARGETS", "Import", "Imported", "carry_over"]

#: What tools of the common names are here: a tool pattern, and what narrows it.
TARGETS: Mapping[str, tuple[str, str]] = {
    "Bash": ("shell.*", "command"),
    "Read": ("files.*", "access=read"),
    "Grep": ("files.*", "access=read"),
    "Glob": ("files.*", "access=read"),
    "LS": ("files.*", "access=read"),
    "Edit": ("files.*", "access=write"),
    "MultiEdit": ("files.*", "access=write"),
    "NotebookEdit": ("files.*", "access=write"),
    "Write": ("files.*", "access=write"),
    "WebFetch": ("web.fetch", "host"),
    "WebSearch": ("web.search", ""),
}
_FORM = re.compile(r"\s*([A-Za-z_*][A-Za-z0-9_.*-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_FILES = {"access=read": "fs_read", "access=write": "fs_write"}


class Import(StrEnum):
    """What became of a rule."""

    EXACT = "exact"
    NARROWED = "narrowed"
    WIDENED = "widened"
    INEXACT = "inexact"
    DEAD = "dead"
    UNKNOWN = "unknown"


@attrs.frozen(kw_only=True)
class Imported:
    """One foreign rule and what became of it.

    Attributes:
        source: The rule as it stood.
        verdict: The list it stood in.
        status: What became of it.
        rule: The rule here, or None if it was not carried over.
        text: For every status but ``exact``: why, and what to write instead.
    """

    source: str
    verdict: Verdict
    status: Import
    rule: Rule | None = None
    text: str = ""

    def __str__(self) -> str:
        became = f" → {self.rule}" if self.rule is not None else ""
        return f"{self.verdict} {self.source}: {self.status}{became}" + (
            f" ({self.text})" if self.text else ""
        )


class _Report(Exception):  # noqa: N818 - it carries a result, it is no error
    def __init__(self, status: Import, text: str) -> None:
        self.status = status
        self.text = text


def carry_over(
    lists: Mapping[str, Iterable[str]], *, targets: Mapping[str, tuple[str, str]] = TARGETS
) -> tuple[Imported, ...]:
    """Carry rules over.

    Args:
        lists: ``allow``, ``ask`` and ``deny`` with their rules; a list of another name
            is reported rule by rule.
        targets: Foreign tool → (tool pattern here, what narrows it).
    """
    found: list[Imported] = []
    for name, texts in lists.items():
        try:
            verdict = Verdict(name)
        except ValueError:
            why = f"there is no list {name!r}; the rule was never looked at"
            found += [
                Imported(source=t, verdict=Verdict.ASK, status=Import.DEAD, text=why)
                for t in texts
            ]
            continue
        found += [_carried(text, verdict, targets) for text in texts]
    return tuple(found)


def _carried(text: str, verdict: Verdict, targets: Mapping[str, tuple[str, str]]) -> Imported:
    try:
        status, body, why = _translated(text, verdict, targets)
        rule = rules.parse(f"{verdict} {body}")
    except _Report as report:
        return Imported(source=text, verdict=verdict, status=report.status, text=report.text)
    except RuleSyntaxError as error:
        why = str(error).partition("\n")[0]
        return Imported(source=text, verdict=verdict, status=Import.INEXACT, text=why)
    return Imported(source=text, verdict=verdict, status=status, rule=rule, text=why)


def _translated(
    text: str, verdict: Verdict, targets: Mapping[str, tuple[str, str]]
) -> tuple[Import, str, str]:
    match = _FORM.fullmatch(text)
    if match is None:
        raise _Report(Import.INEXACT, "it does not have the form Tool or Tool(pattern)")
    name, body = match.groups()
    if name.startswith("mcp__"):
        return _remote(name, body, verdict)
    if name == "*":
        return _everything(verdict)
    if name not in targets:
        why = f"no tool here stands for {name!r}; write a rule for the one that does"
        raise _Report(Import.UNKNOWN, why)
    tool, narrowed = targets[name]
    if body is None or body.strip() in {"", "*", "**"}:
        effect = _FILES.get(narrowed)
        return Import.EXACT, f"{tool}(effect={effect})" if effect else tool, ""
    if narrowed == "command":
        return _command(tool, body, verdict)
    if narrowed == "host":
        return _host(tool, body)
    if narrowed in _FILES:
        return _path(tool, narrowed, body, verdict)
    raise _Report(Import.INEXACT, f"what {name} takes in parentheses has no field here")


def _everything(verdict: Verdict) -> tuple[Import, str, str]:
    if verdict is not Verdict.ALLOW:
        return Import.EXACT, "*", ""
    why = "it meant the tools that were built in; 'allow *' would mean every tool of every pack"
    raise _Report(Import.INEXACT, why)


def _remote(name: str, body: str | None, verdict: Verdict) -> tuple[Import, str, str]:
    if body is not None:
        raise _Report(Import.INEXACT, "arguments of remote tools have no field here")
    server, part, tool = name.removeprefix("mcp__").partition("__")
    if server == "*" or "*" in server:
        if verdict is Verdict.ALLOW:
            why = "a wildcard for servers was skipped in a list that allows; name the server"
            raise _Report(Import.DEAD, why)
        return Import.EXACT, f"mcp.{server}.{tool}" if part else f"mcp.{server}", ""
    if not part or tool == "*":
        return Import.EXACT, f"mcp.{server}.*", ""
    return Import.EXACT, rules.quote(f"mcp.{server}.{tool}"), ""


def _host(tool: str, body: str) -> tuple[Import, str, str]:
    kind, colon, host = body.partition(":")
    if not colon or kind.strip() != "domain":
        raise _Report(Import.INEXACT, "only domain: can be carried over; use url=")
    return Import.EXACT, f"{tool}(host={host.strip()})", ""


def _path(tool: str, access: str, body: str, verdict: Verdict) -> tuple[Import, str, str]:
    if body != body.strip() or re.search(r"\s/|/\s|\*\s|\s\*", body):
        why = "stray blanks: it matches no path, so it never did anything; write it without"
        raise _Report(Import.DEAD, why)
    if "$" in body:
        raise _Report(Import.DEAD, "variables are not filled in: it matches no path")
    if re.search(r"[?\[\]{}\\]", body):
        raise _Report(Import.INEXACT, "only * and ** are wildcards here: write several rules")
    pattern = _place(body)
    fields = f"path={rules.quote(pattern)}, {access}"
    wider = verdict is not Verdict.ALLOW and pattern.startswith("**/")
    why = "it now holds outside the workspace as well" if wider else ""
    return Import.WIDENED if wider else Import.EXACT, f"{tool}({fields})", why


def _place(body: str) -> str:
    if body.startswith("//"):
        return body[1:]
    if body.startswith("~"):
        return body
    # One slash means the folder of the settings, which is the workspace.
    return body.removeprefix("/") or "**"


def _command(tool: str, body: str, verdict: Verdict) -> tuple[Import, str, str]:
    text = re.sub(r"\\+([()])", r"\1", body)
    if text != text.strip() or re.search(r"\s:\*$", text):
        why = (
            "stray blanks: it matches no command, so it never did anything; write "
            f"'{verdict} {tool}(command={text.strip().removesuffix(':*').strip()} *)'"
        )
        raise _Report(Import.DEAD, why)
    words, rest = _words(text)
    if words and words[0].startswith(".") and "/" not in words[0]:
        raise _Report(Import.DEAD, f"{words[0]!r} is no program: did it mean ./?")
    inner = any("*" in word for word in words)
    pattern = " ".join([*words, *rest])
    body = f"{tool}(command={rules.quote(pattern)})"
    if inner and verdict is not Verdict.ALLOW:
        why = "its '*' also meant several words; here it is one: write a rule for each form"
        raise _Report(Import.INEXACT, why)
    if inner:
        return Import.NARROWED, body, "'*' inside is one word here, not any text"
    return Import.EXACT, body, ""


def _words(text: str) -> tuple[list[str], list[str]]:
    """Return the words of a rule's command as patterns, and what follows them."""
    for ending in (":*", " *"):
        if text.endswith(ending):
            return _plain(text.removesuffix(ending)), ["*"]
    if text.endswith("*") and "*" not in text[:-1]:
        words = _plain(text[:-1])
        # Any text may follow, in this word and after it.
        return words[:-1], [words[-1] + "*", "*"] if words else ["*"]
    return _plain(text), []


def _plain(text: str) -> list[str]:
    if re.search(r"[$`;|<>\n]|&&|\|\||(?<!\w)&|\{.*\}", text):
        why = "it holds variables, operators or redirections, which no single command has"
        raise _Report(Import.INEXACT, why)
    if "*" in text:
        if "'" in text or '"' in text:
            raise _Report(Import.INEXACT, "a wildcard among quotes can be read in two ways")
        return [word.replace("\\", "\\\\") for word in text.split()]
    try:
        words = shlex.split(text)
    except ValueError as error:
        why = "a quote is not closed, so where its words end is unknown"
        raise _Report(Import.INEXACT, why) from error
    if not words:
        raise _Report(Import.INEXACT, "it names no command")
    return [rules.word(word) for word in words]
