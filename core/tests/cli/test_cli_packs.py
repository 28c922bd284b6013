"""``packs``, ``tools``, ``check`` and packs' own groups: from metadata and manifests alone."""

from __future__ import annotations

import json

import pytest

from toolcrib.cli.exits import EXIT


DEADLY = """
import os
from pathlib import Path

Path(__file__).with_name("imported").touch()
os._exit(99)
"""


@pytest.fixture
def deadly(home, site):
    """An enabled pack whose import ends the interpreter; returns its marker."""
    manifest = site.manifest("deadly")
    groups = [{"name": "grave", "help": "Ends it.", "target": "toolcrib_deadly:pack"}]
    folder = site.install("toolcrib-deadly", DEADLY, manifest=manifest, groups=groups)
    home.allow('# mine\npacks = ["toolcrib-deadly"]  # for now\n\n[pack.deadly]\nlives = 9\n')
    return folder / "imported"


def test_installed_is_not_enabled(home, site):
    """A pack is listed with the command that enables it, and its tools are not offered."""
    site.install("toolcrib-desk")
    result = home.run("packs")
    assert result.exit_code == 0
    row = next(line for line in result.stdout.splitlines() if line.startswith("desk"))
    assert row.split("\t")[2:] == ["available", "toolcrib packs enable toolcrib-desk"]
    assert home.json("tools") == []


def test_no_listing_or_repair_imports_a_pack(home, deadly):
    """Every command that is needed to get rid of a pack works without its code."""
    for command in (
        ["--help"],
        ["--version"],
        ["packs"],
        ["packs", "--json"],
        ["packs", "--help"],
        ["tools"],
        ["tools", "--json"],
        ["check"],
        ["doctor"],
        ["rules", "lint"],
        ["explain", "deadly.ping"],
        ["explain", "deadly.ping", "--dialect", "anthropic"],
        ["lock", "write"],
        ["lock", "verify"],
        ["packs", "disable", "toolcrib-deadly"],
        ["packs"],
    ):
        code, out, err = home.finish(*command)
        assert code == 0, (command, out, err)
        assert not deadly.exists(), command
    assert (
        home.policy.read_text() == "# mine\npacks = []  # for now\n\n[pack.deadly]\nlives = 9\n"
    )


def test_a_packs_group_is_listed_from_its_manifest(home, deadly):
    """Its help is there; its code is not needed for that."""
    text = home.finish("--help")[1].decode()
    assert "Commands of enabled packs:\n  grave  Ends it." in text
    assert not deadly.exists()


GROUP = """
import click
from toolcrib import Pack

pack = Pack("good")


@pack.tool(effects=[])
def ping(ctx) -> str:
    "Answer."
    return "pong"


@click.group()
def group():
    "More."


@group.command()
@click.option("--policy")
def hello(policy):
    click.echo("hello")


nothing = 3
"""


def test_a_packs_group_runs(home, site):
    """It is imported when it is used."""
    groups = [{"name": "good", "help": "Be good.", "target": "toolcrib_good:group"}]
    site.install("toolcrib-good", GROUP, groups=groups)
    assert home.run("good", "hello").exit_code == 2
    home.allow('packs = ["toolcrib-good"]')
    result = home.run("good", "hello")
    assert (result.exit_code, result.stdout) == (0, "hello\n")


def test_a_policy_that_is_named_enables_groups_as_well(home, site, tmp_path):
    """``--policy FILE`` is found behind the command; a broken one is told, with its line."""
    groups = [{"name": "good", "help": "Be good.", "target": "toolcrib_good:group"}]
    site.install("toolcrib-good", GROUP, groups=groups)
    file = tmp_path / "other.toml"
    file.write_text('packs = ["toolcrib-good"]\n')
    for words in (["--policy", str(file)], [f"--policy={file}"]):
        result = home.run("good", "hello", *words)
        assert (result.exit_code, result.stdout) == (0, "hello\n"), result.stderr
    assert home.run("good", "hello", "--", "--policy", str(file)).exit_code == 2
    file.write_text("packs = [\n")
    result = home.run("good", "hello", "--policy", str(file))
    assert result.exit_code == EXIT["policy"]
    assert str(file) in result.stderr


def test_a_group_that_is_installed_and_not_enabled_says_so(home, site):
    """With the line that enables it."""
    groups = [{"name": "good", "help": "Be good.", "target": "toolcrib_good:group"}]
    site.install("toolcrib-good", GROUP, groups=groups)
    result = home.run("good", "hello")
    assert result.exit_code == 2
    assert "toolcrib packs enable toolcrib-good" in result.stderr
    assert "toolcrib packs enable" not in home.run("goo", "hello").stderr


@pytest.mark.parametrize(
    ("code", "target", "error"),
    [
        ("raise SystemExit(0)", "toolcrib_bad:group", "SystemExit"),
        ("raise ImportError('no such thing')", "toolcrib_bad:group", "no such thing"),
        ("class Odd(BaseException): pass\nraise Odd('x')", "toolcrib_bad:group", "Odd"),
        ("group = 3", "toolcrib_bad:group", "no click command"),
        ("", "toolcrib_bad:missing", "AttributeError"),
    ],
)
def test_a_broken_group_fails_alone(home, site, code, target, error):
    """One line says whose it is and why; every other command works."""
    groups = [{"name": "bad", "help": "Be bad.", "target": target}]
    site.install("toolcrib-bad", code, manifest=site.manifest("bad"), groups=groups)
    site.install("toolcrib-desk")
    home.allow('packs = ["toolcrib-bad", "toolcrib-desk"]')
    result = home.run("bad", "hello")
    assert (result.exit_code, result.stdout) == (1, "")
    (line,) = result.stderr.splitlines()
    assert "toolcrib-bad 1.0" in line
    assert error in line
    assert home.run("--help").exit_code == 0
    assert home.run("call", "desk.ping").stdout == "pong\n"


def test_a_group_cannot_take_the_place_of_a_command(home, site):
    """The core's commands are the core's."""
    groups = [{"name": "packs", "help": "Mine.", "target": "toolcrib_good:group"}]
    site.install("toolcrib-good", GROUP, groups=groups)
    home.allow('packs = ["toolcrib-good"]')
    assert "enabled" in home.run("packs").stdout


def test_a_broken_policy_leaves_the_commands_that_mend_it(home, site):
    """Help is shown; others name file and line."""
    site.install("toolcrib-desk")
    home.allow('packs = ["toolcrib-desk"]\nmode = "wild"\nlimit = 3\n')
    assert home.run("--help").exit_code == 0
    result = home.run("tools")
    assert result.exit_code == 3
    assert f"{home.policy}:2: mode" in result.stderr
    assert f"{home.policy}:3: limit" in result.stderr
    assert home.run("packs", "disable", "toolcrib-desk").exit_code == 0


def test_enabling_makes_the_policy_file(home, site):
    """The first pack needs no editor; the file and its folder are the user's alone."""
    site.install("toolcrib-desk")
    result = home.run("packs", "enable", "Toolcrib_Desk")
    assert result.exit_code == 0, result.output
    assert home.policy.read_text() == 'packs = ["toolcrib-desk"]\n'
    assert home.policy.stat().st_mode & 0o077 == 0
    assert home.policy.parent.stat().st_mode & 0o077 == 0
    assert "was enabled already" in home.run("packs", "enable", "toolcrib-desk").stdout
    assert len(home.json("tools")) == 6


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("desk", "its distribution is toolcrib-desk"),
        ("toolcrib-deskk", "did you mean toolcrib-desk?"),
        ("elsewhere", "pip install elsewhere"),
    ],
)
def test_only_installed_distributions_are_enabled(home, site, name, hint):
    """A pack id alone enables nothing; the answer says what would."""
    site.install("toolcrib-desk")
    result = home.run("packs", "enable", name)
    assert result.exit_code == 1
    assert hint in result.stderr
    assert not home.policy.exists()


@pytest.mark.parametrize(
    ("before", "enabled", "disabled"),
    [
        ("", 'packs = ["new"]\n', None),
        ('mode = "ask"\n', 'packs = ["new"]\nmode = "ask"\n', None),
        (
            "# mine\n\n[limits]\ntotal = 3\n",
            '# mine\npacks = ["new"]\n\n[limits]\ntotal = 3\n',
            None,
        ),
        ("packs = []\n", 'packs = ["new"]\n', None),
        (
            'packs = ["a", "b"] # two\n',
            'packs = ["a", "b", "new"] # two\n',
            'packs = ["b"] # two\n',
        ),
        ('packs = ["a", "b",]', 'packs = ["a", "b", "new",]', 'packs = ["b",]'),
        (
            'packs = [\n  "a",  # first\n  # all of it\n  "b",\n]\nmode = "ask"\n',
            'packs = [\n  "a",  # first\n  # all of it\n  "b",\n  "new",\n]\nmode = "ask"\n',
            'packs = [\n  # all of it\n  "b",\n]\nmode = "ask"\n',
        ),
        (
            "packs = [\r\n  'a',\r\n  'b' # last\r\n]\r\n",
            "packs = [\r\n  'a',\r\n  'b', # last\r\n  \"new\"\r\n]\r\n",
            "packs = [\r\n  'b' # last\r\n]\r\n",
        ),
        ('\ufeffpacks = ["a"]\n', '\ufeffpacks = ["a", "new"]\n', "\ufeffpacks = []\n"),
        ('[hide]\ntools = ["x"]', 'packs = ["new"]\n[hide]\ntools = ["x"]', None),
        ('packs = ["A", "b"]\n', 'packs = ["A", "b", "new"]\n', 'packs = ["b"]\n'),
    ],
)
def test_the_policy_file_is_changed_in_place(home, site, before, enabled, disabled):
    """Comments, order, line ends and style stay; only the one name comes or goes."""
    site.install("new")
    site.install("a")
    home.allow("")
    home.policy.write_bytes(before.encode())
    assert home.run("packs", "enable", "new").exit_code == 0
    assert home.policy.read_bytes().decode() == enabled
    home.policy.write_bytes(before.encode())
    assert home.run("packs", "disable", "a").exit_code == 0
    assert home.policy.read_bytes().decode() == (before if disabled is None else disabled)


def test_enabling_and_disabling_again_is_nothing(home, site):
    """The file is byte for byte what it was."""
    site.install("toolcrib-desk")
    text = '# a\npacks = [\n    "x",  # x\n]\n\n[limits]\ntotal = 3 # b\n'
    home.allow(text)
    home.run("packs", "enable", "toolcrib-desk")
    home.run("packs", "disable", "toolcrib-desk")
    assert home.policy.read_text() == text


@pytest.mark.parametrize("text", ["packs = [", 'packs = "a"', "[packs]\na = 1\n", "packs=[1]"])
def test_a_file_that_cannot_be_changed_safely_is_left_alone(home, site, text):
    """The answer says where it is."""
    site.install("toolcrib-desk")
    home.allow(text)
    result = home.run("packs", "enable", "toolcrib-desk")
    assert result.exit_code == 3
    assert str(home.policy) in result.stderr
    assert home.policy.read_text() == text


def test_a_link_to_the_policy_file_stays_a_link(home, site):
    """Some keep it elsewhere; its mode stays too."""
    site.install("toolcrib-desk")
    real = home.root / "dotfiles.toml"
    real.write_text("packs = []\n")
    real.chmod(0o644)
    home.policy.parent.mkdir(parents=True)
    home.policy.symlink_to(real)
    assert home.run("packs", "enable", "toolcrib-desk").exit_code == 0
    assert home.policy.is_symlink()
    assert real.read_text() == 'packs = ["toolcrib-desk"]\n'
    assert real.stat().st_mode & 0o777 == 0o644


def test_another_policy_file_can_be_changed(home, site, tmp_path):
    """--policy names it."""
    site.install("toolcrib-desk")
    file = tmp_path / "other.toml"
    facts = home.json("packs", "enable", "toolcrib-desk", "--policy", file)
    assert facts == {"file": str(file), "changed": ["toolcrib-desk"], "enabled": True}
    assert len(json.loads(home.run("tools", "--policy", file, "--json").stdout)) == 6
    assert not home.policy.exists()


def test_an_uninstalled_pack_is_said_to_be_missing(home, site):
    """Nothing is remembered of it but the policy."""
    home.allow('packs = ["toolcrib-gone"]\n')
    (refused,) = home.json("packs")["refused"]
    assert (refused["code"], refused["subject"]) == ("pack.missing", "toolcrib-gone")
    assert home.run("check").exit_code == 1
    assert home.run("call", "gone.ping").exit_code == 11


def test_one_bad_manifest_hides_no_other_pack(home, site):
    """It is named; the others are offered."""
    site.install("toolcrib-bad", "", manifest=b"{}")
    site.install("toolcrib-desk")
    home.allow('packs = ["toolcrib-bad", "toolcrib-desk"]\n')
    facts = home.json("packs")
    assert [pack["pack"] for pack in facts["enabled"]] == ["desk"]
    assert [refused["subject"] for refused in facts["refused"]] == ["toolcrib-bad"]


def test_tools_are_chosen_by_what_they_do(home, desk):
    """Effects, kinds and packs narrow the list."""
    assert [tool["id"] for tool in home.json("tools", "--effect", "fs_write")] == ["desk.note"]
    assert [tool["id"] for tool in home.json("tools", "--kind", "write")] == ["desk.note"]
    assert home.json("tools", "--pack", "web") == []
    assert home.run("tools").stdout.splitlines()[3].split("\t")[:3] == [
        "desk.note",
        "write",
        "fs_write",
    ]


@pytest.mark.parametrize("dialect", ["openai", "openai-responses", "anthropic", "mcp"])
def test_declarations_are_those_that_run_answers(home, desk, dialect):
    """What goes into a request's tools, without any Python."""
    result = home.run("tools", "--dialect", dialect)
    assert result.exit_code == 0, result.stderr
    declared = json.loads(result.stdout)
    names = [one.get("name") or one["function"]["name"] for one in declared]
    assert names[:2] == ["desk_end", "desk_hang"]
    assert len(names) == 6
    assert home.run("tools", "--dialect", "klingon").exit_code == 2


def test_off_a_terminal_a_row_is_a_line(home, site):
    """Whatever a pack wrote into its texts."""
    manifest = json.loads(site.manifest("odd"))
    manifest["tools"][0]["description"]["summary"] = "a\tb\x1b[2Jc"
    site.install("toolcrib-odd", "", manifest=json.dumps(manifest).encode())
    home.allow('packs = ["toolcrib-odd"]')
    (line,) = home.run("tools").stdout.splitlines()
    assert line.split("\t")[3:] == ["a\\tb\\x1b[2Jc"]


def test_check_reports_rules_that_do_nothing(home, desk):
    """A denial of a misspelt tool is an error, something odd is a warning."""
    home.allow('packs = ["toolcrib-desk"]\nrules = ["deny desk.nots", "allow desk.*"]\n')
    facts = home.json("check", code=1)
    assert [problem["code"] for problem in facts["problems"]] == ["rule.nothing"]
    home.allow('packs = ["toolcrib-desk"]\n')
    assert home.json("check")["problems"] == []


def test_a_name_that_is_neither_enabled_nor_installed_is_not_disabled(home, desk):
    """It is misspelt; what was meant stays enabled otherwise, and nobody would notice."""
    before = home.policy.read_text()
    for name in ("toolcrib-dsk", "desk"):
        result = home.run("packs", "disable", name)
        assert result.exit_code == 1, result.output
        assert "did you mean toolcrib-desk?" in result.stderr
    assert home.policy.read_text() == before
    for state in ("disabled", "was disabled already"):
        result = home.run("packs", "disable", "toolcrib-desk")
        assert result.exit_code == 0
        assert f"toolcrib-desk: {state} " in result.stdout
