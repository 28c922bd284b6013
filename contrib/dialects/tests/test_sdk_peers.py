"""Round trips through the official SDKs, against a server on the loopback interface.

The SDK builds and sends the request; what arrives is what we declared. A response of the
provider's shape comes back through the SDK's own types and becomes calls; their results
go out again in a second request.
"""

from __future__ import annotations

import asyncio
import base64
import importlib
import json
import os
import threading

from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from toolcrib import Context, Image, Pack, Policy, Result, Toolbox

from toolcrib_dialects import pack as dialects


pytestmark = [
    pytest.mark.peer,
    # The SDKs' own warnings are not ours to mend.
    pytest.mark.filterwarnings("default"),
]

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJ"
    "RU5ErkJggg=="
)


def sdk(name):
    """Import an official SDK; where peers are wanted, an absent one is a failure."""
    try:
        return importlib.import_module(name)
    except ImportError:
        if os.environ.get("TOOLCRIB_PEERS"):
            raise
        pytest.skip(f"{name} is not installed")


class Provider:
    """A server that gives its responses in turn and keeps what it was asked."""

    def __init__(self, *responses):
        self.requests = []
        waiting = list(responses)
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                length = int(self.headers.get("Content-Length") or 0)
                provider.requests.append(json.loads(self.rfile.read(length)))
                data = json.dumps(waiting.pop(0)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *arguments):
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exc):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def make_pack():
    pack = Pack("demo", effects=())

    @pack.tool
    async def book(
        ctx: Context, town: str, nights: int = 1, labels: dict[str, int] | None = None
    ) -> str:
        """Book a room."""
        return f"{nights} night(s) in {town}, {labels}"

    @pack.tool
    async def draw(ctx: Context) -> Result:
        """Draw a picture."""
        return Result(content=[Image(PNG, "image/png")])

    return pack


def play(dialect, talk, *, strict=False):
    """Show the tools, have ``talk(view)`` ask the model, answer, and have it go on."""

    async def main():
        policy = Policy(local=[make_pack(), dialects], projectors=["dialects"])
        async with Toolbox(policy) as box, box.session("c") as session:
            view = await session.view(dialect, strict=strict)
            turn = talk(view)
            reply = next(turn)
            batch = await session.submit(view.calls(reply))
            await batch.complete()
            turn.send(view.results(batch))
            return view, batch

    return asyncio.run(main())


def plain(value):
    return json.loads(json.dumps(value))


ARGUMENTS = {"town": "Bonn", "labels": {"quiet": 1}}
BOOKED = "1 night(s) in Bonn, {'quiet': 1}"
CALLS = [
    ("call00001", "demo_book", ARGUMENTS),
    ("call00002", "demo_draw", {}),
    ("call00003", "demo_book", {"nights": "many"}),
]


def chat_calls(*, text=True):
    """Return the calls as OpenAI's chat has them."""
    return [
        {
            "id": i,
            "type": "function",
            "function": {"name": n, "arguments": json.dumps(a) if text else a},
        }
        for i, n, a in CALLS
    ]


def checked(batch):
    """Check what became of the calls, whatever the provider."""
    assert [o.status for o in batch.outcomes] == ["ok", "ok", "invalid"]


def as_google_says(value):
    """Return declarations as the SDK spells them: the server takes either spelling."""
    if isinstance(value, list):
        return [as_google_says(each) for each in value]
    if not isinstance(value, dict):
        return value
    said = {
        "parameters_json_schema" if key == "parametersJsonSchema" else key: sub
        for key, sub in value.items()
    }
    if "parameters" in said:
        said["parameters"] = in_capitals(said["parameters"])
    return {
        key: sub if key.startswith("parameters") else as_google_says(sub)
        for key, sub in said.items()
    }


def in_capitals(schema):
    """Return a schema of the older form: types in capitals; a default of null is none."""
    if isinstance(schema, list):
        return [in_capitals(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: sub.upper() if key == "type" and isinstance(sub, str) else in_capitals(sub)
        for key, sub in schema.items()
        if (key, sub) != ("default", None)
    }


@pytest.mark.parametrize("dialect", ["gemini", "gemini-openapi"])
def test_google_genai(dialect):
    """Parts of a content; media follow the answers."""
    genai = sdk("google.genai")
    parts = [{"functionCall": {"id": i, "name": n, "args": a}} for i, n, a in CALLS]
    if dialect == "gemini-openapi":
        pairs = [{"key": "quiet", "value": 1}]
        parts[0]["functionCall"]["args"] = {"town": "Bonn", "labels": pairs}
    response = {
        "candidates": [
            {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        ],
        "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 2},
        "modelVersion": "gemini-x",
    }
    with Provider(response, response) as provider:
        options = genai.types.HttpOptions(base_url=provider.url)
        client = genai.Client(api_key="k", http_options=options)

        def talk(view):
            contents = [{"role": "user", "parts": [{"text": "Book."}]}]
            config = {"tools": list(view.declarations)}

            def ask():
                return client.models.generate_content(
                    model="gemini-x", contents=contents, config=config
                )

            reply = ask()
            results = yield reply
            contents += [reply.candidates[0].content, *results]
            ask()
            yield

        view, batch = play(dialect, talk)
        first, second = provider.requests

    assert first["tools"] == as_google_says(plain(view.declarations))
    checked(batch)
    answers = second["contents"][-1]["parts"]
    responses = [p["functionResponse"] for p in answers if "functionResponse" in p]
    assert [r["id"] for r in responses] == [i for i, _, _ in CALLS]
    assert responses[0]["response"] == {"output": BOOKED}
    assert "error" in responses[2]["response"]
    (picture,) = [p["inlineData"] for p in answers if "inlineData" in p]
    # Its own spelling of the field, and the alphabet of addresses: both are understood.
    assert picture["mime_type"] == "image/png"
    assert base64.urlsafe_b64decode(picture["data"]) == base64.b64decode(PNG)


@pytest.mark.parametrize("dialect", ["bedrock", "bedrock-text"])
@pytest.mark.parametrize("strict", [False, True])
def test_boto3_converse(dialect, strict):
    """Blocks of a message; bytes are encoded once."""
    boto3 = sdk("boto3")
    calls = [{"toolUse": {"toolUseId": i, "name": n, "input": a}} for i, n, a in CALLS]
    if strict:
        labels = [{"key": "quiet", "value": 1}]
        calls[0]["toolUse"]["input"] = {"town": "Bonn", "labels": labels}
    response = {
        "output": {"message": {"role": "assistant", "content": [{"text": "Hm."}, *calls]}},
        "stopReason": "tool_use",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "metrics": {"latencyMs": 1},
    }
    with Provider(response, response) as provider:
        client = boto3.client(
            "bedrock-runtime",
            endpoint_url=provider.url,
            region_name="eu-central-1",
            aws_access_key_id="k",
            aws_secret_access_key="s",
        )

        def talk(view):
            messages = [{"role": "user", "content": [{"text": "Book."}]}]
            declared = {"tools": list(view.declarations)}
            reply = client.converse(modelId="m", messages=messages, toolConfig=declared)
            results = yield reply
            messages += [reply["output"]["message"], *results]
            client.converse(modelId="m", messages=messages, toolConfig=declared)
            yield

        view, batch = play(dialect, talk, strict=strict)
        first, second = provider.requests

    assert first["toolConfig"]["tools"] == plain(view.declarations)
    checked(batch)
    answers = [block["toolResult"] for block in second["messages"][-1]["content"]]
    assert [a["toolUseId"] for a in answers] == [i for i, _, _ in CALLS]
    assert [a["status"] for a in answers] == ["success", "success", "error"]
    assert answers[0]["content"] == [{"text": BOOKED}]
    if dialect == "bedrock":
        image = {"format": "png", "source": {"bytes": PNG}}
        assert answers[1]["content"][1] == {"image": image}
    else:
        assert "1 part(s) cannot be shown" in answers[1]["content"][0]["text"]


def test_mistralai():
    """Tool messages with ids of nine letters or digits."""
    client_module = sdk("mistralai.client")
    message = {"role": "assistant", "content": "", "tool_calls": chat_calls()}
    response = {
        "id": "1",
        "object": "chat.completion",
        "model": "mistral-x",
        "created": 1_700_000_000,
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
    }
    with Provider(response, response) as provider:
        client = client_module.Mistral(api_key="k", server_url=provider.url)

        def talk(view):
            messages = [{"role": "user", "content": "Book."}]
            declared = list(view.declarations)
            reply = client.chat.complete(model="mistral-x", messages=messages, tools=declared)
            results = yield reply
            messages += [reply.choices[0].message, *results]
            client.chat.complete(model="mistral-x", messages=messages, tools=declared)
            yield

        view, batch = play("mistral", talk)
        first, second = provider.requests

    assert first["tools"] == plain(view.declarations)
    checked(batch)
    answers = [m for m in second["messages"] if m["role"] == "tool"]
    assert [a["tool_call_id"] for a in answers] == [i for i, _, _ in CALLS]
    assert answers[0]["content"] == BOOKED


def test_cohere():
    """Chat version 2."""
    cohere = sdk("cohere")
    response = {
        "id": "1",
        "finish_reason": "TOOL_CALL",
        "message": {"role": "assistant", "tool_plan": "Book.", "tool_calls": chat_calls()},
        "usage": {"tokens": {"input_tokens": 1, "output_tokens": 1}},
    }
    with Provider(response, response) as provider:
        client = cohere.ClientV2(api_key="k", base_url=provider.url)

        def talk(view):
            messages = [{"role": "user", "content": "Book."}]
            declared = list(view.declarations)
            reply = client.chat(model="command-x", messages=messages, tools=declared)
            results = yield reply
            messages += [reply.message, *results]
            client.chat(model="command-x", messages=messages, tools=declared)
            yield

        view, batch = play("cohere", talk)
        first, second = provider.requests

    assert first["tools"] == plain(view.declarations)
    checked(batch)
    answers = [m for m in second["messages"] if m["role"] == "tool"]
    assert [a["tool_call_id"] for a in answers] == [i for i, _, _ in CALLS]
    assert answers[0]["content"] == BOOKED


def test_ollama():
    """No ids: calls and results are told apart by their order.

    The client keeps of a schema what its own types have; what it drops is enforced all
    the same.
    """
    ollama = sdk("ollama")
    calls = [{"function": {"name": n, "arguments": a}} for _, n, a in CALLS]
    response = {
        "model": "llama-x",
        "created_at": "2026-01-01T00:00:00Z",
        "done": True,
        "done_reason": "stop",
        "message": {"role": "assistant", "content": "", "tool_calls": calls},
    }
    with Provider(response, response) as provider:
        client = ollama.Client(host=provider.url)

        def talk(view):
            messages = [{"role": "user", "content": "Book."}]
            declared = list(view.declarations)
            reply = client.chat(model="llama-x", messages=messages, tools=declared)
            results = yield reply
            messages += [reply.message, *results]
            client.chat(model="llama-x", messages=messages, tools=declared)
            yield

        view, batch = play("ollama", talk)
        first, second = provider.requests

    declared = plain(view.declarations)
    for sent, ours in zip(first["tools"], declared, strict=True):
        assert sent["function"]["name"] == ours["function"]["name"]
        assert sent["function"]["description"] == ours["function"]["description"]
        parameters = ours["function"]["parameters"]
        assert set(sent["function"]["parameters"]["properties"]) == set(
            parameters["properties"]
        )
        assert sent["function"]["parameters"].get("required") == parameters.get("required")
    checked(batch)
    answers = [m for m in second["messages"] if m["role"] == "tool"]
    assert [a["tool_name"] for a in answers] == [n for _, n, _ in CALLS]
    assert answers[0]["content"] == BOOKED
    assert answers[1]["images"] == [PNG]
