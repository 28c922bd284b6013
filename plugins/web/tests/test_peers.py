"""Debian's searx with an engine on this machine, and real pages from packages' test data."""

import collections
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import time

from pathlib import Path

import pytest

from toolcrib_net.testing import ok

from toolcrib_web.charsets import decode
from toolcrib_web.documents import Encoding


pytestmark = pytest.mark.peer
PUBLIC = "127.0.0.2"
EXAMPLES = Path("/usr/share/doc/searx/examples/settings.yml")


def needed(program):
    """Return where a program is; under ``nox -s peers`` one that is absent is a failure."""
    found = shutil.which(program)
    if found is None and not os.environ.get("TOOLCRIB_PEERS"):
        pytest.skip(f"{program} is not installed")
    assert found is not None, f"{program} is not installed"
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind((PUBLIC, 0))
        return probe.getsockname()[1]


ENGINE = """
  - name: local
    engine: json_engine
    enable_http: true
    shortcut: lo
    categories: general
    search_url: "{engine}?q={{query}}"
    results_query: results
    url_query: url
    title_query: title
    content_query: content
"""


def settings(port, engine):
    """Return Debian's example settings with one engine, and with JSON switched on."""
    head, _, rest = EXAMPLES.read_text().partition("\nengines:")
    tail = re.search(r"(?ms)^(locales|doi_resolvers):.*\Z", rest)
    text = f"{head}\nengines:{ENGINE.format(engine=engine)}\n{tail[0] if tail else ''}"
    for key, value in {"port": port, "bind_address": PUBLIC, "secret_key": "test"}.items():
        text = re.sub(rf"(?m)^( +){key} ?:.*$", rf'\1{key}: "{value}"', text, count=1)
    text = text.replace(f'port: "{port}"', f"port: {port}")
    return re.sub(
        r"(?m)^  formats:\n(    - .*\n)+", "  formats:\n    - html\n    - json\n", text
    )


@pytest.fixture
def searx(site, tmp_path):
    program = needed("searx-run")
    port = free_port()
    rows = [
        {"title": f"crib {n}", "url": f"https://a.example/{n}", "content": "words"}
        for n in range(3)
    ]
    site.add("/engine", ok(json.dumps({"results": rows}), "application/json"))
    (tmp_path / "settings.yml").write_text(settings(port, site.url("/engine")))
    environment = os.environ | {"SEARX_SETTINGS_PATH": str(tmp_path / "settings.yml")}
    log = (tmp_path / "searx.log").open("wb")
    process = subprocess.Popen([program], env=environment, stdout=log, stderr=log)
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex((PUBLIC, port)) == 0:
                break
        time.sleep(0.1)
    else:
        pytest.fail((tmp_path / "searx.log").read_text()[-3000:])
    yield f"http://search.test:{port}"
    process.terminate()
    process.wait(10)
    log.close()


def test_searx_answers_from_a_real_instance(searx, site, web):
    web.settings |= {"providers": ["searxng"], "search": {"searxng": {"url": searx}}}
    outcome = web.search("crib")
    assert outcome.status == "ok", outcome.text
    titles = [hit["title"] for hit in outcome.result.structured["results"]]
    assert sorted(titles) == ["crib 0", "crib 1", "crib 2"]


def test_searx_whose_engine_is_down_is_no_success(searx, site, web):
    from toolcrib_net.testing import reply

    site.add("/engine", reply(500, "down"))
    web.settings |= {"providers": ["searxng"], "search": {"searxng": {"url": searx}}}
    outcome = web.search("crib")
    assert (outcome.status, outcome.code) == ("failed", "web.search_failed")
    assert "local" in outcome.text


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Saved pages whose package ships the expected text; fetched by pip, kept nowhere."""
    folder = tmp_path_factory.mktemp("pages")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--no-binary", ":all:", "--dest", str(folder), "newspaper4k==0.9.6"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    archives = list(folder.glob("*.tar.gz"))
    if not archives and not os.environ.get("TOOLCRIB_PEERS"):
        pytest.skip("the saved pages cannot be had")
    assert archives, done.stderr[-2000:]
    with tarfile.open(archives[0]) as archive:
        archive.extractall(folder, filter="data")
    (data,) = folder.glob("*/tests/data")
    found = []
    for page in sorted((data / "html").glob("*.html")):
        expected = data / "txt" / f"{page.stem}.txt"
        if expected.exists() and (text := expected.read_text("utf-8").strip()):
            found.append((page.stem, page.read_bytes(), text))
    assert len(found) >= 20
    return found


_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\]\((?:<[^>]*>|[^()]*(?:\([^)]*\))?[^()]*)\)")
_WORDS = re.compile(r"[\u4e00-\u9fff\u3040-\u30ff\u0e00-\u0e7f]|[^\W\d_]+|\d+")


def f1(text, expected):
    """Return how well two bags of words agree; letters, where a script has no spaces."""
    plain = _LINK.sub(r"\1", _IMAGE.sub(" ", text)).replace("*", "").lower()
    ours = collections.Counter(_WORDS.findall(plain))
    wanted = collections.Counter(_WORDS.findall(expected.lower()))
    common = (ours & wanted).total()
    return 2 * common / (ours.total() + wanted.total()) if common else 0.0


def test_main_content_is_found_as_well_as_by_the_best_extractor_and_as_fast(pages):
    import trafilatura

    from toolcrib_web.pages import read_page

    encoding = Encoding(name="utf-8", source="header")
    scores = collections.defaultdict(list)
    seconds = collections.Counter()
    for _, data, expected in pages:
        text = decode(data).text
        started = time.perf_counter()
        ours = read_page(
            text,
            "http://a.example/",
            encoding=encoding,
            form="markdown",
            scope="main",
            headers={},
        ).text
        seconds["ours"] += time.perf_counter() - started
        scores["ours"].append(f1(ours, expected))
        for name, options in (("plain", {}), ("precise", {"favor_precision": True})):
            started = time.perf_counter()
            theirs = trafilatura.extract(
                text, include_comments=False, include_links=False, **options
            )
            seconds[name] += time.perf_counter() - started
            scores[name].append(f1(theirs or "", expected))
    means = {name: sum(each) / len(each) for name, each in scores.items()}
    sys.stdout.write(f"F1 over {len(pages)} pages: {means}; seconds: {dict(seconds)}\n")
    assert means["ours"] >= max(means["plain"], means["precise"])
    assert seconds["ours"] <= 1.2 * max(seconds["plain"], seconds["precise"])
