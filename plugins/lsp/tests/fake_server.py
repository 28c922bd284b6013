"""A language server for ``.src`` files that does what a plan says.

Run as ``python fake_server.py PLAN LOG``. Left alone it is a small real server: words are
its symbols, ``def NAME`` defines one, a line with BAD is an error. The plan, JSON, bends
it; the log gets one JSON line for each message that it reads.

Plan::

    {"runs": [{...}, {...}]}       by how often it was started; the last one stays
    encoding                       of positions; null: it says none
    diagnostics                    "push", "pull", "dynamic" (pull, registered) or "none"
    capabilities                   changes to what it says it can do; null removes
    versions                       whether published diagnostics bear versions
    watch                          patterns that it registers for
    start                          actions before ``initialize`` is read
    ready                          actions after ``initialized``
    methods                        {method: [actions, actions, ...]} by how often it was asked
    grandchild, stubborn           starts a process of its own; ignores being asked to end
    code                           exit code after a good shutdown

Actions: reply, error, never, delay, exit, notify, ask, raw, stderr, default, hang_up.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

from pathlib import Path
from urllib.parse import quote, unquote, urlsplit


PLAN_FILE, LOG_FILE = sys.argv[1:3]
WORD = re.compile(r"\w+")


def units(text: str, encoding: str) -> int:
    """Count a text in the units of an encoding."""
    if encoding == "utf-8":
        return len(text.encode())
    return len(text.encode("utf-16-le")) // 2 if encoding == "utf-16" else len(text)


class Server:
    """One run."""

    def __init__(self) -> None:
        whole = json.loads(Path(PLAN_FILE).read_text())
        log = Path(LOG_FILE)
        before = log.read_text().count('"started"') if log.exists() else 0
        runs = whole.get("runs", [whole])
        self.plan = runs[min(before, len(runs) - 1)]
        self.log_file = log.open("a", buffering=1)
        self.log({"started": os.getpid()})
        self.out = sys.stdout.buffer
        self.lock = threading.Lock()
        self.encoding = self.plan.get("encoding", "utf-16")
        self.docs: dict[str, tuple[int, str]] = {}
        self.root = ""
        self.asked: dict[str, int] = {}
        self.ids = 0

    def log(self, entry: object) -> None:
        self.log_file.write(json.dumps(entry) + "\n")

    def send(self, message: dict) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def write(self, data: bytes) -> None:
        with self.lock:
            self.out.write(data)
            self.out.flush()

    # -- what it knows -------------------------------------------------------------------

    def texts(self) -> dict[str, str]:
        """Every document: the open ones as they were told, others from the disk."""
        found = {path: text for path, (_, text) in self.docs.items()}
        for path in sorted(Path(self.root).rglob("*.src")):
            if path.is_file():
                found.setdefault(str(path), path.read_text())
        return found

    def text(self, path: str) -> str:
        return self.docs[path][1] if path in self.docs else Path(path).read_text()

    def word_at(self, params: dict) -> str:
        path = self.path(params["textDocument"]["uri"])
        line = self.text(path).splitlines()[params["position"]["line"]]
        for found in WORD.finditer(line):
            start = units(line[: found.start()], self.encoding)
            end = units(line[: found.end()], self.encoding)
            if start <= params["position"]["character"] <= end:
                return found.group()
        return ""

    @staticmethod
    def path(uri: str) -> str:
        return unquote(urlsplit(uri).path)

    @staticmethod
    def uri(path: str) -> str:
        return "file://" + quote(path)

    def span(self, number: int, line: str, start: int, end: int) -> dict:
        return {
            "start": {"line": number, "character": units(line[:start], self.encoding)},
            "end": {"line": number, "character": units(line[:end], self.encoding)},
        }

    def places(self, pattern: str) -> list[tuple[str, dict]]:
        found = []
        for path, text in sorted(self.texts().items()):
            for number, line in enumerate(text.splitlines()):
                for hit in re.finditer(pattern, line):
                    group = 1 if hit.re.groups else 0
                    found.append(
                        (path, self.span(number, line, hit.start(group), hit.end(group)))
                    )
        return found

    def problems(self, path: str) -> list[dict]:
        return [
            {
                "range": self.span(number, line, hit.start(), hit.end()),
                "severity": 1,
                "message": "this is bad",
                "source": "fake",
            }
            for number, line in enumerate(self.text(path).splitlines())
            for hit in re.finditer("BAD", line)
        ]

    # -- what it answers -----------------------------------------------------------------

    def default(self, method: str, params: dict) -> object:
        if method == "initialize":
            return self.hello(params)
        if method == "shutdown":
            return None
        if method in ("textDocument/definition", "textDocument/typeDefinition"):
            word = self.word_at(params)
            return self.locations(rf"\bdef ({re.escape(word)})\b") if word else None
        if method in ("textDocument/references", "textDocument/implementation"):
            return self.locations(rf"\b{re.escape(self.word_at(params))}\b")
        if method == "textDocument/hover":
            return {"contents": {"kind": "plaintext", "value": f"word {self.word_at(params)}"}}
        if method == "textDocument/documentSymbol":
            path = self.path(params["textDocument"]["uri"])
            return [
                {"name": name, "kind": 12, "range": span, "selectionRange": span}
                for name, span in self.defined(path)
            ]
        if method == "workspace/symbol":
            return [
                {"name": name, "kind": 12, "location": {"uri": self.uri(path), "range": span}}
                for path in self.texts()
                for name, span in self.defined(path)
                if params["query"] in name
            ]
        if method == "textDocument/rename":
            changes: dict[str, list] = {}
            for path, span in self.places(rf"\b{re.escape(self.word_at(params))}\b"):
                edit = {"range": span, "newText": params["newName"]}
                changes.setdefault(self.uri(path), []).append(edit)
            return {"changes": changes}
        if method == "textDocument/diagnostic":
            return {
                "kind": "full",
                "items": self.problems(self.path(params["textDocument"]["uri"])),
            }
        raise LookupError(method)

    def defined(self, path: str) -> list[tuple[str, dict]]:
        return [
            (hit.group(1), self.span(number, line, hit.start(1), hit.end(1)))
            for number, line in enumerate(self.text(path).splitlines())
            for hit in re.finditer(r"\bdef (\w+)", line)
        ]

    def locations(self, pattern: str) -> list[dict]:
        return [{"uri": self.uri(p), "range": span} for p, span in self.places(pattern)]

    def hello(self, params: dict) -> dict:
        self.root = self.path(params["rootUri"])
        can: dict = {
            "textDocumentSync": {"openClose": True, "change": 2, "save": True},
            **{
                f"{name}Provider": True
                for name in (
                    *("definition", "references", "implementation", "typeDefinition", "hover"),
                    *("documentSymbol", "workspaceSymbol", "rename"),
                )
            },
        }
        if self.plan.get("diagnostics", "push") == "pull":
            can["diagnosticProvider"] = {
                "interFileDependencies": False,
                "workspaceDiagnostics": False,
            }
        if self.encoding is not None:
            can["positionEncoding"] = self.encoding
        else:
            self.encoding = "utf-16"
        can.update(self.plan.get("capabilities", {}))
        return {"capabilities": {k: v for k, v in can.items() if v is not None}}

    # -- actions -------------------------------------------------------------------------

    def act(self, actions: list[dict], message: dict | None) -> None:
        for action in actions:
            for name, value in action.items():
                self.do(name, value, message or {})

    def do(self, name: str, value: object, message: dict) -> None:
        if name == "reply":
            self.send({"id": message["id"], "result": value})
        elif name == "error":
            self.send({"id": message["id"], "error": value})
        elif name == "delay":
            time.sleep(value)
        elif name == "exit":
            os._exit(value)
        elif name == "notify":
            self.send({"method": value[0], "params": value[1]})
        elif name == "ask":
            self.send({"id": value[2], "method": value[0], "params": value[1]})
        elif name == "raw":
            self.write(value.encode())
        elif name == "large":
            self.write(b"Content-Length: %d\r\n\r\n" % value + b"x" * min(value, 1 << 20))
        elif name == "stderr":
            print(value, file=sys.stderr, flush=True)
        elif name == "hang_up":
            os.close(1)
        elif name == "default":
            self.answer(message)
        else:
            assert name == "never", name

    def answer(self, message: dict) -> None:
        try:
            result = self.default(message["method"], message.get("params") or {})
        except LookupError:
            error = {"code": -32601, "message": f"Unhandled method {message['method']}"}
            self.send({"id": message["id"], "error": error})
        else:
            self.send({"id": message["id"], "result": result})

    # -- its life ------------------------------------------------------------------------

    def publish(self, path: str) -> None:
        if self.plan.get("diagnostics", "push") != "push":
            return
        params: dict = {"uri": self.uri(path), "diagnostics": self.problems(path)}
        if self.plan.get("versions", True):
            params["version"] = self.docs[path][0]
        self.send({"method": "textDocument/publishDiagnostics", "params": params})

    def noticed(self, method: str, params: dict) -> None:
        if method == "exit":
            if not self.plan.get("stubborn"):
                os._exit(self.plan.get("code", 0))
            return
        if method == "initialized":
            self.register()
            self.act(self.plan.get("ready", []), None)
        if not method.startswith("textDocument/did"):
            return
        document = params["textDocument"]
        path = self.path(document["uri"])
        if method.endswith("didOpen"):
            self.docs[path] = (document["version"], document["text"])
        elif method.endswith("didChange"):
            self.docs[path] = (document["version"], params["contentChanges"][-1]["text"])
        elif method.endswith("didClose"):
            self.docs.pop(path, None)
            return
        elif method.endswith("didSave"):
            return
        scripted = self.plan.get("methods", {}).get(method)
        if scripted is not None:
            self.scripted(method, scripted, {"method": method, "params": params})
        else:
            self.publish(path)

    def register(self) -> None:
        registrations = []
        if self.plan.get("watch"):
            watchers = [{"globPattern": pattern} for pattern in self.plan["watch"]]
            registrations.append(
                {
                    "id": "watch",
                    "method": "workspace/didChangeWatchedFiles",
                    "registerOptions": {"watchers": watchers},
                }
            )
        if self.plan.get("diagnostics") == "dynamic":
            options = {"interFileDependencies": False, "workspaceDiagnostics": False}
            selector = [{"language": "src", "scheme": "file"}]
            registrations.append(
                {
                    "id": "pull",
                    "method": "textDocument/diagnostic",
                    "registerOptions": {"documentSelector": selector, **options},
                }
            )
        if registrations:
            # Ids from 0, as real servers count: they collide with those of the client.
            params = {"registrations": registrations}
            self.send({"id": 1, "method": "client/registerCapability", "params": params})

    def scripted(self, method: str, actions: list, message: dict) -> None:
        number = self.asked.get(method, 0)
        self.asked[method] = number + 1
        work = actions[min(number, len(actions) - 1)]
        if any("delay" in action for action in work):
            threading.Thread(target=self.act, args=(work, message), daemon=True).start()
        else:
            self.act(work, message)

    def run(self) -> None:
        if self.plan.get("stubborn"):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if self.plan.get("grandchild"):
            code = "import signal as s,time;s.signal(s.SIGTERM,s.SIG_IGN);time.sleep(600)"
            for new_session in (False, True):
                child = subprocess.Popen(
                    [sys.executable, "-c", code], start_new_session=new_session
                )
                self.log({"grandchild": child.pid})
        self.act(self.plan.get("start", []), None)
        source = sys.stdin.buffer
        while True:
            length = 0
            while (line := source.readline().strip()) or not length:
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
                elif not line:
                    if self.plan.get("stubborn"):
                        time.sleep(600)
                    os._exit(0)
            message = json.loads(source.read(length))
            self.log(message)
            method = message.get("method")
            if method is None:
                continue
            if "id" not in message:
                self.noticed(method, message.get("params") or {})
                continue
            scripted = self.plan.get("methods", {}).get(method)
            if scripted is None:
                self.answer(message)
            else:
                self.scripted(method, scripted, message)


if __name__ == "__main__":
    Server().run()
