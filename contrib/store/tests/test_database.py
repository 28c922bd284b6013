"""One file: whose it is, what is in it, and what becomes of it when things go wrong."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
import threading

import pytest

from toolcrib_store import BusyError, Database, DatabaseError


APPLICATION = 0x74657374
MIGRATIONS = (
    "CREATE TABLE notes (number INTEGER PRIMARY KEY, text TEXT NOT NULL)",
    "ALTER TABLE notes ADD COLUMN tag TEXT; CREATE INDEX notes_tag ON notes (tag)",
)


def opened(path, migrations=MIGRATIONS, **more):
    return Database(path, application=APPLICATION, migrations=migrations, **more)


def note(database, text):
    with database.write() as db:
        db.execute("INSERT INTO notes (text) VALUES (?)", (text,))


def notes(database):
    with database.read() as db:
        return [row["text"] for row in db.execute("SELECT text FROM notes ORDER BY number")]


@pytest.fixture
def database(tmp_path):
    found = opened(tmp_path / "state" / "notes.db")
    yield found
    found.close()


def test_a_new_file_is_private_in_a_private_folder(database):
    """Also the files beside it."""
    note(database, "a")
    modes = {stat.S_IMODE(p.stat().st_mode) for p in database.path.parent.iterdir()}
    assert modes == {0o600}
    assert stat.S_IMODE(database.path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("case", ["damaged", "foreign", "newer", "other number"])
def test_what_is_not_ours_keeps_its_bytes(tmp_path, case):
    """Broken, somebody else's, or of a later version."""
    path = tmp_path / "notes.db"
    if case == "damaged":
        path.write_bytes(b"these are notes, and no database " * 100)
    else:
        with sqlite3.connect(path) as theirs:
            theirs.execute("CREATE TABLE theirs (x)")
            number = {"newer": APPLICATION, "other number": 7}.get(case, 0)
            theirs.execute(f"PRAGMA application_id = {number}")
            theirs.execute("PRAGMA user_version = 99")
        theirs.close()
    path.chmod(0o600)
    before = path.read_bytes()
    with pytest.raises(DatabaseError) as caught:
        opened(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["notes.db"]


@pytest.mark.parametrize("case", ["link", "dangling link", "folder", "open to others"])
def test_a_place_that_others_could_have_set_up_is_refused(tmp_path, case):
    """Nothing is made behind a link, and nothing is written for all to read."""
    path, elsewhere = tmp_path / "notes.db", tmp_path / "elsewhere.db"
    if case == "folder":
        path.mkdir()
    elif case == "open to others":
        opened(path).close()
        path.chmod(0o644)
    else:
        if case == "link":
            opened(elsewhere).close()
        path.symlink_to(elsewhere)
    with pytest.raises(DatabaseError):
        opened(path)
    assert elsewhere.exists() == (case == "link")


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    """With its name."""
    (tmp_path / "state").write_text("a file")
    with pytest.raises(DatabaseError, match="cannot be made"):
        opened(tmp_path / "state" / "notes.db")


def test_a_block_that_fails_leaves_nothing(database):
    """Neither does one that is interrupted; the next one works."""
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), database.write() as db:
            db.execute("INSERT INTO notes (text) VALUES ('half')")
            raise error
    note(database, "whole")
    assert notes(database) == ["whole"]


def test_a_full_disk_leaves_the_file_as_it_was(database):
    """The failure says so, and the file works again when there is room."""
    note(database, "a")
    with database.read() as db:
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count = {pages + 1}")
    with pytest.raises(DatabaseError, match="full"):
        note(database, "x" * 100_000)
    with database.read() as db:
        db.execute("PRAGMA max_page_count = 100000")
    note(database, "b")
    assert notes(database) == ["a", "b"]
    assert database.check() == []


def test_a_commit_that_fails_is_rolled_back(database):
    """A deferred constraint is seen at the end only."""
    with database.write() as db:
        db.execute(
            "CREATE TABLE parts (note INTEGER REFERENCES notes DEFERRABLE INITIALLY DEFERRED)"
        )
    with pytest.raises(sqlite3.IntegrityError), database.write() as db:
        db.execute("INSERT INTO parts VALUES (7)")
    note(database, "a")
    with database.read() as db:
        assert db.execute("SELECT count(*) FROM parts").fetchone()[0] == 0


def test_a_wrong_statement_is_not_blamed_on_the_file(database):
    """Who wrote it sees what SQLite says of it."""
    with pytest.raises(sqlite3.IntegrityError), database.write() as db:
        db.execute("INSERT INTO notes (text) VALUES (NULL)")


def test_a_snapshot_shows_one_moment(database):
    """Whatever others write meanwhile."""
    note(database, "a")
    other = opened(database.path)
    with database.snapshot() as db:
        first = db.execute("SELECT count(*) FROM notes").fetchone()[0]
        note(other, "b")
        assert db.execute("SELECT count(*) FROM notes").fetchone()[0] == first
    other.close()
    assert notes(database) == ["a", "b"]


def test_who_holds_the_file_too_long_is_told_apart(database):
    """Trying again may do, then."""
    other = opened(database.path, patience=0.01)
    with database.write() as db:
        db.execute("INSERT INTO notes (text) VALUES ('a')")
        with pytest.raises(BusyError, match="another process"):
            note(other, "b")
    note(other, "c")
    other.close()
    assert notes(database) == ["a", "c"]


def test_threads_take_turns(database):
    """One connection serves them all; none sees half of another's block."""

    def work(name):
        for number in range(20):
            note(database, f"{name}{number}")

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(notes(database)) == 80


def test_an_older_file_is_brought_up_to_date_and_keeps_what_it_holds(tmp_path):
    """Step by step."""
    path = tmp_path / "notes.db"
    old = opened(path, MIGRATIONS[:1])
    note(old, "kept")
    old.close()
    new = opened(path)
    with new.read() as db:
        assert [tuple(row) for row in db.execute("SELECT text, tag FROM notes")] == [
            ("kept", None)
        ]
    new.close()
    with pytest.raises(DatabaseError, match="newer version"):
        opened(path, MIGRATIONS[:1])


def test_a_migration_that_fails_changes_nothing(tmp_path):
    """The old code still opens the file."""
    path = tmp_path / "notes.db"
    opened(path, MIGRATIONS[:1]).close()
    broken = (*MIGRATIONS, "CREATE TABLE more (x); CREATE TABLE notes (again)")
    with pytest.raises(DatabaseError):
        opened(path, broken)
    old = opened(path, MIGRATIONS[:1])
    note(old, "a")
    old.close()


OPENER = """
import sys
from pathlib import Path
from toolcrib_store import Database

sys.stdin.read()
steps = ("CREATE TABLE t (x)", "INSERT INTO t VALUES (1)")
Database(Path(sys.argv[1]), application=7, migrations=steps).close()
"""


def test_many_processes_make_one_file(tmp_path):
    """All begin at once; each step runs once."""
    path = tmp_path / "new.db"
    openers = [
        subprocess.Popen([sys.executable, "-c", OPENER, str(path)], stdin=subprocess.PIPE)
        for _ in range(6)
    ]
    for opener in openers:
        opener.stdin.close()
    assert [opener.wait(60) for opener in openers] == [0] * 6
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT count(*) FROM t").fetchone()[0] == 1
    database.close()


def test_a_copy_is_whole_and_never_written_over_anything(database, tmp_path):
    """Others write on meanwhile."""
    note(database, "a")
    target = tmp_path / "copy.db"
    database.backup(target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    note(database, "b")
    with pytest.raises(FileExistsError):
        database.backup(target)
    copy = opened(target)
    assert notes(copy) == ["a"]
    copy.close()


def test_a_copy_that_fails_leaves_nothing(database, tmp_path):
    """No half file that looks like a backup."""
    database.close()
    with pytest.raises(sqlite3.ProgrammingError):
        database.backup(tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


def test_damage_inside_is_found(tmp_path):
    """Also where nobody has looked yet."""
    path = tmp_path / "notes.db"
    made = opened(path)
    for number in range(200):
        note(made, f"{number} " + "x" * 200)
    made.close()
    with path.open("r+b") as file:
        file.seek(4096 * 4)
        file.write(b"\xff" * 4096)
    broken = opened(path)
    try:
        found = broken.check()
    except DatabaseError as error:
        found = [str(error)]
    broken.close()
    assert found


def test_what_points_nowhere_is_found(database):
    """Whatever switched the check off when it was written."""
    with database.write() as db:
        db.execute("CREATE TABLE parts (note INTEGER REFERENCES notes)")
    with database.read() as db:
        db.execute("PRAGMA foreign_keys = OFF")
    with database.write() as db:
        db.execute("INSERT INTO parts VALUES (7)")
    assert database.check() == ["row 1 of parts points nowhere"]
