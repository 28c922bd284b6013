"""Stores that somebody broke: refused with a way back, never overwritten, nothing runs."""

from __future__ import annotations

import asyncio
import json
import sqlite3

import pytest

from toolcrib import Allow, Context, Pack, Policy, RecordError, Signature, Toolbox
from toolcrib.outcome import ArtifactLink


def make_pack(ran):
    pack = Pack("shop")

    @pack.tool(effects={"host_state"})
    async def order(ctx: Context) -> str:
        """Order."""
        ran.append("order")
        return "much " * 20_000

    @order.signature
    def _() -> Signature:
        return Signature(effects={"host_state"})

    return pack


def play(tmp_path, scenario, *, ran=None, **policy):
    ran = [] if ran is None else ran

    async def main():
        rules = Policy(
            local=[make_pack(ran)],
            workspace=tmp_path,
            state=tmp_path / "state",
            ledger=tmp_path / "ledger" / "ledger.db",
            **policy,
        )
        async with Toolbox(rules) as box, box.session("c") as session:
            return await scenario(session)

    return asyncio.run(main())


async def order(session):
    return await session.call("shop.order", approver=lambda _: Allow(by="alice"))


def _garbage(path):
    path.write_bytes(b"not a database " * 100)


def _short(path):
    path.write_bytes(b"x")


def _foreign(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE notes (text TEXT)")
    connection.close()


def _open_to_others(path):
    path.write_bytes(b"")
    path.chmod(0o666)


@pytest.mark.parametrize("broken", [_garbage, _short, _foreign, _open_to_others])
def test_a_ledger_that_is_none_lets_nothing_run(tmp_path, broken):
    """The text says what is wrong and what to do; the file stays as it is."""
    folder = tmp_path / "ledger"
    folder.mkdir(mode=0o700)
    path = folder / "ledger.db"
    broken(path)
    if broken is not _open_to_others:
        path.chmod(0o600)
    before, ran = path.read_bytes(), []

    with pytest.raises(RecordError, match=r"ledger\.db: .*"):
        play(tmp_path, order, ran=ran)

    assert path.read_bytes() == before
    assert ran == []


def test_a_ledger_that_breaks_while_it_is_open_stops_further_calls(tmp_path):
    """What was running is told; what comes after is refused before it runs."""
    ran = []

    async def scenario(session):
        first = await order(session)
        session.toolbox.ledger._connection.execute("DROP TABLE entries")
        return first, await session.call("shop.order")

    first, second = play(tmp_path, scenario, ran=ran, mode="trust")

    assert first.ok
    assert second.status == "unavailable"
    assert second.code == "ledger.unwritable"
    assert ran == ["order"]


def test_a_grant_that_was_changed_on_disk_is_seen_by_the_chain(tmp_path):
    """Somebody who widens an approval behind the ledger's back is found out."""

    async def scenario(session):
        await session.call("shop.order", approver=lambda _: Allow(by="alice", scope="project"))
        assert session.toolbox.ledger.verify() == ()

    play(tmp_path, scenario)
    connection = sqlite3.connect(tmp_path / "ledger" / "ledger.db")
    (seq, body), *_ = connection.execute(
        "SELECT seq, body FROM entries WHERE kind = 'grant'"
    ).fetchall()
    changed = json.loads(body)
    connection.execute(
        "UPDATE entries SET body = ? WHERE seq = ?", (json.dumps({**changed, "x": 1}), seq)
    )
    connection.commit()
    connection.close()

    async def verified(session):
        return session.toolbox.ledger.verify()

    assert play(tmp_path, verified) != ()


def test_an_artifact_that_was_changed_on_disk_is_not_shown(tmp_path):
    """Its digest is checked on each read; the model is told that it is not there."""

    async def scenario(session):
        outcome = await order(session)
        (link,) = [b for b in outcome.result.content if isinstance(b, ArtifactLink)]
        good = await session.call("crib.read", {"artifact": link.digest})
        for path in (tmp_path / "state" / "artifacts").rglob("*"):
            if path.is_file() and path.stat().st_size == link.size:
                path.chmod(0o600)
                path.write_bytes(b"evil " * (link.size // 5))
        return good, await session.call("crib.read", {"artifact": link.digest})

    good, bad = play(tmp_path, scenario)

    assert good.ok
    assert bad.status in {"not_found", "failed"}
    assert "evil" not in repr(bad)
