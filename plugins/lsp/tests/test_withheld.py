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


def item(fake, path, line=0):
    """Say a function of a file as servers do."""
    span = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 3}}
    uri = (fake.ws / path).as_uri()
    return {"name": "f", "kind": 12, "uri": uri, "range": span, "selectionRange": span}


@pytest.mark.parametrize(
    ("tool", "end", "others"),
    [("incoming_calls", "from", "calls"), ("outgoing_calls", "to", "is called in")],
)
@pytest.mark.parametrize("left", [["b.src"], []])
def test_calls_leave_them_out(fake, tool, end, others, left):
    """Neither who calls, nor where from; each is counted once, and none is not said."""
    ranges = [item(fake, "a.src", n)["range"] for n in (0, 1)]
    calls = [{end: item(fake, each), "fromRanges": ranges} for each in ("a.src", *left)]
    fake.plan(
        capabilities={"callHierarchyProvider": True},
        methods={
            "textDocument/prepareCallHierarchy": [[{"reply": [item(fake, "b.src")]}]],
            f"callHierarchy/{tool.partition('_')[0]}Calls": [[{"reply": calls}]],
        },
    )
    outcome = ask(fake, tool, DENIED[0], path="b.src", name="one")
    assert [each["location"]["path"] for each in good(outcome)["calls"]] == left
    assert "a.src" not in repr(outcome)
    assert "1 place is left out" in text_of(outcome)
    if not left:
        assert f"Nothing else {others}" in outcome.result.summary


@pytest.mark.parametrize("tool", ["implementation", "type_definition"])
def test_other_places_are_left_out_alike(fake, tool):
    """Whatever kind of place is asked for."""
    method = {"implementation": "implementation", "type_definition": "typeDefinition"}[tool]
    places_of = [{"uri": (fake.ws / each).as_uri(), "range": item(fake, each)["range"]}
                 for each in ("a.src", "b.src", "a.src")]  # fmt: skip
    fake.plan(
        capabilities={f"{method}Provider": True},
        methods={f"textDocument/{method}": [[{"reply": places_of}]]},
    )
    outcome = ask(fake, tool, DENIED[0], path="b.src", name="one")
    assert [each["path"] for each in good(outcome)["locations"]] == ["b.src"]
    assert "1 place is left out" in text_of(outcome)


def test_symbols_that_are_all_kept_from_the_call_are_not_none(fake):
    """The summary says that there may be others."""
    rules = [DENIED[0], "deny *(path=**/b.src)"]
    outcome = ask(fake, "workspace_symbols", *rules, query="one")
    assert "no other symbol" in outcome.result.summary


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
