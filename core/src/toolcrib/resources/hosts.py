"""Hosts: one text for one destination, however it was written.

International names follow the mapping that browsers use (UTS 46): width and case are
folded, and what then holds anything but letters, marks, digits and hyphens has no
canonical form. Neither have the four characters that the two generations of the standard
encode differently, for then nobody knows which host will be asked.
"""

from __future__ import annotations

import re
import unicodedata


__all__ = ["canonical"]

_DOTS = str.maketrans(dict.fromkeys("\u3002\uff0e\uff61", "."))
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NAME = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
    r"(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*",
    re.ASCII,
)
_NUMBER = re.compile(r"(?:0[xX][0-9a-fA-F]*|[0-9]+)", re.ASCII)
_DEVIANT = frozenset("\u00df\u1e9e\u03c2\u200c\u200d")


def canonical(text: str) -> str:
    """Return a host's canonical text.

    Raises:
        ValueError: it names no host, or not one for certain.
    """
    if ":" in text:
        return _ipv6(text)
    name = text.lower() if text.isascii() else ".".join(map(_encoded, _split(text)))
    name = name.removesuffix(".")
    last = name.rpartition(".")[2]
    if _NUMBER.fullmatch(last):
        return _ipv4(name)
    if _NAME.fullmatch(name) is None:
        message = f"{text!r} does not name a host"
        raise ValueError(message)
    if "xn--" in name:
        _check_encoded(name)
    return name


def _split(text: str) -> list[str]:
    return text.translate(_DOTS).split(".")


def _encoded(label: str) -> str:
    """Return a label in ASCII; an international one gets its ``xn--`` form."""
    if label.isascii():
        return label.lower()
    if _DEVIANT & set(label):
        message = f"the label {label!r} is encoded in two ways"
        raise ValueError(message)
    folded = unicodedata.normalize("NFKC", label).casefold()
    folded = unicodedata.normalize("NFC", folded)
    if folded.isascii():
        if _LABEL.fullmatch(folded) is None:
            message = f"the label {label!r} is not one of a host"
            raise ValueError(message)
        return folded
    for character in folded:
        if character != "-" and unicodedata.category(character)[0] not in "LMN":
            message = f"the label {label!r} holds {character!r}"
            raise ValueError(message)
    return "xn--" + folded.encode("punycode").decode("ascii")


def _check_encoded(name: str) -> None:
    """Refuse an ``xn--`` label that no name is encoded to; clients disagree on those."""
    for label in name.split("."):
        if not label.startswith("xn--"):
            continue
        try:
            plain = label[4:].encode("ascii").decode("punycode")
            same = not plain.isascii() and _encoded(plain) == label
        except (UnicodeError, ValueError):
            same = False
        if not same:
            message = f"the label {label!r} decodes to no proper name"
            raise ValueError(message)


def _ipv4(name: str) -> str:
    """Return dotted decimals for any spelling that a resolver accepts."""
    parts = name.split(".")
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) for part in parts):
        message = f"{name!r} ends in a number but is no IPv4 address"
        raise ValueError(message)
    numbers = [_number(part) for part in parts]
    limit = 256 ** (5 - len(numbers))
    if any(number > 255 for number in numbers[:-1]) or numbers[-1] >= limit:
        message = f"{name!r} is no IPv4 address: a part is too large"
        raise ValueError(message)
    value = numbers[-1]
    for position, number in enumerate(numbers[:-1]):
        value += number << (8 * (3 - position))
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))


def _number(text: str) -> int:
    if text[:2] in {"0x", "0X"}:
        return int(text[2:] or "0", 16)
    if len(text) > 1 and text.startswith("0"):
        # "08" is octal to one resolver and decimal to another.
        return int(text, 8)
    return int(text)


def _ipv6(text: str) -> str:
    import ipaddress  # noqa: PLC0415 - 6 ms that only IPv6 addresses pay for

    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    address = ipaddress.IPv6Address(inner.partition("%")[0])
    return str(address.ipv4_mapped or address)
