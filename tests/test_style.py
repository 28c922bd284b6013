"""House rules that no linter knows, as tests."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
import tomllib

from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from toolcrib import hookspecs
from toolcrib.codes import CODES


ROOT = Path(__file__).resolve().parents[1]
MEMBERS = sorted(
    path.parent
    for pattern in ("core", "plugins/*", "contrib/*")
    for path in ROOT.glob(f"{pattern}/pyproject.toml")
)
SOURCES = sorted(path for member in MEMBERS for path in member.glob("src/**/*.py"))
LARGEST_MODULE = 300
LARGEST_OF_PACKS = 360  # where one protocol or grammar is told in one piece
LONGEST_FUNCTION = 50
_SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def named(path: Path) -> str:
    """How a test that fails calls a file."""
    return path.relative_to(ROOT).as_posix()


@attrs.frozen
class Module:
    """A source file, parsed."""

    path: Path
    tree: ast.Module
    code: frozenset[int]

    @classmethod
    def read(cls, path: Path) -> Module:
        """Parse a file; its code lines are those that say something to the interpreter."""
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        lines: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in _SILENT:
                lines.update(range(token.start[0], token.end[0] + 1))
        for node in ast.walk(tree):
            if isinstance(
                node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            ):
                lines.difference_update(_docstring(node))
        return cls(path, tree, frozenset(lines))

    def functions(self) -> Iterator[tuple[str, int]]:
        """Each function's name and the code lines of its body."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                inside = range(node.body[0].lineno, (node.end_lineno or 0) + 1)
                yield node.name, len(self.code.intersection(inside))


def _docstring(node: ast.AST) -> range:
    body = getattr(node, "body", [])
    first = body[0] if body else None
    value = first.value if isinstance(first, ast.Expr) else None
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return range(value.lineno, (value.end_lineno or 0) + 1)
    return range(0)


@pytest.fixture(scope="module")
def modules() -> list[Module]:
    """All source files of all members."""
    return [Module.read(path) for path in SOURCES]


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    """The files under version control, or all that would be."""
    try:
        done = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, timeout=60
        )
    except (OSError, subprocess.CalledProcessError):
        skipped = {"build", "dist", "node_modules", "__pycache__", "_build"}
        return [
            path
            for path in ROOT.rglob("*")
            if path.is_file()
            and not any(
                part.startswith(".") or part in skipped for part in path.relative_to(ROOT).parts
            )
        ]
    names = done.stdout.decode().split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def test_there_is_something_to_look_at(modules, tracked):
    """An empty list would pass everything below."""
    assert len(modules) > 100
    assert len(tracked) > 200


def test_no_module_is_longer_than_a_person_holds_in_mind(modules):
    """Blank lines, comments and docstrings are free."""
    core = ROOT / "core"
    long = {
        named(m.path): len(m.code)
        for m in modules
        if len(m.code) > (LARGEST_MODULE if core in m.path.parents else LARGEST_OF_PACKS)
    }
    assert long == {}


def test_functions_are_of_moderate_length(modules):
    """One that needs more holds two."""
    long = {
        f"{named(module.path)}::{name}": lines
        for module in modules
        for name, lines in module.functions()
        if lines > LONGEST_FUNCTION
    }
    assert long == {}


def test_all_members_have_one_version():
    """They are released together; the core's range in each admits it."""
    projects = {
        named(member): tomllib.loads((member / "pyproject.toml").read_text())["project"]
        for member in MEMBERS
    }
    versions = {project["version"] for project in projects.values()}
    assert len(versions) == 1, projects
    (version,) = versions
    minor = ".".join(version.split(".")[:2])
    for name, project in projects.items():
        if name != "core":
            needed = [
                d for d in project["dependencies"] if re.match(r"toolcrib(\[.*\])?\s*[><=~]", d)
            ]
            assert len(needed) == 1, name
            assert f">={minor}" in needed[0], name


@pytest.mark.parametrize("member", MEMBERS, ids=named)
def test_each_member_is_whole(member):
    """README, licence, tests, type marker, and a package of its own."""
    project = tomllib.loads((member / "pyproject.toml").read_text())["project"]
    for file in ("README.md", "LICENSE"):
        assert (member / file).is_file(), file
    assert list((member / "tests").rglob("test_*.py"))
    packages = [path for path in (member / "src").iterdir() if (path / "__init__.py").is_file()]
    assert [path.name for path in packages] == [project["name"].replace("-", "_")]
    assert (packages[0] / "py.typed").is_file()
    assert project["license"] == "MIT"
    assert project["requires-python"] == ">=3.11"


@pytest.mark.parametrize("member", MEMBERS, ids=named)
def test_a_pack_ships_its_manifest(member):
    """Who declares an entry point has the manifest beside the code."""
    project = tomllib.loads((member / "pyproject.toml").read_text())["project"]
    points = project.get("entry-points", {}).get("toolcrib.packs.v1", {})
    for reference in points.values():
        package = reference.partition(":")[0].partition(".")[0]
        assert (member / "src" / package / "toolcrib.json").is_file()


def _rank(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest: the order that the linter keeps."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2), name


def test_exported_names_are_sorted_and_there(modules):
    """``__all__`` has each name once, in order, and the module has each name."""
    for module in modules:
        for node in module.tree.body:
            if not (isinstance(node, ast.Assign) and _is_all(node.targets[0])):
                continue
            if isinstance(node.value, ast.List | ast.Tuple):
                names = [ast.literal_eval(item) for item in node.value.elts]
                assert names == sorted(set(names), key=_rank), named(module.path)
                assert set(names) <= _bound(module.tree), named(module.path)


def _is_all(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id == "__all__"


def _bound(tree: ast.Module) -> set[str]:
    """Names that a module binds; a lazy one binds those of its table as well."""
    found: set[str] = set()
    lazy = any(getattr(top, "name", None) == "__getattr__" for top in tree.body)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif lazy and isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found


def test_every_module_says_what_it_is(modules):
    """A docstring, annotations that are not evaluated, no star import."""
    for module in modules:
        assert ast.get_docstring(module.tree), named(module.path)
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom):
                assert all(alias.name != "*" for alias in node.names), named(module.path)


def test_entry_points_are_never_loaded_by_the_plugin_library(tracked):
    """It imports everything that is installed, enabled or not."""
    word = "load_setuptools_" + "entrypoints"
    for path in tracked:
        if path.suffix == ".py":
            assert word not in path.read_text(encoding="utf-8"), named(path)


def test_every_code_is_documented():
    """In the reference, with its status."""
    page = (ROOT / "docs" / "reference" / "codes.md").read_text(encoding="utf-8")
    missing = [name for name in CODES if f"| `{name}` | `{CODES[name].status}` |" not in page]
    assert missing == []


def test_every_code_is_used():
    """A code that nothing gives is a promise that nobody keeps."""
    texts = [
        path.read_text(encoding="utf-8")
        for path in [*SOURCES, *ROOT.glob("*/tests/**/*.py"), *ROOT.glob("*/*/tests/**/*.py")]
        if path.name != "codes.py"
    ]
    whole = "\n".join(texts)
    unused = [name for name in CODES if f'"{name}"' not in whole and f"'{name}'" not in whole]
    assert unused == []


def test_every_code_that_the_core_gives_is_in_the_table():
    """What ``refuse`` is given is a key of the table."""
    given = re.compile(r'\brefuse\(\s*"([a-z_]+\.[a-z_]+)"')
    for path in SOURCES:
        if "toolcrib" in path.parts:
            for name in given.findall(path.read_text(encoding="utf-8")):
                assert name in CODES, f"{named(path)}: {name}"


def test_every_hook_is_documented():
    """Its text says what silence means, and the reference has it."""
    page = (ROOT / "docs" / "reference" / "hooks.md").read_text(encoding="utf-8")
    hooks = [name for name in vars(hookspecs) if name.startswith("toolcrib_")]
    assert len(hooks) >= 8
    for name in hooks:
        text = getattr(hookspecs, name).__doc__ or ""
        assert re.search(r"\b(Silence|Not implemented|Error)\b", text), name
        assert f"## `{name}`" in page, name


# Put together here, so that this file does not contain what it looks for.
_REGISTRIES = (
    "pypi" + ".org",
    "python" + "hosted",
    "npm" + "js",
    "arti" + "factory",
    "nexus" + ".",
)
_MACHINES = (
    "/work" + "/main",
    "/work" + "/shared",
    "/ro" + "ot/",
    "/Us" + "ers/",
    "/tmp" + "/dev",
)
_FOREIGN_LOCKS = {"uv.lock", "poetry.lock", "Pipfile.lock", "package-lock.json", "pip.conf"}


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", errors="replace")


@pytest.mark.parametrize("word", [*_REGISTRIES, *_MACHINES])
def test_nothing_tracked_names_a_registry_or_a_machine(tracked, word):
    """It would be wrong on the next machine."""
    holding = [
        named(path)
        for path in tracked
        if re.search(r"(?<![\w.])" + re.escape(word), _text(path))
    ]
    assert holding == []


def test_no_lock_of_an_installer_is_tracked(tracked):
    """They record the addresses of whoever wrote them; pins live in constraints.txt."""
    assert [named(path) for path in tracked if path.name in _FOREIGN_LOCKS] == []


# The kits from which a further dialect, and a further kind of job, is made.
_KITS = {"toolcrib_dialects": "toolcrib.projection", "toolcrib_runners": "toolcrib.jobs"}


def test_no_test_measures_time(tracked):
    """What is to be fast stands in tests/bench; a busy machine must fail no test."""
    clocks = re.compile(r"perf_counter|process_time|thread_time")
    measuring = [
        named(path)
        for path in tracked
        if path.name.startswith(("test_", "conftest")) and path.suffix == ".py"
        if path != Path(__file__) and clocks.search(path.read_text(encoding="utf-8"))
    ]
    assert measuring == []


def test_packs_import_only_what_is_public():
    """``toolcrib``, its resources and test kit, and the libraries that packs share."""
    allowed = re.compile(
        r"^toolcrib(\.resources|\.testing)?$|^toolcrib_(net|store)(\.|$)|^toolcrib_runners$"
    )
    for member in MEMBERS:
        if member.name == "core":
            continue
        own = next(path.name for path in (member / "src").iterdir() if path.is_dir())
        for path in member.glob("src/**/*.py"):
            for name in _imported(ast.parse(path.read_text(encoding="utf-8"))):
                foreign = name.startswith("toolcrib") and name.partition(".")[0] != own
                if foreign and name != _KITS.get(own):
                    assert allowed.match(name), f"{named(path)} imports {name}"


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def test_what_the_readme_says_to_type_is_what_is_run():
    """The test command stands in the check of every change, to the letter."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^```\n(python3\.11 .+)\n```$", readme, re.MULTILINE)
    assert len(commands) == 2
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert commands[1] in script.splitlines()
    sessions = re.findall(r"nox -s ([a-z ]+)", script)
    run = {name for line in sessions for name in line.split()}
    for command in commands:
        (session,) = re.findall(r"nox -s (\w+)$", command)
        assert session in run
    assert {"tests", "lint", "types", "docs", "demo", "build", "peers"} <= run
