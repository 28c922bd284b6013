"""Functions beside a handler that need the host are given it, with the session's workspace."""

from __future__ import annotations

import asyncio

import pytest

from toolcrib import (
    Context,
    DeclarationError,
    Directive,
    Invalid,
    Pack,
    PackHost,
    Result,
    Signature,
    resources,
)


def make_pack():
    pack = Pack("desk")

    @pack.tool(effects={"fs_write"}, directives=["switch_workspace"])
    async def keep(ctx: Context, name: str) -> Result:
        """Keep something."""
        return Result("kept", directives=[Directive("switch_workspace", "tree")])

    @keep.signature
    def _(host: PackHost, /, name: str) -> Signature:
        return Signature(writes=[resources.Path(str(host.workspace.root / name))])

    @keep.preview
    def _(host: PackHost, /, name: str) -> str:
        return f"{host.settings['label']} in {host.workspace.root.name}: {name}"

    @keep.generalize
    def _(host: PackHost, /) -> str:
        return f"(path={host.workspace.root}/**)"

    @keep.check
    def _(host: PackHost, /, name: str) -> None:
        if name == host.settings["label"]:
            raise Invalid("/name", "that is taken")

    @keep.debug_steps
    def _(host: PackHost, /, name: str) -> list[str]:
        return [f"write {name} below {host.workspace.root.name}"]

    return pack


def test_companions_are_given_the_host(run, tmp_path, reply):
    """Preview, check, signature and rule all know workspace and settings."""
    (tmp_path / "tree").mkdir()

    async def scenario(session):
        view = await session.view("openai")
        batch = await session.submit(view.calls(reply(("desk_keep", '{"name": "a"}'))))
        (question,) = batch.questions
        wrong = await session.call("desk.keep", {"name": "L"})
        return question, wrong

    question, wrong = run(scenario, make_pack(), settings={"desk": {"label": "L"}})
    assert question.preview == f"L in {tmp_path.name}: a"
    assert question.resources == (f"write path {tmp_path}/a",)
    assert question.rule_offered is not None
    assert str(tmp_path) in question.rule_offered
    assert wrong.code == "tool.invalid"


def test_the_host_follows_the_session_to_another_workspace(run, tmp_path):
    """A preview speaks of the folder that the call would work in."""
    (tmp_path / "tree").mkdir()
    previews = []

    def yes(question):
        from toolcrib import Allow  # noqa: PLC0415 - for this test

        previews.append(question.preview)
        return Allow(by="ada")

    async def scenario(session):
        for name in ("a", "b"):
            await session.call("desk.keep", {"name": name}, approver=yes)

    run(scenario, make_pack(), settings={"desk": {"label": "L"}}, directives=["desk"])
    assert previews == [f"L in {tmp_path.name}: a", "L in tree: b"]


def test_only_the_host_may_come_first_and_only_by_position():
    """A parameter of the tool in that place is a mistake, and named."""
    pack = Pack("desk")

    @pack.tool(effects=())
    async def keep(ctx: Context, name: str) -> str:
        """Keep something."""
        return name

    for wrong in (lambda name, /: None, lambda a, b, /: None):
        with pytest.raises(DeclarationError, match="only the host may come first"):
            keep.preview(wrong)


def test_a_direct_implementation_says_which_functions_take_the_host():
    """Packs without ``Pack`` have the same seam."""
    from toolcrib.implementation import Companions  # noqa: PLC0415 - for this test

    companions = Companions(preview=lambda host, **_: "x", hosted=frozenset({"preview"}))
    assert companions.names() == {"preview"}
    assert asyncio.iscoroutinefunction(companions.preview) is False
