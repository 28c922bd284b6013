"""Take real declarations through everything: ``nox -s corpus -- PATH``.

PATH is a file of JSON lines, ``{"server": …, "tool": {"name": …, "inputSchema": …}}``, as
recorded from MCP servers. Each server becomes a live source of one pack; its tools are
composed, shown in every dialect, searched for, and called through all stages with a
sample that fits their schema and with arguments that do not. Fifty generated arguments of
each tool are sent and undone in every form of every dialect. What must hold for every
tool is checked; the table says what became of them. The exit code is 1 if anything that
must hold did not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from toolcrib import (
    Allow,
    Context,
    Description,
    Implementation,
    Pack,
    Policy,
    Question,
    SchemaError,
    Tool,
    Toolbox,
)
from toolcrib.projection import Dialect, Projection, project
from toolcrib.projection.facts import RequestLimits
from toolcrib.schema import normalize
from toolcrib.validator import Validators

from laws import Generated
from samples import sample


CORE_DIALECTS = ("openai", "openai-responses", "anthropic", "mcp")
LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Report:
    """What was counted, and what must hold and did not."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.broken: list[str] = []

    def count(self, area: str, what: str) -> None:
        """Count one tool under a heading."""
        self.counts[area][what] += 1

    def must(self, holds: bool, what: str) -> None:
        """Note what must hold."""
        if not holds:
            self.broken.append(what)

    def show(self) -> None:
        """Print everything."""
        for area, counter in self.counts.items():
            print(f"\n{area}")
            for what, number in counter.most_common(25):
                print(f"  {number:>6}  {what}")
        print(f"\n{len(self.broken)} broken")
        for line in self.broken[:50]:
            print(f"  {line[:300]}")


def servers(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the tools of each server, its name made one of a source."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        name = re.sub(r"[^a-z0-9]+", "_", entry["server"].lower()).strip("_")
        found[name if name[:1].isalpha() else f"s_{name}"].append(entry["tool"])
    return dict(found)


def implementation(source: str, declared: dict[str, Any], ran: list[Any]) -> Implementation:
    """Make a tool that keeps what it was called with."""
    tool = Tool(
        id=f"corpus.{source}.{declared['name']}",
        title=declared.get("title") or declared["name"],
        description=Description((declared.get("description") or "-").strip() or "-"),
        input_schema=declared["inputSchema"],
        effects=frozenset(),
    )

    async def handler(ctx: Context, /, **arguments: Any) -> str:
        ran.append(arguments)
        return "ran"

    return Implementation(tool=tool, handler=handler)


class Feed:
    """One server, as a live source."""

    def __init__(self, name: str, implementations: list[Implementation]) -> None:
        self.name = name
        self.implementations = implementations

    async def open(self, changed: Any) -> None:
        """Connect to nothing."""

    async def tools(self) -> list[Implementation]:
        """Return what the server declared."""
        return self.implementations

    async def close(self) -> None:
        """Disconnect from nothing."""


def read(path: Path, report: Report, ran: list[Any]) -> list[Feed]:
    """Make the sources; what has no legal name is counted."""
    feeds = []
    for source, tools in servers(path).items():
        made = []
        for declared in tools:
            report.count("read", "tools")
            try:
                made.append(implementation(source, declared, ran))
            except ValueError as error:
                report.count("read", f"no tool: {error}")
        feeds.append(Feed(source, made))
        report.count("read", "servers")
    return feeds


def schemas(tools: list[Tool], report: Report) -> None:
    """Normalise every schema; the normal form must be stable."""
    for tool in tools:
        try:
            normal = normalize(tool.input_schema)
        except SchemaError as error:
            report.count("schemas", f"refused for {error.keyword!r}")
            continue
        report.count("schemas", f"taken, enforced by {normal.engine}")
        for change in normal.repairs:
            report.count("mended when read", change.keyword)
        report.must(
            normalize(normal.schema).digest == normal.digest, f"{tool.id}: not stable when read"
        )


def shown(
    dialect: Dialect, tools: list[Tool], generated: Generated, *, strict: bool, report: Report
) -> None:
    """Show all tools in one dialect, without the limits of one request."""
    area = f"shown in {dialect.name}, {'strict' if strict else 'plain'}"
    start = time.perf_counter()
    done = project(tools, attrs.evolve(dialect, limits=RequestLimits()), strict=strict)
    took = time.perf_counter() - start
    names: set[str] = set()
    by_id = {tool.id: tool for tool in tools}
    for entry in done.entries:
        report.count(area, "tools")
        marks = {"strict": entry.strict, "with a loss": entry.losses, "undone": entry.inverse}
        for mark, given in marks.items():
            if given:
                report.count(area, mark)
        judge_entry(entry, dialect.name, names, report)
        names.add(entry.wire_name)
        for keyword, kind in sorted({(loss.keyword, loss.kind) for loss in entry.losses}):
            report.count(f"{area}: losses", f"{keyword}, {kind}")
        found = generated.judge(by_id[entry.tool_id], entry, dialect, must=report.must)
        report.counts[f"{area}: arguments"].update(found)
    for refusal in done.refusals:
        report.count(area, f"refused: {refusal.code}")
    each = took / max(len(tools), 1)
    print(f"{area}: {took * 1e3:.0f} ms, {each * 1e6:.0f} µs a tool")


def judge_entry(entry: Projection, dialect: str, names: set[str], report: Report) -> None:
    """Check one declaration."""
    where = f"{entry.tool_id} in {dialect}"
    report.must(LEGAL.fullmatch(entry.wire_name) is not None, f"{where}: {entry.wire_name!r}")
    report.must(entry.wire_name not in names, f"{where}: {entry.wire_name!r} is there twice")
    text = json.dumps(entry.declaration, allow_nan=False)
    for reference in re.findall(r'"\$ref": "([^"]*)"', text):
        report.must(reference.startswith("#"), f"{where}: refers to {reference!r}")


def yes(question: Question) -> Allow:
    """Answer what is asked because of an address or a path."""
    return Allow(by="corpus")


def within(sent: Any, arrived: Any) -> bool:
    """Tell whether all that was sent arrived; defaults may have been added."""
    if isinstance(sent, dict) and isinstance(arrived, dict):
        return all(key in arrived and within(sent[key], arrived[key]) for key in sent)
    if isinstance(sent, list) and isinstance(arrived, list):
        return len(sent) == len(arrived) and all(map(within, sent, arrived))
    return sent == arrived


async def called(session: Any, tools: list[Tool], report: Report, ran: list[Any]) -> None:
    """Call every tool with what fits, and with what does not."""
    validators = Validators()
    for tool in tools:
        validator = validators.get(tool.input_schema, arguments=True)
        given = sample(normalize(tool.input_schema).schema)
        if not isinstance(given, dict) or validator.check(given):
            report.count("called", "no sample found")
            continue
        ran.clear()
        outcome = await session.call(tool.id, given, approver=yes)
        report.count("called", f"with a sample: {outcome.status} {outcome.code or ''}")
        report.must(outcome.ok, f"{tool.id}: {given!r} ended {outcome.code}: {outcome.text}")
        if ran:
            report.must(within(given, ran[0]), f"{tool.id}: sent {given!r}, arrived {ran[0]!r}")
        for wrong in (["no", "object"], {**given, "no such parameter": 1}):
            ran.clear()
            outcome = await session.call(tool.id, wrong, approver=yes)
            kind = type(wrong).__name__
            report.count(
                "called", f"with a wrong {kind}: {outcome.status} {outcome.code or ''}"
            )
            fits = isinstance(wrong, dict) and not validator.check(wrong)
            report.must(outcome.ok == fits, f"{tool.id}: {kind} ended {outcome.status}")
            report.must(bool(ran) == fits, f"{tool.id}: ran with a wrong {kind}")


def searched(box: Toolbox, tools: list[Tool], report: Report) -> None:
    """Each tool is found by its own name."""
    start = time.perf_counter()
    for tool in tools:
        query = tool.id.rpartition(".")[2]
        hits = [hit.tool_id for hit in box.index.search(query, limit=25)]
        place = hits.index(tool.id) + 1 if tool.id in hits else 0
        same = sum(hit.rpartition(".")[2].lower() == query.lower() for hit in hits)
        report.count(
            "found by name", "first" if 1 <= place <= max(same, 1) else f"{place or 'not'}"
        )
    took = (time.perf_counter() - start) / max(len(tools), 1)
    print(f"search: {took * 1e6:.0f} µs a query over {len(tools)} tools")


def dialects() -> Iterator[str]:
    """The dialects of the core, and of the pack of further ones where it is installed."""
    yield from CORE_DIALECTS
    try:
        import toolcrib_dialects  # noqa: PLC0415 - it may not be there
    except ImportError:
        return
    yield from sorted(toolcrib_dialects.DIALECTS)


async def run(path: Path, report: Report) -> None:
    """Take everything through."""
    ran: list[Any] = []
    feeds = read(path, report, ran)
    given = [each.tool for feed in feeds for each in feed.implementations]
    schemas(given, report)
    pack = Pack("corpus")

    @pack.source
    def sources() -> list[Feed]:
        return feeds

    local: list[Any] = [pack]
    projectors = []
    names = list(dialects())
    if len(names) > len(CORE_DIALECTS):
        import toolcrib_dialects  # noqa: PLC0415 - as above

        local.append(toolcrib_dialects.pack)
        projectors = ["dialects"]
    policy = Policy(local=local, projectors=projectors, defer=False)
    async with Toolbox(policy) as box, box.session("corpus") as session:
        while box.sources.pending:
            await asyncio.sleep(0.01)
        tools = [e.tool for e in box.catalog.tools.values() if e.pack == "corpus"]
        for refusal in box.catalog.refusals:
            report.count("withheld", refusal.code)
        report.must(
            len(tools) + len(box.catalog.refusals) >= len({t.id for t in given}),
            "a tool is neither offered nor refused",
        )
        report.counts["composed"]["tools"] = len(tools)
        generated = Generated(tools)
        for given_to in generated.fitting.values():
            report.count("generated", f"{len(given_to)} arguments that fit")
        for name in names:
            for strict in (False, True):
                spoken = session.shown.dialect(name)
                shown(spoken, tools, generated, strict=strict, report=report)
        searched(box, tools, report)
        await called(session, tools, report, ran)


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("path", type=Path)
    path = parser.parse_args().path
    report = Report()
    start = time.perf_counter()
    asyncio.run(run(path, report))
    report.show()
    print(f"{time.perf_counter() - start:.1f} s")
    return 1 if report.broken else 0


if __name__ == "__main__":
    sys.exit(main())
