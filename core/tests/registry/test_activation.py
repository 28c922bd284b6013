"""Activate: a pack's code runs late, once, and harms nobody else."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
import threading

import attrs
import pytest

from toolcrib.activation.stage import Activator, ActivePack
from toolcrib.catalog.stage import compose
from toolcrib.discovery.findings import Findings
from toolcrib.discovery.stage import discover
from toolcrib.outcome import Refusal
from toolcrib.pack.definition import Pack
from toolcrib.policy.value import Policy
from toolcrib.registry import Registry


IMPORTS = """
from toolcrib.hookspecs import hookimpl
from toolcrib.implementation import Companions, Implementation
from toolcrib.signature import Signature
from toolcrib.tool import Description, Tool


def made(name="ping", **more):
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    schema["required"] = ["text"]
    more = {"effects": frozenset(), **more}
    return Tool(
        id="web." + name, title=name, description=Description(name), input_schema=schema, **more
    )


def handler(ctx, text):
    return text

"""
GOOD = """
@hookimpl
def toolcrib_tools(host):
    return [Implementation(tool=made(), handler=handler)]
"""


def module(code: str, *, imports: str = IMPORTS) -> str:
    """Return the source of a pack that is a module."""
    return imports + textwrap.dedent(code)


POINTS = "[toolcrib.packs.v1]\nweb = toolcrib_web\n"


def install(site, code=GOOD, *, hooks=(), **more):
    """Install the pack ``web``, whose code is a module of hooks."""
    manifest = site.manifest("web", hooks=["toolcrib_tools", *hooks])
    site.install(
        "toolcrib-web", **{"points": POINTS, "manifest": manifest, "code": module(code), **more}
    )


def catalog_of(site, **policy):
    """Compose everything that is installed."""
    findings = discover(path=[str(site)])
    enabled = [c.distribution for c in findings.claims]
    catalog = compose(findings, Policy(packs=enabled, **policy))
    assert not [r for r in catalog.refusals if r.code.startswith("manifest")], catalog.refusals
    return catalog


def activator_of(site, **options):
    """Return an activator of everything that is installed."""
    return Activator(catalog_of(site), lambda pack: f"host of {pack}", **options)


def activated(site, pack="web", **options):
    """Activate one pack."""

    async def run():
        activator = activator_of(site, **options)
        try:
            return await activator.activate(pack)
        finally:
            await activator.close()

    return asyncio.run(run())


def using(site, use, **options):
    """Run a coroutine function with the activated pack ``web``."""

    async def run():
        activator = activator_of(site, **options)
        pack = await activator.activate("web")
        assert isinstance(pack, ActivePack), pack
        try:
            return await use(pack)
        finally:
            await activator.close()

    return asyncio.run(run())


def hooked(site, code, *hooks):
    """Install ``web`` with the good tools and more hooks."""
    install(site, GOOD + textwrap.dedent(code), hooks=hooks)


def test_module_is_activated_and_its_tools_are_there(importable):
    """A module with hooks is the full path."""
    install(importable)

    async def use(pack):
        assert list(pack.implementations) == ["web.ping"]
        assert pack.implementations["web.ping"].handler(None, "x") == "x"
        assert pack.host == "host of web"

    using(importable, use)


def test_pack_object_is_activated(importable):
    """``Pack`` is a plugin like any other."""
    importable.install("toolcrib-web")
    pack = activated(importable)
    assert isinstance(pack, ActivePack), pack
    assert list(pack.implementations) == ["web.ping"]


def test_offered_ids_lead_to_the_declared_tool(importable):
    """A rename changes what is offered, not what the pack provides."""
    install(importable)

    async def run():
        catalog = catalog_of(importable, renames={"web.ping": "answer", "web.x.get": "read"})
        activator = Activator(catalog, lambda _: None)
        pack = await activator.activate("web")
        own = pack.implementations["web.ping"]
        assert pack.implementations["web.answer"] is own
        live = attrs.evolve(own, tool=attrs.evolve(own.tool, id="web.x.get"))
        pack.set_live("x", [live])
        assert pack.implementations["web.x.read"] is live
        await activator.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    "code",
    [
        "raise ImportError('no such library')",
        "raise SystemExit(3)",
        "import sys; sys.exit()",
        "class Odd(BaseException): pass\nraise Odd('x')",
        "raise GeneratorExit",
        "def (",
        "import toolcrib_web.sub\nraise ValueError(1)",
        "class Bad(Exception):\n    def __str__(self): raise SystemExit\nraise Bad",
    ],
)
def test_import_that_fails_quarantines_that_pack_alone(importable, code, caplog):
    """Whatever it raises; nothing of it is left behind, and others work."""
    install(importable, code, files={"sub.py": ""})
    importable.install("toolcrib-good")

    async def run():
        activator = activator_of(importable)
        bad = await activator.activate("web")
        good = await activator.activate("good")
        assert isinstance(good, ActivePack)
        assert await activator.activate("web") is bad
        assert dict(activator.quarantined) == {"web": bad}
        await activator.close()
        return bad

    refusal = asyncio.run(run())
    assert (refusal.code, refusal.subject) == ("pack.unloadable", "web")
    assert "toolcrib-web 1.0 [toolcrib_web]" in refusal.text
    assert [m for m in sys.modules if m.startswith("toolcrib_web")] == []
    assert len([r for r in caplog.records if "pack.unloadable" in r.getMessage()]) == 1


def test_entry_point_without_its_object_is_unloadable(importable):
    """The attribute is not there."""
    install(importable, points="[toolcrib.packs.v1]\nweb = toolcrib_web:nothing\n")
    assert activated(importable).code == "pack.unloadable"
    assert "toolcrib_web" not in sys.modules


def test_import_that_hangs_is_left_behind(importable):
    """The pack is refused after the deadline, others go on meanwhile."""
    install(
        importable,
        "import toolcrib_web.gate\ntoolcrib_web.gate.wait()",
        files={"gate.py": GATE},
    )
    importable.install("toolcrib-good")

    async def run():
        activator = activator_of(importable, import_deadline=1.0)
        waiting = asyncio.create_task(activator.activate("web"))
        good = await activator.activate("good")
        assert isinstance(good, ActivePack), good
        assert not waiting.done()
        bad = await waiting
        assert bad.code == "pack.unloadable"
        assert "within 1 seconds" in bad.text
        await activator.close()

    sys.toolcrib_gates = OPEN  # type: ignore[attr-defined]
    try:
        asyncio.run(run())
    finally:
        # A module that is never loaded to its end would hold up later tests.
        OPEN.pop().set()
        del sys.toolcrib_gates  # type: ignore[attr-defined]


OPEN: list[threading.Event] = []
GATE = """
import sys, threading
event = threading.Event()
sys.toolcrib_gates.append(event)
wait = event.wait
"""


def test_package_loaded_from_elsewhere_is_refused(importable, other, monkeypatch):
    """What was loaded before is not the code whose manifest was checked."""
    install(importable)
    (other.path / "toolcrib_web").mkdir()
    (other.path / "toolcrib_web" / "__init__.py").write_text(module(GOOD))
    catalog = catalog_of(importable)
    monkeypatch.syspath_prepend(str(other))
    __import__("toolcrib_web")

    async def run():
        activator = Activator(catalog, lambda _: None)
        refusal = await activator.activate("web")
        await activator.close()
        return refusal

    refusal = asyncio.run(run())
    assert refusal.code == "pack.unloadable"
    assert str(other) in refusal.text
    assert "toolcrib_web" in sys.modules  # It was there before, and is not ours to remove.
    del sys.modules["toolcrib_web"]


@pytest.mark.parametrize("code", ["", "pack = object()", "toolcrib_tools = None"])
def test_plugin_without_hooks_is_inert(importable, code):
    """A marker of another project, or none, contributes nothing."""
    install(importable, code)
    assert activated(importable).code == "pack.inert"
    assert "toolcrib_web" not in sys.modules


def test_plugin_that_provides_nothing_is_inert(importable):
    """Neither a tool nor another hook."""
    code = "@hookimpl\ndef toolcrib_tools(host):\n    return []\n"
    install(importable, code, manifest=importable.manifest("web", tools=[]))
    assert activated(importable).code == "pack.inert"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("@hookimpl\ndef toolcrib_signatur(tool): pass", "did you mean 'toolcrib_signature'"),
        ("@hookimpl\ndef toolcrib_retry(tool, nonsense): pass", "nonsense"),
        ("@hookimpl(tryfirst=True)\ndef toolcrib_retry(tool): pass", "tryfirst"),
        ("@hookimpl(trylast=True)\ndef toolcrib_retry(tool): pass", "trylast"),
        ("@hookimpl(wrapper=True)\ndef toolcrib_retry(tool): return (yield)", "wrapper"),
        ("@hookimpl(hookwrapper=True)\ndef toolcrib_retry(tool): yield", "hookwrapper"),
        ("@hookimpl\ndef toolcrib_retry(tool, attempt=1): pass", "default"),
        ("@hookimpl\ndef toolcrib_retry(tool, *, attempt): pass", "keyword-only"),
        ("@hookimpl\ndef toolcrib_retry(*tool): pass", r"\*args"),
        ("@hookimpl\ndef toolcrib_retry(**tool): pass", r"\*\*kwargs"),
    ],
)
def test_hooks_that_break_a_rule_are_unruly(importable, code, words):
    """Each rule is named; none of the pack's hooks is called."""
    install(importable, GOOD + code, hooks=["toolcrib_retry"])
    refusal = activated(importable)
    assert refusal.code == "pack.unruly"
    assert words.replace("\\", "") in refusal.text
    assert "toolcrib_web" not in sys.modules


@pytest.mark.parametrize(
    ("provided", "words"),
    [
        ("made('pong')", "web.pong is provided and not declared"),
        (
            "made(effects=frozenset({'process'}))",
            "effects of web.ping: declared none, provided process",
        ),
        ("made(idempotent='yes')", "idempotent of web.ping"),
        ("made(companions=frozenset({'preview'}))", "companions of web.ping"),
    ],
)
def test_code_that_contradicts_its_manifest_has_drifted(importable, provided, words):
    """What differs is named."""
    code = "@hookimpl\ndef toolcrib_tools(host):\n"
    code += f"    return [Implementation(tool={provided}, handler=handler)]\n"
    install(importable, code)
    refusal = activated(importable)
    assert refusal.code == "pack.drifted"
    assert words in refusal.text
    assert "toolcrib_web" not in sys.modules


def test_hook_that_the_manifest_does_not_declare_is_drift(importable):
    """A guard that appears at run time was not shown to anybody."""
    install(importable, GOOD + "@hookimpl\ndef toolcrib_guard(call): pass\n")
    refusal = activated(importable)
    assert refusal.code == "pack.drifted"
    assert "toolcrib_guard" in refusal.text


def test_prose_may_differ(importable):
    """Docstrings vanish under -OO."""
    code = "@hookimpl\ndef toolcrib_tools(host):\n    import attrs\n"
    code += "    tool = attrs.evolve(made(), title='x', description=Description(''))\n"
    code += "    return [Implementation(tool=tool, handler=handler)]\n"
    install(importable, code)
    assert isinstance(activated(importable), ActivePack)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("raise SystemExit", "pack.unloadable"),
        ("raise KeyError(1)", "pack.unloadable"),
        ("return [1]", "pack.unruly"),
        ("return 7", "pack.unloadable"),
        ("return [Implementation(tool=None, handler=handler)]", "pack.unloadable"),
        (
            "return [Implementation(tool=made(idempotent=b''), handler=handler)]",
            "pack.unloadable",
        ),
        (
            "yield Implementation(tool=made(), handler=handler); raise SystemExit",
            "pack.unloadable",
        ),
    ],
)
def test_tools_that_cannot_be_had_quarantine_the_pack(importable, body, code):
    """An exception, an exit, and what is no tool."""
    install(importable, f"@hookimpl\ndef toolcrib_tools(host):\n    {body}\n")
    assert activated(importable).code == code


def test_tools_may_be_awaited(importable):
    """A hook may return an awaitable."""
    code = "@hookimpl\nasync def toolcrib_tools(host):\n"
    code += "    return [Implementation(tool=made(), handler=handler)]\n"
    install(importable, code)
    assert isinstance(activated(importable), ActivePack)


def test_awaited_tools_that_exit_quarantine_the_pack(importable):
    """The host goes on."""
    install(importable, "@hookimpl\nasync def toolcrib_tools(host):\n    raise SystemExit\n")
    assert activated(importable).code == "pack.unloadable"


def test_object_that_resists_registration_is_refused(importable):
    """Its own methods run in pluggy."""
    code = "class Odd:\n    def __dir__(self): raise SystemExit\npack = Odd()\n"
    install(importable, code, points="[toolcrib.packs.v1]\nweb = toolcrib_web:pack\n")
    assert activated(importable).code == "pack.unloadable"


def test_local_pack_is_activated_without_import():
    """It is an object already."""
    pack = Pack("mine")

    @pack.tool(effects=[])
    def hello(ctx) -> str:
        """Say hello."""
        return "hello"

    async def run():
        catalog = Registry(Findings()).compose(Policy(local=[pack]))
        assert catalog["mine.hello"].provenance.how == "local"
        activator = Activator(catalog, lambda _: None)
        active = await activator.activate("mine")
        assert list(active.implementations) == ["mine.hello"]
        await activator.close()

    asyncio.run(run())


def test_awaited_tools_that_fail_or_hang_quarantine_the_pack(importable):
    """With the same deadline."""
    code = "import asyncio\n@hookimpl\nasync def toolcrib_tools(host):\n"
    install(importable, code + "    await asyncio.Event().wait()\n")
    assert activated(importable, import_deadline=0.02).code == "pack.unloadable"


def test_concurrent_first_calls_activate_once(importable):
    """They wait for the same import; one that gives up does not stop the others."""
    code = "import sys\nsys.toolcrib_count = getattr(sys, 'toolcrib_count', 0) + 1\n" + GOOD
    install(importable, code)

    async def run():
        activator = activator_of(importable)
        waiting = [asyncio.create_task(activator.activate("web")) for _ in range(20)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        packs = await asyncio.gather(*waiting, return_exceptions=True)
        await activator.close()
        return packs

    first, *others = asyncio.run(run())
    assert isinstance(first, asyncio.CancelledError)
    assert isinstance(others[0], ActivePack)
    assert {id(p) for p in others} == {id(others[0])}
    assert sys.toolcrib_count == 1  # type: ignore[attr-defined]
    del sys.toolcrib_count  # type: ignore[attr-defined]


def test_pack_that_is_not_enabled_is_not_imported(importable):
    """Whatever is installed."""
    install(importable)
    assert activated(importable, "nobody").code == "pack.disabled"
    assert "toolcrib_web" not in sys.modules


def test_check_comes_before_the_import(importable):
    """The lock may refuse a pack."""
    install(importable)
    no = Refusal(status="unavailable", code="lock.changed", subject="web", text="no")
    assert activated(importable, check=lambda finding: no) is no
    assert "toolcrib_web" not in sys.modules


def test_signature_is_the_packs_own(importable):
    """It is called with the declared tool and the arguments."""
    hooked(
        importable,
        """
        @hookimpl
        def toolcrib_signature(tool, arguments):
            return Signature(effects=["process"] if arguments["text"] else [])
        """,
        "toolcrib_signature",
    )

    async def use(pack):
        tool = pack.implementations["web.ping"].tool
        for _ in range(20):
            assert (await pack.signature(tool, {"text": "x"})).effects == {"process"}
        assert not await pack.signature(tool, {"text": ""})

    using(importable, use)


@pytest.mark.parametrize(
    "body",
    ["return None", "return 7", "raise KeyError", "raise SystemExit", "raise StopIteration"],
)
def test_signature_that_is_not_given_is_none(importable, body):
    """So the call is asked; the reason is kept."""
    code = f"@hookimpl\ndef toolcrib_signature(tool, arguments):\n    {body}\n"
    hooked(importable, code, "toolcrib_signature")

    async def use(pack):
        assert await pack.signature(pack.implementations["web.ping"].tool, {}) is None
        return list(pack.problems)

    problems = using(importable, use)
    assert len(problems) == (0 if body == "return None" else 1)


@pytest.mark.parametrize(
    "raised",
    ["SystemExit", "Odd('x')", "asyncio.CancelledError", "TimeoutError", "GeneratorExit"],
)
@pytest.mark.parametrize("kind", ["def", "async def"])
@pytest.mark.parametrize("isolate", [True, False])
def test_no_exception_of_a_hook_escapes(importable, raised, kind, isolate):
    """Neither from a thread, nor from the loop, nor from what is awaited."""
    hooked(
        importable,
        f"""
        import asyncio
        class Odd(BaseException): pass
        @hookimpl
        {kind} toolcrib_signature(tool, arguments):
            if arguments: raise {raised}
            return Signature()
        """,
        "toolcrib_signature",
    )

    async def use(pack):
        tool = pack.implementations["web.ping"].tool
        for _ in range(10):
            assert await pack.signature(tool, {}) is not None
        assert await pack.signature(tool, {"text": "x"}) is None
        return pack.problems[-1]

    problem = using(importable, use, isolate=isolate)
    assert raised.split("(")[0].rpartition(".")[2] in problem


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_signature_that_hangs_is_late_and_the_loop_goes_on(importable, kind):
    """Synchronous or not."""
    wait = "asyncio.Event().wait()" if kind == "async def" else "threading.Event().wait(9)"
    wait = f"await {wait}" if kind == "async def" else wait
    code = (
        f"import asyncio, threading\n@hookimpl\n{kind} toolcrib_signature(tool):\n    {wait}\n"
    )
    hooked(importable, code, "toolcrib_signature")

    async def use(pack):
        tool = pack.implementations["web.ping"].tool
        ticks = 0
        waiting = asyncio.create_task(pack.signature(tool, {}))
        while not waiting.done():
            ticks += 1
            await asyncio.sleep(0.001)
        assert ticks > 3
        assert await waiting is None
        assert "no answer within" in pack.problems[0]

    using(importable, use, hook_deadline=0.03)


def test_signature_moves_onto_the_loop_when_it_is_quick(importable):
    """After it has shown so; never where policy isolates."""
    hooked(
        importable,
        """
        import threading
        @hookimpl
        def toolcrib_signature(tool):
            return Signature(effects=["process"] if threading.current_thread()
                             is threading.main_thread() else ["agent"])
        """,
        "toolcrib_signature",
    )

    async def use(pack):
        tool = pack.implementations["web.ping"].tool
        return [next(iter((await pack.signature(tool, {})).effects)) for _ in range(40)]

    assert using(importable, use)[0] == "agent"
    assert using(importable, use)[-1] == "process"
    assert set(using(importable, use, isolate=True)) == {"agent"}


def test_signature_that_becomes_slow_goes_back_to_a_thread(importable):
    """One slow answer on the loop is the last there."""
    hooked(
        importable,
        """
        import threading
        @hookimpl
        def toolcrib_signature(tool, arguments):
            threading.Event().wait(arguments["seconds"])
            return Signature(effects=["process"] if threading.current_thread()
                             is threading.main_thread() else ["agent"])
        """,
        "toolcrib_signature",
    )

    async def use(pack):
        tool = pack.implementations["web.ping"].tool
        where = []
        for seconds in (*[0] * 40, 0.03, 0, 0):
            signature = await pack.signature(tool, {"seconds": seconds})
            where += signature.effects
        return where

    where = using(importable, use)
    assert where[-3:] == ["process", "agent", "agent"]


def test_pack_with_too_many_late_functions_is_answered_at_once(importable):
    """Threads cannot be stopped, so their number is bounded."""
    code = "import threading\n@hookimpl\ndef toolcrib_signature(tool):\n"
    code += "    threading.Event().wait(9)\n"
    hooked(importable, code, "toolcrib_signature")

    async def use(pack):
        tool = pack.implementations["web.ping"].tool
        await asyncio.gather(*(pack.signature(tool, {}) for _ in range(12)))
        before = threading.active_count()
        assert await pack.signature(tool, {}) is None
        assert threading.active_count() <= before
        assert "have not ended" in pack.problems[-1]

    using(importable, use, hook_deadline=0.01)


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (None, True),
        ("return True", True),
        ("return False", False),
        ("return 2", 2.0),
        ("return None", False),
        ("return -1", False),
        ("return float('nan')", False),
        ("return 'yes'", False),
        ("raise OSError", False),
        ("threading.Event().wait(9)", False),
    ],
)
def test_retry_only_tightens(importable, body, answer):
    """Not implemented keeps the core's answer; anything wrong means no."""
    if body is None:
        install(importable)
    else:
        code = f"import threading\n@hookimpl\ndef toolcrib_retry(attempt):\n    {body}\n"
        hooked(importable, code, "toolcrib_retry")

    async def use(pack):
        tool = pack.implementations["web.ping"].tool
        return await pack.retry(tool, ValueError(), 1)

    given = using(importable, use, hook_deadline=0.05)
    assert (given, type(given)) == (answer, type(answer))


class FakeCall:
    """As much of a call as a refusal of a guard needs."""

    class tool:  # noqa: N801
        """The tool."""

        id = "web.ping"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (None, "guard.broken"),
        ("return None", None),
        ("return {'text': 'y'}", "mapping"),
        ("return refuse('guard.refused', 'x', 'no')", "guard.refused"),
        ("return True", "guard.broken"),
        ("raise ValueError", "guard.broken"),
        ("raise SystemExit", "guard.broken"),
        ("threading.Event().wait(9)", "guard.broken"),
    ],
)
def test_guard_that_does_not_answer_refuses(importable, body, code):
    """Missing, raising, hanging or nonsense: nothing runs."""
    if body is None:
        install(importable)
    else:
        text = "import threading\nfrom toolcrib.codes import refuse\n@hookimpl\n"
        text += f"def toolcrib_guard(call):\n    {body}\n"
        hooked(importable, text, "toolcrib_guard")

    async def use(pack):
        return await pack.guard(FakeCall())

    answer = using(importable, use, hook_deadline=0.05)
    if code == "mapping":
        assert answer == {"text": "y"}
    else:
        assert getattr(answer, "code", None) == code


@pytest.mark.parametrize("body", ["raise ValueError", "raise SystemExit", "return None"])
def test_review_that_fails_changes_nothing(importable, body):
    """The outcome stays."""
    hooked(
        importable, f"@hookimpl\ndef toolcrib_review(call):\n    {body}\n", "toolcrib_review"
    )

    async def use(pack):
        return await pack.review(FakeCall(), None)

    assert using(importable, use) is None


@pytest.mark.parametrize(
    ("body", "sources"),
    [
        (None, ()),
        ("return [1, 2]", (1, 2)),
        ("return None", ()),
        ("return 7", ()),
        ("raise ValueError", ()),
        ("raise SystemExit", ()),
    ],
)
def test_sources_that_fail_are_none(importable, body, sources):
    """The pack's own tools are there all the same."""
    if body is None:
        install(importable)
    else:
        hooked(
            importable,
            f"@hookimpl\ndef toolcrib_sources(host):\n    {body}\n",
            "toolcrib_sources",
        )

    async def use(pack):
        assert "web.ping" in pack.implementations
        return await pack.sources()

    assert using(importable, use) == sources


def test_observer_hears_in_order_and_its_errors_are_said_once(importable, caplog):
    """It cannot delay or stop anything."""
    hooked(
        importable,
        """
        import sys
        @hookimpl
        def toolcrib_observe(event):
            sys.toolcrib_heard.append(event["n"])
            raise ValueError("always")
        """,
        "toolcrib_observe",
    )
    heard = sys.toolcrib_heard = []  # type: ignore[attr-defined]

    async def use(pack):
        for number in range(5):
            pack.observe({"n": number})
        assert heard == []
        await pack._observing

    using(importable, use)
    assert heard == [0, 1, 2, 3, 4]
    said = [r for r in caplog.records if r.levelname == "WARNING"]
    assert len(said) == 1
    assert "pack web of toolcrib-web 1.0" in said[0].getMessage()
    del sys.toolcrib_heard  # type: ignore[attr-defined]


def test_observer_that_is_slow_misses_the_oldest(importable):
    """The queue is bounded, and what is missed is counted."""
    hooked(
        importable, "@hookimpl\ndef toolcrib_observe(event):\n    pass\n", "toolcrib_observe"
    )

    async def use(pack):
        for number in range(300):
            pack.observe({"n": number})
        return pack.missed

    assert using(importable, use) == 300 - 256


def test_live_implementations_are_replaced_at_once(importable):
    """Those that the pack declares stay."""
    install(importable)

    async def use(pack):
        own = pack.implementations["web.ping"]
        before = pack.implementations
        tool = attrs.evolve(own.tool, id="web.x.get")
        pack.set_live("x", [attrs.evolve(own, tool=tool)])
        assert list(pack.implementations) == ["web.ping", "web.x.get"]
        pack.set_live("x", [])
        assert list(pack.implementations) == ["web.ping"]
        assert before["web.ping"] is own

    using(importable, use)


@pytest.mark.parametrize("command", ["discover", "compose", "other"])
def test_pack_that_ends_the_interpreter_harms_nothing_but_its_own_call(site, command):
    """Listing, disabling and other packs never import it."""
    marker = site.path / "marker"
    code = f"import os; open({str(marker)!r}, 'w').close(); os._exit(13)"
    install(site, code)
    site.install("toolcrib-good")
    script = f"""
import asyncio, sys
from toolcrib.registry import Registry
from toolcrib.policy import Policy
from toolcrib.activation import Activator, ActivePack

registry = Registry.discover()
assert {{"good", "web"}} <= {{p.pack_id for p in registry.findings.packs}}
if {command!r} != "discover":
    catalog = registry.compose(Policy(packs=["toolcrib-web", "toolcrib-good"]))
    assert list(catalog) == ["good.ping", "web.ping"]
    assert list(registry.compose(Policy(packs=["toolcrib-good"]))) == ["good.ping"]
if {command!r} == "other":
    async def run():
        activator = Activator(catalog, lambda _: None)
        assert isinstance(await activator.activate("good"), ActivePack)
        await activator.close()
    asyncio.run(run())
"""
    subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(site)},
        check=True,
        timeout=60,
    )
    assert not marker.exists()


def test_process_ends_although_an_import_hangs(site):
    """Threads that are left behind are daemons."""
    install(site, "import threading; threading.Event().wait()")
    script = """
import asyncio
from toolcrib.registry import Registry
from toolcrib.policy import Policy
from toolcrib.activation import Activator

async def run():
    catalog = Registry.discover().compose(Policy(packs=["toolcrib-web"]))
    activator = Activator(catalog, lambda _: None, import_deadline=0.05)
    print((await activator.activate("web")).code)
    await activator.close()

asyncio.run(run())
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.strip() == "pack.unloadable"
