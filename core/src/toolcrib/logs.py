"""Loggers of packs and of single calls; no secret that was given out passes them.

They are no entries of the logging module's own table: a logger by name is shared by all
toolboxes of a process and never goes away. Handlers, levels and filters are those of the
named logger above, so an application sets them where it is used to.
"""

from __future__ import annotations

import logging
import traceback

from collections.abc import Callable
from typing import Any, Protocol


__all__ = ["PackLogger", "Scrubs", "scoped"]

# What every record has; anything else came in by ``extra``.
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class Scrubs(Protocol):
    """Takes secrets out of what is said; see :class:`toolcrib.secrets.Scrubber`."""

    def text(self, text: str) -> str:
        """Return a text without secrets."""

    def value(self, value: Any) -> Any:
        """Return a JSON value without secrets."""


def _no_secrets() -> None:
    """Return that there are no secrets."""


class PackLogger(logging.Logger):
    """A logger whose records are scrubbed before any handler or filter sees them."""

    def __init__(
        self,
        name: str,
        above: logging.Logger,
        scrubs: Callable[[], Scrubs | None] = _no_secrets,
    ) -> None:
        """Make a logger.

        Args:
            name: What its records are called.
            above: The logger whose level and handlers it has.
            scrubs: Returns what knows the secrets by now, or None.
        """
        super().__init__(name)
        self.parent = above
        self._scrubs = scrubs

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - logging's name
        """Tell whether a record of a level would be handled."""
        # Without logging's cache, which only loggers in its table are told to forget.
        return self.manager.disable < level and level >= self.getEffectiveLevel()

    def getChild(self, suffix: str) -> PackLogger:  # noqa: N802 - logging's name
        """Return a new logger below this one."""
        return PackLogger(f"{self.name}.{suffix}", self, self._scrubs)

    def handle(self, record: logging.LogRecord) -> None:
        """Scrub a record and hand it to the handlers."""
        scrubs = self._scrubs()
        if scrubs is not None:
            _scrub(record, scrubs)
        super().handle(record)


def scoped(above: logging.Logger, suffix: str) -> logging.Logger:
    """Return a new logger below another, as careful as that one."""
    if isinstance(above, PackLogger):
        return above.getChild(suffix)
    return PackLogger(f"{above.name}.{suffix}", above)


def _scrub(record: logging.LogRecord, scrubs: Scrubs) -> None:
    """Take secrets out of a record; what holds none stays as it is."""
    said = _said(record)
    clean = scrubs.text(said)
    if clean != said:
        record.msg, record.args = clean, ()
    elif record.args:
        _scrub_arguments(record, scrubs)
    if record.exc_info:
        told = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        clean = scrubs.text(told)
        if clean != told:
            # A handler that is given the exception itself would show it.
            record.exc_info, record.exc_text = None, clean
    if record.stack_info:
        record.stack_info = scrubs.text(record.stack_info)
    for name in record.__dict__.keys() - _OWN:
        record.__dict__[name] = _clean(record.__dict__[name], scrubs)


def _said(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - the handler will say what is wrong with it
        return str(record.msg)


def _scrub_arguments(record: logging.LogRecord, scrubs: Scrubs) -> None:
    """Handlers that keep the arguments apart see no more than the text says."""
    if isinstance(record.args, tuple):
        record.args = tuple(_clean(each, scrubs) for each in record.args)
    elif record.args is not None:
        record.args = {key: _clean(each, scrubs) for key, each in record.args.items()}


def _clean(value: Any, scrubs: Scrubs) -> Any:
    """Return JSON-like values scrubbed, and others as text if their text holds a secret."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str | dict | list):
        return scrubs.value(value)
    try:
        said = f"{value!s} {value!r}"
    except Exception:  # noqa: BLE001 - what cannot be shown shows nothing
        return value
    return value if scrubs.text(said) == said else scrubs.text(str(value))
