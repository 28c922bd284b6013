"""Builds installed distributions by hand: folders of metadata, packages, manifests."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import textwrap

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest


CODE = """
from toolcrib.pack import Pack

pack = Pack({pack!r})


@pack.tool(effects=[])
def ping(ctx, text: str) -> str:
    "Answer with the same text."
    return text
"""


def tool(name: str = "ping", **more: Any) -> dict[str, Any]:
    """Return a tool as a manifest declares it."""
    return {
        "name": name,
        "title": name.title(),
        "description": {"summary": "Answer with the same text."},
        "input_schema": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": False,
        },
        "effects": [],
        **more,
    }


class Site:
    """A folder like ``site-packages``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)

    def __str__(self) -> str:
        return str(self.path)

    def manifest(self, pack: str, *tools: Mapping[str, Any], **more: Any) -> bytes:
        """Return the bytes of a manifest."""
        value = {
            "api": 1,
            "pack": pack,
            "hooks": ["toolcrib_tools"],
            "tools": list(tools) or [tool()],
        }
        return json.dumps(value | more).encode()

    def install(
        self,
        name: str,
        *,
        version: str = "1.0",
        pack: str | None = None,
        package: str | None = None,
        points: str | None = None,
        manifest: bytes | None = b"",
        code: str | None = None,
        record: bool = True,
        files: Mapping[str, str] | None = None,
    ) -> Path:
        """Install a distribution as an installer would; return its metadata's folder.

        ``manifest`` and ``points`` are made from the pack's id where they are not given;
        ``manifest=None`` leaves it out.
        """
        pack = pack or name.removeprefix("toolcrib-")
        package = package or name.replace("-", "_")
        folder = self.path / package
        folder.mkdir(exist_ok=True)
        text = CODE.format(pack=pack) if code is None else textwrap.dedent(code)
        (folder / "__init__.py").write_text(text)
        for place, content in (files or {}).items():
            (folder / place).write_text(content)
        if manifest is not None:
            (folder / "toolcrib.json").write_bytes(manifest or self.manifest(pack))
        if points is None:
            points = f"[toolcrib.packs.v1]\n{pack} = {package}:pack\n"
        info = self.info(name, version=version, points=points)
        if record:
            self.record(info, *sorted(p for p in folder.rglob("*") if p.is_file()))
        return info

    def info(self, name: str, *, version: str = "1.0", points: str | None = None) -> Path:
        """Write the metadata of a distribution alone."""
        info = self.path / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(exist_ok=True)
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nName: not this\n"
        (info / "METADATA").write_text(text)
        if points is not None:
            (info / "entry_points.txt").write_text(points)
        return info

    def record(self, info: Path, *files: Path) -> None:
        """Write RECORD over some files."""
        lines = [f"{info.name}/RECORD,,"]
        for file in files:
            digest = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest())
            where = file.relative_to(self.path).as_posix()
            lines.append(f"{where},sha256={digest.decode().rstrip('=')},{file.stat().st_size}")
        (info / "RECORD").write_text("\n".join(lines) + "\n")


@pytest.fixture(autouse=True)
def no_real_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The packs built here have names of real ones, which other tests may have loaded."""
    for name in list(sys.modules):
        if name.startswith("toolcrib_"):
            monkeypatch.delitem(sys.modules, name)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """An empty folder of installed distributions."""
    return Site(tmp_path / "site")


@pytest.fixture
def other(tmp_path: Path) -> Site:
    """A second one."""
    return Site(tmp_path / "other")


@pytest.fixture
def make_tool() -> Any:
    """The function that makes a tool as a manifest declares it."""
    return tool


@pytest.fixture
def importable(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The site on the import path; what it brought in is taken out again."""
    monkeypatch.syspath_prepend(str(site))
    before = set(sys.modules)
    yield site
    for name in set(sys.modules) - before:
        origin = getattr(sys.modules[name], "__file__", None) or ""
        if origin.startswith(str(site)):
            del sys.modules[name]
