"""A scriptable peer over stdio: it answers what a plan says, and logs all it is sent.

``python peer.py PLAN.json LOG.jsonl``. It is plain JSON lines on purpose: what it sends may
be anything, and nothing of an SDK stands in between.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time

from pathlib import Path
from typing import Any


class Peer:
    """Answers requests as the plan says; see ``act``."""

    def __init__(self, plan: dict[str, Any], log: Path) -> None:
        self.plan = plan
        self.log = log
        self.lock = threading.Lock()
        self.cancelled: set[Any] = set()
        self.answered: set[Any] = set()
        self.number = 0

    def note(self, **facts: Any) -> None:
        with self.lock, self.log.open("a") as file:
            file.write(json.dumps({"pid": os.getpid(), **facts}) + "\n")

    def write(self, value: Any) -> None:
        text = value if isinstance(value, str) else json.dumps(value)
        with self.lock:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    def reply(self, number: Any, result: Any) -> None:
        self.write({"jsonrpc": "2.0", "id": number, "result": result})

    def run(self) -> None:
        self.note(event="start", env=dict(os.environ), cwd=str(Path.cwd()))
        for step in self.plan.get("before", []):
            self.act(step, None, {})
        for line in sys.stdin:
            message = json.loads(line)
            self.note(event="message", message=message)
            if message.get("method") == "notifications/cancelled":
                self.cancelled.add(message["params"]["requestId"])
            if "method" not in message:
                self.answered.add(message.get("id"))
            if "method" in message and "id" in message:
                work = threading.Thread(target=self.answer, args=(message,), daemon=True)
                work.start()
                if not self.plan.get("parallel", True):
                    work.join()
        self.note(event="eof")
        if self.plan.get("stay"):
            time.sleep(60)

    def answer(self, message: dict[str, Any]) -> None:
        method, number = message["method"], message["id"]
        params = message.get("params") or {}
        if method == "initialize":
            steps = self.plan.get("initialize")
            if steps is not None:
                for step in steps:
                    self.act(step, number, params)
                return
            self.reply(
                number,
                {
                    "protocolVersion": self.plan.get("version", "2025-11-25"),
                    "capabilities": self.plan.get(
                        "capabilities", {"tools": {"listChanged": True}}
                    ),
                    "serverInfo": {"name": "peer", "version": "1"},
                    **self.plan.get("greeting", {}),
                },
            )
        elif method == "tools/list":
            self.page(number, params)
        elif method == "tools/call":
            steps = self.plan.get("calls", {}).get(params.get("name"), [{"text": "done"}])
            for step in steps:
                self.act(step, number, params)
        elif method in self.plan.get("methods", {}):
            for step in self.plan["methods"][method]:
                self.act(step, number, params)
        elif method == "ping":
            self.reply(number, {})
        else:
            error = {"code": -32601, "message": "no such method"}
            self.write({"jsonrpc": "2.0", "id": number, "error": error})

    def page(self, number: Any, params: dict[str, Any]) -> None:
        pages = self.plan.get("pages")
        if pages is None:
            plan = self.plan
            if "tools_file" in plan:
                plan = json.loads(Path(plan["tools_file"]).read_text())
            self.reply(number, {"tools": plan.get("tools", [])})
            return
        cursor = params.get("cursor", "")
        if cursor not in pages and "*" in pages:
            self.number += 1
            tool = {"name": f"t{self.number}", "inputSchema": {"type": "object"}}
            self.reply(number, {"tools": [tool], "nextCursor": f"c{self.number}"})
            return
        self.reply(number, pages[cursor])

    def act(self, step: dict[str, Any], number: Any, params: dict[str, Any]) -> None:
        for what, value in step.items():
            getattr(self, "do_" + what)(value, number, params)

    def do_text(self, value: str, number: Any, params: Any) -> None:
        self.reply(number, {"content": [{"type": "text", "text": value}]})

    def do_echo(self, value: Any, number: Any, params: Any) -> None:
        text = json.dumps(params.get("arguments"))
        self.reply(number, {"content": [{"type": "text", "text": text}]})

    def do_result(self, value: Any, number: Any, params: Any) -> None:
        self.reply(number, value)

    def do_error(self, value: Any, number: Any, params: Any) -> None:
        self.write({"jsonrpc": "2.0", "id": number, "error": value})

    def do_raw(self, value: str, number: Any, params: Any) -> None:
        self.write(value.replace("$id", json.dumps(number)))

    def do_send(self, value: Any, number: Any, params: Any) -> None:
        self.write({"jsonrpc": "2.0", **value})

    def do_sleep(self, value: float, number: Any, params: Any) -> None:
        end = time.monotonic() + value
        while time.monotonic() < end and number not in self.cancelled:
            time.sleep(0.01)
        self.note(event="slept", id=number, cancelled=number in self.cancelled)

    def do_await_answer(self, value: int, number: Any, params: Any) -> None:
        end = time.monotonic() + 10
        while value not in self.answered and time.monotonic() < end:
            time.sleep(0.005)

    def do_hang(self, value: float, number: Any, params: Any) -> None:
        time.sleep(value)

    def do_effect(self, value: str, number: Any, params: Any) -> None:
        with Path(value).open("a") as file:
            file.write("ran\n")

    def do_exit(self, value: int, number: Any, params: Any) -> None:
        self.note(event="exit")
        os._exit(value)

    def do_progress(self, value: Any, number: Any, params: Any) -> None:
        token = params.get("_meta", {}).get("progressToken")
        for step in range(value["times"]):
            body = {"progressToken": token, "progress": step + 1, "total": value["times"]}
            body |= {"message": f"step {step + 1}"}
            self.do_send({"method": "notifications/progress", "params": body}, None, None)
            time.sleep(value["every"])

    def do_stderr(self, value: Any, number: Any, params: Any) -> None:
        for _ in range(value["times"]):
            sys.stderr.write(value["text"])
        sys.stderr.flush()

    def do_fill(self, value: int, number: Any, params: Any) -> None:
        self.reply(number, {"content": [{"type": "text", "text": "x" * value}]})

    def do_flood(self, value: Any, number: Any, params: Any) -> None:
        note = json.dumps({"jsonrpc": "2.0", **value["message"]})
        with self.lock:
            for _ in range(value["times"]):
                sys.stdout.write(note + "\n")
            sys.stdout.flush()

    def do_child(self, value: str, number: Any, params: Any) -> None:
        """Start a grandchild that leaves the group and outlives its parent."""
        options = {"start_new_session": True} if value == "apart" else {}
        child = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(60)"], **options
        )
        self.note(event="child", child=child.pid)

    def do_tools(self, value: Any, number: Any, params: Any) -> None:
        self.plan["tools"] = value

    def do_stop_reading(self, value: float, number: Any, params: Any) -> None:
        time.sleep(value)


if __name__ == "__main__":
    Peer(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])).run()
