"""``lock``: what was approved, and what differs from it."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def locked(home, desk):
    """The pack ``desk``, locked; returns the lock file."""
    assert home.run("lock", "write").exit_code == 0
    return home.policy.with_name("toolcrib.lock")


def change(home, site, desk):
    """Install the pack again, with a tool that may do more."""
    code = (desk / "__init__.py").read_text(encoding="utf-8")
    code = code.replace("effects=[]", "effects=['net_write']", 1)
    remove(site, desk)
    site.install("toolcrib-desk", code)


def remove(site, desk):
    """Uninstall the pack."""
    for place in (desk, *site.path.glob("toolcrib_desk-*")):
        for file in sorted(place.rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
        place.rmdir()


def test_what_is_locked_runs_and_holds(home, locked, desk):
    """Writing a lock imports nothing; a lock that is there is not replaced by accident."""
    assert not (desk / "imported").exists()
    assert json.loads(locked.read_text())["packs"]["desk"]["version"] == "1.0"
    result = home.run("lock", "verify")
    assert result.exit_code == 0
    assert result.stdout.startswith("1 pack is what ")
    assert home.json("lock", "diff")["changes"] == []
    result = home.run("lock", "write")
    assert result.exit_code == 1
    assert "toolcrib lock accept" in result.stderr
    assert home.run("lock", "write", "--force").exit_code == 0
    assert home.finish("call", "desk.ping")[0] == 0


def test_what_drifted_is_shown_and_does_not_run(home, site, locked, desk):
    """Until it is accepted; the difference says how bad it is."""
    change(home, site, desk)
    assert home.run("lock", "verify").exit_code == 1
    text = home.run("lock", "diff").stdout
    assert "widening  tool desk.ping effects: +net_write" in text
    code, _, err = home.finish("call", "desk.ping", "--no-ask")
    assert code == 14
    assert b"lock.drifted" in err
    facts = home.json("lock", "accept", "desk")
    assert facts["locked"] == ["desk"]
    assert home.run("lock", "verify").exit_code == 0
    # It may do more now, so it is asked.
    assert home.finish("call", "desk.ping", "--no-ask")[0] == 13


def test_a_pack_that_is_not_in_the_lock_does_not_run(home, site, locked):
    """Enabling is not approving."""
    site.install("toolcrib-more", "", manifest=site.manifest("more"))
    home.run("packs", "enable", "toolcrib-more")
    result = home.run("lock", "verify")
    assert result.exit_code == 1
    assert "toolcrib lock accept more" in result.stdout
    assert home.run("call", "more.ping").exit_code == 14
    assert home.run("lock", "accept", "more").exit_code == 0
    assert home.run("lock", "verify").exit_code == 0


def test_a_pack_that_is_not_in_the_lock_differs_from_it(home, site, locked):
    """The difference says what takes it in; its distribution is a name for it too."""
    site.install("toolcrib-more", "", manifest=site.manifest("more"))
    home.run("packs", "enable", "toolcrib-more")
    assert "toolcrib lock accept more" in home.run("lock", "diff").stdout
    assert home.json("lock", "diff")["absent"] == ["more"]
    assert "is not in" in home.run("doctor").stdout
    assert home.json("lock", "accept", "toolcrib-more")["locked"] == ["more"]
    assert "Nothing differs" in home.run("lock", "diff").stdout


def test_nobody_is_told_to_lock_an_editable_pack(home, site, locked):
    """Why it cannot be locked is said, and nothing that would fail is offered."""
    site.install("toolcrib-more", "", manifest=site.manifest("more"))
    info = site.path / "toolcrib_more-1.0.dist-info"
    origin = {"url": site.path.as_uri(), "dir_info": {"editable": True}}
    (info / "direct_url.json").write_text(json.dumps(origin))
    home.run("packs", "enable", "toolcrib-more")
    for words in (
        ("lock", "verify"),
        ("lock", "diff"),
        ("lock", "accept", "more"),
        ("doctor",),
    ):
        output = home.run(*words).output
        assert "lock.unlockable" in output
        assert "toolcrib lock accept more" not in output
        assert "Nothing differs" not in output


def test_a_missing_or_broken_lock_has_its_own_code(home, desk):
    """And the next step."""
    result = home.run("lock", "verify")
    assert result.exit_code == 3
    assert "toolcrib lock write" in result.stderr
    file = home.policy.with_name("toolcrib.lock")
    file.write_text("{")
    assert home.run("lock", "diff").exit_code == 3
    assert home.run("call", "desk.ping").exit_code == 3


def test_what_is_no_pack_is_not_accepted(home, locked):
    """The lock stays as it was."""
    before = locked.read_bytes()
    assert home.run("lock", "accept", "nothing").exit_code == 1
    assert locked.read_bytes() == before


def test_a_lock_and_develop_exclude_each_other(home, locked):
    """Code that nobody approved never goes with a lock."""
    assert home.run("lock", "write", "--develop").exit_code == 2
    assert home.run("call", "desk.ping", "--develop").exit_code == 3


LIVE = """
from toolcrib import Description, Implementation, Pack, Tool

pack = Pack("live")


class Source:
    name = "remote"

    async def open(self, changed):
        pass

    async def tools(self):
        schema = {"type": "object", "properties": {}}
        tool = Tool(
            id="live.remote.far", title="Far", description=Description("Far away."),
            input_schema=schema, effects=frozenset(),
        )
        return [Implementation(tool=tool, handler=lambda ctx: "far")]

    async def close(self):
        pass


@pack.source
def sources(host):
    return [Source()]


@pack.tool(effects=[])
def near(ctx) -> str:
    "Near."
    return "near"
"""


def test_tools_of_live_sources_are_locked_when_asked_to(home, site):
    """Only then is their pack's code imported; without, they are not judged."""
    site.install("toolcrib-live", LIVE)
    home.allow("packs = ['toolcrib-live']")
    assert home.run("lock", "write", "--live").exit_code == 0
    lock = json.loads(home.policy.with_name("toolcrib.lock").read_text())
    assert sorted(lock["packs"]["live"]["tools"]) == ["live.near", "live.remote.far"]
    assert home.run("lock", "verify").exit_code == 0
    assert home.run("lock", "verify", "--live").exit_code == 0
    assert home.run("call", "live.remote.far").stdout == "far\n"
    assert "toolcrib explain live.remote.far" in home.run("explain", "live.remote.far").stderr
    assert home.json("explain", "live.remote.far", "{}")["verdict"] == "run"


def test_a_locked_pack_that_is_gone_is_a_finding(home, site, locked, desk):
    """It is enabled and was approved, and what it promises is not there."""
    remove(site, desk)
    result = home.run("lock", "verify")
    assert result.exit_code == 1, result.output
    assert "no installed distribution 'toolcrib-desk'" in result.stderr
    assert " what " not in result.stdout
    (refused,) = home.json("lock", "verify", code=1)["refused"]
    assert refused["code"] == "pack.missing"
    home.run("packs", "disable", "toolcrib-desk")
    assert home.run("lock", "verify").exit_code == 0
