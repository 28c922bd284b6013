"""A pack that can tell before a call that it cannot do its work, says so in its signature."""

from __future__ import annotations

import pytest

from toolcrib import Context, Invalid, NotFound, Pack, Refused, Signature, Unavailable


FAILURES = {
    "gone": NotFound("There is no such door."),
    "off": Unavailable("The lift is switched off."),
    "no": Refused("Doors are for people.", code="doors.people"),
    "bad": Invalid("/name", "A door has a number."),
    "bug": KeyError("name"),
}
PACK = Pack("house", title="House", version="1")
RAN = []


@PACK.tool(effects={"device"})
async def enter(ctx: Context, name: str) -> str:
    """Open a door."""
    RAN.append(name)
    return name


@enter.signature
def _(name: str) -> Signature:
    raise FAILURES[name]


def called(run, name):
    """Call the tool; return its outcome and what a person was asked."""
    asked = []

    async def scenario(session):
        return await session.call("house.enter", {"name": name}, approver=asked.append)

    RAN.clear()
    return run(scenario, PACK), asked


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("gone", "tool.not_found"),
        ("off", "tool.unavailable"),
        ("no", "doors.people"),
        ("bad", "tool.invalid"),
    ],
)
def test_it_is_refused_with_the_packs_own_words(run, name, code):
    """And nobody is asked about what cannot work."""
    outcome, asked = called(run, name)
    assert outcome.code == code
    assert FAILURES[name].text in outcome.text
    assert asked == []
    assert RAN == []


def test_a_fault_of_the_signature_is_no_refusal(run):
    """A person decides, as over a call that says nothing of itself."""
    _, asked = called(run, "bug")
    assert len(asked) == 1
