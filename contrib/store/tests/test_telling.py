"""What people and models are told."""

from __future__ import annotations

import json

import click
import pytest

from click.testing import CliRunner
from toolcrib import Busy, Failed, Invalid, NotFound, Refused

from toolcrib_store import BusyError, Database, DatabaseError, StoreError, told
from toolcrib_store.commands import look_after, visible


@pytest.mark.parametrize(
    ("raised", "failure", "code"),
    [
        (StoreError("x.stale", "look again"), Refused, "x.stale"),
        (StoreError("x.unknown", "no", kind="not_found"), NotFound, "x.unknown"),
        (StoreError("x.busy", "wait", kind="busy"), Busy, "x.busy"),
        (StoreError("x.long", "too long", kind="invalid", pointer="/a"), Invalid, "x.long"),
        (DatabaseError("it is damaged"), Failed, "x.store"),
        (BusyError("it is held"), Busy, "x.store"),
    ],
)
def test_what_a_store_says_ends_the_call_that_way(raised, failure, code):
    """With its code and its text."""
    with pytest.raises(failure) as caught, told("x.store"):
        raise raised
    assert caught.value.code == code
    assert (getattr(raised, "text", None) or str(raised)) in str(caught.value)


def test_a_text_that_no_file_could_hold_is_bad_input(tmp_path):
    """A model can send half a character; nothing of the block is kept."""
    shelf = Shelf(tmp_path / "shelf.db")
    with pytest.raises(Invalid) as caught, told("x.store"), shelf.database.write() as db:
        db.execute("INSERT INTO t VALUES ('b')")
        db.execute("INSERT INTO t VALUES (?)", ("\ud800",))
    assert caught.value.code == "x.text"
    assert list(shelf.export()) == [{"x": "a"}]
    shelf.close()


def test_other_errors_stay_what_they_are():
    """A fault of the pack is not a refusal."""
    with pytest.raises(KeyError), told("x.store"):
        raise KeyError("a")


def test_what_moves_a_cursor_is_made_visible():
    """Lines stay lines."""
    assert visible("a\x1b[2J\nb\u202e") == "a\\x1b[2J\nb\\u202e"


class Shelf:
    """A store of one table."""

    def __init__(self, path):
        self.database = Database(path, application=7, migrations=("CREATE TABLE t (x)",))
        with self.database.write() as db:
            db.execute("INSERT INTO t VALUES ('a')")
        self.wrong = []

    def check(self):
        return self.database.check() + self.wrong

    def export(self):
        with self.database.read() as db:
            yield from ({"x": row[0]} for row in db.execute("SELECT x FROM t"))

    def close(self):
        self.database.close()


@pytest.fixture
def people(tmp_path):
    """Run the commands on a shelf."""

    def run(*words, shelf=Shelf, wrong=()):
        group = click.Group()

        def opened():
            if shelf is None:
                return None
            found = shelf(tmp_path / "shelf.db")
            found.wrong = list(wrong)
            return found

        look_after(group, opened)
        return CliRunner().invoke(group, list(words))

    return run


def test_people_check_copy_and_export(people, tmp_path):
    """One JSON object to a line; the copy is a file of its own."""
    assert people("check").output == "ok\n"
    assert json.loads(people("export").output.splitlines()[0]) == {"x": "a"}
    target = tmp_path / "copy.db"
    assert people("backup", str(target)).exit_code == 0
    again = people("backup", str(target))
    assert again.exit_code == 1
    assert "exists" in again.output
    assert people("backup", str(tmp_path / "no" / "copy.db")).exit_code == 1


def test_people_are_told_what_is_wrong(people, tmp_path):
    """And of a file that is not there, or not ours."""
    wrong = people("check", wrong=["row 1 is odd"])
    assert wrong.exit_code == 1
    assert "row 1 is odd" in wrong.output
    assert "there is no file yet" in people("check", shelf=None).output
    (tmp_path / "shelf.db").unlink()
    (tmp_path / "shelf.db").write_bytes(b"notes " * 1000)
    (tmp_path / "shelf.db").chmod(0o600)
    damaged = people("export")
    assert damaged.exit_code == 1
    assert "damaged" in damaged.output
