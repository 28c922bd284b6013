"""Looking at real pages: snapshots, waiting, inspecting."""

from __future__ import annotations

import asyncio
import base64
import struct
import threading

import pytest

from toolcrib_net.testing import ok, reply


pytestmark = pytest.mark.peer


def held(site, path):
    """A path that is answered when its event is set."""
    event = threading.Event()

    async def later(asked, writer):
        await asyncio.to_thread(event.wait, 20)
        writer.write(ok("x"))

    site.add(path, later)
    return event


def test_changes_since_a_snapshot_are_all_that_is_shown(site, browser, text):
    """On request, and on the page of a very long list too."""
    rows = "".join(f"<li>row {n}</li>" for n in range(500))
    site.add(
        "/",
        ok(
            f"<button onclick=\"o.textContent='new words'\">Go</button><p id=o>old</p>"
            f"<ul>{rows}</ul>"
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        first = me.snapshot
        await me.click('"Go"')
        shown = text(await me.look(changes_since=first))
        assert "new words" in shown
        assert "row 77" not in shown
        again = await me.look(changes_since=me.snapshot)
        assert "Nothing that can be read has changed" in text(again)
        assert again.result.structured["changed"] is False
        gone = await me.look(changes_since="s99" + me.snapshot[-4:])
        assert (gone.status, gone.code) == ("failed", "browser.stale")

    browser.run(scenario)


def test_depth_region_and_boxes(site, browser, text):
    """What is left out is said, with the region that holds it."""
    site.add(
        "/",
        ok(
            "<main><section aria-label=A><p>first</p></section>"
            "<section aria-label=B><p>second</p></section></main>"
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        flat = text(await me.look(depth=2))
        assert "first" not in flat
        assert "more, see region" in flat
        part = text(await me.look(region=me.ref('region "B"'), boxes=True))
        assert "second" in part
        assert "first" not in part
        assert "[box=" in part
        missing = await me.look(region="e9999")
        assert (missing.status, missing.code) == ("not_found", "browser.no_element")

    browser.run(scenario)


def test_waiting_for_a_text_an_address_and_an_element(site, browser, text):
    """Each is told by the browser, and what it leads to is shown."""
    site.add("/two", ok("<h1>Second</h1>"))
    go = held(site, "/later")
    site.add(
        "/",
        ok(
            "<button id=b disabled>Go</button><p id=o>old</p><button id=g>Gone</button>"
            "<script>fetch('/later').then(() =>"
            " { o.textContent = 'ready now'; b.disabled = false; g.remove();"
            " history.pushState(0, '', '/moved#x') })</script>"
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        early = await me.call(
            "browser.wait", condition={"kind": "text", "text": "ready"}, timeout_ms=200
        )
        assert (early.status, early.code) == ("failed", "browser.not_yet")
        assert early.retryable
        ref, gone, snapshot = me.ref('"Go"'), me.ref('"Gone"'), me.snapshot
        late = {"kind": "ref", "snapshot": snapshot, "ref": gone, "state": "detached"}
        early = await me.call("browser.wait", condition=late, timeout_ms=200)
        assert (early.status, early.code) == ("failed", "browser.not_yet")
        go.set()
        for condition in (
            {"kind": "text", "text": "ready"},
            {"kind": "text", "text": "ready now", "exact": True},
            {"kind": "text", "text": "old", "exact": True, "state": "hidden"},
            {"kind": "url", "url": "http://127.0.0.2:*/moved"},
            {"kind": "ref", "snapshot": snapshot, "ref": ref, "state": "enabled"},
            {"kind": "ref", "snapshot": snapshot, "ref": ref, "state": "attached"},
            late,
            {"kind": "load", "state": "networkidle"},
            {"kind": "time", "ms": 10},
        ):
            outcome = await me.call("browser.wait", condition=condition)
            assert outcome.ok, (condition, outcome)

    browser.run(scenario)


def test_console_errors_and_requests_are_listed(site, browser, text):
    """Without the values of queries."""
    site.add("/gone", reply(404))
    site.add(
        "/",
        ok(
            "<script>console.warn('careful [ref=e1]'); fetch('/gone?token=abcdef#frag');"
            "setTimeout(() => { throw new Error('broken on purpose') })</script><p>x</p>"
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        await me.call("browser.wait", condition={"kind": "load", "state": "networkidle"})
        found = {}
        for kind in ("console", "errors", "network"):
            outcome = await me.call("browser.inspect", target={"kind": kind})
            assert outcome.ok, outcome
            found[kind] = text(outcome)
        assert "warning careful (ref=e1)" in found["console"]
        assert "broken on purpose" in found["errors"]
        assert "/gone?token=… fetch 404" in found["network"]
        assert "abcdef" not in found["network"]

    browser.run(scenario)


def test_region_comes_as_markdown_and_table_as_rows(site, browser, text):
    """What a reader sees: nothing hidden, spans in each of their places."""
    site.add(
        "/",
        ok(
            "<h1>Title</h1><p>Words with a <a href='/x'>link</a>.</p><p hidden>secret</p>"
            "<p style='display:none'>unseen</p><ul><li>one<li>two</ul>"
            "<table id=t aria-label=T><tr><th>A<th>B<tr><td rowspan=2>1<td>x|y<tr><td>z"
            "</table>"
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        shown = text(await me.call("browser.inspect", target={"kind": "markdown"}))
        assert "# Title" in shown
        assert f"[link]({site.url('/x')})" in shown, shown
        assert "- one" in shown
        assert "secret" not in shown
        assert "unseen" not in shown
        target = {"kind": "table", "ref": me.ref('table "T"')}
        table = await me.call("browser.inspect", target=target)
        rows = table.result.structured["rows"]
        assert rows == [["A", "B"], ["1", "x|y"], ["1", "z"]]
        assert "| 1 | x\\|y |" in text(table)
        none = await me.call(
            "browser.inspect", target={"kind": "table", "ref": me.ref('heading "Title"')}
        )
        assert (none.status, none.code) == ("not_found", "browser.no_table")

    browser.run(scenario)


def test_pictures_and_pdf_are_kept_as_artifacts(site, browser):
    """A picture is shown to the model as well."""
    site.add("/", ok("<div style='height:3000px'></div><button>Small</button>"))

    async def scenario(me):
        await me.go(site.url("/"))
        sizes = {}
        for name, target in {
            "window": {"kind": "screenshot"},
            "full": {"kind": "screenshot", "full": True},
            "element": {"kind": "screenshot", "ref": me.ref('"Small"')},
        }.items():
            outcome = await me.call("browser.inspect", target=target)
            assert outcome.ok, outcome
            (image,) = [b for b in outcome.result.content if b.type == "image"]
            (link,) = [b for b in outcome.result.content if b.type == "artifact"]
            data = base64.b64decode(image.data)
            assert await me.session.artifacts.get(link.digest) == data
            sizes[name] = struct.unpack(">II", data[16:24])
        assert sizes["window"] == (1440, 900)
        assert sizes["full"][1] > 3000
        assert sizes["element"][0] < 300
        pdf = await me.call("browser.inspect", target={"kind": "pdf"})
        (link,) = [b for b in pdf.result.content if b.type == "artifact"]
        assert (await me.session.artifacts.get(link.digest)).startswith(b"%PDF-")

    browser.run(scenario)


@pytest.mark.parametrize(
    "target",
    [
        {"kind": "screenshot", "path": "../outside/x.png"},
        {"kind": "pdf", "path": "/tmp/x.pdf"},
    ],
)
def test_pictures_have_no_path(dry, target):
    """They go to the artifact store and nowhere else."""

    async def scenario(me):
        return await me.call("browser.inspect", target=target)

    outcome = dry.run(scenario)
    assert (outcome.status, outcome.code) == ("invalid", "arguments.invalid")


def test_find_gives_refs_that_can_be_acted_on(site, browser, text):
    """Also of elements that no snapshot showed."""
    rows = "".join(
        f"<button onclick=\"o.textContent='hit {n}'\">b {n}</button>" for n in range(900)
    )
    site.add("/", ok(f"<p id=o>-</p>{rows}"))

    async def scenario(me):
        await me.go(site.url("/"), max_bytes=500)
        found = await me.call("browser.inspect", target={"kind": "find", "text": "B 842"})
        (entry,) = found.result.structured["entries"]
        snapshot = text(found).partition("snapshot ")[2].partition(".")[0]
        clicked = await me.call(
            "browser.interact",
            page=me.page,
            snapshot=snapshot,
            origin=me.origin,
            action={"kind": "click", "ref": entry["ref"]},
        )
        assert "hit 842" in text(clicked)

    browser.run(scenario)
