"""The tools through all stages, as an app runs them."""

import asyncio
import json
import os

import pytest

from toolcrib import Allow, Policy, Toolbox

from toolcrib_files import pack


def _reply(name, arguments):
    function = {"name": f"files_{name}", "arguments": json.dumps(arguments)}
    call = {"id": "c1", "type": "function", "function": function}
    return {"choices": [{"message": {"role": "assistant", "tool_calls": [call]}}]}


def run(tree, name, arguments, *, approve=True, before_run=lambda: None, mode="ask"):
    """Run one call and return ``(answer to the model, questions)``."""

    async def whole():
        policy = Policy(local=[pack], workspace=tree.ws, state=tree.state)
        async with (
            Toolbox(policy) as box,
            box.session("conversation", principal="tester", mode=mode) as session,
        ):
            view = await session.view("openai")
            batch = await session.submit(view.calls(_reply(name, arguments)))
            questions = batch.questions
            for question in questions if approve else ():
                await batch.decide(question.id, Allow(by="tester", scope="once"))
            before_run()
            async with batch.run() as events:
                async for _ in events:
                    pass
            return view.results(batch)[0]["content"], questions

    return asyncio.run(whole())


def test_reading_in_the_workspace_is_not_asked(tree):
    tree.write("f", "one\n")
    text, questions = run(tree, "read", {"path": "f"})
    assert "     1\tone" in text
    assert not questions


def test_question_shows_the_diff_and_offers_the_folder(tree):
    tree.write("src/f", "one\n")
    edits = [{"old": "one", "new": "two"}]
    _, (question,) = run(tree, "edit", {"path": "src/f", "edits": edits})
    assert "-one\n+two" in question.preview
    assert question.rule_offered == "allow files.edit(path=src/**)"
    assert (tree.ws / "src/f").read_text() == "two\n"


def test_unanswered_question_writes_nothing(tree):
    text, _ = run(tree, "write", {"path": "new", "content": "x"}, approve=False)
    assert "needs_approval" in text
    assert tree.names() == []


def test_outside_is_read_only_after_a_person_agreed(tree):
    arguments = {"path": str(tree.outside / "sentinel")}
    assert "do not touch" not in run(tree, "read", arguments, approve=False)[0]
    assert "do not touch" in run(tree, "read", arguments)[0]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read", {"path": "d/sentinel"}),
        ("write", {"path": "d/new", "content": "x"}),
        ("grep", {"pattern": "touch", "path": "d"}),
    ],
)
def test_folder_swapped_for_a_link_after_the_decision_is_refused(tree, name, arguments):
    tree.write("d/sentinel", "inside\n")

    def swap():
        os.rename(tree.ws / "d", tree.ws / "old")
        (tree.ws / "d").symlink_to(tree.outside)

    text, _ = run(tree, name, arguments, before_run=swap)
    assert "refused" in text
    assert "do not touch" not in text


def test_file_that_changed_after_its_diff_was_approved_is_left_alone(tree):
    path = tree.write("f", "one\nmore\n")
    edits = [{"old": "one", "new": "two"}]
    text, _ = run(
        tree,
        "edit",
        {"path": "f", "edits": edits},
        before_run=lambda: path.write_text("one\nchanged\n"),
    )
    assert "answer.stale" in text
    assert path.read_text() == "one\nchanged\n"


def test_plan_mode_writes_nothing(tree):
    text, _ = run(tree, "write", {"path": "new", "content": "x"}, mode="plan")
    assert "mode.denied" in text
    assert tree.names() == []
