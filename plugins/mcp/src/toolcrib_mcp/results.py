"""Results in full: every part is given on, in some form, or is named with the reason.

Whatever comes here, the server has acted. So nothing in here fails a call: what is odd is
made harmless, what is large becomes an artifact, and the result is marked *degraded*.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re

from collections.abc import Mapping
from typing import Any

from toolcrib import (
    ArtifactLink,
    Audio,
    Context,
    Failed,
    File,
    Image,
    Json,
    Link,
    Result,
    SchemaError,
    Text,
    ToolcribError,
    Validators,
)

from .texts import one_line, sanitised, told


__all__ = ["Normal", "normal"]

Block = Text | Json | Image | Audio | File | Link | ArtifactLink

MOST_PARTS = 256
_INLINE_MEDIA = 5 * 1024 * 1024
_MOST_TEXT = 4 * 1024 * 1024
_MEDIA_TYPE = re.compile(r"[a-z0-9.+-]+/[a-z0-9.+*-]+", re.ASCII)
# First bytes by which pictures are known, whatever their label says.
_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


class Normal:
    """Turns one raw result into ours.

    Args:
        ctx: The call, whose artifacts keep what is large.
        server: For notes and errors.
    """

    def __init__(self, ctx: Context, server: str) -> None:
        self._ctx = ctx
        self._server = server
        self._reasons: list[str] = []

    async def result(
        self, raw: Any, output_schema: Mapping[str, Any] | None, validators: Validators
    ) -> Result:
        """Return a result.

        Raises:
            Failed: the server says that the call failed.
        """
        raw = raw if isinstance(raw, Mapping) else {"content": raw}
        content = raw.get("content")
        if not isinstance(content, list):
            if content is not None:
                self._odd("the content is no list")
            content = [] if content is None else [content]
        blocks: list[Block] = []
        for part in content[:MOST_PARTS]:
            blocks += await self._part(part)
        if len(content) > MOST_PARTS:
            self._odd(f"{len(content) - MOST_PARTS} parts after {MOST_PARTS} are left out")
        if raw.get("isError") is True:
            raise Failed(self._failure(blocks, raw), code="mcp.failed")
        structured = self._structured(raw, output_schema, validators, blocks)
        notes = ("degraded: " + "; ".join(self._reasons),) if self._reasons else ()
        return Result(_summary(blocks), blocks, structured=structured, notes=notes)

    def _odd(self, reason: str) -> None:
        if len(self._reasons) < 8 and reason not in self._reasons:
            self._reasons.append(reason)

    def _failure(self, blocks: list[Block], raw: Mapping[str, Any]) -> str:
        texts = [block.text for block in blocks if isinstance(block, Text)]
        if not texts and raw.get("structuredContent") is not None:
            texts = [_dumped(raw["structuredContent"])]
        return (
            told("\n\n".join(texts)) or f"The server {self._server} says only that it failed."
        )

    # -- parts -------------------------------------------------------------------------

    async def _part(self, part: Any) -> list[Block]:
        if not isinstance(part, Mapping):
            self._odd("a part is no object")
            return [Text(self._text(_dumped(part)))]
        kind = part.get("type")
        if kind == "text":
            return [Text(self._text(part.get("text")))]
        if kind in {"image", "audio"}:
            return await self._media(part.get("data"), part.get("mimeType"), str(kind))
        if kind == "resource":
            return await self._resource(part.get("resource"))
        if kind == "resource_link":
            return [self._link(part)]
        self._odd(f"a part of unknown type {one_line(kind, 40)!r}")
        rest = {k: v for k, v in part.items() if k not in {"data", "blob"}}
        return [
            Text(
                f"[a part of unknown type {one_line(kind, 40)!r}]\n{self._text(_dumped(rest))}"
            )
        ]

    def _text(self, value: Any) -> str:
        if not isinstance(value, str):
            self._odd("a text is no text")
            value = _dumped(value)
        if len(value) > _MOST_TEXT:
            self._odd(f"a text of {len(value)} characters is cut")
            value = value[:_MOST_TEXT] + f"\n[{len(value) - _MOST_TEXT} characters left out]"
        clean, changed = sanitised(value)
        if changed:
            self._odd("control or invisible characters were taken out")
        return clean

    async def _media(self, data: Any, label: Any, kind: str) -> list[Block]:
        raw = self._decoded(data, kind)
        if raw is None:
            size = len(data) if isinstance(data, str) else 0
            return [Text(f"[{kind}: its {size} characters are no base64 data]")]
        media = self._media_type(raw, label, kind)
        if len(raw) > _INLINE_MEDIA:
            return [await self._kept(raw, media, kind)]
        text = base64.b64encode(raw).decode("ascii")
        return [Image(text, media) if media.startswith("image/") else Audio(text, media)]

    def _decoded(self, data: Any, kind: str) -> bytes | None:
        if isinstance(data, str):
            try:
                return base64.b64decode("".join(data.split()), validate=True)
            except (binascii.Error, ValueError):
                pass
        self._odd(f"the data of an {kind} part is broken")
        return None

    def _media_type(self, raw: bytes, label: Any, kind: str) -> str:
        given = label.lower().partition(";")[0].strip() if isinstance(label, str) else ""
        real = _sniffed(raw)
        if real is not None and real != given:
            self._odd(f"a picture labelled {one_line(given or 'nothing', 40)} is {real}")
            return real
        if _MEDIA_TYPE.fullmatch(given) and given.startswith(kind + "/"):
            return given
        self._odd(f"an {kind} part is labelled {one_line(given or 'nothing', 40)}")
        return "image/png" if kind == "image" else "audio/wav"

    async def _resource(self, value: Any) -> list[Block]:
        if not isinstance(value, Mapping):
            self._odd("a resource is no object")
            return [Text("[a resource that is no object]")]
        uri = one_line(value.get("uri", ""), 500)
        media = value.get("mimeType")
        media = (
            media.lower()
            if isinstance(media, str) and _MEDIA_TYPE.match(media.lower())
            else None
        )
        if isinstance(value.get("blob"), str):
            raw = self._decoded(value["blob"], "resource")
            if raw is None:
                return [Text(f"[resource {uri}: its data is no base64]")]
            real = _sniffed(raw) or media or "application/octet-stream"
            if len(raw) > _INLINE_MEDIA:
                return [await self._kept(raw, real, uri)]
            text = base64.b64encode(raw).decode("ascii")
            if real.startswith("image/"):
                return [Text(f"[resource {uri}, {real}]"), Image(text, real)]
            return [File(text, real, uri.rpartition("/")[2][:100] or "resource")]
        about = f"[resource {uri}{', ' + media if media else ''}]"
        return [Text(f"{about}\n{self._text(value.get('text'))}")]

    def _link(self, part: Mapping[str, Any]) -> Block:
        uri = part.get("uri")
        if not isinstance(uri, str) or not uri.strip():
            self._odd("a link leads nowhere")
            return Text("[a link that leads nowhere]")
        title = part.get("title") or part.get("name")
        media = part.get("mimeType")
        return Link(
            one_line(uri, 2000),
            one_line(title, 200) if isinstance(title, str) else None,
            one_line(media, 100) if isinstance(media, str) else None,
        )

    async def _kept(self, raw: bytes, media: str, title: str) -> Block:
        """Put what is large into the artifacts; if that fails, say at least what it was."""
        try:
            return await self._ctx.artifacts.put(raw, media_type=media, title=title[:100])
        except (ToolcribError, OSError):
            self._odd("a large part could not be stored")
            digest = hashlib.sha256(raw).hexdigest()
            return Text(f"[{title}: {media}, {len(raw)} bytes, sha256 {digest}; not stored]")

    # -- structured output -------------------------------------------------------------

    def _structured(
        self,
        raw: Mapping[str, Any],
        schema: Mapping[str, Any] | None,
        validators: Validators,
        blocks: list[Block],
    ) -> Any:
        value = self._finite(raw.get("structuredContent"))
        if value is None:
            if schema is not None:
                self._odd("the structured output that the tool declares is missing")
            return None
        problems = self._problems(value, schema, validators)
        if problems:
            self._odd(f"the structured output does not fit its schema: {problems}")
            blocks.append(Text("[structured output that does not fit its schema]"))
            blocks.append(Json(value))
            return None
        if not blocks:
            blocks.append(Json(value))
        return value

    def _finite(self, value: Any) -> Any:
        """Return a value with numbers that JSON does not have written as words."""
        try:
            json.dumps(value, allow_nan=False)
        except ValueError:
            self._odd("numbers that are none were written as words")
            return json.loads(json.dumps(value), parse_constant=str)
        except (TypeError, RecursionError):
            return None
        return value

    @staticmethod
    def _problems(value: Any, schema: Mapping[str, Any] | None, validators: Validators) -> str:
        if schema is None:
            return ""
        try:
            found = validators.get(schema).check(value)
        except (SchemaError, ValueError, TypeError, RecursionError) as error:
            return one_line(error)
        return one_line("; ".join(str(problem) for problem in found[:3]), 500)


async def normal(
    ctx: Context,
    server: str,
    raw: Any,
    output_schema: Mapping[str, Any] | None,
    validators: Validators,
) -> Result:
    """Return the result of a call; see :class:`Normal`."""
    return await Normal(ctx, server).result(raw, output_schema, validators)


def _sniffed(raw: bytes) -> str | None:
    for start, media_type in _PICTURES:
        if raw.startswith(start):
            return media_type
    if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        return "image/webp"
    return None


def _dumped(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return repr(value)[:2000]


def _summary(blocks: list[Block]) -> str:
    for block in blocks:
        if isinstance(block, Text) and block.text.strip():
            return one_line(block.text, 120)
    return ", ".join(block.type for block in blocks)[:120]
