"""The manifest of a pack: what it contributes, readable without running any of it.

``toolcrib.json`` is UTF-8 JSON in the pack's package, written by ``toolcrib manifest``::

    {
      "api": 1,                       the generation of the format and of the hooks
      "pack": "weather",              the pack's id
      "title": "Weather",
      "version": "1",                 the author's, free text
      "hooks": ["toolcrib_tools"],    the hooks that its code answers
      "requires": {"executables": [], "capabilities": [], "flags": []},
      "groups": [{"name": "…", "help": "…", "target": "module:attribute"}],
      "tools": [{"name": "forecast", "description": {"summary": "…"},
                 "input_schema": {"type": "object", …}, "effects": ["net_read"], …}]
    }

``api pack tools`` are required; :data:`MANIFEST_SCHEMA` says the rest. Every object is
closed: an unknown word may be what a newer core would refuse by, so it is never skipped.
A wrong entry withholds its tool alone. A later, incompatible format has another ``api``.
"""

from __future__ import annotations

import functools
import json
import re

from collections import Counter
from collections.abc import Iterable
from typing import Any

import attrs

from toolcrib import canonical
from toolcrib.codes import refuse
from toolcrib.errors import ManifestError
from toolcrib.names import closest, is_pack_id, is_tool_name
from toolcrib.outcome import Refusal
from toolcrib.tool import Requirements, Tool

from .form import (
    FormError,
    read_keys,
    read_requires,
    read_text,
    read_texts,
    read_tool,
    write_requires,
    write_tool,
)
from .schema import API, HOOKS, MANIFEST_SCHEMA


__all__ = [
    "API",
    "FILE_NAME",
    "MANIFEST_SCHEMA",
    "CommandGroup",
    "PackManifest",
    "dump",
    "interface_digest",
    "is_reference",
    "read",
]

FILE_NAME = "toolcrib.json"
_MOST_BYTES = 1 << 24

_REFERENCE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def is_reference(text: str) -> bool:
    """Tell whether a text has the form ``module:attribute``."""
    return _REFERENCE.fullmatch(text) is not None


@attrs.frozen
class CommandGroup:
    """A group of the command line that a pack adds.

    ``target`` is the ``module:attribute`` of its click group, imported when it is used.
    """

    name: str
    help: str
    target: str


# Slots are off because the digest is computed once, on demand.
@attrs.frozen(kw_only=True, eq=False, slots=False)
class PackManifest:
    """What a manifest says.

    Attributes:
        pack: The pack's id.
        title: Name for people.
        api: The generation that it is written in.
        version: Free text of the author.
        tools: The tools, in the author's order; without those withheld.
        hooks: Names of the hooks that the pack's code answers.
        groups: What it adds to the command line.
        requires: What must be there for the pack as a whole.
        withheld: Why tools of the manifest are not among ``tools``.
        digest: Digest of the manifest's bytes.
    """

    pack: str
    title: str
    api: int = API
    version: str = "1"
    tools: tuple[Tool, ...] = ()
    hooks: frozenset[str] = frozenset()
    groups: tuple[CommandGroup, ...] = ()
    requires: Requirements = attrs.field(factory=Requirements)
    withheld: tuple[Refusal, ...] = ()
    digest: str = ""

    @property
    def sources(self) -> bool:
        """Whether the pack provides live sources of tools."""
        return "toolcrib_sources" in self.hooks

    @functools.cached_property
    def interface_digest(self) -> str:
        """What activation compares with the code; see :func:`interface_digest`."""
        return interface_digest(self.pack, self.tools, self.hooks)


def interface_digest(pack: str, tools: Iterable[Tool], hooks: Iterable[str]) -> str:
    """Return the digest of what a pack's code and manifest must agree on.

    Names of tools, parameters, companions and hooks, which parameters are required,
    effects and idempotence. Not prose and not schema text: docstrings vanish under
    ``python -OO``, and generators change between releases.
    """
    return canonical.digest(
        {
            "pack": pack,
            "hooks": sorted(hooks),
            "tools": sorted((tool.interface() for tool in tools), key=lambda t: str(t["id"])),
        }
    )


def read(data: bytes, *, subject: str) -> PackManifest:
    """Read a manifest.

    Args:
        data: Its bytes.
        subject: Whose it is, such as ``toolcrib-web 1.2.0``; for messages.

    Raises:
        ManifestError: it cannot be used as a whole; its ``code`` says why.
    """
    try:
        # The depth is bounded where it can be deep, in schemas and examples.
        value = canonical.loads(data, max_bytes=_MOST_BYTES, max_depth=1 << 30)
    except (ValueError, RecursionError) as error:
        text = (
            f"{subject}: {FILE_NAME} is no JSON: {error}. "
            "Write it with `toolcrib manifest write`."
        )
        raise ManifestError(text) from error
    _check_api(value, subject)
    try:
        found = read_keys(value, _MANIFEST, ("api", "pack", "tools"))
    except FormError as error:
        text = f"{subject}: {FILE_NAME} at {error}. Write it with `toolcrib manifest write`."
        raise ManifestError(text) from None
    tools, withheld = _tools(found.pop("tools"), found["pack"], subject)
    found.setdefault("title", found["pack"].replace("-", " ").capitalize())
    digest = canonical.digest_bytes(data)
    return PackManifest(tools=tools, withheld=withheld, digest=digest, **found)


def _check_api(value: Any, subject: str) -> None:
    spoken = value.get("api") if type(value) is dict else None
    if type(spoken) is int and spoken != API:
        text = f"{subject}: {FILE_NAME} speaks api {spoken}, this core speaks {API}. " + (
            "Update toolcrib." if spoken > API else "Update the pack."
        )
        raise ManifestError(text, code="api.unsupported")


def _api(value: Any) -> int:
    if type(value) is not int or value != API:
        text = f"the number {API} is needed"
        raise FormError(text)
    return value


def _pack(value: Any) -> str:
    if type(value) is not str or not is_pack_id(value):
        text = f"{value!r} is outside the grammar of pack ids"
        raise FormError(text)
    return value


def _hooks(value: Any) -> frozenset[str]:
    for index, name in enumerate(read_texts(value)):
        if name not in HOOKS:
            near = closest(name, HOOKS, most=1)
            text = f"there is no hook {name!r}" + (
                f"; did you mean {near[0]!r}?" if near else ""
            )
            raise FormError(text, index)
    return frozenset(value)


def _groups(value: Any) -> tuple[CommandGroup, ...]:
    if type(value) is not list:
        text = "a list is needed"
        raise FormError(text)
    found = []
    for index, each in enumerate(value):
        try:
            found.append(CommandGroup(**read_keys(each, _GROUP, ("name", "help", "target"))))
        except FormError as error:
            raise FormError(error.text, index, *error.path) from None
    return tuple(found)


def _group_name(value: Any) -> str:
    if type(value) is not str or not is_pack_id(value):
        text = f"{value!r} is no name of a command group"
        raise FormError(text)
    return value


def _target(value: Any) -> str:
    if not is_reference(read_text(value)):
        text = f"{value!r} is not module:attribute"
        raise FormError(text)
    return str(value)


def _list(value: Any) -> list[Any]:
    if type(value) is not list:
        text = "a list is needed"
        raise FormError(text)
    return value


_GROUP = {"name": _group_name, "help": read_text, "target": _target}
_MANIFEST = {
    "api": _api,
    "pack": _pack,
    "title": read_text,
    "version": read_text,
    "hooks": _hooks,
    "requires": read_requires,
    "groups": _groups,
    "tools": _list,
}


def _tools(
    entries: list[Any], pack: str, subject: str
) -> tuple[tuple[Tool, ...], tuple[Refusal, ...]]:
    found: list[Tool] = []
    withheld: list[Refusal] = []
    for index, entry in enumerate(entries):
        try:
            tool = read_tool(entry, pack)
        except FormError as error:
            place = FormError(error.text, "tools", index, *error.path)
            name = entry.get("name") if type(entry) is dict else None
            text = f"{subject}: {FILE_NAME} at {place}. The tool is withheld."
            withheld.append(refuse("manifest.invalid", f"{pack}.{name or index}", text))
            continue
        if is_tool_name(tool.id[len(pack) + 1 :]):
            found.append(tool)
        else:
            text = (
                f"{subject}: {tool.id[:200]!r} is outside the grammar of tool names "
                "(lower-case words joined by one underscore). The tool is withheld; "
                "its author must rename it."
            )
            withheld.append(refuse("tool.misnamed", tool.id, text))
    twice = {id for id, n in Counter(t.id for t in found).items() if n > 1}  # noqa: A001
    for each in sorted(twice):
        text = f"{subject}: {each} is declared twice. Both are withheld; one must be renamed."
        withheld.append(refuse("tool.duplicated", each, text))
    return tuple(t for t in found if t.id not in twice), tuple(withheld)


def dump(manifest: PackManifest) -> bytes:
    """Return the bytes of a manifest: the same for the same manifest, everywhere."""
    value: dict[str, Any] = {
        "api": manifest.api,
        "pack": manifest.pack,
        "title": manifest.title,
        "version": manifest.version,
        "hooks": sorted(manifest.hooks),
        "requires": write_requires(manifest.requires),
        "groups": [attrs.asdict(group) for group in manifest.groups],
        "tools": [write_tool(tool) for tool in manifest.tools],
    }
    # The order of parameters is kept: models read it.
    kept = {k: v for k, v in value.items() if v or k == "tools"}
    text = json.dumps(kept, ensure_ascii=False, allow_nan=False, indent=2)
    try:
        return f"{text}\n".encode()
    except UnicodeEncodeError as error:
        message = f"pack {manifest.pack}: a text holds half of a character: {error}"
        raise ManifestError(message) from error
