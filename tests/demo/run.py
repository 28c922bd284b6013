"""The main job, as a person sees it: ``toolcrib run`` on a shipped transcript.

A copy of ``workspace/`` is read, searched and edited; one call is refused by a rule, one
is asked and one is retried. The question is asked on a real terminal device: this script
opens a pseudo-terminal and types the answer, as a person would. ``--ask-me`` leaves the
answer to you.
"""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile

from pathlib import Path


HERE = Path(__file__).parent
POLICY = """\
packs = ["toolcrib-files", "toolcrib-demo"]
rules = [
    "deny files.*(path=secret/**)",
]

[retry]
base = 0.05
"""


def main() -> int:
    """Run the demonstration; 0 if everything went as it should."""
    with tempfile.TemporaryDirectory(prefix="toolcrib-demo-") as folder:
        root = Path(folder).resolve()
        work = root / "workspace"
        shutil.copytree(HERE / "workspace", work)
        (root / "toolcrib.toml").write_text(POLICY, encoding="utf-8")
        environment = os.environ | {
            "XDG_STATE_HOME": str(root / "state"),
            "XDG_CONFIG_HOME": str(root / "config"),
        }
        command = [sys.executable, "-m", "toolcrib"]
        options = ["--policy", str(root / "toolcrib.toml"), "--workspace", str(work)]
        transcript = HERE / "transcript.jsonl"
        say(f"$ toolcrib run {transcript.name} --conversation demo --policy toolcrib.toml\n")
        run = [*command, "run", str(transcript), "--conversation", "demo", *options]
        by_hand = "--ask-me" in sys.argv
        code, results, told = watched(run, environment, None if by_hand else b"y\n")
        say("\nResults for the model, one for each call:\n")
        show_results(results)
        say("\nThe file that was edited now reads:\n")
        say((work / "notes" / "garden.md").read_text(encoding="utf-8"))
        say("\n$ toolcrib ledger show demo\n")
        sys.stdout.flush()
        ledger = [*command, "ledger", "show", "demo", *options]
        subprocess.run(ledger, env=environment, check=True)
        return verdict(code, results, told)


def watched(
    command: list[str], environment: dict[str, str], answer: bytes | None
) -> tuple[int, list[dict[str, object]], str]:
    """Run a command with a terminal of its own; type the answer at its first prompt."""
    if answer is None:
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, text=True, check=False
        )
        return done.returncode, [json.loads(x) for x in done.stdout.splitlines()], ""
    read_end, write_end = os.pipe()
    child, terminal = pty.fork()
    if child == 0:
        os.dup2(write_end, 1)
        os.execve(command[0], command, environment)
    os.close(write_end)
    out, told = bytearray(), bytearray()
    waiting = {read_end, terminal}
    answered = False
    while waiting:
        for ready in select.select(waiting, [], [])[0]:
            try:
                data = os.read(ready, 65536)
            except OSError:  # the terminal's other end is gone
                data = b""
            if not data:
                waiting.discard(ready)
            elif ready == read_end:
                out += data
            else:
                told += data
                say(data.decode(errors="replace"))
                if not answered and b"\n> " in told.replace(b"\r", b""):
                    answered = True
                    os.write(terminal, answer)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, [json.loads(line) for line in out.splitlines()], told.decode(errors="replace")


def say(text: str) -> None:
    """Print without waiting."""
    sys.stdout.write(text)
    sys.stdout.flush()


def show_results(results: list[dict[str, object]]) -> None:
    """Print each result as the model would read it."""
    for message in results:
        for block in message["content"]:  # type: ignore[attr-defined]
            content = block["content"]
            texts = [content] if isinstance(content, str) else [c["text"] for c in content]
            say(f"── {block['tool_use_id']}\n")
            for line in "\n".join(texts).splitlines()[:12]:
                say(f"   {line}\n")


def verdict(code: int, results: list[dict[str, object]], told: str) -> int:
    """Check that the run was what the transcript is for."""
    blocks = [block for message in results for block in message["content"]]  # type: ignore[attr-defined]
    ids = [block["tool_use_id"] for block in blocks]
    refused = [block["tool_use_id"] for block in blocks if block.get("is_error")]
    good = (
        code == 12  # the exit code of a call that was refused
        and ids == [f"toolu_{n}" for n in range(1, 6)]
        and refused == ["toolu_5"]
    )
    if told:
        good = good and "after 2 attempts" in told and "\n> " in told.replace("\r", "")
    if not good:
        say(f"\nexit code {code}, results {ids}, not ok {refused}\n")
    say("\nAll as it should be.\n" if good else "\nThis is not what should have happened.\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
