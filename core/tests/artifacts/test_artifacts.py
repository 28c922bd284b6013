"""Artifacts: whole or not there, verified, private, and each in its own namespace."""

from __future__ import annotations

import asyncio
import hashlib
import json
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolcrib.artifacts import ArtifactStore, Quota, SessionArtifacts, export
from toolcrib.errors import Failed, NotFound, RecordError, Unavailable
from toolcrib.outcome import ArtifactLink
from toolcrib.testing import Clock


@pytest.fixture
def clock():
    return Clock(1e6)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "artifacts"


@pytest.fixture
def store(root, clock):
    one = ArtifactStore(root, clock=clock)
    yield one
    one.close()


@pytest.fixture
def space(store):
    return store.namespace("conversation", "c")


def files(root):
    return sorted(p for p in root.rglob("*") if p.is_file() and "index.db" not in p.name)


def test_bytes_come_back_under_their_digest(space):
    """With the link that results carry."""
    link = space.put(b"hello", media_type="text/plain", title="greeting")

    assert link == ArtifactLink(
        "sha256:" + hashlib.sha256(b"hello").hexdigest(), 5, "text/plain", "greeting"
    )
    assert space.get(link.digest) == b"hello"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.binary(max_size=300), st.integers(0, 400), st.none() | st.integers(0, 400))
def test_a_range_is_the_slice(space, data, start, size):
    """Whatever is asked for, beyond the end too."""
    digest = space.put(data, media_type="a/b").digest
    end = None if size is None else start + size

    assert space.get(digest, start=start, size=size) == data[start:end]


@pytest.mark.parametrize("chosen", [{"start": -1}, {"size": -1}])
def test_a_negative_range_is_refused(space, chosen):
    """It is no slice from the end."""
    digest = space.put(b"x", media_type="a/b").digest

    with pytest.raises(ValueError, match="range"):
        space.get(digest, **chosen)


@pytest.mark.parametrize(
    "digest",
    [
        "",
        "sha256:" + "0" * 64,
        "../../etc/passwd",
        "sha256:../x",
        "0" * 64,
        "sha256:" + "A" * 64,
    ],
)
def test_unknown_malformed_and_foreign_digests_are_alike(store, space, digest):
    """Nobody learns what another session stored."""
    foreign = store.namespace("conversation", "d").put(b"theirs", media_type="a/b").digest

    for one in (digest, foreign):
        with pytest.raises(NotFound) as caught:
            space.get(one)
        assert caught.value.code == "artifact.unknown"
        assert one[:20] in caught.value.text
    with pytest.raises(NotFound):
        space.pin(foreign)
    with pytest.raises(NotFound):
        space.remove(foreign)


def test_two_namespaces_share_nothing(store):
    """Removing in one leaves the other's copy."""
    one, two = store.namespace("app-a", "s"), store.namespace("app-b", "s")
    digest = one.put(b"same", media_type="a/b").digest
    two.put(b"same", media_type="a/b")

    one.clear()

    assert two.get(digest) == b"same"
    with pytest.raises(NotFound):
        one.get(digest)
    assert store.namespaces() == (("app-b", "s"),)


@pytest.mark.parametrize("scope", ["../x", "a/b", "/etc", "..", "con", "index.db", "é\ud800"])
def test_scope_ids_never_become_paths(store, root, scope, tmp_path):
    """They are hashed: nothing appears outside, whatever they say."""
    space = store.namespace("session", scope)
    digest = space.put(b"x", media_type="a/b").digest

    assert space.get(digest) == b"x"
    assert [p.parent.parent for p in files(root)] == [root]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["artifacts"]
    space.clear()
    assert files(root) == []


@pytest.mark.parametrize("scope", [(), ("",), ("a", ""), ("a\0b",)])
def test_empty_and_null_scopes_are_refused(store, root, scope):
    """Before any folder is made."""
    with pytest.raises(RecordError, match="needs names"):
        store.namespace(*scope)
    assert files(root) == []


def test_scopes_are_not_joined_ambiguously(store):
    """("a", "b c") and ("a b", "c") are two namespaces."""
    digest = store.namespace("a", "b c").put(b"x", media_type="a/b").digest

    with pytest.raises(NotFound):
        store.namespace("a b", "c").get(digest)


def test_same_bytes_keep_the_metadata_of_each_put(space, root):
    """One blob, two references, neither changes the other."""
    text = space.put(b"X", media_type="text/plain", title="a.txt")
    image = space.put(b"X", media_type="image/png", title="b.png")

    assert text.digest == image.digest
    assert [a.link for a in space.list()] == [text, image]
    assert space.list(text.digest) == space.list()
    assert len(files(root)) == 1


def test_the_same_put_twice_is_one_reference(space):
    """Nothing piles up."""
    for _ in range(2):
        space.put(b"X", media_type="text/plain", title="a.txt")

    assert len(space.list()) == 1


@pytest.mark.parametrize("media_type", ["", "text", "text/", "a/b\n", "../x", "a b/c"])
def test_a_wrong_media_type_is_refused(space, media_type, root):
    """Before anything is written."""
    with pytest.raises(ValueError, match="media type"):
        space.put(b"x", media_type=media_type)
    assert files(root) == []


def test_media_types_may_have_parameters(space):
    """As HTTP has them."""
    assert space.put(b"x", media_type="text/html; charset=utf-8").media_type.endswith("utf-8")


def test_flipped_bytes_are_never_given(space, root):
    """The damage is told, and the next put repairs it."""
    data = os.urandom(5000)
    link = space.put(data, media_type="a/b")
    (path,) = files(root)
    damaged = bytearray(data)
    damaged[2500] ^= 1
    path.write_bytes(damaged)

    for chosen in ({}, {"start": 0, "size": 10}):
        with pytest.raises(Failed) as caught:
            space.get(link.digest, **chosen)
        assert caught.value.code == "artifact.damaged"
    assert space.put(data, media_type="a/b") == link
    assert space.get(link.digest) == data


def test_a_short_blob_is_repaired_by_the_next_put(space, root):
    """Being there is not being whole."""
    link = space.put(b"x" * 5000, media_type="a/b")
    os.truncate(files(root)[0], 100)

    space.put(b"x" * 5000, media_type="a/b")

    assert space.get(link.digest) == b"x" * 5000


def test_lost_bytes_are_restored_by_the_next_put(space, root):
    """Somebody tidied up behind our back."""
    link = space.put(b"x", media_type="a/b")
    files(root)[0].unlink()
    with pytest.raises(NotFound):
        space.get(link.digest)

    space.put(b"x", media_type="a/b")

    assert space.get(link.digest) == b"x"


@pytest.mark.skipif(os.name != "posix", reason="modes and links")
def test_files_are_for_their_owner_only(space, root):
    """Folders 0700, files 0600, whatever the umask."""
    old = os.umask(0)
    try:
        space.put(b"x", media_type="a/b")
    finally:
        os.umask(old)
    for path in [root, *root.rglob("*")]:
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path


@pytest.mark.skipif(os.name != "posix", reason="modes and links")
@pytest.mark.parametrize("how", ["mode", "link", "folder"])
def test_a_blob_that_is_not_ours_is_damaged(space, root, how, tmp_path):
    """Even if its bytes are right."""
    link = space.put(b"x", media_type="a/b")
    (path,) = files(root)
    if how == "mode":
        path.chmod(0o644)
    else:
        path.unlink()
        if how == "folder":
            path.mkdir()
        else:
            (tmp_path / "elsewhere").write_bytes(b"x")
            path.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(Failed):
        space.get(link.digest)


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_a_store_open_to_others_is_refused(root):
    """The message says what to run."""
    root.mkdir()
    root.chmod(0o755)

    with pytest.raises(RecordError, match="chmod 700"):
        ArtifactStore(root)


def test_a_foreign_index_is_refused_and_kept(root):
    """It is not overwritten."""
    root.mkdir(mode=0o700)
    (root / "index.db").write_bytes(b"junk" * 1000)
    (root / "index.db").chmod(0o600)

    with pytest.raises(RecordError, match="move it aside"):
        ArtifactStore(root)
    assert (root / "index.db").read_bytes() == b"junk" * 1000


def test_a_full_namespace_drops_what_was_used_least_recently(root, clock):
    """Pinned ones stay; others may come back by being put again."""
    store = ArtifactStore(root, clock=clock, quota=Quota(total=300, items=10))
    space = store.namespace("c")
    links = []
    for number in range(3):
        links.append(space.put(bytes([number]) * 100, media_type="a/b"))
        os.utime(root.rglob(links[-1].digest[7:]).__next__(), (clock.now, clock.now))
        clock.now += 100
    space.pin(links[0].digest)
    clock.now += 100
    space.get(links[1].digest)

    space.put(b"new" * 33, media_type="a/b")

    assert [a.digest for a in space.list()][:2] == [links[0].digest, links[1].digest]
    with pytest.raises(NotFound):
        space.get(links[2].digest)
    store.close()


@pytest.mark.parametrize("quota", [Quota(total=100, evict=False), Quota(items=1, evict=False)])
def test_a_full_namespace_that_keeps_everything_refuses(root, quota):
    """What was there stays; nothing of the refused one is left."""
    store = ArtifactStore(root, quota=quota)
    space = store.namespace("c")
    link = space.put(b"x" * 60, media_type="a/b")

    with pytest.raises(Unavailable, match="no room") as caught:
        space.put(b"y" * 60, media_type="a/b")
    assert caught.value.code == "artifact.quota"
    assert space.put(b"x" * 60, media_type="text/plain").digest == link.digest
    assert len(files(root)) == 1
    assert store.namespace("d").put(b"y" * 60, media_type="a/b")
    store.close()


def test_one_artifact_has_a_largest_size(root):
    """Whatever could be dropped for it."""
    store = ArtifactStore(root, quota=Quota(item=10))

    with pytest.raises(Unavailable, match="larger than allowed"):
        store.namespace("c").put(b"x" * 11, media_type="a/b")
    store.close()


def test_what_expires_goes_unless_pinned(space, store, clock, root):
    """Bytes go with their last reference."""
    gone = space.put(b"1", media_type="a/b", expires=clock.now + 5)
    kept = space.put(b"2", media_type="a/b", expires=clock.now + 5, pinned=True)
    both = space.put(b"3", media_type="a/b", expires=clock.now + 5)
    space.put(b"3", media_type="text/plain")
    assert store.expire() == 0

    clock.now += 5

    assert store.expire() == 2
    assert [a.digest for a in space.list()] == [kept.digest, both.digest]
    assert len(files(root)) == 2
    with pytest.raises(NotFound):
        space.get(gone.digest)


def test_what_is_idle_can_expire(space, clock, root):
    """By the time it was last read."""
    idle, used = (space.put(data, media_type="a/b") for data in (b"1", b"2"))
    for path in files(root):
        os.utime(path, (clock.now, clock.now))
    clock.now += 1000
    space.get(used.digest)

    assert space.expire(unused_for=500) == 1
    assert [a.digest for a in space.list()] == [used.digest]
    assert idle.digest != used.digest


def test_removing_makes_room(root):
    """The quota counts what is there."""
    store = ArtifactStore(root, quota=Quota(total=100, evict=False))
    space = store.namespace("c")
    link = space.put(b"x" * 60, media_type="a/b")

    space.remove(link.digest)

    assert space.put(b"y" * 60, media_type="a/b")
    store.close()


def test_paths_are_told_only_if_the_store_may(root, space):
    """And only of verified files."""
    link = space.put(b"x", media_type="a/b")
    assert space.path(link.digest) is None

    shown = ArtifactStore(root, show_paths=True)
    assert shown.namespace("conversation", "c").path(link.digest).read_bytes() == b"x"
    shown.close()


_KILLED = """
import os, signal, sys
from toolcrib.artifacts import ArtifactStore
real = os.write
def half(descriptor, data):
    real(descriptor, data[: len(data) // 2])
    os.kill(os.getpid(), signal.SIGKILL)
os.write = half
ArtifactStore(sys.argv[1]).namespace("conversation", "c").put(b"x" * 100000, media_type="a/b")
"""


@pytest.mark.skipif(os.name != "posix", reason="kills by signal")
def test_a_writer_killed_half_way_leaves_no_artifact(store, space, root, clock):
    """The same put works, and replaces what the dead one left."""
    done = subprocess.run([sys.executable, "-c", _KILLED, str(root)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert [path.stat().st_size for path in files(root)] == [50_000]
    assert space.list() == ()

    link = space.put(b"x" * 100_000, media_type="a/b")

    assert space.get(link.digest) == b"x" * 100_000
    assert [path.stat().st_size for path in files(root)] == [100_000]


@pytest.mark.skipif(os.name != "posix", reason="kills by signal")
def test_what_writers_left_that_were_killed_is_scanned_away(store, space, root, clock):
    """In place or beside it; not while it could be of a writer at work."""
    for _ in range(2):  # the second one finds the file of the first
        done = subprocess.run([sys.executable, "-c", _KILLED, str(root)], check=False)
        assert done.returncode == -signal.SIGKILL
    assert len(files(root)) == 2
    for path in files(root):
        os.utime(path, (clock.now, clock.now))
    kept = space.put(b"kept", media_type="a/b")

    assert (space.heal().parts, space.heal().orphans) == (0, 0)
    clock.now += 4000
    healed = store.heal()[("conversation", "c")]

    assert (healed.parts, healed.orphans) == (1, 1)
    assert len(files(root)) == 1
    assert space.get(kept.digest) == b"kept"


def test_a_writer_that_fails_removes_its_own_file_only(space, root, monkeypatch):
    """What others stored stays, and the caller is told."""
    space.put(b"mine", media_type="a/b")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RecordError, match="No space left"):
        space.put(b"other", media_type="a/b")

    assert len(files(root)) == len(space.list()) == 1


def test_a_writer_that_fails_takes_nothing_from_another_of_the_same_bytes(
    store, space, root, monkeypatch
):
    """The other one finished meanwhile, beside it, and its file has the name now."""
    beside = ArtifactStore(root)
    other = beside.namespace("conversation", "c")
    real, failed = os.fsync, []

    def full(descriptor):
        if not failed:
            failed.append(descriptor)
            other.put(b"same", media_type="a/b")
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RecordError, match="No space left"):
        space.put(b"same", media_type="a/b")

    (artifact,) = space.list()
    assert space.get(artifact.digest) == b"same"
    assert len(files(root)) == 1
    beside.close()


def test_a_scan_reports_damage_and_loss(space, root, clock):
    """What it lists afterwards can be read."""
    links = [space.put(bytes([n]), media_type="a/b") for n in range(3)]
    folder = files(root)[0].parent
    (folder / links[0].digest[7:]).write_bytes(b"other")
    (folder / links[1].digest[7:]).unlink()
    (folder / ("0" * 64)).write_bytes(b"orphan")
    for path in files(root):
        os.utime(path, (clock.now, clock.now))
    clock.now += 4000

    healed = space.heal()

    assert healed.damaged == (links[0].digest,)
    assert healed.missing == (links[1].digest,)
    assert healed.orphans == 1
    assert [a.digest for a in space.list()] == [links[2].digest]
    assert space.heal() == type(healed)()


def test_a_scan_after_repair_finds_nothing(space):
    """It keeps no memory of a failed one."""
    space.put(b"x", media_type="a/b")

    assert space.heal() == space.heal()


def _put_many(root, results):
    store = ArtifactStore(root)
    space = store.namespace("conversation", "c")
    digests = {space.put(b"same" * 100_000, media_type="a/b").digest for _ in range(5)}
    digests |= {space.put(bytes([n]) * 100, media_type="a/b").digest for n in range(20)}
    results.put(sorted(digests))


def test_processes_and_threads_put_the_same_bytes(root, store, space):
    """All succeed, one blob each, no file of theirs is left."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    workers = [context.Process(target=_put_many, args=(root, results)) for _ in range(2)]
    threads = [
        threading.Thread(
            target=space.put, args=(b"same" * 100_000,), kwargs={"media_type": "a/b"}
        )
        for _ in range(10)
    ]
    for one in (*workers, *threads):
        one.start()
    found = [results.get(timeout=60) for _ in workers]
    for one in (*workers, *threads):
        one.join()

    assert found[0] == found[1]
    assert len(found[0]) == len(files(root)) == len(space.list()) == 21
    assert all(space.get(digest) for digest in found[0])


def test_a_tool_reads_and_writes_off_the_loop(store, space):
    """The interface that a running tool is given."""
    artifacts = store.session("conversation", "c")
    assert isinstance(artifacts, SessionArtifacts)

    async def main():
        link = await artifacts.put(b"hello", media_type="text/plain", title="t")
        return link, await artifacts.get(link.digest, start=1, size=3)

    link, part = asyncio.run(main())
    assert (link.title, part) == ("t", b"ell")


def test_an_export_overwrites_nothing(space, tmp_path):
    """Equal names are numbered, on systems without case too; devices are avoided."""
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "chart.png").write_bytes(b"old")
    titles = ["chart.png", "Chart.png", "chart.png", "con.txt", "../../x", None]
    for number, title in enumerate(titles):
        space.put(bytes([number]), media_type="image/png", title=title)

    written = export(space, folder)

    names = sorted(p.name for p in folder.iterdir())
    assert (folder / "chart.png").read_bytes() == b"old"
    assert len({name.casefold() for name in names}) == len(names) == 8
    assert "_con.txt" in names
    for name, artifact in written.items():
        assert (folder / name).read_bytes() == space.get(artifact.digest)
    listing = json.loads((folder / "artifacts.json").read_text())
    assert {v["digest"] for v in listing.values()} == {a.digest for a in space.list()}


READERS = {
    "list": lambda store, space, digest: space.list(),
    "get": lambda store, space, digest: space.get(digest),
    "put": lambda store, space, digest: space.put(b"more", media_type="a/b"),
    "namespaces": lambda store, space, digest: store.namespaces(),
    "heal": lambda store, space, digest: store.heal(),
    "expire": lambda store, space, digest: store.expire(),
}


@pytest.mark.parametrize("reader", READERS)
def test_an_index_that_is_damaged_is_said_with_a_way_back(store, space, root, reader):
    """Whoever reads it; the bytes are still there."""
    digest = space.put(b"kept" * 1000, media_type="a/b").digest
    store.close()
    path = root / "index.db"
    data = bytearray(path.read_bytes())
    data[100:] = b"\xff" * (len(data) - 100)
    path.write_bytes(bytes(data))

    def read():
        again = ArtifactStore(root)
        READERS[reader](again, again.namespace("conversation", "c"), digest)

    with pytest.raises(RecordError, match="move it aside"):
        read()
    assert any(file.name == digest[7:] for file in files(root))
