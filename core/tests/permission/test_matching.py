"""What patterns fit: narrowly to allow, widely to deny."""

from __future__ import annotations

import pytest

from toolcrib import resources
from toolcrib.errors import PolicyError
from toolcrib.permission.ruleset import RuleSet
from toolcrib.signature import Signature


def allows(judged, fields, *found, **context):
    signature = Signature(writes=found)
    return judged(signature, f"allow files.*({fields})", **context) == "run"


def denies(judged, fields, *found, **context):
    signature = Signature(writes=found)
    answer = judged(signature, "allow *", f"deny files.*({fields})", **context)
    return answer == "rule.denied"


PATHS = [
    # pattern, path, allowed, denied
    ("src/**", "/ws/src/a", True, True),
    ("src/**", "/ws/src", True, True),
    ("src/", "/ws/src/a/b", True, True),
    ("src/*", "/ws/src/a", True, True),
    ("src/*", "/ws/src/a/b", False, False),
    ("src/**", "/ws/source/a", False, False),
    ("src/**", "/ws/SRC/a", False, True),
    ("**/.env*", "/ws/a/.env.local", True, True),
    ("**/.env*", "/elsewhere/.env", False, True),
    ("**/.env*", "/ws/.ENV", False, True),
    ("**/.env", "/ws/.e\u200bnv", False, True),
    (".env", "/ws/.env", True, True),
    (".env", "/ws/a/.env", False, False),
    ("./.env", "/ws/.env", True, True),
    ("../x/**", "/x/a", True, True),
    ("~/.ssh/**", "/home/me/.ssh/id", True, True),
    ("~/.ssh/**", "/home/me/.SSH/id", False, True),
    ("/etc/*.conf", "/etc/a.conf", True, True),
    ("/etc/*.conf", "/etc/a.conf.d", False, False),
    ("/etc/a*b*c", "/etc/a1b2c", True, True),
    ("/etc/a*b*c", "/etc/ac", False, False),
    ("/**/secrets/**", "/a/b/secrets/c", True, True),
    ("**", "/ws/a", True, True),
    ("**", "/a", False, True),
    ("/", "/anything/at/all", True, True),
    ("a[1].txt", "/ws/a[1].txt", True, True),
    ("a[1].txt", "/ws/a1.txt", False, False),
    ("a?.txt", "/ws/ab.txt", False, False),
    ("a\\*", "/ws/a*", True, True),
    ("a\\*", "/ws/ab", False, False),
]


@pytest.mark.parametrize(("pattern", "path", "allowed", "denied"), PATHS)
def test_paths(pattern, path, allowed, denied, judged):
    """``*`` stays in a folder, ``**`` crosses them; nothing else is special."""
    found = resources.Path(path)
    assert allows(judged, f"path={pattern}", found) is allowed
    assert denies(judged, f"path={pattern}", found) is denied


HOSTS = [
    ("example.com", "https://example.com/a", True),
    ("EXAMPLE.com.", "https://example.com/a", True),
    ("example.com", "https://a.example.com/", False),
    ("example.com", "https://example.com.evil.com/", False),
    ("example.com", "https://notexample.com/", False),
    ("*.example.com", "https://a.example.com/", True),
    ("*.example.com", "https://a.b.example.com/", True),
    ("*.example.com", "https://example.com/", False),
    ("*.example.com", "https://evilexample.com/", False),
    ("api.*.example.com", "https://api.eu.example.com/", True),
    ("api.*.example.com", "https://api.a.b.example.com/", False),
    ("*", "https://anything.org/", True),
    ("bücher.de", "https://xn--bcher-kva.de/", True),
    ("127.0.0.1", "https://2130706433/", True),
    ("127.0.0.1", "https://[::ffff:7f00:1]/", True),
    ("10.0.0.*", "https://10.0.0.7/", True),
    ("::1", "https://[0:0::1]/", True),
]


@pytest.mark.parametrize(("pattern", "url", "fits"), HOSTS)
def test_hosts(pattern, url, fits, judged):
    """Whole labels only, and the host counts whatever the address looks like."""
    found = resources.Url(url)
    assert allows(judged, f"host={pattern}", found) is fits
    assert denies(judged, f"host={pattern}", found) is fits
    host = resources.Host(resources.host_of(found.value))
    assert allows(judged, f"host={pattern}", host) is fits


URLS = [
    ("https://e.com", "https://e.com/a/b?q", True, True),
    ("https://e.com", "http://e.com/", False, False),
    ("*://e.com", "http://e.com/", True, True),
    ("https://e.com/", "https://e.com:8443/", False, False),
    ("https://e.com:8443", "https://e.com:8443/", True, True),
    ("https://e.com:*", "https://e.com:8443/", True, True),
    ("https://e.com:443", "https://e.com/", True, True),
    ("https://e.com/docs", "https://e.com/docs", True, True),
    ("https://e.com/docs", "https://e.com/docs/a", True, True),
    ("https://e.com/docs/", "https://e.com/docs/a", True, True),
    ("https://e.com/docs", "https://e.com/docsx", False, False),
    ("https://e.com/docs", "https://e.com/docs/../admin", False, False),
    ("https://e.com/docs", "https://e.com/docs/..%2fadmin", False, True),
    ("https://e.com/docs", "https://e.com/docs/..;/admin", False, True),
    ("https://e.com/docs", "https://e.com/a/.;x/docs", False, False),
    ("https://e.com/docs", "https://e.com/a%2f..%2fdocs/b", False, True),
    ("https://e.com/docs", "https://e.com/a/..;x=1/docs/b", False, True),
    ("https://e.com/docs", "https://e.com/docs;x=1/b", False, True),
    ("https://e.com/docs", "https://e.com/DOCS/a", False, True),
    ("https://e.com/docs", "https://e.com//docs/a", False, True),
    ("https://e.com/a/*/c", "https://e.com/a/b/c/d", True, True),
    ("https://e.com/**/c", "https://e.com/a/b/c/d", True, True),
    ("https://*.e.com/a", "https://x.e.com/a", True, True),
    ("https://*.e.com/a", "https://evil.com/e.com/a", False, False),
]


@pytest.mark.parametrize(("pattern", "url", "allowed", "denied"), URLS)
def test_addresses(pattern, url, allowed, denied, judged):
    """Origin, then whole pieces of the path and everything below."""
    found = resources.Url(url)
    assert allows(judged, f"url={pattern}", found) is allowed
    assert denies(judged, f"url={pattern}", found) is denied


def test_an_address_pattern_may_concern_its_host(judged):
    """A call that names the host alone may be any of its addresses."""
    host = Signature(reads=[resources.Host("e.com")])
    assert judged(host, "allow files.*(url=https://e.com)") == "ask"
    assert judged(host, "allow *", "deny *(url=https://e.com/private)") == "ask"
    assert judged(host, "allow *", "deny *(url=https://x.com/private)") == "run"


def test_names_of_other_types(judged):
    """Tables part at dots, the rest are plain names."""
    users = resources.Table("public.users")
    assert allows(judged, "table=public.*", users)
    assert not allows(judged, "table=*", users)
    assert allows(judged, "table=**", users)
    assert denies(judged, "table=PUBLIC.Users", users)
    channel = resources.Custom("chat-channel", "#general")
    assert allows(judged, "chat-channel=#gen*", channel)
    assert not allows(judged, "server=*", channel)
    assert allows(judged, "server=git*", resources.Server("github"))


def test_a_server_is_also_the_source_of_a_live_tool(judged, make):
    """``server=`` speaks of every call of its tools."""
    tool = make.tool(id="mcp.github.create_issue", effects=["net_write"])
    assert judged(None, "allow mcp.*(server=github)", tool=tool) == "run"
    assert judged(None, "allow mcp.*(server=gitlab)", tool=tool) == "ask"
    assert judged(None, "allow *", "deny mcp.*(server=github)", tool=tool) == "rule.denied"
    assert judged(None, "allow *", "deny mcp.*(server=!gitlab)", tool=tool) == "rule.denied"
    call = Signature(writes=[resources.Host("api.github.com")])
    assert judged(call, "allow mcp.*(server=github, host=x.com)", tool=tool) == "ask"
    assert judged(call, "allow mcp.*(server=github, host=*.github.com)", tool=tool) == "run"


@pytest.mark.parametrize(
    ("pattern", "tool_id", "fits"),
    [
        ("mcp.github.*", "mcp.github.create.issue", True),
        ("mcp.github.*", "mcp.github-evil.x", False),
        ("mcp.*", "mcp.any.thing", True),
        ("*.fetch", "web.fetch", True),
        ("mcp.s.foo_bar", "mcp.s.foo.bar", False),
        ("mcp.s.foo.bar", "mcp.s.foo.bar", True),
        ('"mcp.s.a (b)"', "mcp.s.a (b)", True),
        ('"mcp.s.\\*"', "mcp.s.*", True),
        ('"mcp.s.\\*"', "mcp.s.other", False),
        ("mcp.acme_ai_Make.*", "mcp.acme_ai_Make.run", True),
        ("mcp.make-meji-media.*", "mcp.make-meji-media.x", True),
    ],
)
def test_tool_patterns(pattern, tool_id, fits, judged, make):
    """Ids are matched whole, and no two of them fold into one."""
    tool = make.tool(id=tool_id, effects=["net_read"])
    assert (judged(None, f"allow {pattern}", tool=tool) == "run") is fits


def test_a_pattern_can_be_turned_round(judged):
    """And then reads the other way: nothing slips through by its spelling."""
    inside, secret, shout = map(
        resources.Path, ["/ws/src/a", "/ws/src/secret/a", "/ws/src/SECRET/a"]
    )
    rule = "path=src/**, path=!src/secret/**"
    assert allows(judged, rule, inside)
    assert not allows(judged, rule, secret)
    assert not allows(judged, rule, shout)
    assert denies(judged, "path=!src/**", resources.Path("/ws/SRC/a"))
    assert not denies(judged, "path=!src/**", inside)


def test_patterns_of_one_field_are_alternatives(judged):
    """One that fits is enough."""
    rule = "host=a.com, host=b.com"
    assert allows(judged, rule, resources.Host("b.com"))
    assert allows(judged, rule, resources.Host("b.com"), resources.Host("a.com"))
    assert not allows(judged, rule, resources.Host("b.com"), resources.Host("c.com"))


def test_a_deny_sees_links_by_both_names(judged, tmp_path):
    """The link that was named, and where it leads."""
    (tmp_path / "data").mkdir()
    (tmp_path / "secrets").symlink_to("data")
    by_link = resources.Path(tmp_path / "secrets" / "a")
    by_file = resources.Path(tmp_path / "data" / "a")
    place = {"workspace": str(tmp_path)}
    for found in [by_link, by_file]:
        assert denies(judged, "path=data/**", found, **place)
        assert denies(judged, "path=secrets/**", found, **place)
    assert denies(judged, "path=**/secrets/**", by_link, **place)
    assert allows(judged, "path=secrets/**", by_file, **place)


def test_a_deny_by_a_link_outlives_the_link(make, tmp_path):
    """A link that is turned elsewhere later is still the one that was denied."""
    from toolcrib import permission  # noqa: PLC0415

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    link = tmp_path / "secrets"
    link.symlink_to("one")
    admitted = make.call(make.tool())
    context = make.context(["deny *(path=secrets/**)"], workspace=str(tmp_path))
    for target in ("one", "two"):
        link.unlink()
        link.symlink_to(target)
        call = Signature(reads=[resources.Path(link / "a")])
        assert permission.authorize(admitted, call, context).code == "rule.denied"


def test_an_allowed_link_does_not_reach_outside(judged, tmp_path):
    """What counts is where it leads, also for a file that is not there yet."""
    (tmp_path / "out").symlink_to("/")
    found = resources.Path(tmp_path / "out" / "new.txt")
    assert not allows(judged, "path=out/*.md", found, workspace=str(tmp_path))
    assert not allows(judged, "path=**", found, workspace=str(tmp_path))


def test_many_stars_cost_nothing(judged):
    """Neither a pattern nor a value can make matching slow."""
    pattern = "/".join(["**", "*a*"] * 20) + "/b"
    found = resources.Path("/ws/" + "/".join(["aaaaaaaa"] * 200))
    assert not denies(judged, f"path={pattern}", found)
    wild = "*a" * 60 + "b"
    assert not denies(judged, f"path=**/{wild}", resources.Path("/ws/" + "a" * 4000))


def test_a_rule_about_a_home_that_nobody_knows_is_refused():
    """A denial of ``~`` that could never match must not look like one that holds."""
    RuleSet(["deny files.*(path=/etc/**)"], home="~")
    with pytest.raises(PolicyError, match="set HOME, or write the path in full"):
        RuleSet(["deny files.*(path=~/.ssh/**)"], home="~")
