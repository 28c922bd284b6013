"""What an app does wrong with a session is told in a sentence, at once."""

from __future__ import annotations

import asyncio

import pytest

from toolcrib import Context, Pack, Policy, Toolbox


PACK = Pack("probe", title="Probe", version="1")


@PACK.tool(effects=())
async def look(ctx: Context) -> str:
    """Look."""
    return "seen"


@pytest.mark.parametrize(
    ("name", "error", "text"),
    [
        (5, TypeError, "not a int: 5"),
        (b"c", TypeError, "not a bytes"),
        (0, TypeError, "not a int"),
        ("a\ud800", ValueError, r"half a character at 1: 'a\\ud800'"),
    ],
)
def test_a_conversation_has_a_name_that_can_be_written_down(tmp_path, name, error, text):
    """It is refused where it is given, not where it is first stored."""

    async def main():
        async with Toolbox(Policy(state=tmp_path, workspace=tmp_path)) as box:
            with pytest.raises(error, match=text):
                box.session(name)

    asyncio.run(main())


def test_the_blocking_toolbox_refuses_such_names_too(tmp_path):
    """Also before the session is entered."""
    with (
        Toolbox.sync(Policy(state=tmp_path, workspace=tmp_path)) as box,
        pytest.raises(TypeError, match="a conversation's name is a text"),
    ):
        box.session(5)


def test_a_forks_name_is_a_text(run):
    """It becomes a part of its conversation's name."""

    async def scenario(session):
        with pytest.raises(TypeError, match="a fork's name is a text"):
            session.fork(5)

    run(scenario)


@pytest.mark.parametrize("calls", [{}, None, [], "{}"])
def test_only_what_a_view_read_is_submitted(run, calls):
    """The sentence says where it comes from."""

    async def scenario(session):
        with pytest.raises(TypeError, match=r"submit takes what view.calls\(reply\) returned"):
            await session.submit(calls)

    run(scenario)


@pytest.mark.parametrize("tool", [None, 5, b"probe.look", look])
def test_a_tool_is_called_by_its_id(run, tool):
    """Not by anything else."""

    async def scenario(session):
        with pytest.raises(TypeError, match="call takes a tool's id"):
            await session.call(tool, {})

    run(scenario, PACK)
