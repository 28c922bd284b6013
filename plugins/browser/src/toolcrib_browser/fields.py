"""Fields that hold what nobody is to see: passwords, one-time codes, card numbers, keys."""

from __future__ import annotations

import re
import unicodedata

from collections.abc import Iterable, Mapping
from typing import Any

from .outline import Outline


__all__ = ["hide", "is_secret_field", "redacted"]

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


def hide(outline: Outline, surveys: Iterable[Mapping[str, Any]]) -> None:
    """Take the values of secret fields out of a tree, and put missing ones in.

    The tree does not say which of its text boxes hold passwords, nor what stands in
    editable elements that are no form fields; the fields themselves do.
    """
    hidden: set[str] = set()
    written: dict[str, str] = {}
    for facts in surveys:
        value = _folded(str(facts.get("value", "")))
        if is_secret_field(facts):
            if value:
                hidden.add(value)
        elif facts.get("editable"):
            for name in facts.get("names", ()):
                written.setdefault(_folded(str(name)), str(facts.get("value", "")))
    if not hidden and not written:
        return
    for node in outline.nodes:
        text = _folded(node.text)
        if text and text in hidden:
            node.hidden, node.text = True, ""
        elif node.role == "textbox" and not node.text and _folded(node.name) in written:
            node.text = written[_folded(node.name)][:2000].replace("\n", " ")


def redacted(text: str, secrets: Mapping[str, str]) -> str:
    """Return a text in which secrets that were typed show their names only."""
    for name, value in secrets.items():
        if len(value) >= 4 and value in text:
            text = text.replace(value, f"(secret {name})")
    return text


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text[:_LONGEST]).split())
