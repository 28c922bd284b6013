"""The list: graph, states, versions, leases, deltas."""

from __future__ import annotations

import json

import pytest

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolcrib_store import Database

from toolcrib_task.model import FINAL, MOVES, NewTask, TaskError
from toolcrib_task.schema import APPLICATION, MIGRATIONS
from toolcrib_task.store import Change, SqliteTasks


def new(title="x", *needs, **more):
    return NewTask(title=title, depends_on=needs, **more)


def refused(code, work):
    with pytest.raises(TaskError) as caught:
        work()
    assert caught.value.code == code
    return caught.value


def test_a_plan_is_made_in_one_step(store):
    """Tasks of one request name each other by their place in it."""
    a, b, c = store.create("g", [new("a"), new("b", "#1"), new("c", "#1", "#2")])
    assert (a.waits_for, b.waits_for, c.waits_for) == ((), ("t1",), ("t1", "t2"))
    assert [t.ready for t in (a, b, c)] == [True, False, False]


def test_a_plan_with_a_fault_is_not_made_at_all(store):
    """Half a plan would be worse than none."""
    refused("task.unknown_dependency", lambda: store.create("g", [new("a"), new("b", "t99")]))
    assert store.select("g") == ()


@pytest.mark.parametrize(
    "name", ["t99", "#3", "#0", "99", "t", "tx", "#-1", "t9999999999999999"]
)
def test_unknown_dependencies_are_refused(store, name):
    """They are not stored as they are."""
    refused("task.unknown_dependency", lambda: store.create("g", [new("a"), new("b", name)]))


def test_a_circle_is_refused_and_shown(store):
    """With the way round."""
    a, _, _ = store.create("g", [new("a"), new("b", "#1"), new("c", "#2")])
    error = refused(
        "task.cycle",
        lambda: store.update("g", a.id, Change(depend_on=("t3",)), version=1, by="me"),
    )
    assert "t1 needs t3 needs t2 needs t1" in error.text
    refused("task.cycle", lambda: store.create("g", [new("a", "#2"), new("b", "#1")]))
    refused("task.cycle", lambda: store.create("g", [new("self", "#1")]))


def test_a_stale_version_is_refused_with_the_state_as_it_is(store):
    """Nobody overwrites what they have not seen."""
    (a,) = store.create("g", [new("a")])
    store.update("g", a.id, Change(title="b"), version=1, by="me")
    error = refused(
        "task.stale", lambda: store.update("g", a.id, Change(title="c"), version=1, by="me")
    )
    assert "version 2" in error.text
    assert store.get("g", a.id).title == "b"


@pytest.mark.parametrize("status", sorted(MOVES))
def test_only_legal_moves_are_made(store, status):
    """Each refusal says what would be legal."""
    for wanted in sorted(MOVES):
        (task,) = store.create("g", [new(status)])
        at = _brought(store, task.id, status)
        change = Change(status=wanted, evidence="seen")
        if wanted in MOVES[status]:
            assert store.update("g", task.id, change, version=at, by="me")[0].status == wanted
        else:
            error = refused(
                "task.transition",
                lambda change=change, at=at, task=task: store.update(
                    "g", task.id, change, version=at, by="me"
                ),
            )
            assert all(move in error.text for move in MOVES[status])


def _brought(store, task_id, status):
    if status == "open":
        return 1
    if status == "cancelled":
        return store.update("g", task_id, Change(status=status), version=1, by="me")[0].version
    at = store.claim("g", by="me", lease=10, task_id=task_id).version
    if status == "claimed":
        return at
    at = store.update("g", task_id, Change(status="working"), version=at, by="me")[0].version
    if status == "working":
        return at
    return store.update("g", task_id, Change(status=status), version=at, by="me")[0].version


def test_what_is_over_is_not_changed(store):
    """Not even its title."""
    (a,) = store.create("g", [new("a")])
    done = store.update("g", a.id, Change(status="cancelled"), version=1, by="me")[0]
    refused(
        "task.final",
        lambda: store.update("g", a.id, Change(title="b"), version=done.version, by="me"),
    )


def test_the_next_task_is_the_most_urgent_one_that_is_ready(store):
    """Then the oldest."""
    store.create("g", [new("low", priority="low"), new("a"), new("b", "#2", priority="high"),
                       new("c", priority="high")])  # fmt: skip
    taken = [store.claim("g", by="me", lease=10).title for _ in range(3)]
    assert taken == ["c", "a", "low"]
    assert store.claim("g", by="me", lease=10) is None


def test_done_sets_free_what_waited(store):
    """The result tells which."""
    store.create("g", [new("a"), new("b", "#1"), new("c", "#1", "#2")])
    task = store.claim("g", by="me", lease=10)
    changed = store.update("g", task.id, Change(status="done"), version=task.version, by="me")
    assert [t.title for t in changed] == ["a", "b"]
    assert store.claim("g", by="me", lease=10).title == "b"


def test_what_somebody_else_holds_is_not_changed(store):
    """Until their lease ends."""
    (a,) = store.create("g", [new("a")])
    held = store.claim("g", by="one", lease=10)
    for work in (
        lambda: store.update("g", a.id, Change(status="done"), version=held.version, by="two"),
        lambda: store.delete("g", a.id, version=held.version, by="two"),
    ):
        error = refused("task.foreign", work)
        assert "owner one" in error.text
    refused("task.not_ready", lambda: store.claim("g", by="two", lease=10, task_id=a.id))


def test_a_lease_that_ends_hands_back_what_was_not_begun(store, clock):
    """Whoever comes next takes it over; the dead one comes too late."""
    store.create("g", [new("a")])
    held = store.claim("g", by="dead", lease=10)
    clock.now += 11
    taken = store.claim("g", by="alive", lease=10)
    assert (taken.id, taken.owner, taken.attempt) == (held.id, "alive", 2)
    refused(
        "task.stale",
        lambda: store.update(
            "g", held.id, Change(status="done"), version=held.version, by="dead"
        ),
    )


def test_what_was_begun_and_not_reported_is_uncertain_with_evidence(store, clock):
    """It is not simply done again; who knows better says how they know."""
    store.create("g", [new("a")])
    store.claim("g", by="dead", lease=10, working=True)
    clock.now += 11
    (task,) = store.select("g", status=["uncertain"])
    assert "attempt 1 by dead began and did not report" in task.evidence
    assert store.claim("g", by="alive", lease=10) is None
    refused(
        "task.no_evidence",
        lambda: store.update("g", task.id, Change(status="done"), version=task.version, by="x"),
    )
    done = Change(status="done", evidence="the file is there")
    assert store.update("g", task.id, done, version=task.version, by="x")[0].status == "done"


def test_what_may_be_repeated_is_open_again(store, clock):
    """If its author said so."""
    store.create("g", [new("a", repeatable=True)])
    store.claim("g", by="dead", lease=10, working=True)
    clock.now += 11
    assert store.claim("g", by="alive", lease=10).attempt == 2


def test_claiming_again_makes_the_lease_longer(store, clock):
    """And changes nothing else."""
    store.create("g", [new("a")])
    store.claim("g", by="me", lease=10, working=True)
    clock.now += 5
    again = store.claim("g", by="me", lease=10, task_id="t1")
    assert (again.status, again.lease, again.attempt) == ("working", clock.now + 10, 1)


def test_an_id_is_never_used_again(store):
    """A deleted one neither."""
    a, b = store.create("g", [new("a"), new("b")])
    store.delete("g", b.id, version=1, by="me")
    assert store.create("g", [new("c")])[0].id == "t3"
    refused("task.unknown", lambda: store.get("g", b.id))
    assert a.id == "t1"


def test_what_others_need_is_not_deleted(store):
    """They are named."""
    store.create("g", [new("a"), new("b", "#1")])
    assert (
        "t2" in refused("task.needed", lambda: store.delete("g", "t1", version=1, by="x")).text
    )


def test_changes_since_a_cursor_are_told_once_each_by_page(store):
    """Only what changed, deletions included; no page loses one."""
    store.create("g", [new(str(n)) for n in range(5)])
    _, _, cursor = store.changes("g", 0, 100)
    store.update("g", "t2", Change(title="two"), version=1, by="me")
    store.delete("g", "t4", version=1, by="me")
    changed, gone, after = store.changes("g", cursor, 100)
    assert ([t.id for t in changed], gone) == (["t2"], ("t4",))
    assert store.changes("g", after, 100) == ((), (), after)
    for number in (1, 3, 5):
        store.update("g", f"t{number}", Change(title="x"), version=1, by="me")
    seen, at = [], after
    while True:
        changed, _, now = store.changes("g", at, 1)
        if now == at:
            break
        seen += [t.id for t in changed]
        at = now
    assert seen == ["t1", "t3", "t5"]


def test_ten_thousand_tasks_are_shown_by_page(store):
    """Each once, the most urgent first."""
    for _ in range(50):
        store.create("g", [new("x", priority="low") for _ in range(200)])
    store.create("g", [new("urgent", priority="high")])
    seen, after = [], None
    while page := store.select("g", after=after, limit=200):
        assert len(page) <= 200
        seen += [t.id for t in page]
        after = page[-1].place
    assert len(seen) == len(set(seen)) == 10_001
    assert seen[0] == "t10001"


def test_a_page_begins_where_the_last_one_ended_whatever_became_of_that_task(store):
    """It may be deleted, or have another priority by now; an id does as well."""
    store.create("g", [new(str(n)) for n in range(4)])
    first, second = store.select("g", limit=2)
    assert second.place == "medium:t2"
    store.update("g", second.id, Change(priority="low"), version=1, by="me")
    store.delete("g", first.id, version=1, by="me")
    for place in (first.place, second.place):
        behind = [t.id for t in store.select("g", after=place)]
        assert behind == ["t3", "t4", "t2"]
    assert [t.id for t in store.select("g", after="t3")] == ["t4", "t2"]
    refused("task.page", lambda: store.select("g", after="soon:t1"))
    refused("task.unknown", lambda: store.select("g", after="medium:x"))


def test_pages_of_a_kind_are_whole(store):
    """By state, owner and readiness, over all priorities."""
    priorities = ("low", "high", "medium")
    store.create("g", [new(str(n), priority=priorities[n % 3]) for n in range(9)])
    store.claim("g", by="me", lease=10)
    for kind in ({"status": ["open"]}, {"ready": True}, {"owner": "me"}, {"ready": False}):
        seen, after = [], None
        while page := store.select("g", after=after, limit=2, **kind):
            seen += [t.id for t in page]
            after = page[-1].place
        assert seen == [t.id for t in store.select("g", limit=100, **kind)]
        assert len(seen) == (1 if kind in ({"owner": "me"}, {"ready": False}) else 8)


def steps_of(store, work):
    """Count the steps that SQLite takes."""
    count = [0]

    def step():
        count[0] += 1

    store.database.connection.set_progress_handler(step, 10)
    work()
    store.database.connection.set_progress_handler(None, 0)
    return count[0]


def test_a_long_list_costs_no_more_than_a_short_one(store):
    """Nothing that changes one task, and no page, goes through all of them."""

    def cycle():
        store.create("g", [new()])
        task = store.claim("g", by="me", lease=10)
        store.update("g", task.id, Change(status="done"), version=task.version, by="me")
        (page,) = store.select("g", after="medium:t40", limit=1)
        assert store.changes("g", page.change, 1)

    store.create("g", [new() for _ in range(50)])
    short = steps_of(store, cycle)
    for _ in range(20):
        store.create("g", [new() for _ in range(200)])
    assert steps_of(store, cycle) < 1.5 * short


def test_a_change_made_while_changes_are_read_is_told_next_time(store, tmp_path):
    """A second process that is as unlucky as can be is not passed over."""
    other = SqliteTasks(tmp_path / "tasks.db", time=lambda: 0.0)
    store.create("g", [new("a")])

    def unlucky(statement):
        if statement.startswith("SELECT number FROM counter"):
            store.database.connection.set_trace_callback(None)
            other.create("g", [new("b")])

    store.database.connection.set_trace_callback(unlucky)
    first, _, cursor = store.changes("g", 0, 100)
    second, _, _ = store.changes("g", cursor, 100)
    other.close()
    assert [t.title for t in (*first, *second)] == ["a", "b"]


def test_what_is_ready_after_done_does_not_name_what_is_over(store):
    """A cancelled task that waited cannot be claimed."""
    store.create("g", [new("a"), new("b", "#1"), new("c", "#1")])
    store.update("g", "t2", Change(status="cancelled"), version=1, by="me")
    task = store.claim("g", by="me", lease=10)
    changed = store.update("g", task.id, Change(status="done"), version=task.version, by="me")
    assert [t.id for t in changed] == ["t1", "t3"]


def test_metadata_does_not_grow_beyond_its_limit_by_updates(store):
    """Small pieces add up."""
    store.create("g", [new("a")])
    at = store.update("g", "t1", Change(metadata={"a": "x" * 5000}), version=1, by="me")[0]
    more = Change(metadata={"b": "x" * 5000})
    refused("task.too_long", lambda: store.update("g", "t1", more, version=2, by="me"))
    assert store.get("g", "t1").version == at.version == 2


def test_lists_do_not_see_each_other(store):
    """An id of another list is an unknown one."""
    store.create("one", [new("a")])
    assert store.select("two") == ()
    refused("task.unknown", lambda: store.get("two", "t1"))
    refused("task.unknown_dependency", lambda: store.create("two", [new("b", "t1")]))


@pytest.mark.parametrize(
    ("task", "code"),
    [
        (NewTask(title=" "), "task.no_title"),
        (NewTask(title="x" * 201), "task.too_long"),
        (NewTask(title="x", description="x" * 20_001), "task.too_long"),
        (NewTask(title="x", metadata={"a": "x" * 9000}), "task.too_long"),
        (NewTask(title="x", depends_on=("t1",) * 201), "task.too_many"),
    ],
)
def test_texts_that_are_too_long_are_refused_by_name(store, task, code):
    """With their place in the request."""
    assert refused(code, lambda: store.create("g", [new(), task])).pointer.startswith(
        "/tasks/1/"
    )


def test_what_does_not_fit_together_is_found(store):
    """The file is checked for what it stands for, not only for its bytes."""
    store.create("g", [new("a"), new("b", "#1"), new("c")])
    assert store.check() == []
    with store.database.write() as db:
        db.execute("UPDATE tasks SET waiting = 0 WHERE seq = 2")
        db.execute("UPDATE tasks SET status = 'claimed' WHERE seq = 3")
    found = store.check()
    assert [line.partition(" ")[0] for line in found] == ["t2", "t3"]


def test_everything_is_exported_list_by_list(store):
    """As JSON."""
    store.create("one", [new("a"), new("b", "#1")])
    store.create("two", [new("c")])
    lines = [json.loads(json.dumps(line)) for line in store.export()]
    assert [(line["list"], line["title"]) for line in lines] == [
        ("one", "a"), ("one", "b"), ("two", "c"),
    ]  # fmt: skip


def test_a_file_of_the_first_version_is_brought_up_to_date(tmp_path):
    """What was in it stays."""
    old = Database(tmp_path / "old.db", application=APPLICATION, migrations=MIGRATIONS[:1])
    with old.write() as db:
        db.execute(
            "INSERT INTO tasks (grp, title, description, status, priority, repeatable,"
            " metadata, created, updated, change) VALUES ('g','a','','open',1,0,'{}',0,0,0)"
        )
    old.close()
    store = SqliteTasks(tmp_path / "old.db", time=lambda: 0.0)
    assert store.get("g", "t1").title == "a"
    assert store.find_run("job_1", "c") is None
    store.close()


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["create", "claim", "work", "done", "fail", "open", "cancel", "delete",
                         "late", "depend"]),
        st.integers(0, 5),
        st.integers(0, 5),
        st.sampled_from(["one", "two"]),
    ),
    max_size=40,
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS)
def test_every_invariant_holds_whatever_is_done(steps):
    """Waiting counts are true, finals final, claims have owners, nothing is in a circle."""
    now = [0.0]
    store = SqliteTasks(None, time=lambda: now[0])
    finals = {}
    for step, at, other, who in steps:
        tasks = store.select("g", limit=200)
        task = tasks[at % len(tasks)] if tasks else None
        second = tasks[other % len(tasks)] if tasks else None
        try:
            if step == "create":
                needs = (second.id,) if second and other % 2 else ()
                store.create("g", [new("x", *needs, repeatable=bool(at % 2))])
            elif step == "claim":
                store.claim("g", by=who, lease=5.0)
            elif step == "late":
                now[0] += 6
            elif task is not None and step == "delete":
                store.delete("g", task.id, version=task.version, by=who)
                finals.pop(task.id, None)
            elif task is not None and step == "depend":
                store.update(
                    "g", task.id, Change(depend_on=(second.id,)), version=task.version, by=who
                )
            elif task is not None:
                status = {"work": "working", "fail": "failed", "cancel": "cancelled"}.get(
                    step, step
                )
                store.update(
                    "g",
                    task.id,
                    Change(status=status, evidence="e"),
                    version=task.version,
                    by=who,
                )
        except TaskError:
            pass
        found = {t.id: t for t in store.select("g", limit=200)}
        for task_id, one in found.items():
            held = one.status in {"claimed", "working"}
            assert held == (one.lease is not None)
            assert not held or one.owner
            waits = tuple(n for n in one.depends_on if found[n].status != "done")
            assert one.waits_for == waits
            assert task_id not in finals or finals[task_id] == one.status
            if one.status in FINAL:
                finals[task_id] = one.status
        with store.database.read() as db:
            wrong = db.execute(
                "SELECT count(*) FROM tasks AS t WHERE waiting != (SELECT count(*) FROM needs"
                " JOIN tasks AS o ON o.seq = on_task WHERE task = t.seq AND o.status != 'done')"
            ).fetchone()[0]
        assert wrong == 0
        assert _no_circle(found)
    store.close()  # fmt: skip


def _no_circle(found):
    left = dict(found)
    while left:
        free = [i for i, t in left.items() if not set(t.depends_on) & set(left)]
        if not free:
            return False
        for task_id in free:
            del left[task_id]
    return True


def test_looking_marks_nothing_as_read(store):
    """A reader that died before it showed what it got is told the same again."""
    store.create("g", [new(str(n)) for n in range(3)])
    first = store.changes("g", 0, 100)
    assert store.changes("g", 0, 100) == first
    assert [t.id for t in first[0]] == ["t1", "t2", "t3"]
