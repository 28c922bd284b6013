"""Several files as one change, also when the process dies."""

import hashlib
import json
import os
import signal

import pytest

from toolcrib_files import journal as journals
from toolcrib_files import replacing
from toolcrib_files.faults import Fault
from toolcrib_files.folders import Folder
from toolcrib_files.journal import Change, Journal
from toolcrib_files.places import locate
from toolcrib_files.texts import digest


def _changes(tree):
    root = str(tree.ws)
    return [
        Change(place=locate(root, "a"), before=b"a\n", after=b"A\n", mode=0o644),
        Change(place=locate(root, "gone"), before=b"gone\n", after=None, mode=0o600),
        Change(place=locate(root, "new/deep/c"), before=None, after=b"C\n"),
        Change(place=locate(root, "b"), before=b"b\n", after=b"B\n", mode=0o644),
    ]


OLD = {"a": b"a\n", "b": b"b\n", "gone": b"gone\n"}
NEW = {"a": b"A\n", "b": b"B\n", "new/deep/c": b"C\n"}


def _fill(tree):
    for name, data in OLD.items():
        tree.write(name, data).chmod(0o600 if name == "gone" else 0o644)


def _content(tree):
    return {
        str(p.relative_to(tree.ws)): p.read_bytes()
        for p in tree.ws.rglob("*")
        if p.is_file() and not p.name.startswith(".toolcrib-")
    }


@pytest.fixture
def journal(tree):
    _fill(tree)
    return Journal(tree.state / "journal")


def _litter(tree):
    return sorted(p.name for p in (tree.state / "journal").glob("*") if p.name != "lock")


def test_all_changes_are_made(tree, journal):
    journal.apply(_changes(tree))
    assert _content(tree) == NEW
    assert _litter(tree) == []


def test_change_that_fails_undoes_those_before_it(tree, journal):
    (tree.ws / "b").write_bytes(b"theirs\n")
    with pytest.raises(Fault) as caught:
        journal.apply(_changes(tree))
    assert caught.value.code == "files.changed"
    assert _content(tree) == {**OLD, "b": b"theirs\n"}
    assert not (tree.ws / "new").exists()
    assert (tree.ws / "gone").stat().st_mode & 0o777 == 0o600
    assert _litter(tree) == []


def test_interruption_undoes_everything(tree, journal, monkeypatch):
    real = replacing.remove

    def interrupted(*args, **kwargs):
        real(*args, **kwargs)
        raise KeyboardInterrupt

    monkeypatch.setattr(replacing, "remove", interrupted)
    with pytest.raises(KeyboardInterrupt):
        journal.apply(_changes(tree))
    assert _content(tree) == OLD
    assert _litter(tree) == []


# What the file system is asked to do; the process dies just before each of these.
STEPS = ["open_file", "open_unnamed", "name_unnamed", "make", "replace", "unlink", "sync"]


def _dies_at(step: int, act) -> bool:
    """Run in a child that is killed before its n-th step; tell whether it was."""
    child = os.fork()
    if child == 0:
        left = [step]

        def counted(name):
            real = getattr(Folder, name)

            def run(*args, **kwargs):
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*args, **kwargs)

            return run

        for name in STEPS:
            setattr(Folder, name, counted(name))
        try:
            act()
        except BaseException:  # noqa: BLE001 - told by the exit code
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)
    return os.waitstatus_to_exitcode(status) != 0


def test_death_at_every_step_leaves_old_or_new_and_recovery_the_one_or_the_other(tree):
    step = 0
    seen = set()
    while True:
        for path in sorted(tree.ws.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        _fill(tree)
        journal = Journal(tree.state / f"journal{step}")
        died = _dies_at(step, lambda j=journal: j.apply(_changes(tree)))
        journal.recover()
        content = _content(tree)
        assert content in (OLD, NEW), f"torn at step {step}"
        seen.add(content == NEW)
        if content == OLD:
            assert not (tree.ws / "new").exists()
        if not died:
            break
        step += 1
    assert step > 30
    assert seen == {False, True}


def test_death_at_every_step_of_one_file_leaves_old_or_new(tree):
    step = 0
    died = True
    while died:
        path = tree.write("f", "old\n")
        change = Change(
            place=locate(str(tree.ws), "f"), before=b"old\n", after=b"new\n", mode=0o644
        )
        died = _dies_at(step, lambda c=change: Journal(tree.state / "j").apply([c]))
        assert path.read_bytes() in (b"old\n", b"new\n")
        step += 1
    assert path.read_bytes() == b"new\n"


def test_next_call_undoes_what_was_left_half_done(tree, files):
    _fill(tree)
    name = hashlib.sha256(str(tree.ws).encode()).hexdigest()[:16]
    plan_left(tree, Journal(tree.state / "journal" / name))
    assert _content(tree) not in (OLD, NEW)
    files.run("write", path="other", content="x\n")
    assert _content(tree) == {**OLD, "other": b"x\n"}


def test_file_that_somebody_else_changed_since_is_kept_and_told(tree, journal):
    plan_left(tree, journal)
    (tree.ws / "a").write_bytes(b"theirs\n")
    with pytest.raises(Fault, match="could not be undone") as caught:
        journal.recover()
    assert caught.value.code == "files.recovery_conflict"
    assert (tree.ws / "a").read_bytes() == b"theirs\n"
    saved = [p for p in (tree.state / "journal").glob("*.old") if p.read_bytes() == b"a\n"]
    assert saved, "the old bytes are kept"
    journal.recover()  # told once; the next call goes on


def plan_left(tree, journal):
    """Leave a plan behind with its first change made."""
    steps = 0
    while True:
        _dies_at(steps, lambda: journal.apply(_changes(tree)))
        if (tree.ws / "a").read_bytes() == b"A\n":
            return
        journal.recover()
        steps += 1


@pytest.mark.parametrize(
    "plan",
    [b"{", b'{"format": 99, "root": "/", "steps": []}', b"[]", b'{"format": 1, "steps": [{}]}'],
)
def test_plan_that_cannot_be_read_stops_everything(tree, journal, plan):
    folder = tree.state / "journal"
    folder.mkdir()
    (folder / "0.json").write_bytes(plan)
    with pytest.raises(Fault) as caught:
        journal.apply(_changes(tree))
    assert caught.value.code == "files.journal_broken"
    assert _content(tree) == OLD


def test_plan_that_is_a_link_stops_everything(tree, journal):
    folder = tree.state / "journal"
    folder.mkdir()
    real = tree.state / "real"
    real.write_text(json.dumps({"format": 1, "root": str(tree.ws), "steps": [], "folders": []}))
    (folder / "0.json").symlink_to(real)
    with pytest.raises(Fault) as caught:
        journal.recover()
    assert caught.value.code == "files.journal_broken"


def test_broken_overwrite_in_place_is_told_from_a_foreign_change(tree, journal, monkeypatch):
    """Half new, half old: only a broken overwrite looks so."""
    monkeypatch.setattr(replacing, "takes_new_files", lambda _: False)
    old, new = b"0123456789" * 10, b"abcdefghij" * 12
    path = tree.write("big", old)
    change = Change(place=locate(str(tree.ws), "big"), before=old, after=new, mode=0o644)

    def torn(descriptor, data):
        os.write(descriptor, data[:33])
        raise OSError(5, "Input/output error")

    real = replacing._write
    monkeypatch.setattr(replacing, "_write", torn)
    monkeypatch.setattr(
        journals, "_put_back", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        journal.apply([change])
    assert path.read_bytes() == new[:33] + old[33:]
    monkeypatch.undo()
    monkeypatch.setattr(replacing, "_write", real)
    Journal(tree.state / "journal").recover()
    assert path.read_bytes() == old


def test_journal_is_private(tree, journal):
    journal.apply(_changes(tree))
    folder = tree.state / "journal"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "lock").stat().st_mode & 0o777 == 0o600


def test_old_bytes_are_compared_before_they_are_put_back(tree, journal):
    plan_left(tree, journal)
    for saved in (tree.state / "journal").glob("*.0.old"):
        saved.write_bytes(b"forged\n")
    with pytest.raises(Fault, match="could not be undone"):
        journal.recover()
    assert (tree.ws / "a").read_bytes() == b"A\n"
    assert digest(b"A\n")
