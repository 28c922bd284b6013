"""PDF to text, page by page, by pypdf; nothing else knows of that library."""

from __future__ import annotations

import io
import logging
import time

from typing import Any

from .documents import Document, Page


__all__ = ["ReadError", "read_pdf"]

_MOST_PAGES = 2000
_SECONDS = 30.0
_MOST_CHARACTERS = 8_000_000

# The library reports every flaw of a file; the reader is told of those that matter.
logging.getLogger("pypdf").setLevel(logging.CRITICAL)


class ReadError(Exception):
    """Raised when a body cannot be read as what it is; the text says why."""


def read_pdf(data: bytes) -> Document:
    """Return the text of a PDF, a heading before each page.

    Raises:
        ReadError: it is encrypted, or broken beyond reading.
    """
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            text = "The PDF is encrypted and opens only with a password."
            raise ReadError(text)
        return _read(reader)
    except (PyPdfError, ValueError, KeyError, TypeError, RecursionError, OSError) as error:
        text = f"The PDF cannot be read: {type(error).__name__}: {str(error)[:200]}."
        raise ReadError(text) from error


def _read(reader: Any) -> Document:
    until = time.monotonic() + _SECONDS
    total = len(reader.pages)
    parts: list[str] = []
    pages: list[Page] = []
    notes: list[str] = []
    length = empty = 0
    for number, page in enumerate(reader.pages, start=1):
        if number > _MOST_PAGES or length > _MOST_CHARACTERS or time.monotonic() > until:
            notes.append("pages_left_out")
            break
        text = _page(page)
        empty += not text
        part = f"## Page {number} of {total}\n\n{text or '(no text on this page)'}\n\n"
        pages.append(Page(number, length))
        parts.append(part)
        length += len(part)
    if pages and empty == len(pages):
        notes.append("no_text_perhaps_scanned")
    about = reader.metadata or {}
    return Document(
        kind="pdf",
        text="".join(parts).rstrip(),
        title=_said(about, "/Title"),
        author=_said(about, "/Author"),
        published=_date(_said(about, "/CreationDate")),
        modified=_date(_said(about, "/ModDate")),
        pages=tuple(pages),
        notes=tuple(notes),
    )


def _page(page: Any) -> str:
    try:
        return str(page.extract_text() or "").strip()
    except Exception as error:  # noqa: BLE001 - one broken page does not hide the others
        return f"(this page cannot be read: {type(error).__name__})"


def _said(about: Any, key: str) -> str | None:
    value = about.get(key)
    return " ".join(str(value).split())[:500] or None if value else None


def _date(text: str | None) -> str | None:
    """Return ``D:20240131…`` as an ISO date."""
    digits = (text or "").removeprefix("D:")[:8]
    if len(digits) < 8 or not digits.isdigit():
        return None
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}"
