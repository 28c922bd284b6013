"""Servers that ask, die, hang, shout and do not stop."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap

from pathlib import Path

import pytest

from lsp_kit import alive, gone, good, places, text_of

from toolcrib_lsp import process


DEFINITION = "textDocument/definition"


def ask(fake, tool="definition", **arguments):
    arguments = arguments or {"path": "b.src", "name": "one"}

    async def scenario(call):
        return await call(tool, **arguments)

    return fake.run(scenario)


# -- what the server asks of us ----------------------------------------------------------

QUESTIONS = {
    "workspace/configuration": {"items": [{"section": "a.b"}, {"section": "no"}, {}]},
    "client/registerCapability": {
        "registrations": [{"id": "r", "method": "textDocument/hover", "registerOptions": {}}]
    },
    "client/unregisterCapability": {"unregisterations": [{"id": "r", "method": "x"}]},
    "workspace/applyEdit": {"edit": {"changes": {}}},
    "window/showMessageRequest": {"type": 1, "message": "?", "actions": [{"title": "yes"}]},
    "window/showDocument": {"uri": "file:///x"},
    "window/workDoneProgress/create": {"token": 7},
    "workspace/workspaceFolders": None,
    "workspace/diagnostic/refresh": None,
    "workspace/semanticTokens/refresh": None,
    "custom/unknown": {"x": 1},
}


def test_every_question_of_the_server_is_answered_at_once(fake):
    """Before, and in the middle of, a question of ours, with ids that collide with ours."""
    asks = [
        {"ask": [method, params, number]}
        for number, (method, params) in enumerate(QUESTIONS.items())
    ]
    late = [{"ask": [m, p, n + 100]} for n, (m, p) in enumerate(QUESTIONS.items())]
    fake.plan(ready=asks, methods={DEFINITION: [[*late, {"delay": 0.3}, {"default": 1}]]})
    fake.settings["servers"]["fake"]["settings"] = {"a": {"b": 5}}
    assert places(ask(fake)) == ["a.src:1:5"]
    answers = {m["id"]: m for m in fake.log if "method" not in m and "id" in m}
    for base in (0, 100):
        by_method = {method: answers[base + number] for number, method in enumerate(QUESTIONS)}
        assert by_method["workspace/configuration"]["result"][:2] == [5, None]
        assert by_method["workspace/applyEdit"]["result"]["applied"] is False
        assert by_method["window/showDocument"]["result"] == {"success": False}
        assert by_method["workspace/workspaceFolders"]["result"][0]["name"] == "ws"
        assert by_method["custom/unknown"]["error"]["code"] == -32601
        for method in QUESTIONS:
            assert ("result" in by_method[method]) != (method == "custom/unknown")


def test_question_that_is_not_formed_right_is_refused_and_nothing_breaks(fake):
    asks = [
        {"ask": ["workspace/configuration", None, 0]},
        {"ask": ["client/registerCapability", {"registrations": 5}, 1]},
        {"notify": ["textDocument/publishDiagnostics", {"diagnostics": []}]},
        {"notify": ["$/progress", None]},
    ]
    fake.plan(ready=asks)
    assert places(ask(fake)) == ["a.src:1:5"]
    errors = [m["error"]["code"] for m in fake.log if "error" in m]
    assert errors == [-32602, -32602]


def test_edit_that_nobody_asked_for_is_not_applied(fake):
    span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 3}}
    edit = {"changes": {(fake.ws / "a.src").as_uri(): [{"range": span, "newText": "EVIL"}]}}
    fake.plan(ready=[{"ask": ["workspace/applyEdit", {"edit": edit}, 0]}])
    ask(fake)
    assert (fake.ws / "a.src").read_text() == "def one\none two\n"


def test_content_that_changed_is_asked_about_again(fake):
    changed = {"code": -32801, "message": "content modified"}
    cancelled = {"code": -32802, "message": "cancelled", "data": {"retriggerRequest": True}}
    fake.plan(
        methods={DEFINITION: [[{"error": changed}], [{"error": cancelled}], [{"default": 1}]]}
    )
    assert places(ask(fake)) == ["a.src:1:5"]
    assert len(fake.logged(DEFINITION)) == 3


def test_content_that_changes_for_ever_ends(fake):
    fake.plan(methods={DEFINITION: [[{"error": {"code": -32801, "message": "changed"}}]]})
    outcome = ask(fake)
    assert outcome.code == "lsp.server_error"
    assert len(fake.logged(DEFINITION)) == 5


def test_answer_that_does_not_come_is_cancelled_and_told(fake):
    fake.settings["request"] = 1
    fake.plan(methods={DEFINITION: [[{"never": 1}]]})
    outcome = ask(fake)
    assert (outcome.status, outcome.code) == ("unavailable", "lsp.no_answer")
    (asked,) = fake.logged(DEFINITION)
    assert [m["params"]["id"] for m in fake.logged("$/cancelRequest")] == [asked["id"]]


def test_cancelled_call_cancels_its_question(fake):
    fake.plan(methods={DEFINITION: [[{"never": 1}]]})

    async def scenario(call):
        task = asyncio.create_task(call("definition", path="b.src", name="one"))
        while not fake.logged(DEFINITION):
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait({task})
        return await call("hover", path="b.src", name="one")

    assert fake.run(scenario).ok
    assert len(fake.logged("$/cancelRequest")) == 1


def test_a_hundred_questions_at_once_are_each_answered_rightly(fake):
    for number in range(100):
        fake.write(f"m{number}.src", f"def m{number}\nuse m{number}\n")

    async def scenario(call):
        return await asyncio.gather(
            *(call("definition", path=f"m{n}.src", line=2, name=f"m{n}") for n in range(100))
        )

    found = [places(outcome) for outcome in fake.run(scenario)]
    assert found == [[f"m{n}.src:1:5"] for n in range(100)]
    assert fake.starts == 1


# -- indexing -----------------------------------------------------------------------------

BEGIN = {"token": "t", "value": {"kind": "begin", "title": "Indexing", "percentage": 0}}
REPORT = {"token": "t", "value": {"kind": "report", "message": "3/9", "percentage": 33}}
END = {"token": "t", "value": {"kind": "end"}}


def test_empty_answer_while_indexing_is_unavailable_with_progress(fake):
    fake.plan(
        ready=[{"notify": ["$/progress", BEGIN]}, {"notify": ["$/progress", REPORT]}],
        methods={DEFINITION: [[{"reply": None}]]},
    )

    async def scenario(call):
        await call("symbols", path="a.src")
        return await call("definition", path="b.src", name="one", wait=0)

    outcome = fake.run(scenario)
    assert (outcome.status, outcome.code) == ("unavailable", "lsp.indexing")
    assert "Indexing 3/9 33 %" in outcome.text


def test_answer_is_waited_for_while_indexing(fake):
    fake.plan(
        ready=[{"notify": ["$/progress", BEGIN]}],
        methods={
            DEFINITION: [
                [{"reply": None}],
                [{"reply": []}, {"notify": ["$/progress", END]}],
                [{"default": 1}],
            ]
        },
    )
    assert places(ask(fake, path="b.src", name="one", wait=20)) == ["a.src:1:5"]


def test_empty_answer_after_indexing_is_none(fake):
    fake.plan(
        ready=[{"notify": ["$/progress", BEGIN]}, {"notify": ["$/progress", END]}],
        methods={DEFINITION: [[{"reply": None}]]},
    )
    assert places(ask(fake)) == []


def test_empty_answer_right_after_opening_is_asked_again(fake):
    fake.settings["servers"]["fake"]["opening"] = 10
    fake.plan(methods={DEFINITION: [[{"reply": None}], [{"default": 1}]]})
    assert places(ask(fake)) == ["a.src:1:5"]


def test_references_found_while_indexing_are_marked(fake):
    fake.plan(ready=[{"notify": ["$/progress", BEGIN]}])
    outcome = ask(fake, "references", path="b.src", name="one", wait=1)
    assert len(places(outcome)) == 3
    assert "indexing" in outcome.result.notes
    assert "there may be more" in text_of(outcome)


# -- death ----------------------------------------------------------------------------------


def test_server_that_dies_in_a_question_is_started_again_and_asked_once_more(fake):
    dying = {"methods": {DEFINITION: [[{"stderr": "panic"}, {"exit": 3}]]}}
    fake.plan(runs=[dying, {}])

    async def scenario(call):
        await call("symbols", path="a.src")
        return await call("definition", path="b.src", name="one")

    assert places(fake.run(scenario)) == ["a.src:1:5"]
    assert fake.starts == 2


def test_server_that_dies_twice_is_told_with_code_and_last_words(fake):
    fake.plan(methods={DEFINITION: [[{"stderr": "panic: no memory"}, {"exit": 3}]]})
    outcome = ask(fake)
    assert (outcome.status, outcome.code) == ("unavailable", "lsp.died")
    assert "exited with code 3" in outcome.text
    assert "panic: no memory" in outcome.text
    assert fake.starts == 2


def test_server_that_always_dies_is_given_up_with_a_clear_state(fake):
    fake.settings["restarts"] = 2
    fake.plan(start=[{"stderr": "no such thing"}, {"exit": 101}])

    async def scenario(call):
        outcomes = [await call("definition", path="b.src", name="one") for _ in range(4)]
        return outcomes, await call("status")

    outcomes, status = fake.run(scenario)
    assert [o.code for o in outcomes[-2:]] == ["lsp.crashed"] * 2
    assert "exited with code 101" in outcomes[-1].text
    assert fake.starts == 3
    (state,) = [s for s in good(status)["servers"] if s["name"] == "fake"]
    assert state["state"] == "crashed"
    assert "code 101" in state["note"]


def test_server_that_never_answers_initialize_is_ended(fake):
    fake.settings |= {"start": 1, "restarts": 0}
    fake.plan(methods={"initialize": [[{"never": 1}]]})
    outcome = ask(fake)
    assert outcome.status == "unavailable"
    assert "did not start: initialize was not answered" in outcome.text
    assert gone([e["started"] for e in fake.log if "started" in e], within=5)


def test_server_that_is_slow_to_start_is_unavailable_and_ready_later(fake):
    fake.plan(methods={"initialize": [[{"delay": 1.0}, {"default": 1}]]})

    async def scenario(call):
        first = await call("definition", path="b.src", name="one", wait=0)
        return first, await call("definition", path="b.src", name="one", wait=20)

    first, second = fake.run(scenario)
    assert (first.status, first.code) == ("unavailable", "lsp.starting")
    assert places(second) == ["a.src:1:5"]
    assert fake.starts == 1


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ({"raw": "hello\r\n\r\n"}, "a header without a length"),
        ({"raw": "Content-Length: many\r\n\r\n"}, "a length that is no number"),
        ({"raw": "Content-Length: 5\r\n\r\n[1,2]"}, "a message that is a list"),
        ({"raw": "Content-Length: 3\r\n\r\n{{{"}, "a message that is no JSON"),
        ({"raw": "Content-Length: 3\r\n\r\n{}1"}, "a message that goes on after its end"),
        ({"raw": "x" * 20000}, "no header in"),
        ({"large": 200_000_000}, "at most 67,108,864"),
        ({"hang_up": 1}, "closed its output"),
    ],
)
def test_stream_that_cannot_be_read_ends_the_server_and_not_the_host(fake, action, words):
    fake.plan(runs=[{"methods": {DEFINITION: [[action]]}}])
    outcome = ask(fake)
    assert outcome.code == "lsp.died"
    assert words in outcome.text
    assert gone([e["started"] for e in fake.log if "started" in e], within=5)


def test_noise_before_a_header_is_passed_over(fake):
    fake.plan(start=[{"raw": "Welcome to fake 1.0\n"}])
    assert places(ask(fake)) == ["a.src:1:5"]


def test_shutdown_bears_no_parameters_and_an_odd_exit_code_is_no_failure(fake):
    fake.plan(code=1)
    assert places(ask(fake)) == ["a.src:1:5"]
    (shutdown,) = fake.logged("shutdown")
    assert "params" not in shutdown
    assert len(fake.logged("exit")) == 1


def test_stopped_when_idle_and_started_when_needed(fake):
    fake.settings["idle"] = 1

    async def scenario(call):
        await call("symbols", path="a.src")
        while not fake.logged("exit"):
            await asyncio.sleep(0.05)
        return await call("definition", path="b.src", name="one")

    assert places(fake.run(scenario)) == ["a.src:1:5"]
    assert fake.starts == 2


def test_sessions_of_a_toolbox_share_a_server(fake):
    async def scenario(call):
        box = call.session.toolbox
        async with box.session("another") as other:
            first = await call("definition", path="b.src", name="one")
            second = await other.call("lsp.definition", {"path": "b.src", "name": "one"})
        return first, second

    first, second = fake.run(scenario)
    assert places(first) == places(second)
    assert fake.starts == 1


HOST = """
import asyncio, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from lsp_kit import Fake, fake_settings
root = Path({root!r})
fake = Fake(root / "ws", root, fake_settings(root / "plan.json", root / {log!r}))
async def scenario(call):
    assert (await call("definition", path="b.src", name="one")).ok
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
fake.run(scenario)
"""


@pytest.fixture
def hosts():
    """Processes, which are gone after the test, however that ends."""
    started = []
    yield started
    for host in started:
        host.stdin.close()
        try:
            host.wait(20)
        finally:
            host.kill()
            host.wait()
            host.stdout.close()


@pytest.mark.parametrize("end", ["leave", "kill", "interrupt"])
def test_nothing_is_left_however_the_host_ends(fake, end, hosts):
    """Also of servers that ignore being asked, and of what they have started."""
    fake.plan(grandchild=True, stubborn=True)
    for number in range(3):
        code = HOST.format(
            tests=str(Path(__file__).parent), root=str(fake.folder), log=f"log{number}.jsonl"
        )
        hosts.append(
            subprocess.Popen(
                [sys.executable, "-c", textwrap.dedent(code)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        )
    for host in hosts:
        assert host.stdout.readline() == b"ready\n"
    pids = []
    for number in range(3):
        lines = (fake.folder / f"log{number}.jsonl").read_text().splitlines()
        entries = [json.loads(line) for line in lines]
        pids += [e[k] for e in entries for k in ("started", "grandchild") if k in e]
    assert len(pids) == 9
    assert all(map(alive, pids))
    for host in hosts:
        if end == "leave":
            host.stdin.close()
        else:
            host.send_signal(signal.SIGKILL if end == "kill" else signal.SIGINT)
    assert gone(pids, within=8 if end == "leave" else 5)


def test_server_gets_a_small_environment_without_secrets(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("LANG", "C.UTF-8")
    made = process.environment({"OWN": "1"}, os.environ)
    assert "OPENAI_API_KEY" not in made
    assert made["OWN"] == "1"
    assert made["LANG"] == "C.UTF-8"


def test_last_words_are_kept_however_much_is_said(fake):
    fake.plan(start=[{"stderr": "x" * 300_000}, {"stderr": "the end"}, {"exit": 9}])
    outcome = ask(fake)
    assert "the end" in outcome.text
    assert len(outcome.text) < 5000
