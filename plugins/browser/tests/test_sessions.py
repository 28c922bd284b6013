"""Sessions beside each other, limits and lines."""

from __future__ import annotations

import asyncio
import re

import pytest

from toolcrib_net.testing import ok


pytestmark = pytest.mark.peer


def test_sessions_never_see_each_others_pages_cookies_or_storage(site, browser, surfing, text):
    """Four at once, again and again, with windows that pages open."""

    def page(asked):
        name = asked.path.partition("?")[2]
        seen = asked.headers.get("cookie", "none")
        body = (
            f"<title>{name}</title><h1>page of {name}</h1><p>cookie {seen}</p><p id=o>-</p>"
            f'<a href="/w?{name}" target="_blank">open</a>'
            f'<script>document.cookie="c={name}";'
            'o.textContent = "stored " + localStorage.who;'
            f'localStorage.who = "{name}"</script>'
        )
        return ok(body)

    site.add("/", page)
    site.add("/w", page)

    async def one(box, name):
        async with box.session(name) as session:
            me = surfing(session)
            for number in range(6):
                shown = text(await me.go(site.url(f"/?{name}")))
                opened = text(await me.click('"open"'))
                for said in (shown, opened):
                    others = {"ann", "bob", "cyd", "dan"} - {name}
                    assert not re.search("|".join(others), said), (name, said)
                assert f"page of {name}" in shown
                if number:
                    assert f"cookie c={name}" in shown
                    assert f"stored {name}" in shown
                new = re.search(r"a new page (\w+)", opened)[1]
                await me.call("browser.page", action="close", page=new)

    async def scenario(box):
        await asyncio.gather(*(one(box, name) for name in ("ann", "bob", "cyd", "dan")))
        # What a session stored is gone with it.
        async with box.session("ann") as session:
            shown = text(await surfing(session).go(site.url("/?ann")))
            assert "cookie none" in shown
            assert "stored undefined" in shown

    browser.run_box(scenario)


def test_reset_forgets_pages_cookies_and_storage(site, browser, text):
    """And the next call starts anew."""
    site.add(
        "/",
        lambda asked: ok(
            f"<p>cookie {asked.headers.get('cookie', 'none')}</p>"
            "<script>document.cookie='c=1'</script>"
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        assert "cookie c=1" in text(await me.go(site.url("/")))
        old = me.page
        assert (await me.call("browser.page", action="reset")).ok
        lost = await me.look(page=old)
        assert (lost.status, lost.code) == ("not_found", "browser.no_page")
        assert "reset" in lost.text
        assert "cookie none" in text(await me.go(site.url("/")))

    browser.run(scenario)


def test_pages_are_listed_selected_and_closed(site, browser):
    """Ids are never used again."""
    site.add("/", ok("<p>x</p>"))

    async def scenario(me):
        await me.go(site.url("/"))
        first = me.page
        opened = await me.call("browser.page", action="open")
        second = opened.result.structured["pages"][1]["page"]
        assert opened.result.structured["pages"][1]["selected"]
        await me.call("browser.page", action="select", page=first)
        assert (await me.look()).result.structured["page"] == first
        closed = await me.call("browser.page", action="close", page=second)
        assert [p["page"] for p in closed.result.structured["pages"]] == [first]
        again = await me.call("browser.page", action="open")
        assert again.result.structured["pages"][1]["page"] not in {first, second}
        gone = await me.look(page=second)
        assert (gone.status, gone.code) == ("not_found", "browser.no_page")
        assert "closed by browser.page" in gone.text

    browser.run(scenario)


def test_one_page_more_than_the_limit_is_refused_and_windows_are_closed(site, browser, text):
    """Nobody opens tab after tab."""
    browser.settings["pages"] = 2
    site.add("/", ok("<a href='/w' target='_blank'>open</a>"))
    site.add("/w", ok("<p>w</p>"))

    async def scenario(me):
        await me.go(site.url("/"))
        assert "a new page" in text(await me.click('"open"'))
        over = await me.click('"open"')
        assert over.ok
        assert "was closed: as many pages are open as may be" in text(over)
        busy = await me.call("browser.page", action="open")
        assert (busy.status, busy.code) == ("busy", "browser.too_many_pages")
        listed = await me.call("browser.page")
        assert len(listed.result.structured["pages"]) == 2

    browser.run(scenario)


def test_one_session_more_than_the_limit_is_busy_until_another_ends(site, browser, surfing):
    """It may be tried again."""
    browser.settings["sessions"] = 1
    site.add("/", ok("<p>x</p>"))

    async def scenario(box):
        async with box.session("a") as a, box.session("b") as b:
            assert (await surfing(a).go(site.url("/"))).ok
            over = await surfing(b).go(site.url("/"))
            assert (over.status, over.code) == ("busy", "browser.full")
            assert over.retryable
        async with box.session("c") as c:
            assert (await surfing(c).go(site.url("/"))).ok

    browser.run_box(scenario)


def test_operations_wait_for_each_other_and_one_too_many_is_busy(site, browser, text):
    """A line of bounded length, one operation at a time."""
    browser.settings["queue"] = 2
    site.add("/", ok("<p>x</p>"))

    async def scenario(me):
        await me.go(site.url("/"))
        slow = {"condition": {"kind": "time", "ms": 700}}
        return await asyncio.gather(*(me.call("browser.wait", **slow) for _ in range(5)))

    found = browser.run(scenario)
    assert sorted(o.status for o in found) == ["busy", "busy", "ok", "ok", "ok"]
    assert {o.code for o in found} == {None, "browser.busy"}
    first, second, third = sorted(o.ended for o in found if o.ok)
    assert second - first > 0.5
    assert third - second > 0.5


def test_two_sessions_that_start_at_once_share_one_browser(site, browser, surfing):
    """One process, started once, whoever comes first."""
    import os

    from pathlib import Path

    site.add("/", ok("<p>x</p>"))

    def count():
        found = 0
        for entry in Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            mine = b"--remote-debugging-pipe" in words and stat[0] != "Z"
            found += mine and _is_below(int(entry.name), os.getpid())
        return found

    async def scenario(box):
        async with box.session("a") as a, box.session("b") as b:
            both = await asyncio.gather(
                surfing(a).go(site.url("/")), surfing(b).go(site.url("/"))
            )
            assert all(o.ok for o in both)
            return count()

    assert browser.run_box(scenario) == 1
    assert count() == 0


def _is_below(pid, root):
    from pathlib import Path

    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
        if pid == root:
            return True
    return False


def test_ids_of_an_earlier_opening_name_nothing(site, browser, surfing):
    """A conversation that is taken up again has no pages of before."""
    site.add("/", ok("<button>Go</button>"))

    async def scenario(box):
        async with box.session("a") as first:
            me = surfing(first)
            await me.go(site.url("/"))
        async with box.session("a") as second:
            again = surfing(second)
            await again.go(site.url("/"))
            assert again.page != me.page
            return await again.call(
                "browser.interact",
                page=me.page,
                snapshot=me.snapshot,
                origin=me.origin,
                action={"kind": "click", "ref": me.ref("Go")},
            )

    outcome = browser.run_box(scenario)
    assert (outcome.status, outcome.code) == ("not_found", "browser.no_page")
