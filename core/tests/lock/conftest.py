"""Installed distributions, built by hand, and what discovery finds of them."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import textwrap

import pytest

from toolcrib.discovery.stage import discover


CODE = """
from .part import answer

pack = object()
"""


def tool(name="ping", **more):
    return {
        "name": name,
        "title": name.title(),
        "description": {"summary": "Answer."},
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
    """A folder like ``site-packages`` with one pack in it."""

    def __init__(self, path):
        self.path = path
        self.package = "toolcrib_" + path.parent.name.replace("-", "_")
        path.mkdir(parents=True)
        self.tools = [tool()]
        self.version = "1.0"
        self.needs = ["dep>=1", "toolcrib", 'never; extra == "test"']
        self.hooks = ["toolcrib_tools"]
        self.sources = {"__init__.py": CODE, "part.py": "answer = 42\n"}
        self.install()

    @property
    def folder(self):
        """The pack's package."""
        return self.path / self.package

    def install(self):
        """Install the pack as it is now, as an installer would."""
        manifest = {"api": 1, "pack": "demo", "hooks": self.hooks, "tools": self.tools}
        files = {f"{self.package}/{name}": text for name, text in self.sources.items()}
        files[f"{self.package}/toolcrib.json"] = json.dumps(manifest)
        points = f"[toolcrib.packs.v1]\ndemo = {self.package}:pack\n"
        for old in self.path.glob("toolcrib_demo-*"):
            for file in old.iterdir():
                file.unlink()
            old.rmdir()
        self.wheel("toolcrib-demo", self.version, files, points=points, needs=self.needs)

    def wheel(self, name, version, files, *, points=None, needs=()):
        """Install any distribution."""
        info = f"{name.replace('-', '_')}-{version}.dist-info"
        lines = [f"Requires-Dist: {need}\n" for need in needs]
        files = dict(files)
        files[f"{info}/METADATA"] = (
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{''.join(lines)}"
        )
        if points:
            files[f"{info}/entry_points.txt"] = points
        rows = []
        for path, text in files.items():
            file = self.path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text))
            raw = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest())
            rows.append(f"{path},sha256={raw.decode().rstrip('=')},{file.stat().st_size}")
        rows += [f"{info}/RECORD,,", f"{info}/INSTALLER,sha256=AAAA,4"]
        (self.path / info / "INSTALLER").write_text("pip\n")
        (self.path / info / "RECORD").write_text("\n".join(rows) + "\n")

    def finding(self):
        """Return the pack as discovery finds it now."""
        (found,) = discover(path=[str(self.path)]).packs
        return found

    def search(self):
        """Return where distributions are looked for."""
        return [str(self.path)]


@pytest.fixture
def site(tmp_path, monkeypatch):
    one = Site(tmp_path / "site")
    one.wheel("dep", "1.5", {"dep/__init__.py": "", "dep/data.txt": "d"}, needs=["deeper[x]"])
    one.wheel("deeper", "2", {"deeper.py": ""}, needs=['extra-one; extra == "x"', "absent"])
    one.wheel("extra-one", "3", {"extra_one.py": ""})
    one.wheel("never", "4", {"never.py": ""})
    monkeypatch.syspath_prepend(str(one.path))
    yield one
    for name in [n for n in sys.modules if n.partition(".")[0] == one.package]:
        del sys.modules[name]


@pytest.fixture
def make_tool():
    return tool
