"""Passwords go in by name only, and come out nowhere."""

from __future__ import annotations

import json

import pytest

from toolcrib_net.testing import ok


pytestmark = pytest.mark.peer

PASSWORD = "correct horse battery"
LOGIN = """<title>Log in</title><form action="/in" method="post">
<label>User <input name="user"></label>
<label>Password <input name="pw" type="password"></label>
<label>One-time code <input name="code" autocomplete="one-time-code"></label>
<label>Search <input name="q"></label><button>Log in</button></form>
<button type="button" onclick="document.forms[0].pw.type='text'">Show</button>
<button type="button" onclick="console.log('typed ' + document.forms[0].pw.value);
o.textContent='echo ' + document.forms[0].pw.value;
fetch('/echo?pw=' + encodeURIComponent(document.forms[0].pw.value));
setTimeout(() => { throw new Error(document.forms[0].pw.value) })">Leak</button>
<p id="o">-</p>"""


@pytest.fixture
def login(site, browser, monkeypatch):
    """A site that asks for a password, and a policy that binds it to that site."""
    monkeypatch.setenv("SITE_PASSWORD", PASSWORD)
    site.add("/", ok(LOGIN))
    site.add("/echo", ok("x"))
    site.add("/in", lambda asked: ok(f"<h1>in as {asked.body.decode()[:20]}</h1>"))
    browser.policy["secrets"] = {
        "site": {
            "env": "SITE_PASSWORD",
            "tools": ["browser.interact"],
            "destinations": ["127.0.0.2"],
        },
        "elsewhere": {
            "env": "SITE_PASSWORD",
            "tools": ["browser.interact"],
            "destinations": ["bank.example"],
        },
    }
    return site


def everything(outcome):
    """All that leaves a call, as text."""
    result = outcome.result
    blocks = [str(getattr(b, "text", "")) + str(getattr(b, "data", "")) for b in result.content]
    parts = [outcome.text, result.summary, json.dumps(result.structured), str(result.notes)]
    return "\n".join([*parts, *blocks, json.dumps(dict(outcome.details), default=str)])


def test_password_is_filled_by_name_and_appears_nowhere(login, browser, text):
    """In no answer, log, network view or receipt."""

    async def scenario(me):
        outs = [await me.go(login.url("/"))]
        fields = [
            {"ref": me.ref('"User"'), "value": "ada"},
            {"ref": me.ref('"Password"'), "secret": "site"},
        ]
        filled = await me.act("fill", fields=fields)
        assert filled.ok, filled.text
        outs.append(filled)
        outs.append(await me.look())
        assert "[value hidden]" in text(outs[-1])
        assert "ada" in text(outs[-1])
        outs.append(await me.click('"Show"'))
        outs.append(await me.look())
        outs.append(await me.click('"Leak"'))
        outs.append(await me.look())
        for kind in ("console", "errors", "network", "markdown"):
            outs.append(await me.call("browser.inspect", target={"kind": kind}))
            assert outs[-1].ok, outs[-1]
        find = {"kind": "find", "text": "echo"}
        outs.append(await me.call("browser.inspect", target=find))
        outs.append(await me.click('"Log in"'))
        return outs, list(me.asked)

    outcomes, asked = browser.run(scenario)
    for outcome in outcomes:
        assert outcome.ok, outcome
        for form in (PASSWORD, PASSWORD.replace(" ", "%20"), PASSWORD.replace(" ", "+")):
            assert form not in everything(outcome)
    assert "secret site" in "\n".join(q.preview or "" for q in asked)
    assert f"pw={PASSWORD.replace(' ', '+')}" in login.asked[-1].body.decode()
    for path in (browser.root / ".state").rglob("*"):
        if path.is_file():
            assert PASSWORD.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("field", ["Password", "One-time code"])
@pytest.mark.parametrize("kind", ["fill", "type"])
def test_literal_for_a_credential_field_is_refused(login, browser, field, kind):
    """Before a key is pressed."""

    async def scenario(me):
        await me.go(login.url("/"))
        if kind == "type":
            return await me.act("type", f'"{field}"', text="hunter22")
        fields = [{"ref": me.ref(f'"{field}"'), "value": "hunter22"}]
        return await me.act("fill", fields=fields)

    outcome = browser.run(scenario)
    assert (outcome.status, outcome.code) == ("refused", "browser.secret_needed")
    assert "hunter22" not in outcome.text


def test_secret_for_an_ordinary_field_is_refused(login, browser):
    """It would be shown there."""

    async def scenario(me):
        await me.go(login.url("/"))
        fields = [{"ref": me.ref('"Search"'), "secret": "site"}]
        return await me.act("fill", fields=fields)

    outcome = browser.run(scenario)
    assert (outcome.status, outcome.code) == ("refused", "browser.secret_shown")


@pytest.mark.parametrize("name", ["elsewhere", "unknown"])
def test_secret_of_another_host_is_not_there(login, browser, name):
    """A page cannot ask for what is bound elsewhere, and hears not whether it exists."""

    async def scenario(me):
        await me.go(login.url("/"))
        fields = [{"ref": me.ref('"Password"'), "secret": name}]
        return await me.act("fill", fields=fields)

    outcome = browser.run(scenario)
    assert (outcome.status, outcome.code) == ("unavailable", "secret.unavailable")
    assert "POST /in" not in login.hits


def test_secret_is_not_sent_in_clear_to_a_host_that_is_not_named(login, browser):
    """Over http it goes to this machine, or where the user said so, only."""
    browser.settings["hosts"] = {"site.test": ["127.0.0.2"]}
    browser.policy["secrets"]["site"]["destinations"] = ["site.test"]

    async def scenario(me):
        await me.go(login.url("/", "site.test"))
        fields = [{"ref": me.ref('"Password"'), "secret": "site"}]
        return await me.act("fill", fields=fields)

    refused = browser.run(scenario)
    assert (refused.status, refused.code) == ("refused", "browser.secret_in_clear")
    browser.settings["net"]["allow"].append("site.test")
    assert browser.run(scenario).ok


def test_pictures_hide_what_credential_fields_hold(login, browser, monkeypatch):
    """Also when the page shows the password in plain text: two of them look the same."""

    async def scenario(me):
        await me.go(login.url("/", "127.0.0.2"))
        await me.act("fill", fields=[{"ref": me.ref('"Password"'), "secret": "site"}])
        await me.click('"Show"')
        taken = await me.call("browser.inspect", target={"kind": "screenshot"})
        return next(b.data for b in taken.result.content if b.type == "image")

    first = browser.run(scenario)
    monkeypatch.setenv("SITE_PASSWORD", "another one entirely")
    assert browser.run(scenario) == first
