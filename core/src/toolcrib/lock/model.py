"""What ``toolcrib.lock`` holds, and its text: JSON that diffs line by line."""

from __future__ import annotations

import json

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from toolcrib import canonical
from toolcrib.errors import PolicyError


__all__ = ["FILE_NAME", "Dependency", "Lock", "PackLock"]

FILE_NAME: Final = "toolcrib.lock"
_FORMAT: Final = 1


def _words(value: Iterable[str]) -> tuple[str, ...]:
    return tuple(value)


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    return dict(value)


@attrs.frozen(kw_only=True)
class Dependency:
    """A distribution that a pack needs.

    ``content`` is the digest of what RECORD lists of it, whatever tool installed it.
    """

    version: str
    content: str


@attrs.frozen(kw_only=True)
class PackLock:
    """One pack as it was approved.

    Attributes:
        distribution, version, entry_point: What provides it.
        files: Path below the installation folder → digest, of every file of its
            packages and its metadata.
        content: Digest of what RECORD lists of it.
        dependencies: Distribution → version and content, of all it needs.
        manifest: Digest of the manifest's bytes.
        hooks: The hooks that it answers.
        tools: Tool id → its whole declaration; those of live sources as well.
        sources: The live sources that were approved with their tools.
        volatile: Ids of tools whose definition may change; ``*`` stands for any
            characters. What they may do to the world may not.
    """

    distribution: str
    version: str
    entry_point: str
    files: Mapping[str, str] = attrs.field(converter=_plain)
    content: str
    dependencies: Mapping[str, Dependency] = attrs.field(factory=dict, converter=_plain)
    manifest: str = ""
    hooks: tuple[str, ...] = attrs.field(default=(), converter=_words)
    tools: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict, converter=_plain)
    sources: tuple[str, ...] = attrs.field(default=(), converter=_words)
    volatile: tuple[str, ...] = attrs.field(default=(), converter=_words)


@attrs.frozen
class Lock:
    """All approved packs, by id."""

    packs: Mapping[str, PackLock] = attrs.field(factory=dict, converter=_plain)

    def dumps(self) -> str:
        """Return the text of the file; equal locks have equal texts."""
        value = {"packs": attrs.asdict(self)["packs"], "toolcrib_lock": _FORMAT}
        return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    @classmethod
    def loads(cls, text: str | bytes, *, file: str = FILE_NAME) -> Lock:
        """Read the text of a file.

        Raises:
            PolicyError: it is not a lock; nothing is enabled on the word of a broken one.
        """
        try:
            value = canonical.loads(text, max_bytes=1 << 27, max_depth=10_000)
            if value["toolcrib_lock"] != _FORMAT:
                why = (
                    f"it has format {value['toolcrib_lock']!r}, this toolcrib reads "
                    f"{_FORMAT}; upgrade toolcrib"
                )
                raise PolicyError(why, file=file)
            return cls({name: _pack(form) for name, form in value["packs"].items()})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            why = (
                f"the lock cannot be read ({type(error).__name__}: {error}); restore it from "
                "version control, or look at every pack and run: toolcrib lock write"
            )
            raise PolicyError(why, file=file) from error


def _pack(form: Mapping[str, Any]) -> PackLock:
    fields = dict(form)
    fields["dependencies"] = {
        name: Dependency(version=_text(one["version"]), content=_text(one["content"]))
        for name, one in fields.get("dependencies", {}).items()
    }
    pack = PackLock(**fields)
    texts = (pack.distribution, pack.version, pack.entry_point, pack.content, pack.manifest)
    for text in (*texts, *pack.files.values(), *pack.hooks, *pack.sources, *pack.volatile):
        _text(text)
    for declaration in pack.tools.values():
        declaration["effects"]
    return pack


def _text(value: Any) -> str:
    if not isinstance(value, str):
        text = f"text is expected, not {value!r}"
        raise TypeError(text)
    return value
