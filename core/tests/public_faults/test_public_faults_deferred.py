"""Finding tools that are not loaded: nothing is hidden, guessed or reached around a limit."""

from __future__ import annotations

import asyncio
import functools
import itertools

import pytest

from toolcrib import Context, Description, Implementation, Pack, Tool
from toolcrib.search import SearchIndex
from toolcrib.sources import Sources


def tool(id_, summary="", *parameters):
    """A tool that is only looked for."""
    return Tool(
        id=id_,
        title=id_.rpartition(".")[2],
        description=Description(summary or f"Tool {id_}."),
        input_schema={
            "type": "object",
            "properties": {name: {"type": "string"} for name in parameters},
        },
    )


def many(count=200):
    """Tools over five packs, two of which share a name."""
    found = [
        tool(f"pack{n % 5}.thing{n}", f"Handle thing {n}.", f"field{n}") for n in range(count)
    ]
    return [*found, tool("mail.send_report"), tool("chat.send_report")]


def ids(hits):
    return [hit.tool_id for hit in hits]


def test_words_of_descriptions_and_parameters_are_found():
    """Not names alone."""
    index = SearchIndex([*many(), tool("misc.op_17", "Download a backend.", "currency")])
    assert "misc.op_17" in ids(index.search("download backend", limit=3))
    assert "misc.op_17" in ids(index.search("currency", limit=3))
    assert index.search("概念") == ()


def test_a_short_name_finds_all_its_owners_first():
    """Whatever its case; the full name finds its one."""
    index = SearchIndex(many())
    both = {"mail.send_report", "chat.send_report"}
    for query in ("send_report", "Send_Report", "send report", "SEND_REPORT"):
        assert set(ids(index.search(query, limit=2))) == both, query
    assert ids(index.search("mail.send_report", limit=1)) == ["mail.send_report"]


ODD = ["**", "[", "(", "?", "\\", "a" * 10_000, "", "the of and", "(a+)+$", "\0", "%s {0} $1"]


@pytest.mark.parametrize("query", ODD, ids=lambda query: repr(query[:8]))
def test_punctuation_in_a_query_means_nothing(query, at_most):
    """It is an ordinary answer, and the work for it is bounded."""
    index = SearchIndex(many())
    with at_most(200_000):
        index.search(query, limit=25)


def test_what_was_looked_up_before_changes_nothing():
    """The first query finds what the last one does, in every order."""
    queries = ["thing7", "send_report", "field11", "pack3", "nonsense"]
    fresh = {query: SearchIndex(many()).search(query) for query in queries}
    for order in itertools.permutations(queries):
        index = SearchIndex(many())
        assert {query: index.search(query) for query in order} == fresh


def team_pack(ran):
    pack = Pack("team")

    @pack.tool(effects=())
    def delete(ctx: Context, name: str) -> str:
        """Delete a team for good."""
        ran.append(name)
        return "deleted"

    @pack.tool(effects=())
    def show(ctx: Context) -> str:
        """Show the teams."""
        return "teams"

    return pack


DEFERRED = {"defer": True}


def test_a_first_search_by_words_needs_no_lookup_by_name(kit):
    """The index is there before anything was selected."""

    async def scenario(session):
        view = await session.view("openai")
        search = ("a", "crib_search", {"query": "teams"})
        (result,) = await session.answer(kit.chat(search), view=view)
        return result["content"]

    assert "team_delete" in kit.converse(scenario, team_pack([]), **DEFERRED)


def test_a_hidden_tool_is_told_from_one_that_does_not_exist(kit):
    """The first is loaded and its schema given; the second is unknown."""
    ran = []

    async def scenario(session):
        view = await session.view("openai")
        calls = [("a", "team_delete", {"name": "x"}), ("b", "team_detele", {"name": "x"})]
        batch = await session.submit(view.calls(kit.chat(*calls)))
        first = [o.code for o in await batch.complete()]
        view = await session.view("openai")
        again = kit.chat(("c", "team_delete", {"name": "x"}), name="r2")
        batch = await session.submit(view.calls(again))
        return first, [o.status for o in await batch.complete()]

    first, second = kit.converse(scenario, team_pack(ran), **DEFERRED)
    assert first == ["tool.not_loaded", "tool.unknown"]
    assert second == ["ok"]
    assert ran == ["x"]


def test_what_a_session_may_not_use_cannot_be_reached_by_searching(kit):
    """Hidden tools are absent from every answer, and calling them does not run."""
    ran = []

    async def scenario(session):
        view = await session.view("openai")
        queries = ["team_delete", "delete a team", "select:team_delete,team_show"]
        calls = [(f"q{n}", "crib_search", {"query": q}) for n, q in enumerate(queries)]
        calls.append(("direct", "team_delete", {"name": "x"}))
        batch = await session.submit(view.calls(kit.chat(*calls)))
        found = await batch.complete()
        return [o.result.metadata.get("found") for o in found[:3]], found[3].status

    searched, direct = kit.converse(
        scenario, team_pack(ran), hide={"tools": ["team.delete"]}, **DEFERRED
    )
    assert all("team.delete" not in found for found in searched)
    assert searched[2] == ["team.show"]
    assert direct != "ok"
    assert ran == []


def test_an_ambiguous_short_name_is_not_picked(kit):
    """Selecting by a name that two packs share loads neither of them blindly."""
    packs = []
    for name in ("mail", "chat"):
        pack = Pack(name)

        @pack.tool(effects=())
        def send_report(ctx: Context) -> str:
            """Send a report."""
            return "sent"

        packs.append(pack)

    async def scenario(session):
        view = await session.view("openai")
        search = ("a", "crib_search", {"query": "select:send_report"})
        batch = await session.submit(view.calls(kit.chat(search)))
        (outcome,) = await batch.complete()
        return outcome.result.metadata

    metadata = kit.converse(scenario, *packs, **DEFERRED)
    assert metadata["found"] in ([], ["chat.send_report", "mail.send_report"])


def test_a_source_that_is_not_read_yet_is_told_from_a_tool_that_does_not_exist(
    kit, monkeypatch
):
    """While it connects, nobody says that there is no such tool; afterwards it is found."""
    go_on = asyncio.Event()
    pack = Pack("far")

    class Feed:
        name = "s"

        async def open(self, changed):
            await go_on.wait()

        async def tools(self):
            async def handler(ctx: Context) -> str:
                return "far away"

            return [Implementation(tool=tool("far.s.reach", "Reach out."), handler=handler)]

        async def close(self):
            pass

    @pack.source
    def feed(host):
        return Feed()

    async def looked(session, name):
        view = await session.view("openai")
        queries = ("reach out", "select:far.s.reach", "select:never.was")
        calls = [(f"{name}{n}", "crib_search", {"query": q}) for n, q in enumerate(queries)]
        batch = await session.submit(view.calls(kit.chat(*calls, name=name)))
        return [
            (o.status, o.code, o.result.metadata.get("found")) for o in await batch.complete()
        ]

    async def scenario(session):
        early = await looked(session, "early")
        go_on.set()
        while session.toolbox.sources.pending:
            await asyncio.sleep(0)
        return early, await looked(session, "late")

    monkeypatch.setattr("toolcrib.sources.Sources", functools.partial(Sources, patience=0))
    early, late = kit.converse(scenario, pack, team_pack([]), **DEFERRED)
    assert [(status, code) for status, code, _ in early] == [
        ("unavailable", "source.pending")
    ] * 3
    assert [(status, found) for status, _, found in late[:2]] == [("ok", ["far.s.reach"])] * 2
    assert late[2][0] == "ok"
    assert late[2][2] == []
