"""Debian's searx with an engine on this machine."""

import json
import os
import re
import subprocess

from pathlib import Path

import pytest

from toolcrib_net.fixtures import PUBLIC, free_port, listens
from toolcrib_net.testing import ok, reply


pytestmark = pytest.mark.peer
EXAMPLES = Path("/usr/share/doc/searx/examples/settings.yml")


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
def searx(site, tmp_path, program):
    port = free_port()
    rows = [
        {"title": f"crib {n}", "url": f"https://a.example/{n}", "content": "words"}
        for n in range(3)
    ]
    site.add("/engine", ok(json.dumps({"results": rows}), "application/json"))
    (tmp_path / "settings.yml").write_text(settings(port, site.url("/engine")))
    environment = os.environ | {"SEARX_SETTINGS_PATH": str(tmp_path / "settings.yml")}
    log = (tmp_path / "searx.log").open("wb")
    command = [program("searx-run")]
    process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    if not listens(port):
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
    site.add("/engine", reply(500, "down"))
    web.settings |= {"providers": ["searxng"], "search": {"searxng": {"url": searx}}}
    outcome = web.search("crib")
    assert (outcome.status, outcome.code) == ("failed", "web.search_failed")
    assert "local" in outcome.text
