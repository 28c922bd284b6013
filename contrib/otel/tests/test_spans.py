"""Spans of real calls, through a toolbox, as an exporter gets them."""

from __future__ import annotations

import asyncio
import json

from importlib import resources

import pytest

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from toolcrib import Allow, Context, Failed, Pack, Policy, Signature, Toolbox, authoring

import toolcrib_otel

from toolcrib_otel import Spans, observer, pack, parent


SECRET = "sk-very-secret-0123456789"


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter):
    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(exporter))
    yield made
    made.shutdown()


def make_pack():
    shop = Pack("shop")

    @shop.tool(effects=())
    async def add(ctx: Context, a: int, b: int = 1) -> int:
        """Add two numbers."""
        ctx.report(f"adding {SECRET}", progress=1, total=2)
        return a + b

    @shop.tool(effects={"host_state"}, idempotent="yes")
    async def order(ctx: Context, item: str) -> str:
        """Order something."""
        if ctx.attempt == 1:
            text = f"lost {item}"
            raise ConnectionError(text)
        text = f"no {item}"
        raise Failed(text, code="shop.sold_out")

    @order.signature
    def _(item: str) -> Signature:
        return Signature(effects={"host_state"})

    return shop


def play(provider, scenario, **policy):
    """Play a scenario in a session that is observed."""

    async def main():
        rules = Policy(
            local=[make_pack(), observer(provider)],
            observers=["otel"],
            retry={"attempts": 2, "base": 0.001, "cap": 0.001},
            **policy,
        )
        async with Toolbox(rules) as box, box.session("conv-42") as session:
            return await scenario(session)

    return asyncio.run(main())


def spans(exporter):
    return {span.name: span for span in exporter.get_finished_spans()}


def test_a_call_is_a_span_by_the_conventions(provider, exporter):
    """From its start to its outcome, with the ledger's id of the call."""

    async def scenario(session):
        return await session.call("shop.add", {"a": 1})

    outcome = play(provider, scenario)

    span = spans(exporter)["execute_tool shop.add"]
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "shop.add",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": outcome.call_id,
        "gen_ai.conversation.id": "conv-42",
        "toolcrib.pack": "shop",
        "toolcrib.status": "ok",
    }
    assert span.status.status_code is StatusCode.UNSET
    assert span.end_time >= span.start_time > 1e18
    assert span.parent is None
    assert span.instrumentation_scope.name == "toolcrib"


def test_retries_and_progress_are_events_of_the_span(provider, exporter):
    """With numbers and the failure's class, without what they say."""

    async def scenario(session):
        await session.call("shop.add", {"a": 1})
        await session.call("shop.order", {"item": "tea"})

    play(provider, scenario, mode="trust")

    (progress,) = spans(exporter)["execute_tool shop.add"].events
    assert (progress.name, dict(progress.attributes)) == (
        "toolcrib.progress",
        {"progress": 1, "total": 2},
    )


def test_a_failure_is_an_error_with_its_code(provider, exporter):
    """The code, never the text."""

    async def scenario(session):
        await session.call("shop.order", {"item": "tea"})

    play(provider, scenario, mode="trust")

    span = spans(exporter)["execute_tool shop.order"]
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == "shop.sold_out"
    assert span.attributes["toolcrib.status"] == "failed"
    assert span.attributes["toolcrib.code"] == "shop.sold_out"


def test_a_call_that_was_stopped_is_a_span_without_duration(provider, exporter):
    """Wrong arguments, unknown tools and refusals are seen too."""

    async def scenario(session):
        await session.call("shop.add", {"a": "x"})
        await session.call("shop.nothing", {})
        await session.call("shop.order", {"item": "tea"})

    play(provider, scenario, rules=["deny shop.order"])

    found = spans(exporter)
    codes = {name: span.attributes["error.type"] for name, span in found.items()}
    assert codes == {
        "execute_tool shop.add": "arguments.invalid",
        "execute_tool shop.nothing": "tool.unknown",
        "execute_tool shop.order": "rule.denied",
    }
    assert all(span.start_time == span.end_time for span in found.values())


def test_the_wait_for_a_person_is_a_span_of_its_own(provider, exporter):
    """From the question to the answer; who answered is not told."""

    async def scenario(session):
        await session.call("shop.order", {"item": "tea"}, approver=lambda _: Allow(by="alice"))

    play(provider, scenario)

    found = spans(exporter)
    asked = found["approve_tool shop.order"]
    assert asked.end_time >= asked.start_time
    assert (
        asked.attributes["gen_ai.tool.call.id"]
        == (found["execute_tool shop.order"].attributes["gen_ai.tool.call.id"])
    )
    assert "alice" not in json.dumps([span.to_json() for span in found.values()])


def test_a_question_that_nobody_answers_is_no_error(provider, exporter):
    """Nothing went wrong: nobody was there."""

    async def scenario(session):
        await session.call("shop.order", {"item": "tea"})

    play(provider, scenario)

    span = spans(exporter)["execute_tool shop.order"]
    assert span.attributes["toolcrib.status"] == "needs_approval"
    assert span.status.status_code is StatusCode.UNSET


def test_no_argument_result_or_text_reaches_a_span(provider, exporter):
    """A secret in each place where a call can carry one is in no span."""

    async def scenario(session):
        await session.call("shop.order", {"item": SECRET})
        await session.call("shop.add", {"a": 1, SECRET: 2})
        await session.call("shop.add", {"a": 1})

    play(provider, scenario, mode="trust")

    told = "".join(span.to_json() for span in exporter.get_finished_spans())
    assert "shop.order" in told
    assert SECRET not in told


def test_the_span_that_is_named_is_the_parent(provider, exporter):
    """Of the calls of its conversation, and of no other."""
    tracer = trace.get_tracer("app", tracer_provider=provider)

    async def scenario(session):
        with tracer.start_as_current_span("chat"), parent("conv-42"):
            await session.call("shop.add", {"a": 1})
            async with session.toolbox.session("other") as other:
                await other.call("shop.order", {"item": "tea"})
            await asyncio.sleep(0)

    play(provider, scenario)

    found = spans(exporter)
    assert found["execute_tool shop.add"].parent.span_id == found["chat"].context.span_id
    assert found["execute_tool shop.order"].parent is None


def test_a_parent_is_named_no_longer_than_its_block():
    """Blocks may be nested; what is left over is nothing."""
    with parent("c"), parent("c"):
        pass
    assert toolcrib_otel.spans._parents == {}


def event(name, call_id="call_1", time=5.0, **data):
    return {
        "name": name,
        "conversation": "c",
        "batch_id": "",
        "call_id": call_id,
        "tool_id": "shop.add",
        "time": time,
        "data": data,
    }


def test_an_end_without_a_start_and_a_start_without_an_end_are_told(provider, exporter):
    """A bounded queue may have dropped the other half."""
    heard = Spans(provider)
    heard.hear(event("call.finished", status="ok"))
    for number in range(5000):
        heard.hear(event("call.started", f"call_{number}"))

    (whole, *cut) = exporter.get_finished_spans()
    assert whole.attributes["toolcrib.status"] == "ok"
    assert len(cut) == 5000 - 4096
    assert all(span.attributes["toolcrib.incomplete"] for span in cut)


def test_an_answer_to_a_question_of_another_process_is_told(provider, exporter):
    """Without duration, for nobody here knows when it was asked."""
    Spans(provider).hear(event("question.decided", question="q_1", by="alice"))
    (span,) = exporter.get_finished_spans()
    assert (span.name, span.start_time) == ("approve_tool shop.add", span.end_time)


def test_a_clock_that_goes_back_makes_no_negative_span(provider, exporter):
    """Collectors refuse those."""
    heard = Spans(provider)
    heard.hear(event("call.started", time=10.0))
    heard.hear(event("call.finished", time=9.0, status="ok"))
    (span,) = exporter.get_finished_spans()
    assert span.start_time == span.end_time


def test_what_happens_to_the_toolbox_is_told_in_numbers(provider, exporter):
    """Which tools came and went stands in the news."""
    changed = event("catalog.changed", "", added=["a.b", "a.c"], removed=[], revision=3)
    Spans(provider).hear({**changed, "conversation": "", "tool_id": ""})
    (span,) = exporter.get_finished_spans()
    assert span.name == "toolcrib.catalog.changed"
    assert dict(span.attributes) == {
        "toolcrib.added": 2,
        "toolcrib.removed": 0,
        "toolcrib.revision": 3,
    }


def test_names_are_cut_to_a_bound(provider, exporter):
    """A model may call a tool by a name of any length."""
    long = {**event("call.finished", status="unknown_tool"), "tool_id": "x" * 100_000}
    Spans(provider).hear(long)
    assert len(exporter.get_finished_spans()[0].to_json()) < 4000


def test_without_a_provider_spans_go_nowhere_and_nothing_fails():
    """The global provider does nothing until an application sets one."""
    heard = Spans()
    heard.hear(event("call.started"))
    heard.hear(event("call.finished", status="ok"))


def test_the_manifest_is_what_the_pack_says():
    """It is written, not maintained by hand."""
    data = resources.files("toolcrib_otel").joinpath("toolcrib.json").read_bytes()
    assert authoring.check(data, pack) == []
