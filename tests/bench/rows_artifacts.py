"""What is measured of artifacts: writing and reading, small and large."""

from __future__ import annotations

import hashlib
import os

from pathlib import Path

from toolcrib.artifacts import ArtifactStore, Namespace

from material import least, timed
from measuring import main, row


SMALL, LARGE = 4 << 10, 4 << 20


def space_in(folder: Path) -> Namespace:
    """A namespace that nobody else uses."""
    return ArtifactStore(folder / "artifacts").namespace("conversation", "bench")


def plain_write(folder: Path, data: bytes) -> str:
    """Hash, write and sync a file under its name, and sync its folder."""
    name = hashlib.sha256(data).hexdigest()
    with (folder / name).open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    return name


def plain_read(folder: Path, name: str) -> int:
    """Read a file and see that its name is right."""
    data = (folder / name).read_bytes()
    assert hashlib.sha256(data).hexdigest() == name
    return len(data)


def fresh(size: int, count: int) -> list[bytes]:
    """Bytes that nobody has stored yet."""
    return [os.urandom(size) for _ in range(count)]


def writing(folder: Path, size: int, count: int, rounds: int) -> list[float]:
    """Seconds of one write, ours and plain."""
    space, plain = space_in(folder), folder / "plain"
    plain.mkdir()

    def ours() -> float:
        given = fresh(size, count)
        return timed(lambda: [space.put(data, media_type="a/b") for data in given]) / count

    def floor() -> float:
        given = fresh(size, count)
        return timed(lambda: [plain_write(plain, data) for data in given]) / count

    return least(ours, floor, rounds=rounds)


def reading(folder: Path, size: int, count: int) -> list[float]:
    """Seconds of one read, ours and plain."""
    space, plain = space_in(folder), folder / "plain"
    plain.mkdir()
    data = os.urandom(size)
    digest = space.put(data, media_type="a/b").digest
    name = plain_write(plain, data)

    def ours() -> float:
        return timed(lambda: [len(space.get(digest)) for _ in range(count)]) / count

    def floor() -> float:
        return timed(lambda: [plain_read(plain, name) for _ in range(count)]) / count

    return least(ours, floor)


@row
def artifact_write(folder: Path) -> list[float]:
    """Store 4 KB; the floor hashes and writes it, and syncs file and folder."""
    return writing(folder, SMALL, 20, rounds=15)


@row
def artifact_write_large(folder: Path) -> list[float]:
    """Store 4 MB; the floor hashes and writes it, and syncs file and folder."""
    return writing(folder, LARGE, 1, rounds=40)


@row
def artifact_read(folder: Path) -> list[float]:
    """Read 4 KB, verified; the floor reads and hashes it."""
    return reading(folder, SMALL, 200)


@row
def artifact_read_large(folder: Path) -> list[float]:
    """Read 4 MB, verified; the floor reads and hashes it."""
    return reading(folder, LARGE, 3)


if __name__ == "__main__":
    main()
