"""The grammar of pack, source, tool and wire names, and the mapping between them.

A tool id is ``pack.name``, or ``pack.source.name`` where ``name`` is a remote name
verbatim. A wire name is what a provider accepts: ``[A-Za-z0-9_-]{1,64}``. The mapping
looks at one id alone, so a wire name never changes when other tools come and go:

* ``web.fetch`` → ``web_fetch``: a pack id has no underscore, so the first one parts.
* ``mcp.github.create_issue`` → ``mcp__github__create_issue``: a source has no double
  underscore, and no tool name starts with one.
* What does not fit (too long, other characters, what could be read two ways) is
  cleaned, cut and given the first 10 hexadecimal digits of the id's SHA-256.
"""

from __future__ import annotations

import hashlib
import re

from collections.abc import Iterable


__all__ = [
    "check_text",
    "closest",
    "is_pack_id",
    "is_source_id",
    "is_tool_id",
    "is_tool_name",
    "normalize_distribution",
    "wire_name",
]

_PACK = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*", re.ASCII)
_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*", re.ASCII)
_SOURCE = re.compile(r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*", re.ASCII)
_PLAIN_LIVE = re.compile(r"[A-Za-z0-9-][A-Za-z0-9_-]*", re.ASCII)
_DIGITS = re.compile(r"[0-9a-f]{10}")
_UNCLEAN = re.compile(r"[^A-Za-z0-9_-]+")

WIRE_LIMIT = 64
_LONGEST = 128


def check_text(what: str, text: object) -> None:
    """Refuse a name that is no text, or that no file could hold.

    Args:
        what: What it names, for the sentence, such as ``a conversation's name``.
        text: The name.

    Raises:
        TypeError: it is no text.
        ValueError: it holds half a character.
    """
    if not isinstance(text, str):
        message = f"{what} is a text, not a {type(text).__name__}: {text!r:.60}"
        raise TypeError(message)
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = f"{what} holds half a character at {error.start}: {text!a:.60}"
        raise ValueError(message) from None


def is_pack_id(text: str) -> bool:
    """Tell whether a text is a pack id: lower-case words joined by hyphens, ≤ 32."""
    return len(text) <= 32 and _PACK.fullmatch(text) is not None


def is_tool_name(text: str) -> bool:
    """Tell whether a text is the name of a declared tool: words joined by ``_``, ≤ 64."""
    return len(text) <= 64 and _NAME.fullmatch(text) is not None


def is_source_id(text: str) -> bool:
    """Tell whether a text names a live source: words joined by ``_`` or ``-``, ≤ 64."""
    return len(text) <= 64 and _SOURCE.fullmatch(text) is not None


def is_tool_id(text: str) -> bool:
    """Tell whether a text is a tool id of either form."""
    pack, dot, rest = text.partition(".")
    if not dot or not is_pack_id(pack):
        return False
    if "." not in rest:
        return is_tool_name(rest)
    source, _, name = rest.partition(".")
    return is_source_id(source) and 1 <= len(name) <= _LONGEST and name.isprintable()


def _is_wire(plain: str) -> bool:
    # As ``[A-Za-z0-9_-]{1,64}`` says, in a third of the time.
    letters = plain.replace("_", "a").replace("-", "a")
    return len(plain) <= WIRE_LIMIT and letters.isascii() and letters.isalnum()


def _is_suffixed(plain: str) -> bool:
    # Hardly any name has the bar there, so that the look costs next to nothing.
    return plain[-11:-10] == "_" and _DIGITS.fullmatch(plain, len(plain) - 10) is not None


def wire_name(tool_id: str) -> str:
    """Return the name under which a provider knows a tool; see the module's text."""
    pack, _, rest = tool_id.partition(".")
    source, dot, name = rest.partition(".")
    if dot:
        plain = f"{pack}__{source}__{name}"
        fits = _PLAIN_LIVE.fullmatch(name) is not None
    else:
        plain = f"{pack}_{rest}"
        fits = True
    if fits and _is_wire(plain) and not _is_suffixed(plain):
        return plain
    suffix = hashlib.sha256(tool_id.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    clean = _UNCLEAN.sub("_", plain)[: WIRE_LIMIT - len(suffix) - 1].rstrip("_")
    return f"{clean}_{suffix}"


def normalize_distribution(name: str) -> str:
    """Return the normalised name of a distribution (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def closest(name: str, known: Iterable[str], *, most: int = 3) -> list[str]:
    """Return the known names most like a wrong one, best first; never a guess."""
    folded: dict[str, str] = {}
    for candidate in sorted(known):
        folded.setdefault(candidate.casefold().replace("-", "_").replace(".", "_"), candidate)
    wanted = name.casefold().replace("-", "_").replace(".", "_")[:_LONGEST]
    import difflib  # noqa: PLC0415 - only for names that are wrong

    found = difflib.get_close_matches(wanted, folded, n=most, cutoff=0.6)
    # A bare tool name is the commonest slip: "fetch" for "web_fetch".
    tails = [key for key in folded if key.endswith("_" + wanted) and key not in found]
    return [folded[key] for key in [*tails, *found]][:most]
