"""The kit for pack authors, used as an author would."""

from __future__ import annotations

import pytest

from toolcrib import Context, Pack, Signature
from toolcrib.testing import Clock, check_pack, killed_host


pytest_plugins = ["pytester"]

CONFTEST = """
import pytest

pytest_plugins = ["toolcrib.testing"]


@pytest.fixture
def toolcrib_pack():
    from collections.abc import AsyncIterator

    from toolcrib import Context, Pack

    pack = Pack("kit")

    @pack.resource
    async def store(ctx: Context) -> AsyncIterator[list]:
        yield []

    @pack.tool(effects={"host_state"})
    async def keep(ctx: Context, text: str) -> int:
        "Keep a text."
        kept = await ctx.use(store)
        kept.append(text)
        ctx.report(f"kept {text}")
        ctx.note("degraded")
        return len(kept)

    pack.keep = keep
    return pack
"""


def test_the_fixtures_take_calls_through_all_stages(pytester):
    """Approved by default, refused on request, and called directly without any stage."""
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(
        """
        from toolcrib.testing import async_run

        def test_all_stages(session):
            outcome = session.call("kit.keep", {"text": "a"})
            assert outcome.ok
            assert outcome.result.notes == ("degraded",)
            assert session.call("kit.keep", {"text": "b"}).result.structured == 2

        def test_nobody_approves(session):
            outcome = session.call("kit.keep", {"text": "a"}, approve=False)
            assert outcome.status == "needs_approval"

        def test_directly(fake_ctx, toolcrib_pack):
            async def work():
                value = await toolcrib_pack.keep.call(fake_ctx, text="a")
                await fake_ctx.close()
                return value

            assert async_run(work()) == 1
            assert fake_ctx.reports == ["kept a"]
            assert fake_ctx.notes == ["degraded"]
        """
    )

    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")

    result.assert_outcomes(passed=3)


def test_a_good_pack_has_no_findings():
    """An empty list is good."""
    pack = Pack("good")

    @pack.tool(effects={"host_state"})
    async def keep(ctx: Context, text: str) -> str:
        """Keep a text."""
        return text

    @keep.signature
    def _(text: str) -> Signature:
        return Signature(effects={"host_state"})

    assert check_pack(pack) == []


def test_a_manifest_that_is_not_current_is_a_finding(tmp_path):
    """The author's own check catches what activation would refuse elsewhere."""
    pack = Pack("good")

    @pack.tool(effects=())
    async def ping(ctx: Context) -> str:
        """Answer."""
        return "pong"

    file = tmp_path / "toolcrib.json"
    file.write_text("{}")

    assert any(finding.startswith("manifest: ") for finding in check_pack(pack, manifest=file))


@pytest.mark.parametrize("name", ["secret", "artifacts"])
def test_a_fake_context_gives_what_the_test_gave(name, tmp_path):
    """Secrets by name, artifacts in memory."""
    import asyncio  # noqa: PLC0415

    from toolcrib.errors import Unavailable  # noqa: PLC0415
    from toolcrib.testing import FakeContext  # noqa: PLC0415

    ctx = FakeContext(tmp_path, secrets={"key": "value"})

    async def secret():
        with pytest.raises(Unavailable):
            await ctx.secret("other")
        return await ctx.secret("key") == "value"

    async def artifacts():
        link = await ctx.artifacts.put(b"abc", media_type="text/plain")
        return await ctx.artifacts.get(link.digest, start=1, size=1) == b"b"

    assert asyncio.run({"secret": secret, "artifacts": artifacts}[name]())


def test_a_clock_stands_still_until_it_is_moved():
    """It is called like ``time.time``."""
    clock = Clock(5.0)
    assert (clock(), clock()) == (5.0, 5.0)
    clock.now += 1.5
    assert clock() == 6.5


def test_a_host_that_kills_itself_leaves_what_it_printed():
    """Whatever it still had to clean up does not run."""
    code = """
import os, signal, sys
try:
    print(sys.argv[1:], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
finally:
    print("cleaned up", flush=True)
"""
    assert killed_host(code, "a", 1) == "['a', '1']\n"


@pytest.mark.parametrize("code", ["raise SystemExit('gone wrong')", "print('all is well')"])
def test_a_host_that_was_not_killed_proves_nothing(code):
    """The test fails, with what the host said."""
    with pytest.raises(AssertionError, match=r"gone wrong|ended with 0"):
        killed_host(code)
