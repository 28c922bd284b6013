"""A workspace beside a folder that nothing may touch, and a session without an app."""

from __future__ import annotations

import asyncio
import hashlib
import os

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from toolcrib import Resource, Signature, ToolFailure

from toolcrib_files import pack
from toolcrib_files.definition import Memory


@attrs.frozen
class Tree:
    """The fixture's folders; ``outside`` is compared after each test."""

    ws: Path
    outside: Path
    state: Path

    def write(self, name: str, data: bytes | str = b"") -> Path:
        path = self.ws / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def names(self) -> list[str]:
        """Everything in the workspace, so that leftovers show."""
        return sorted(str(p.relative_to(self.ws)) for p in self.ws.rglob("*"))


def _digest(folder: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        found = path.lstat()
        total.update(f"{path} {found.st_mode} {found.st_nlink} {found.st_size}\n".encode())
        if path.is_file() and not path.is_symlink():
            total.update(path.read_bytes())
    return total.hexdigest()


@pytest.fixture
def tree(tmp_path):
    real = Path(os.path.realpath(tmp_path))
    ws, outside, state = real / "ws", real / "outside", real / "state"
    for folder in (ws, outside, state):
        folder.mkdir()
    (outside / "sentinel").write_text("do not touch\n")
    before = _digest(outside)
    yield Tree(ws, outside, state)
    assert _digest(outside) == before, "something outside of the workspace was changed"


class FakeContext:
    """What handlers use of a context."""

    def __init__(self, root: Path, state: Path, memory: Memory, signature: Any) -> None:
        self.workspace = SimpleNamespace(root=root, trusted=False)
        self.host = SimpleNamespace(state=state, workspace=self.workspace)
        self.cancelled = False
        self.cancellation = SimpleNamespace(check=self._check)
        self._memory = memory
        if signature is not None:
            self.signature = signature

    def _check(self) -> None:
        if self.cancelled:
            raise asyncio.CancelledError

    def bars(self, resource: Any) -> bool:
        return False

    async def use(self, resource: Any) -> Memory:
        return self._memory

    def wait(self, awaitable: Any) -> Any:
        return asyncio.run(awaitable)


class Session:
    """Runs tools as the core does: signature first, then the handler."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.memory = Memory()
        self.tools = {each.tool.name: each for each in pack.implementations()}
        self.between = lambda: None
        self.judge = True

    def signature(self, name: str, **arguments: Any) -> Signature:
        made = self.tools[name].companions.signature(**arguments)
        return _anchored(made, self.tree.ws)

    def run(self, name: str, **arguments: Any) -> Any:
        implementation = self.tools[name]
        signature = None
        if implementation.companions.check is not None:
            implementation.companions.check(**arguments)
        if self.judge:
            signature = self.signature(name, **arguments)
        self.between()
        ctx = FakeContext(self.tree.ws, self.tree.state, self.memory, signature)
        made = arguments
        if implementation.structure is not None:
            made = implementation.structure(arguments)
        return implementation.handler(ctx, **made)

    def preview(self, name: str, **arguments: Any) -> str:
        host = SimpleNamespace(workspace=SimpleNamespace(root=self.tree.ws))
        return self.tools[name].companions.preview(host, **arguments)

    def fails(self, code: str, name: str, **arguments: Any) -> ToolFailure:
        """Run a call that must end with a code, and return its failure."""
        with pytest.raises(ToolFailure) as caught:
            self.run(name, **arguments)
        assert caught.value.code == code, caught.value.text
        assert caught.value.text.rstrip().endswith("."), "a sentence, with what to do next"
        return caught.value

    def edit(self, path: str, old: str, new: str, **more: Any) -> Any:
        return self.run("edit", path=path, edits=[{"old": old, "new": new, **more}])


def _anchored(signature: Signature, root: Path) -> Signature:
    """Resolve relative paths in the workspace, as authorising does."""
    resources = tuple(
        Resource(r.type, os.path.realpath(root / r.value), r.access)
        for r in signature.resources
    )
    return Signature(
        reads=[r for r in resources if r.access == "read"],
        writes=[r for r in resources if r.access == "write"],
    )


@pytest.fixture
def files(tree):
    return Session(tree)


def text_of(result: Any) -> str:
    """Return the text blocks of a result."""
    return "\n".join(block.text for block in result.content if block.type == "text")


@pytest.fixture
def said():
    return text_of
