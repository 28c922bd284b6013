"""What packs log: under the application's levels and handlers, and without secrets."""

from __future__ import annotations

import asyncio
import base64
import io
import logging

from types import SimpleNamespace

import pytest

from toolcrib import Context, Pack, Policy, Toolbox


SECRET = "tok/3n-ü+0123456789"


class Keeping(logging.Handler):
    """A handler that keeps records, and what a formatter makes of them."""

    def __init__(self):
        super().__init__()
        self.records = []
        self.stream = io.StringIO()
        self.setFormatter(logging.Formatter("%(name)s %(message)s"))

    def emit(self, record):
        self.records.append(record)
        self.stream.write(self.format(record) + "\n")

    def everything(self):
        """Return all that any handler could show."""
        shown = [str(vars(record)) + repr(record.exc_info) for record in self.records]
        return "\n".join([self.stream.getvalue(), *shown])


@pytest.fixture
def heard():
    """A handler on the named logger of the pack, as an application would set it."""
    named = logging.getLogger("toolcrib.pack.talk")
    handler, level = Keeping(), named.level
    named.addHandler(handler)
    named.setLevel(logging.DEBUG)
    yield handler
    named.removeHandler(handler)
    named.setLevel(level)


@pytest.fixture
def say(monkeypatch, tmp_path):
    """Run ``speak(ctx, secret)`` as a tool of a pack that has a secret."""
    monkeypatch.setenv("TALK_KEY", SECRET)

    def run(speak):
        pack = Pack("talk")

        @pack.tool(effects=())
        async def aloud(ctx: Context) -> str:
            """Say it aloud."""
            speak(ctx, await ctx.secret("key"))
            return "said"

        secrets = {"key": {"env": "TALK_KEY", "tools": ["talk.*"], "destinations": ()}}

        async def main():
            policy = Policy(local=[pack], state=tmp_path / "s", secrets=secrets)
            async with Toolbox(policy) as box, box.session("c") as session:
                return await session.call("talk.aloud")

        outcome = asyncio.run(main())
        assert outcome.ok, outcome.text

    return run


def signs_in(secret):
    raise ValueError(f"bad token {secret}")


def fails(secret):
    """Raise an exception that says a secret, because of another that does."""
    try:
        signs_in(secret)
    except ValueError as error:
        raise RuntimeError(f"https://me:{secret}@host failed") from error


def with_traceback(logger, secret):
    try:
        fails(secret)
    except RuntimeError:
        logger.exception("it failed")


def using(secret):
    return f"using {secret}"


WAYS = {
    "text": lambda logger, secret: logger.info(using(secret)),
    "arguments": lambda logger, secret: logger.info("using %s of %s", secret, {"k": secret}),
    "a mapping": lambda logger, secret: logger.info("using %(key)s", {"key": secret}),
    "an object": lambda logger, secret: logger.info("using %s", SimpleNamespace(key=secret)),
    "base 64": lambda logger, secret: logger.info(base64.b64encode(secret.encode()).decode()),
    "an error": lambda logger, secret: logger.info("no: %s", ValueError(secret)),
    "a traceback": with_traceback,
    "a stack": lambda logger, secret: logger.info("here", stack_info=True),
    "extra": lambda logger, secret: logger.info("sent", extra={"sent": {"auth": [secret]}}),
    "a wrong text": lambda logger, secret: logger.info(using(secret), 1),
}
LOGGERS = {
    "ctx.logger": lambda ctx: ctx.logger,
    "ctx.host.logger": lambda ctx: ctx.host.logger,
    "ctx.sub_logger()": lambda ctx: ctx.sub_logger(),
    "a child": lambda ctx: ctx.sub_logger().getChild("part").getChild("of it"),
}


@pytest.mark.parametrize("which", LOGGERS)
@pytest.mark.parametrize("way", WAYS)
def test_no_secret_is_logged(say, heard, monkeypatch, way, which):
    """In no part of a record that any handler could show."""
    monkeypatch.setattr(logging, "raiseExceptions", False)
    say(lambda ctx, secret: WAYS[way](LOGGERS[which](ctx), secret))
    (record,) = heard.records
    assert SECRET not in heard.everything()
    assert base64.b64encode(SECRET.encode()).decode().rstrip("=") not in heard.everything()
    assert record.name.startswith("toolcrib.pack.talk")


def test_the_rest_of_what_is_said_stays(say, heard):
    """People still find the fault."""
    say(lambda ctx, secret: with_traceback(ctx.sub_logger(), secret))
    text = heard.stream.getvalue()
    assert "it failed" in text
    assert "ValueError: bad token [secret key]" in text
    assert "RuntimeError: https://me:[secret key]@host failed" in text
    assert "in fails" in text


def test_a_record_without_secrets_is_left_as_it_is(say, heard):
    """Its arguments and its exception stay for handlers that look at them."""
    thing = object()

    def speak(ctx, secret):
        try:
            {}["x"]
        except KeyError:
            ctx.logger.warning("%d %s", 1, thing, exc_info=True, extra={"size": 3})

    say(speak)
    (record,) = heard.records
    assert record.args == (1, thing)
    assert record.exc_info[0] is KeyError
    assert record.size == 3


def test_levels_are_the_applications_at_any_time(say, heard):
    """A level that is set while a call runs holds at once."""
    named = logging.getLogger("toolcrib.pack.talk")

    def speak(ctx, secret):
        for logger in (ctx.logger, ctx.sub_logger()):
            logger.debug("one")
            named.setLevel(logging.WARNING)
            logger.debug("two")
            logger.warning("three")
            named.setLevel(logging.DEBUG)
            logging.disable(logging.CRITICAL)
            logger.error("four")
            logging.disable(logging.NOTSET)

    say(speak)
    assert [record.getMessage() for record in heard.records] == ["one", "three"] * 2


def test_loggers_of_calls_do_not_pile_up(say, heard):
    """The logging module's own table would keep them for ever."""
    before = set(logging.root.manager.loggerDict)
    say(lambda ctx, secret: ctx.sub_logger().info("hello"))
    made = set(logging.root.manager.loggerDict) - before
    assert not [name for name in made if name.startswith("toolcrib.pack.talk.")]
    assert heard.records[0].name.startswith("toolcrib.pack.talk.call_")
