"""Results are bounded by structure, and what is gone is counted exactly."""

from __future__ import annotations

import base64
import json
import re

import pytest

from hypothesis import assume, given
from hypothesis import strategies as st
from toolcrib import canonical
from toolcrib.execution import bound, bound_all, shown_size
from toolcrib.execution.cutting import cut_text
from toolcrib.execution.pruning import prune, shares, size_of_json
from toolcrib.outcome import ArtifactLink, File, Image, Json, Link, Result, Text


CHARACTERS = st.characters(codec="utf-8") | st.sampled_from("\n\r\u0301\u200d👩🏽🇩🇪\ufe0f각")
LONG = st.builds(lambda t, n: t * n, st.text(CHARACTERS, min_size=1), st.integers(1, 60))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=8), inner, max_size=20)
    ),
    max_leaves=60,
)


class Store:
    """Keeps bytes and gives links to them."""

    def __init__(self):
        self.kept = []

    async def keep(self, data, media_type, title):
        """Keep bytes."""
        self.kept.append(data)
        return ArtifactLink(canonical.digest_bytes(data), len(data), media_type, title)


@pytest.fixture
def store():
    return Store()


# ------------------------------------------------------------------------ text


@given(LONG, st.integers(0, 400))
def test_cut_text_keeps_its_limit_and_counts_exactly(text, limit):
    """Head and tail are parts of the original, and the numbers add up."""
    cut = cut_text(text, limit)
    assert len(cut.text) <= max(limit, 0)
    assert cut.total == len(text)
    if not cut.dropped:
        assert cut.text == text
        return
    match = re.search(r"\[… (\d+) of (\d+) characters[^…]* left out …\]", cut.text)
    if match is None:
        assume(limit < 60 or cut.dropped == cut.total)
        return
    before, after = cut.text[: match.start()], cut.text[match.end() :]
    assert int(match[1]) == cut.dropped
    # The line end beside the note is the text's own or the note's.
    assert any(
        text.startswith(head)
        and text.endswith(tail)
        and cut.dropped == len(text) - len(head) - len(tail)
        and cut.lines == text[len(head) : len(text) - len(tail)].count("\n")
        for head in (before, before.removesuffix("\n"))
        for tail in (after, after.removeprefix("\n"))
    )


@pytest.mark.parametrize(
    "cluster",
    [
        "e\u0301",
        "👩\u200d👩\u200d👧",
        "👍🏽",
        "🇩🇪",
        "❤\ufe0f",
        "\u1112\u1161\u11ab",
        "क्ष",
        "\r\n",
    ],
)
@pytest.mark.parametrize("limit", range(80, 100))
def test_clusters_stay_whole(cluster, limit):
    """Wherever the cut falls, only whole clusters are kept."""
    cut = cut_text(cluster * 200, limit)
    head, tail = re.split(r"\n?\[….*…\]\n?", cut.text, maxsplit=1, flags=re.DOTALL)
    if cluster == "\r\n":
        assert not tail.startswith("\n")
        return
    assert head == cluster * (len(head) // len(cluster))
    assert tail == cluster * (len(tail) // len(cluster))


def test_surrogate_halves_stay_together():
    """Two halves of one character are not parted, even if they are not one yet."""
    text = "\ud83d\ude00" * 200
    for limit in range(80, 90):
        head = cut_text(text, limit).text.split("[…")[0].rstrip("\n")
        assert len(head) % 2 == 0


def test_lines_are_kept_whole():
    """Neither end shows part of a line."""
    lines = [f"line {n:04}" for n in range(1000)]
    cut = cut_text("\n".join(lines), 500)
    shown = [line for line in cut.text.split("\n") if line and not line.startswith("[…")]
    assert set(shown) <= set(lines)
    assert shown[0] == lines[0]
    assert shown[-1] == lines[-1]
    assert f"{cut.dropped} of" in cut.text
    assert cut.lines + len(shown) == 1000


def test_one_endless_line_keeps_both_ends():
    """A line that is longer than the room is cut inside."""
    cut = cut_text("first\n" + "x" * 10_000 + "\nlast", 400)
    assert cut.text.startswith("first\nxxx")
    assert cut.text.endswith("xxx\nlast")


# ------------------------------------------------------------------------ JSON


@given(JSON, st.integers(60, 500))
def test_pruned_json_is_json_and_fits(value, limit):
    """Whatever is left is a JSON value within the limit."""
    pruned = prune(value, limit)
    assert size_of_json(pruned.value) <= limit
    json.loads(canonical.dumps(pruned.value))
    if size_of_json(value) <= limit:
        assert pruned.value == value
        assert (pruned.items, pruned.keys, pruned.characters) == (0, 0, 0)
    else:
        assert pruned.items or pruned.keys or pruned.characters


def test_a_long_list_keeps_its_ends():
    """First and last items stay whole, with a note between."""
    pruned = prune(list(range(10_000)), 300)
    note = next(item for item in pruned.value if isinstance(item, str))
    kept = [item for item in pruned.value if not isinstance(item, str)]
    assert kept[0] == 0
    assert kept[-1] == 9999
    assert pruned.items == 10_000 - len(kept)
    assert note == f"[… {pruned.items} of 10000 items left out …]"
    assert len(kept) > 30


def test_short_values_beside_a_long_one_are_kept():
    """A large member shrinks before small ones go."""
    pruned = prune({"id": 7, "body": "x" * 10_000, "state": "open"}, 400)
    assert pruned.value["id"] == 7
    assert pruned.value["state"] == "open"
    assert "left out" in pruned.value["body"]
    assert pruned.characters == 10_000 - pruned.value["body"].count("x")


def test_the_note_on_keys_never_hides_a_key():
    """An object that has the note's own name keeps it."""
    value = {"…": "mine", **{f"key{n}": n for n in range(1000)}}
    pruned = prune(value, 300)
    assert pruned.value["…"] == "mine"
    assert pruned.value["……"] == f"{pruned.keys} of 1001 keys left out"


@given(st.lists(st.integers(0, 1000), max_size=20), st.integers(0, 3000))
def test_shares_are_fair(sizes, room):
    """Nobody gets more than they need, nothing needed is left over, small ones go first."""
    given_ = shares(sizes, room)
    assert all(0 <= g <= s for g, s in zip(given_, sizes, strict=True))
    assert sum(given_) <= room
    if sum(sizes) <= room:
        assert given_ == sizes
    else:
        assert room - sum(given_) < len(sizes)
        short = [g for g, s in zip(given_, sizes, strict=True) if g < s]
        assert max(given_) - min(short) <= 1


# --------------------------------------------------------------------- results


def test_what_fits_is_untouched(go, store):
    """A small result is the very same object, and nothing is stored."""
    result = Result(content=[Text("a"), Json({"b": 1})])
    assert go(lambda: bound(result, 200, keep=store.keep)) is result
    assert store.kept == []


def test_too_long_text_is_kept_whole_elsewhere(go, store):
    """The artifact holds every byte, its link follows the cut text."""
    text = "".join(f"line {n}\n" for n in range(5000))
    result = go(lambda: bound(Result(content=[Text(text)]), 1000, keep=store.keep))
    shown, link = result.content
    assert store.kept == [text.encode()]
    assert link.digest == canonical.digest_bytes(text.encode())
    assert len(shown.text) + 160 <= 1000
    assert "artifact below" in shown.text
    (fact,) = result.metadata["truncated"]
    assert (fact["total"], fact["artifact"]) == (len(text), link.digest)
    assert f"{fact['dropped']} of {len(text)} characters, {fact['lines']} lines" in shown.text
    assert result.notes == ("truncated",)


def test_text_that_is_json_stays_json(go):
    """A tool that returns JSON as text is shortened by structure, in its own order."""
    text = json.dumps({"z": list(range(5000)), "a": "x"}, indent=2)
    result = go(lambda: bound(Result(content=[Text(text)]), 400))
    value = json.loads(result.content[0].text)
    assert list(value) == ["z", "a"]
    assert result.metadata["truncated"][0]["items"] > 4000


def test_text_that_only_looks_like_json_is_cut_as_text(go):
    """Numbers that Python cannot hold, or broken text, are left as they are."""
    text = "[" + "1e999," * 1000 + "1]"
    result = go(lambda: bound(Result(content=[Text(text)]), 400))
    assert result.content[0].text.startswith("[1e999,")


def test_structured_output_stays_whole(go):
    """Programs get what was checked; only what the model sees is shortened."""
    value = list(range(5000))
    result = go(lambda: bound(Result(content=[Json(value)], structured=value), 300))
    assert result.structured == value
    assert shown_size(result) <= 300


def test_large_pictures_and_files_go_to_the_store(go, store):
    """Bytes are never cut: they are shown whole or kept elsewhere."""
    data = base64.b64encode(b"x" * 900).decode()
    content = [
        Image(data, "image/png"),
        File(data, "application/pdf", "a.pdf"),
        Image("eA==", "i"),
    ]
    result = go(lambda: bound(Result(content=content), 500, keep=store.keep, binary=1000))
    assert store.kept == [b"x" * 900] * 2
    assert [b.type for b in result.content] == ["text", "artifact", "text", "artifact", "image"]


def test_a_store_that_fails_costs_nothing_but_the_whole(go):
    """The shortened result is shown, and says that the rest is gone."""

    def broken(data, media_type, title):
        raise OSError

    result = go(lambda: bound(Result(content=[Text("x" * 5000)]), 300, keep=broken))
    assert len(result.content) == 1
    assert result.metadata["truncated"][0]["artifact"] is None
    assert "artifact" not in result.content[0].text
    assert result.notes == ("truncated", "not_kept")


def test_very_many_blocks_keep_the_first_and_last(go, store):
    """A thousand small blocks do not become a thousand artifacts."""
    content = [Text(f"block {n} " + "x" * 50) for n in range(1000)]
    result = go(lambda: bound(Result(content=content), 2000, keep=store.keep))
    assert shown_size(result) <= 2000
    assert result.content[0] == content[0]
    assert result.content[-1] == content[-1]
    assert len(store.kept) == 1
    (fact,) = result.metadata["truncated"]
    assert f"{fact['blocks']} of 1000 blocks" in next(
        b.text for b in result.content if "left out" in getattr(b, "text", "")
    )


@given(
    st.lists(
        st.builds(Text, LONG)
        | st.builds(Json, JSON)
        | st.builds(lambda u: Link("https://a.example/" + u), LONG),
        max_size=8,
    ),
    st.integers(0, 2000),
    st.booleans(),
)
def test_a_bounded_result_fits_its_budget(content, budget, stored):
    """Whatever the blocks are, what is shown fits, links included."""
    store = Store()
    limit = max(budget, 200)
    coroutine = bound(Result(content=content), budget, keep=store.keep if stored else None)
    try:
        while True:
            coroutine.send(None)
    except StopIteration as stop:
        result = stop.value
    assert shown_size(result) <= limit
    canonical.dumps([getattr(b, "text", getattr(b, "value", "")) for b in result.content])


def test_a_batch_shares_its_budget(go):
    """Small results are whole; the large ones divide what is left."""
    results = [Result(content=[Text(c * n)]) for c, n in (("a", 50), ("b", 9000), ("c", 9000))]
    small, *large = go(lambda: bound_all(results, each=5000, total=4050))
    assert small is results[0]
    sizes = [shown_size(r) for r in large]
    assert all(1900 <= size <= 2000 for size in sizes)
    alone = go(lambda: bound_all(results[1:2], each=5000, total=100_000))
    assert 4900 <= shown_size(alone[0]) <= 5000
