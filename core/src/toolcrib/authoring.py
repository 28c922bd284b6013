"""What an author's code declares, checked as only an author needs it.

A manifest is written from this. A ``Pack`` tells everything itself; of a module or object
with ``@hookimpl`` functions the hooks are looked up and ``toolcrib_tools`` is called.
"""

from __future__ import annotations

import difflib
import inspect
import logging

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from toolcrib import hookspecs
from toolcrib.errors import DeclarationError, SchemaError
from toolcrib.implementation import Implementation
from toolcrib.manifest.document import FILE_NAME, PackManifest, dump
from toolcrib.manifest.schema import HOOKS
from toolcrib.names import is_pack_id, is_tool_name
from toolcrib.tool import Requirements, Tool

from .typed.introspection import shape


__all__ = ["AuthorHost", "check", "describe", "hooks_of", "write"]

_MARK = f"{hookspecs.PROJECT}_impl"


class AuthorHost:
    """The host that ``toolcrib_tools`` is given while a manifest is written.

    It has a name, empty settings and a logger. Tools are the same everywhere, so whoever
    asks for more is told.
    """

    def __init__(self, pack: str) -> None:
        self.pack = pack
        self.settings: Mapping[str, Any] = {}
        self.logger = logging.getLogger(f"toolcrib.pack.{pack}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        text = (
            f"pack {self.pack}: toolcrib_tools asks for host.{name}; tools are declared "
            "without a host: use what is in it when a tool is called"
        )
        raise DeclarationError(text)


def hooks_of(plugin: Any) -> dict[str, Callable[..., Any]]:
    """Return the hook implementations of a plugin by name, without evaluating others."""
    found = {}
    for name in sorted(dir(plugin)):
        if not name.startswith("toolcrib_"):
            continue
        static = inspect.getattr_static(plugin, name, None)
        marked = static.__func__ if isinstance(static, staticmethod | classmethod) else static
        if hasattr(marked, _MARK) or hasattr(static, _MARK):
            found[name] = getattr(plugin, name)
    return found


def describe(
    plugin: Any,
    *,
    pack: str | None = None,
    title: str | None = None,
    version: str | None = None,
) -> PackManifest:
    """Return what a plugin declares.

    Args:
        plugin: A ``Pack``, or a module or object with ``@hookimpl`` functions.
        pack: The id, where the plugin has neither an ``id`` nor tools to tell it.
        title: Name for people, where the plugin has none.
        version: Free text, where the plugin has none.

    Raises:
        DeclarationError: every problem.
    """
    hooks = hooks_of(plugin)
    told = pack or _told(plugin, "id", str)
    tools = _tools(hooks.get("toolcrib_tools"), told or "unnamed")
    ids = {tool.pack for tool in tools}
    name = told or (ids.pop() if len(ids) == 1 else "")
    problems = _pack_problems(plugin, name, hooks, tools)
    for tool in tools:
        problems += _tool_problems(tool)
    if problems:
        raise DeclarationError(*problems)
    return PackManifest(
        pack=name,
        title=title or _told(plugin, "title", str) or name.replace("-", " ").capitalize(),
        version=version or _told(plugin, "version", str) or "1",
        tools=tools,
        hooks=frozenset(hooks),
        groups=_told(plugin, "groups", tuple) or (),
        requires=_told(plugin, "requires", Requirements) or Requirements(),
    )


def _told(plugin: Any, name: str, kind: type[Any]) -> Any:
    value = getattr(plugin, name, None)
    return value if isinstance(value, kind) else None


def _tools(hook: Callable[..., Any] | None, pack: str) -> tuple[Tool, ...]:
    if hook is None:
        return ()
    made = hook(AuthorHost(pack)) if shape(hook).names else hook()
    if inspect.isawaitable(made):
        made = _awaited(made)
    if not isinstance(made, Iterable):
        text = f"pack {pack}: toolcrib_tools gives {made!r} and no implementations"
        raise DeclarationError(text)
    found = list(made)
    wrong = [each for each in found if not isinstance(each, Implementation)]
    if wrong:
        raise DeclarationError(
            *(
                f"pack {pack}: toolcrib_tools gives {each!r}, no Implementation"
                for each in wrong
            )
        )
    return tuple(each.tool for each in found)


def _awaited(made: Any) -> Any:
    """Wait for a hook in a loop and thread of its own: the caller may have a loop."""
    import asyncio  # noqa: PLC0415 - 50 ms, and hardly any pack needs it

    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - as above

    async def wait() -> Any:
        return await made

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, wait()).result()


def _pack_problems(
    plugin: Any, name: str, hooks: Mapping[str, Any], tools: Iterable[Tool]
) -> list[str]:
    subject = f"pack {name or plugin!r}"
    problems = []
    if not is_pack_id(name):
        problems.append(
            f"{subject}: id: {name!r} is outside the grammar of pack ids; pass pack="
        )
    if not hooks:
        problems.append(f"{subject}: {_why_empty(plugin)}")
    problems += [
        f"{subject}: {hook}: there is no such hook; known are: {' '.join(sorted(HOOKS))}"
        for hook in sorted(set(hooks) - HOOKS)
    ]
    seen: set[str] = set()
    for tool in tools:
        if tool.pack != name:
            problems.append(f"{subject}: {tool.id}: the id names another pack")
        elif tool.source is not None or not is_tool_name(tool.name):
            problems.append(f"{subject}: {tool.id}: the name is outside the grammar of tools")
        if tool.id in seen:
            problems.append(f"{subject}: {tool.id}: it is declared twice")
        seen.add(tool.id)
    return problems


def _why_empty(plugin: Any) -> str:
    if callable(getattr(plugin, "tool", None)) and _told(plugin, "id", str):
        return "it declares no tool: decorate a function with @pack.tool"
    if type(plugin).__module__ == "builtins" and not inspect.ismodule(plugin):
        return f"it is {plugin!r:.80} ({type(plugin).__name__}), not a pack"
    return "it answers no hook: mark functions with @hookimpl"


def _tool_problems(tool: Tool) -> Iterator[str]:
    """Yield what is wrong with one tool: prose, schemas, examples."""
    said = tool.description
    if not said.summary.strip() or said.summary == tool.title:
        yield f"{tool.id}: summary: write a docstring: it is all that a model knows of the tool"
    try:
        problems = [*_schemas(tool)]
    except SchemaError as error:
        yield f"{tool.id}: input_schema: {error}"
        return
    yield from problems


def _schemas(tool: Tool) -> Iterator[str]:
    from toolcrib.schema import normalize  # noqa: PLC0415 - authors only

    if tool.input_schema.get("type") != "object":
        yield f'{tool.id}: input_schema: it needs "type": "object" at its root'
    normal = normalize(tool.input_schema, arguments=True)
    if tool.output_schema is not None:
        try:
            normalize(tool.output_schema)
        except SchemaError as error:
            yield f"{tool.id}: output_schema: {error}"
    if not tool.description.examples:
        return
    from toolcrib.validator import Validators  # noqa: PLC0415 - the same

    validator = Validators().get(normal)
    for index, example in enumerate(tool.description.examples):
        for problem in validator.check(dict(example.arguments)):
            yield (
                f"{tool.id}: examples[{index}]: {problem.pointer or '/'}: "
                f"{problem.expected} is expected ({problem.keyword})"
            )


def write(
    plugin: Any,
    *,
    pack: str | None = None,
    title: str | None = None,
    version: str | None = None,
) -> bytes:
    """Return the manifest of a pack.

    Args:
        plugin: A ``Pack``, or a module or object with ``@hookimpl`` functions, whose
            ``toolcrib_tools`` is called.
        pack: The id, where the plugin is no ``Pack`` and has no tools to tell it.
        title: Name for people, where the plugin is no ``Pack``.
        version: Free text, where the plugin is no ``Pack``.

    Raises:
        DeclarationError: every problem of the pack's declarations.
    """
    return dump(describe(plugin, pack=pack, title=title, version=version))


def check(data: bytes, plugin: Any, **names: str | None) -> list[str]:
    """Compare a manifest with what :func:`write` gives now; lines of a diff, none if equal."""
    current = write(plugin, **names)
    if current == data:
        return []
    old = data.decode("utf-8", "replace").splitlines()
    new = current.decode().splitlines()
    lines = list(difflib.unified_diff(old, new, FILE_NAME, "written now", lineterm=""))
    return lines or [f"{FILE_NAME}: line ends or the end of the file differ"]
