"""What an operator configures: the table ``[pack.lsp]`` of the policy file."""

from __future__ import annotations

import json

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from toolcrib import Unavailable

from .positions import ENCODINGS
from .servers import KNOWN, ServerSpec


__all__ = ["Settings", "read"]

_MOST_SERVERS = 32
_MOST_WORDS = 128
_MOST_JSON = 256 * 1024


@attrs.frozen(kw_only=True)
class Settings:
    """The configuration of one toolbox.

    Attributes:
        specs: Every server by name, the table's with the operator's changes.
        chosen: Language → names of its servers, in order; others are found by the table.
        extensions: End of a file's name → language.
        idle: Seconds after which a server that nobody asks is stopped.
        start: Seconds that a server may take to start.
        request: Seconds for one answer.
        restarts: How often in ten minutes a server that died is started again.
        most_open: Documents that a server is kept open at once.
    """

    specs: Mapping[str, ServerSpec]
    chosen: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)
    extensions: Mapping[str, str] = attrs.field(factory=dict)
    idle: float = 600.0
    start: float = 20.0
    request: float = 30.0
    restarts: int = 3
    most_open: int = 100


def read(table: Mapping[str, Any]) -> Settings:
    """Return what a table says.

    Raises:
        Unavailable: with every problem of it.
    """
    reader = _Reader()
    settings = reader.settings(table)
    if reader.problems:
        text = "The table [pack.lsp] of the policy cannot be used: " + "; ".join(
            reader.problems
        )
        raise Unavailable(text + ". Ask a person to correct it.", code="lsp.settings")
    return settings


class _Reader:
    def __init__(self) -> None:
        self.problems: list[str] = []

    def settings(self, table: Mapping[str, Any]) -> Settings:
        numbers: dict[str, Any] = {}
        bounds = {"idle": 1, "start": 1, "request": 1, "restarts": 0, "most_open": 1}
        known = {*bounds, "servers", "languages", "extensions"}
        self._unknown(table, known, "")
        for name, least in bounds.items():
            value = table.get(name)
            if value is None:
                continue
            whole = name in {"restarts", "most_open"}
            if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
                self.problems.append(f"{name} is no number")
            elif not least <= value <= 86400:
                self.problems.append(f"{name} lies outside of {least} to 86400")
            else:
                numbers[name] = value
        specs = {spec.name: spec for spec in KNOWN}
        servers = self._table(table, "servers")
        if len(servers) > _MOST_SERVERS:
            self.problems.append(f"servers holds more than {_MOST_SERVERS}")
        for name, given in servers.items():
            made = self._server(name, given, specs.get(name))
            if made is not None:
                specs[name] = made
        chosen = {
            language: self._chosen(language, names, specs)
            for language, names in self._table(table, "languages").items()
        }
        extensions = self._extensions(self._table(table, "extensions"))
        return Settings(specs=specs, chosen=chosen, extensions=extensions, **numbers)

    def _unknown(self, table: Mapping[str, Any], known: set[str], where: str) -> None:
        for key in sorted(set(table) - known):
            self.problems.append(
                f"{where}{key} is not known; there are {', '.join(sorted(known))}"
            )

    def _table(self, table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        value = table.get(key, {})
        if isinstance(value, Mapping):
            return value
        self.problems.append(f"{key} is no table")
        return {}

    def _chosen(
        self, language: str, names: Any, specs: Mapping[str, ServerSpec]
    ) -> tuple[str, ...]:
        if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
            self.problems.append(f"languages.{language} is no list of servers")
            return ()
        for name in names:
            if name not in specs:
                self.problems.append(f"languages.{language} names {name!r}, which is no server")
            elif language not in specs[name].languages:
                self.problems.append(f"languages.{language}: {name} does not serve {language}")
        return tuple(names)

    def _extensions(self, table: Mapping[str, Any]) -> dict[str, str]:
        for end, language in table.items():
            if not end.startswith(".") or not isinstance(language, str):
                self.problems.append(f"extensions.{end!r} is not '.end = \"language\"'")
        return {end.lower(): str(language) for end, language in table.items()}

    def _server(self, name: str, given: Any, known: ServerSpec | None) -> ServerSpec | None:
        where = f"servers.{name}"
        if not isinstance(given, Mapping):
            self.problems.append(f"{where} is no table")
            return None
        readers: dict[str, Callable[[Any], Any]] = {
            "command": _words,
            "languages": _words,
            "roots": _words,
            "edit_commands": lambda v: frozenset(_words(v)),
            "told_commands": lambda v: frozenset(_words(v)),
            "install": _text,
            "slot": _slot,
            "trust": _trust,
            "options": _json,
            "settings": _json,
            "env": _env,
            "settle": _seconds,
            "opening": _seconds,
            "quiet": _seconds,
            "counts": _encoding,
        }
        self._unknown(given, set(readers), f"{where}.")
        fields: dict[str, Any] = {}
        for key, reader in readers.items():
            if key in given:
                try:
                    fields[key] = reader(given[key])
                except (TypeError, ValueError) as error:
                    self.problems.append(f"{where}.{key} {error}")
        if known is not None:
            return attrs.evolve(known, **fields)
        missing = [key for key in ("command", "languages") if key not in fields]
        if missing:
            self.problems.append(f"{where} lacks {' and '.join(missing)}")
            return None
        # Nobody has looked at what an unknown server runs.
        fields.setdefault("trust", "nobody has said that it runs no code of the workspace")
        return ServerSpec(name=name, **fields)


def _words(value: Any) -> tuple[str, ...]:
    good = isinstance(value, list) and 0 < len(value) <= _MOST_WORDS
    if not good or not all(isinstance(word, str) and word for word in value):
        text = f"is no list of 1 to {_MOST_WORDS} texts"
        raise ValueError(text)
    return tuple(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        text = "is no text"
        raise TypeError(text)
    return value


def _slot(value: Any) -> str:
    if value not in {"main", "lint"}:
        text = "is neither 'main' nor 'lint'"
        raise ValueError(text)
    return str(value)


def _encoding(value: Any) -> str:
    if value not in ENCODINGS:
        text = f"is none of {', '.join(ENCODINGS)}"
        raise ValueError(text)
    return str(value)


def _trust(value: Any) -> str:
    if value is False:
        return ""
    if value is True:
        return "the policy says so"
    return _text(value)


def _json(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        text = "is no table"
        raise TypeError(text)
    if len(json.dumps(value, default=str)) > _MOST_JSON:
        text = f"is larger than {_MOST_JSON:,} bytes"
        raise ValueError(text)
    return dict(value)


def _env(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(isinstance(v, str) for v in value.values()):
        text = "is no table of texts"
        raise TypeError(text)
    return dict(value)


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 60:
        text = "is no number of seconds from 0 to 60"
        raise ValueError(text)
    return float(value)
