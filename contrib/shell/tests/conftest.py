"""A throw-away repository that every probe may spoil."""

from __future__ import annotations

import os
import subprocess
import tomllib

from pathlib import Path

import pytest

from toolcrib_runners import environment


HERE = Path(__file__).parent
PROBES = tomllib.loads((HERE / "probes.toml").read_text("utf-8"))["probe"]
RULES = [
    line
    for line in (HERE / "rules.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]


def build(tree: Path) -> None:
    """Make a repository with one committed file, and what the probes lean on."""
    tree.mkdir(parents=True)
    (tree / "f").write_text("a\nb\n")
    for folder in ("sub", "src", "evil", "globs"):
        (tree / folder).mkdir()
    (tree / "sub/g").write_text("a\n")
    (tree / "src/link").symlink_to("../P")
    (tree / "src/dir").symlink_to("..")
    (tree / "evil/env").write_text("touch P\n")
    (tree / "evil/prog.awk").write_text('BEGIN { system("touch P") }\n')
    for name in ("ls", "git", "make-p", "hook"):
        script = tree / "evil" / name
        script.write_text("#!/bin/sh\ncase $0 in ./make-p) : > ../P;; *) : > P;; esac\n")
        script.chmod(0o755)
    for name in ("a", "--checkpoint=1", "--checkpoint-action=exec=touch ..${IFS}P", "b"):
        (tree / "globs" / name).write_text("")
    (tree / "globs" / "--checkpoint-action=exec=sh go").write_text("")
    (tree / "globs" / "go").write_text("touch ../P\n")
    run = lambda *argv: subprocess.run(  # noqa: E731 - one line, used below
        argv, cwd=tree, env=ENV, check=True, capture_output=True, timeout=60
    )
    run("tar", "cf", "sub/t.tar", "f")
    run("git", "init", "-q", "--template=")
    (tree / ".git/hooks").mkdir()
    run("git", "add", "f")
    run("git", "commit", "-qm", "one")
    (tree / "f").write_text("a\nb\nc\n")


ENV = environment({
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@localhost", "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@localhost", "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
})  # fmt: skip


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """Return a built tree, to be copied."""
    tree = tmp_path_factory.mktemp("template") / "tree"
    build(tree)
    return tree


@pytest.fixture
def tree(template, tmp_path):
    """Return a tree of the test's own."""
    return copy(template, tmp_path / "tree")


def copy(template: Path, target: Path) -> Path:
    subprocess.run(["cp", "-a", str(template), str(target)], check=True)
    return target
