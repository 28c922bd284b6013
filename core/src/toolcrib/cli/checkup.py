"""What ``toolcrib doctor`` looks at; nothing here imports a pack's code or writes."""

from __future__ import annotations

import datetime as dt
import importlib.util
import os
import platform
import sqlite3
import stat
import sys

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib import places
from toolcrib.conversation.health import read as troubles
from toolcrib.errors import PolicyError, RecordError, ToolcribError
from toolcrib.ownership import check_private_file, check_private_folder
from toolcrib.policy.file import read as read_policy
from toolcrib.policy.trust import is_trusted
from toolcrib.policy.value import Policy
from toolcrib.record import Ledger

from .checking import lint_of, problems_of
from .mending import is_for_apps, mend
from .misspelt import misspelt
from .options import catalog_of
from .output import counted
from .signs import Sign, State
from .terminal import is_there


if TYPE_CHECKING:
    from toolcrib.catalog.stage import Catalog


__all__ = ["Checkup"]


class Checkup:
    """One look at an installation.

    Attributes:
        signs: What was found.
        policy: The policy, if it can be used.
    """

    def __init__(self, *, policy_file: Path | None, workspace: Path, develop: bool) -> None:
        self._file = policy_file or places.policy_file()
        self._given = policy_file is not None
        self._workspace = workspace.expanduser().resolve()
        self._develop = develop
        self.signs: list[Sign] = []
        self.policy: Policy | None = None

    def look(self) -> None:
        """Look at everything that can be looked at without a pack's code."""
        self.signs += self._python()
        self.signs += _seen("policy", self._configuration())
        if self.policy is not None:
            self.signs += _seen("workspace", self._workspace_file(self.policy))
            self.signs += _seen("state", self._state(self.policy))
            self.signs += self._troubles(self.policy)
            self.signs += _seen("ledger", self._ledger(self.policy))
            self.signs += self._packs(self.policy)
            self.signs += _seen("lock", self._lock(self.policy))
        self.signs += self._surroundings()

    # -- Python and files ------------------------------------------------------------

    def _python(self) -> Iterator[Sign]:
        version = platform.python_version()
        text = f"{platform.python_implementation()} {version}, {sys.executable}"
        yield Sign(area="python", state="ok", text=text)
        from importlib.metadata import version as version_of  # noqa: PLC0415 - here only

        where = Path(__file__).parent.parent
        yield Sign(area="toolcrib", state="ok", text=f"{version_of('toolcrib')}, {where}")
        for extra, module, what in _EXTRAS:
            there = importlib.util.find_spec(module) is not None
            text = f"toolcrib[{extra}] is {'' if there else 'not '}installed: {what}"
            fix = [] if there else [f"pip install 'toolcrib[{extra}]'"]
            yield Sign(area="extras", state="ok" if there else "note", text=text, mend=fix)

    def _configuration(self) -> Iterator[Sign]:
        file = self._file
        if not file.is_file():
            if self._given:
                yield Sign(area="policy", state="fail", text=f"there is no {file}")
                return
            text = f"there is no {file}, so no pack is enabled"
            fix = ["toolcrib packs enable DISTRIBUTION"]
            yield Sign(area="policy", state="warn", text=text, mend=fix)
        else:
            yield from _writable(file)
        try:
            if self._given:
                policy = Policy.load(file, workspace=self._workspace)
            else:
                policy = Policy.discover(self._workspace)
        except PolicyError as error:
            for text in (str(error), *getattr(error, "__notes__", ())):
                yield Sign(area="policy", state="fail", text=text, mend=[f"edit {file}"])
            return
        ledger = policy.ledger or (policy.state or places.state_folder()) / "ledger.sqlite"
        self.policy = attrs.evolve(policy, ledger=ledger, develop=self._develop)
        if file.is_file():
            enabled = ", ".join(policy.packs) or "no pack"
            text = (
                f"{file}: {enabled}; mode {policy.mode}; {counted(len(policy.rules), 'rule')}"
            )
            yield Sign(area="policy", state="ok", text=text)
        for notice in policy.notices:
            yield Sign(area="policy", state="warn", text=str(notice))

    def _workspace_file(self, policy: Policy) -> Iterator[Sign]:
        own = self._workspace / places.POLICY_FILE
        if self._given or not own.is_file() or own.resolve() == self._file.resolve():
            return
        try:
            trusted = is_trusted(own, read_policy(own).digest)
        except PolicyError as error:
            yield Sign(area="workspace", state="fail", text=str(error), mend=[f"edit {own}"])
            return
        if trusted:
            yield Sign(area="workspace", state="ok", text=f"{own} is trusted as it is")
        else:
            text = f"{own} is not trusted: it only tightens what you allow"
            fix = [f"toolcrib rules trust --workspace {self._workspace}"]
            yield Sign(area="workspace", state="note", text=text, mend=fix)

    def _state(self, policy: Policy) -> Iterator[Sign]:
        folder = policy.state or places.state_folder()
        if not _is_there(folder):
            yield Sign(area="state", state="note", text=f"{folder} will be made when needed")
            return
        wrong = False
        for place in (folder, folder / "artifacts", folder / "packs"):
            try:
                if _is_there(place):
                    check_private_folder(place, create=False)
            except RecordError as error:
                wrong = True
                text, _, advice = str(error).rpartition("; ")
                yield Sign(area="state", state="fail", text=text, mend=[_command(advice)])
        trust = folder / "trusted.json"
        if _is_there(trust):
            yield from _writable(trust, consequence="it is passed over")
        if not wrong:
            yield Sign(area="state", state="ok", text=f"{folder} is yours alone")

    def _troubles(self, policy: Policy) -> Iterator[Sign]:
        """Tell of functions that failed in other processes, where no call waited for them."""
        for trouble in troubles(policy.state or places.state_folder()):
            when = dt.datetime.fromtimestamp(trouble.time, dt.UTC).isoformat(timespec="seconds")
            times = "once" if trouble.count == 1 else f"{trouble.count} times, last"
            text = f"{trouble.function} of {trouble.tool_id} failed {times} at {when}: "
            text += trouble.problem
            fix = [f"toolcrib explain {trouble.tool_id}"]
            yield Sign(
                area="lifecycle", state="warn", code="lifecycle.failed", text=text, mend=fix
            )

    def _ledger(self, policy: Policy) -> Iterator[Sign]:
        file = Path(policy.ledger) if policy.ledger is not None else Path()
        try:
            if check_private_file(file) is None:
                text = f"{file} will be made by the first call"
                yield Sign(area="ledger", state="note", text=text)
                return
            with Ledger.open(file) as book:
                yield from _book(book, file)
        except (RecordError, sqlite3.Error) as error:
            yield Sign(area="ledger", state="fail", **_advised(str(error), file, self._file))

    # -- packs -------------------------------------------------------------------------

    def _packs(self, policy: Policy) -> Iterator[Sign]:
        try:
            catalog = catalog_of(policy)
        except ToolcribError as error:
            yield Sign(area="packs", state="fail", text=str(error))
            return
        wrong = dict(misspelt(self._file, catalog)) if self._file.is_file() else {}
        yield from wrong.values()
        for refusal in (*catalog.refusals, *problems_of(catalog)):
            if (refusal.details.get("key"), refusal.subject) in wrong:
                continue
            meant = refusal.code in _MEANT or is_for_apps(refusal)
            state: State = "note" if meant else "fail"
            yield Sign(
                area="packs",
                state=state,
                code=refusal.code,
                text=f"{refusal.subject}: {refusal.text}",
                mend=mend(refusal, policy),
            )
        yield from _offered(catalog)
        for finding in lint_of(policy, catalog):
            yield Sign(
                area="rules",
                state="fail" if finding.severity == "error" else "warn",
                code=finding.code,
                text=f"{finding.rule.name}: {finding.text}",
            )

    def _lock(self, policy: Policy) -> Iterator[Sign]:
        from toolcrib.lock import read, take, verify  # noqa: PLC0415 - only where there is a lock

        file = self._file.absolute().with_name("toolcrib.lock")
        if not file.exists():
            return
        try:
            lock = read(file)
            packs = catalog_of(policy).packs
        except ToolcribError as error:
            yield Sign(area="lock", state="fail", text=str(error))
            return
        if lock is None:  # pragma: no cover - it was there a moment ago
            return
        now, refusals = take(packs.values())
        for refusal in refusals:
            yield Sign(area="lock", state="fail", code=refusal.code, text=refusal.text)
        changes = [
            c for c in verify(lock, now, packs=packs) if not c.subject.startswith("sourc")
        ]
        unlockable = {refusal.subject for refusal in refusals}
        drifted = {change.pack for change in changes} | (set(packs) - set(lock.packs))
        for pack in sorted(drifted - unlockable):
            count = sum(change.pack == pack for change in changes)
            text = f"pack {pack} is not what {file} says ({counted(count, 'difference')})"
            if pack not in lock.packs:
                text = f"pack {pack} is not in {file}"
            fix = ["toolcrib lock diff", f"toolcrib lock accept {pack}"]
            yield Sign(area="lock", state="fail", code="lock.drifted", text=text, mend=fix)
        if not changes and set(packs) <= set(lock.packs):
            yield Sign(area="lock", state="ok", text=f"{file} holds for every enabled pack")

    # -- the rest ----------------------------------------------------------------------

    def _surroundings(self) -> Iterator[Sign]:
        if is_there():
            yield Sign(area="terminal", state="ok", text="a person can be asked")
        else:
            text = "nobody can be asked here: what needs approval stays open"
            yield Sign(area="terminal", state="note", text=text)
        encoding = sys.stdout.encoding or "unknown"
        if encoding.lower().replace("-", "") != "utf8":
            text = f"the output's encoding is {encoding}: other characters come as escapes"
            yield Sign(area="terminal", state="note", text=text)


_EXTRAS = (
    ("author", "docstring_parser", "parameter texts from docstrings, for pack authors"),
    ("jsonschema-rs", "jsonschema_rs", "schemas beyond the normal form"),
)
# The user asked for it.
_MEANT = frozenset({"tool.hidden"})


def _seen(area: str, signs: Iterator[Sign]) -> Iterator[Sign]:
    """Give signs; a place that cannot be looked into, such as another user's, is one."""
    try:
        yield from signs
    except OSError as error:
        text = f"{error.filename or area} cannot be looked at: {error.strerror or error}"
        fix = [
            "make it yours (ls -ld, chown), or use places of your own:",
            "XDG_CONFIG_HOME, XDG_STATE_HOME; state and ledger in the policy file",
        ]
        yield Sign(area=area, state="fail", text=text, mend=fix)


def _is_there(place: Path) -> bool:
    """Tell whether something is there; unlike ``exists``, never False where none can tell."""
    try:
        place.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _advised(problem: str, ledger: Path, policy: Path) -> dict[str, Any]:
    """Split what is wrong with a ledger from what mends it, as lines to type."""
    text, _, advice = problem.rpartition("; ")
    aside = f'or, in {policy}: ledger = "{ledger.stem}-2{ledger.suffix}"'
    if advice.startswith("upgrade toolcrib"):
        return {"text": text, "mend": ["pip install --upgrade toolcrib", aside]}
    if not text:
        fresh = f"mv {ledger} {ledger}.old, and the next call makes a new one"
        return {"text": problem, "mend": [fresh, aside]}
    return {"text": text, "mend": [_command(advice)]}


def _command(advice: str) -> str:
    return advice.removeprefix("run: ")


def _writable(file: Path, *, consequence: str = "they decide what runs") -> Iterator[Sign]:
    """Say if others could write a file that carries authority."""
    if os.name != "posix":
        return
    status = file.stat()
    if status.st_uid not in {os.getuid(), 0}:
        text = f"{file} belongs to user {status.st_uid}: {consequence}"
        yield Sign(area="policy", state="fail", text=text, mend=[f"chown {os.getuid()} {file}"])
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        text = f"other users can write {file}: {consequence}"
        yield Sign(area="policy", state="fail", text=text, mend=[f"chmod go-w {file}"])


def _book(book: Ledger, file: Path) -> Iterator[Sign]:
    faults = book.verify()
    for fault in faults:
        yield Sign(area="ledger", state="fail", text=f"{file}: {fault}")
    if not faults:
        count = len(book.conversations())
        text = f"{file}: {counted(count, 'conversation')}, every link holds"
        yield Sign(area="ledger", state="ok", text=text)
    for call in book.unfinished():
        if not call.live:
            text = (
                f"{call.tool_id} ({call.call_id}) was begun by a process that is gone: its "
                "effect may have happened. It is never run again by itself"
            )
            fix = [f"toolcrib ledger show {call.call_id}"]
            yield Sign(area="ledger", state="warn", code="call.uncertain", text=text, mend=fix)
    pending = book.questions(pending=True)
    if pending:
        text = counted(len(pending), "question")
        text += " awaits an answer" if len(pending) == 1 else " await an answer"
        fix = ["toolcrib ledger questions"]
        yield Sign(area="ledger", state="note", code="question.open", text=text, mend=fix)


def _offered(catalog: Catalog) -> Iterator[Sign]:
    for pack_id, finding in catalog.packs.items():
        count = sum(entry.pack == pack_id for entry in catalog.tools.values())
        live = ", and those of its live sources" if finding.manifest.sources else ""
        text = f"{finding}: {counted(count, 'tool')} offered{live}"
        yield Sign(area="packs", state="ok", text=text)
        if finding.provenance.how == "editable":
            text = f"{pack_id} is installed editable: its files are not checked"
            yield Sign(area="packs", state="note", text=text)
    for item in catalog.available:
        text = f"{item.distribution} {item.version} is installed, and not enabled"
        fix = [f"toolcrib packs enable {item.distribution}"]
        yield Sign(area="packs", state="note", code="pack.disabled", text=text, mend=fix)
