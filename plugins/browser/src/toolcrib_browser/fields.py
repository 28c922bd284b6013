"""Fields that hold what nobody is to see: passwords, one-time codes, card numbers, keys."""

from __future__ import annotations

import re
import unicodedata

from collections.abc import Iterable, Mapping
from typing import Any

from .outline import Outline


__all__ = ["FACTS", "FIELDS", "SURVEY", "hide", "is_secret_field", "redacted"]

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

#: What may hold a value.
FIELDS = "input, textarea, [contenteditable], [role=textbox]"
# Type, tokens, names and value of a field.
_FACTS = """const named = e => [e.name, e.id, e.getAttribute('aria-label'), e.placeholder,
    e.title, ...[...(e.labels || [])].slice(0, 3).map(l => (l.textContent || ''))]
    .filter(x => typeof x === 'string' && x).map(x => x.slice(0, 200));
  const facts = (e, at) => ({
    at,
    type: (e.type || '').toString().slice(0, 40),
    auto: (e.getAttribute('autocomplete') || '').slice(0, 200),
    names: named(e),
    editable: e.isContentEditable === true,
    value: (e.isContentEditable ? e.innerText || '' : e.value || '').slice(0, 4096),
  });
  const telling = f => f.value || f.editable;"""
#: Run on a list of fields: what they hold and what names them.
FACTS = f"fields => {{ {_FACTS} return fields.slice(0, 2000).map(facts).filter(telling); }}"
#: Run in a frame: its title, and the same of its fields, those in open shadow roots too.
SURVEY = f"""() => {{ {_FACTS}
  const found = [];
  const walk = root => {{
    found.push(...root.querySelectorAll('{FIELDS}'));
    for (const e of root.querySelectorAll('*')) if (e.shadowRoot) walk(e.shadowRoot);
  }};
  walk(document);
  return {{title: document.title, fields: found.slice(0, 2000).map(facts).filter(telling)}};
}}"""


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
