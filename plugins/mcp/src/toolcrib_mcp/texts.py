"""What strangers write, made fit to be shown: bounded, printable, without secrets."""

from __future__ import annotations

import re
import unicodedata


__all__ = ["cleaned", "name", "one_line", "sanitised", "told"]

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# Tag characters carry text that nobody sees; the others turn the direction of reading.
_UNSEEN = re.compile(
    "[\u200b\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_SECRET = re.compile(r"(?i)\b(bearer\s+)[\w.~+/=-]{8,}|\b(sk|ghp|gho|xox[abp])[-_][\w-]{8,}")
_CREDENTIALS = re.compile(r"(\w+://)[^/\s:@]+:[^/\s@]+@")
_SPACE = re.compile(r"\s+")


def cleaned(text: str) -> str:
    """Take out escape sequences, control and invisible characters."""
    text = _CONTROL.sub("", _ESCAPE.sub("", text))
    return _SURROGATE.sub("\ufffd", _UNSEEN.sub("", text))


def sanitised(text: str) -> tuple[str, bool]:
    """Return a text fit to be shown, and whether anything was taken out."""
    clean = cleaned(text)
    return clean, clean != text


def one_line(text: object, most: int = 300) -> str:
    """Return a short single line."""
    line = _SPACE.sub(" ", cleaned(str(text))).strip()
    return line if len(line) <= most else line[: most - 1] + "…"


def told(text: object, most: int = 4000) -> str:
    """Return the text of an error of a server: bounded, without credentials."""
    clean = cleaned(str(text)).strip()
    clean = _SECRET.sub(lambda m: (m.group(1) or m.group(2) + "-") + "***", clean)
    clean = _CREDENTIALS.sub(r"\1***@", clean)
    return clean if len(clean) <= most else clean[: most - 1] + "…"


def name(text: object, most: int = 128) -> str | None:
    """Return a name that is one line and can be shown as it is, or None."""
    if not isinstance(text, str) or not 1 <= len(text) <= most or not text.isprintable():
        return None
    return (
        text
        if not _UNSEEN.search(text) and text == unicodedata.normalize("NFC", text)
        else None
    )
