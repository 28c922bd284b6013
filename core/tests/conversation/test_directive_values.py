"""What a directive may ask for, and what is said of one that asks for something else."""

from __future__ import annotations

import pytest

from toolcrib import Context, Directive, Pack, Result


ALL = ("stop_turn", "use_mode", "use_model", "restrict", "switch_workspace")


@pytest.fixture
def direct(run):
    """Let a trusted tool give a directive; return the outcome and the directions."""

    def direct(name, value, times=1):
        pack = Pack("boss")

        @pack.tool(effects=(), directives=ALL)
        async def say(ctx: Context) -> Result:
            """Ask the host for something."""
            return Result("said", directives=[Directive(name, value)] * times)

        async def scenario(session):
            outcome = await session.call("boss.say")
            return outcome, session.directions

        return run(scenario, pack, directives=["boss"])

    return direct


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("use_model", 7, "its value is no name of a model"),
        ("use_model", "", "its value is no name of a model"),
        ("use_model", "m" * 201, "its value is no name of a model"),
        ("use_mode", "bold", "'bold' is no mode"),
        ("use_mode", "trust", "which the user chose"),
        ("restrict", "files.*", "its tools are no list of patterns"),
        ("restrict", 7, "its tools are no list of patterns"),
        ("restrict", {"tools": ["a.*"], "until": "noon"}, "until is 'turn' or 'session'"),
        ("restrict", ["((("], "its tools cannot be read"),
        ("switch_workspace", 7, "its value is no folder"),
        ("switch_workspace", "", "its value is no folder"),
        ("switch_workspace", "/", "is outside the workspace"),
        ("switch_workspace", "../..", "is outside the workspace"),
        ("switch_workspace", "not-there", "not-there"),
    ],
)
def test_a_directive_that_cannot_be_obeyed_is_a_note(direct, name, value, why):
    """The call succeeds, nothing changes, and the note says why."""
    outcome, directions = direct(name, value)
    assert outcome.ok
    assert outcome.result.directives == ()
    assert f"directive {name} not obeyed: " in outcome.result.notes[0]
    assert why in outcome.result.notes[0]
    assert not directions.limits
    assert directions.model is None


def test_restrictions_cannot_pile_up(direct):
    """A tool that restricts without end is stopped."""
    outcome, directions = direct("restrict", ["boss.*"], times=100)
    assert len(directions.restrictions) < 100
    assert "restrictions already" in outcome.result.notes[-1]


def test_a_restriction_ends_when_the_app_says_so(direct):
    """The app's word counts more than the tool's."""
    _, directions = direct("restrict", {"tools": ["boss.*"], "until": "session"})
    (restriction,) = directions.restrictions
    with pytest.raises(KeyError, match="there is no restriction"):
        directions.release("r_other")
    directions.release(restriction.id)
    assert not directions.limits


def test_a_restriction_of_a_turn_ends_with_it(direct):
    """One of the session stays."""
    for until, left in (("turn", 0), ("session", 1)):
        _, directions = direct("restrict", {"tools": ["boss.*"], "until": until})
        directions.begin_turn()
        assert len(directions.restrictions) == left
