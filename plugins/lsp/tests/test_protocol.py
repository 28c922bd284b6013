"""What is sent is what the protocol says; what arrives may be cut anywhere."""

import asyncio
import json

import pytest

from hypothesis import given
from hypothesis import strategies as st
from lsp_kit import good
from lsprotocol import converters, types

from toolcrib_lsp import features, peer, words
from toolcrib_lsp.frames import BrokenFrame, Frames, encode
from toolcrib_lsp.globbing import matches
from toolcrib_lsp.places import path_of, uri_of
from toolcrib_lsp.positions import column_of, split_lines, units_of


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def test_every_message_of_a_session_is_formed_as_the_protocol_says(fake):
    """Each is read back with the protocol's own types."""
    fake.plan(
        watch=["**/*.src"],
        ready=[{"ask": ["workspace/configuration", {"items": [{}]}, 0]}],
        capabilities={
            "codeActionProvider": True,
            "callHierarchyProvider": True,
            "documentFormattingProvider": True,
        },
        methods={
            "textDocument/codeAction": [[{"reply": []}]],
            "textDocument/formatting": [[{"reply": []}]],
            "textDocument/prepareCallHierarchy": [[{"reply": None}]],
        },
    )

    async def scenario(call):
        at = {"path": "b.src", "name": "one"}
        for tool in ("definition", "references", "hover", "incoming_calls", "code_actions"):
            await call(tool, **at)
        fake.write("a.src", "def one BAD\n")
        await call("symbols", path="a.src")
        await call("workspace_symbols", query="one")
        await call("diagnostics", path="a.src")
        await call("format", path="a.src")
        await call("rename", **at, new_name="uno")

    fake.run(scenario)
    converter = converters.get_converter()
    seen = set()
    for message in fake.log:
        method = message.get("method")
        if method is None:
            continue
        kind = (types.METHOD_TO_TYPES[method])[0]
        read = converter.structure(message, kind)
        again = json.loads(json.dumps(converter.unstructure(read, kind)))
        again.pop("params", None) if again.get("params") is None else None
        if method != "initialize":  # it bears one word that is older than the types
            assert _without_nones(again) == _without_nones(message)
        seen.add(method)
    assert {"initialize", "initialized", "shutdown", "exit"} <= seen
    assert {"textDocument/didChange", "workspace/didChangeWatchedFiles"} <= seen
    assert len(seen) >= 15


def _without_nones(value):
    if isinstance(value, dict):
        return {k: _without_nones(v) for k, v in value.items() if v is not None}
    return [_without_nones(v) for v in value] if isinstance(value, list) else value


def test_words_and_numbers_are_those_of_the_protocol():
    for kind in types.SymbolKind:
        assert words.symbol_kind(kind.value).replace(" ", "") == kind.name.lower()
    for severity in types.DiagnosticSeverity:
        assert words.severity(severity.value) == severity.name.lower()
    assert words.symbol_kind("x") == "symbol"
    assert words.severity(None) == "error"
    assert types.LSPErrorCodes.ContentModified == peer.CODES.CONTENT_MODIFIED
    assert types.LSPErrorCodes.ServerCancelled == peer.CODES.SERVER_CANCELLED
    assert types.ErrorCodes.MethodNotFound == peer.CODES.METHOD_NOT_FOUND
    known = {m for m in features.FEATURES if m != "workspace/executeCommand"}
    assert known <= set(types.METHOD_TO_TYPES)


def test_each_question_ends_at_its_own_time():
    """One that may wait for long neither keeps the others waiting nor ends with them."""
    sent = []
    made = peer.Peer(sent.append, on_request=None, on_notice=None)

    async def scenario():
        patient = asyncio.create_task(made.request("patient", timeout=3600))
        for _ in range(2):
            with pytest.raises(peer.NoAnswer):
                await asyncio.wait_for(made.request("hasty", timeout=0.01), 30)
        made.feed(encode({"id": 1, "result": "at last"}))
        return await asyncio.wait_for(patient, 30)

    assert asyncio.run(scenario()) == "at last"
    assert sum(b"cancelRequest" in each for each in sent) == 2


@given(st.lists(st.dictionaries(TEXTS, TEXTS, max_size=3), max_size=5), st.data())
def test_messages_survive_any_cut_of_the_stream(messages, data):
    stream = b"".join(encode(message) for message in messages)
    frames, found, at = Frames(), [], 0
    while at < len(stream):
        step = data.draw(st.integers(1, 40))
        found += frames.feed(stream[at : at + step])
        at += step
    assert found == messages


@given(st.binary(max_size=200))
def test_any_bytes_give_messages_or_a_broken_frame(data):
    try:
        found = Frames().feed(data)
    except BrokenFrame:
        return
    assert isinstance(found, list)


@given(TEXTS, st.sampled_from(["utf-8", "utf-16", "utf-32"]), st.data())
def test_columns_survive_the_way_to_units_and_back(line, encoding, data):
    column = data.draw(st.integers(0, len(line)))
    assert column_of(line, units_of(line, column, encoding), encoding) == column


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_place_inside_of_a_character_is_the_one_before_it(encoding):
    assert column_of("😀x", 1, encoding) == 0
    assert column_of("😀x", 999, encoding) == 2
    assert column_of("😀x", -1, encoding) == 0


def test_only_the_ends_of_lines_that_the_protocol_knows_count():
    assert split_lines("a\r\nb\rc\nd\x0be\u2028f\x85g") == ["a", "b", "c", "d\x0be\u2028f\x85g"]


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0/"), min_size=1))
def test_paths_survive_the_way_to_uris_and_back(name):
    if name in (".", ".."):
        return
    assert path_of(uri_of(f"/ws/{name}")) == f"/ws/{name}"


@pytest.mark.parametrize(
    "uri", ["untitled:x", "http://x/y", 7, None, "file:relative", "file:///a%00b"]
)
def test_what_is_no_path_is_none(uri):
    assert path_of(uri) is None


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("**/*.py", "/a/b.py", True),
        ("**/*.py", "b.py", True),
        ("*.py", "a/b.py", False),
        ("**/*.{ts,js}", "/a/b.js", True),
        ("**/*.{ts,js}", "/a/b.jsx", False),
        ("/x/**", "/x/y/z", True),
        ("**/a?c", "/abc", True),
        ("**/[!a]*", "/b", True),
        ("**/[!a]*", "/a", False),
        ("a,b}", "a,b}", True),
        ("{a,{b,c}}", "c", True),
        ("**/package.json", "/x/package.json", True),
        ("[", "[", True),
    ],
)
def test_patterns_fit_as_the_protocol_says(pattern, path, fits):
    assert matches(pattern, path) is fits


def test_registrations_come_and_go():
    made = features.Features({})
    registration = {
        "id": "1",
        "method": "textDocument/hover",
        "registerOptions": {
            "documentSelector": [{"language": "python"}, {"pattern": "**/*.x"}]
        },
    }
    made.register({"registrations": [registration]})
    assert made.supports("textDocument/hover", "/a.py", "python")
    assert made.supports("textDocument/hover", "/a.x", "xx")
    assert not made.supports("textDocument/hover", "/a.go", "go")
    made.unregister({"unregisterations": [{"id": "1", "method": "textDocument/hover"}]})
    assert not made.supports("textDocument/hover", "/a.py", "python")


def test_relative_patterns_look_below_their_folder():
    made = features.Features({})
    watcher = {"globPattern": {"baseUri": "file:///ws/sub", "pattern": "*.x"}}
    options = {"watchers": [watcher]}
    made.register(
        {"registrations": [{"id": "w", "method": features.WATCHED, "registerOptions": options}]}
    )
    assert made.watches("/ws/sub/a.x") is True
    assert made.watches("/ws/a.x") is False


def test_registration_in_the_middle_of_a_session_is_used(fake):
    fake.plan(diagnostics="dynamic")
    fake.write("a.src", "BAD\n")

    async def scenario(call):
        return await call("diagnostics", path="a.src")

    assert good(fake.run(scenario))["total"] == 1
    assert fake.logged("textDocument/diagnostic")
