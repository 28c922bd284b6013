"""What the public conformance suite asks a server to offer, offered by a pack of ours.

Names, texts and shapes are the suite's own; everything here uses what any pack may use.
"""

from __future__ import annotations

import asyncio
import base64
import json

from collections.abc import Callable
from typing import Annotated, Any

from toolcrib import (
    Audio,
    Context,
    Description,
    Effect,
    Failed,
    File,
    Image,
    Implementation,
    Pack,
    Result,
    Text,
    Tool,
    Unavailable,
)

from toolcrib_mcp.offers import Offers


PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAA"
    "AABJRU5ErkJggg=="
)
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

pack = Pack("conformance", title="Conformance fixtures")
offers = Offers()
plain: dict[str, Any] = {"effects": (), "concurrency": "shared"}


@pack.tool(**plain)
async def test_simple_text(ctx: Context) -> str:
    """Answer one text."""
    return "This is a simple text response for testing."


@pack.tool(**plain)
async def test_image_content(ctx: Context) -> Image:
    """Answer a picture."""
    return Image(PNG, "image/png")


@pack.tool(**plain)
async def test_audio_content(ctx: Context) -> Audio:
    """Answer a sound."""
    return Audio(WAV, "audio/wav")


def _embedded(uri: str, media_type: str, text: str) -> File:
    return File(base64.b64encode(text.encode()).decode(), media_type, uri)


@pack.tool(**plain)
async def test_embedded_resource(ctx: Context) -> Result:
    """Answer a resource."""
    text = "This is an embedded resource content."
    return Result("a resource", [_embedded("test://embedded-resource", "text/plain", text)])


@pack.tool(**plain)
async def test_multiple_content_types(ctx: Context) -> Result:
    """Answer a text, a picture and a resource."""
    body = '{"test": "data", "value": 123}'
    return Result(
        "several parts",
        [
            Text("Multiple content types test:"),
            Image(PNG, "image/png"),
            _embedded("test://mixed-content-resource", "application/json", body),
        ],
    )


@pack.tool(**plain)
async def test_tool_with_logging(ctx: Context) -> str:
    """Log three lines."""
    for line in "Tool execution started", "Tool processing data", "Tool execution completed":
        ctx.sub_logger().info(line)
        await asyncio.sleep(0.05)
    return "Tool with logging executed successfully"


@pack.tool(**plain)
async def test_tool_with_progress(ctx: Context) -> str:
    """Report progress three times."""
    for step in 0, 50, 100:
        ctx.report(f"Completed step {step} of 100", progress=step, total=100)
        await asyncio.sleep(0.05)
    return "done"


@pack.tool(**plain)
async def test_error_handling(ctx: Context) -> str:
    """Fail."""
    text = "This tool intentionally returns an error for testing"
    raise Failed(text)


async def _sampled(ctx: Context, prompt: str, most: int = 100) -> str:
    agents = ctx.host.agents
    if agents is None:
        text = "no model"
        raise Unavailable(text)
    answer = await agents.run({"kind": "mcp.sampling", "prompt": prompt, "max_tokens": most})
    return str(answer["text"])


@pack.tool(**plain)
async def test_sampling(ctx: Context, prompt: str) -> str:
    """Ask the client's model."""
    return f"LLM response: {await _sampled(ctx, prompt)}"


async def _form(ctx: Context, text: str, properties: dict[str, Any], *need: str) -> str:
    schema = {"type": "object", "properties": properties}
    if need:
        schema["required"] = list(need)
    values = await ctx.ask.form(text, schema)
    action = "decline" if values is None else "accept"
    return f"action={action}, content={json.dumps(values or {})}"


@pack.tool(**plain)
async def test_elicitation(ctx: Context, message: str) -> str:
    """Ask the client's user."""
    field = {"type": "string", "description": "User's response"}
    return "User response: " + await _form(ctx, message, {"response": field}, "response")


@pack.tool(**plain)
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Ask with a default for every kind of field."""
    fields = {
        "name": {"type": "string", "default": "John Doe", "description": "User name"},
        "age": {"type": "integer", "default": 30, "description": "User age"},
        "score": {"type": "number", "default": 95.5, "description": "User score"},
        "status": {
            "type": "string",
            "default": "active",
            "enum": ["active", "inactive", "pending"],
        },
        "verified": {"type": "boolean", "default": True, "description": "Verified"},
    }
    return "Elicitation result: " + await _form(ctx, "Please provide user information", fields)


@pack.tool(**plain)
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Ask with every kind of choice."""
    titled = [
        {"const": "low", "title": "Low Priority"},
        {"const": "medium", "title": "Medium Priority"},
        {"const": "high", "title": "High Priority"},
    ]
    several = [
        {"const": "feature", "title": "New Feature"},
        {"const": "bug", "title": "Bug Fix"},
        {"const": "docs", "title": "Documentation"},
    ]
    options = ["read", "write", "execute"]
    fields = {
        "untitledSingle": {"type": "string", "enum": ["active", "inactive", "pending"]},
        "titledSingle": {"type": "string", "oneOf": titled},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": several}},
        "legacyEnum": {
            "type": "string",
            "enum": ["small", "medium", "large"],
            "enumNames": ["Small Size", "Medium Size", "Large Size"],
        },
    }
    return "Elicitation completed: " + await _form(ctx, "Please choose", fields)


@pack.tool(**plain)
async def test_reconnection(ctx: Context) -> str:
    """Take long enough that the client has to come back for the answer."""
    await asyncio.sleep(0.5)
    return "Reconnection test completed"


@pack.tool(
    **plain,
    input_schema={
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    },
)
async def test_x_mcp_header(ctx: Context, region: str = "") -> str:  # noqa: PT028 - no test
    """Take an argument that goes into a header as well."""
    return f"region={region}"


@pack.tool(**plain)
async def test_missing_capability(ctx: Context) -> str:
    """Need the client's model."""
    return await _sampled(ctx, "hello")


@pack.tool(**plain)
async def test_streaming_elicitation(ctx: Context) -> str:
    """Report, and ask the user."""
    ctx.report("working", progress=1, total=2)
    return await _form(ctx, "Go on?", {"ok": {"type": "boolean"}})


@pack.tool(**plain)
async def test_logging_tool(ctx: Context) -> str:
    """Log a line."""
    ctx.sub_logger().info("a line of the log")
    return "logged"


# -- calls that go on as tasks -------------------------------------------------------------


@pack.tool(**plain)
async def greet(ctx: Context, name: str) -> str:
    """Greet at once."""
    return f"Hello, {name}!"


@pack.tool(**plain)
async def slow_compute(ctx: Context, seconds: float, label: str = "") -> str:
    """Take as long as is said."""
    await asyncio.sleep(seconds)
    return f"computed {label}"


async def _needs_tasks(ctx: Context) -> None:
    if ctx.host.agents is not None:
        await ctx.host.agents.run({"kind": "mcp.tasks"})


@pack.tool(**plain)
async def failing_job(ctx: Context) -> str:
    """Fail after a while; only for clients that know tasks."""
    await _needs_tasks(ctx)
    await asyncio.sleep(1.0)
    text = "the job has failed"
    raise Failed(text)


@pack.tool(**plain)
async def protocol_error_job(ctx: Context) -> str:
    """End with an error of the protocol."""
    await asyncio.sleep(0.3)
    text = "no model"
    raise Unavailable(text, code="mcp.no_sampling")


@pack.tool(**plain)
async def confirm_delete(ctx: Context, filename: str) -> str:
    """Ask, after a while."""
    await asyncio.sleep(0.3)
    answer = await _form(ctx, f"Delete {filename}?", {"confirm": {"type": "boolean"}})
    return f"{filename}: {answer}"


@pack.tool(**plain)
async def multi_input(ctx: Context) -> str:
    """Ask two things at once, after a while."""
    await asyncio.sleep(0.3)
    questions = (_form(ctx, f"Question {n}", {"name": {"type": "string"}}) for n in (1, 2))
    return " ".join(await asyncio.gather(*questions))


@pack.tool(**plain)
async def test_tool_with_task(ctx: Context) -> str:
    """Ask first, and then take long."""
    schema = {"type": "object", "properties": NAME, "required": ["name"]}
    values = await ctx.ask.form("What is your name?", {**schema, "title": "user_name"})
    await asyncio.sleep(0.5)
    return f"Hello, {values}!"


NAME = {"name": {"type": "string"}}


@pack.tool(**plain)
async def test_input_required_result_elicitation(ctx: Context) -> str:
    """Ask the user's name."""
    schema = {"type": "object", "properties": NAME, "required": ["name"]}
    values = await ctx.ask.form("What is your name?", {**schema, "title": "user_name"})
    return f"Hello, {(values or {}).get('name', 'stranger')}!"


@pack.tool(**plain)
async def test_input_required_result_sampling(ctx: Context) -> str:
    """Ask the client's model."""
    return f"Model said: {await _sampled(ctx, 'What is the capital of France?')}"


@pack.tool(**plain)
async def test_input_required_result_list_roots(ctx: Context) -> str:
    """Ask for the client's roots."""
    agents = ctx.host.agents
    answer = await agents.run({"kind": "mcp.roots"}) if agents is not None else {"roots": []}
    return f"Client exposed {len(answer['roots'])} root(s)."


@pack.tool(**plain)
async def test_input_required_result_request_state(ctx: Context) -> str:
    """Ask for a confirmation."""
    await _form(ctx, "Please confirm", {"ok": {"type": "boolean"}}, "ok")
    return "state-ok: confirmation received"


@pack.tool(**plain)
async def test_input_required_result_tampered_state(ctx: Context) -> str:
    """Ask for a confirmation whose state somebody changes."""
    await _form(ctx, "Please confirm", {"ok": {"type": "boolean"}}, "ok")
    return "state-ok"


@pack.tool(**plain)
async def test_input_required_result_multiple_inputs(ctx: Context) -> str:
    """Ask three things at once."""
    agents = ctx.host.agents
    if agents is None:
        return "no model"
    await asyncio.gather(
        _form(ctx, "What is your name?", NAME, "name"),
        _sampled(ctx, "Generate a greeting", 50),
        agents.run({"kind": "mcp.roots"}),
    )
    return "All inputs received."


@pack.tool(**plain)
async def test_input_required_result_multi_round(ctx: Context) -> str:
    """Ask one thing after the other."""
    schema = {"type": "object", "properties": NAME, "required": ["name"]}
    first = await ctx.ask.form("Step 1: What is your name?", schema)
    color = {
        "type": "object",
        "properties": {"color": {"type": "string"}},
        "required": ["color"],
    }
    second = await ctx.ask.form("Step 2: What is your favorite color?", color)
    return f"{(first or {}).get('name')} likes {(second or {}).get('color')}."


@pack.tool(**plain)
async def test_input_required_result_capabilities(ctx: Context) -> str:
    """Ask only what the client can answer."""
    said = []
    try:
        said.append(await _sampled(ctx, "Say hello", 50))
    except Unavailable:
        said.append("no model")
    said.append(await _form(ctx, "What is your name?", NAME, "name"))
    return "; ".join(said)


JSON_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@pack.tool(**plain, input_schema=JSON_SCHEMA)
async def json_schema_2020_12_tool(ctx: Context, **arguments: Any) -> str:
    """Take arguments of a schema with many keywords."""
    return "json_schema_2020_12_tool"


class Toggling:
    """A live source with a tool that comes and goes."""

    name = "toggle"

    def __init__(self) -> None:
        self.on = False
        self.changed: Callable[[], None] = lambda: None

    async def open(self, changed: Callable[[], None]) -> None:
        self.changed = changed

    async def tools(self) -> list[Implementation]:
        if not self.on:
            return []
        tool = Tool(
            id="conformance.toggle.test_dynamic_tool",
            title="dynamic",
            description=Description("It comes and goes."),
            input_schema={"type": "object"},
            effects=frozenset[Effect](),
        )
        return [Implementation(tool=tool, handler=_dynamic)]

    async def close(self) -> None:
        """Nothing is open."""


async def _dynamic(ctx: Context) -> str:
    return "dynamic"


TOGGLE = Toggling()


@pack.source
def toggle() -> Toggling:
    """Offer the source."""
    return TOGGLE


@pack.tool(**plain)
async def test_trigger_tool_change(ctx: Context) -> str:
    """Change the list of tools."""
    TOGGLE.on = not TOGGLE.on
    TOGGLE.changed()
    return "tool list changed"


@pack.tool(**plain)
async def test_trigger_prompt_change(ctx: Context) -> str:
    """Change the list of prompts."""
    offers.prompts_changed()
    return "prompt list changed"


@offers.resource("test://static-text", name="static text")
async def static_text() -> str:
    return "This is the content of the static text resource."


@offers.resource("test://static-binary", name="static binary", media_type="image/png")
async def static_binary() -> bytes:
    return base64.b64decode(PNG)


@offers.resource("test://watched-resource", name="watched")
async def watched() -> str:
    return "Watched resource content"


@offers.template("test://template/{id}/data", name="data", media_type="application/json")
async def data(id: str) -> str:
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


def _says(text: str) -> dict[str, Any]:
    return {"role": "user", "content": {"type": "text", "text": text}}


@offers.prompt("test_simple_prompt", description="A simple prompt.")
async def simple_prompt() -> list[Any]:
    return [_says("This is a simple prompt for testing.")]


@offers.prompt(
    "test_prompt_with_arguments",
    description="A prompt with arguments.",
    arguments={"arg1": ("First", True), "arg2": ("Second", True)},
)
async def prompt_with_arguments(arg1: str, arg2: str) -> list[Any]:
    return [_says(f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")]


@offers.completer("test_prompt_with_arguments", "arg1")
async def complete(value: str, argument: str, others: Any) -> list[str]:
    return [each for each in ("paris", "park", "party") if each.startswith(value)]


@offers.prompt(
    "test_prompt_with_embedded_resource",
    description="A prompt with a resource.",
    arguments={"resourceUri": ("Address", True)},
)
async def prompt_with_resource(
    resourceUri: Annotated[str, "the suite's spelling"],  # noqa: N803
) -> list[Any]:
    about = {"uri": resourceUri, "mimeType": "text/plain"}
    resource = {**about, "text": "Embedded resource content for testing."}
    content = {"type": "resource", "resource": resource}
    return [
        {"role": "user", "content": content},
        _says("Please process the embedded resource above."),
    ]


@offers.prompt("test_prompt_with_image", description="A prompt with a picture.")
async def prompt_with_image() -> list[Any]:
    picture = {"type": "image", "data": PNG, "mimeType": "image/png"}
    return [
        {"role": "user", "content": picture},
        _says("Please analyze the image above."),
    ]


@offers.prompt("test_input_required_result_prompt", description="A prompt that asks.")
async def asking_prompt() -> list[Any]:
    from toolcrib_mcp.channel import ClientAsk

    schema = {"type": "object", "properties": {"context": {"type": "string"}}}
    values = await ClientAsk().form("What context should the prompt use?", schema)
    return [_says(f"Use the following context: {(values or {}).get('context', '?')}")]
