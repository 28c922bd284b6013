"""What is left, and what is said, when a page, the browser or the host dies."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

from pathlib import Path

import pytest

from toolcrib_net.testing import ok


pytestmark = pytest.mark.peer

CLICKS = "<button onclick=\"fetch('/hit')\">Go</button><p>words</p>"


def descendants(pid):
    """Every living process below one, with its command."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if fields[0] not in {"Z", "X"}:
                parents.setdefault(int(fields[1]), []).append((int(entry.name), command))
    found, waiting = {}, [pid]
    while waiting:
        for child, command in parents.get(waiting.pop(), []):
            found[child] = command
            waiting.append(child)
    return found


def browsers(pid):
    """The browser's first process below one."""
    return [
        child
        for child, command in descendants(pid).items()
        if "chrom" in command.split(" ")[0]
        and "--type=" not in command
        and " -c " not in command
    ]


def alive(pids):
    """Those of some processes that still run."""
    found = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state not in {"Z", "X"}:
            found.append(pid)
    return found


def gone(pids, seconds=15):
    """Wait until none of some processes runs."""
    end = time.monotonic() + seconds
    while alive(pids) and time.monotonic() < end:
        time.sleep(0.05)
    return alive(pids)


def test_browser_killed_in_the_middle_of_an_action_is_uncertain_and_the_next_call_works(
    site, browser, text
):
    """Nobody knows whether the click took effect; it is not done again."""
    held = []

    def hit(asked):
        for pid in browsers(os.getpid()):
            os.kill(pid, signal.SIGKILL)
        held.append(asked.path)
        return ok("")

    site.add("/", ok("<button onclick=\"location='/hit'\">Go</button>"))
    site.add("/hit", hit)

    async def scenario(me):
        await me.go(site.url("/"))
        killed = await me.click('"Go"')
        assert (killed.status, killed.code) == ("uncertain", "browser.lost"), killed
        assert "cannot be known" in killed.text
        assert held == ["/hit"]
        stale = await me.look()
        assert (stale.status, stale.code) == ("not_found", "browser.no_page")
        again = await me.go(site.url("/"))
        assert again.ok, again.text
        assert 'button "Go"' in text(again)

    browser.run(scenario)


def test_old_page_is_named_as_lost_after_the_browser_died(site, browser):
    """And a call that was not begun is plainly not done."""
    site.add("/", ok(CLICKS))

    async def scenario(me):
        await me.go(site.url("/"))
        (pid,) = browsers(os.getpid())
        os.kill(pid, signal.SIGKILL)
        outcome = await me.click('"Go"')
        assert outcome.status in {"not_found", "failed"}, outcome
        assert "browser ended" in outcome.text
        assert (again := await me.go(site.url("/"))).ok, again

    browser.run(scenario)
    assert "GET /hit" not in site.hits


def test_page_that_is_told_of_as_closed_before_its_browser_is_named_as_lost(
    site, browser, monkeypatch
):
    """What the browser tells comes in parts; a call between two of them hears the rest."""
    from toolcrib_browser.engine import Engine

    made = []
    original, read = Engine.context, asyncio.StreamReader.readexactly

    async def context(self):
        made.append(await original(self))
        return made[-1]

    async def slowly(self, count):
        await asyncio.sleep(0.02)
        return await read(self, count)

    monkeypatch.setattr(Engine, "context", context)
    site.add("/", ok(CLICKS))

    async def scenario(me):
        await me.go(site.url("/"))
        closed = asyncio.Event()
        made[0].pages[0].on("close", lambda _: closed.set())
        (pid,) = browsers(os.getpid())
        with monkeypatch.context() as patch:
            patch.setattr(asyncio.StreamReader, "readexactly", slowly)
            os.kill(pid, signal.SIGKILL)
            await closed.wait()
            assert made[0].browser.is_connected()
            return await me.click('"Go"')

    outcome = browser.run(scenario)
    assert (outcome.status, outcome.code) == ("not_found", "browser.no_page"), outcome
    assert "browser ended" in outcome.text


def test_page_that_crashes_takes_no_other_page_along(site, browser, text):
    """It is named as crashed; the others stay."""
    site.add("/", ok(CLICKS))

    async def scenario(me):
        await me.go(site.url("/"))
        first = me.page
        await me.call("browser.page", action="open")
        await me.go(site.url("/"))
        second = me.page
        crash = await me.go("chrome://crash")
        assert (crash.status, crash.code) == ("invalid", "browser.scheme_refused"), crash
        # The page's own process, as the system would end it.
        renderers = [
            pid
            for pid, command in descendants(os.getpid()).items()
            if "--type=renderer" in command
        ]
        assert renderers
        for pid in renderers:
            os.kill(pid, signal.SIGKILL)
        await me.look(page=first)
        outcome = await me.look(page=second)
        assert outcome.status in {"not_found", "failed"}, outcome
        assert "crashed" in outcome.text, outcome.text
        assert first != second
        assert (again := await me.go(site.url("/"))).ok, again

    browser.run(scenario)


def test_code_that_runs_without_end_costs_its_page_and_nothing_else(site, browser):
    """The click may have done something, so it is uncertain."""
    site.add("/", ok('<button onclick="while(1);">Hang</button>'))

    async def scenario(me):
        await me.go(site.url("/"))
        hung = await me.click('"Hang"', timeout_ms=1500)
        assert (hung.status, hung.code) == ("uncertain", "browser.page_hung"), hung
        assert (again := await me.go(site.url("/"))).ok, again

    browser.run(scenario)


HOST = """
import asyncio, os, sys
from pathlib import Path
from toolcrib import Policy, Toolbox
import toolcrib_browser

async def main():
    policy = Policy(local=[toolcrib_browser.pack], workspace=Path(sys.argv[1]),
        state=Path(sys.argv[1]) / "s", mode="trust",
        settings={"browser": {"net": {"allow": ["127.0.0.2/32"]}}})
    async with Toolbox(policy) as box, box.session("t") as session:
        outcome = await session.call("browser.navigate", {"url": sys.argv[2]})
        print(outcome.status, flush=True)
        if sys.argv[3] == "hang":
            await session.call("browser.wait", {"condition": {"kind": "text", "text": "never"},
                "timeout_ms": 30000})
        await asyncio.sleep(float(sys.argv[4]))

asyncio.run(main())
"""


@pytest.fixture
def host(chromium, tmp_path, site):
    """Start a host that has a page open, and return it with all that it started."""
    site.add("/", ok(CLICKS))
    started = []

    def start(what, seconds):
        child = subprocess.Popen(
            [sys.executable, "-c", HOST, str(tmp_path), site.url("/"), what, str(seconds)],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=os.environ | {"TMPDIR": str(tmp_path)},
        )
        started.append(child)
        assert child.stdout.readline().strip() == "ok"
        below = descendants(child.pid)
        assert len(browsers(child.pid)) == 1
        return child, below

    yield start
    for child in started:
        child.kill()
        child.wait()
        child.stdout.close()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("what", ["idle", "hang"])
def test_no_process_is_left_however_the_host_ends(host, how, what):
    """Neither the browser nor the driver that it is spoken to through."""
    child, below = host(what, 60)
    os.kill(child.pid, how)
    child.wait(30)
    assert gone(below) == []


def test_nothing_is_left_after_an_ordinary_end(host, tmp_path):
    """No process, and no profile in the folder for temporary files."""
    child, below = host("idle", 0)
    assert child.wait(30) == 0
    assert gone(below) == []
    assert list(tmp_path.glob("playwright*")) == []


def test_long_path_to_temporary_files_is_shortened_for_the_browser(
    site, browser, tmp_path, monkeypatch
):
    """Its socket has a path below it; what shortens it is private, and gone afterwards."""
    chosen = tmp_path / "below" / ("x" * 100)
    chosen.mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(chosen))
    site.add("/", ok(CLICKS))

    async def scenario(me):
        went = await me.go(site.url("/"))
        assert went.ok, went
        (link,) = Path(runtime).glob("*/t")
        assert link.resolve() == chosen
        assert link.parent.stat().st_mode & 0o777 == 0o700
        assert list(chosen.glob("*/SingletonSocket"))

    with tempfile.TemporaryDirectory(dir="/tmp") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        browser.run(scenario)
        assert list(Path(runtime).glob("toolcrib-*")) == []
    assert list(chosen.iterdir()) == []


@pytest.mark.parametrize("victim", ["node", "browser"])
def test_half_of_the_pair_does_not_outlive_the_other(host, victim):
    """A killed driver takes its browser along; a killed browser leaves a host that ends."""
    child, below = host("idle", 3)
    if victim == "node":
        (pid,) = [p for p, command in below.items() if "/driver/node" in command]
    else:
        (pid,) = browsers(child.pid)
    others = [p for p, command in below.items() if "chrom" in command]
    os.kill(pid, signal.SIGKILL)
    assert gone(others) == []
    child.wait(30)
    assert gone(below) == []


def test_a_cancelled_action_holds_the_next_one_until_it_has_ended(site, browser, text):
    """What was begun cannot be called back, and must not mix with what follows."""
    begun, enable = threading.Event(), threading.Event()

    async def told(asked, writer):
        begun.set()
        writer.write(ok("x"))

    async def later(asked, writer):
        await asyncio.to_thread(enable.wait, 20)
        writer.write(ok("x"))

    site.add("/begun", told)
    site.add("/later", later)
    site.add(
        "/",
        ok(
            "<input aria-label=A oninput=\"fetch('/begun')\"><input aria-label=B id=b disabled>"
            "<script>fetch('/later').then(() => { b.disabled = false })</script>"
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        fields = [
            {"ref": me.ref('"A"'), "value": "first"},
            {"ref": me.ref('"B"'), "value": "second"},
        ]
        fill = asyncio.ensure_future(me.act("fill", fields=fields, timeout_ms=20000))
        assert await asyncio.to_thread(begun.wait, 20)
        fill.cancel()
        await asyncio.gather(fill, return_exceptions=True)
        look = asyncio.ensure_future(me.look())
        done, _ = await asyncio.wait({look}, timeout=1.0)
        assert not done, [text(d.result()) for d in done]
        enable.set()
        return text(await look)

    assert ": second" in browser.run(scenario)


def test_context_that_is_lost_is_replaced_and_its_pages_are_named_as_gone(
    site, browser, text, monkeypatch
):
    """The browser itself lives on; only what was open in the context is lost."""
    from toolcrib_browser.engine import Engine

    made = []
    original = Engine.context

    async def context(self):
        made.append(await original(self))
        return made[-1]

    monkeypatch.setattr(Engine, "context", context)
    site.add("/", ok(CLICKS))

    async def scenario(me):
        await me.go(site.url("/"))
        await made[0].close()
        lost = await me.click('"Go"')
        assert (lost.status, lost.code) == ("not_found", "browser.no_page"), lost
        assert (await me.go(site.url("/"))).ok
        assert len(made) == 2
        assert len(browsers(os.getpid())) == 1

    browser.run(scenario)
    assert "GET /hit" not in site.hits


def test_browser_that_does_not_answer_is_ended_and_replaced(site, browser, monkeypatch):
    """A process that is stopped looks alive; nobody waits for it for ever."""
    from toolcrib_browser import desk, engine, launching

    for module, name in ((desk, "_ANSWER"), (engine, "_ANSWER"), (launching, "_STOP")):
        monkeypatch.setattr(module, name, 1.5)
    site.add("/", ok(CLICKS))

    async def scenario(me):
        await me.go(site.url("/"))
        (pid,) = browsers(os.getpid())
        os.kill(pid, signal.SIGSTOP)
        silent = await me.call("browser.page", action="open")
        assert (silent.status, silent.code) == ("failed", "browser.failed"), silent
        assert silent.retryable
        assert not alive([pid])
        assert (again := await me.go(site.url("/"))).ok, again

    browser.run(scenario)
