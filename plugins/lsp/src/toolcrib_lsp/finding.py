"""Find a server's program: beside this Python, then on PATH; and where it would run."""

from __future__ import annotations

import os
import shutil
import sys

import attrs

from .places import inside
from .servers import ServerSpec


__all__ = ["Program", "find", "root_for"]


@attrs.frozen
class Program:
    """A server that can be started.

    Attributes:
        spec: What it is.
        argv: Program, as a whole path, and arguments.
        trust: Why the workspace must be trusted first; empty if it need not be.
    """

    spec: ServerSpec
    argv: tuple[str, ...]
    trust: str = ""


def find(spec: ServerSpec, root: str, *, path: str | None = None) -> Program | None:
    """Return a server's program, or None if it is not installed.

    Args:
        spec: The server.
        root: The workspace; a program that lies in it is code of the workspace.
        path: Where to look besides; the variable PATH by default.
    """
    folders = os.environ.get("PATH", os.defpath) if path is None else path
    own = os.path.dirname(os.path.abspath(sys.executable))
    search = [f for f in folders.split(os.pathsep) if os.path.isabs(f)]
    name = spec.command[0]
    found = shutil.which(name, path=os.pathsep.join(search))
    found = found or shutil.which(name, path=own)
    if found is None:
        return None
    trust = spec.trust
    if inside(root, os.path.realpath(found)):
        trust = trust or "its program lies in the workspace"
    if spec.name == "typescript" and "tsserver" not in spec.options:
        spec, trust = _with_typescript(spec, found, root, trust)
    return Program(spec, (found, *spec.command[1:]), trust)


def _with_typescript(
    spec: ServerSpec, found: str, root: str, trust: str
) -> tuple[ServerSpec, str]:
    """Name a compiler that is installed beside the server.

    Without one the server loads the compiler of the workspace, which is code of it.
    """
    folder = os.path.dirname(os.path.realpath(found))
    while os.path.dirname(folder) != folder:
        for between in ("node_modules/typescript", "typescript", "../typescript"):
            compiler = os.path.normpath(os.path.join(folder, between, "lib/tsserver.js"))
            if os.path.isfile(compiler) and not inside(root, os.path.realpath(compiler)):
                options = {**spec.options, "tsserver": {"path": compiler}}
                return attrs.evolve(spec, options=options), trust
        folder = os.path.dirname(folder)
    return spec, trust or "it runs the TypeScript compiler of the workspace"


def root_for(spec: ServerSpec, path: str, root: str) -> str:
    """Return the folder that a server opens for a file: the nearest that is marked."""
    if not spec.roots:
        return root
    folder = os.path.dirname(path)
    while inside(root, folder):
        if any(os.path.exists(os.path.join(folder, mark)) for mark in spec.roots):
            return folder
        if folder == root:
            break
        folder = os.path.dirname(folder)
    return root
