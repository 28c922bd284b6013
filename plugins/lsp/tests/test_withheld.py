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


def hovering(fake, path):
    """A server that quotes, in a hover, what stands in the file that defines it."""
    hover = {"contents": {"kind": "plaintext", "value": "one: what a.src says of itself"}}
    place = {"uri": (fake.ws / path).as_uri(), "range": item(fake, path)["range"]}
    fake.plan(
        methods={
            "textDocument/hover": [[{"reply": hover}]],
            "textDocument/definition": [[{"reply": [place]}]],
        }
    )


@pytest.mark.parametrize("rule", DENIED)
def test_hover_does_not_quote_the_file_that_defines_it(fake, rule):
    """A signature and its documentation are lines of that file."""
    hovering(fake, "a.src")
    outcome = ask(fake, "hover", rule, path="b.src", name="one")
    assert good(outcome)["hovers"] == []
    assert "what a.src says" not in repr(outcome)
    assert "a rule keeps this call from that file" in text_of(outcome)
    assert "withheld" in outcome.result.notes


def test_hover_on_what_another_file_defines_is_shown(fake):
    hovering(fake, "b.src")
    outcome = ask(fake, "hover", DENIED[0], path="b.src", name="one")
    assert "what a.src says" in text_of(outcome)


def test_hover_costs_one_question_where_no_rule_speaks_of_files(fake):
    outcome = ask(fake, "hover", "deny *(url=https://x/**)", path="b.src", name="one")
    assert text_of(outcome) == "word one"
    assert fake.logged("textDocument/definition") == []


FAULT = {"error": {"code": -32603, "message": "inner fault"}}


@pytest.mark.parametrize("answer", [FAULT, {"reply": None}, None])
def test_hover_on_what_is_defined_nowhere_is_shown(fake, answer):
    """A server that cannot tell, does not know, or cannot be asked where."""
    hovering(fake, "b.src")
    if answer is None:
        fake.plan(capabilities={"definitionProvider": None})
    else:
        fake.plan(methods={"textDocument/definition": [[answer]]})
    outcome = ask(fake, "hover", DENIED[0], path="b.src", name="one")
    assert text_of(outcome) == "word one"


def test_faults_of_a_file_bring_along_nothing_of_others(fake):
    """Servers point from a fault to places that have to do with it."""
    span = item(fake, "b.src")["range"]
    place = {"uri": (fake.ws / "a.src").as_uri(), "range": span}
    related = [{"location": place, "message": "declared here: def one"}]
    fault = {"range": span, "message": "wrong", "relatedInformation": related}
    reply = {"kind": "full", "items": [fault]}
    fake.plan(diagnostics="pull", methods={"textDocument/diagnostic": [[{"reply": reply}]]})
    outcome = ask(fake, "diagnostics", DENIED[0], path="b.src")
    assert [each["message"] for each in good(outcome)["diagnostics"]] == ["wrong"]
    assert "a.src" not in repr(outcome)
    assert "def one" not in repr(outcome)


def acting(fake, **plan):
    """A server that offers to change the file that is asked about, and another one."""

    def action(title, *steps):
        return {"title": title, "edit": {"documentChanges": list(steps)}}

    def change(path):
        edits = [{"range": item(fake, path)["range"], "newText": "uno"}]
        uri = (fake.ws / path).as_uri()
        return {"textDocument": {"uri": uri, "version": None}, "edits": edits}

    offered = [
        action("Mend here", change("b.src")),
        action("Mend one of a.src", change("b.src"), change("a.src")),
        action("Move to a.src", {"kind": "delete", "uri": (fake.ws / "a.src").as_uri()}),
    ]
    fake.plan(
        capabilities={"codeActionProvider": True},
        methods={"textDocument/codeAction": [[{"reply": offered}]]},
        **plan,
    )


def test_actions_that_would_change_them_are_not_offered(fake):
    """Whatever they do to them; how many there are is said."""
    acting(fake)
    outcome = ask(fake, "code_actions", DENIED[0], path="b.src", line=1)
    assert [each["title"] for each in good(outcome)["actions"]] == ["Mend here"]
    assert "a.src" not in repr(outcome)
    assert "2 actions are left out" in text_of(outcome)
    assert "withheld" in outcome.result.notes


def test_action_that_is_not_there_is_told_without_those_that_would_change_them(fake):
    acting(fake, start=[{"delay": 3.0}])
    outcome = ask(fake, "code_action", DENIED[0], path="b.src", line=1, action="Nothing")
    assert outcome.code == "lsp.no_action"
    assert "Mend here" in outcome.text
    assert "a.src" not in outcome.text


def in_the_dark(fake, rule, tool, **arguments):
    """Change files by a server that is too slow to say in a signature which they are."""
    fake.policy["rules"] = (parse(rule),)

    async def scenario(call):
        return await call(tool, path="b.src", **arguments), call.asked

    return fake.run(scenario)


RENAMING = ("rename", {"name": "one", "new_name": "uno"})
ACTING = ("code_action", {"line": 1, "action": "Mend one of a.src"})
REMOVING = ("code_action", {"line": 1, "action": "Move to a.src"})


@pytest.mark.parametrize(("tool", "arguments"), [RENAMING, ACTING, REMOVING])
def test_change_that_was_judged_in_the_dark_stops_at_a_file_that_a_rule_denies(
    fake, tool, arguments
):
    """The person who is asked sees all of it, and which rule may forbid it; nobody else."""
    acting(fake, start=[{"delay": 3.0}])
    before = [(fake.ws / name).read_bytes() for name in ("a.src", "b.src")]
    outcome, (question,) = in_the_dark(fake, "deny lsp.*(path=**/a.src)", tool, **arguments)
    assert "-def one" in question.preview
    assert "deny lsp.*(path=**/a.src)" in question.reasons[0]
    assert outcome.code == "lsp.withheld", outcome.text
    assert "a.src" not in repr(outcome)
    assert [(fake.ws / name).read_bytes() for name in ("a.src", "b.src")] == before


@pytest.mark.parametrize(("tool", "arguments"), [RENAMING, ACTING])
def test_change_that_was_judged_in_the_dark_is_made_where_a_rule_asks(fake, tool, arguments):
    """The yes that the rule wants was given."""
    acting(fake, start=[{"delay": 3.0}])
    outcome, (question,) = in_the_dark(fake, "ask lsp.*(path=**/a.src)", tool, **arguments)
    assert "a.src" in question.preview
    assert outcome.ok, outcome.text
    assert "uno" in (fake.ws / "a.src").read_text()


@pytest.mark.parametrize(("tool", "arguments"), [RENAMING, ACTING])
def test_change_of_which_it_is_known_that_a_rule_denies_it_is_shown_to_nobody(
    fake, tool, arguments
):
    acting(fake)
    fake.policy["rules"] = (parse("deny lsp.*(path=**/a.src)"),)

    async def scenario(call):
        await call("symbols", path="b.src")
        return await call(tool, path="b.src", **arguments), call.asked

    outcome, asked = fake.run(scenario)
    assert (outcome.status, asked) == ("refused", [])


def test_change_that_cannot_be_made_is_not_told_by_the_name_of_such_a_file(fake):
    """It is withheld before it is found that it cannot be made."""
    twice = [{"range": item(fake, "a.src")["range"], "newText": each} for each in "xy"]
    edit = {"changes": {(fake.ws / "a.src").as_uri(): twice}}
    fake.plan(start=[{"delay": 3.0}], methods={"textDocument/rename": [[{"reply": edit}]]})
    rule = "deny lsp.*(path=**/a.src)"
    outcome, _ = in_the_dark(fake, rule, "rename", name="one", new_name="uno")
    assert outcome.code == "lsp.withheld", outcome.text
    assert "a.src" not in outcome.text
