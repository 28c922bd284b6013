"""Diagnostics: pushed or pulled, current, stale or unknown, and never silently none."""

import asyncio

import pytest

from lsp_kit import good, text_of


DIAGNOSTIC = "textDocument/diagnostic"
OPEN, CHANGE = "textDocument/didOpen", "textDocument/didChange"


def lines(outcome):
    return [each["location"]["line"] for each in good(outcome)["diagnostics"]]


@pytest.mark.parametrize("way", ["push", "pull", "dynamic"])
def test_fault_is_told_and_a_fix_on_disk_makes_it_go_away(fake, way):
    fake.plan(diagnostics=way)
    fake.write("a.src", "fine\nBAD here\n")

    async def scenario(call):
        first = await call("diagnostics", path="a.src")
        fake.write("a.src", "fine\ngood here\n")
        second = await call("diagnostics", path="a.src")
        fake.write("a.src", "BAD\n")
        return first, second, await call("diagnostics", path="a.src")

    first, second, third = fake.run(scenario)
    assert (lines(first), lines(second), lines(third)) == ([2], [], [1])
    assert "a.src:2:1: error: this is bad [fake]" in text_of(first)
    assert text_of(second) == "No problems in a.src, says fake."
    assert good(second)["known"]


def test_pushing_without_versions_is_understood(fake):
    fake.plan(versions=False)
    fake.write("a.src", "BAD\n")

    async def scenario(call):
        first = await call("diagnostics", path="a.src")
        fake.write("a.src", "good\n")
        return first, await call("diagnostics", path="a.src")

    first, second = fake.run(scenario)
    assert (lines(first), lines(second)) == ([1], [])


def test_asking_again_does_not_wait_for_what_will_not_come(fake):
    fake.plan(diagnostics="push")

    async def scenario(call):
        await call("diagnostics", path="a.src", wait=5)
        # It would take all of that long, and longer than this.
        return await asyncio.wait_for(call("diagnostics", path="a.src", wait=100), 50)

    assert lines(fake.run(scenario)) == []


def test_server_that_never_speaks_is_unknown_and_not_clean(fake):
    fake.plan(diagnostics="none")

    async def scenario(call):
        return await call("diagnostics", path="a.src", wait=1)

    outcome = fake.run(scenario)
    assert (outcome.status, outcome.code) == ("unavailable", "lsp.unknown")
    assert "unknown: timed out" in outcome.text


def test_word_that_comes_too_late_is_kept_for_the_next_question(fake):
    note = {"uri": (fake.ws / "a.src").as_uri(), "version": 1, "diagnostics": []}
    late = [{"delay": 1.5}, {"notify": ["textDocument/publishDiagnostics", note]}]
    fake.plan(methods={OPEN: [late]})

    async def scenario(call):
        first = await call("diagnostics", path="a.src", wait=0)
        return first, await call("diagnostics", path="a.src", wait=30)

    first, second = fake.run(scenario)
    assert first.status == "unavailable"
    assert lines(second) == []


def test_last_known_list_is_kept_on_a_time_out_and_labelled(fake):
    fake.write("a.src", "BAD\n")
    fake.plan(methods={CHANGE: [[{"never": 1}]]})

    async def scenario(call):
        await call("diagnostics", path="a.src")
        fake.write("a.src", "good\nBAD\n")
        return await call("diagnostics", path="a.src", wait=1)

    outcome = fake.run(scenario)
    value = good(outcome)
    assert not value["known"]
    assert value["total"] == 1
    (source,) = value["sources"]
    assert (source["state"], source["version"]) == ("stale", 1)
    assert "timed out" in source["reason"]
    assert "stale" in outcome.result.notes
    assert "is of version 1" in text_of(outcome)


def test_last_known_list_is_kept_when_the_server_crashes(fake):
    fake.write("a.src", "BAD\n")
    fake.settings["restarts"] = 1
    dying = {"methods": {OPEN: [[{"exit": 7}]]}}
    fake.plan(runs=[{"methods": {CHANGE: [[{"exit": 7}]]}}, dying])

    async def scenario(call):
        await call("diagnostics", path="a.src")
        fake.write("a.src", "good\nBAD\n")
        return await call("diagnostics", path="a.src", wait=30)

    outcome = fake.run(scenario)
    (source,) = good(outcome)["sources"]
    assert source["state"] == "stale"
    assert "code 7" in source["reason"]
    assert lines(outcome) == [1]


def test_crash_while_waiting_is_told_at_once(fake):
    fake.plan(methods={OPEN: [[{"delay": 0.2}, {"exit": 7}]]})

    async def scenario(call):
        return await asyncio.wait_for(call("diagnostics", path="a.src", wait=100), 50)

    outcome = fake.run(scenario)
    assert outcome.status == "unavailable"
    assert "unknown" in outcome.text
    assert "code 7" in outcome.text


def test_pull_that_is_not_answered_is_unknown(fake):
    fake.settings["request"] = 1
    fake.plan(diagnostics="pull", methods={DIAGNOSTIC: [[{"never": 1}]]})

    async def scenario(call):
        await call("symbols", path="a.src")
        return await call("diagnostics", path="a.src", wait=0)

    outcome = fake.run(scenario)
    assert outcome.code == "lsp.unknown"
    assert "was not answered" in outcome.text


def test_pull_that_was_claimed_and_is_not_known_falls_back_to_push(fake):
    error = {"code": -32601, "message": "no"}
    fake.plan(
        capabilities={"diagnosticProvider": {"interFileDependencies": False}},
        methods={DIAGNOSTIC: [[{"error": error}]]},
    )
    fake.write("a.src", "BAD\n")

    async def scenario(call):
        return await call("diagnostics", path="a.src")

    assert lines(fake.run(scenario)) == [1]


def test_word_about_an_older_text_is_dropped(fake):
    old = {"uri": (fake.ws / "a.src").as_uri(), "version": 1, "diagnostics": []}
    fake.write("a.src", "x\n")
    change = [{"notify": ["textDocument/publishDiagnostics", old]}]
    fake.plan(methods={CHANGE: [change]})

    async def scenario(call):
        await call("diagnostics", path="a.src")
        fake.write("a.src", "BAD\n")
        return await call("diagnostics", path="a.src", wait=1)

    assert not good(fake.run(scenario))["known"]


def test_least_severity_leaves_out_what_is_less(fake):
    span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
    items = [{"range": span, "severity": n, "message": f"m{n}"} for n in (4, 2, 1, 3)]
    items.append({"range": span, "message": "no word"})
    reply = {"kind": "full", "items": items}
    fake.plan(diagnostics="pull", methods={DIAGNOSTIC: [[{"reply": reply}]]})

    async def scenario(call):
        return await call("diagnostics", path="a.src", severity="warning")

    found = good(fake.run(scenario))["diagnostics"]
    assert [each["severity"] for each in found] == ["error", "error", "warning"]


def many(count):
    """So many faults, all in one place."""
    span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
    items = [{"range": span, "severity": 1, "message": f"m{n}"} for n in range(count)]
    return {"kind": "full", "items": items}


def test_summary_counts_what_is_on_further_pages(fake):
    fake.plan(diagnostics="pull", methods={DIAGNOSTIC: [[{"reply": many(150)}]]})

    async def scenario(call):
        return await call("diagnostics", path="a.src")

    outcome = fake.run(scenario)
    assert (good(outcome)["total"], len(lines(outcome))) == (150, 100)
    assert outcome.result.summary == "a.src: 150 errors"
    assert "incomplete" not in outcome.result.notes


def test_faults_that_are_too_many_to_keep_are_counted(fake):
    fake.plan(diagnostics="pull", methods={DIAGNOSTIC: [[{"reply": many(2007)}]]})

    async def scenario(call):
        return await call("diagnostics", path="a.src", limit=1)

    outcome = fake.run(scenario)
    assert good(outcome)["total"] == 2000
    assert "fake found 7 more, which are not listed." in text_of(outcome)
    assert "incomplete" in outcome.result.notes


def two_servers(fake, **second):
    servers = fake.settings["servers"]
    plan, log = fake.folder / "plan2.json", fake.folder / "log2.jsonl"
    command = [*servers["fake"]["command"][:-2], str(plan), str(log)]
    servers["other"] = {**servers["fake"], "command": command, "slot": "lint"}
    import json

    plan.write_text(json.dumps(second))


def test_words_of_several_servers_are_put_together(fake):
    fake.write("a.src", "BAD\n")
    two_servers(fake, diagnostics="pull")

    async def scenario(call):
        return await call("diagnostics", path="a.src")

    value = good(fake.run(scenario))
    assert value["total"] == 2
    assert [s["state"] for s in value["sources"]] == ["current", "current"]


def test_silence_of_one_of_several_servers_is_said(fake):
    two_servers(fake, diagnostics="none")

    async def scenario(call):
        return await call("diagnostics", path="a.src", wait=1)

    outcome = fake.run(scenario)
    assert "incomplete" in outcome.result.notes
    assert "No problems in a.src, says fake." in text_of(outcome)
    assert "other: unknown: timed out" in text_of(outcome)
