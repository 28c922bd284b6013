"""``doctor``: finds what is wrong, says what mends it."""

from __future__ import annotations

import contextlib
import os
import sqlite3

import pytest


@pytest.fixture
def signs(home):
    """Runs the doctor and returns what is not well, as (area, state, code)."""

    def look(*options, code=0):
        found = home.json("doctor", *options, code=code)
        assert found["ok"] == (code == 0)
        return [s for s in found["signs"] if s["state"] in {"warn", "fail"}]

    return look


def test_a_healthy_installation_is_said_to_be(home, desk):
    """Everything that was looked at is listed."""
    home.run("call", "desk.ping")
    result = home.run("doctor")
    assert result.exit_code == 0, result.output
    for area in ("python", "policy", "state", "ledger", "packs", "terminal"):
        assert f" {area}: " in result.stdout
    assert "Nothing is wrong." in result.stdout


def test_a_fresh_machine_is_told_what_to_do_first(home, signs):
    """No policy file is no failure."""
    (sign,) = signs()
    assert sign["mend"] == ["toolcrib packs enable DISTRIBUTION"]


def test_every_problem_of_a_policy_is_told(home, signs):
    """With file and line."""
    home.allow('mode = "wild"\nlimit = 3\n')
    found = signs(code=1)
    assert [f"{home.policy}:{n}:" in s["text"] for n, s in enumerate(found, 1)] == [True, True]


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_policy_that_others_can_write_is_wrong(home, desk, signs):
    """The command that mends it is given, and does."""
    home.policy.chmod(0o666)
    found = signs(code=1)
    assert f"chmod go-w {home.policy}" in [line for s in found for line in s["mend"]]


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_ledger_that_others_can_read_is_wrong(home, desk, signs):
    """So is a state folder that others can change."""
    home.run("call", "desk.ping")
    ledger = home.state / "ledger.sqlite"
    ledger.chmod(0o644)
    (sign,) = signs(code=1)
    assert sign["mend"] == [f"chmod 600 {ledger}"]
    ledger.chmod(0o600)
    home.state.chmod(0o777)
    assert f"chmod 700 {home.state}" in [line for s in signs(code=1) for line in s["mend"]]


def test_a_changed_ledger_is_found(home, desk, signs):
    """A receipt that was altered breaks the chain."""
    home.run("call", "desk.ping")
    with sqlite3.connect(home.state / "ledger.sqlite") as connection:
        connection.execute("UPDATE entries SET body = replace(body, 'desk', 'disk')")
    connection.close()
    assert {s["area"] for s in signs(code=1)} == {"ledger"}
    assert home.run("ledger", "verify").exit_code == 1


def test_a_call_that_nobody_finished_is_told(home, desk, signs):
    """Its process was killed: the effect may have happened."""
    with home.spawn("call", "desk.hang") as process:
        while not (home.state / "ledger.sqlite").exists() or not _begun(home):
            assert process.poll() is None
        process.kill()
        process.wait()
    (sign,) = signs()
    assert sign["code"] == "call.uncertain"
    (command,) = sign["mend"]
    assert home.run(*command.split()[1:]).exit_code == 0
    home.run("call", "desk.ping")
    assert signs() == []


def _begun(home):
    try:
        with contextlib.closing(sqlite3.connect(home.state / "ledger.sqlite")) as connection:
            (count,) = connection.execute("SELECT count(*) FROM calls").fetchone()
    except sqlite3.Error:
        return False
    return count > 0


def test_each_refusal_comes_with_what_mends_it(home, site, desk, signs):
    """Missing, contested, altered, unmet: the line is there."""
    site.install("toolcrib-one", "", pack="same", manifest=site.manifest("same"))
    site.install("toolcrib-two", "", pack="same", manifest=site.manifest("same"))
    altered = site.install("toolcrib-three", "", manifest=site.manifest("three"))
    (altered / "toolcrib.json").write_bytes(site.manifest("three") + b" ")
    names = ["toolcrib-one", "toolcrib-two", "toolcrib-three", "toolcrib-gone"]
    home.allow(f"packs = {names}\nguards = ['nobody']\n")
    mended = {s["code"]: s["mend"] for s in signs(code=1) if s["code"]}
    assert mended["pack.missing"][0] == "pip install toolcrib-gone"
    assert mended["manifest.altered"] == ["pip install --force-reinstall toolcrib-three"]
    assert mended["pack.contested"] == [
        f'in {home.policy}, under [owners]: same = "toolcrib-one" or same = "toolcrib-two"'
    ]
    assert mended["policy.dangling"] == [f"in {home.policy}: take nobody out of guards"]


def test_unmet_requirements_are_told(home, site, signs):
    """By the name of what is missing."""
    code = (
        "from toolcrib import Pack, Requirements\n"
        "pack = Pack('picky')\n"
        "@pack.tool(effects=[], requires=Requirements(executables=['no-such-program']))\n"
        "def ping(ctx) -> str:\n"
        "    'Answer.'\n"
        "    return ''\n"
    )
    site.install("toolcrib-picky", code)
    home.allow("packs = ['toolcrib-picky']")
    (sign,) = signs(code=1)
    assert sign["code"] == "tool.unmet"
    assert "no-such-program" in sign["mend"][0]


def test_a_tool_that_needs_what_only_an_app_gives_is_no_fault(home, site, signs):
    """The command line has no sub-agents and never will; nothing is to be mended."""
    code = (
        "from toolcrib import Pack, Requirements\n"
        "pack = Pack('crew')\n"
        "@pack.tool(effects=[], requires=Requirements(capabilities=['agents']))\n"
        "def ask(ctx) -> str:\n"
        "    'Ask.'\n"
        "    return ''\n"
    )
    site.install("toolcrib-crew", code)
    home.allow("packs = ['toolcrib-crew']")
    assert signs() == []
    result = home.run("check")
    assert result.exit_code == 0, result.output
    assert "0 tools, nothing wrong." in result.stdout
    assert "crew.ask requires the host's 'agents'" in result.stderr
    (told,) = home.json("check")["notes"]
    assert told["code"] == "tool.unmet"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise ImportError('no such thing')", "no such thing"),
        ("raise SystemExit(3)", "SystemExit"),
        ("class Odd(BaseException): pass\nraise Odd('odd')", "odd"),
        ("pack = 3", "no hook"),
    ],
)
def test_activation_finds_packs_that_do_not_load(home, site, signs, code, reason):
    """Only when asked to; each alone, with how to be rid of it."""
    desk = site.install("toolcrib-desk")
    site.install("toolcrib-bad", code, manifest=site.manifest("bad"))
    home.allow("packs = ['toolcrib-bad', 'toolcrib-desk']")
    assert signs() == []
    assert not (desk / "imported").exists()
    (sign,) = [s for s in signs("--activate", code=1) if s["state"] == "fail"]
    assert reason in sign["text"]
    assert "toolcrib packs disable toolcrib-bad" in sign["mend"]
    assert (desk / "imported").exists()


SOURCE = """
from toolcrib import Pack

pack = Pack("live")


class Source:
    name = "remote"

    async def open(self, changed):
        pass

    async def tools(self):
        raise OSError("the line is dead")

    async def close(self):
        pass


@pack.source
def sources(host):
    return [Source()]


@pack.tool(effects=[])
def ping(ctx) -> str:
    "Answer."
    return ""


@ping.active
def _(app) -> bool:
    raise ValueError("who knows")
"""


def test_activation_finds_dead_sources_and_failing_functions(home, site, signs):
    """A source that cannot be read, a lifecycle function that raises."""
    site.install("toolcrib-live", SOURCE)
    home.allow("packs = ['toolcrib-live']")
    assert signs() == []
    found = signs("--activate", code=1)
    texts = " ".join(s["text"] for s in found)
    assert "the line is dead" in texts
    assert "who knows" in texts
    # What failed is known later on as well, without the pack's code.
    (sign,) = signs()
    assert sign["code"] == "lifecycle.failed"
    assert "who knows" in sign["text"]


def test_a_lock_that_does_not_hold_is_told(home, desk, signs):
    """With the commands that show and approve it."""
    assert home.run("lock", "write").exit_code == 0
    assert signs() == []
    (desk / "__init__.py").write_text("# changed\n")
    (sign,) = signs(code=1)
    assert sign["mend"] == ["toolcrib lock diff", "toolcrib lock accept desk"]


def test_a_policy_that_was_named_and_is_not_there_is_wrong(home):
    """It was meant to be used."""
    found = home.json("doctor", "--policy", home.root / "missing.toml", code=1)
    assert [s["area"] for s in found["signs"] if s["state"] == "fail"] == ["policy"]


def test_a_workspaces_file_is_said_to_be_trusted_or_not(home, desk):
    """With the command that trusts it."""
    own = home.workspace / "toolcrib.toml"
    own.write_text('mode = "plan"\n')
    (sign,) = [s for s in home.json("doctor")["signs"] if s["area"] == "workspace"]
    assert sign["state"] == "note"
    command = sign["mend"][0].split()
    digest = home.run(*command[1:]).stderr.split()[-1]
    assert home.run(*command[1:], "--digest", digest).exit_code == 0
    (sign,) = [s for s in home.json("doctor")["signs"] if s["area"] == "workspace"]
    assert sign["state"] == "ok"
    own.write_text("mode = 3\n")
    assert home.run("doctor").exit_code == 1


def test_open_questions_are_told(home, desk):
    """With the command that lists them."""
    home.run("call", "desk.note", '{"path": "n", "text": "x"}', "--conversation", "c")
    found = [s for s in home.json("doctor")["signs"] if s["code"] == "question.open"]
    assert [s["mend"] for s in found] in ([], [["toolcrib ledger questions"]])


def test_a_state_folder_that_cannot_be_looked_into_is_a_finding(home, desk, signs, monkeypatch):
    """Another user's folder raises as a name that is too long does; the rest is told."""
    monkeypatch.setenv("XDG_STATE_HOME", str(home.root / ("s" * 300)))
    found = signs(code=1)
    (sign,) = [s for s in found if s["area"] == "state"]
    assert "cannot be looked at: " in sign["text"]
    assert "XDG_STATE_HOME" in sign["mend"][1]


@pytest.mark.skipif(os.name != "posix", reason="the user database of POSIX")
def test_nobody_s_home_is_said_to_be_unknown(home, monkeypatch):
    """In a container the user may have neither HOME nor an entry in the user database."""
    import pwd  # noqa: PLC0415 - there is none on Windows

    def unknown(_uid):
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name)
    result = home.run("packs")
    assert result.exit_code == 3, result.output
    assert "set HOME, or XDG_CONFIG_HOME and XDG_STATE_HOME" in result.stderr
