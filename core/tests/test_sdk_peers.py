"""Round trips through the official SDKs, against a server on the loopback interface.

The SDK builds and sends the request; what arrives is what we declared. A response of the
provider's shape comes back through the SDK's own types and becomes calls; their results
go out again in a second request.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import threading

from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from toolcrib import Context, Image, Pack, Policy, Result, Toolbox


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
        policy = Policy(local=[make_pack()])
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


ARGUMENTS = {
    False: {"town": "Bonn", "labels": {"quiet": 1}},
    True: {"town": "Bonn", "nights": None, "labels": [{"key": "quiet", "value": 1}]},
}
BOOKED = "1 night(s) in Bonn, {'quiet': 1}"


@pytest.mark.parametrize("strict", [False, True])
def test_openai_chat_completions(strict):
    """Parallel calls with ids, arguments as text, one of them wrong."""
    openai = sdk("openai")
    calls = [
        ("call_1", "demo_book", json.dumps(ARGUMENTS[strict])),
        ("call_2", "demo_draw", "{}"),
        ("call_3", "demo_book", '{"nights": "many"}'),
    ]
    message = {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "tool_calls": [
            {"id": i, "type": "function", "function": {"name": n, "arguments": a}}
            for i, n, a in calls
        ],
    }
    response = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "gpt-x",
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": None,
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    with Provider(response, response) as provider:
        client = openai.OpenAI(base_url=provider.url, api_key="k", max_retries=0)

        def talk(view):
            messages = [{"role": "user", "content": "Book."}]
            declared = list(view.declarations)
            reply = client.chat.completions.create(
                model="gpt-x", messages=messages, tools=declared
            )
            results = yield reply
            messages += [reply.choices[0].message, *results]
            client.chat.completions.create(model="gpt-x", messages=messages, tools=declared)
            yield

        view, batch = play("openai", talk, strict=strict)
        first, second = provider.requests

    assert first["tools"] == plain(view.declarations)
    assert [o.status for o in batch.outcomes] == ["ok", "ok", "invalid"]
    assert [c.provider_id for c in batch.calls] == ["call_1", "call_2", "call_3"]
    answers = {m["tool_call_id"]: m for m in second["messages"] if m["role"] == "tool"}
    assert list(answers) == ["call_1", "call_2", "call_3"]
    assert answers["call_1"]["content"] == BOOKED
    assert "Invalid arguments for `demo_book`" in answers["call_3"]["content"]
    assert PNG in json.dumps(second["messages"])


@pytest.mark.parametrize("strict", [False, True])
def test_openai_responses(strict):
    """Items instead of messages; the call's id is ``call_id``."""
    openai = sdk("openai")
    calls = [
        ("call_1", "demo_book", json.dumps(ARGUMENTS[strict])),
        ("call_2", "demo_draw", "{}"),
    ]
    response = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_700_000_000,
        "model": "gpt-x",
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "output": [
            {
                "type": "function_call",
                "id": f"fc_{i}",
                "call_id": i,
                "name": n,
                "arguments": a,
                "status": "completed",
            }
            for i, n, a in calls
        ],
    }
    with Provider(response, response) as provider:
        client = openai.OpenAI(base_url=provider.url, api_key="k", max_retries=0)

        def talk(view):
            items = [{"role": "user", "content": "Book."}]
            declared = list(view.declarations)
            reply = client.responses.create(model="gpt-x", input=items, tools=declared)
            results = yield reply
            items += [*reply.output, *results]
            client.responses.create(model="gpt-x", input=items, tools=declared)
            yield

        view, batch = play("openai-responses", talk, strict=strict)
        first, second = provider.requests

    assert first["tools"] == plain(view.declarations)
    assert [o.status for o in batch.outcomes] == ["ok", "ok"]
    answers = [i for i in second["input"] if i.get("type") == "function_call_output"]
    assert [answer["call_id"] for answer in answers] == ["call_1", "call_2"]
    assert answers[0]["output"] == BOOKED
    assert PNG in json.dumps(second["input"])


@pytest.mark.parametrize("strict", [False, True])
def test_anthropic_messages(strict):
    """Blocks of content, arguments as objects, an error flag."""
    anthropic = sdk("anthropic")
    calls = [
        ("toolu_1", "demo_book", ARGUMENTS[strict]),
        ("toolu_2", "demo_draw", {}),
        ("toolu_3", "demo_book", {"nights": "many"}),
    ]
    response = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "model-x",
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
        "content": [
            {"type": "text", "text": "I will book."},
            *({"type": "tool_use", "id": i, "name": n, "input": a} for i, n, a in calls),
        ],
    }
    with Provider(response, response) as provider:
        client = anthropic.Anthropic(base_url=provider.url, api_key="k", max_retries=0)

        def talk(view):
            messages = [{"role": "user", "content": "Book."}]
            declared = list(view.declarations)

            def ask():
                return client.messages.create(
                    model="model-x", max_tokens=100, messages=messages, tools=declared
                )

            reply = ask()
            results = yield reply
            messages.append({"role": "assistant", "content": reply.content})
            messages.extend(results)
            ask()
            yield

        view, batch = play("anthropic", talk, strict=strict)
        first, second = provider.requests

    assert first["tools"] == plain(view.declarations)
    assert [o.status for o in batch.outcomes] == ["ok", "ok", "invalid"]
    (answer,) = [m for m in second["messages"][2:] if m["role"] == "user"]
    one, two, three = answer["content"]
    assert (one["tool_use_id"], one["content"]) == ("toolu_1", BOOKED)
    assert two["content"][1]["source"]["data"] == PNG
    assert (three["tool_use_id"], three["is_error"]) == ("toolu_3", True)
