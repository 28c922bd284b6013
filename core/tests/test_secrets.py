"""Secrets: who gets them, where they may go, and what is scrubbed."""

from __future__ import annotations

import asyncio
import base64
import html
import os
import sys
import types

from urllib.parse import quote

import attrs
import pytest

from hypothesis import given
from hypothesis import strategies as st
from toolcrib.errors import Unavailable
from toolcrib.outcome import Directive, File, Json, Link, Outcome, Result, Text
from toolcrib.secrets import Scrubber, SecretStore
from toolcrib.vocabulary import Status


VALUE = 's3cr3t/"ü+ value'


@attrs.frozen(kw_only=True)
class Bound:
    """A binding as policy makes them."""

    env: str | None = None
    file: object = None
    keyring: str | None = None
    tools: tuple[str, ...] = ("web.fetch",)
    destinations: tuple[str, ...] = ()


def store(binding, **environ):
    return SecretStore({"key": binding}, environ=environ)


def reveal(secrets, tool="web.fetch", destination=None, name="key"):
    return secrets.handle(name, tool_id=tool, destination=destination).reveal()


def test_a_bound_tool_gets_the_value():
    """From the environment, when it asks."""
    assert reveal(store(Bound(env="KEY"), KEY=VALUE)) == VALUE


def test_a_running_tool_asks_by_name():
    """The interface behind ``ctx.secret``."""
    secrets = store(Bound(env="KEY"), KEY=VALUE).for_tool("web.fetch")

    assert asyncio.run(secrets.get("key")) == VALUE
    with pytest.raises(Unavailable):
        asyncio.run(secrets.get("other"))


def test_other_tools_and_unknown_names_are_refused_alike():
    """Nobody learns which secrets exist."""
    secrets = store(Bound(env="KEY"), KEY=VALUE)
    texts = []
    for tool, name in (("web.search", "key"), ("web.search", "other")):
        with pytest.raises(Unavailable) as caught:
            secrets.handle(name, tool_id=tool)
        assert caught.value.code == "secret.unavailable"
        texts.append(caught.value.text.replace(repr(name), "?"))
    assert texts[0] == texts[1]


def test_tools_may_be_named_by_a_pattern():
    """As policy's own patterns."""
    secrets = store(Bound(env="KEY", tools=("mcp.github.*",)), KEY=VALUE)

    assert reveal(secrets, "mcp.github.create_issue") == VALUE
    with pytest.raises(Unavailable):
        reveal(secrets, "mcp.gitlab.create_issue")


@pytest.mark.parametrize(
    ("destination", "may"),
    [
        ("api.example.com", True),
        ("API.example.com.", True),
        ("https://api.example.com:8443/x", True),
        ("sub.example.org:80", True),
        ("example.org", False),
        ("evil-example.org", False),
        ("api.example.com.evil.net", False),
        ("https://api.example.com@evil.net/", False),
        ("https://[broken", False),
        ("", False),
        (None, False),
    ],
)
def test_a_secret_goes_only_where_policy_says(destination, may):
    """The host counts, however it is written."""
    bound = Bound(env="KEY", destinations=("api.example.com", "*.example.org"))
    secrets = store(bound, KEY=VALUE)

    if may:
        assert reveal(secrets, destination=destination) == VALUE
    else:
        with pytest.raises(Unavailable):
            reveal(secrets, destination=destination)


def test_a_handle_shows_nothing():
    """Not in logs, not in errors."""
    handle = store(Bound(env="KEY"), KEY=VALUE).handle("key", tool_id="web.fetch")

    assert str(handle) == "<secret key>"
    assert VALUE not in repr(handle)
    assert handle.reveal() == VALUE


def test_a_missing_value_is_told_to_the_user():
    """By where it should be, never by what it is."""
    with pytest.raises(Unavailable, match="environment variable KEY"):
        reveal(store(Bound(env="KEY")))


def secret_file(tmp_path, data=b"value-of-file\n", mode=0o600):
    path = tmp_path / "key"
    path.write_bytes(data)
    path.chmod(mode)
    return path


def test_a_file_gives_its_content_without_the_last_newline(tmp_path):
    """As editors leave it."""
    assert reveal(store(Bound(file=secret_file(tmp_path)))) == "value-of-file"


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_a_file_that_others_can_read_is_refused(tmp_path):
    """A secret that others read is none."""
    with pytest.raises(Unavailable, match="chmod 600"):
        reveal(store(Bound(file=secret_file(tmp_path, mode=0o644))))


@pytest.mark.parametrize("data", [b"", b"\n", b"\xff\xfe", b"x" * 70_000])
def test_a_file_without_a_usable_secret_is_refused(tmp_path, data):
    """Empty, not text, or no secret by its size."""
    with pytest.raises(Unavailable):
        reveal(store(Bound(file=secret_file(tmp_path, data))))


def test_a_file_that_is_not_there_is_refused(tmp_path):
    """It names the file."""
    with pytest.raises(Unavailable, match="nothing"):
        reveal(store(Bound(file=tmp_path / "nothing")))


def test_the_keyring_is_optional(monkeypatch):
    """Without it the message says what to install."""
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(Unavailable, match="pip install keyring"):
        reveal(store(Bound(keyring="service/me")))

    fake = types.ModuleType("keyring")
    fake.get_password = lambda service, user: f"{service}:{user}:value"
    monkeypatch.setitem(sys.modules, "keyring", fake)
    assert reveal(store(Bound(keyring="service/me"))) == "service:me:value"

    def locked(service, user):
        text = "the value is hunter2"
        raise RuntimeError(text)

    fake.get_password = locked
    with pytest.raises(Unavailable) as caught:
        reveal(store(Bound(keyring="service/me")))
    assert "hunter2" not in caught.value.text


def test_a_given_secret_is_scrubbed_from_then_on():
    """Only what was given out can leak."""
    secrets = store(Bound(env="KEY"), KEY=VALUE)
    assert not secrets.scrubber
    reveal(secrets)

    assert secrets.scrubber.text(f"token={VALUE};") == "token=[secret key];"


@pytest.mark.parametrize(
    "form",
    [
        VALUE,
        "s3cr3t%2F%22%C3%BC%2B%20value",
        "s3cr3t%2F%22%C3%BC%2B+value",
        base64.b64encode(VALUE.encode()).decode().rstrip("="),
        's3cr3t/\\"ü+ value',
    ],
)
def test_usual_spellings_are_scrubbed(form):
    """As they come up in addresses, headers and JSON."""
    scrubber = Scrubber()
    scrubber.add("key", VALUE)

    assert scrubber.text(f"<{form}>") == "<[secret key]>"


ODD = "k\u00e9y'\"\\<&>/+?=~value"


@pytest.mark.parametrize(
    "form",
    [
        html.escape(ODD),
        ascii(ODD)[1:-1],
        repr(ODD)[1:-1],
        repr(ODD.encode())[2:-1],
        str(KeyError(ODD)),
        ODD.encode().hex(),
        ODD.encode().hex().upper(),
        quote(ODD, safe="").lower(),
    ],
)
def test_spellings_of_programs_and_pages_are_scrubbed(form):
    """As error pages, exceptions and dumps write them."""
    scrubber = Scrubber()
    scrubber.add("key", ODD)
    found = scrubber.text(f"<{form}>")
    assert "[secret key]" in found
    assert "value" not in found
    assert ODD.encode().hex() not in found.lower()


@pytest.mark.parametrize("before", [b"", b"u", b"u:", b"me:", b"user:"])
@pytest.mark.parametrize("after", [b"", b"x", b"xy", b"xyz"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_around_a_secret_is_scrubbed_wherever_the_secret_stands(before, after, encode):
    """A name and a colon before it are all that it takes, as in HTTP's own scheme."""
    scrubber = Scrubber()
    scrubber.add("key", ODD)
    text = scrubber.text(encode(before + ODD.encode() + after).decode())
    assert "[secret key]" in text
    rest = text.replace("[secret key]", "")
    # What stands beside it, and at most one letter on each side that belongs to both.
    assert len(rest) <= (len(before) + len(after)) * 8 // 6 + 6


def test_an_outcome_is_scrubbed_everywhere():
    """Text, details, content, structure, notes; not the bytes of files."""
    scrubber = Scrubber()
    scrubber.add("key", "hunter2!")
    result = Result(
        summary="hunter2!",
        content=[
            Text("a hunter2! b"),
            Json({"hunter2!": ["hunter2!", 1]}),
            Link("https://x/?k=hunter2!", "hunter2!"),
            File("aHVudA==", "a/b", "hunter2!.txt"),
        ],
        structured={"k": {"deep": ["hunter2!"]}},
        metadata={"m": "hunter2!"},
        notes=["hunter2!"],
        directives=[Directive("use_model", "hunter2!")],
    )
    outcome = Outcome(
        call_id="c",
        tool_id="t",
        status=Status.FAILED,
        text="hunter2!",
        details={"d": "hunter2!"},
        result=result,
    )

    clean = scrubber.outcome(outcome)

    assert "hunter2!" not in repr(clean)
    assert clean.result.content[3].data == "aHVudA=="
    assert clean.result.content[1].value == {"[secret key]": ["[secret key]", 1]}
    assert clean.status is Status.FAILED


def test_an_exception_is_scrubbed():
    """Libraries put addresses into their messages."""
    scrubber = Scrubber()
    scrubber.add("key", "hunter2!")

    assert scrubber.exception(OSError("no hunter2!")) == "OSError: no [secret key]"


def test_nothing_known_changes_nothing():
    """The same objects come back."""
    outcome = Outcome(call_id="c", tool_id="t", status=Status.OK)

    assert Scrubber().outcome(outcome) is outcome


def test_short_values_are_not_scrubbed():
    """They would blot out ordinary text."""
    scrubber = Scrubber()
    scrubber.add("pin", "1234")

    assert scrubber.text("12345") == "12345"


nested = st.recursive(st.none() | st.text(), st.lists)


@given(st.text("abc", min_size=6), st.text("xyz"), st.text("xyz"), nested)
def test_no_text_keeps_a_secret(secret, before, after, other):
    """Wherever it stands, in whatever structure; the rest stays as it is."""
    scrubber = Scrubber()
    scrubber.add("n", secret)

    value = scrubber.value({"k": [before + secret + after, other]})

    assert value["k"][0] == f"{before}[secret n]{after}"
    assert secret not in repr(value)
