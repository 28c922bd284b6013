"""The kit for pack authors: fixtures, a context for direct calls, and contract checks.

In a pack's ``conftest.py``::

    pytest_plugins = ["toolcrib.testing"]

    @pytest.fixture
    def toolcrib_pack():
        from my_package import pack
        return pack

Then ``async_run(session.call("pack.tool", {...}))`` takes a call through all stages,
``fake_ctx`` is enough for ``await tool.call(fake_ctx, …)``, and ``check_pack(pack)``
lists everything that would go wrong with the pack elsewhere. A ``Clock`` stands still until
a test moves it, and ``killed_host`` runs a host that dies in the middle of its work.
"""

from __future__ import annotations

import asyncio
import contextlib

from collections.abc import Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from toolcrib.errors import SchemaError
from toolcrib.outcome import Outcome
from toolcrib.policy.value import Policy
from toolcrib.question import Allow
from toolcrib.sync import SyncSession
from toolcrib.toolbox import Toolbox

from .standins import Clock, FakeContext, killed_host


if TYPE_CHECKING:
    from toolcrib.question import Decision, Question


__all__ = [
    "Clock",
    "FakeContext",
    "async_run",
    "check_pack",
    "fake_ctx",
    "killed_host",
    "session",
]

T = TypeVar("T")


def async_run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, for tests without an asyncio plugin."""
    return asyncio.run(work)


@pytest.fixture
def fake_ctx(tmp_path: Path) -> FakeContext:
    """A context for calling a handler directly."""
    return FakeContext(tmp_path)


@pytest.fixture
def toolcrib_policy(toolcrib_pack: Any, tmp_path: Path) -> Policy:
    """The policy of the ``session`` fixture; override it for another."""
    return Policy(local=[toolcrib_pack], workspace=tmp_path, state=tmp_path / ".toolcrib")


class _Session:
    """A session for tests: one call at a time, blocking."""

    def __init__(self, inner: SyncSession) -> None:
        self.inner = inner

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        approve: bool | Callable[[Question], Decision | None] = True,
    ) -> Outcome:
        """Take a call through all stages.

        Args:
            tool: The tool's id.
            arguments: A JSON object, or its text.
            approve: Whether questions are answered with yes, or what answers them.
        """
        if approve is True:
            approver: Any = _yes
        else:
            approver = approve or None
        outcome: Outcome = self.inner.call(tool, arguments, approver=approver)
        return outcome


def _yes(_question: Question) -> Decision:
    return Allow(by="tester")


@pytest.fixture
def session(toolcrib_policy: Policy) -> Iterator[_Session]:
    """A session that runs all stages for the pack that ``toolcrib_pack`` gives."""
    with Toolbox.sync(toolcrib_policy) as box, box.session("test") as inner:
        yield _Session(inner)


def check_pack(pack: Any, *, manifest: Path | None = None) -> list[str]:
    """Return everything that would go wrong with a pack elsewhere; empty is good.

    Checked: the manifest is current, the pack activates, each tool is offered in every
    dialect of the core, its schemas can be enforced, a call with an unknown argument is
    refused before the handler runs, and effects are declared rather than left widest.

    Args:
        pack: The ``Pack``, or an object with hooks.
        manifest: The package's ``toolcrib.json``.
    """
    from toolcrib import authoring  # noqa: PLC0415 - only this check reads it

    found: list[str] = []
    if manifest is not None:
        found += [f"manifest: {line}" for line in authoring.check(manifest.read_bytes(), pack)]
    return found + async_run(_checked(pack))


async def _checked(pack: Any) -> list[str]:
    from toolcrib.activation.activepack import ActivePack  # noqa: PLC0415 - as above
    from toolcrib.schema import normalize  # noqa: PLC0415 - as above

    found: list[str] = []
    async with Toolbox(Policy(local=[pack])) as box:
        found += [f"{r.subject}: {r.text} [{r.code}]" for r in box.catalog.refusals]
        for pack_id in box.catalog.packs:
            active = await box.activate(pack_id)
            if not isinstance(active, ActivePack):
                found.append(f"{pack_id}: {active.text} [{active.code}]")
        async with box.session() as s:
            for name in ("openai", "openai-responses", "anthropic", "mcp"):
                view = await s.view(name)
                found += [f"{r.subject}: in {name}: {r.text}" for r in view.refusals]
            for tool_id, entry in box.catalog.tools.items():
                with contextlib.suppress(SchemaError):
                    normalize(entry.tool.input_schema)
                outcome = await s.call(tool_id, {"no such parameter": 0})
                open_schema = entry.tool.input_schema.get("additionalProperties", False)
                if outcome.status not in {"invalid", "unavailable"} and not open_schema:
                    found.append(f"{tool_id}: an unknown argument is not refused")
    return found
