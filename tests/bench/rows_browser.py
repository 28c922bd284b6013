"""What is measured of the browser pack, against Playwright with the same Chromium."""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import sys
import time

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import toolcrib_browser

from playwright.async_api import Page, async_playwright
from toolcrib import Policy, Toolbox, Unavailable
from toolcrib_browser.finding import executable
from toolcrib_net.testing import Site, ok

from measuring import main, row


HOST = "127.0.0.2"
SMALL, LARGE = 150, 10_000
ROUNDS = 40
FRAME = 1 / 60


def page_of(nodes: int) -> bytes:
    """A page of so many elements, with a button that changes one of them."""
    items = "".join(f'<li><a href="/{n}">link number {n}</a></li>' for n in range(nodes // 2))
    return ok(
        '<title>Bench</title><h1>Bench</h1><button onclick="o.textContent = ++n">Go</button>'
        f"<p id=o>0</p><ul>{items}</ul><script>let n = 0</script>"
    )


def program() -> Path:
    """The browser, or an end with a word on how to get one."""
    try:
        return executable(None)
    except Unavailable as error:
        sys.exit(f"not measured: {error}")


@asynccontextmanager
async def session(folder: Path) -> AsyncIterator[Any]:
    """A session of ours, all stages and a ledger on disk included."""
    policy = Policy(
        local=[toolcrib_browser.pack],
        mode="trust",
        workspace=folder,
        state=folder / "state",
        settings={"browser": {"net": {"allow": [f"{HOST}/32"]}}},
    )
    async with Toolbox(policy) as box, box.session("bench") as found:
        yield found


@asynccontextmanager
async def bare() -> AsyncIterator[Page]:
    """A page of Playwright's own."""
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=program())
        context = await browser.new_context(viewport={"width": 1440, "height": 900})
        yield await context.new_page()
        await browser.close()


async def call(session: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    """Make a call that must succeed; return what it gives to programs, and its text."""
    outcome = await session.call(f"browser.{tool}", arguments)
    if not outcome.ok:
        sys.exit(f"{tool}: {outcome.code}: {outcome.text[:300]}")
    found = dict(outcome.result.structured)
    return found.get("state", found) | {"text": outcome.result.content[0].text}


async def taken(work: Callable[[], Awaitable[Any]], turn: int) -> float:
    """Seconds of one piece of work.

    A click ends with a frame of the browser. Each turn therefore begins at another moment
    of one, or all turns of a run would begin at the same, which one being chance.
    """
    await asyncio.sleep(turn * 0.618 % 1 * FRAME)
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started


async def compared(folder: Path, nodes: int, rounds: int, *, act: bool) -> list[float]:
    """Seconds of ours and of the floor, in turn, on a page of so many elements."""
    program()
    with Site(HOST) as site:
        site.add("/", page_of(nodes))
        origin = site.url("")
        async with session(folder) as own, bare() as page:
            state = await call(own, "navigate", url=site.url("/"))
            await page.goto(site.url("/"))
            shown = await page.aria_snapshot(mode="ai")
            ref = re.search(r'button "Go" \[ref=(\w+)\]', shown)[1]  # type: ignore[index]

            async def ours() -> None:
                nonlocal state
                if not act:
                    await call(own, "snapshot", page=state["page"])
                    return
                state = await call(
                    own,
                    "interact",
                    page=state["page"],
                    snapshot=state["snapshot"],
                    origin=origin,
                    action={"kind": "click", "ref": ref},
                )

            async def floor() -> None:
                if act:
                    await page.locator(f"aria-ref={ref}").click()
                await page.aria_snapshot(mode="ai")

            times = [[await taken(ours, n), await taken(floor, n)] for n in range(rounds)]
    # A click takes whole frames: on a small page the least is one that met a frame by luck.
    taken_of = statistics.median if act and nodes == SMALL else min
    return [taken_of(pair[0] for pair in times), taken_of(pair[1] for pair in times)]


@row
def browser_action(folder: Path) -> list[float]:
    """A click and the snapshot after it; the floor is Playwright's click and snapshot."""
    return asyncio.run(compared(folder, SMALL, ROUNDS, act=True))


@row
def browser_snapshot(folder: Path) -> list[float]:
    """A snapshot of an ordinary page; the floor is Playwright's."""
    return asyncio.run(compared(folder, SMALL, ROUNDS, act=False))


@row
def browser_snapshot_large(folder: Path) -> list[float]:
    """A snapshot of a page of 10,000 elements, cut to 32 KiB; the floor is the whole text."""
    return asyncio.run(compared(folder, LARGE, 5, act=False))


@row
def browser_action_large(folder: Path) -> list[float]:
    """A click on a page of 10,000 elements, and the snapshot after it."""
    return asyncio.run(compared(folder, LARGE, 5, act=True))


def resident() -> float:
    """Mebibytes that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


async def grown(visit: Callable[[str], Awaitable[Any]], site: Site) -> float:
    """Mebibytes that this process holds after 200 pages, seen after the first 20."""
    for number in range(20):
        await visit(site.url(f"/?{number}"))
    before = resident()
    for number in range(200):
        await visit(site.url(f"/?{number}"))
    return max(resident() - before, 0.0)


@row
def browser_memory(folder: Path) -> list[float]:
    """Memory of the host over 200 pages; the floor is Playwright's, and 16 MiB."""

    async def measured() -> list[float]:
        program()
        with Site(HOST) as site:
            site.add("/", page_of(400))
            async with session(folder) as own:
                ours = await grown(lambda url: call(own, "navigate", url=url), site)
            async with bare() as page:

                async def visit(url: str) -> None:
                    await page.goto(url)
                    await page.aria_snapshot(mode="ai")

                floor = await grown(visit, site)
        return [ours, floor + 16]

    return asyncio.run(measured())


if __name__ == "__main__":
    main()
