"""Measure toolcrib against its floors, and with ``--peers`` against other frameworks.

``nox -s bench`` runs all rows, ``nox -s bench -- ROW …`` some. One row is measured in
one process of its own, ours and the floor in turn, and the least of several rounds is
taken: other work on the machine can only add. Times are the machine's; the ratios are
what carries over. A target that is given as a time is for the machine that
docs/performance.md names.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import venv

from collections.abc import Callable, Iterable
from pathlib import Path

import attrs


HERE = Path(__file__).parent
PEERS = ("pydantic-ai", "fastmcp", "mcp", "langchain-core", "llm", "bm25s")


@attrs.frozen
class Measured:
    """Seconds of one row."""

    ours: float
    floor: float
    peer: float | None = None
    peer_name: str = ""


@attrs.frozen
class Target:
    """What a row should come to.

    Attributes:
        text: In words.
        holds: Whether it does.
        peer: How many times faster than the fastest peer, where one was measured.
        unit: What is measured, if it is not seconds.
    """

    text: str
    holds: Callable[[Measured], bool]
    peer: float | None = None
    unit: str = ""

    def shown(self, value: float | None) -> str:
        """Return what was measured, as a person reads it."""
        return f"{value:.3g} {self.unit}" if self.unit and value is not None else human(value)

    def judge(self, measured: Measured) -> bool:
        """Tell whether the target is met."""
        if None not in {self.peer, measured.peer} and measured.peer < self.peer * measured.ours:
            return False
        return self.holds(measured)


def within(seconds: float, text: str, *, peer: float | None = None) -> Target:
    """At most a time."""
    return Target(f"≤ {text}", lambda m: m.ours <= seconds, peer)


def times_floor(ratio: float, *, peer: float | None = None) -> Target:
    """At most a multiple of the floor."""
    return Target(f"≤ {ratio:g} × floor", lambda m: m.ours <= ratio * m.floor, peer)


def _over_floor(seconds: float, text: str) -> Target:
    return Target(f"≤ floor + {text}", lambda m: m.ours <= m.floor + seconds)


TARGETS = {
    "cold-import": times_floor(1.5, peer=15),
    "named-imports": within(0.110, "110 ms"),
    "first-call": within(0.130, "130 ms", peer=3),
    "define": within(0.02, "20 ms"),
    "define-with-schemas": within(0.12, "120 ms"),
    "define-ten-thousand": Target(
        "linear: ≤ 1.5 × a tool of 1,000", lambda m: m.ours <= 1.5 * m.floor
    ),
    "compose": within(0.05, "50 ms"),
    "discover": Target("≤ 0.7 × importlib.metadata", lambda m: m.ours <= 0.7 * (m.peer or 0)),
    "project-first": within(0.025, "25 ms"),
    "project-again": within(10e-6, "10 µs"),
    "validate": _over_floor(1e-6, "1 µs"),
    "call-memory": within(20e-6, "20 µs"),
    "call-durable": within(150e-6, "150 µs"),
    "refused-call": within(25e-6, "25 µs"),
    "reply-of-five": Target("-", lambda m: True),
    "thousand-async": within(0.045, "45 ms"),
    "thousand-sync": within(0.15, "150 ms"),
    "search": within(1e-3, "1 ms"),
    "thousand-rules": times_floor(1.25),
    "ten-thousand-grants": times_floor(1.25),
    "ten-thousand-tools": times_floor(1.25),
    "artifact": times_floor(2),
    "artifact-write": times_floor(1.3),
    "artifact-write-large": times_floor(1.3),
    "artifact-read": times_floor(1.3),
    "artifact-read-large": times_floor(1.3),
    "mcp-stdio-echo": times_floor(1.1),
    "mcp-http-echo": times_floor(1.1),
    "mcp-http-stateless": times_floor(1.1),
    "mcp-client": times_floor(1.1),
    "mcp-client-and-stages": times_floor(1.1),
    "mcp-five-thousand-tools": within(1.0, "1 s"),
    "mcp-hundred-servers": times_floor(1.25),
    "task-cycle": Target("≥ 0.7 × plain SQLite", lambda m: m.floor >= 0.7 * m.ours),
    "task-writers": Target("≥ 0.5 × plain SQLite", lambda m: m.floor >= 0.5 * m.ours),
    "task-page": times_floor(1.25),
    "shell-run": _over_floor(3e-3, "3 ms"),
    "lsp-definition": times_floor(1.3),
    "lsp-definition-jedi": times_floor(1.3),
    "lsp-definition-ty": _over_floor(150e-6, "150 µs"),
    "lsp-references": times_floor(1.3),
    "lsp-references-jedi": times_floor(1.3),
    "lsp-hundred": times_floor(1.3),
    "web-main-content": Target("≥ best extractor", lambda m: m.ours >= m.floor, unit="F1"),
    "web-extraction": times_floor(1.2),
    "web-extraction-precise": times_floor(1.2),
    "web-hundred-fetches": times_floor(1),
    "web-cached-fetch": times_floor(3),
    "web-memory": Target("≤ 1.25 × floor", lambda m: m.ours <= 1.25 * m.floor, unit="MiB"),
    "browser-action": times_floor(1.5),
    "browser-snapshot": times_floor(1.5),
    "browser-action-large": times_floor(1.5),
    "browser-snapshot-large": times_floor(1.5),
    "browser-memory": Target("≤ floor", lambda m: m.ours <= m.floor, unit="MiB"),
}


def rows() -> dict[str, tuple[Path, str]]:
    """Names of the rows, the program that measures each, and what it measures."""
    import ast

    return {
        node.name.replace("_", "-"): (path, (ast.get_docstring(node) or "").partition("\n")[0])
        for path in sorted(HERE.glob("rows*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(d, ast.Name) and d.id == "row" for d in node.decorator_list)
    }


def _json(command: list[str]) -> list[float] | float | None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    if done.returncode:
        last = done.stderr.strip().splitlines() or ["it said nothing"]
        sys.stderr.write(f"{' '.join(command[-2:])}: {last[-1]}\n")
        return None
    return json.loads(done.stdout.splitlines()[-1])


def measure(row: str, program: Path, peers: Path | None) -> Measured | None:
    """Measure one row, and the fastest peer where peers are asked for."""
    found = _json([sys.executable, str(program), row])
    if not isinstance(found, list):
        return None
    if len(found) == 3:
        return Measured(found[0], found[1], found[2], "importlib.metadata")
    best: tuple[float, str] | None = None
    for name in PEERS if peers is not None else ():
        took = _json([str(peers), str(HERE / "peers.py"), name, row])
        if isinstance(took, float) and (best is None or took < best[0]):
            best = took, name
    return Measured(found[0], found[1], *(best or (None, "")))


def peers_environment() -> Path:
    """Make the environment of the peers, and return its interpreter."""
    folder = Path(tempfile.gettempdir()) / f"toolcrib-peers-{os.getuid()}"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        sys.path.insert(0, str(HERE))
        from peers import REQUIREMENTS

        subprocess.run([str(python), "-m", "pip", "install", "-q", *REQUIREMENTS], check=True)
    return python


def human(seconds: float | None) -> str:
    """A time as a person reads it."""
    if seconds is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return "0"


def _cells(row: str, measured: Measured) -> list[str]:
    target = TARGETS[row]
    text = target.text
    if target.peer is not None:
        text += f"; ≥ {target.peer:g} × faster than peers"
    against = f"{measured.ours / measured.floor:.2f}"
    faster = "-"
    peer = human(measured.peer)
    if measured.peer is not None:
        faster = f"{measured.peer / measured.ours:.1f}"
        peer += f" ({measured.peer_name})"
    mark = "yes" if target.judge(measured) else "NO"
    ours, floor = target.shown(measured.ours), target.shown(measured.floor)
    return [row, ours, peer, floor, faster, against, text, mark]


HEAD = ["row", "ours", "fastest peer", "floor", "peer/ours", "ours/floor", "target", "holds"]


def table(lines: Iterable[list[str]]) -> str:
    """Format a table in Markdown, aligned for a terminal as well."""
    rows_ = [HEAD, *lines]
    widths = [max(len(line[n]) for line in rows_) for n in range(len(HEAD))]
    formatted = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in rows_
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([formatted[0], rule, *formatted[1:]])


def main() -> int:
    """Measure; 1 if a row could not be measured, or with ``--strict`` if a target is missed."""
    known = rows()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(known))
    parser.add_argument(
        "--peers", action="store_true", help="install and measure other frameworks"
    )
    parser.add_argument(
        "--peers-python", type=Path, help="an interpreter that has them already"
    )
    parser.add_argument("--strict", action="store_true", help="a missed target is an error")
    parser.add_argument("--json", action="store_true", help="print seconds as JSON lines")
    options = parser.parse_args()
    unknown = set(options.rows) - set(known)
    if unknown:
        parser.error(f"no such row: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    peers = options.peers_python or (peers_environment() if options.peers else None)
    lines, failed, missed = [], [], []
    for row in options.rows or known:
        measured = measure(row, known[row][0], peers)
        if measured is None:
            failed.append(row)
            continue
        lines.append(_cells(row, measured))
        if lines[-1][-1] == "NO":
            missed.append(row)
        if options.json:
            say(json.dumps({"row": row, **attrs.asdict(measured)}))
        elif sys.stderr.isatty():
            sys.stderr.write(f"{row}: {lines[-1][1]}\n")
    if not options.json:
        say(
            f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()}\n"
        )
        say(table(lines))
    if missed:
        say(f"\nmissed: {', '.join(missed)}") if not options.json else None
    if failed:
        sys.stderr.write(f"could not be measured: {', '.join(failed)}\n")
    return 1 if failed or (options.strict and missed) else 0


def say(text: str) -> None:
    """Print at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
