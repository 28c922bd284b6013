"""The command group; each command's module is imported when it is used."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys

from pathlib import Path
from typing import Any

import click

from .exits import EXIT, table
from .output import note, unbreakable


__all__ = ["cli", "main"]

# name: (module, attribute, help). Listing them costs no import.
COMMANDS = {
    "packs": ("packs", "packs", "List, enable and disable packs."),
    "tools": ("tools", "tools", "List the tools that policy lets through, or declare them."),
    "check": ("checking", "check", "Check policy, rules, packs and schemas."),
    "explain": ("explain", "explain", "Explain a tool, a projection or a decision."),
    "call": ("call", "call", "Call one tool through all stages."),
    "run": ("run", "run", "Run a model's tool calls through all stages."),
    "stop": ("stop", "stop", "Stop what runs for a conversation."),
    "doctor": ("doctor", "doctor", "Look for everything that could be wrong."),
    "rules": ("rules", "rules", "Look into permission rules."),
    "ledger": ("ledger", "ledger", "Read receipts."),
    "lock": ("lock", "lock", "Pin the code that was approved."),
    "new": ("new", "new", "Start a new pack."),
    "manifest": ("manifest", "manifest", "Write or check a pack's manifest."),
}


class Lazy(click.Group):
    """A group that imports a command when it is used, and packs' groups from manifests."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the core's commands, then the packs'."""
        return [*COMMANDS, *(name for name in sorted(_pack_groups()) if name not in COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        if cmd_name in COMMANDS:
            module, attribute, _ = COMMANDS[cmd_name]
            found = getattr(importlib.import_module(f"{__package__}.{module}"), attribute)
            return found if isinstance(found, click.Command) else None
        group = _pack_groups(ctx.meta.get(_POLICY)).get(cmd_name)
        return _load(group) if group is not None else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find a command; a policy that its options name enables packs as well."""
        if args and args[0] not in COMMANDS:
            ctx.meta[_POLICY] = _named_policy(args[1:])
            if self.get_command(ctx, args[0]) is None:
                from toolcrib.names import closest  # noqa: PLC0415 - only for what is not found

                from .groups import asleep  # noqa: PLC0415 - as above

                text = asleep(args[0])
                if text is None:
                    like = closest(args[0], self.list_commands(ctx), most=1)
                    hint = f" Did you mean {like[0]!r}?" if like else ""
                    if "." in args[0]:
                        hint = f" To call a tool: toolcrib call {args[0]}"
                    text = f"No such command {args[0]!r}.{hint}"
                ctx.fail(text)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        rows = [(name, text) for name, (_, _, text) in COMMANDS.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
        groups = _pack_groups()
        added = [(name, groups[name].help) for name in sorted(groups) if name not in COMMANDS]
        if added:
            with formatter.section("Commands of enabled packs"):
                formatter.write_dl(added)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the exit codes as they are, one a line."""
        formatter.write_paragraph()
        formatter.write(table() + "\n")

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; click has an exit code of its own for a closed pipe."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _Closed from error

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command; whatever happens ends in a documented exit code."""
        unbreakable()
        try:
            code = _coded(lambda: super(Lazy, self).main(*args, **options | _AS_FUNCTION))
            sys.stdout.flush()
        except (_Closed, BrokenPipeError):
            code = _closed()
        raise SystemExit(code)


class _Closed(Exception):  # noqa: N818 - nothing is wrong; nobody reads any more
    pass


_POLICY = "toolcrib.policy"
_AS_FUNCTION = {"standalone_mode": False}


def _coded(run: Any) -> int:
    """Run a command and return its exit code; errors are said on stderr."""
    from toolcrib.errors import PolicyError, RecordError, ToolcribError  # noqa: PLC0415 - as below

    try:
        result = run()
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else EXIT["not_ok"]
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        note("toolcrib: interrupted", colour="red")
        return EXIT["interrupted"]
    except _Closed:
        raise
    except PolicyError as error:
        return _said(error, "policy")
    except RecordError as error:
        return _said(error, "ledger")
    except ToolcribError as error:
        return _said(error, "not_ok")
    except Exception as error:  # noqa: BLE001 - the last resort, and it tells everything
        return _crashed(error)
    return result if isinstance(result, int) else EXIT["ok"]


def _said(error: Exception, name: str) -> int:
    for text in (str(error), *getattr(error, "__notes__", ())):
        note(f"toolcrib: {text}", colour="red")
    return EXIT[name]


def _crashed(error: Exception) -> int:
    import traceback  # noqa: PLC0415 - only for faults

    note("".join(traceback.format_exception(error)).rstrip())
    note("toolcrib: this is a fault of toolcrib itself; please report it", colour="red")
    return EXIT["crash"]


def _closed() -> int:
    """End quietly: what is still in the buffer has no reader."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return EXIT["closed"]


def _pack_groups(file: Path | None = None) -> dict[str, Any]:
    """Return the command groups of enabled packs, read from their manifests."""
    from .groups import pack_groups  # noqa: PLC0415 - only when commands are listed

    return pack_groups(file)


def _named_policy(args: list[str]) -> Path | None:
    """Return the policy file that a command's options name, if it is there."""
    for place, word in enumerate(args):
        if word == "--":
            break
        option, equals, value = word.partition("=")
        if option == "--policy" and (equals or args[place + 1 :]):
            file = Path(value if equals else args[place + 1])
            # The command itself says what is wrong with one that is not there.
            return file if file.is_file() else None
    return None


def _load(group: Any) -> click.Command:
    from .groups import load  # noqa: PLC0415 - as above

    return load(group)


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="toolcrib")
def cli() -> None:
    """Give tools to LLM agents: packs from pip, permissions per call, nothing runs twice."""


def main() -> None:
    """Run the command line."""
    cli.main(prog_name="toolcrib")
