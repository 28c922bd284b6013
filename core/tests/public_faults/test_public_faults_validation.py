"""Input that other frameworks took for something it is not."""

from __future__ import annotations

import pytest

from toolcrib import Context, Pack, Policy, PolicyError


def document_pack(ran):
    pack = Pack("doc")

    @pack.tool(effects=())
    async def read(ctx: Context, topic: str = "", depth: int = 1) -> str:
        """Read a document."""
        ran.append((topic, depth))
        return "read"

    @pack.tool(effects=())
    async def nothing(ctx: Context) -> str:
        """Take no arguments."""
        ran.append("nothing")
        return "nothing"

    @pack.tool(effects=())
    async def needs(ctx: Context, path: str) -> str:
        """Take a required argument."""
        ran.append(path)
        return path

    return pack


@pytest.mark.parametrize("given", [{"path": "x"}, {"topic": "a", "depht": 3}])
def test_a_misspelt_argument_never_runs_with_defaults(kit, given):
    """The unknown name is told, and what may have been meant."""
    ran = []
    (outcome,) = kit.outcomes([document_pack(ran)], ("a", "doc_read", given))
    assert (outcome.status, outcome.code) == ("invalid", "arguments.invalid")
    assert (set(given) - {"topic"}).pop() in outcome.text
    assert ran == []
    if "depht" in given:
        assert "depth" in outcome.text


@pytest.mark.parametrize("tool", ["doc_read", "doc_nothing", "doc_needs"])
@pytest.mark.parametrize("text", ['["x"]', '"ls"', "3", "true"])
def test_arguments_that_are_no_object_cost_their_own_call(kit, tool, text):
    """Each gets a result, and the calls around it run."""
    ran = []
    calls = [("a", "doc_nothing", {}), ("b", tool, text), ("c", "doc_nothing", {})]
    found = kit.outcomes([document_pack(ran)], *calls)
    assert [o.status for o in found] == ["ok", "invalid", "ok"]
    assert ran == ["nothing", "nothing"]


@pytest.mark.parametrize("text", ["", "  ", "{}"])
def test_no_argument_text_is_no_arguments(kit, text):
    """A tool without parameters runs; one that needs some names what is missing."""
    ran = []
    calls = [("a", "doc_nothing", text), ("b", "doc_read", text), ("c", "doc_needs", text)]
    found = kit.outcomes([document_pack(ran)], *calls)
    assert [o.status for o in found] == ["ok", "ok", "invalid"]
    assert "path" in found[2].text
    assert ran == ["nothing", ("", 1)]


@pytest.mark.parametrize("value", ["0", "no", "maybe", "", 0, 1, None, [True]])
def test_a_flag_is_never_guessed_from_a_text_or_a_number(kit, value):
    """What is no boolean never becomes one; least of all true."""
    ran = []
    schema = {
        "type": "object",
        "properties": {"flag": {"type": "boolean"}},
        "required": ["flag"],
    }
    (outcome,) = kit.outcomes([kit.schema_pack(schema, ran)], ("a", "p_take", {"flag": value}))
    assert outcome.status == "invalid"
    assert ran == []


def test_the_text_false_is_never_true(kit):
    """It is false, on record, or it is refused."""
    ran = []
    schema = {
        "type": "object",
        "properties": {"flag": {"type": "boolean"}},
        "required": ["flag"],
    }
    (outcome,) = kit.outcomes(
        [kit.schema_pack(schema, ran)], ("a", "p_take", {"flag": "false"})
    )
    assert ran in ([], [{"flag": False}])
    assert outcome.status == ("ok" if ran else "invalid")


def test_a_boolean_is_no_integer(kit):
    """Python says otherwise."""
    ran = []
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    calls = [("a", "p_take", {"n": True}), ("b", "p_take", {"n": 1})]
    found = kit.outcomes([kit.schema_pack(schema, ran)], *calls)
    assert [o.status for o in found] == ["invalid", "ok"]
    assert ran == [{"n": 1}]


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_is_no_number_slips_past_no_limit(kit, token):
    """It is refused where the text is read, at the top and inside a list."""
    ran = []
    number = {"type": "number", "minimum": 1, "maximum": 60}
    schema = {
        "type": "object",
        "properties": {"n": number, "all": {"type": "array", "items": number}},
    }
    calls = [("a", "p_take", f'{{"n": {token}}}'), ("b", "p_take", f'{{"all": [2, {token}]}}')]
    found = kit.outcomes([kit.schema_pack(schema, ran)], *calls)
    assert [o.status for o in found] == ["invalid", "invalid"]
    assert ran == []


@pytest.mark.parametrize(
    ("key", "text"), [("timeout", "timeout = nan"), ("base", "[retry]\nbase = inf")]
)
def test_configuration_with_what_is_no_number_names_the_key(tmp_path, key, text):
    """A comparison with it would always be false."""
    file = tmp_path / "toolcrib.toml"
    file.write_text(text)
    with pytest.raises(PolicyError, match=key):
        Policy.load(file)


def test_lists_and_objects_sent_as_text_are_mended_where_one_reading_is_possible(kit):
    """What may be text stays text, and what parses to another shape is refused."""
    ran = []
    schema = {
        "type": "object",
        "properties": {
            "ids": {"type": "array", "items": {"type": "string"}},
            "opts": {"type": "object", "properties": {"a": {"type": "integer"}}},
            "either": {"anyOf": [{"type": "string"}, {"type": "array"}]},
        },
    }
    calls = [
        ("a", "p_take", {"ids": '["x", "y"]'}),
        ("b", "p_take", {"opts": '{"a": 1}'}),
        ("c", "p_take", {"either": '["x"]'}),
        ("d", "p_take", {"ids": '{"x": 1}'}),
        ("e", "p_take", {"ids": "x, y"}),
    ]
    found = kit.outcomes([kit.schema_pack(schema, ran)], *calls)
    assert [o.status for o in found] == ["ok", "ok", "ok", "invalid", "invalid"]
    assert ran == [{"ids": ["x", "y"]}, {"opts": {"a": 1}}, {"either": '["x"]'}]
