"""Fields that hold what nobody is to see: passwords, one-time codes, card numbers, keys."""

from __future__ import annotations

import re
import unicodedata

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from .marks import plain
from .outline import Node, Outline


__all__ = ["hidden_values", "hide", "is_secret_field", "redacted"]

_TOKENS = frozenset({
    *("current-password", "new-password", "one-time-code", "cc-number", "cc-csc"),
})  # fmt: skip
_WORDS = re.compile(
    r"pass[\s_-]?(?:word|code|phrase)|passwd|\bpwd\b|\bpin\b|\bots?p\b|\botp\b|one[\s_-]?time"
    r"|api[\s_-]?key|access[\s_-]?key|secret|\btoken\b|credential|\bcvv\d?\b|\bcvc\d?\b"
    r"|security[\s_-]?code|card[\s_-]?number|kennwort|passwort|contrase|mot de passe",
    re.IGNORECASE,
)
_LONGEST = 4096
_COMPARED = 1000
#: Shorter values are parts of too many words.
_TELLING = 4
_BOXES = frozenset({"textbox", "searchbox", "spinbutton", "combobox"})


def is_secret_field(facts: Mapping[str, Any]) -> bool:
    """Tell whether what a field holds is a credential, by its type, tokens and names."""
    if str(facts.get("type", "")).lower() == "password":
        return True
    if _TOKENS & set(str(facts.get("auto", "")).lower().split()):
        return True
    if str(facts.get("type", "")).lower() in {"checkbox", "radio", "submit", "button", "file"}:
        return False
    names = [str(name) for name in facts.get("names", ())]
    return any(_WORDS.search(_folded(name)) for name in names)


def hide(
    outline: Outline, surveys: Iterable[Mapping[str, Any]], *, unsure: bool = False
) -> None:
    """Take the values of secret fields out of a tree, and put missing ones in.

    The tree does not say which of its text boxes hold passwords, nor what stands in
    editable elements that are no form fields; the fields themselves do.

    Args:
        outline: The tree.
        surveys: What is known of the fields that hold something.
        unsure: Whether there are frames or fields that nothing is known of; then no
            text box shows what it holds, unless it is known to be an ordinary one.
    """
    hidden: set[str] = set()
    shown: set[str] = set()
    written: dict[str, str] = {}
    for facts in surveys:
        value = str(facts.get("value", ""))
        (hidden if is_secret_field(facts) else shown).add(_beginning(value))
        if facts.get("editable") and not is_secret_field(facts):
            for name in facts.get("names", ()):
                written.setdefault(_folded(str(name)), value)
    hidden.discard("")
    if not hidden and not written and not unsure:
        return
    parts = [value for value in hidden if len(value) >= _TELLING]
    for node in outline.nodes:
        text = _beginning(node.text)
        doubtful = unsure and node.role in _BOXES and text not in shown
        if text and (text in hidden or doubtful):
            node.hidden, node.text = True, ""
        elif node.role == "textbox" and not node.text and _folded(node.name) in written:
            node.text = written[_folded(node.name)][:2000].replace("\n", " ")
        _cover(node, parts)


def _cover(node: Node, parts: Iterable[str]) -> None:
    """Take out of one element's name and text what another one holds."""
    for part in parts:
        if part in node.name:
            node.name = node.name.replace(part, "(value hidden)")
        if part in node.text:
            node.text = node.text.replace(part, "(value hidden)")


def hidden_values(surveys: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what secret fields hold, the longest first, if it can be told from words."""
    found = {
        part
        for facts in surveys
        if is_secret_field(facts)
        for value in [str(facts.get("value", ""))]
        for part in (value, " ".join(value.split()))
        if len(part) >= _TELLING
    }
    return sorted(found, key=len, reverse=True)


def redacted(text: str, secrets: Mapping[str, str]) -> str:
    """Return a text in which secrets that were typed show their names only."""
    for name, value in secrets.items():
        if len(value) < _TELLING:
            continue
        for form in _forms(value):
            if form in text:
                text = text.replace(form, f"(secret {name})")
    return text


def _forms(value: str) -> list[str]:
    """Return how a value may be written: as it is, in an address, and on one line."""
    forms = {value, " ".join(value.split()), quote(value, safe=""), quote_plus(value)}
    forms |= {quote(value, safe="-_.!~*'()"), quote_plus(value, safe="*-._")}
    return sorted((f for f in forms if len(f) >= _TELLING), key=len, reverse=True)


def _beginning(text: str) -> str:
    """Return what is left of a value in a tree, which cuts and cleans it."""
    return _folded(plain(" ".join(text[:_LONGEST].split())))[:_COMPARED]


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text[:_LONGEST]).split())
