"""Authority over pages: what was seen must still be so, and a new origin is a new decision."""

from __future__ import annotations

import asyncio
import re
import threading

import pytest

from toolcrib import Deny
from toolcrib_net.testing import Site, ok, reply

from toolcrib_browser.desk import Desk


pytestmark = pytest.mark.peer

LOG = "onclick=\"navigator.sendBeacon('/log/'+this.textContent)\""


def pages(site):
    """Two pages whose buttons stand in the same place and tell of every click."""
    site.add(
        "/one", ok(f'<title>One</title><button {LOG}>Delete</button><a href="/two">on</a>')
    )
    site.add("/two", ok(f'<title>Two</title><button {LOG}>Pay</button><a href="/one">on</a>'))
    site.add("/same", ok(f'<title>Same</title><button {LOG}>Delete</button><a href="/">on</a>'))


def clicks(site):
    """What was clicked, as the pages told."""
    return [asked.path for asked in site.asked if asked.path.startswith("/log/")]


async def by_link(me, site):
    await me.click('link "on"')


async def by_reload(me, site):
    await me.call("browser.navigate", action="reload", page=me.page, origin=site.url(""))


async def by_going(me, site):
    await me.go(site.url("/same"))


async def by_back(me, site):
    await me.call("browser.navigate", action="back", page=me.page, origin=site.url(""))


@pytest.mark.parametrize("way", [by_link, by_reload, by_going, by_back])
def test_old_ref_acts_on_no_new_document(site, browser, text, way):
    """Not even where the element of the new one has the same ref, role and name."""
    pages(site)

    async def scenario(me):
        await me.go(site.url("/two"))
        await me.go(site.url("/one"))
        old = {"snapshot": me.snapshot, "ref": me.ref("Delete")}
        await way(me, site)
        stale = await me.call(
            "browser.interact",
            page=me.page,
            snapshot=old["snapshot"],
            origin=me.origin,
            action={"kind": "click", "ref": old["ref"]},
        )
        assert (stale.status, stale.code) == ("failed", "browser.stale"), stale
        assert "another document" in stale.text
        # The refusal shows the page as it is, and what it shows can be acted on.
        assert f"snapshot {me.snapshot}" in stale.text
        assert me.snapshot != old["snapshot"]
        assert "[ref=" in stale.text

    browser.run(scenario)
    assert clicks(site) == []


def test_old_ref_acts_on_no_new_document_after_a_script_navigated(site, browser):
    """Nobody called for it."""
    go = threading.Event()

    async def later(asked, writer):
        await asyncio.to_thread(go.wait, 20)
        writer.write(ok("x"))

    site.add("/later", later)
    site.add(
        "/one",
        ok(
            f"<button {LOG}>Delete</button><script>fetch('/later').then(() => "
            "{ location = '/two' })</script>"
        ),
    )
    site.add("/two", ok(f"<title>Two</title><button {LOG}>Delete</button>"))

    async def scenario(me):
        await me.go(site.url("/one"))
        old = {"snapshot": me.snapshot, "ref": me.ref("Delete")}
        go.set()
        await me.call("browser.wait", condition={"kind": "url", "url": "*/two"})
        return await me.call(
            "browser.interact",
            page=me.page,
            snapshot=old["snapshot"],
            origin=me.origin,
            action={"kind": "click", "ref": old["ref"]},
        )

    assert browser.run(scenario).code == "browser.stale"
    assert clicks(site) == []


def test_old_ref_acts_on_no_new_document_of_a_frame(site, browser):
    """The page is the same; the frame is not."""
    site.add("/a", ok(f"<button {LOG}>Delete</button>"))
    site.add("/b", ok(f"<button {LOG}>Delete</button><p>b</p>"))
    site.add("/", ok('<iframe src="/a" name="f"></iframe><a href="/b" target="f">swap</a>'))

    async def scenario(me):
        await me.go(site.url("/"))
        await me.call("browser.wait", condition={"kind": "load"})
        await me.look()
        old = {"snapshot": me.snapshot, "ref": me.ref("Delete")}
        await me.click('"swap"')
        await me.call("browser.wait", condition={"kind": "load", "state": "networkidle"})
        return await me.call(
            "browser.interact",
            page=me.page,
            snapshot=old["snapshot"],
            origin=me.origin,
            action={"kind": "click", "ref": old["ref"]},
        )

    outcome = browser.run(scenario)
    assert (outcome.status, outcome.code) == ("failed", "browser.stale")
    assert clicks(site) == []


def test_unchanged_element_keeps_its_ref(site, browser):
    """Also when something else on the page has changed, and from an older snapshot."""
    pages(site)
    site.add(
        "/", ok("<button onclick=\"o.textContent='x'\">A</button><button>B</button><p id=o>")
    )

    async def scenario(me):
        await me.go(site.url("/"))
        first, ref = me.snapshot, me.ref('"B"')
        await me.click('"A"')
        assert me.ref('"B"') == ref
        outcome = await me.call(
            "browser.interact",
            page=me.page,
            snapshot=first,
            origin=me.origin,
            action={"kind": "click", "ref": ref},
        )
        assert outcome.ok, outcome.text

    browser.run(scenario)


def test_button_that_was_swapped_since_the_snapshot_is_not_clicked(site, browser):
    """Same place, same element, another meaning."""
    go = threading.Event()

    async def later(asked, writer):
        await asyncio.to_thread(go.wait, 20)
        writer.write(ok("x"))

    site.add("/later", later)
    site.add(
        "/",
        ok(
            f"<button id=b {LOG}>Delete</button><p id=o>-</p><script>fetch('/later').then(() =>"
            "{ b.textContent = 'Pay'; o.textContent = 'swapped' })</script>"
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        old = {"snapshot": me.snapshot, "ref": me.ref("Delete")}
        go.set()
        await me.call("browser.wait", condition={"kind": "text", "text": "swapped"})
        return await me.call(
            "browser.interact",
            page=me.page,
            snapshot=old["snapshot"],
            origin=me.origin,
            action={"kind": "click", "ref": old["ref"]},
        )

    outcome = browser.run(scenario)
    assert (outcome.status, outcome.code) == ("failed", "browser.stale")
    assert "Nothing was done" in outcome.text
    assert 'button "Pay"' in outcome.text
    assert clicks(site) == []


def test_guard_of_a_call_that_was_given_up_stops_no_other(site, browser, text):
    """Only the last one counts, and only for its own element."""
    site.add(
        "/",
        ok(
            '<button id=b disabled>Wait</button><button onclick="b.disabled = false;'
            "b.textContent = 'Go'\">Ready</button><p id=o>-</p>"
            "<script>b.onclick = () => { o.textContent = 'went' }</script>"
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        given_up = await me.click('"Wait"', timeout_ms=300)
        assert given_up.code == "browser.not_ready"
        ready = await me.click('"Ready"')
        assert ready.ok, ready.text
        await me.look()
        went = await me.click('"Go"')
        assert went.ok, went.text
        assert ": went" in text(went)

    browser.run(scenario)


def test_link_that_navigates_on_mousedown_is_told_as_what_happened(site, browser, text):
    """The click went to the page that was seen; where it led is said."""
    site.add("/", ok('<a href="/x" onmousedown="location=\'/y\'">go</a>'))
    site.add("/x", ok("<title>X</title><p>x</p>"))
    site.add("/y", ok("<title>Y</title><p>y</p>"))

    async def scenario(me):
        await me.go(site.url("/"))
        outcome = await me.click('"go"')
        assert outcome.ok, outcome.text
        state = outcome.result.structured["state"]
        assert f"the page went to {state['url']}" in text(outcome)
        assert state["url"] in {site.url("/x"), site.url("/y")}
        assert state["title"] in {"X", "Y"}

    browser.run(scenario)


def test_wrong_origin_is_refused_with_the_page_as_it_is(site, other, browser):
    """Whatever the caller remembers."""
    pages(site)

    async def scenario(me):
        await me.go(site.url("/one"))
        snapshot, ref = me.snapshot, me.ref("Delete")
        acted = await me.call(
            "browser.interact",
            page=me.page,
            snapshot=snapshot,
            origin=other.url(""),
            action={"kind": "click", "ref": ref},
        )
        looked = await me.look(origin=other.url(""))
        return acted, looked

    acted, looked = browser.run(scenario)
    assert (acted.status, acted.code) == ("refused", "browser.origin_changed")
    assert 'button "Delete"' in acted.text
    assert (looked.status, looked.code) == ("refused", "browser.origin_changed")
    assert "ref=" not in looked.text
    assert clicks(site) == []


LEAVING = {
    "link": '<a href="{other}">go</a>',
    "redirect": '<a href="/redirect">go</a>',
    "script": "<button onclick=\"location='{other}'\">go</button>",
    "form": '<form action="{other}" method="post"><button>go</button></form>',
    "replace": "<button onclick=\"location.replace('{other}')\">go</button>",
    "window": '<a href="{other}" target="_blank">go</a>',
    "window by script": "<button onclick=\"window.open('{other}')\">go</button>",
    "window of a redirect": '<a href="/redirect" target="_blank">go</a>',
    "mousedown": '<a href="/here" onmousedown="location=\'{other}\'">go</a>',
}


@pytest.mark.parametrize("way", list(LEAVING))
def test_click_that_leads_to_another_origin_is_uncertain_and_stays(site, other, browser, way):
    """Nothing of it is shown, and the next step is named."""
    other.add("/away", ok("<p>foreign words</p>"))
    away = other.url("/away")
    site.add("/redirect", reply(302, "", [("Location", away)]))
    site.add("/here", ok("<p>here</p>"))
    site.add("/", ok(LEAVING[way].format(other=away)))

    async def scenario(me):
        await me.go(site.url("/"))
        outcome = await me.click('"go"')
        pages = await me.call("browser.page")
        return outcome, pages

    outcome, pages = browser.run(scenario)
    if way == "mousedown" and outcome.ok:
        # The click itself went on to the address of the link, on the page's own site.
        assert outcome.result.structured["state"]["url"] == site.url("/here")
    else:
        assert (outcome.status, outcome.code) == ("uncertain", "browser.new_origin"), outcome
        assert away in outcome.text
    assert "foreign words" not in outcome.text
    assert all(p["origin"] == site.url("") for p in pages.result.structured["pages"])
    if way != "window of a redirect":
        assert other.hits == []


def test_origins_that_were_named_are_passed_in_one_call(site, other, browser, text):
    """Each stands in the call's signature, so each was decided."""
    other.add("/away", ok("<p>foreign words</p>"))
    site.add("/redirect", reply(302, "", [("Location", other.url("/away"))]))
    site.add("/", ok(f'<a href="{other.url("/away")}">go</a>'))

    async def scenario(me):
        went = await me.go(site.url("/redirect"), origins=[other.url("")])
        assert "foreign words" in text(went)
        await me.go(site.url("/"))
        clicked = await me.click('"go"', origins=[other.url("")])
        assert clicked.ok
        assert "foreign words" in text(clicked)
        touched = [r for q in me.asked for r in map(str, q.resources)]
        assert f"read url {other.url('/')}" in touched, touched

    browser.run(scenario)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_navigation_that_is_redirected_to_another_origin_is_refused(
    site, other, browser, status
):
    """At every hop, before the other origin is asked."""
    site.add("/a", reply(status, "", [("Location", "/b")]))
    site.add("/b", reply(status, "", [("Location", other.url("/c"))]))
    other.add("/c", ok("<p>foreign words</p>"))

    async def scenario(me):
        return await me.go(site.url("/a"))

    outcome = browser.run(scenario)
    assert (outcome.status, outcome.code) == ("refused", "browser.new_origin")
    assert other.url("/c") in outcome.text
    assert other.hits == []


def test_back_to_another_origin_than_was_named_is_refused(site, other, browser):
    """History is no way around a decision."""
    pages(site)
    other.add("/", ok("<p>other</p>"))

    async def scenario(me):
        await me.go(other.url("/"))
        await me.go(site.url("/one"))
        return await me.call(
            "browser.navigate", action="back", page=me.page, origin=site.url("")
        )

    outcome = browser.run(scenario)
    assert outcome.code == "browser.new_origin", outcome
    assert len(other.hits) == 1


def test_denied_origin_is_never_asked(site, other, browser):
    """A rule of the user's decides, also of what a call only names."""
    pages(site)
    browser.policy["rules"] = [f"deny browser.*(host={other.host})"]

    async def scenario(me):
        direct = await me.go(other.url("/"))
        named = await me.go(site.url("/one"), origins=[other.url("")])
        return direct, named

    for outcome in browser.run(scenario):
        assert outcome.status == "refused"
    assert other.hits == site.hits == []


def test_element_in_a_frame_of_another_origin_needs_a_decision_for_it(site, other, browser):
    """It is named in the call, and so in its signature."""
    other.add("/in", ok("<button onclick=\"this.textContent='pressed'\">Inner</button>"))
    site.add("/", ok(f'<iframe src="{other.url("/in")}"></iframe>'))

    async def scenario(me):
        await me.go(site.url("/"))
        await me.call("browser.wait", condition={"kind": "load"})
        await me.look()
        refused = await me.click('"Inner"')
        assert (refused.status, refused.code) == ("refused", "browser.frame_origin"), refused
        assert other.url("") in refused.text
        done = await me.click('"Inner"', frame_origin=other.url(""))
        assert done.ok, done.text
        question = me.asked[-1]
        assert f"write url {other.url('/')}" in [str(r) for r in question.resources]

    browser.run(scenario)


@pytest.mark.parametrize(
    "frame",
    [
        '<iframe sandbox="allow-scripts" src="/in"></iframe>',
        '<iframe src="data:text/html,<button>Inner</button>"></iframe>',
        # What is in a sandbox is in it as a whole.
        '<iframe sandbox="allow-scripts" src="/middle"></iframe>',
    ],
)
def test_element_in_a_frame_without_an_origin_is_not_acted_on(site, browser, frame):
    """No decision can name it."""
    site.add("/in", ok(f"<button {LOG}>Inner</button>"))
    site.add("/middle", ok('<iframe src="/in"></iframe>'))
    site.add("/", ok(frame))

    async def scenario(me):
        await me.go(site.url("/"))
        await me.call("browser.wait", condition={"kind": "load"})
        await me.look()
        return await me.click('"Inner"')

    outcome = browser.run(scenario)
    assert (outcome.status, outcome.code) == ("failed", "browser.opaque_frame"), outcome
    assert clicks(site) == []


def test_key_goes_to_no_frame_of_another_origin(site, other, browser):
    """A page can give the focus to any frame that it holds."""
    other.add("/in", ok(f"<button autofocus {LOG}>Inner</button>"))
    site.add(
        "/",
        ok(
            f'<iframe src="{other.url("/in")}"></iframe><button onclick="'
            "document.querySelector('iframe').focus()\">Give</button>"
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        await me.call("browser.wait", condition={"kind": "load"})
        await me.click('"Give"')
        refused = await me.act("press", key="Tab")
        allowed = await me.act("press", key="Tab", frame_origin=other.url(""))
        return refused, allowed

    refused, allowed = browser.run(scenario)
    assert (refused.status, refused.code) == ("refused", "browser.frame_origin"), refused
    assert other.url("") in refused.text
    assert allowed.ok, allowed


@pytest.mark.parametrize("known", [True, False])
def test_window_that_goes_on_at_once_is_held_all_the_same(site, other, browser, known):
    """Also to an origin that another page of the session was let to."""
    other.add("/", ok("<p>foreign words</p>"))
    site.add("/pop", ok(f"<script>location.replace('{other.url('/')}')</script>"))
    site.add("/", ok("<button onclick=\"window.open('/pop')\">Go</button>"))

    async def scenario(me):
        if known:
            await me.go(other.url("/"))
        await me.go(site.url("/"))
        outcome = await me.click('"Go"')
        await me.call("browser.wait", condition={"kind": "time", "ms": 300})
        pages = (await me.call("browser.page")).result.structured["pages"]
        looks = [await me.look(page=each["page"]) for each in pages]
        return outcome, pages, looks

    outcome, pages, looks = browser.run(scenario)
    assert {each["origin"] for each in pages} == {site.url("")}
    for each in (outcome, *looks):
        assert "foreign words" not in str(each.result.content)
    if not known:
        assert other.hits == []


def test_window_that_is_watched_only_after_it_asked_is_held(site, other, browser, monkeypatch):
    """Its request comes up when whoever judges the window has not seen it."""
    window = Desk._window

    async def late(self, route):
        async with asyncio.timeout(10):
            while not any(tab.opener and tab.watched for tab in self.tabs.values()):
                await asyncio.sleep(0.01)
        await window(self, route)

    monkeypatch.setattr(Desk, "_window", late)
    site.add("/pop", ok(f"<script>location.replace('{other.url('/')}')</script>"))
    site.add("/", ok("<button onclick=\"window.open('/pop')\">Go</button>"))

    async def scenario(me):
        await me.go(site.url("/"))
        await me.click('"Go"')
        await me.call("browser.wait", condition={"kind": "time", "ms": 300})

    browser.run(scenario)
    assert other.hits == []


def test_refs_that_were_not_shown_are_not_acted_on(site, browser):
    """What changed is shown; of the rest only what was shown before counts."""
    items = "".join(f"<li><button {LOG}>Item {n}</button>" for n in range(400))
    site.add("/", ok(f"<button onclick=\"o.textContent='x'\">Go</button><p id=o>-</p>{items}"))

    async def scenario(me):
        await me.go(site.url("/"), max_bytes=2000)
        clicked = await me.click('"Go"')
        assert clicked.ok, clicked
        number = max(int(n) for n in re.findall(r"ref=e(\d+)", me.seen))
        return await me.call(
            "browser.interact",
            page=me.page,
            snapshot=me.snapshot,
            origin=me.origin,
            action={"kind": "click", "ref": f"e{number + 101}"},
        )

    outcome = browser.run(scenario)
    assert (outcome.status, outcome.code) == ("failed", "browser.stale"), outcome
    assert clicks(site) == []


def test_what_nobody_approves_does_not_happen(site, browser):
    """Each call is asked on its own."""
    pages(site)

    async def scenario(me):
        await me.go(site.url("/one"))
        return await me.session.call(
            "browser.interact",
            {
                "page": me.page,
                "snapshot": me.snapshot,
                "origin": me.origin,
                "action": {"kind": "click", "ref": me.ref("Delete")},
            },
            approver=lambda q: Deny(by="me", reason="no"),
        )

    assert browser.run(scenario).status == "refused"
    assert clicks(site) == []


def test_page_that_was_fetched_ahead_is_a_new_decision_too(site, browser):
    """Another port is another origin of the same site, and so may be fetched ahead."""
    with Site(site.host) as ahead:
        ahead.add(
            "/", ok("<p>foreign words</p>", Supports_Loading_Mode="credentialed-prerender")
        )
        rules = f'{{"prerender":[{{"source":"list","urls":["{ahead.url("/")}"]}}]}}'
        site.add(
            "/",
            ok(
                f'<a href="{ahead.url("/")}">go</a>'
                f"<script type=speculationrules>{rules}</script>"
            ),
        )

        async def scenario(me):
            await me.go(site.url("/"))
            await me.call("browser.wait", condition={"kind": "time", "ms": 1500})
            return await me.click('"go"')

        outcome = browser.run(scenario)
    assert (outcome.status, outcome.code) == ("uncertain", "browser.new_origin"), outcome
    assert "foreign words" not in str(outcome.result.content)
