"""Origins in one form, and the lists that name them."""

from __future__ import annotations

import pytest

from toolcrib_browser.origins import Origins, host_of, origin_of, shown_url, site_url


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Example.com", "https://example.com:443"),
        ("http://example.com./a?b#c", "http://example.com:80"),
        ("https://example.com:8443/x", "https://example.com:8443"),
        ("https://user:pw@example.com/", "https://example.com:443"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
        ("http://0x7f.1/", "http://127.0.0.1:80"),
        ("blob:https://example.com/uuid", "https://example.com:443"),
    ],
)
def test_origin_is_scheme_host_and_port_in_one_form(url, origin):
    """With the default port written out."""
    assert origin_of(url) == origin
    assert origin_of(site_url(origin)) == origin


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "file:///x",
        "data:text/html,x",
        "about:blank",
        "javascript:1",
        "chrome://version",
        "ws://a.test",
        "http://",
        "blob:null/x",
        "https://exa mple.test",
    ],
)
def test_what_has_no_origin_is_refused(url):
    """It cannot be decided upon."""
    with pytest.raises(ValueError, match=r"."):
        origin_of(url)


@pytest.mark.parametrize(
    ("pattern", "admitted", "others"),
    [
        (
            "https://a.test",
            ["https://a.test"],
            ["http://a.test", "https://a.test:8443", "https://b.a.test", "https://a.test.evil"],
        ),
        (
            "https://*.a.test",
            ["https://x.a.test", "https://x.y.a.test"],
            ["https://a.test", "https://xa.test", "http://x.a.test"],
        ),
        ("a.test", ["http://a.test", "https://a.test:8443"], ["https://x.a.test"]),
        ("a.test:8443", ["https://a.test:8443"], ["https://a.test"]),
        ("http://127.0.0.2:8080", ["http://127.0.0.2:8080"], ["http://127.0.0.2"]),
        ("https://[::1]", ["https://[::1]"], ["http://[::1]"]),
    ],
)
def test_pattern_names_whole_labels_and_its_own_port(pattern, admitted, others):
    """Never the beginning of a text."""
    listed = Origins.read([pattern])
    assert all(listed.admits(origin_of(url)) for url in admitted)
    assert not any(listed.admits(origin_of(url)) for url in others)


def test_empty_list_names_everything():
    """It is no list."""
    assert Origins().admits("https://a.test:443")
    assert Origins().admits_place("a.test", 443)
    assert not Origins.read(["a.test"]).admits_place("b.test", 443)


def test_shown_address_has_no_values_of_its_query_and_no_fragment():
    """They may be session ids."""
    assert shown_url("https://a.test/x?sid=1234&q=cat#frag") == "https://a.test/x?sid=…&q=…"
    assert shown_url("data:text/html,<b>words</b>" * 9).startswith("data:text/html")
    assert len(shown_url("https://a.test/" + "x" * 9000)) < 250


def test_host_of_an_origin():
    """Without scheme and port."""
    assert host_of("https://a.test:8443") == "a.test"
    assert host_of("http://[::1]:80") == "::1"
