"""Sub-agents as jobs: their kinds, what is remembered of them, their worktrees."""

from __future__ import annotations

import asyncio
import secrets

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from toolcrib import Context, Failed, Invalid, NotFound, Refused, Unavailable
from toolcrib_runners import ProcessKind, run

from .engine import TaskStore
from .lineage import Run


__all__ = ["AGENT", "InProcessAgents", "begin", "know_kinds", "settle"]

AGENT = "agent"


@attrs.frozen
class InProcessAgents:
    """The job kind ``agent`` for an app whose agents live in this process, and die with it."""

    agents: Any
    name: str = AGENT

    async def run(self, control: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run an agent to its end and return its answer."""
        return dict(await self.agents.run(arguments["task"]))


def know_kinds(ctx: Context) -> None:
    """Make the kinds of jobs known, so that what was left of them is taken up."""
    processes = ctx.jobs.register(ProcessKind())
    agents = ctx.host.agents
    if agents is not None:
        made = getattr(agents, "kind", None)
        kind = made() if made is not None else InProcessAgents(agents)
        if hasattr(kind, "processes"):
            # One keeper of programs for the whole app.
            kind.processes = processes
        ctx.jobs.register(kind)


async def begin(
    ctx: Context,
    store: TaskStore,
    *,
    type_: str,
    prompt: str,
    description: str,
    resume: str | None,
    worktree: bool,
) -> tuple[Any, Run]:
    """Start a sub-agent and remember it."""
    _check_type(ctx, type_)
    before = None if resume is None else await _source(ctx, store, resume, type_)
    place = await _place(ctx, before[0] if before is not None else None, worktree=worktree)
    task = {
        "type": type_,
        "prompt": prompt,
        "description": description,
        "workspace": place.folder,
        "conversation": f"{ctx.conversation}/agent-{secrets.token_hex(4)}",
        # A child never has more authority than who asks for it: the runner needs to know.
        "parent": {
            "conversation": ctx.conversation,
            "principal": ctx.principal,
            "mode": str(ctx.mode),
            "call": ctx.invocation_id,
        },
        "resume": None if before is None else before[1],
    }
    job = await ctx.jobs.start(AGENT, {"task": task})
    made = Run(
        job=job.id,
        owner=ctx.conversation,
        type=type_,
        description=description,
        root=before[0].root if before is not None else job.id,
        resumed_from=resume,
        depth=before[0].depth + 1 if before is not None else 0,
        worktree=place.folder if place.branch is not None else None,
        branch=place.branch,
        base=place.base,
        created=ctx.host.clock.time(),
    )
    try:
        await asyncio.to_thread(store.save_run, made)
    except BaseException:
        # Nobody would know of it, nor end it.
        await asyncio.shield(ctx.jobs.stop(job.id))
        raise
    return job, made


def _check_type(ctx: Context, type_: str) -> None:
    if ctx.host.agents is None:
        text = "this app has no runner for sub-agents"
        raise Unavailable(text, code="task.no_agents")
    types = getattr(ctx.host.agents, "types", None)
    if types is not None and type_ not in types:
        text = f"no agent of type {type_!r}; there are: {', '.join(types) or 'none'}"
        raise Invalid("/type", text, code="task.unknown_agent")


@attrs.frozen
class _Place:
    """Where a sub-agent works; branch and base if that is a worktree of its own."""

    folder: str
    branch: str | None = None
    base: str | None = None


async def _place(ctx: Context, before: Run | None, *, worktree: bool) -> _Place:
    if before is not None and await asyncio.to_thread(_has_worktree, before):
        return _Place(str(before.worktree), before.branch, before.base)
    if worktree:
        return _Place(*await _worktree(ctx))
    return _Place(str(ctx.workspace.root))


def _has_worktree(run_: Run) -> bool:
    return run_.worktree is not None and Path(run_.worktree).is_dir()


async def _source(
    ctx: Context, store: TaskStore, job_id: str, type_: str
) -> tuple[Run, dict[str, Any]]:
    """Return the run that is resumed, and how its job ended."""
    record = await ctx.jobs.get(job_id)
    known = await asyncio.to_thread(store.find_run, job_id, ctx.conversation)
    if known is None:
        text = f"{job_id} is no sub-agent of this conversation"
        raise NotFound(text, code="job.unknown")
    if record.status == "running":
        text = f"{job_id} still runs; wait for it, or stop it, before it is resumed"
        raise Refused(text, code="task.running")
    if known.type != type_:
        text = f"{job_id} is a {known.type}; it is resumed as that"
        raise Invalid("/type", text, code="task.other_type")
    last = {
        "job": job_id,
        "status": record.status,
        "result": record.result,  # type: ignore[attr-defined]
        "error": record.error,  # type: ignore[attr-defined]
    }
    return known, last


# -- worktrees ---------------------------------------------------------------------------


async def _git(folder: str, *words: str) -> str:
    done = await run(["git", *words], cwd=folder, timeout=60.0)
    if not done.ok:
        text = f"git {words[0]} failed: {done.stderr.text()[-500:].strip()}"
        raise Failed(text, code="task.git")
    return done.stdout.text().strip()


async def _worktree(ctx: Context) -> tuple[str, str, str]:
    root = str(ctx.workspace.root)
    name = secrets.token_hex(4)
    target = ctx.host.state / "worktrees" / name
    target.parent.mkdir(mode=0o700, exist_ok=True)
    base = await _git(root, "rev-parse", "HEAD")
    branch = f"toolcrib/agent-{name}"
    await _git(root, "worktree", "add", "--quiet", "-b", branch, str(target), base)
    return str(target), branch, base


async def settle(ctx: Context, store: TaskStore, run_: Run) -> str | None:
    """Say what became of a worktree whose agent has ended; an unchanged one is removed.

    Removing is done in two steps, tree first and branch second, and what was done is
    recorded; a step that fails leaves the other one's work as it is and is named.
    """
    if run_.worktree is None or run_.settled is not None:
        return run_.settled
    root, tree, branch = str(ctx.workspace.root), run_.worktree, str(run_.branch)
    try:
        changed = await _git(tree, "status", "--porcelain")
        head = await _git(tree, "rev-parse", "HEAD")
    except (Failed, OSError) as error:
        return f"its worktree {tree} cannot be looked at: {error}"
    if changed or head != run_.base:
        said = f"its changes are in {tree}, on the branch {branch}"
    else:
        said = "it changed nothing, and its worktree is removed"
        try:
            await _git(root, "worktree", "remove", tree)
            await _git(root, "branch", "--quiet", "-D", branch)
        except Failed as error:
            said = f"it changed nothing; what could not be removed: {error.text}"
    await asyncio.to_thread(store.save_run, attrs.evolve(run_, settled=said))
    return said
