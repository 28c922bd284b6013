"""Rules about files hold for tools that name a folder and look at all below it."""

import asyncio

import pytest

from toolcrib import Allow, Policy, Toolbox

from toolcrib_files import pack


@pytest.fixture
def call(tree):
    (tree.ws / "secrets").mkdir()
    (tree.ws / "secrets" / "key.txt").write_text("the word\n")
    (tree.ws / ".env").write_text("the word\n")
    (tree.ws / "plain.txt").write_text("the word\n")

    def run(rule, name, approver=None, above=None, **arguments):
        async def main():
            policy = Policy(
                local=[pack], workspace=tree.ws, state=tree.state, mode="trust", rules=[rule]
            )
            async with Toolbox(policy) as box, box.session("c") as session:
                if above is None:
                    return await session.call(name, arguments, approver=approver)
                async with session.fork("child") as child:
                    return await child.call(name, arguments, approver=approver)

        outcome = asyncio.run(main())
        assert outcome.result is not None, outcome.text
        text = outcome.result.content[0].text
        return text.partition("Skipped: ")[0], outcome.result.structured["skipped"]

    return run


SEARCHES = [
    ("files.grep", {"pattern": "word", "include": ["hidden", "ignored"]}),
    ("files.grep", {"pattern": "word", "mode": "files", "include": ["hidden"]}),
    ("files.glob", {"pattern": "**/*", "include": ["hidden"], "folders": True}),
    ("files.list", {"path": ".", "depth": 3}),
    ("files.list", {}),
]


@pytest.mark.parametrize(("name", "arguments"), SEARCHES)
@pytest.mark.parametrize(
    ("pattern", "hidden"), [("secrets/**", "secrets"), ("**/.env*", ".env")]
)
@pytest.mark.parametrize("verdict", ["deny", "ask"])
def test_what_a_rule_speaks_of_is_left_out_below_a_folder(
    call, name, arguments, pattern, hidden, verdict
):
    text, skipped = call(f"{verdict} files.*(path={pattern})", name, **arguments)
    assert hidden not in text
    assert "plain.txt" in text
    assert skipped["denied"] == 1


def test_a_rule_that_a_person_answered_leaves_nothing_out(call):
    text, skipped = call(
        "ask files.*(path=secrets/**)",
        "files.grep",
        approver=lambda _: Allow(by="me"),
        pattern="word",
        path="secrets",
    )
    assert ("key.txt" in text, skipped) == (True, {})


def test_a_rule_for_another_tool_leaves_nothing_out(call):
    text, _ = call("deny files.write(path=secrets/**)", "files.grep", pattern="word")
    assert "secrets/key.txt" in text


def test_rules_of_whoever_started_a_sub_agent_hold_below_a_folder(call):
    text, skipped = call(
        "deny files.*(path=secrets/**)", "files.grep", above=True, pattern="word"
    )
    assert ("secrets" in text, skipped["denied"]) == (False, 1)
