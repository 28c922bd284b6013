"""What a rule keeps from a call does not come back in an answer about something else."""

import pytest

from lsp_kit import good, places, text_of
from toolcrib.rules import parse


def ask(fake, tool, *rules, **arguments):
    fake.policy["rules"] = tuple(map(parse, (*rules, "allow lsp.*")))

    async def scenario(call):
        return await call(tool, **arguments)

    return fake.run(scenario)


DENIED = ["deny *(path=**/a.src)", "ask lsp.*(path=**/a.src)"]


@pytest.mark.parametrize("rule", DENIED)
def test_references_leave_out_files_that_a_rule_keeps_from_the_call(fake, rule):
    """Neither their lines nor their names; how much is missing is said."""
    outcome = ask(fake, "references", rule, path="b.src", name="one")
    assert places(outcome) == ["b.src:2:5"]
    assert "a.src" not in repr(outcome)
    assert "2 places are left out" in text_of(outcome)
    assert "withheld" in outcome.result.notes


def test_answer_of_which_nothing_is_left_says_so(fake):
    """It is no error of the server, and no lie that there is nothing."""
    outcome = ask(fake, "definition", DENIED[0], path="b.src", name="one")
    assert outcome.ok
    assert places(outcome) == []
    assert "knows no other definition" in text_of(outcome)
    assert "1 place is left out" in text_of(outcome)
    assert "a.src" not in repr(outcome)


def test_workspace_symbols_leave_them_out(fake):
    outcome = ask(fake, "workspace_symbols", DENIED[0], query="one")
    assert outcome.ok, outcome.text
    assert "a.src" not in repr(outcome)
    assert "left out: a rule" in text_of(outcome)


def test_calls_leave_them_out(fake):
    """Neither who calls, nor where from."""

    def item(path):
        span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 3}}
        uri = (fake.ws / path).as_uri()
        return {"name": "f", "kind": 12, "uri": uri, "range": span, "selectionRange": span}

    calls = [
        {"from": item(each), "fromRanges": [item(each)["range"]]} for each in ("a.src", "b.src")
    ]
    fake.plan(
        capabilities={"callHierarchyProvider": True},
        methods={
            "textDocument/prepareCallHierarchy": [[{"reply": [item("b.src")]}]],
            "callHierarchy/incomingCalls": [[{"reply": calls}]],
        },
    )
    outcome = ask(fake, "incoming_calls", DENIED[0], path="b.src", name="one")
    assert [each["location"]["path"] for each in good(outcome)["calls"]] == ["b.src"]
    assert "a.src" not in repr(outcome)


def test_file_that_no_rule_speaks_of_is_shown(fake):
    outcome = ask(fake, "references", "deny *(path=**/c.src)", path="b.src", name="one")
    assert places(outcome) == ["a.src:1:5", "a.src:2:1", "b.src:2:5"]
    assert "withheld" not in outcome.result.notes


def test_change_that_was_judged_in_the_dark_stops_at_a_file_that_a_rule_denies(fake):
    """A server that was too slow for the signature says which files only when it runs."""
    fake.plan(start=[{"delay": 3.0}])
    before = (fake.ws / "a.src").read_bytes()
    fake.policy["rules"] = (parse("deny lsp.*(path=**/a.src)"),)

    async def scenario(call):
        return await call("rename", path="b.src", name="one", new_name="uno")

    outcome = fake.run(scenario)
    assert outcome.code == "lsp.withheld", outcome.text
    assert "a.src" not in outcome.text
    assert (fake.ws / "a.src").read_bytes() == before
