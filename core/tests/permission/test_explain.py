"""Explanations, suggestions, rules on trial, reviews."""

from __future__ import annotations

import json

import pytest

from toolcrib import permission, resources, rules
from toolcrib.outcome import Json, Link, Outcome, Result, Text
from toolcrib.permission import shadow
from toolcrib.question import Allow
from toolcrib.signature import Signature
from toolcrib.vocabulary import Effect, Status


CALL = Signature(
    reads=[resources.Path("/ws/a"), resources.Url("https://x.com/a?q=1")],
    writes=[resources.Command(["git", "commit", "-m", "a, (b) *"])],
    effects=["agent"],
)


def explain(make, signature, *texts, answer=None, **context):
    admitted = make.call(make.tool(effects=list(Effect)))
    return permission.explain(
        admitted, signature, make.context(texts, **context), answer=answer
    )


def test_an_explanation_says_what_would_let_the_call_run(make):
    """And those rules do."""
    found = explain(make, CALL)
    assert found.verdict == "ask"
    assert [story.verdict for story in found.parts].count("ask") == 3
    assert len(found.allow) == 3
    again = explain(make, CALL, *found.allow)
    assert again.verdict == "run"
    assert {f"rule '{text}'" for text in found.allow} < set(again.decided_by)
    assert "mode ask" in again.decided_by


@pytest.mark.parametrize(
    ("texts", "verdict", "code"),
    [
        ((), "ask", None),
        (("allow *",), "run", None),
        (("deny *(host=x.com)",), "refuse", "rule.denied"),
        (("ask *", "allow *"), "ask", None),
        (("allow *", "deny *(agent=x)"), "run", None),
    ],
)
def test_an_explanation_agrees_with_the_stage(texts, verdict, code, make, judged):
    """It is the same judgement, and JSON-safe."""
    found = explain(make, CALL, *texts)
    assert (found.verdict, found.code) == (verdict, code)
    expected = {"run": "run", "ask": "ask", "refuse": code}[verdict]
    assert judged(CALL, *texts) == expected
    data = json.loads(json.dumps(found.data()))
    assert data["verdict"] == verdict
    assert len(data["parts"]) == len(found.parts)


def test_an_explanation_names_rule_and_part(make):
    """The part that decides is told from the others."""
    found = explain(make, CALL, "deny *(host=x.com)", "allow *(path=**)")
    blamed = [story for story in found.parts if story.by == "rule.denied"]
    assert [story.facts["type"] for story in blamed] == ["url"]
    text = str(found)
    assert text.startswith("files.read: refuse [rule.denied]\n")
    assert "deny *(host=x.com)" in text
    assert "net_read url https://x.com/a?q=1: refuse, by rule.denied" in text


def test_an_explanation_says_that_no_rule_helps(make):
    """Where a deny may concern what was not said."""
    found = explain(make, None, "allow *", "deny *(path=**/.env)")
    assert found.allow == ()
    assert "no rule can let it run; a person can approve it" in str(found)
    assert any("may concern it" in reason for reason in found.reasons)
    assert explain(make, None, "deny *(path=x)", answer=Allow(by="a")).verdict == "run"


def test_a_refused_signature_is_explained_too(make):
    """It has no parts."""
    admitted = make.call(make.tool(effects=["fs_read"]))
    found = permission.explain(admitted, CALL, make.context())
    assert (found.code, found.parts) == ("signature.wider", ())


def test_rules_on_trial_decide_nothing_and_are_compared(make):
    """Looser and stricter are told apart."""
    admitted = make.call(make.tool(effects=list(Effect)))
    calls = [
        (admitted, Signature(reads=[resources.Path("/ws/a")])),
        (admitted, Signature(reads=[resources.Path("/ws/.env")])),
        (admitted, Signature(reads=[resources.Host("x.com")])),
    ]
    tried = make.context(["deny *(path=**/.env)", "allow *(host=x.com)"])
    found = shadow(calls, make.context(), tried)
    assert [difference.direction for difference in found] == ["stricter", "looser"]
    assert "run → refuse, stricter" in str(found[0])
    assert found[1].data()["tried"]["verdict"] == "run"


OFFER = Signature(writes=[resources.Path("/ws/src/a")])


@pytest.mark.parametrize(
    ("generalized", "offered"),
    [
        ("allow files.write(path=src/**)", "allow files.write(path=src/**)"),
        ("(path=src/**)", "allow files.write(path=src/**)"),
        ("deny *(path=src/**)", "allow files.write(path=src/**)"),
        ("allow shell.run(path=src/**)", "allow files.write(path=src/**)"),
        (rules.parse("ask *(path=src/*)"), "allow files.write(path=src/*)"),
        ("(path=docs/**)", None),
        ("(host=*)", None),
        ("allow files.write", None),
        ("allow *", None),
        ("nonsense", None),
        ("", None),
        (None, None),
        (7, None),
    ],
)
def test_what_always_would_store(generalized, offered, make):
    """A rule of this tool that covers this call, or the call itself."""
    admitted = make.call(make.tool(id="files.write", effects=["fs_write"]))
    assert permission.offer(generalized, admitted, OFFER, make.context()) == offered


@pytest.mark.parametrize(
    ("words", "generalized", "offered"),
    [
        (["git", "status", "-s"], "(command=git status *)", True),
        (["python", "x.py"], "(command=python *)", False),
        (["sh", "-c", "evil"], "(command=sh -c *)", False),
        (["busybox", "sh"], "(command=busybox *)", False),
        (["git", "status"], "(command=git *)", False),
        (["git", "status"], "(command=*)", False),
        (["python", "x.py"], "(command=python x.py)", True),
    ],
)
def test_a_program_that_runs_others_is_not_remembered_by_name(
    words, generalized, offered, make
):
    """Whatever its tool offers."""
    admitted = make.call(make.tool(id="shell.run", effects=["process"]))
    call = Signature(writes=[resources.Command(words)])
    found = permission.offer(generalized, admitted, call, make.context())
    assert (found is not None) is offered


def _uses(tool_id, *found):
    return [permission.Use(tool_id=tool_id, resources=[resource]) for resource in found]


@pytest.mark.parametrize(
    ("present", "uses", "expected"),
    [
        (
            "allow files.*",
            _uses("files.read", *map(resources.Path, ["/ws/src/a", "/ws/src/b"])),
            ["allow files.read(path=src/a, path=src/b)"],
        ),
        (
            "allow files.*",
            _uses("files.read", *(resources.Path(f"/ws/src/{n}/{n}") for n in "abcd")),
            ["allow files.read(path=src/**)"],
        ),
        (
            "allow *",
            _uses(
                "web.fetch", resources.Url("https://a.com/x"), resources.Url("https://a.com/y")
            ),
            ["allow web.fetch(host=a.com)"],
        ),
        (
            "allow web.fetch(host=*.e.com)",
            _uses("web.fetch", resources.Url("https://a.e.com/x")),
            ["allow web.fetch(host=a.e.com)"],
        ),
        (
            "allow shell.*",
            _uses("shell.run", resources.Command("git log"), resources.Command(["a b", "*"])),
            ["allow shell.run(command=\"'a b' \\\\*\", command=git log)"],
        ),
        ("allow files.read(path=src/**)", [], []),
    ],
)
def test_suggestions_narrow(present, uses, expected, judged, make):
    """They allow what was used, and lie within the rule that they replace."""
    from toolcrib.permission.linter import is_within  # noqa: PLC0415

    rule = rules.parse(present)
    (found,) = permission.suggest([rule], uses, workspace="/ws")
    assert len(found.rules) == len(expected)
    for new in found.rules:
        assert is_within(new, rule, "/ws")
    for use in uses:
        tool = make.tool(id=use.tool_id, effects=list(Effect))
        call = Signature(reads=use.resources)
        assert judged(call, *found.rules, tool=tool, workspace="/ws") == "run"
    if "a b" not in str(expected):
        assert [new.text for new in found.rules] == expected


@pytest.mark.parametrize(
    ("present", "uses"),
    [
        ("deny files.*", _uses("files.read", resources.Path("/ws/a"))),
        ("allow web.fetch(host=a.com)", _uses("web.fetch", resources.Url("https://a.com/"))),
        (
            "allow web.fetch(url=https://a.com/x)",
            _uses("web.fetch", resources.Url("https://a.com/x/y")),
        ),
        ("allow web.fetch(host=a.com)", _uses("web.fetch", resources.Url("https://b.com/"))),
        ("allow math.add", [permission.Use(tool_id="math.add")]),
    ],
)  # fmt: skip
def test_nothing_is_suggested_that_would_not_narrow(present, uses):
    """Least of all something wider."""
    assert permission.suggest([rules.parse(present)], uses) == ()


def _outcome(**result):
    return Outcome(
        call_id="c", tool_id="t", status=Status.OK, result=Result(**result), text="token"
    )


def test_a_reviewer_appends_redacts_and_marks(make):
    """And leaves the original as it was."""
    before = _outcome(
        summary="token",
        content=[
            Text("a token b"),
            Json({"token": ["token"]}),
            Link("https://x/token", "token"),
        ],
        structured={"a": "token"},
        notes=["kept"],
    )
    review = permission.Review(
        append=["look again"], redact=["token"], failed="untrue", notes=["odd"]
    )
    after = permission.reviewed(before, review, reviewer="lsp")
    assert "token" not in repr(after)
    assert after.result.content[-1] == Text("[lsp] look again")
    assert after.result.notes == ("kept", "lsp: odd", "lsp: redacted")
    assert (after.status, after.code) == (Status.FAILED, "review.failed")
    assert "untrue" in after.text
    assert before.result.summary == "token"


@pytest.mark.parametrize(
    "answer",
    [None, True, "text", {}, {"content": []}, {"append": "text"}, {"redact": [1]},
     {"append": [], "status": "ok"}, {"failed": 1},
     Outcome(call_id="x", tool_id="x", status="ok")],
)  # fmt: skip
def test_what_is_no_review_changes_nothing(answer):
    """A reviewer cannot rewrite an outcome."""
    before = _outcome(content=[Text("a")])
    assert permission.reviewed(before, answer, reviewer="x") is before


def test_a_reviewer_cannot_turn_a_failure_round():
    """A failed call keeps its own status and code."""
    before = Outcome(call_id="c", tool_id="t", status=Status.TIMEOUT, code="call.timeout")
    after = permission.reviewed(before, {"failed": "bad", "append": ["x"]}, reviewer="r")
    assert (after.status, after.code) == (Status.TIMEOUT, "call.timeout")
