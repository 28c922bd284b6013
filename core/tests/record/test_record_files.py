"""Which files the ledger accepts, and how it refuses the others."""

from __future__ import annotations

import os
import sqlite3
import stat

import pytest

from toolcrib.errors import RecordError
from toolcrib.record import Ledger
from toolcrib.vocabulary import Durability


posix = pytest.mark.skipif(os.name != "posix", reason="modes and owners")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@posix
def test_files_are_for_their_owner_only(tmp_path, run):
    """Folder 0700; ledger and its side files 0600, whatever the umask."""
    old = os.umask(0)
    try:
        path = tmp_path / "state" / "ledger.db"
        with Ledger.open(path) as ledger:
            run(ledger)
            files = sorted(path.parent.iterdir())
            assert [f.name for f in files if f.is_file()] == [
                "ledger.db",
                "ledger.db-shm",
                "ledger.db-wal",
            ]
            assert {mode(f) for f in files if f.is_file()} == {0o600}
            assert mode(path.parent) == mode(path.with_name("ledger.db.runs")) == 0o700
    finally:
        os.umask(old)


@posix
def test_a_file_open_to_others_is_refused(tmp_path):
    """The message says what to run."""
    path = tmp_path / "ledger.db"
    Ledger.open(path).close()
    path.chmod(0o644)

    with pytest.raises(RecordError, match="chmod 600"):
        Ledger.open(path)


@posix
def test_a_folder_that_others_can_write_is_refused(tmp_path):
    """Somebody could replace the file in it."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)

    with pytest.raises(RecordError, match="chmod 700"):
        Ledger.open(folder / "ledger.db")


@posix
def test_a_link_is_refused(tmp_path):
    """A link could point to anybody's file."""
    Ledger.open(tmp_path / "real.db").close()
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    (tmp_path / "dangling.db").symlink_to(tmp_path / "nothing.db")

    for name in ("link.db", "dangling.db"):
        with pytest.raises(RecordError, match="not a regular file"):
            Ledger.open(tmp_path / name)
    assert not (tmp_path / "nothing.db").exists()


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives files away")
def test_a_file_of_another_user_is_refused(tmp_path):
    """Root does not trust it either."""
    path = tmp_path / "ledger.db"
    Ledger.open(path).close()
    os.chown(path, 12345, -1)

    with pytest.raises(RecordError, match="belongs to user 12345"):
        Ledger.open(path)


def private(path, data):
    path.write_bytes(data)
    path.chmod(0o600)
    return path


@pytest.mark.parametrize(
    "data", [b"not a database at all " * 100, b"x", b"SQLite format 3\0junk"]
)
def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path, data):
    """It is never overwritten."""
    path = private(tmp_path / "ledger.db", data)

    with pytest.raises(RecordError, match="move it aside"):
        Ledger.open(path)
    assert path.read_bytes() == data


def test_another_programs_database_is_refused_and_kept(tmp_path):
    """A file of SQLite is not yet a ledger."""
    path = private(tmp_path / "ledger.db", b"")
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    before = path.read_bytes()

    with pytest.raises(RecordError, match="another program's"):
        Ledger.open(path)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_ledger(tmp_path, run):
    """A crash while it was made leaves an empty file; that is no loss."""
    path = private(tmp_path / "ledger.db", b"")

    with Ledger.open(path) as ledger:
        run(ledger)
        assert ledger.verify() == ()


def test_a_newer_format_is_refused(tmp_path):
    """An older toolcrib cannot know what it would break."""
    path = tmp_path / "ledger.db"
    Ledger.open(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version=99")
    connection.close()

    with pytest.raises(RecordError, match="newer toolcrib"):
        Ledger.open(path)


def test_an_unknown_older_format_is_refused(tmp_path):
    """There is no migration from it."""
    path = tmp_path / "ledger.db"
    Ledger.open(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version=-1")
    connection.close()

    with pytest.raises(RecordError, match="cannot bring up to date"):
        Ledger.open(path)


def test_damaged_pages_are_told(tmp_path, run):
    """Damage in the middle is found by verify or when it is read, never passed over."""
    path = tmp_path / "ledger.db"
    with Ledger.open(path) as ledger:
        for _ in range(50):
            run(ledger)
    data = bytearray(path.read_bytes())
    data[8192:16384] = os.urandom(8192)
    path.write_bytes(data)

    try:
        with Ledger.open(path) as ledger:
            told = str(ledger.verify())
    except RecordError as error:
        told = str(error)
    assert "damaged" in told


def test_a_folder_in_place_of_the_file_is_refused(tmp_path):
    """With a sentence, not a traceback of SQLite."""
    (tmp_path / "ledger.db").mkdir()

    with pytest.raises(RecordError, match="not a regular file"):
        Ledger.open(tmp_path / "ledger.db")


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    """The same for what should be its folder."""
    (tmp_path / "state").write_text("")

    with pytest.raises(RecordError, match="state"):
        Ledger.open(tmp_path / "state" / "ledger.db")


def test_a_writer_that_holds_too_long_is_told(tmp_path, make):
    """Waiting is bounded."""
    path = tmp_path / "ledger.db"
    with Ledger.open(path, wait=0.0) as ledger:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        with pytest.raises(RecordError, match="another process"):
            ledger.intent(make.authorized(), conversation="c", principal="alice")
        other.execute("ROLLBACK")
        other.close()
        assert ledger.intent(make.authorized(), conversation="c", principal="alice") is None


def test_full_durability_syncs_each_write(tmp_path, run):
    """A receipt then survives a power loss."""
    with Ledger.open(tmp_path / "ledger.db", durability=Durability.FULL) as ledger:
        run(ledger)
        assert ledger._connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_odd_names_are_only_names(tmp_path, run):
    """A path with the characters of an address or of SQL opens that very file."""
    path = tmp_path / "a?mode=memory#%41 'x'.db"
    with Ledger.open(path) as ledger:
        run(ledger, conversation="'; DROP TABLE entries; --\0 é")
        assert ledger.verify() == ()
    assert path.exists()


def test_half_characters_of_a_model_are_recorded(ledger, make):
    """A lone surrogate in an id or a name is no reason to lose a receipt."""
    call = make.authorized(provider_id="\ud800", id="x")
    assert ledger.intent(call, conversation="c", principal="alice") is None
    assert ledger.outcome(make.outcome(call))
    lost = make.call(wire_name="\udfff", tool_id=None)
    outcome = make.outcome(call, call_id=lost.id, tool_id="\udfff")
    assert ledger.refusal(outcome, call=lost, conversation="c", principal="alice")

    assert [r.tool_id for r in ledger.receipts("c")] == ["web.fetch", "\udfff"]
    assert ledger.receipts("c")[0].provider_call_id == "\ud800"
    again = make.authorized(provider_id="\ud800")
    assert ledger.intent(again, conversation="c", principal="alice").call_id == "x"
    assert ledger.verify() == ()


def test_a_conversation_with_half_a_character_is_refused(ledger, run):
    """Names are the app's own: it is told."""
    with pytest.raises(RecordError, match="half a character"):
        run(ledger, conversation="\ud800")
