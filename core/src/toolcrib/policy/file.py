"""Read a policy file: every problem with its file, line and key."""

from __future__ import annotations

import hashlib
import re
import tomllib

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from toolcrib import places
from toolcrib.errors import PolicyError

from .tomllines import lines_of
from .value import Policy
from .values import BadValue, Notice, dotted, table, unknown_key


__all__ = ["PolicyDocument", "read"]

# More than any person writes; a device or a log file given by mistake ends here.
_LARGEST = 4 << 20
_AT_LINE = re.compile(r"at line (\d+)")

# Key of the file → field of the policy.
_KEYS = {
    "packs": "packs",
    "owners": "owners",
    "mode": "mode",
    "rules": "rules",
    "override": "overrides",
    "rename": "renames",
    "hide": "hide",
    "projectors": "projectors",
    "guards": "guards",
    "reviewers": "reviewers",
    "observers": "observers",
    "directives": "directives",
    "flags": "flags",
    "deferral": "defer",
    "optional_repairs": "optional_repairs",
    "timeout": "timeout",
    "result_budget": "result_budget",
    "batch_budget": "batch_budget",
    "limits": "limits",
    "retry": "retry",
    "durability": "durability",
    "ledger": "ledger",
    "state": "state",
    "pack": "settings",
    "secrets": "secrets",
    "forbid_labels": "forbid_labels",
    "vocabulary": "vocabulary",
    "valid_id": "valid_id",
    "isolate": "isolate",
    "allow_async": "allow_async",
}
_DEFERRAL = {"enabled": "defer", "always_loaded": "always_loaded"}
_NEVER = {
    "develop": "is for --develop and Policy(develop=True) only, so that no file can "
    "lower the guard for good",
    "local": "holds Python objects; pass them as Policy(local=[...])",
    "trusted": "is decided with 'toolcrib rules trust', not by the file itself",
    "workspace": "is where the session works; pass it as an argument",
}


@attrs.frozen
class PolicyDocument:
    """A policy file, read and checked.

    Attributes:
        file: Where it is.
        digest: Digest of its bytes; what trust is given to.
        fields: Fields of :class:`Policy` that it sets.
        lines: Path of a key → line.
    """

    file: Path
    digest: str
    fields: Mapping[str, Any]
    lines: Mapping[tuple[str | int, ...], int]

    def notice(self, text: str, *path: str | int) -> Notice:
        """Return a notice about one key of the file."""
        return Notice(text, self.file, _line(self.lines, path), dotted(path))


def read(file: Path) -> PolicyDocument:
    """Read and check a policy file.

    Raises:
        PolicyError: the first problem by line; the others are notes on it.
    """
    data = _bytes(file)
    text = _decoded(file, data)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _AT_LINE.search(str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        reason = f"is not TOML: {error}"
        raise PolicyError(reason, file=file, line=line) from None
    except RecursionError:
        reason = "is nested too deeply"
        raise PolicyError(reason, file=file) from None
    lines = lines_of(text.replace("\r\n", "\n"))
    reader = _Reader(file, lines)
    fields = dict(reader.fields(document))
    reader.finish()
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    return PolicyDocument(file, digest, fields, lines)


def _bytes(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
        raise PolicyError(reason, file=file) from None
    if len(data) > _LARGEST:
        reason = f"is larger than {_LARGEST} bytes"
        raise PolicyError(reason, file=file)
    return data


def _decoded(file: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        reason = f"is not UTF-8 text (byte {data[error.start]:#04x})"
        raise PolicyError(reason, file=file, line=line) from None


class _Reader:
    """Turns a document into fields, and keeps every problem."""

    def __init__(self, file: Path, lines: Mapping[tuple[str | int, ...], int]) -> None:
        self._file = file
        self._lines = lines
        self._problems: list[PolicyError] = []

    def fields(self, document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Give each field that the document sets."""
        for key, value in document.items():
            if key in _NEVER:
                self._bad(BadValue(_NEVER[key], key))
            elif key not in _KEYS:
                self._bad(unknown_key(key, _KEYS))
            elif key == "deferral":
                yield from self._deferral(value)
            elif key == "rules":
                yield key, self._rules(value)
            else:
                yield from self._field(_KEYS[key], self._absolute(key, value))

    def finish(self) -> None:
        """Raise the first problem, if there is one, with the others as notes."""
        if not self._problems:
            return
        first, *others = sorted(self._problems, key=lambda p: p.line or 0)
        for other in others:
            first.add_note(str(other))
        raise first

    def _field(self, name: str, value: Any, *outer: str) -> Iterator[tuple[str, Any]]:
        try:
            # One field alone, so that every wrong one is found, not only the first.
            yield name, getattr(Policy(**{name: value}), name)
        except BadValue as error:
            self._bad(error if not outer else BadValue(error.text, *outer, *error.path[1:]))

    def _deferral(self, value: Any) -> Iterator[tuple[str, Any]]:
        try:
            items = table(value).items()
        except BadValue as error:
            self._bad(error.under("deferral"))
            return
        for key, item in items:
            if key in _DEFERRAL:
                yield from self._field(_DEFERRAL[key], item, "deferral", key)
            else:
                self._bad(unknown_key(key, _DEFERRAL).under("deferral"))

    def _rules(self, value: Any) -> tuple[Any, ...]:
        from toolcrib.rules import parse  # noqa: PLC0415 - only for files that have rules

        if not isinstance(value, list):
            self._bad(BadValue("must be an array of rules", "rules"))
            return ()
        rules = []
        for index, text in enumerate(value):
            line = _line(self._lines, ("rules", index))
            if not isinstance(text, str):
                self._bad(BadValue("must be text, such as 'ask web.*'", "rules", index))
                continue
            try:
                rules.append(parse(text, file=self._file, line=line))
            except PolicyError as error:
                error.file, error.line = self._file, line
                self._problems.append(error)
        return tuple(rules)

    def _absolute(self, key: str, value: Any) -> Any:
        """Take relative paths from the folder of the file."""
        if key in {"ledger", "state"} and isinstance(value, str) and value.strip():
            return self._file.parent.absolute() / places.expanded(Path(value))
        if key == "secrets" and isinstance(value, Mapping):
            return {name: self._secret(binding) for name, binding in value.items()}
        return value

    def _secret(self, binding: Any) -> Any:
        if isinstance(binding, Mapping) and isinstance(binding.get("file"), str):
            file = places.expanded(Path(binding["file"]))
            return {**binding, "file": self._file.parent.absolute() / file}
        return binding

    def _bad(self, error: BadValue) -> None:
        line = _line(self._lines, error.path)
        self._problems.append(
            PolicyError(error.text, file=self._file, line=line, key=error.key)
        )


def _line(
    lines: Mapping[tuple[str | int, ...], int], path: tuple[str | int, ...]
) -> int | None:
    # A missing key has no line of its own: its table has.
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path)
