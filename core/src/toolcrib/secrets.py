"""Secrets: handles bound to a tool and a destination, and a scrubber as the backstop.

A secret never passes through arguments, so the model cannot see, choose or move it.
Policy says where it comes from, which tools may have it and to which hosts it may go;
the handler asks for it by name. Scrubbing what comes out is only for the case that a
tool, or an error of a library below it, says a secret aloud.
"""

from __future__ import annotations

import base64
import fnmatch
import html
import importlib
import os
import re

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, quote_plus, urlsplit

import attrs

from . import canonical
from .errors import RecordError, Unavailable
from .outcome import Json, Link, Outcome, Result, Text
from .ownership import check_private_file


__all__ = ["Binding", "Scrubber", "SecretHandle", "SecretStore", "ToolSecrets"]

#: Shorter values would blot out ordinary text.
_SHORTEST = 6
_LARGEST_FILE = 1 << 16
# How texts of exceptions are shortened, before anybody knows what is secret in them.
_CUT_WORDS = " characters left out] "
_CUT = re.compile(r"( \[\d+ characters left out\] )")
#: Shorter parts of a secret, beside a cut, tell little and may be anything.
_SMALLEST_PART = 4
_LARGEST_PART = 8_000  # no text that is cut keeps more than that


class Binding(Protocol):
    """Where a secret comes from, and who may have it; policy's ``SecretBinding``."""

    @property
    def env(self) -> str | None:
        """The environment variable that holds it, or None."""

    @property
    def file(self) -> Path | None:
        """The file (mode 0600) whose content it is, or None."""

    @property
    def tools(self) -> Sequence[str]:
        """Ids of the tools that may have it; ``*`` stands for any characters."""

    @property
    def destinations(self) -> Sequence[str]:
        """Hosts it may be sent to; empty: the tool need not name one."""


@attrs.frozen
class SecretHandle:
    """The right of one tool to one secret, for one destination; shows nothing itself."""

    name: str
    tool_id: str
    destination: str | None
    _reveal: Callable[[], str] = attrs.field(repr=False, eq=False)

    def reveal(self) -> str:
        """Return the value.

        Raises:
            Unavailable: its source has none (``secret.unavailable``).
        """
        return self._reveal()

    def __str__(self) -> str:
        return f"<secret {self.name}>"


class SecretStore:
    """The secrets that policy binds.

    Args:
        bindings: Secret's name → binding. A binding may have an attribute ``keyring``,
            ``"service/user"``, for the keyring of the system.
        environ: Where variables are looked up.
        scrubber: Learns each value that is given out.
    """

    def __init__(
        self,
        bindings: Mapping[str, Binding],
        *,
        environ: Mapping[str, str] | None = None,
        scrubber: Scrubber | None = None,
    ) -> None:
        self._bindings = dict(bindings)
        self._environ = os.environ if environ is None else environ
        self.scrubber = scrubber or Scrubber()

    def for_tool(self, tool_id: str) -> ToolSecrets:
        """Return the secrets as one tool sees them."""
        return ToolSecrets(self, tool_id)

    def handle(
        self, name: str, *, tool_id: str, destination: str | None = None
    ) -> SecretHandle:
        """Return a handle of a secret for a tool and a destination.

        Raises:
            Unavailable: policy binds no such secret to them (``secret.unavailable``).
                Whether a secret of that name exists for others is not told.
        """
        binding = self._bindings.get(name)
        if (
            binding is None
            or not any(fnmatch.fnmatchcase(tool_id, pattern) for pattern in binding.tools)
            or not _may_go(destination, binding.destinations)
        ):
            where = "" if destination is None else f" for {_host(destination) or destination!r}"
            text = (
                f"Policy binds no secret {name!r} to {tool_id}{where}. The user can add it "
                "under [secrets] in toolcrib.toml."
            )
            raise _unavailable(text)
        found = binding
        return SecretHandle(name, tool_id, destination, lambda: self._value(name, found))

    def _value(self, name: str, binding: Binding) -> str:
        keyring = getattr(binding, "keyring", None)
        if binding.env is not None:
            value = self._environ.get(binding.env, "")
            where = f"environment variable {binding.env}"
        elif binding.file is not None:
            value, where = _from_file(name, binding.file), f"file {binding.file}"
        elif keyring is not None:
            value, where = _from_keyring(name, keyring), f"keyring entry {keyring}"
        else:
            value, where = "", "its binding"
        if not value:
            text = f"Secret {name!r} is empty or missing in {where}. The user must set it."
            raise _unavailable(text)
        self.scrubber.add(name, value)
        return value


class ToolSecrets:
    """The secrets of one tool; what ``ctx.secret`` asks."""

    def __init__(self, store: SecretStore, tool_id: str) -> None:
        self._store = store
        self._tool_id = tool_id

    async def get(self, name: str, *, destination: str | None = None) -> str:
        """Return a secret's value for this tool.

        Raises:
            Unavailable: no such secret for this tool and destination.
        """
        handle = self._store.handle(name, tool_id=self._tool_id, destination=destination)
        return handle.reveal()


class Scrubber:
    """Replaces known secrets in whatever leaves a tool; the backstop, not the wall.

    Found are the values themselves, and their percent-encoded, Base64 and JSON forms.
    A secret that a tool splits, hashes or encrypts is not found.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None

    def __bool__(self) -> bool:
        return bool(self._names)

    def add(self, name: str, value: str) -> None:
        """Learn a secret; very short ones are not scrubbed."""
        if value in self._names or len(value) < _SHORTEST:
            return
        names = dict(self._names)
        names.update(dict.fromkeys(_forms(value), name))
        longest_first = sorted(names, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))
        self._names = names

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        if self._pattern is None:
            return text
        names = self._names
        text = self._pattern.sub(lambda found: f"[secret {names[found[0]]}]", text)
        return self._beside_cuts(text) if _CUT_WORDS in text else text

    def _beside_cuts(self, text: str) -> str:
        """Take away what a cut through the middle of a secret left on its two sides."""
        pieces = _CUT.split(text)
        for i in range(0, len(pieces) - 2, 2):
            for form, name in self._names.items():
                longest = min(len(form) - 1, _LARGEST_PART)
                for size in range(longest, _SMALLEST_PART - 1, -1):
                    if pieces[i].endswith(form[:size]):
                        pieces[i] = f"{pieces[i][:-size]}[secret {name}]"
                        break
                for size in range(longest, _SMALLEST_PART - 1, -1):
                    if pieces[i + 2].startswith(form[-size:]):
                        pieces[i + 2] = f"[secret {name}]{pieces[i + 2][size:]}"
                        break
        return "".join(pieces)

    def value(self, value: canonical.JsonValue) -> canonical.JsonValue:
        """Return a JSON value without secrets, keys included."""
        if not self._names:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {
                self.text(k) if isinstance(k, str) else k: self.value(v)
                for k, v in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        return value

    def exception(self, error: BaseException) -> str:
        """Return an exception's text without secrets."""
        return self.text(f"{type(error).__name__}: {error}")

    def outcome(self, outcome: Outcome) -> Outcome:
        """Return an outcome without secrets: text, details, result, notes."""
        if not self._names:
            return outcome
        return attrs.evolve(
            outcome,
            text=self.text(outcome.text),
            details=self.value(outcome.details),
            result=self.result(outcome.result),
        )

    def result(self, result: Result) -> Result:
        """Return a result without secrets; images, sound and files are left as they are."""
        directives = (attrs.evolve(d, value=self.value(d.value)) for d in result.directives)
        return attrs.evolve(
            result,
            summary=self.text(result.summary),
            content=tuple(self._block(block) for block in result.content),
            structured=self.value(result.structured),
            metadata=self.value(result.metadata),
            notes=tuple(self.text(note) for note in result.notes),
            directives=tuple(directives),
        )

    def _block(self, block: Any) -> Any:
        if isinstance(block, Text):
            return Text(self.text(block.text))
        if isinstance(block, Json):
            return Json(self.value(block.value))
        if isinstance(block, Link):
            title = None if block.title is None else self.text(block.title)
            return attrs.evolve(block, uri=self.text(block.uri), title=title)
        name = "name" if hasattr(block, "name") else "title"
        label = getattr(block, name, None)
        return block if label is None else attrs.evolve(block, **{name: self.text(label)})


def _forms(value: str) -> Iterable[str]:
    """Give the spellings of a value that come up by themselves."""
    data = value.encode(errors="surrogatepass")
    yield value
    yield canonical.dumps(value)[1:-1]
    yield quote(data, safe="")
    yield quote_plus(data)
    yield quote(data, safe="").lower()
    yield html.escape(value)
    # As Python writes it, in the text of an exception for one.
    yield from (repr(value)[1:-1], ascii(value)[1:-1], repr(data)[2:-1])
    yield from (data.hex(), data.hex().upper())
    whole = base64.b64encode(data).decode().rstrip("=")
    for text in (whole, *(_in_base64(data, before) for before in range(3))):
        if len(text) >= _SHORTEST:
            yield from (text, text.translate(_URL_SAFE))


_URL_SAFE = str.maketrans("+/", "-_")


def _in_base64(data: bytes, before: int) -> str:
    """Return the letters that are the same whatever stands around bytes, as in ``user:key``.

    Args:
        data: The bytes.
        before: How many bytes stand before them, in groups of three.
    """
    text = base64.b64encode(bytes(before) + data).decode()
    return text[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]


def _may_go(destination: str | None, allowed: Sequence[str]) -> bool:
    if not allowed:
        return True
    host = None if destination is None else _host(destination)
    return host is not None and any(
        host == pattern.lower()
        or (pattern.startswith("*.") and host.endswith(pattern[1:].lower()))
        for pattern in allowed
    )


def _host(destination: str) -> str | None:
    """Return the host of an address or of ``host:port``, in lower case."""
    text = destination if "//" in destination else f"//{destination}"
    try:
        host = urlsplit(text).hostname
    except ValueError:
        return None
    return host.rstrip(".") if host else None


def _unavailable(text: str) -> Unavailable:
    return Unavailable(text, code="secret.unavailable")


def _from_file(name: str, path: Path) -> str:
    try:
        if check_private_file(path) is None:
            return ""
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
        if len(data) > _LARGEST_FILE:
            text = f"The file of secret {name!r} is larger than {_LARGEST_FILE} bytes."
            raise _unavailable(text)
        return data.decode().rstrip("\r\n")
    except RecordError as error:
        text = f"Secret {name!r} is not used, for its file is not safe: {error}"
        raise _unavailable(text) from error
    except (OSError, UnicodeDecodeError) as error:
        text = f"The file of secret {name!r} cannot be read: {type(error).__name__}."
        raise _unavailable(text) from error


def _from_keyring(name: str, entry: str) -> str:
    service, _, user = entry.partition("/")
    try:
        keyring: Any = importlib.import_module("keyring")  # optional: few users have it
        return str(keyring.get_password(service, user) or "")
    except ImportError as error:
        text = f"Secret {name!r} is in the keyring; install it: pip install keyring"
        raise _unavailable(text) from error
    except Exception as error:  # a locked keyring raises errors of its own
        text = f"The keyring does not give secret {name!r}: {type(error).__name__}."
        raise _unavailable(text) from error
