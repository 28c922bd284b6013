"""HTTP/2 and TLS of real servers: hypercorn, and nginx from Debian."""

import asyncio
import gzip
import os
import ssl
import subprocess
import threading

import pytest
import trustme

from toolcrib_net import Client, FilteringProxy, FixedResolver, NetPolicy, Request
from toolcrib_net.fixtures import PUBLIC, free_port, listens


pytestmark = pytest.mark.peer
NAMES = {"site.test": [PUBLIC], "other.test": [PUBLIC]}


@pytest.fixture(scope="module")
def ca():
    return trustme.CA()


@pytest.fixture
def policy(ca):
    context = ssl.create_default_context()
    ca.configure_trust(context)
    return NetPolicy(allow=[f"{PUBLIC}/32"], tls=context, deadline=10)


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-type", b"text/plain")]
    status, body = (
        200,
        f"{scope['http_version']} {dict(scope['headers']).get(b'host')}".encode(),
    )
    if scope["path"] == "/away":
        status, headers = 302, [(b"location", b"/")]
    if scope["path"] == "/large":
        body = b"x" * (4 << 20)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def hypercorn(ca, tmp_path):
    pytest.importorskip("hypercorn")
    from hypercorn.asyncio import serve
    from hypercorn.config import Config

    issued = ca.issue_cert("site.test", "other.test")
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    for blob in issued.cert_chain_pems:
        blob.write_to_path(tmp_path / "cert.pem", append=True)
    port = free_port()
    config = Config()
    config.bind = [f"{PUBLIC}:{port}"]
    config.certfile, config.keyfile = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    config.errorlog = None
    loop, stop = asyncio.new_event_loop(), asyncio.Event()

    def run():
        asyncio.set_event_loop(loop)
        loop.run_until_complete(serve(app, config, shutdown_trigger=stop.wait))
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert listens(port)
    yield port
    loop.call_soon_threadsafe(stop.set)
    thread.join(10)


def fetch(policy, *urls, **options):
    async def main():
        resolver = FixedResolver(NAMES)
        async with Client(policy, resolver=resolver) as client:
            found = await asyncio.gather(
                *(client.fetch(Request(url=url), **options) for url in urls)
            )
            return found, resolver.asked

    return asyncio.run(main())


def test_http2_is_spoken_where_it_is_offered(hypercorn, policy):
    (found,), _ = fetch(policy, f"https://site.test:{hypercorn}/away")
    assert (found.http, found.status, found.address) == ("HTTP/2", 200, PUBLIC)
    assert found.body.startswith(b"2 ")
    assert len(found.hops) == 1


def test_many_requests_share_one_connection_of_http2(hypercorn, policy):
    found, asked = fetch(policy, *[f"https://site.test:{hypercorn}/"] * 20)
    assert {each.http for each in found} == {"HTTP/2"}
    assert len(asked) <= 6


def test_body_over_http2_is_capped(hypercorn, policy):
    (found,), _ = fetch(policy, f"https://site.test:{hypercorn}/large", max_body=1000)
    assert (len(found.body), found.complete) == (1000, False)


@pytest.fixture
def nginx(ca, tmp_path, program):
    issued = ca.issue_cert("site.test")
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    for blob in issued.cert_chain_pems:
        blob.write_to_path(tmp_path / "cert.pem", append=True)
    root = tmp_path / "root"
    root.mkdir()
    (root / "page.html").write_text("<p>words of nginx</p>" * 500)
    (root / "bomb.html.gz").write_bytes(gzip.compress(b"x" * (32 << 20)))
    port = free_port()
    config = tmp_path / "nginx.conf"
    # Its workers must be able to read the folder of the test.
    user = "user root;" if os.geteuid() == 0 else ""
    config.write_text(f"""
daemon off; {user} pid {tmp_path}/pid; error_log stderr crit; worker_processes 1;
events {{}}
http {{
  types {{ text/html html; }}
  access_log off; gzip on; gzip_min_length 10;
  client_body_temp_path {tmp_path}/b; proxy_temp_path {tmp_path}/p;
  fastcgi_temp_path {tmp_path}/f; uwsgi_temp_path {tmp_path}/u; scgi_temp_path {tmp_path}/s;
  server {{
    listen {PUBLIC}:{port} ssl http2;
    server_name site.test;
    ssl_certificate {tmp_path}/cert.pem; ssl_certificate_key {tmp_path}/key.pem;
    root {root};
    location = /old {{ return 301 /page.html; }}
    location = /inner {{ return 302 http://127.0.0.1/; }}
    location = /bomb {{ add_header Content-Encoding gzip; gzip off; default_type text/html;
                        try_files /bomb.html.gz =404; }}
  }}
}}
""")
    process = subprocess.Popen([program("nginx"), "-p", str(tmp_path), "-c", str(config)])
    assert listens(port)
    yield port
    process.terminate()
    process.wait(10)


def test_page_of_nginx_comes_compressed_over_http2(nginx, policy):
    (found,), _ = fetch(policy, f"https://site.test:{nginx}/old")
    assert found.http == "HTTP/2"
    assert found.header("content-encoding") == "gzip"
    assert found.body == b"<p>words of nginx</p>" * 500
    assert found.wire < len(found.body)


def test_bomb_of_nginx_is_capped(nginx, policy):
    (found,), _ = fetch(policy, f"https://site.test:{nginx}/bomb", max_body=50_000)
    assert (len(found.body), found.complete) == (50_000, False)


def test_redirect_of_nginx_to_an_inner_address_is_refused(nginx, policy):
    from toolcrib_net import NetError

    with pytest.raises(NetError) as caught:
        fetch(policy, f"https://site.test:{nginx}/inner")
    assert caught.value.code == "net.address_refused"


def test_program_with_networking_of_its_own_goes_through_the_proxy(
    nginx, policy, ca, tmp_path, program
):
    curl = program("curl")
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")

    async def main(url):
        async with FilteringProxy(policy, resolver=FixedResolver(NAMES)) as proxy:
            command = [
                curl,
                "-sS",
                "-x",
                proxy.credentials_url,
                "--cacert",
                tmp_path / "ca.pem",
            ]
            process = await asyncio.create_subprocess_exec(
                *command, url, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            return await process.communicate()

    out, _ = asyncio.run(main(f"https://site.test:{nginx}/page.html"))
    assert out.startswith(b"<p>words of nginx</p>")
    out, error = asyncio.run(main(f"https://127.0.0.1:{nginx}/page.html"))
    assert out == b""
    assert b"403" in error
