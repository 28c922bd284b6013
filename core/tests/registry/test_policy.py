"""Policies: values, files, and workspaces that only tighten."""

from __future__ import annotations

import os
import sys

from pathlib import Path

import attrs
import pytest

from toolcrib import places
from toolcrib.errors import PolicyError
from toolcrib.policy import file as policyfile
from toolcrib.policy import trust
from toolcrib.policy.value import Hide, Limits, Policy, RetryPolicy, SecretBinding
from toolcrib.vocabulary import Durability, Effect, Label, Mode


def written(path: Path, text: str) -> Path:
    """Write a policy file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def problem_of(tmp_path, text):
    """Return the error that a policy file with this text gives."""
    file = written(tmp_path / "toolcrib.toml", text)
    with pytest.raises(PolicyError) as caught:
        Policy.load(file)
    assert caught.value.file == file
    return caught.value


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The folder of a user's own configuration; returns the path of the policy file."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(sys, "platform", "linux")
    return tmp_path / "config" / "toolcrib" / "toolcrib.toml"


@pytest.fixture
def workspace(tmp_path):
    """The folder that a session works in."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def test_nothing_is_enabled_by_default():
    """And calls are asked."""
    policy = Policy()
    assert policy.packs == ()
    assert policy.mode is Mode.ASK
    assert policy.workspace == Path.cwd()


def test_plain_values_are_taken():
    """What one writes becomes what it means."""
    policy = Policy(
        packs=["Toolcrib_Web", "toolcrib.web", "b"],
        mode="plan",
        rules=["ask web.*"],
        hide={"effects": ["process"]},
        limits={"total": 3},
        retry={"attempts": 1},
        owners={"web": "Acme_Web"},
        secrets={"key": {"env": "KEY", "tools": ["web.*"]}},
        forbid_labels=[["reads_private", "sends_out"]],
        workspace="~/x",
        flags=["beta"],
    )
    assert policy.packs == ("toolcrib-web", "b")
    assert policy.mode is Mode.PLAN
    assert policy.rules[0].text == "ask web.*"
    assert policy.hide == Hide(effects=frozenset({Effect.PROCESS}))
    assert policy.limits == Limits(total=3)
    assert policy.retry == RetryPolicy(attempts=1)
    assert policy.owners == {"web": "acme-web"}
    assert policy.secrets["key"] == SecretBinding(env="KEY", tools=("web.*",))
    assert policy.forbid_labels == (frozenset({Label.READS_PRIVATE, Label.SENDS_OUT}),)
    assert policy.workspace == Path.home() / "x"
    assert attrs.evolve(policy, mode="trust").packs == policy.packs


def test_a_policy_cannot_be_changed():
    """Nor its tables."""
    policy = Policy(settings={"web": {"a": 1}})
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        policy.mode = Mode.TRUST
    with pytest.raises(TypeError):
        policy.settings["web"]["a"] = 2


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"packs": "toolcrib-web"}, "packs: must be an array"),
        ({"packs": ["a", "b==1"]}, "packs[1]"),
        ({"packs": [7]}, "packs[0]"),
        ({"mode": "pln"}, "did you mean 'plan'"),
        ({"limits": {"totl": 1}}, "limits.totl: unknown key 'totl'; did you mean 'total'"),
        ({"limits": {"total": 0}}, "limits.total: must be at least 1"),
        ({"limits": {"total": True}}, "limits.total: must be a whole number"),
        ({"timeout": float("nan")}, "timeout: must be a finite number"),
        ({"timeout": 0}, "timeout: must be a finite number above 0"),
        ({"owners": {"Web": "x"}}, "owners.Web"),
        ({"overrides": {"web": "x.y"}}, "override.web"),
        ({"secrets": {"a": {"env": "A"}}}, "secrets.a.tools"),
        ({"secrets": {"a": {"tools": ["*"]}}}, "exactly one of env, file and keyring"),
        ({"secrets": {"a": {"tools": ["*"], "keyring": "x"}}}, "service/user"),
        ({"secrets": {"a": {"tools": ["*"], "keyring": "x/y", "env": "A"}}}, "exactly one"),
        ({"hide": {"effects": ["net"]}}, "hide.effects[0]"),
        ({"forbid_labels": [["private"]]}, "forbid_labels[0][0]"),
        ({"vocabulary": {"colour": []}}, "vocabulary.colour"),
        ({"rules": ["alow x.*"]}, "alow x.*"),
        ({"local": "pack"}, "local"),
        ({"defer": 1}, "defer: must be true or false"),
    ],
)
def test_wrong_values_are_named(fields, words):
    """With the path of the key."""
    with pytest.raises(PolicyError) as caught:
        Policy(**fields)
    assert words in str(caught.value)


def test_file_is_read_with_full_authority(tmp_path):
    """Paths are relative to its folder."""
    file = written(
        tmp_path / "policy.toml",
        """
        packs = ["toolcrib-web"]
        mode = "trust"
        rules = ["allow web.fetch(host=*.example.com)", "deny web.*"]
        ledger = "ledger.sqlite"
        durability = "full"
        [override]
        "web.fetch" = "corp.fetch"
        [rename]
        "web.get" = "read"
        [pack.web]
        agent = { name = "x", tries = 3 }
        [secrets.key]
        file = "key.txt"
        tools = ["web.*"]
        destinations = ["api.example.com"]
        [deferral]
        enabled = true
        always_loaded = ["web.*"]
        """,
    )
    policy = Policy.load(file, workspace=tmp_path)
    assert policy.mode is Mode.TRUST
    assert [(r.text, r.line, r.file) for r in policy.rules] == [
        ("allow web.fetch(host=*.example.com)", 4, file),
        ("deny web.*", 4, file),
    ]
    assert policy.ledger == tmp_path / "ledger.sqlite"
    assert policy.durability is Durability.FULL
    assert policy.overrides == {"web.fetch": "corp.fetch"}
    assert policy.renames == {"web.get": "read"}
    assert policy.settings["web"]["agent"] == {"name": "x", "tries": 3}
    assert policy.secrets["key"].file == tmp_path / "key.txt"
    assert (policy.defer, policy.always_loaded) == (True, ("web.*",))
    assert (policy.file, policy.workspace) == (file, tmp_path)


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("x = 1\n", 1, "x"),
        ("\nmode = 1\n", 2, "mode"),
        ('packs = [\n  "a",\n  # two\n  "b c",\n]\n', 4, "packs[1]"),
        ("[limits]\ntotal = 1\n\nqueue = -1\n", 4, "limits.queue"),
        ("limits.total = 0\n", 1, "limits.total"),
        ("[limits]\ntotal = 1\n[limits.more]\n", 3, "limits.more"),
        ("retry = {attempts = 1, base = 0.0}\n", 1, "retry.base"),
        ('[secrets.a]\ntools = []\nenv = "X"\n', 2, "secrets.a.tools"),
        ('[secrets.a]\nenv = "X"\n', 1, "secrets.a.tools"),
        ("[deferral]\n\nenable = true\n", 3, "deferral.enable"),
        ("[deferral]\nenabled = 1\n", 2, "deferral.enabled"),
        ("deferral = 3\n", 1, "deferral"),
        ("rules = 'ask x.*'\n", 1, "rules"),
        ("rules = [\n1]\n", 2, "rules[0]"),
        ("develop = true\n", 1, "develop"),
        ("trusted = true\n", 1, "trusted"),
        ("[hide]\neffects = ['process',\n'net_raed']\n", 3, "hide.effects[1]"),
        ('"pa\\u0063ks" = 1\n', 1, "packs"),
        ("a = 1\na = 2\n", 2, None),
        ("mode = \n", 1, None),
        ("mode = 'ask", 1, None),
    ],
)
def test_problems_of_a_file_have_line_and_key(tmp_path, text, line, key):
    """Exactly."""
    error = problem_of(tmp_path, text)
    assert (error.line, error.key) == (line, key)
    assert str(error).startswith(f"{error.file}:{line}: ")


def test_rule_that_cannot_be_read_has_file_and_line(tmp_path):
    """It points at the column as well."""
    error = problem_of(tmp_path, "rules = [\n  'ask web.*',\n  'alow web.*',\n]\n")
    assert error.line == 3
    assert "alow web.*" in str(error)


def test_every_problem_of_a_file_is_told(tmp_path):
    """The first by line is raised, the others are notes on it."""
    error = problem_of(tmp_path, "zork = 1\nrules = ['x']\n[limits]\ntotal = 0\n")
    assert error.line == 1
    assert [note.split(": ")[0].rpartition(":")[2] for note in error.__notes__] == ["2", "4"]


def test_file_that_cannot_be_read_is_named(tmp_path):
    """Missing, not text, and a folder."""
    for name, data in (("none", None), ("latin", b"\n# caf\xe9"), ("folder", "folder")):
        file = tmp_path / name
        if data == "folder":
            file.mkdir()
        elif data is not None:
            file.write_bytes(data)
        with pytest.raises(PolicyError) as caught:
            Policy.load(file)
        assert caught.value.file == file
        assert caught.value.line == (2 if name == "latin" else None)


def test_discover_needs_no_file(home, workspace):
    """The user's file is named all the same, for refusals."""
    policy = Policy.discover(workspace)
    assert policy == Policy(workspace=workspace, file=home)


def test_discover_takes_the_users_file(home, workspace):
    """With all that it says."""
    written(home, 'packs = ["toolcrib-web"]\nmode = "edits"\n')
    policy = Policy.discover(workspace)
    assert policy.packs == ("toolcrib-web",)
    assert policy.mode is Mode.EDITS
    assert policy.notices == ()


def test_workspace_tightens(home, workspace):
    """Denials, hidden tools, and lower numbers count."""
    written(
        home, "mode = 'edits'\nrules = ['allow web.*']\nresult_budget = 900\ntimeout = 60\n"
    )
    written(
        workspace / "toolcrib.toml",
        """
        mode = "plan"
        rules = ["deny web.fetch", "ask files.*"]
        timeout = 5
        result_budget = 100
        forbid_labels = [["sends_out"]]
        durability = "full"
        isolate = true
        allow_async = false
        [hide]
        tools = ["shell.*"]
        [limits]
        total = 2
        [retry]
        attempts = 1
        [vocabulary]
        tags = ["a"]
        """,
    )
    policy = Policy.discover(workspace)
    assert policy.mode is Mode.PLAN
    assert [r.text for r in policy.rules] == ["allow web.*", "deny web.fetch", "ask files.*"]
    assert (policy.timeout, policy.result_budget) == (5, 100)
    assert policy.forbid_labels == (frozenset({Label.SENDS_OUT}),)
    assert policy.durability is Durability.FULL
    assert policy.hide.tools == ("shell.*",)
    assert policy.limits == Limits(total=2)
    assert policy.retry == RetryPolicy(attempts=1)
    assert policy.vocabulary == {"tags": {"a"}}
    assert (policy.isolate, policy.allow_async, policy.trusted) == (True, False, False)
    assert policy.notices == ()


WIDER = """\
mode = "trust"
packs = ["toolcrib-evil", "toolcrib-web"]
guards = ["evil"]
observers = ["evil"]
directives = ["evil"]
projectors = ["evil"]
reviewers = ["evil"]
flags = ["beta"]
ledger = "ledger"
state = "state"
timeout = 9999
result_budget = 999999
batch_budget = 999999
durability = "normal"
isolate = false
allow_async = true
rules = ["allow *"]
[owners]
web = "toolcrib-evil"
[override]
"web.fetch" = "evil.fetch"
[rename]
"web.fetch" = "get"
[limits]
total = 999
[retry]
attempts = 99
cap = 1
[deferral]
enabled = false
always_loaded = ["evil.*"]
[pack.web]
proxy = "evil.example"
[secrets.key]
env = "KEY"
tools = ["evil.*"]
"""
USERS = """\
packs = ["toolcrib-web"]
durability = "full"
isolate = true
allow_async = false
"""


def test_what_would_widen_is_ignored_and_reported(home, workspace):
    """Each with its line."""
    written(home, USERS)
    file = written(workspace / "toolcrib.toml", WIDER)
    before = Policy(workspace=workspace, file=home, **policyfile.read(home).fields)
    policy = Policy.discover(workspace)
    assert attrs.evolve(policy, notices=()) == before
    lines = {(n.line, n.key) for n in policy.notices}
    expected, section = set(), ""
    for number, line in enumerate(WIDER.splitlines(), 1):
        section = line if line.startswith("[") else section
        # These tables are reported as a whole, where they stand.
        whole = section in {"[owners]", "[override]", "[rename]", "[pack.web]", "[secrets.key]"}
        if "=" in line and not whole:
            expected.add(number)
    assert {n for n, _ in lines} >= expected
    assert {n.file for n in policy.notices} == {file}
    assert {"owners", "override", "rename", "pack", "secrets"} <= {k for _, k in lines}


def test_pack_that_a_workspace_wants_is_told_how(home, workspace):
    """With the whole line for the user's own file."""
    written(home, 'packs = ["toolcrib-web"]\n')
    written(workspace / "toolcrib.toml", 'packs = ["toolcrib-files"]\n')
    (notice,) = Policy.discover(workspace).notices
    assert 'packs = ["toolcrib-web", "toolcrib-files"]' in str(notice)
    assert str(home) in str(notice)


def test_workspace_file_with_a_slip_stops_everything(home, workspace):
    """Its denials must not be lost."""
    written(workspace / "toolcrib.toml", "rulse = ['deny *']\n")
    with pytest.raises(PolicyError, match="did you mean 'rules'"):
        Policy.discover(workspace)


def test_trusted_bytes_have_authority_and_others_do_not(home, workspace):
    """Trust is given to a digest at a place."""
    written(home, "packs = ['toolcrib-web']\nrules = ['deny web.x']\n")
    file = written(workspace / "toolcrib.toml", "packs = ['toolcrib-files']\nmode = 'trust'\n")
    trust.trust(file, policyfile.read(file).digest)
    policy = Policy.discover(workspace)
    assert policy.packs == ("toolcrib-web", "toolcrib-files")
    assert (policy.mode, policy.trusted, policy.notices) == (Mode.TRUST, True, ())
    assert [r.text for r in policy.rules] == ["deny web.x"]
    written(file, "packs = ['toolcrib-files']\nmode = 'trust' \n")
    changed = Policy.discover(workspace)
    assert (changed.packs, changed.mode, changed.trusted) == (
        ("toolcrib-web",),
        Mode.ASK,
        False,
    )


def test_trust_can_be_taken_back(home, workspace):
    """And is then gone."""
    file = written(workspace / "toolcrib.toml", "mode = 'trust'\n")
    digest = policyfile.read(file).digest
    trust.trust(file, digest)
    assert trust.is_trusted(file, digest)
    assert trust.untrust(file)
    assert not trust.is_trusted(file, digest)
    assert not trust.untrust(file)


def test_trust_of_another_place_is_no_trust(home, workspace, tmp_path):
    """The same bytes elsewhere are another workspace's."""
    file = written(workspace / "toolcrib.toml", "mode = 'trust'\n")
    copy = written(tmp_path / "copy" / "toolcrib.toml", "mode = 'trust'\n")
    digest = policyfile.read(file).digest
    trust.trust(file, digest)
    assert not trust.is_trusted(copy, digest)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"x": 1}', b"\xff", b"[" * 100_000])
def test_broken_store_trusts_nothing(home, workspace, content):
    """And can be written again."""
    file = written(workspace / "toolcrib.toml", "mode = 'trust'\n")
    store = places.state_folder() / "trusted.json"
    store.parent.mkdir(parents=True)
    store.write_bytes(content)
    assert not trust.is_trusted(file, "sha256:x")
    trust.trust(file, "sha256:x")
    assert trust.is_trusted(file, "sha256:x")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_store_that_others_could_write_trusts_nothing(home, workspace):
    """The store itself is kept private."""
    file = written(workspace / "toolcrib.toml", "mode = 'trust'\n")
    trust.trust(file, "sha256:x")
    store = places.state_folder() / "trusted.json"
    assert store.stat().st_mode & 0o777 == 0o600
    assert store.parent.stat().st_mode & 0o777 == 0o700
    store.chmod(0o666)
    assert not trust.is_trusted(file, "sha256:x")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_users_file_that_others_could_write_is_reported(home, workspace):
    """Authority that anybody can write is nobody's."""
    written(home, "mode = 'ask'\n").chmod(0o666)
    (notice,) = Policy.discover(workspace).notices
    assert "every user" in notice.text


def test_users_file_is_not_taken_twice(home):
    """When one works in the folder of the configuration itself."""
    written(home, "mode = 'trust'\n")
    policy = Policy.discover(home.parent)
    assert policy.mode is Mode.TRUST
    assert policy.notices == ()


@pytest.mark.parametrize(
    ("platform", "variables", "config"),
    [
        ("linux", {}, "{home}/.config/toolcrib"),
        ("linux", {"XDG_CONFIG_HOME": "/cfg"}, "/cfg/toolcrib"),
        ("linux", {"XDG_CONFIG_HOME": "relative"}, "{home}/.config/toolcrib"),
        ("darwin", {}, "{home}/Library/Application Support/toolcrib"),
        ("win32", {"APPDATA": "/roaming"}, "/roaming/toolcrib"),
        ("win32", {}, "{home}/AppData/Roaming/toolcrib"),
    ],
)
def test_configuration_is_where_the_platform_has_it(monkeypatch, platform, variables, config):
    """A relative value would be the current folder's authority."""
    for name in ("XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert places.config_folder() == Path(config.format(home=Path.home()))
