"""Resources: two spellings of one thing give one value."""

# ruff: noqa: RUF001 - look-alikes are what is tested

from __future__ import annotations

import pytest

from toolcrib import resources


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        ("EXAMPLE.com", "example.com"),
        ("example.com.", "example.com"),
        ("bücher.de", "xn--bcher-kva.de"),
        ("BÜCHER.de", "xn--bcher-kva.de"),
        ("bu\u0308cher.de", "xn--bcher-kva.de"),
        ("xn--bcher-kva.de", "xn--bcher-kva.de"),
        ("XN--BCHER-KVA.DE", "xn--bcher-kva.de"),
        ("ｅｘａｍｐｌｅ。com", "example.com"),
        ("localhost", "localhost"),
        ("my_service", "my_service"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("127.0.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0x7F.0.0.0x1", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("１２７.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        ("[::1]", "::1"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("[::FFFF:7f00:1]", "127.0.0.1"),
        ("fe80::1%eth0", "fe80::1"),
    ],
)
def test_hosts_of_one_destination_are_one(spelling, value):
    """Case, dots, width, IDN and every form of an address come to one text."""
    assert resources.Host(spelling).value == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "a..b",
        "faß.de",
        "σας.gr",
        "a\u200db.com",
        "exa\u200bmple.com",
        "1.2.3.4.5",
        "256.1.1.1",
        "1.2.3.999",
        "08.1.1.1",
        "1.2.3.x4.0x",
        "example.com:80",
        "a/b",
        "a b",
        "user@host",
        "℀.com",
        "xn--a.com",
        "xn--.com",
        "x" * 64 + ".com",
        ":::1",
        "*.example.com",
    ],
)
def test_what_is_no_certain_host_has_no_canonical_form(text):
    """Readers would disagree on it, so a person is asked."""
    with pytest.raises(ValueError, match=r"."):
        resources.Host(text)


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        ("https://example.com", "https://example.com/"),
        ("HTTPS://Example.COM:443/", "https://example.com/"),
        ("http://example.com:80/a", "http://example.com/a"),
        ("http://example.com:0080/a", "http://example.com/a"),
        ("https://example.com:8443/a", "https://example.com:8443/a"),
        ("https://me:secret@example.com/a", "https://example.com/a"),
        ("https://good.com@evil.com/a", "https://evil.com/a"),
        ("https://example.com/a/./b/../c", "https://example.com/a/c"),
        ("https://example.com/a/%2e%2E/b", "https://example.com/b"),
        ("https://example.com/../../a", "https://example.com/a"),
        ("https://example.com/a/..", "https://example.com/"),
        ("https://example.com/%7euser", "https://example.com/~user"),
        ("https://example.com/%c3%a4", "https://example.com/%C3%A4"),
        ("https://example.com/ä", "https://example.com/%C3%A4"),
        ("https://example.com\\a\\b", "https://example.com/a/b"),
        ("https://example.com/a#part", "https://example.com/a"),
        ("https://example.com?q=%41 b", "https://example.com/?q=A%20b"),
        ("https://ex%61mple.com/", "https://example.com/"),
        ("https://0x7f.1/", "https://127.0.0.1/"),
        ("https://[::1]:443/x", "https://[::1]/x"),
        ("wss://example.com:443/s", "wss://example.com/s"),
    ],
)
def test_addresses_of_one_target_are_one(spelling, value):
    """Defaults, dots, encodings, credentials and fragments make no difference."""
    assert resources.Url(spelling).value == value


@pytest.mark.parametrize(
    "text",
    [
        "example.com/a",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https:example.com",
        "https:///a",
        "https://exa mple.com/",
        "https://example.com:99999/",
        "https://example.com:80x/",
        "https://example.com/a\nb",
        "https://[::1/",
        "https://a%2fb.com/",
        "https://a%ff.com/",
    ],
)
def test_what_is_no_certain_address_has_no_canonical_form(text):
    """Neither have schemes that no rule could judge."""
    with pytest.raises(ValueError, match=r"."):
        resources.Url(text)


def test_a_path_is_where_links_lead(tmp_path):
    """The spelling is kept beside it, for rules that deny."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    found = resources.Path(tmp_path / "link" / ".." / "link" / "new")
    assert found.value == f"{tmp_path}/real/new"
    assert found.spelling == f"{tmp_path}/link/new"
    assert resources.Path(f"{tmp_path}//real/./new") == found


def test_a_relative_path_waits_for_its_workspace():
    """Only the session knows where it starts."""
    assert resources.Path("a/../b").value == "a/../b"


@pytest.mark.parametrize("text", ["", "a\0b"])
def test_what_is_no_path_raises(text):
    """An empty text or a null character cannot name a file."""
    with pytest.raises(ValueError, match="path"):
        resources.Path(text)


def test_links_in_a_circle_have_no_path(tmp_path):
    """Nobody knows where they lead."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(ValueError, match="circle"):
        resources.Path(tmp_path / "a")


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("git  status", "git status"),
        ("to''uch x", "touch x"),
        (["rm", "-rf", "a b"], "rm -rf 'a b'"),
        ('echo "a && b"', "echo 'a && b'"),
        ("echo 'a$b'", "echo 'a$b'"),
    ],
)
def test_a_plain_command_is_its_words(words, value):
    """Blanks and quotes are gone; what they held stays one word."""
    assert resources.Command(words).value == value


@pytest.mark.parametrize(
    "text",
    [
        "a && b", "a;b", "a|b", "a & b", "a\nb", "a > b", "a <(b)", "echo $(b)", "echo `b`",
        'echo "$(b)"', "echo $x", "echo ${x:-$(b)}", "ls *", "a {b,c}", "~/x", "a \\\n b",
        "(a)", "a # b", "$'\\x74ouch'", "echo 'a",
    ],
)  # fmt: skip
def test_more_than_a_plain_command_has_no_canonical_form(text):
    """Taking a line apart is the business of who understands shells."""
    with pytest.raises(ValueError, match=r"."):
        resources.Command(text)


def test_variables_of_a_command_come_first():
    """They are a part of what is run."""
    found = resources.Command(["git", "x"], env={"B": "2", "A": "1 1"})
    assert found.value == "'A=1 1' B=2 git x"


def test_other_types_hold_names():
    """Servers, tables, state and a pack's own types."""
    assert resources.Server("github").value == "github"
    assert resources.Table(["public", "users"]) == resources.Table("public.users")
    assert resources.State("./a//b").value == "a/b"
    assert resources.Custom("chat-channel", "#x").type == "chat-channel"
    assert resources.Any("path").value == ""


@pytest.mark.parametrize(
    "make",
    [
        lambda: resources.Server("a\u202eb"),
        lambda: resources.Table(["a.b"]),
        lambda: resources.State("../x"),
        lambda: resources.State("/x"),
        lambda: resources.Custom("channel", "x"),
        lambda: resources.Any("pth"),
    ],
)
def test_names_that_are_none_raise(make):
    """A slip in a type or a name is found where it is made."""
    with pytest.raises(ValueError, match=r"."):
        make()
