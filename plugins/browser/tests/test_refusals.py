"""What is refused before any browser is started."""

from __future__ import annotations

import os

import pytest

from toolcrib.testing import async_run

from toolcrib_browser import finding, interact, navigate, page, snapshot, temporary
from toolcrib_browser.engine import Engine
from toolcrib_browser.settings import BrowserSettings


ACT = {
    "page": "p1abcd",
    "snapshot": "s1abcd",
    "origin": "https://a.test",
}


def test_no_browser_is_unavailable_with_the_command_that_installs_one(dry, monkeypatch):
    """Whatever is asked for first."""
    monkeypatch.setenv("PATH", str(dry.root))
    monkeypatch.setattr(finding.sys, "platform", "linux")

    async def scenario(me):
        return await me.go("https://1.1.1.1/"), await me.go("about:blank")

    for outcome in dry.run(scenario):
        assert (outcome.status, outcome.code) == ("unavailable", "browser.not_installed")
        assert "install" in outcome.text
        assert "hromium" in outcome.text


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("apt-get", "apt-get install --no-install-recommends chromium"),
        ("dnf", "dnf install chromium"),
        ("pacman", "pacman -S chromium"),
        ("apk", "apk add chromium"),
        ("", "own package manager"),
    ],
)
def test_command_is_that_of_the_system(monkeypatch, program, words):
    """By the package manager that is there."""
    monkeypatch.setattr(finding.sys, "platform", "linux")
    monkeypatch.setattr(
        finding.shutil,
        "which",
        lambda name, **_: f"/usr/bin/{name}" if name == program else None,
    )
    assert words in finding.install_command()


def test_program_that_settings_name_is_the_only_one(dry):
    """A wrong one is named, and no other is taken in its place."""
    dry.settings["executable"] = str(dry.root / "no-such")

    async def scenario(me):
        return await me.go("about:blank")

    outcome = dry.run(scenario)
    assert (outcome.status, outcome.code) == ("unavailable", "browser.not_installed")
    assert "no-such" in outcome.text


def test_program_that_does_not_start_is_named_with_its_reason(dry):
    """Tried once."""
    program = dry.root / "broken"
    count = dry.root / "count"
    program.write_text(f"#!/bin/sh\necho x >> {count}\necho 'error: no display' >&2\nexit 3\n")
    program.chmod(0o755)
    dry.settings["executable"] = str(program)

    async def scenario(me):
        return await me.go("about:blank")

    outcome = dry.run(scenario)
    assert (outcome.status, outcome.code) == ("unavailable", "browser.not_started")
    assert str(program) in outcome.text
    assert "install" in outcome.text
    assert count.read_text() == "x\n"


def test_browser_that_ends_at_once_is_named_with_what_ended_it(dry, tmp_path):
    """And not with what else it, or the script that starts it, had to say."""
    program = tmp_path / "broken"
    program.write_text("#!/bin/sh\necho '[: unexpected operator' >&2\necho FATAL: full >&2\n")
    program.chmod(0o755)
    dry.settings = {"executable": str(program)}

    async def scenario(me):
        return await me.go("about:blank")

    outcome = dry.run(scenario)
    assert outcome.code == "browser.not_started", outcome
    assert "FATAL: full." in outcome.text


def test_long_path_to_temporary_files_that_nothing_shortens_is_named(
    dry, tmp_path, monkeypatch
):
    """With what the user can set instead; the browser is not even started."""
    program, chosen, gone = tmp_path / "any", tmp_path / ("x" * 100), tmp_path / "gone"
    program.write_text(f"#!/bin/sh\ntouch {gone}\n")
    program.chmod(0o755)
    chosen.mkdir()
    monkeypatch.setenv("TMPDIR", str(chosen))
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/nowhere")
    monkeypatch.setattr(temporary, "_PLACES", ("/proc",))
    dry.settings = {"executable": str(program)}

    async def scenario(me):
        return await me.go("about:blank")

    outcome = dry.run(scenario)
    assert (outcome.status, outcome.code) == ("unavailable", "browser.not_started"), outcome
    assert f"TMPDIR, {chosen}, has {len(str(chosen))} bytes" in outcome.text
    assert "/nowhere or /proc" in outcome.text
    assert not gone.exists()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("colour", "red"),
        ("pages", 0),
        ("pages", "many"),
        ("navigate", "https://a.test"),
        ("navigate", ["https://a.test/path"]),
        ("navigate", ["https://*.*.test"]),
        ("navigate", ["ftp://a.test"]),
        ("net", {"allow_all": True}),
        ("sandbox", "maybe"),
    ],
)
def test_settings_that_cannot_be_used_are_named(dry, key, value):
    """By their key."""
    dry.settings = {key: value}

    async def scenario(me):
        return await me.go("about:blank")

    outcome = dry.run(scenario)
    assert (outcome.status, outcome.code) == ("unavailable", "browser.settings")
    assert key in outcome.text or "allow_all" in outcome.text


@pytest.mark.parametrize(
    ("tool", "arguments", "pointer"),
    [
        ("navigate", {}, "/url"),
        ("navigate", {"url": "no address"}, "/url"),
        ("navigate", {"url": "https://"}, "/url"),
        ("navigate", {"action": "back"}, "/origin"),
        ("navigate", {"action": "back", "origin": "nonsense"}, "/origin"),
        ("navigate", {"action": "back", "url": "https://a.test"}, "/url"),
        ("navigate", {"url": "https://a.test", "origins": ["file:///x"]}, "/origins/0"),
        ("snapshot", {"origin": "file:///x"}, "/origin"),
        ("page", {"action": "close"}, "/page"),
        ("page", {"action": "list", "page": "p1abcd"}, "/page"),
    ],
)
def test_arguments_that_do_not_fit_together_are_named(dry, tool, arguments, pointer):
    """Before anybody is asked."""

    async def scenario(me):
        return await me.call(f"browser.{tool}", **arguments), me.asked

    outcome, asked = dry.run(scenario)
    assert outcome.status == "invalid", outcome
    assert pointer in [p["pointer"] for p in outcome.details["problems"]]
    assert asked == []


@pytest.mark.parametrize(
    ("action", "pointer"),
    [
        ({"kind": "press", "key": "Hyper+X"}, "/action/key"),
        ({"kind": "press", "key": "Entr"}, "/action/key"),
        ({"kind": "press", "key": "Control+Control+A"}, "/action/key"),
        ({"kind": "drag", "ref": "e1", "to": "e1"}, "/action/to"),
        ({"kind": "fill", "fields": [{"ref": "e1"}]}, "/action/fields/0"),
        (
            {"kind": "fill", "fields": [{"ref": "e1", "value": "a", "secret": "b"}]},
            "/action/fields/0",
        ),
        (
            {"kind": "fill", "fields": [{"ref": "e1", "value": "a"}] * 2},
            "/action/fields/1/ref",
        ),
        (
            {
                "kind": "fill",
                "fields": [{"ref": f"e{n}", "value": "x" * 9000} for n in range(2)],
            },
            "/action/fields",
        ),
    ],
)
def test_actions_that_the_schema_cannot_refuse_are_refused(dry, action, pointer):
    """With the place."""

    async def scenario(me):
        return await me.call("browser.interact", **ACT, action=action), me.asked

    outcome, asked = dry.run(scenario)
    assert outcome.status == "invalid"
    assert pointer in [p["pointer"] for p in outcome.details["problems"]]
    assert asked == []


@pytest.mark.parametrize("key", ["a", "+", "Control++", "Control+Shift+T", "F5", "ArrowDown"])
def test_keys_and_chords_that_there_are_pass(dry, key):
    """They end at the page, which is not there."""

    async def scenario(me):
        return await me.call("browser.interact", **ACT, action={"kind": "press", "key": key})

    assert dry.run(scenario).status in {"not_found", "unavailable"}


def companions(tool):
    """The functions beside a tool, ready to be called with plain arguments."""
    return tool.implementation.companions


def test_navigation_names_its_address_and_every_origin_it_may_pass():
    """In the signature, so that rules judge them."""
    found = companions(navigate).signature(
        url="https://A.test/x?y=1#z", origins=["https://sso.test"]
    )
    assert [str(r) for r in found.resources] == [
        "read url https://a.test/x?y=1",
        "read url https://sso.test/",
    ]
    assert {str(e) for e in found.effects} == {"browser", "net_read"}


def test_action_names_page_origin_and_what_it_does(tmp_path):
    """The site is written to; files of an upload are read."""
    path = os.path.realpath(tmp_path / "a.txt")
    found = companions(interact).signature(
        **ACT,
        action={"kind": "upload", "ref": "e1", "paths": [path]},
        frame_origin="https://b.test:8443",
    )
    assert [str(r) for r in found.resources] == [
        "read browser-action upload@p1abcd",
        f"read path {path}",
        "write url https://a.test/",
        "write url https://b.test:8443/",
    ]
    assert {str(e) for e in found.effects} == {
        "browser",
        "net_read",
        "net_write",
        "fs_read",
    } - {"net_read"}


def test_always_offers_one_site_and_one_kind_of_action():
    """Never more than was asked."""
    click = {"kind": "click", "ref": "e1"}
    rule = companions(interact).generalize(**ACT, action=click)
    assert rule == "allow browser.interact(url=https://a.test, browser-action=click@*)"
    double = companions(interact).generalize(**ACT, action=click | {"count": 2})
    assert "double_click@*" in double
    assert (
        companions(interact).generalize(**ACT, action=click, origins=["https://b.test"]) is None
    )
    upload = {"kind": "upload", "ref": "e1", "paths": ["a"]}
    assert companions(interact).generalize(**ACT, action=upload) is None
    rule = companions(navigate).generalize(url="http://a.test:8080/x")
    assert rule == "allow browser.navigate(url=http://a.test:8080)"


def test_preview_of_a_fill_shows_values_and_names_of_secrets():
    """What a person decides on."""
    fields = [{"ref": "e1", "value": "ada"}, {"ref": "e2", "secret": "shop"}]
    shown = companions(interact).preview(
        **ACT, action={"kind": "fill", "fields": fields, "submit": True}
    )
    assert shown.splitlines() == [
        'fill e1 with "ada"; fill e2 with secret shop; then Enter',
        "on page p1abcd of https://a.test",
    ]


def test_looking_names_the_site_or_any():
    """A rule for one site covers a look that names it."""
    named = companions(snapshot).signature(origin="https://a.test")
    assert [str(r) for r in named.resources] == ["read url https://a.test/"]
    unnamed = companions(snapshot).signature()
    assert [str(r) for r in unnamed.resources] == ["read url (any)"]


def test_pages_are_an_action_of_their_own():
    """Which rules can tell apart."""
    found = companions(page).signature(action="reset")
    assert [str(r) for r in found.resources] == ["read browser-action reset@pages"]


def test_browser_gets_no_secret_of_the_host():
    """Its environment is a small base."""
    given = finding.environment(
        {
            "PATH": "/bin",
            "HOME": "/root",
            "API_KEY": "x",
            "AWS_SECRET": "y",
            "LANG": "C",
            "LC_ALL": "z" * 40000,
        }
    )
    assert given == {"PATH": "/bin", "HOME": "/root", "LANG": "C"}


def test_engine_that_was_never_used_closes_quietly():
    """Nothing is started to be ended."""

    async def main():
        await Engine(BrowserSettings()).close()

    async_run(main())
