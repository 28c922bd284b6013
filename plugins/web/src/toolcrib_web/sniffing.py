"""What bytes are, whatever the header says of them."""

from __future__ import annotations

import re

from email.message import Message
from typing import Literal

import attrs


__all__ = ["Kind", "Sniffed", "media_type", "sniff"]

Kind = Literal["html", "pdf", "feed", "json", "text", "image", "binary", "empty"]

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"\0\0\1\0", "image/x-icon"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"PK\3\4", "application/zip"),
    (b"PK\5\6", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"\0asm", "application/wasm"),
    (b"\x7fELF", "application/x-elf"),
    (b"MZ", "application/vnd.microsoft.portable-executable"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
    (b"\xd0\xcf\x11\xe0", "application/x-ole-storage"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
)
_OPEN_XML = "application/vnd.openxmlformats-officedocument."
_ODT = "application/vnd.oasis.opendocument.text"
_OFFICE = {
    b"word/": f"{_OPEN_XML}wordprocessingml.document",
    b"xl/": f"{_OPEN_XML}spreadsheetml.sheet",
    b"ppt/": f"{_OPEN_XML}presentationml.presentation",
    b"mimetypeapplication/epub+zip": "application/epub+zip",
    b"mimetype" + _ODT.encode(): _ODT,
}
_HTML = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|title|meta|script|style|link|table|div|span|p|h[1-6]"
    rb"|a|br|ul|ol|iframe|font|!--)[\s>/]",
    re.IGNORECASE,
)
_FEED = re.compile(rb"<(?:rss|feed|rdf:RDF)[\s>]", re.IGNORECASE)
_SVG = re.compile(rb"<svg[\s>]", re.IGNORECASE)
_TEXT_TYPES = frozenset({
    *("application/javascript", "application/x-javascript", "application/ecmascript"),
    *("application/xml", "application/yaml", "application/x-yaml", "application/toml"),
    *("application/sql", "application/x-sh", "application/x-www-form-urlencoded"),
    *("application/graphql", "application/rtf", "image/svg+xml", "message/rfc822"),
    *("application/x-ndjson", "application/jsonl", "application/x-tex", "application/csv"),
})  # fmt: skip
_CONTROLS = bytes(range(9)) + b"\x0b" + bytes(range(14, 27)) + bytes(range(28, 32))
_HEAD = 2048
# Types that say less than the bytes do.
_VAGUE = frozenset({"application/zip", "application/octet-stream"})


@attrs.frozen
class Sniffed:
    """What a body is.

    Attributes:
        kind: How it is read.
        media_type: What it is; the header's word where the bytes do not contradict it.
        charset: What the header says of its encoding.
        contradicts: The header's word, where the bytes are something else.
    """

    kind: Kind
    media_type: str
    charset: str | None = None
    contradicts: str | None = None


def media_type(header: str | None) -> tuple[str, str | None]:
    """Return the type and the charset of a ``Content-Type`` header, whatever it holds."""
    if not header:
        return "", None
    message = Message()
    # Of several headers the last one that says something counts.
    message["content-type"] = header.split(",")[-1].strip() if "/" in header else header
    kind = message.get_content_type() if "/" in header else ""
    charset = message.get_param("charset")
    if isinstance(charset, tuple):
        charset = charset[2]
    return kind, str(charset).strip("\"' ") or None if charset else None


def sniff(data: bytes, header: str | None) -> Sniffed:
    """Return what a body is, from its first bytes and its header."""
    said, charset = media_type(header)
    if not data:
        return Sniffed("empty", said, charset)
    found = _magic(data)
    if found is not None:
        other = said if said and not _agree(said, found) else None
        kind: Kind = "binary"
        if found == "application/pdf":
            kind = "pdf"
        elif found.startswith("image/"):
            kind = "image"
        word = said if said and other is None and said not in _VAGUE else found
        return Sniffed(kind, word, charset, other)
    head = data[:_HEAD].lstrip(b"\xef\xbb\xbf \t\r\n")
    if _is_binary(data):
        return Sniffed("binary", said or "application/octet-stream", charset)
    return _textual(head, said, charset)


def _textual(head: bytes, said: str, charset: str | None) -> Sniffed:
    markup = _HTML.search(head[:1024]) is not None
    other = said if said.startswith(("image/", "audio/", "video/", "font/")) else None
    if _FEED.search(head) and not head[:512].lower().startswith((b"<!doctype html", b"<html")):
        return Sniffed("feed", said or "application/xml", charset)
    if said in {"text/html", "application/xhtml+xml"}:
        plain = head[:1] in {b"{", b"["} and not markup
        return Sniffed("json" if plain else "html", said, charset, said if plain else None)
    if said == "application/json" or said.endswith("+json"):
        wrong = head[:1] == b"<" and markup
        return Sniffed("html" if wrong else "json", said, charset, said if wrong else None)
    if said == "image/svg+xml" or (_SVG.search(head) and not markup):
        return Sniffed("text", "image/svg+xml", charset)
    unsure = said in {"", "application/octet-stream", "application/unknown", "unknown/unknown"}
    if (unsure or other) and markup:
        return Sniffed("html", "text/html", charset, other)
    if unsure and head[:1] in {b"{", b"["}:
        return Sniffed("json", "application/json", charset)
    if unsure or other or said.startswith("text/") or said in _TEXT_TYPES or "+xml" in said:
        return Sniffed("text", "text/plain" if unsure or other else said, charset, other)
    return Sniffed("text", said, charset)


def _magic(data: bytes) -> str | None:
    if data[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}.get(
            data[8:12], "application/octet-stream"
        )
    if data[4:8] == b"ftyp":
        brand = data[8:12]
        return "image/avif" if brand == b"avif" else "video/mp4"
    for mark, name in _MAGIC:
        if data.startswith(mark):
            if name in {"image/bmp", "application/vnd.microsoft.portable-executable"} and not (
                _is_binary(data)
            ):
                continue
            return _office(data) if name == "application/zip" else name
    # Some servers send blank lines before a document.
    return "application/pdf" if b"%PDF-" in data[:1024] and _is_binary(data) else None


def _office(data: bytes) -> str:
    head = data[:8192]
    return next((name for mark, name in _OFFICE.items() if mark in head), "application/zip")


def _is_binary(data: bytes) -> bool:
    """Tell whether bytes are no text of any encoding that pages come in."""
    head = data[:_HEAD]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    if len(head) >= 4 and max(head[::2].count(0), head[1::2].count(0)) > len(head) * 0.4:
        return head.count(0) > len(head) * 0.6
    return len(head.translate(None, _CONTROLS)) != len(head)


def _agree(said: str, found: str) -> bool:
    family = said.partition("/")[0]
    if said == found or (family == found.partition("/")[0] and family != "application"):
        return True
    zipped = found == "application/zip" or found in _OFFICE.values()
    return zipped and said.startswith("application/") and said != "application/pdf"
