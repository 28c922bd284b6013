"""All of the browser's traffic takes the one way out, and policy decides where it leads."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import socket
import threading

from pathlib import Path

import pytest

from toolcrib_net.testing import ok, reply


pytestmark = pytest.mark.peer


def test_pages_reach_no_address_that_policy_does_not_allow(site, inner, browser, text):
    """By no element, script, worker, frame or beacon, and not by this machine's own name."""
    base = f"http://127.0.0.1:{inner.port}"
    names = (base, f"http://localhost:{inner.port}", f"http://[::1]:{inner.port}")
    tries = "".join(
        f'<img src="{n}/img"><link rel="stylesheet" href="{n}/css"><script src="{n}/js">'
        f'</script><iframe src="{n}/frame"></iframe><link rel="prefetch" href="{n}/pre">'
        f'<link rel="preconnect" href="{n}"><link rel="dns-prefetch" href="{n}">'
        for n in names
    )
    script = "".join(
        f"fetch('{n}/fetch', {{mode: 'no-cors'}}).catch(e => 0);"
        f"navigator.sendBeacon('{n}/beacon', 'x');"
        f"try {{ new EventSource('{n}/events') }} catch (e) {{}}"
        f"try {{ new WebSocket('{n.replace('http', 'ws')}/ws') }} catch (e) {{}}"
        for n in names
    )
    worker = f"fetch('{base}/worker', {{mode: 'no-cors'}}).catch(e => 0)"
    site.add("/w.js", ok(worker, "text/javascript"))
    site.add(
        "/",
        ok(f"{tries}<h1>page</h1><script>{script}new Worker('/w.js')</script>"),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        await me.call(
            "browser.wait",
            condition={"kind": "load", "state": "networkidle"},
            timeout_ms=10000,
        )
        network = await me.call("browser.inspect", target={"kind": "network"})
        assert "refused: net.address_refused" in text(network)

    browser.run(scenario)
    assert inner.connections == 0


def test_webrtc_and_quic_send_nothing_past_the_proxy(site, browser, text):
    """Not one datagram, to whatever address a page names."""
    heard = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))
        udp.settimeout(0.2)
        port = udp.getsockname()[1]
        stop = threading.Event()

        def listen():
            while not stop.is_set():
                try:
                    heard.append(udp.recvfrom(2048))
                except TimeoutError:
                    continue

        thread = threading.Thread(target=listen)
        thread.start()
        site.add(
            "/",
            ok(
                "<p id=o>waiting</p><script>(async () => { const p = new RTCPeerConnection("
                f"{{iceServers: [{{urls: 'stun:127.0.0.1:{port}'}}]}});"
                "p.createDataChannel('x');"
                "const found = []; p.onicecandidate = e => e.candidate &&"
                " found.push(e.candidate.candidate);"
                "await p.setLocalDescription(await p.createOffer());"
                "await new Promise(r => { p.onicegatheringstatechange = () =>"
                " p.iceGatheringState == 'complete' && r(); setTimeout(r, 3000) });"
                "o.textContent = 'gathered [' + found.filter(c => c.includes(' udp ')).join()"
                " + ']' })()</script>"
            ),
        )

        async def scenario(me):
            await me.go(site.url("/"))
            await me.call("browser.wait", condition={"kind": "text", "text": "gathered"})
            return text(await me.look())

        shown = browser.run(scenario)
        stop.set()
        thread.join()
    assert heard == []
    assert "gathered []" in shown


def test_browser_itself_connects_to_the_proxy_only(site, browser):
    """Whatever it would like to ask on its own account: no other socket leaves it."""
    site.add("/", ok("<h1>page</h1><input type=password name=p><form><input name=a></form>"))
    seen = set()

    async def scenario(me):
        await me.go(site.url("/"))
        for _ in range(20):
            seen.update(_peers_of(_browser_pids()))
            await asyncio.sleep(0.05)

    browser.run(scenario)
    assert {address for address, _ in seen} <= {"127.0.0.1"}
    assert len({port for _, port in seen}) <= 1


def _browser_pids():
    own = {os.getpid()}
    pairs = []
    for entry in Path("/proc").iterdir():
        try:
            stat = (entry / "stat").read_text().rpartition(")")[2].split()
            pairs.append((int(entry.name), int(stat[1]), (entry / "cmdline").read_bytes()))
        except (OSError, ValueError):
            continue
    grown = True
    while grown:
        more = {pid for pid, parent, _ in pairs if parent in own} - own
        own |= more
        grown = bool(more)
    return [pid for pid, _, command in pairs if pid in own and b"chrom" in command[:60]]


def _peers_of(pids):
    """Remote ends of every connection of some processes, IPv4 and IPv6."""
    inodes = set()
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                target = str(link.readlink())
            except OSError:
                continue
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    found = set()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            address, _, port = fields[2].rpartition(":")
            if fields[9] in inodes and int(port, 16):
                if len(address) == 8:
                    raw = bytes.fromhex(address)[::-1]
                    found.add((".".join(map(str, raw)), int(port, 16)))
                else:
                    found.add((address, int(port, 16)))
    return found


def test_web_sockets_go_through_the_proxy(site, browser, text):
    """To where policy lets them."""

    async def upgrade(asked, writer):
        key = asked.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        writer.write(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode()
            + b"\x81\x05hello"
        )
        await writer.drain()
        await asyncio.sleep(5)

    site.add("/ws", upgrade)
    site.add(
        "/",
        ok(
            "<p id=o>-</p><script>const s = new WebSocket(`ws://${location.host}/ws`);"
            "s.onmessage = e => { o.textContent = 'heard ' + e.data }</script>"
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        heard = await me.call("browser.wait", condition={"kind": "text", "text": "heard hello"})
        assert heard.ok, heard

    browser.run(scenario)


LOOKALIKES = [
    "http://site.test.evil.test:{port}/",
    "http://site.testevil:{port}/",
    "http://evil.test:{port}/site.test",
    "http://site.test:{other}/",
    "https://site.test:{port}/",
    "http://sub.site.test:{port}/",
    "http://site\u2024test:{port}/",
    "http://s\u0456te.test:{port}/",
    "http://site%2etest.evil.test:{port}/",
]


@pytest.mark.parametrize("url", LOOKALIKES)
def test_allowed_origin_is_matched_as_a_whole(site, other, dry, url):
    """By scheme, host and port; never as the beginning of a text."""
    dry.settings["navigate"] = [f"http://site.test:{site.port}"]

    async def scenario(me):
        return await me.go(url.format(port=site.port, other=other.port))

    outcome = dry.run(scenario)
    assert outcome.status in {"refused", "invalid"}, outcome
    assert outcome.code in {
        "browser.origin_refused",
        "browser.bad_origin",
        "net.url_invalid",
    }, outcome


@pytest.mark.parametrize(
    "form",
    [
        "http://site.test:{port}/",
        "HTTP://SITE.TEST:{port}/",
        "http://site.test.:{port}/",
        "http://sit%65.test:{port}/",
    ],
)
def test_other_spellings_of_an_allowed_origin_are_the_same(site, browser, form):
    """Case, a trailing dot and needless escapes do not count."""
    browser.settings["navigate"] = [f"http://site.test:{site.port}"]
    browser.settings["hosts"] = {"site.test": ["127.0.0.2"]}
    site.add("/", ok("<p>here</p>"))

    async def scenario(me):
        outcome = await me.go(form.format(port=site.port))
        assert outcome.ok, outcome
        assert me.origin == f"http://site.test:{site.port}"

    browser.run(scenario)


def test_credentials_before_an_allowed_host_are_refused(site, dry):
    """What stands before the sign is no host."""
    dry.settings["navigate"] = [f"http://site.test:{site.port}"]

    async def scenario(me):
        return await me.go(f"http://site.test:{site.port}@evil.test/")

    outcome = dry.run(scenario)
    assert outcome.status in {"refused", "invalid"}


def test_page_of_an_allowed_origin_leads_to_no_other(site, other, browser):
    """Also where a call names the other origin."""
    browser.settings["navigate"] = [site.url("")]
    other.add("/", ok("<p>other</p>"))
    site.add("/", ok(f'<a href="{other.url("/")}">go</a>'))

    async def scenario(me):
        await me.go(site.url("/"))
        clicked = await me.click('"go"')
        assert (clicked.status, clicked.code) == ("uncertain", "browser.new_origin")
        named = await me.click('"go"', origins=[other.url("")])
        assert named.status in {"refused", "uncertain"}, named
        direct = await me.go(other.url("/"))
        assert (direct.status, direct.code) == ("refused", "browser.origin_refused")

    browser.run(scenario)
    assert other.hits == []


def test_blank_page_that_a_script_writes_reaches_allowed_hosts_only(site, other, browser):
    """A list of hosts holds for whatever a page asks for."""
    browser.settings["requests"] = ["127.0.0.2"]
    other.add("/x", ok("x"))
    site.add(
        "/",
        ok(
            "<button onclick=\"const w = window.open('about:blank'); w.document.write("
            f"'<h1>written</h1><img src={other.url('/x')}>'); w.document.close()\">go</button>"
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        opened = await me.click('"go"')
        assert opened.ok, opened
        new = opened.result.structured["state"]["pages"][-1]["page"]
        await me.call("browser.wait", page=new, condition={"kind": "text", "text": "written"})
        await me.call(
            "browser.wait", page=new, condition={"kind": "load", "state": "networkidle"}
        )

    browser.run(scenario)
    assert other.hits == []


HTML = "'<h1>foreign</h1>'"
BLOB = f"URL.createObjectURL(new Blob([{HTML}], {{type: 'text/html'}}))"
SPECIAL = [
    f"location = 'data:text/html,' + {HTML}",
    f"location = {BLOB}",
    "location = 'file:///etc/hostname'",
    "location = 'chrome://version'",
    "location = 'view-source:' + location.href",
    f"window.open('data:text/html,' + {HTML})",
    f"window.open({BLOB})",
    "window.open('chrome://version')",
    "window.open('file:///etc/hostname')",
]


@pytest.mark.parametrize("script", SPECIAL)
def test_script_leads_a_page_to_no_special_scheme(site, browser, text, script):
    """Nothing of it is shown, and that it was wanted is told."""
    site.add(
        "/",
        ok(
            "<h1>Start</h1><button id=b>go</button>"
            f"<script>b.onclick = () => {{ {script} }}</script>"
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        outcome = await me.click('"go"')
        pages = await me.call("browser.page")
        return outcome, pages

    outcome, pages = browser.run(scenario)
    assert "foreign" not in text(outcome).partition("<<<")[2], outcome
    for page in pages.result.structured["pages"]:
        assert page["url"].startswith(("http://127.0.0.2", "about:blank")), page
    said = text(outcome).partition("<<<")[0]
    assert any(
        words in said
        for words in ("Not allowed", "was emptied", "was not opened", "was closed: it is no")
    ), said


def test_answer_of_the_proxy_is_no_page(site, browser):
    """It says what policy says, as a refusal."""
    browser.settings["requests"] = ["127.0.0.3"]
    site.add("/", ok("<p>here</p>"))

    async def scenario(me):
        return await me.go(site.url("/"))

    outcome = browser.run(scenario)
    assert (outcome.status, outcome.code) == ("refused", "net.host_refused")
    assert site.hits == []


def test_site_that_answers_403_is_a_page_with_that_status(site, browser, text):
    """Only the proxy's own refusals are taken for it."""
    site.add("/", reply(403, "<h1>Forbidden here</h1>", [("Content-Type", "text/html")]))

    async def scenario(me):
        return await me.go(site.url("/"))

    outcome = browser.run(scenario)
    assert outcome.ok
    assert outcome.result.structured["state"]["status"] == 403
    assert "Forbidden here" in text(outcome)
