"""What servers ask during a call, and tell besides: people, the model, folders, changes."""

from __future__ import annotations

import asyncio

from pathlib import Path
from typing import Any

import attrs
import pytest

from mcp_kit import FakePeer, opened, tool, until, yes


pytestmark = pytest.mark.usefixtures("nothing_left")

SAMPLE = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Two and two?"}}],
    "maxTokens": 100_000,
    "systemPrompt": "Be short.",
}
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@attrs.define
class Person:
    """Answers as the test says, and keeps what it was asked."""

    says: Any = None
    opens: bool = True
    asked: list[tuple[str, Any]] = attrs.field(factory=list)

    async def question(self, text: str, **_: Any) -> str | None:
        return None

    async def form(self, text: str, schema: Any) -> Any:
        self.asked.append((text, schema))
        return self.says

    async def url(self, text: str, url: str) -> bool:
        self.asked.append((text, url))
        return self.opens


@attrs.define
class Model:
    """Stands for the app's model."""

    tasks: list[Any] = attrs.field(factory=list)

    async def run(self, task: Any) -> Any:
        self.tasks.append(task)
        return {"text": "four", "model": "m"}


def asking(peer: Any, *questions: tuple[str, Any], **config: Any) -> FakePeer:
    """Make a peer whose tool asks before it answers."""
    steps: list[Any] = []
    for number, (method, params) in enumerate(questions):
        steps.append({"send": {"id": 900 + number, "method": method, "params": params}})
        steps.append({"await_answer": 900 + number})
    plan = {"tools": [tool("t")], "calls": {"t": [*steps, {"text": "done"}]}}
    made: FakePeer = peer(plan, **config)
    return made


def answers(one: FakePeer) -> list[dict[str, Any]]:
    """Return what the peer was answered, in the order of its questions."""
    found = [line["message"] for line in one.events("message")]
    mine = [m for m in found if "method" not in m and m.get("id", 0) >= 900]
    return sorted(mine, key=lambda message: int(message["id"]))


def called(folder: Path, one: FakePeer, **host: Any) -> list[dict[str, Any]]:
    """Call the tool once, and return what its questions were answered."""

    async def main() -> None:
        async with opened(folder, {"a": one}, **host) as (_, session):
            outcome = await session.call("mcp.a.t", {}, approver=yes)
            assert outcome.status == "ok", outcome

    asyncio.run(main())
    return answers(one)


def capabilities(one: FakePeer) -> dict[str, Any]:
    (sent,) = one.messages("initialize")
    return dict(sent["params"]["capabilities"])


def test_the_model_is_not_asked_unless_the_user_allows_that_server(
    tmp_path: Path, peer: Any
) -> None:
    """Off, it is not even declared, and a server that asks all the same gets an error."""
    model = Model()
    one = asking(peer, ("sampling/createMessage", SAMPLE))
    (answer,) = called(tmp_path, one, agents=model)
    assert "error" in answer
    assert model.tasks == []
    assert "sampling" not in capabilities(one)


def test_the_model_answers_where_it_is_allowed(tmp_path: Path, peer: Any) -> None:
    """The app hears whose question it is; what may be asked for is bounded."""
    model = Model()
    one = asking(peer, ("sampling/createMessage", SAMPLE), sampling=True)
    (answer,) = called(tmp_path, one, agents=model)
    assert answer["result"]["content"] == {"type": "text", "text": "four"}
    (task,) = model.tasks
    assert (task["kind"], task["server"], task["tool"]) == ("mcp.sampling", "a", "mcp.a.t")
    assert task["max_tokens"] == 4096
    assert task["messages"] == SAMPLE["messages"]


def test_the_model_is_asked_a_few_times_for_one_call(tmp_path: Path, peer: Any) -> None:
    """A server cannot use a call to spend without end."""
    model = Model()
    questions = [("sampling/createMessage", SAMPLE)] * 6
    got = called(tmp_path, asking(peer, *questions, sampling=True), agents=model)
    assert ["result" in each for each in got] == [True] * 4 + [False] * 2
    assert len(model.tasks) == 4


def test_roots_are_the_workspace_or_nothing(tmp_path: Path, peer: Any) -> None:
    """Told where it is not switched off."""
    one = asking(peer, ("roots/list", {}))
    (answer,) = called(tmp_path, one)
    assert [root["uri"] for root in answer["result"]["roots"]] == [tmp_path.as_uri()]
    other = asking(peer, ("roots/list", {}), roots=False)
    (answer,) = called(tmp_path, other)
    assert "error" in answer
    assert "roots" not in capabilities(other)


def test_a_form_is_answered_by_the_person_of_the_call(tmp_path: Path, peer: Any) -> None:
    """The text says who asks; what does not fit the form is not sent."""
    ask = ("elicitation/create", {"message": "Name\u001b[31m?", "requestedSchema": FORM})
    person = Person(says={"name": "Ada"})
    (answer,) = called(tmp_path, asking(peer, ask), ask=person)
    assert answer["result"] == {"action": "accept", "content": {"name": "Ada"}}
    assert person.asked[0][0] == "The server a asks: Name?"
    for wrong in ({"name": 7}, {"name": "Ada", "more": 1}):
        (answer,) = called(tmp_path, asking(peer, ask), ask=Person(says=wrong))
        assert answer["result"] == {"action": "decline"}
    (answer,) = called(tmp_path, asking(peer, ask), ask=Person(says=None))
    assert answer["result"] == {"action": "cancel"}


@pytest.mark.parametrize(
    ("url", "action"),
    [
        ("https://pay.example.com/order?id=1", "accept"),
        ("javascript:alert(1)", "decline"),
        ("file:///etc/passwd", "decline"),
        ("https://user:word@pay.example.com/", "decline"),
        ("https://pay.example.com/\u202e", "decline"),
    ],
)
def test_an_address_is_shown_before_it_is_agreed_to(
    tmp_path: Path, peer: Any, url: str, action: str
) -> None:
    """Only one that a person can judge; it is never opened by us."""
    params = {"mode": "url", "message": "Pay?", "url": url, "elicitationId": "e1"}
    person = Person()
    (answer,) = called(tmp_path, asking(peer, ("elicitation/create", params)), ask=person)
    assert answer["result"] == {"action": action}
    assert [shown for _, shown in person.asked] == ([url] if action == "accept" else [])


def test_an_address_that_the_person_does_not_want_is_declined(
    tmp_path: Path, peer: Any
) -> None:
    """The server hears so."""
    address = "https://pay.example.com/"
    params = {"mode": "url", "message": "Pay?", "url": address, "elicitationId": "e1"}
    one = asking(peer, ("elicitation/create", params))
    (answer,) = called(tmp_path, one, ask=Person(opens=False))
    assert answer["result"] == {"action": "decline"}


def test_changes_of_a_resource_are_counted_across_a_reconnection(
    tmp_path: Path, peer: Any
) -> None:
    """What was subscribed is subscribed again; what was not is passed over."""

    def updated(uri: str) -> dict[str, Any]:
        return {"method": "notifications/resources/updated", "params": {"uri": uri}}

    tells = [{"send": updated("note://a")}, {"send": updated("note://b")}, {"text": "told"}]
    plan = {
        "tools": [tool("tell"), tool("die")],
        "capabilities": {"tools": {}, "resources": {"subscribe": True}},
        "calls": {"tell": tells, "die": [{"exit": 0}]},
        "methods": {
            "resources/subscribe": [{"result": {}}],
            "resources/unsubscribe": [{"result": {}}],
        },
    }

    async def main() -> None:
        one = peer(plan)
        async with opened(tmp_path, {"a": one}) as (box, session):

            async def follow(action: str) -> str:
                sent = {"server": "a", "uri": "note://a", "action": action}
                outcome = await session.call("mcp.subscribe", sent, approver=yes)
                return str(outcome.result.content[0].text)

            async def counted(number: int) -> None:
                while (said := await follow("changes")) != f"note://a: changed {number} times":
                    assert "changed" in said
                    await asyncio.sleep(0.01)

            assert await follow("subscribe") == "note://a: changed 0 times"
            await session.call("mcp.a.tell", {}, approver=yes)
            await asyncio.wait_for(counted(1), 5)
            await session.call("mcp.a.die", {}, approver=yes)
            await until(lambda: len(one.messages("resources/subscribe")) == 2)
            await until(lambda: "mcp.a.tell" in box.catalog)
            await session.call("mcp.a.tell", {}, approver=yes)
            await asyncio.wait_for(counted(2), 5)
            assert await follow("unsubscribe") == "note://a: not followed"
            assert [m["params"]["uri"] for m in one.messages("resources/unsubscribe")] == [
                "note://a"
            ]

    asyncio.run(main())


def test_suggested_values_are_bounded_and_fit_to_be_shown(tmp_path: Path, peer: Any) -> None:
    """Doubles go, odd ones too; a server that suggests nothing is not asked."""
    many = ["Rome", "Rome", 7, "Par\u001b[1mis"] + [f"v{n}" for n in range(500)]
    answer = {"completion": {"values": many, "total": 10**9, "hasMore": True}}
    plan = {
        "capabilities": {"completions": {}, "prompts": {}},
        "methods": {"completion/complete": [{"result": answer}]},
    }

    async def main() -> None:
        one, other = peer(plan), peer({"capabilities": {}})
        async with opened(tmp_path, {"a": one, "b": other}) as (_, session):
            sent = {"of": "prompt", "name": "travel", "argument": "city", "value": "R"}
            more = {**sent, "server": "a", "others": {"land": "Italy"}}
            outcome = await session.call("mcp.complete", more, approver=yes)
            values = outcome.result.content[0].value
            assert values[:3] == ["Rome", "Paris", "v0"]
            assert len(values) == 100
            (asked,) = one.messages("completion/complete")
            assert asked["params"]["ref"] == {"type": "ref/prompt", "name": "travel"}
            assert asked["params"]["context"] == {"arguments": {"land": "Italy"}}
            outcome = await session.call("mcp.complete", {**sent, "server": "b"}, approver=yes)
            assert outcome.result.content[0].value == []
            assert other.messages("completion/complete") == []

    asyncio.run(main())
