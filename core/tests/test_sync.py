"""The blocking toolbox: the same names, the same results, and nothing left running."""

from __future__ import annotations

import threading

import pytest

from toolcrib import Allow, Context, Deny, Pack, Policy, Refusal, Toolbox
from toolcrib.errors import StageError
from toolcrib.sync import SyncToolbox


@pytest.fixture
def shop(tmp_path):
    """Make a blocking toolbox with one shop, not yet open."""

    def make(**policy):
        pack = Pack("shop")

        @pack.tool(effects=())
        async def add(ctx: Context, a: int, b: int = 1) -> int:
            """Add."""
            return a + b

        @pack.tool(effects={"net_write"}, intent=True, delegate="buyer")
        async def order(ctx: Context, what: str) -> str:
            """Order something."""
            return f"ordered {what}"

        @order.resolve
        def _(stage_id: str, what: str):
            return f"{stage_id}:{what}"

        order.rules(lambda app: [(1, "Be thrifty.")])
        order.context(lambda app: [(1, "Purse: full.", "system")])
        order.visible_text(lambda text, app: text.replace("gold", "****"))
        policy.setdefault("state", tmp_path / "state")
        return Toolbox.sync(Policy(local=[pack], workspace=tmp_path, **policy))

    return make


@pytest.fixture
def session(shop):
    """Open a conversation in a blocking toolbox."""
    with shop() as box, box.session("c") as opened:
        yield opened


def reply(*calls):
    tool_calls = [
        {"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for i, (name, arguments) in enumerate(calls)
    ]
    return {"role": "assistant", "tool_calls": tool_calls}


ORDER = ("shop_order", '{"what": "tea"}')
ADD = ("shop_add", '{"a": 1}')


def test_a_toolbox_shows_its_catalog(shop):
    """Tools are listed without a loop."""
    with shop() as box:
        assert {"shop.add", "shop.order"} <= set(box.catalog.tools)


def test_a_toolbox_is_used_when_it_is_open(shop):
    """Before and after, it says how to open it."""
    box = shop()
    for _ in range(2):
        with pytest.raises(StageError, match="the toolbox is not open"):
            box.session("c")
        with box:
            pass


def test_a_toolbox_is_opened_once_at_a_time(shop):
    """A second opening would leave the first behind."""
    with shop() as box:
        with pytest.raises(StageError, match="the toolbox is open already"):
            box.__enter__()
        assert box.catalog


def test_a_toolbox_is_opened_again_after_it_was_closed(shop):
    """Its loop is made anew."""
    box = shop()
    for _ in range(2):
        with box, box.session("c") as session:
            assert session.call("shop.add", {"a": 1}).ok


def _threads():
    return [each for each in threading.enumerate() if each.name == "toolcrib"]


def test_a_toolbox_that_cannot_be_opened_leaves_no_thread(tmp_path):
    """The error is the caller's, and the loop is gone."""
    before = _threads()

    def failing():
        raise OSError("no place for the ledger")

    box = SyncToolbox(failing)
    with pytest.raises(OSError, match="no place for the ledger"):
        box.__enter__()
    assert _threads() == before
    with pytest.raises(StageError, match="not open"):
        box.catalog  # noqa: B018


def test_closing_a_toolbox_that_is_not_open_does_nothing(shop):
    """A cleanup may run twice."""
    box = shop()
    box.__exit__(None, None, None)
    with box:
        pass
    box.__exit__(None, None, None)
    assert _threads() == []


def test_a_session_is_used_when_it_is_open(shop):
    """Before and after, it says how to open it."""
    with shop() as box:
        session = box.session("c")
        with pytest.raises(StageError, match="the session is not open"):
            session.call("shop.add", {"a": 1})
        with session:
            pass
        session.__exit__(None, None, None)
        with pytest.raises(StageError, match="the session is not open"):
            session.view()


def test_a_conversation_needs_a_proper_name(shop):
    """The error comes where the name is given."""
    with shop() as box, pytest.raises(ValueError, match="conversation"):
        box.session("a\ud800b")


def test_blocking_methods_of_a_tool_are_an_error_and_no_deadlock(tmp_path):
    """A tool runs on the loop that the method would wait for."""
    pack = Pack("own")
    opened = []

    @pack.tool(effects=())
    async def again(ctx: Context) -> str:
        """Call a tool by the blocking session."""
        opened[0].call("own.again")
        return "never"

    policy = Policy(local=[pack], workspace=tmp_path, state=tmp_path / "state")
    with Toolbox.sync(policy) as box, box.session("c") as session:
        opened.append(session)
        outcome = session.call("own.again")
    assert not outcome.ok
    assert "blocking methods cannot be called from a tool" in str(outcome)


def test_a_failed_wait_raises_where_it_was_asked(session):
    """An error of the work is the caller's."""
    with pytest.raises(LookupError, match="no dialect 'latin'"):
        session.view("latin")


def test_a_reply_is_taken_through_all_stages(session):
    """With an approver, in one call."""
    session.view()
    results = session.answer(reply(ADD, ORDER), approver=lambda q: Allow(by="a"))
    assert [each["content"] for each in results] == ["2", "ordered tea"]


def test_a_batch_says_what_it_holds(session):
    """Questions, calls and outcomes are read without waiting."""
    view = session.view()
    batch = session.submit(view.calls(reply(ADD, ORDER)))
    assert [call.wire_name for call in batch.calls] == ["shop_add", "shop_order"]
    assert [question.tool_id for question in batch.questions] == ["shop.order"]
    batch.decide(batch.questions[0].id, Deny(by="a"))
    assert batch.complete() == batch.outcomes
    assert [outcome.ok for outcome in batch.outcomes] == [True, False]


def test_a_batch_is_restored_by_its_id(shop, tmp_path):
    """A person answers after a restart, in another toolbox."""
    ledger = tmp_path / "ledger.db"
    with shop(ledger=ledger) as box, box.session("c") as session:
        view = session.view()
        batch_id = session.submit(view.calls(reply(ORDER))).id
    with shop(ledger=ledger) as box, box.session("c") as session:
        batch = session.batch(batch_id)
        batch.decide(batch.questions[0].id, Allow(by="a"))
        assert [outcome.ok for outcome in batch.complete()] == [True]


def test_a_run_that_is_left_early_still_ends_every_call(session):
    """Nothing goes on in the background."""
    view = session.view()
    batch = session.submit(view.calls(reply(ADD)))
    with batch.run():
        pass
    assert len(batch.outcomes) == 1


def test_what_tools_contribute_is_there_without_a_loop(session):
    """Descriptions, rules, context and text, as in the async session."""
    assert "shop.order" in {each.id for each in session.describe()}
    assert [rule.text for rule in session.rules()] == ["Be thrifty."]
    assert [str(fragment) for fragment in session.context()] == ["Purse: full."]
    assert session.visible_text("gold").text == "****"


def test_an_intent_is_selected_without_a_loop(session):
    """Its resolved value is given back, and nothing runs."""
    view = session.view()
    (chosen,) = session.select(reply(ORDER), view=view, stage_id="s")
    assert chosen.value == "s:tea"


def test_a_delegate_blocks_until_its_tool_has_run(session):
    """One that nobody serves is a refusal."""
    buyer = session.delegate("buyer")
    assert buyer.tool_id == "shop.order"
    outcome = buyer({"what": "tea"}, approver=lambda q: Allow(by="a"))
    assert outcome.ok
    assert isinstance(session.delegate("seller"), Refusal)


def test_a_fork_is_a_session_of_its_own(session):
    """A sub-agent's conversation, opened and closed like any other."""
    with session.fork("sub", tools=["shop.add"]) as child:
        assert child.call("shop.add", {"a": 1}).ok
        assert not child.call("shop.order", {"what": "tea"}).ok


def test_everything_else_of_a_session_is_plain_reading(session):
    """Attributes are those of the session behind it."""
    assert session.conversation == "c"
    with pytest.raises(AttributeError):
        session.nothing_of_the_kind  # noqa: B018
