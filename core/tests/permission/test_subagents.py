"""A sub-agent's authority is an intersection: it passes its own gates and its parent's."""

from __future__ import annotations

import pytest

from toolcrib import permission, resources
from toolcrib.question import Allow
from toolcrib.signature import Signature


WRITE = Signature(writes=[resources.Path("/ws/a")])
FETCH = Signature(reads=[resources.Host("x.com")])


def judge(make, signature, parent, child, *, answer=None, grants=()):
    admitted = make.call(make.tool(effects=["fs_write", "net_read", "fs_read"]))
    above = make.context(parent.get("rules", ()), mode=parent.get("mode", "ask"))
    below = make.context(
        child.get("rules", ()),
        mode=child.get("mode", "ask"),
        parent=above,
        agent="worker",
        conversation="child",
        grants=grants,
    )
    return admitted, permission.authorize(admitted, signature, below, answer=answer)


@pytest.mark.parametrize(
    ("parent", "child", "expected"),
    [
        ({}, {}, "ask"),
        ({"mode": "edits"}, {}, "ask"),
        ({}, {"mode": "edits"}, "ask"),
        ({}, {"mode": "trust"}, "ask"),
        ({"mode": "edits"}, {"mode": "edits"}, "run"),
        ({"mode": "plan"}, {"mode": "trust"}, "mode.denied"),
        ({"mode": "trust"}, {"mode": "plan"}, "mode.denied"),
        ({"rules": ["deny files.*"]}, {"rules": ["allow *"]}, "rule.denied"),
        ({"rules": ["ask files.*"]}, {"rules": ["allow *"]}, "ask"),
        ({"rules": ["allow *"]}, {"rules": ["ask files.*"]}, "ask"),
        ({"rules": ["allow *"]}, {"rules": ["allow *"]}, "run"),
        ({"rules": ["allow *"]}, {"rules": ["deny *(agent=worker)"]}, "rule.denied"),
    ],
)
def test_the_stricter_of_both_counts(parent, child, expected, make):
    """Plan is inherited and cannot be left by a child."""
    _, found = judge(make, WRITE, parent, child)
    assert make.verdict(found) == expected


def test_a_person_answers_both(make):
    """But neither answers a refusal."""
    asks, allows = {"rules": ["ask files.*"]}, {"rules": ["allow *"]}
    assert make.verdict(judge(make, WRITE, asks, allows, answer=Allow(by="a"))[1]) == "run"
    plan = {"mode": "plan"}
    assert (
        make.verdict(judge(make, WRITE, plan, allows, answer=Allow(by="a"))[1]) == "mode.denied"
    )


def test_a_grant_to_the_child_answers_the_parents_rules(make):
    """One that was given to the parent's conversation does not."""
    asks, allows = {"rules": ["ask files.*"]}, {"rules": ["allow *"]}
    admitted, asked = judge(make, WRITE, asks, allows)
    assert asked.answers == ("ask files.*",)
    grant = make.grant(admitted, conversation="child", answered="ask files.*")
    found = judge(make, WRITE, asks, allows, grants=[grant])[1]
    assert found.grant_id == "g_1"
    mine = make.grant(admitted, conversation="c", answered="ask files.*")
    assert make.verdict(judge(make, WRITE, asks, allows, grants=[mine])[1]) == "ask"


def test_what_the_parent_asks_about_is_told(make):
    """With the parts that its mode does not run."""
    _, asked = judge(make, FETCH, {}, {"mode": "trust"})
    assert [str(part) for part in asked.parts] == ["net_read host x.com"]


def test_a_childs_paths_start_in_its_own_workspace(make):
    """A worktree outside the parent's workspace is outside for the parent."""
    admitted = make.call(make.tool())
    call = Signature(reads=[resources.Path("a")])
    child = make.context(workspace="/trees/one", parent=make.context())
    assert make.verdict(permission.authorize(admitted, call, child)) == "ask"
    inside = make.context(workspace="/ws/one", parent=make.context())
    assert make.verdict(permission.authorize(admitted, call, inside)) == "run"
