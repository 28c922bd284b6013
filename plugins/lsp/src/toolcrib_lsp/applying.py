"""Write all files of a plan, or none; and only over what the server has seen."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat

from pathlib import Path

import attrs

from toolcrib import Failed, Refused, ToolFailure, Uncertain

from .edits import FileChange, Plan
from .journal import Record, locked, write_new
from .places import shown
from .texts import read_bytes


__all__ = ["apply"]

_NEW_MODE = 0o644


def apply(plan: Plan, state: Path) -> None:
    """Carry a plan out.

    Every file is looked at twice, before anything is staged and right before it is
    replaced. Whatever fails, the files that were replaced already get their old content
    back; what a process that dies leaves half done is undone by the next one.

    Raises:
        Failed, Refused: nothing was changed; says how each file stands.
        Uncertain: something could not be put back.
    """
    with locked(state, plan.root) as home:
        _check(plan)
        applying = _Applying(plan, Record(home))
        try:
            applying.stage()
            applying.replace()
        except (OSError, ToolFailure) as error:
            applying.undo(error)
        applying.end()


def _check(plan: Plan) -> None:
    """Refuse the whole plan if any file of it cannot be changed as planned."""
    problems = {each.path: why for each in plan.files if (why := _problem(each))}
    if not problems:
        return
    lines = [
        f"  {shown(plan.root, each.path)}: {problems.get(each.path, 'could be changed')}"
        for each in plan.files
    ]
    changed = any(why.startswith("is not what") for why in problems.values())
    text = "Nothing was changed, because not all files can be:\n" + "\n".join(lines)
    if changed:
        raise Failed(text + "\nLook at the files and call again.", code="lsp.changed")
    raise Refused(text, code="lsp.not_writable")


def _problem(each: FileChange) -> str:
    if each.before is None:
        return "exists already" if os.path.lexists(each.path) else ""
    try:
        if read_bytes(each.path) != each.before:
            return "is not what the server saw any more"
    except ToolFailure as failure:
        return failure.text
    # Asked of the mode and not of the system, which lets root write everything.
    return "" if os.stat(each.path).st_mode & 0o222 else "is read-only"


@attrs.define
class _Applying:
    plan: Plan
    record: Record
    staged: dict[str, str] = attrs.field(factory=dict)
    replaced: list[FileChange] = attrs.field(factory=list)
    made: list[str] = attrs.field(factory=list)

    def stage(self) -> None:
        """Write every new content beside its file."""
        for each in self.plan.files:
            mode = _NEW_MODE
            if each.before is not None:
                mode = stat.S_IMODE(os.stat(each.path, follow_symlinks=False).st_mode)
            elif each.came_from is not None:
                mode = stat.S_IMODE(os.stat(each.came_from, follow_symlinks=False).st_mode)
            self.record.add(each.path, each.before, each.after, mode)
            if each.after is None:
                continue
            self._folders(os.path.dirname(each.path))
            temporary = _beside(each.path)
            self.staged[each.path] = temporary
            write_new(temporary, each.after, mode)
        self.record.begin()

    def _folders(self, folder: str) -> None:
        missing = []
        while not os.path.isdir(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for each in reversed(missing):
            os.mkdir(each)
            self.made.append(each)

    def replace(self) -> None:
        """Put every new content in its place."""
        for each in self.plan.files:
            if why := _problem(each):
                text = f"{shown(self.plan.root, each.path)} {why}. Nothing was changed."
                raise Failed(text + " Call again.", code="lsp.changed")
            # Noted first: what is interrupted right here is looked at by undo.
            self.replaced.append(each)
            temporary = self.staged.get(each.path)
            if temporary is None:
                os.unlink(each.path)
            elif each.before is None:
                os.link(temporary, each.path)  # never over a file that has come meanwhile
            else:
                os.replace(temporary, each.path)

    def undo(self, error: OSError | ToolFailure) -> None:
        """Put the old contents back, and say what went wrong.

        Raises:
            ToolFailure: always.
        """
        lost = [each for each in reversed(self.replaced) if not _put_back(each)]
        for folder in reversed(self.made):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        self._tidy()
        if lost:
            names = ", ".join(shown(self.plan.root, each.path) for each in lost)
            text = f"The change failed ({error}), and {names} could not be put back."
            raise Uncertain(text, code="lsp.half_changed") from error
        self.record.done()
        if isinstance(error, ToolFailure):
            raise error
        name = shown(self.plan.root, str(error.filename or ""))
        text = f"{name} could not be written: {error.strerror}. Nothing was changed."
        raise Failed(text, code="lsp.io") from error

    def end(self) -> None:
        """Tidy up after everything went well."""
        self._tidy()
        for folder in {os.path.dirname(each.path) for each in self.plan.files}:
            with contextlib.suppress(OSError):
                handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)
        self.record.done()

    def _tidy(self) -> None:
        for temporary in self.staged.values():
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _beside(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name[:100]}.{secrets.token_hex(6)}.tmp")


def _put_back(each: FileChange) -> bool:
    """Give a file its old content, if it is ours to take back; tell whether it has it."""
    try:
        now = read_bytes(each.path) if os.path.lexists(each.path) else None
        if now == each.before:
            return True
        if now != each.after:
            return False
        if each.before is None:
            os.unlink(each.path)
            return True
        mode = stat.S_IMODE(os.stat(each.path).st_mode) if now is not None else _NEW_MODE
        temporary = _beside(each.path)
        write_new(temporary, each.before, mode)
        os.replace(temporary, each.path)
    except (OSError, ToolFailure):
        return False
    return True
