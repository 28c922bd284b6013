"""Manifests: written from code, read without it."""

# ruff: noqa: D417 - the docstring of a tool is the material

from __future__ import annotations

import asyncio
import json
import types

from typing import Annotated, Any

import attrs
import jsonschema_rs
import pytest

from hypothesis import given
from hypothesis import strategies as st
from toolcrib import authoring
from toolcrib.errors import DeclarationError, ManifestError
from toolcrib.hookspecs import hookimpl
from toolcrib.implementation import Implementation
from toolcrib.manifest import document as manifest
from toolcrib.pack.definition import Pack
from toolcrib.signature import Signature
from toolcrib.tool import Description, Example, Requirements, Tool
from toolcrib.typed.constraints import Between
from toolcrib.vocabulary import (
    Audience,
    Cancellation,
    Concurrency,
    Effect,
    Idempotence,
    Label,
)


def make_pack():
    """Make the same pack anew each time."""
    pack = Pack("weather", version="2", requires=Requirements(executables={"curl"}))

    @pack.tool(
        effects={"net_read"},
        idempotent="yes",
        tags=["sky"],
        cautions=["A forecast is a guess."],
        examples=[("The next days in Bonn", {"city": "Bonn", "days": 2})],
    )
    async def forecast(ctx, city: str, days: Annotated[int, Between(1, 14)] = 3) -> list[str]:
        """Weather forecast for a town.

        Args:
            city: The town's näme.
        """

    @forecast.signature
    def _(city: str, days: int) -> Signature:
        return Signature(effects={"net_read"})

    @pack.tool
    def reset(ctx) -> None:
        """Forget everything."""

    pack.guard(lambda call: None)
    pack.command_group("weather", help="Forecasts.", target="toolcrib_weather.cli:group")
    return pack


@pytest.fixture
def data():
    return authoring.write(make_pack())


def changed(data, change):
    """Return the manifest after a change to its value."""
    value = json.loads(data)
    change(value)
    return json.dumps(value).encode()


def test_round_trip(data):
    """What is read is what was declared, and is written as the same bytes."""
    read = manifest.read(data, subject="toolcrib-weather 1.0")
    pack = make_pack()
    assert [t.definition_digest for t in read.tools] == [
        t.definition_digest for t in pack.tools()
    ]
    assert (read.pack, read.title, read.version, read.api) == ("weather", "Weather", "2", 1)
    assert read.hooks == {"toolcrib_tools", "toolcrib_signature", "toolcrib_guard"}
    assert read.groups == pack.groups
    assert read.requires == pack.requires
    assert not read.sources
    assert not read.withheld
    assert manifest.dump(read) == data


def test_bytes_are_deterministic(data):
    """Two makings of one pack give one manifest, readable and in UTF-8."""
    assert authoring.write(make_pack()) == data
    assert data.endswith(b"}\n")
    assert "The town's näme.".encode() in data


def test_written_manifest_fits_its_schema(data):
    """The published schema describes what is written."""
    validator = jsonschema_rs.validator_for(manifest.MANIFEST_SCHEMA)
    validator.validate(json.loads(data))


def test_order_of_parameters_is_kept(data):
    """Models read parameters in the author's order."""
    [tool, _] = manifest.read(data, subject="x").tools
    assert list(tool.input_schema["properties"]) == ["city", "days"]


def test_deciding_words_are_written_out():
    """What a tool may do stands in the manifest even where it is the default."""
    [_, tool] = json.loads(authoring.write(make_pack()))["tools"]
    assert tool["effects"] == sorted(Effect)
    assert tool["labels"] == sorted(Label)
    assert tool["idempotent"] == "no"


def test_left_out_words_are_the_widest():
    """An entry that says nothing of effects may do everything."""
    data = json.dumps(
        {
            "api": 1,
            "pack": "web",
            "tools": [
                {
                    "name": "do_it",
                    "description": {"summary": "Do it."},
                    "input_schema": {"type": "object"},
                }
            ],
        }
    ).encode()
    read = manifest.read(data, subject="x")
    [tool] = read.tools
    assert (tool.title, tool.effects, tool.labels) == ("Do it", set(Effect), set(Label))
    assert read.title == "Web"


TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=8
).filter(str.strip)
TEXTS = st.lists(TEXT, max_size=2).map(tuple)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
TOOLS = st.builds(
    Tool,
    id=st.sampled_from(["p.a", "p.b_c"]),
    title=TEXT,
    description=st.builds(
        Description,
        TEXT,
        st.just("") | TEXT,
        TEXTS,
        TEXTS,
        st.lists(
            st.builds(Example, TEXT, st.dictionaries(TEXT, JSON, max_size=2)), max_size=2
        ).map(tuple),
    ),
    input_schema=st.dictionaries(TEXT, JSON, max_size=2).map(
        lambda found: {**found, "type": "object", "properties": {}}
    ),
    output_schema=st.none() | st.booleans() | st.dictionaries(TEXT, JSON, max_size=2),
    version=TEXT,
    category=st.none() | TEXT,
    tags=TEXTS,
    effects=st.frozensets(st.sampled_from(Effect)),
    audience=st.frozensets(st.sampled_from(Audience)),
    serves=TEXTS,
    idempotent=st.sampled_from(Idempotence),
    concurrency=st.sampled_from(Concurrency),
    cancellation=st.sampled_from(Cancellation),
    strict=st.none() | st.booleans(),
    deferred=st.none() | st.booleans(),
    labels=st.frozensets(st.sampled_from(Label)),
    requires=st.builds(Requirements, st.frozensets(TEXT, max_size=2)),
    timeout=st.none() | st.floats(0.1, 1e6),
    result_budget=st.none() | st.integers(1, 9999),
    delegate=st.none() | TEXT,
    intent=st.booleans(),
    companions=st.frozensets(st.sampled_from(["signature", "check"])),
    directives=st.frozensets(st.just("use_mode")),
)


def test_required_that_names_nothing_is_left_to_the_schema():
    """A list of mixed kinds has a digest all the same; what is wrong is told elsewhere."""
    declared = Tool(
        id="p.t",
        title="T",
        description=Description("S."),
        input_schema={"type": "object", "required": ["a", 1, None]},
    )
    made = manifest.PackManifest(pack="p", title="P", tools=(declared,))

    assert (
        manifest.read(manifest.dump(made), subject="x").interface_digest
        == made.interface_digest
    )


@given(st.lists(TOOLS, max_size=2, unique_by=lambda tool: tool.id))
def test_any_tool_makes_the_round_trip(tools):
    """No declaration is changed by writing and reading it."""
    made = manifest.PackManifest(pack="p", title="P", tools=tuple(tools))
    data = manifest.dump(made)
    read = manifest.read(data, subject="x")
    assert read.withheld == ()
    assert [t.declaration() for t in read.tools] == [t.declaration() for t in tools]
    assert manifest.dump(read) == data
    assert read.interface_digest == made.interface_digest
    jsonschema_rs.validator_for(manifest.MANIFEST_SCHEMA).validate(json.loads(data))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda v: v.pop("tools"), "'tools' is missing"),
        (lambda v: v.update(pack="My_Pack"), "/pack: 'My_Pack' is outside the grammar"),
        (lambda v: v.update(titel="x"), "did you mean 'title'?"),
        (lambda v: v.update(api="1"), "/api: the number 1 is needed"),
        (lambda v: v.update(api=True), "/api: the number 1 is needed"),
        (lambda v: v.update(hooks=["toolcrib_tool"]), "did you mean 'toolcrib_tools'?"),
        (lambda v: v.update(tools={}), "/tools: a list is needed"),
        (lambda v: v["groups"][0].update(target="x"), "/groups/0/target: 'x' is not module"),
        (lambda v: v["requires"].update(flags="x"), "/requires/flags: a list is needed"),
    ],
)
def test_unusable_manifests(data, change, words):
    """A manifest that is wrong as a whole names owner, place and remedy."""
    with pytest.raises(ManifestError) as raised:
        manifest.read(changed(data, change), subject="toolcrib-weather 1.0")
    assert words in str(raised.value)
    assert str(raised.value).startswith("toolcrib-weather 1.0: toolcrib.json")
    assert raised.value.code == "manifest.invalid"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no JSON"),
        (b"\xff", "no JSON"),
        (b"[]", "an object is needed"),
        (b"null", "an object is needed"),
        (b'{"api": 1, "api": 1}', "'api' is given twice"),
        (b'{"api": NaN}', "NaN is not JSON"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_unreadable_bytes(data, words):
    """Bytes that are no manifest are refused with a sentence."""
    with pytest.raises(ManifestError, match=words):
        manifest.read(data, subject="x")


@pytest.mark.parametrize(("api", "words"), [(2, "Update toolcrib"), (0, "Update the pack")])
def test_another_generation(data, api, words):
    """Another generation is told apart from a broken file, with both numbers."""
    with pytest.raises(ManifestError, match=f"speaks api {api}, this core speaks 1") as raised:
        manifest.read(changed(data, lambda v: v.update(api=api, news=1)), subject="x")
    assert words in str(raised.value)
    assert raised.value.code == "api.unsupported"


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (lambda t: t.update(name="Forecast"), "tool.misnamed", "rename"),
        (lambda t: t.update(name="reset"), "tool.duplicated", "declared twice"),
        (
            lambda t: t.update(effects=["net_raed"]),
            "manifest.invalid",
            "/tools/0/effects/0: 'net_raed' is not known; did you mean 'net_read'?",
        ),
        (lambda t: t.update(effects=[["x"]]), "manifest.invalid", "/tools/0/effects/0"),
        (lambda t: t.update(efects=[]), "manifest.invalid", "did you mean 'effects'?"),
        (lambda t: t.pop("description"), "manifest.invalid", "'description' is missing"),
        (lambda t: t.update(timeout=0), "manifest.invalid", "/tools/0/timeout"),
        (lambda t: t.update(strict=1), "manifest.invalid", "true or false"),
        (lambda t: t.update(input_schema={}), "manifest.invalid", '"type": "object"'),
        (lambda t: t.update(idempotent={}), "manifest.invalid", "/tools/0/idempotent"),
        (
            lambda t: t["description"]["examples"].append({"description": "x"}),
            "manifest.invalid",
            "/tools/0/description/examples/1: 'arguments' is missing",
        ),
    ],
)
def test_a_wrong_tool_is_withheld_alone(data, change, code, words):
    """One wrong entry costs its tool only; a doubled name costs both."""
    read = manifest.read(changed(data, lambda v: change(v["tools"][0])), subject="x")
    [refusal] = read.withheld
    assert refusal.code == code
    assert words in refusal.text
    expected = [] if code == "tool.duplicated" else ["weather.reset"]
    assert [tool.id for tool in read.tools] == expected


def test_deep_schemas_are_withheld(data):
    """A schema that is nested without end costs its tool only."""
    deep: Any = {"type": "object"}
    for _ in range(100):
        deep = {"type": "object", "properties": {"a": deep}}
    read = manifest.read(
        changed(data, lambda v: v["tools"][0].update(input_schema=deep)), subject="x"
    )
    assert [tool.id for tool in read.tools] == ["weather.reset"]
    assert "nested deeper" in read.withheld[0].text


def test_schema_and_reader_agree(data):
    """What the published schema refuses, the reader refuses, and the other way round."""
    validator = jsonschema_rs.validator_for(manifest.MANIFEST_SCHEMA)
    value = json.loads(data)
    for field in manifest.MANIFEST_SCHEMA["properties"]["tools"]["items"]["properties"]:
        for wrong in (None, 0, "", [0], {"x": 0}):
            entry = {**value["tools"][0], field: wrong}
            bad = {**value, "tools": [entry]}
            read = manifest.read(json.dumps(bad).encode(), subject="x")
            assert bool(read.withheld) == (not validator.is_valid(bad)), (field, wrong)


def test_interface_digest_ignores_prose(data):
    """Docstrings may vanish; names, effects and hooks may not change."""

    def digest(change):
        return manifest.read(changed(data, change), subject="x").interface_digest

    plain = digest(lambda v: None)
    schema = lambda v: v["tools"][0]["input_schema"]  # noqa: E731
    assert digest(lambda v: v["tools"][0]["description"].update(summary="Other.")) == plain
    assert digest(lambda v: schema(v)["properties"]["city"].update(minLength=1)) == plain
    assert digest(lambda v: v["tools"].reverse()) == plain
    assert digest(lambda v: schema(v)["properties"].update(new={})) != plain
    assert digest(lambda v: schema(v).update(required=[])) != plain
    assert digest(lambda v: v["tools"][0].update(effects=[])) != plain
    assert digest(lambda v: v["tools"][0].update(idempotent="no")) != plain
    assert digest(lambda v: v.update(hooks=["toolcrib_tools"])) != plain


def test_code_and_manifest_have_one_interface(data):
    """Activation compares the code's own declarations with the manifest."""
    read = manifest.read(data, subject="x")
    tools = [each.tool for each in make_pack().implementations()]
    assert manifest.interface_digest("weather", tools, read.hooks) == read.interface_digest


def test_check(data):
    """A current manifest has no difference; another shows it line by line."""
    assert authoring.check(data, make_pack()) == []
    lines = authoring.check(data.replace(b'"sky"', b'"sea"'), make_pack())
    assert any(line.startswith("-") and "sea" in line for line in lines)
    assert any(line.startswith("+") and "sky" in line for line in lines)
    assert authoring.check(data.replace(b"\n", b"\r\n"), make_pack())


def tool(id="plain.do"):
    """Make a tool without a Pack."""
    return Tool(
        id=id,
        title="Do",
        description=Description("Do it."),
        input_schema={"type": "object", "properties": {}},
    )


def plugin(**hooks):
    """Make a module with hook implementations."""
    module = types.ModuleType("plain")
    for name, function in hooks.items():
        setattr(module, name, hookimpl(function))
    return module


def test_plain_module():
    """A module with ``@hookimpl`` functions has a manifest as well."""

    def toolcrib_tools(host):
        host.logger.debug("asked by %s, settings %s", host.pack, host.settings)
        return [Implementation(tool=tool(), handler=lambda ctx: None)]

    module = plugin(toolcrib_tools=toolcrib_tools, toolcrib_sources=lambda host: [])
    module.toolcrib_guard = "no hook"
    read = manifest.read(authoring.write(module, title="Plain pack"), subject="x")
    assert (read.pack, read.title) == ("plain", "Plain pack")
    assert read.hooks == {"toolcrib_tools", "toolcrib_sources"}
    assert read.sources
    assert [t.id for t in read.tools] == ["plain.do"]


def test_plain_object_with_async_tools():
    """Methods are hooks too, and may be async."""

    class Plugin:
        id = "plain"
        version = "7"

        @hookimpl
        async def toolcrib_tools(self):
            return (Implementation(tool=tool(), handler=lambda ctx: None),)

    read = manifest.read(authoring.write(Plugin()), subject="x")
    assert (read.pack, read.version, len(read.tools)) == ("plain", "7", 1)


def test_a_hook_may_be_awaited_beside_a_running_loop():
    """An app composes its own packs where its loop runs."""

    class Plugin:
        id = "plain"

        @hookimpl
        async def toolcrib_tools(self):
            return (Implementation(tool=tool(), handler=lambda ctx: None),)

    async def compose():
        return authoring.describe(Plugin())

    assert len(asyncio.run(compose()).tools) == 1


def given_tools(*tools):
    """Make a plugin that gives tools."""
    return plugin(
        toolcrib_tools=lambda: [Implementation(tool=t, handler=lambda ctx: None) for t in tools]
    )


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (plugin(), "answers no hook"),
        (plugin(toolcrib_toolz=lambda: ()), "there is no such hook"),
        (plugin(toolcrib_guard=lambda call: None), "pass pack="),
        (given_tools(tool(), tool()), "declared twice"),
        (given_tools(tool("plain.Do")), "outside the grammar of tools"),
        (given_tools(tool("plain.a"), tool("other.b")), "pass pack="),
        (plugin(toolcrib_tools=lambda: [1]), "no Implementation"),
        (plugin(toolcrib_tools=lambda: 1), "no implementations"),
        (plugin(toolcrib_tools=lambda host: host.workspace), "asks for host.workspace"),
    ],
)
def test_plugins_out_of_form(module, words):
    """What could not be activated gets no manifest."""
    with pytest.raises(DeclarationError, match=words):
        authoring.write(module)


def test_a_pack_of_hooks_alone():
    """A pack without tools may have a manifest: a guard is a contribution."""
    module = plugin(toolcrib_guard=lambda call: None)
    read = manifest.read(authoring.write(module, pack="watch"), subject="x")
    assert (read.pack, read.tools, read.hooks) == ("watch", (), {"toolcrib_guard"})


def test_authors_are_told_everything():
    """Missing docstrings, unenforceable schemas and wrong examples are named at once."""
    pack = Pack("bad")
    pack.tool(name="silent")(lambda ctx: None)

    @pack.tool(input_schema={"type": "object", "properties": {}, "requried": []})
    def odd(ctx) -> None:
        """Odd."""

    @pack.tool(examples=[("Too many", {"days": "x", "more": 1})])
    def far(ctx, days: int) -> None:
        """Far away."""

    with pytest.raises(DeclarationError) as raised:
        authoring.write(pack)
    text = str(raised.value)
    assert "bad.silent: summary: write a docstring" in text
    assert "bad.odd: input_schema" in text
    assert "requried" in text
    assert "bad.far: examples[0]: /days" in text


def test_halves_of_characters_are_refused():
    """Text that UTF-8 cannot hold is no manifest."""
    made = manifest.PackManifest(pack="p", title="\ud800")
    with pytest.raises(ManifestError, match="half of a character"):
        manifest.dump(made)


def test_manifest_is_immutable(data):
    """What was read stays as it was read."""
    read = manifest.read(data, subject="x")
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        read.pack = "other"
