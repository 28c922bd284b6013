"""The types that travel as text: how they are described, read and written.

Reading is exact. A text that is not in the form is refused; nothing is guessed.
"""

from __future__ import annotations

import base64
import binascii
import re

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import Any
from uuid import UUID

import attrs


__all__ = ["TEXT_FORMS", "TextForm", "text_form"]


@attrs.frozen
class TextForm:
    """How one type travels as text.

    Attributes:
        what: Its name in a sentence.
        schema: Its JSON Schema.
        read: From text; raises ``ValueError``.
        write: To text.
    """

    what: str
    schema: dict[str, Any]
    read: Callable[[str], Any]
    write: Callable[[Any], str]


_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = r"\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?"
_CLOCK = re.compile(_TIME, re.ASCII)
_MOMENT = re.compile(rf"\d{{4}}-\d\d-\d\d[T ]{_TIME}", re.ASCII)
_DECIMAL = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?", re.ASCII)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
_DURATION = re.compile(
    r"(?P<sign>-)?P(?=.)(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?"
    r"(?:T(?=.)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?"
    r"(?:(?P<seconds>\d+)(?:\.(?P<micro>\d{1,6}))?S)?)?",
    re.ASCII,
)


def _exactly(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.fullmatch(text)
    if found is None:
        message = f"{text[:60]!r} is not in the form"
        raise ValueError(message)
    return found


def _read_date(text: str) -> date:
    return date.fromisoformat(_exactly(_DATE, text).group())


def _read_time(text: str) -> time:
    return time.fromisoformat(_exactly(_CLOCK, text).group())


def _read_datetime(text: str) -> datetime:
    return datetime.fromisoformat(_exactly(_MOMENT, text).group())


def _write_datetime(value: datetime) -> str:
    text = value.isoformat()
    return text[:-6] + "Z" if value.tzinfo is UTC else text


def _read_duration(text: str) -> timedelta:
    part = _exactly(_DURATION, text).groupdict(default="0")
    value = timedelta(
        weeks=int(part["weeks"]),
        days=int(part["days"]),
        hours=int(part["hours"]),
        minutes=int(part["minutes"]),
        seconds=int(part["seconds"]),
        microseconds=int(part["micro"].ljust(6, "0")),
    )
    return -value if part["sign"] == "-" else value


def _write_duration(value: timedelta) -> str:
    sign, value = ("-", -value) if value < timedelta() else ("", value)
    days = f"{value.days}D" if value.days else ""
    fraction = f".{value.microseconds:06d}".rstrip("0") if value.microseconds else ""
    seconds = f"T{value.seconds}{fraction}S" if value.seconds or fraction or not days else ""
    return f"{sign}P{days}{seconds}"


def _read_decimal(text: str) -> Decimal:
    return Decimal(_exactly(_DECIMAL, text).group())


def _write_decimal(value: Decimal) -> str:
    if not value.is_finite():
        message = f"{value} has no decimal form"
        raise ValueError(message)
    return format(value, "f")


def _read_uuid(text: str) -> UUID:
    return UUID(_exactly(_UUID, text).group())


def _read_bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise ValueError(str(error)) from error


def _write_bytes(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def _text(**keywords: str) -> dict[str, Any]:
    return {"type": "string", **keywords}


TEXT_FORMS: dict[type, TextForm] = {
    datetime: TextForm(
        "a date and time such as 2026-01-31T09:30:00Z",
        _text(format="date-time"),
        _read_datetime,
        _write_datetime,
    ),
    date: TextForm("a date such as 2026-01-31", _text(format="date"), _read_date, str),
    time: TextForm("a time such as 09:30:00", _text(format="time"), _read_time, str),
    timedelta: TextForm(
        "a duration such as PT1H30M", _text(format="duration"), _read_duration, _write_duration
    ),
    UUID: TextForm("a UUID", _text(format="uuid"), _read_uuid, str),
    Decimal: TextForm(
        "a decimal number in quotes",
        _text(pattern=r"^[+-]?[0-9]+(\.[0-9]+)?$"),
        _read_decimal,
        _write_decimal,
    ),
    bytes: TextForm("base64 text", _text(contentEncoding="base64"), _read_bytes, _write_bytes),
}


def text_form(kind: type) -> TextForm | None:
    """Return how a type travels as text, or None if it does not."""
    form = TEXT_FORMS.get(kind)
    if form is None and isinstance(kind, type) and issubclass(kind, PurePath):
        return TextForm("a path", _text(format="path"), _path_reader(kind), str)
    return form


def _path_reader(kind: type[PurePath]) -> Callable[[str], PurePath]:
    def read(text: str) -> PurePath:
        if "\0" in text:
            message = "a path cannot hold a null character"
            raise ValueError(message)
        return kind(text)

    return read
