"""Bytes of a page to characters: what is declared is believed where the bytes agree.

The order is that of the HTML standard: byte order mark, header, ``<meta>``. A declared
encoding in which the bytes make no text is passed over for the next one that fits, and
that is said. Guessing comes last.
"""

from __future__ import annotations

import codecs
import re

from typing import Literal

import attrs


__all__ = ["Decoded", "codec_of", "decode"]

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Where the web's meaning of a label differs from Python's, as the Encoding standard has it.
_WEB = {
    **dict.fromkeys(
        (
            *("iso-8859-1", "iso8859-1", "iso88591", "latin1", "l1", "ascii", "us-ascii"),
            *("ansi_x3.4-1968", "cp819", "x-cp1252", "windows-1252", "cp1252"),
        ),
        "cp1252",
    ),
    **dict.fromkeys(
        ("gb2312", "gbk", "gb_2312", "gb_2312-80", "x-gbk", "chinese", "csgb2312"),
        "gb18030",
    ),
    **dict.fromkeys(
        ("shift_jis", "shift-jis", "sjis", "x-sjis", "ms_kanji", "windows-31j", "ms932"),
        "cp932",
    ),
    **dict.fromkeys(
        ("euc-kr", "ks_c_5601-1987", "ks_c_5601", "korean", "ksc5601", "windows-949"), "cp949"
    ),
    **dict.fromkeys(("big5", "big5-hkscs", "cn-big5", "x-x-big5"), "big5hkscs"),
    **dict.fromkeys(("iso-8859-9", "latin5", "l5", "windows-1254"), "cp1254"),
    **dict.fromkeys(("tis-620", "iso-8859-11", "windows-874", "dos-874"), "cp874"),
    **dict.fromkeys(("utf-16", "utf-16le", "unicode", "ucs-2"), "utf-16-le"),
    **dict.fromkeys(("utf8", "utf-8", "unicode-1-1-utf-8", "x-unicode20utf8"), "utf-8"),
    "utf-16be": "utf-16-be",
    "x-user-defined": "cp1252",
    "x-mac-cyrillic": "mac-cyrillic",
    "macintosh": "mac-roman",
    "x-mac-roman": "mac-roman",
    "iso-8859-8-i": "iso8859-8",
    "logical": "iso8859-8",
}
# Never used for pages: it makes markup of harmless bytes.
_NEVER = frozenset({"utf-7", "utf7", "unicode-1-1-utf-7", "idna", "punycode", "undefined"})
_META = re.compile(
    rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([^\s\"'/>;]{1,40})", re.IGNORECASE
)
_XML = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})", re.ASCII)
_CSS = re.compile(rb'^@charset "([\w.:-]{1,40})";', re.ASCII)
# Encodings in which any bytes are text; and what letters beyond ASCII are in UTF-8.
_ONE_BYTE = frozenset({"cp874", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic"})
_TWO_BYTES = re.compile(rb"[\xc2-\xf4][\x80-\xbf]+")
_PRESCAN = 4096
_SAMPLE = 1 << 16
# A file may end in the middle of a character because a limit cut it.
_SLACK = 4


@attrs.frozen
class Decoded:
    """Text, and how it was found.

    Attributes:
        text: Characters, without a byte order mark.
        encoding: Python's name of the encoding.
        source: Who said so.
        passed_over: Declared encodings in which the bytes make no text.
        lossy: Whether some bytes are no text and show as U+FFFD.
    """

    text: str = attrs.field(repr=False)
    encoding: str
    source: Literal["bom", "header", "meta", "content", "guess"]
    passed_over: tuple[str, ...] = ()
    lossy: bool = False


def codec_of(label: str | None) -> str | None:
    """Return the codec that a label means on the web, or None for one that means nothing."""
    if not label:
        return None
    word = label.strip(" \t\n\r\f\"'").lower().replace(" ", "")
    if word in _NEVER or not word:
        return None
    if word in _WEB:
        return _WEB[word]
    try:
        found = codecs.lookup(word)
    except (LookupError, ValueError):
        return None
    # Python also calls base64 and the like encodings.
    return found.name if getattr(found, "_is_text_encoding", True) else None


def decode(data: bytes, header: str | None = None, *, markup: bool = True) -> Decoded:
    """Return the text that bytes are.

    Args:
        data: The body.
        header: The ``charset`` of the ``Content-Type`` header.
        markup: Whether the text itself may declare its encoding.
    """
    for mark, name in _BOMS:
        if data.startswith(mark):
            return _lossy(data[len(mark) :], name, "bom")
    if _looks_wide(data):
        return _lossy(data, "utf-16-le" if data[1:2] == b"\0" else "utf-16-be", "guess")
    declared = _declarations(data, header, markup=markup)
    passed: list[str] = []
    for name, source in declared:
        text = _strict(data, name)
        if text is not None and not _is_utf8_after_all(data, name):
            return Decoded(text, name, source, _once(passed))
        passed.append(name)
    text = _strict(data, "utf-8")
    if text is not None:
        return Decoded(text, "utf-8", "content", _once(passed))
    return _guessed(data, declared, passed)


def _declarations(
    data: bytes, header: str | None, *, markup: bool
) -> list[tuple[str, Literal["header", "meta"]]]:
    """Return what is declared, the stronger word first."""
    found: list[tuple[str, Literal["header", "meta"]]] = []
    if (codec := codec_of(header)) is not None:
        found.append((codec, "header"))
    if markup and (codec := _declared(data)) is not None:
        found.append((codec, "meta"))
    return found


def _guessed(
    data: bytes, declared: list[tuple[str, Literal["header", "meta"]]], passed: list[str]
) -> Decoded:
    """Return what bytes look like that are not what is declared of them."""
    guess = _guess(data)
    if guess is not None and (text := _strict(data, guess)) is not None:
        return Decoded(text, guess, "guess", _once(passed))
    if declared:
        # Nothing fits: the declared one is the best there is, with marks for the rest.
        name, source = declared[0]
        return _lossy(data, name, source, passed[1:])
    return _lossy(data, "cp1252", "guess", passed)


def _once(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _is_utf8_after_all(data: bytes, declared: str) -> bool:
    """Tell whether bytes are UTF-8 although an encoding is declared that any bytes fit.

    A text of such an encoding is hardly ever UTF-8 by chance: two letters that are
    enough.
    """
    if declared not in _ONE_BYTE and not declared.startswith(("cp125", "iso8859")):
        return False
    return len(_TWO_BYTES.findall(data[: 1 << 20])) >= 2 and _strict(data, "utf-8") is not None


def _declared(data: bytes) -> str | None:
    head = data[:_PRESCAN]
    for pattern in (_XML, _META, _CSS):
        match = pattern.search(head)
        if match is not None:
            codec = codec_of(match[1].decode("ascii", "replace"))
            # A page that can be read as ASCII so far is not in UTF-16.
            return "utf-8" if codec is not None and codec.startswith("utf-16") else codec
    return None


def _strict(data: bytes, encoding: str) -> str | None:
    """Return the text if the bytes are one in this encoding, a cut last character aside."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        if error.start < len(data) - _SLACK or error.start == 0:
            return None
        return data[: error.start].decode(encoding)
    except (LookupError, ValueError):
        return None


def _lossy(
    data: bytes,
    encoding: str,
    source: Literal["bom", "header", "meta", "guess"],
    passed: list[str] | None = None,
) -> Decoded:
    text = _strict(data, encoding)
    lossy = text is None
    if text is None:
        text = data.decode(encoding, "replace")
    return Decoded(text, encoding, source, _once(passed or []), lossy)


def _looks_wide(data: bytes) -> bool:
    """Tell whether every other byte is NUL, as in UTF-16 of Western text."""
    head = data[:512]
    return len(head) >= 4 and max(head[::2].count(0), head[1::2].count(0)) > len(head) * 0.4


def _guess(data: bytes) -> str | None:
    """Return what the bytes look like; markup in ASCII would only hide that."""
    from charset_normalizer import from_bytes

    sample = re.sub(rb"<[^>]{0,2000}>", b" ", data[: 4 * _SAMPLE])[:_SAMPLE]
    best = from_bytes(sample, enable_fallback=False).best()
    return None if best is None else codec_of(best.encoding)
