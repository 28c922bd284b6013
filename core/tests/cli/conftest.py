"""A user's home, a folder of installed packs, and the command line over both."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import textwrap

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from click.testing import CliRunner, Result
from toolcrib.authoring import write
from toolcrib.cli.main import cli


DESK = '''
from pathlib import Path
from typing import Annotated
import time

from toolcrib import Context, Failed, NotFound, Pack, Signature, Uncertain, resources

pack = Pack("desk")
Path(__file__).with_name("imported").touch()


@pack.tool(effects=[])
def ping(ctx: Context, text: str = "pong", times: int | None = None) -> str:
    """Answer with the same text."""
    return text * (1 if times is None else times)


@pack.tool(effects={"fs_write"}, labels=())
def note(ctx: Context, path: Annotated[Path, "File"], text: str) -> str:
    """Write a note."""
    with (ctx.host.workspace.root / path).open("a") as stream:
        stream.write(text + "\\n")
    return "noted"


@note.signature
def _(path: Path, text: str) -> Signature:
    return Signature(writes=[resources.Path(path)])


@note.generalize
def _(path: Path, text: str) -> str:
    return "allow desk.note(path=**)"


@note.preview
def _(path: Path, text: str) -> str:
    return "+ " + text


@note.debug_steps
def _(path: Path, text: str) -> list[str]:
    return ["open " + str(path), "append"]


@pack.tool(effects=[])
def end(ctx: Context, how: str) -> str:
    """End as told."""
    if how == "failed":
        raise Failed("it did not work")
    if how == "not_found":
        raise NotFound("it is not there")
    if how == "uncertain":
        raise Uncertain("who knows")
    raise RuntimeError("b\\u00e9\\u4f60\\U0001f600" + chr(0xD800))


@pack.tool(effects=[], timeout=0.2)
async def late(ctx: Context) -> str:
    """Take too long."""
    import asyncio
    await asyncio.Event().wait()
    return "never"


@pack.tool(effects=[])
async def hang(ctx: Context) -> str:
    """Wait until it is cancelled."""
    import asyncio
    ctx.report("hanging")
    await asyncio.Event().wait()
    return "never"


@pack.tool(effects=[])
def odd(ctx: Context) -> str:
    """\\u65e5\\u672c\\u8a9e \\U0001f600"""
    return "\\x1b[2J\\u65e5\\u672c " + chr(0xD800)
'''.replace("\\\\u", "\\u")


class Site:
    """A folder like ``site-packages``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()

    def install(
        self,
        name: str,
        code: str = DESK,
        *,
        pack: str | None = None,
        manifest: bytes | None = None,
        groups: list[Mapping[str, str]] | None = None,
    ) -> Path:
        """Install a distribution as pip would; return its package's folder.

        The manifest is made from the code, unless it is given.
        """
        pack = pack or name.removeprefix("toolcrib-")
        package = name.replace("-", "_")
        folder = self.path / package
        folder.mkdir()
        code = textwrap.dedent(code)
        (folder / "__init__.py").write_text(code, encoding="utf-8")
        if manifest is None:
            manifest = _manifest(code, folder)
        if groups:
            manifest = json.dumps(json.loads(manifest) | {"groups": groups}).encode()
        (folder / "toolcrib.json").write_bytes(manifest)
        info = self.path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            f"[toolcrib.packs.v1]\n{pack} = {package}:pack\n"
        )
        lines = [f"{info.name}/RECORD,,"]
        for file in sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix != ".pyc"):
            digest = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest())
            where = file.relative_to(self.path).as_posix()
            lines.append(f"{where},sha256={digest.decode().rstrip('=')},{file.stat().st_size}")
        (info / "RECORD").write_text("\n".join(lines) + "\n")
        return folder

    def manifest(self, pack: str) -> bytes:
        """Return a manifest of one tool, for code that nobody may import."""
        tool = {
            "name": "ping",
            "description": {"summary": "Answer."},
            "input_schema": {"type": "object", "properties": {}},
            "effects": [],
        }
        value = {"api": 1, "pack": pack, "hooks": ["toolcrib_tools"], "tools": [tool]}
        return json.dumps(value).encode()


def _manifest(code: str, folder: Path) -> bytes:
    names: dict[str, Any] = {"__name__": folder.name, "__file__": str(folder / "__init__.py")}
    exec(compile(code, names["__file__"], "exec"), names)
    (folder / "imported").unlink(missing_ok=True)
    return write(names["pack"])


@attrs.frozen
class Home:
    """A user's folders, and the command line run in them."""

    root: Path
    workspace: Path
    environment: Mapping[str, str]

    @property
    def policy(self) -> Path:
        """The user's policy file."""
        return self.root / "config" / "toolcrib" / "toolcrib.toml"

    @property
    def state(self) -> Path:
        """The user's state folder."""
        return self.root / "state" / "toolcrib"

    def allow(self, text: str) -> None:
        """Write the user's policy."""
        self.policy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.policy.write_text(text, encoding="utf-8")
        self.policy.chmod(0o600)

    def run(self, *arguments: Any, given: bytes | str | None = None) -> Result:
        """Run a command in this process."""
        return CliRunner().invoke(cli, [str(a) for a in arguments], input=given)

    def json(self, *arguments: Any, code: int = 0) -> Any:
        """Run a command with ``--json`` and return what it prints."""
        result = self.run(*arguments, "--json")
        assert result.exit_code == code, result.output
        return json.loads(result.stdout)

    def spawn(self, *arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        """Start a command as a process of its own, without a terminal."""
        environment = {**self.environment, **options.pop("env", {})}
        given = {"stdin": -1, "stdout": -1, "stderr": -1, "start_new_session": True} | options
        command = [sys.executable, "-m", "toolcrib", *map(str, arguments)]
        return subprocess.Popen(command, env=environment, cwd=self.workspace, **given)

    def finish(
        self,
        *arguments: Any,
        given: bytes = b"",
        **options: Any,
    ) -> tuple[int, bytes, bytes]:
        """Run a command as a process of its own to its end."""
        with self.spawn(*arguments, **options) as process:
            out, err = process.communicate(given, timeout=60)
            return process.returncode, out, err


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A folder of installed packs that is on the import path."""
    made = Site(tmp_path / "site")
    monkeypatch.syspath_prepend(made.path)
    before = set(sys.modules)
    yield made
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "") or "").startswith(str(made.path)):
            del sys.modules[name]


@pytest.fixture
def home(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A user without any configuration, in an empty workspace."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    folders = {
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "HOME": str(tmp_path),
    }
    for name, value in folders.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(workspace)
    paths = [str(site.path), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, **folders, "PYTHONPATH": os.pathsep.join(paths)}
    return Home(tmp_path, workspace, environment)


@pytest.fixture
def desk(home: Home, site: Site) -> Path:
    """The pack ``desk``, installed and enabled; returns its package's folder."""
    folder = site.install("toolcrib-desk")
    home.allow('packs = ["toolcrib-desk"]\n')
    return folder


@pytest.fixture
def asked() -> Callable[..., dict[str, Any]]:
    """Makes a chat completion of calls: ``asked(("desk_ping", {…}), …)``."""

    def make(*calls: tuple[str, Any], id_: str = "chatcmpl-1") -> dict[str, Any]:
        listed = [
            {
                "id": f"{id_}-{number}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": given if isinstance(given, str) else json.dumps(given),
                },
            }
            for number, (name, given) in enumerate(calls)
        ]
        message = {"role": "assistant", "content": None, "tool_calls": listed}
        return {"id": id_, "choices": [{"message": message, "finish_reason": "tool_calls"}]}

    return make
