"""``new`` and ``manifest``: from nothing to a pack that is installed and tested."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib

import pytest


def test_a_new_pack_is_whole(home):
    """Every file is there, and nothing is written over another project."""
    facts = home.json("new", "word_count")
    folder = home.workspace / "toolcrib-word-count"
    assert {file.removeprefix("toolcrib-word-count/") for file in facts["files"]} == {
        ".gitignore",
        "README.md",
        "pyproject.toml",
        "src/toolcrib_word_count/__init__.py",
        "src/toolcrib_word_count/py.typed",
        "tests/test_toolcrib_word_count.py",
    }
    before = (folder / "pyproject.toml").read_bytes()
    assert home.run("new", "word-count").exit_code == 2
    assert (folder / "pyproject.toml").read_bytes() == before


@pytest.mark.parametrize("name", ["Upper", "1st", "a.b", "crib", "../up", ""])
def test_a_name_that_is_no_pack_id_is_refused(home, name):
    """Nothing is written."""
    assert home.run("new", name).exit_code == 2
    assert list(home.workspace.iterdir()) == []


def test_a_folder_may_be_given_and_be_empty(home):
    """So that it can be a fresh clone."""
    (home.workspace / "here").mkdir()
    assert home.run("new", "words", "here", "--distribution", "My.Words").exit_code == 0
    text = (home.workspace / "here" / "pyproject.toml").read_text()
    assert 'name = "my-words"' in text
    assert 'words = "my_words:pack"' in text


def test_a_new_pack_has_a_manifest_and_passes_its_own_tests(home):
    """As its README says, without a network."""
    home.run("new", "words", "words")
    folder = home.workspace / "words"
    code, out, err = home.finish("manifest", "write", "words")
    assert code == 0, err
    assert b"toolcrib.json: written" in out
    manifest = json.loads((folder / "src" / "toolcrib_words" / "toolcrib.json").read_text())
    (tool,) = manifest["tools"]
    assert tool["effects"] == ["fs_read"]
    assert tool["companions"] == ["signature"]
    assert home.finish("manifest", "check", "words")[0] == 0
    paths = os.pathsep.join([str(folder / "src"), home.environment["PYTHONPATH"]])
    environment = {**home.environment, "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout


def test_a_new_pack_is_found_where_it_is_installed_editable(home, site):
    """And is then enabled, checked and called; this writes what pip would."""
    home.run("new", "words", "words")
    assert home.finish("manifest", "write", "words")[0] == 0
    project = home.workspace / "words"
    facts = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    points = facts["entry-points"]["toolcrib.packs.v1"]
    info = site.path / "toolcrib_words-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {facts['name']}\nVersion: {facts['version']}\n"
    )
    (info / "entry_points.txt").write_text(
        "[toolcrib.packs.v1]\n" + "".join(f"{k} = {v}\n" for k, v in points.items())
    )
    origin = {"url": project.as_uri(), "dir_info": {"editable": True}}
    (info / "direct_url.json").write_text(json.dumps(origin))
    (info / "RECORD").write_text(f"{info.name}/RECORD,,\n_words.pth,,\n")
    (site.path / "_words.pth").write_text(f"{project / 'src'}\n")
    env = {
        "PYTHONPATH": os.pathsep.join([home.environment["PYTHONPATH"], str(project / "src")])
    }
    code, out, err = home.finish("packs", "enable", "toolcrib-words", env=env)
    assert code == 0, err
    assert home.finish("check", env=env)[0] == 0
    (home.workspace / "a.txt").write_text("one two two")
    code, out, err = home.finish("call", "words.count_words", '{"path": "a.txt"}', env=env)
    assert code == 0, err
    assert json.loads(out)["total"] == 3


def test_a_manifest_that_is_not_current_is_told(home):
    """With a diff; writing it again mends it."""
    home.run("new", "words", "words")
    home.finish("manifest", "write", "words")
    source = home.workspace / "words" / "src" / "toolcrib_words" / "__init__.py"
    source.write_text(source.read_text().replace("Between(1, 100)", "Between(1, 50)"))
    code, out, _ = home.finish("manifest", "check", "words")
    assert code == 1
    assert b"50" in out
    assert out.splitlines()[-1] == b"Write it again: toolcrib manifest write"
    assert home.finish("manifest", "write", "words")[0] == 0
    assert home.finish("manifest", "check", "words", "--json")[0] == 0


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("raise SystemExit(3)", "SystemExit"),
        ("import no_such_module", "pip install -e ."),
        ("", "has no attribute 'pack'"),
        ("from toolcrib import Pack\npack = Pack('other')\n", "declares no tool: decorate"),
        ("pack = 3\n", "it is 3 (int), not a pack"),
        ("\n\nimport json\njson.loads('{')", "__init__.py:4: JSONDecodeError"),
        ("pack = = 3", "__init__.py, line 1"),
    ],
)
def test_a_pack_that_cannot_be_described_says_why(home, code, text):
    """In one line, without a traceback."""
    home.run("new", "words", "words")
    (home.workspace / "words" / "src" / "toolcrib_words" / "__init__.py").write_text(code)
    code, _, err = home.finish("manifest", "write", "words")
    assert code == 1
    assert text in err.decode()
    assert "Traceback" not in err.decode()


def test_a_folder_that_is_no_pack_is_wrong_use(home):
    """Without pyproject.toml, or without an entry point."""
    assert home.run("manifest", "check").exit_code == 2
    (home.workspace / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    result = home.run("manifest", "write")
    assert result.exit_code == 2
    assert "toolcrib.packs.v1" in result.stderr


def test_a_folder_that_is_no_project_is_named(home):
    """With what to give instead."""
    result = home.run("manifest", "write")
    assert result.exit_code == 2
    assert "there is no pyproject.toml; name the folder" in result.stderr
