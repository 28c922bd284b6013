"""The main job as a process: a provider's response in, one result for each call out."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest


POLICY = """\
packs = ["toolcrib-files"]
mode = "edits"
rules = ["deny files.*(path=secret/**)"]
"""

# What each of the five calls is for, and the status that must come of it.
EXPECTED = [
    ("good", "ok", None),
    ("bad_arguments", "invalid", "arguments.invalid"),
    ("unknown_tool", "unknown_tool", "tool.unknown"),
    ("denied", "refused", "rule.denied"),
    ("ambiguous_edit", "invalid", "files.ambiguous"),
]
CALLS = [
    ("files_read", {"path": "notes.txt"}),
    ("files_read", {"path": "notes.txt", "limit": "many", "pth": "x"}),
    ("files_raed", {"path": "notes.txt"}),
    ("files_read", {"path": "secret/key"}),
    ("files_edit", {"path": "notes.txt", "edits": [{"old": "tea", "new": "coffee"}]}),
]
IDS = [f"id_{purpose}" for purpose, _, _ in EXPECTED]


def chat_completion():
    """What the chat API of OpenAI returns."""
    calls = [
        {
            "id": id_,
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for id_, (name, arguments) in zip(IDS, CALLS, strict=True)
    ]
    message = {"role": "assistant", "content": None, "refusal": None, "tool_calls": calls}
    return {
        "id": "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG",
        "object": "chat.completion",
        "created": 1741570283,
        "model": "gpt-4.1-2025-04-14",
        "choices": [
            {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}
        ],
        "usage": {"prompt_tokens": 82, "completion_tokens": 17, "total_tokens": 99},
    }


def response():
    """What the responses API of OpenAI returns."""
    items = [
        {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": id_,
            "name": name,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }
        for number, (id_, (name, arguments)) in enumerate(zip(IDS, CALLS, strict=True))
    ]
    return {
        "id": "resp_67ca09c5efe0819096d0511c92b8c890",
        "object": "response",
        "created_at": 1741294021,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "output": [{"id": "rs_1", "type": "reasoning", "summary": []}, *items],
        "parallel_tool_calls": True,
    }


def message():
    """What the messages API of Anthropic returns."""
    blocks = [
        {"type": "tool_use", "id": id_, "name": name, "input": arguments}
        for id_, (name, arguments) in zip(IDS, CALLS, strict=True)
    ]
    return {
        "id": "msg_01Aq9w938a90dw8q",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": "Let me look."}, *blocks],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 472, "output_tokens": 91},
    }


def from_chat(lines):
    """Id and text of each result, in order."""
    assert all(line["role"] == "tool" for line in lines)
    return [(line["tool_call_id"], line["content"], None) for line in lines]


def from_response(lines):
    """Id and text of each result, in order."""
    assert all(line["type"] == "function_call_output" for line in lines)
    return [(line["call_id"], line["output"], None) for line in lines]


def from_message(lines):
    """Id and text of each result, in order, and whether it is marked as an error."""
    (line,) = lines
    assert line["role"] == "user"
    found = []
    for block in line["content"]:
        assert block["type"] == "tool_result"
        content = block["content"]
        text = content if isinstance(content, str) else "".join(c["text"] for c in content)
        found.append((block["tool_use_id"], text, block.get("is_error", False)))
    return found


PROVIDERS = {
    "openai": (chat_completion, from_chat),
    "openai-responses": (response, from_response),
    "anthropic": (message, from_message),
}


@attrs.frozen
class Job:
    """A real folder, and the command line over it."""

    root: Path

    @property
    def workspace(self) -> Path:
        """The folder that the calls work in."""
        return self.root / "workspace"

    def toolcrib(self, *arguments: Any, given: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command to its end; nobody can be asked."""
        environment: Mapping[str, str] = os.environ | {
            "HOME": str(self.root),
            "XDG_CONFIG_HOME": str(self.root / "config"),
            "XDG_STATE_HOME": str(self.root / "state"),
        }
        options = ["--policy", str(self.root / "toolcrib.toml")]
        return subprocess.run(
            [sys.executable, "-m", "toolcrib", *map(str, arguments), *options],
            input=given,
            capture_output=True,
            encoding="utf-8",
            env=environment,
            cwd=self.workspace,
            timeout=120,
            check=False,
            start_new_session=True,
        )

    def receipts(self, conversation: str) -> list[Any]:
        """What the ledger holds of a conversation."""
        shown = self.toolcrib("ledger", "show", conversation, "--json")
        assert shown.returncode == 0, shown.stderr
        return json.loads(shown.stdout)


@pytest.fixture
def job(tmp_path):
    """A folder with a text to read, one to keep secret, and a policy."""
    made = Job(tmp_path)
    (made.workspace / "secret").mkdir(parents=True)
    (made.workspace / "notes.txt").write_text("one tea\ntwo tea\n", encoding="utf-8")
    (made.workspace / "secret" / "key").write_text("sentinel", encoding="utf-8")
    (tmp_path / "toolcrib.toml").write_text(POLICY, encoding="utf-8")
    return made


def parsed(stdout):
    return [json.loads(line) for line in stdout.splitlines()]


@pytest.mark.parametrize("named", [False, True], ids=["told from its shape", "--dialect"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_five_calls_of_a_provider_get_five_results_and_five_receipts(job, provider, named):
    """Good, bad arguments, unknown tool, denied, ambiguous: each answered, in order."""
    make, read = PROVIDERS[provider]
    file = job.root / "calls.json"
    file.write_text(json.dumps(make(), indent=2), encoding="utf-8")
    options = ["--dialect", provider] if named else []
    done = job.toolcrib("run", file, "--conversation", "five", *options)
    results = read(parsed(done.stdout))

    assert done.returncode == 1, done.stderr  # calls failed in different ways
    assert [id_ for id_, _, _ in results] == IDS
    for (_, status, code), (_, text, is_error) in zip(EXPECTED, results, strict=True):
        if status == "ok":
            assert "one tea" in text
            assert not is_error
        else:
            assert status in text
            assert code in text
            assert is_error in {None, True}
    assert "files_read" in results[2][1], "the closest name is suggested"
    assert "sentinel" not in done.stdout
    assert (job.workspace / "notes.txt").read_text() == "one tea\ntwo tea\n"

    receipts = job.receipts("five")
    assert len(receipts) == 5
    by_id = {r["provider_call_id"]: r for r in receipts}
    assert sorted(by_id) == sorted(IDS)
    for id_, (_, status, code) in zip(IDS, EXPECTED, strict=True):
        assert (by_id[id_]["status"], by_id[id_]["code"]) == (status, code)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_same_response_again_changes_nothing(job, provider):
    """In a named conversation the ledger answers each call; no receipt is added."""
    make, read = PROVIDERS[provider]
    command = ("run", "-", "--conversation", "again")
    first = job.toolcrib(*command, given=json.dumps(make()))
    (job.workspace / "notes.txt").write_text("changed meanwhile\n", encoding="utf-8")
    second = job.toolcrib(*command, given=json.dumps(make()))
    assert [id_ for id_, _, _ in read(parsed(second.stdout))] == IDS
    assert "one tea" in read(parsed(second.stdout))[0][1], (
        "what was recorded, not what is there"
    )
    assert "not run again" in second.stderr
    assert second.returncode == first.returncode
    assert len(job.receipts("again")) == 5


def test_a_broken_line_is_answered_alone(job):
    """The lines before and after it are other providers' responses, and all run."""
    lines = [
        json.dumps(chat_completion()),
        '{"choices": [{"message": {"tool_calls": [',
        json.dumps(message()),
    ]
    done = job.toolcrib("run", "-", "--conversation", "b", given="\n".join(lines) + "\n")
    found = parsed(done.stdout)
    assert [line.get("tool_call_id") for line in found[:5]] == IDS
    assert found[5]["line"] == 2
    assert found[5]["error"]["status"] == "invalid"
    assert [id_ for id_, _, _ in from_message(found[6:])] == IDS


def test_arguments_that_are_cut_off_are_answered_alone(job):
    """One call of five has half a JSON text; nothing is completed for it, and four run."""
    reply = chat_completion()
    calls = reply["choices"][0]["message"]["tool_calls"]
    calls[4]["function"]["arguments"] = '{"path": "notes.txt", "edits": [{"old": "one t'
    done = job.toolcrib("run", "-", "--conversation", "cut", given=json.dumps(reply))
    results = from_chat(parsed(done.stdout))
    assert [id_ for id_, _, _ in results] == IDS
    assert "one tea" in results[0][1]
    assert "invalid" in results[4][1]
    assert (job.workspace / "notes.txt").read_text() == "one tea\ntwo tea\n"


def test_an_edit_that_is_clear_is_made_and_recorded(job):
    """The last step: what the model meant is in the file, and the receipt says so."""
    name, arguments = (
        "files_edit",
        {"path": "notes.txt", "edits": [{"old": "one tea", "new": "1"}]},
    )
    block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}
    reply = {"role": "assistant", "content": [block]}
    read = {
        "type": "tool_use",
        "id": "toolu_0",
        "name": "files_read",
        "input": {"path": "notes.txt"},
    }
    first = {"role": "assistant", "content": [read]}
    given = "\n".join([json.dumps(first), json.dumps(reply)])
    done = job.toolcrib("run", "-", "--conversation", "e", given=given)
    assert done.returncode == 0, done.stderr
    assert (job.workspace / "notes.txt").read_text() == "1\ntwo tea\n"
    assert [r["status"] for r in job.receipts("e")] == ["ok", "ok"]
