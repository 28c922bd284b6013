"""The one entry point: ``nox -l`` lists the sessions."""

from __future__ import annotations

import shutil
import sys
import tomllib

from pathlib import Path

import nox


ROOT = Path(__file__).parent
MEMBERS = sorted(
    path.parent.relative_to(ROOT).as_posix()
    for pattern in ("core", "plugins/*", "contrib/*")
    for path in ROOT.glob(f"{pattern}/pyproject.toml")
)
GROUPS = nox.project.load_toml("pyproject.toml")["dependency-groups"]
CONSTRAINTS = ("-c", "constraints.txt")
PYTHONS = ["3.11", "3.12", "3.13"]
# Blocks of one page, and tests of one file, share what they open: they stay together.
PARALLEL = ("-m", "not peer", "-n", "2", "--dist", "loadfile")

nox.needs_version = ">=2025.2"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["tests", "lint", "types", "docs"]
nox.options.reuse_existing_virtualenvs = True
# Also under CI: the suite covers the newer interpreters where they are installed.
nox.options.error_on_missing_interpreters = False


def group(name: str) -> list[str]:
    """Return the requirements of a dependency group."""
    return [entry for entry in GROUPS[name] if isinstance(entry, str)]


def extras(member: str) -> str:
    """Return ``[a,b]`` with every extra of a member, or nothing."""
    project = tomllib.loads((ROOT / member / "pyproject.toml").read_text())["project"]
    names = sorted(project.get("optional-dependencies", {}))
    return f"[{','.join(names)}]" if names else ""


def install(session: nox.Session, *groups: str, members: list[str] = MEMBERS) -> None:
    """Install members editable, core first, with the requirements of some groups."""
    editable = [arg for m in members for arg in ("-e", f"./{m}{extras(m)}")]
    wanted = [requirement for name in groups for requirement in group(name)]
    session.install(*CONSTRAINTS, *editable, *wanted)


def schema_suite(session: nox.Session) -> str:
    """Unpack the JSON Schema test suite, which comes with jsonschema's source archive."""
    # Not the session's own folder for temporary files: nox would then keep those of the
    # tests below the checkout, where language servers skip what git ignores.
    folder = Path(session.cache_dir).resolve() / "schema-suite"
    if not any(folder.glob("*/json")):
        session.install("pip")
        session.run(
            *("python", "-m", "pip", "download", "-q", "--no-deps", "--no-binary=:all:"),
            *("-d", str(folder), "jsonschema==4.26.0"),
        )
        shutil.unpack_archive(next(folder.glob("*.tar.gz")), folder, filter="data")
    return str(next(folder.glob("*/json")))


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run every test that needs only what pip provides; on newer Pythons those of the core."""
    install(session, "test")
    environment = {"TOOLCRIB_SCHEMA_SUITE": schema_suite(session)}
    paths = () if session.python == PYTHONS[0] else ("core/tests",)
    arguments = session.posargs or (*PARALLEL, *paths)
    session.run("python", "-m", "pytest", *arguments, env=environment)


@nox.session(python="3.11")
def coverage(session: nox.Session) -> None:
    """Measure branch coverage of the core; below 95 % fails."""
    install(session, "test")
    environment = {"TOOLCRIB_SCHEMA_SUITE": schema_suite(session)}
    session.run(
        *("python", "-m", "pytest", *PARALLEL, "core", "contrib/dialects", "tests", "docs"),
        # Measuring itself deepens the stack, and loads modules into every process.
        "--deselect=core/tests/schema/test_hostile.py::test_recursion_that_forks_is_judged_once_each",
        "--deselect=core/tests/cli/test_cli_ledger.py::test_help_loads_nothing_heavy",
        *("--cov", "--cov-report=term:skip-covered", "--cov-fail-under=95"),
        *session.posargs,
        env=environment,
    )


@nox.session(python="3.11")
def peers(session: nox.Session) -> None:
    """Run the tests that need real peers; a peer that is absent is a failure."""
    install(session, "test", "peers")
    session.run(
        *("python", "-m", "pytest", "-m", "peer", *session.posargs),
        env={"TOOLCRIB_PEERS": "1"},
    )


@nox.session(python="3.11")
def demo(session: nox.Session) -> None:
    """Run the main job on a shipped transcript, in a throw-away folder."""
    install(session, members=["core", "contrib/files"])
    session.install(*CONSTRAINTS, "-e", "tests/demo/pack")
    session.run("python", "tests/demo/run.py", *session.posargs)


@nox.session(python="3.11")
@nox.parametrize("member", MEMBERS, ids=MEMBERS)
def isolated(session: nox.Session, member: str) -> None:
    """Install one distribution's wheel with the core alone and run its own tests."""
    wheels = Path(session.cache_dir).resolve() / "wheels" / member.replace("/", "-")
    shutil.rmtree(wheels, ignore_errors=True)
    session.install(*CONSTRAINTS, "build", *group("test"))
    # Libraries of other packs.
    shared = {"contrib/net", "contrib/runners", "contrib/store"} & set(MEMBERS)
    siblings = {"core", member, *(shared if member != "core" else ())}
    for name in sorted(siblings):
        session.run("python", "-m", "build", "--wheel", "-o", str(wheels), name, silent=True)
    project = tomllib.loads((ROOT / member / "pyproject.toml").read_text())["project"]
    session.install(
        *(*CONSTRAINTS, "--find-links", str(wheels)),
        # What every author's tests use: the command line, and docstrings for manifests.
        f"toolcrib[author,cli]=={project['version']}",
        f"{project['name']}{extras(member)}=={project['version']}",
    )
    session.run(
        *("python", "-m", "pytest", "-m", "not peer", f"{member}/tests", *session.posargs)
    )


@nox.session(python="3.11")
def lint(session: nox.Session) -> None:
    """Check style, format and the direction of imports."""
    install(session, "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")


@nox.session(python="3.11")
def types(session: nox.Session) -> None:
    """Check types: mypy strict over the sources, pyright over the public API."""
    install(session, "test", "types")
    for member in MEMBERS:
        session.run("mypy", f"{member}/src")
    session.run("mypy", "core/tests/typing")
    session.run("pyright", "--pythonpath", str(Path(session.bin) / "python"))


@nox.session(python="3.11")
def docs(session: nox.Session) -> None:
    """Build the documentation; a warning or a dangling reference is an error."""
    install(session, "docs")
    session.run("python", "docs/generate.py", "--check")
    session.run("python", "docs/losses.py", "--check")
    session.run("sphinx-build", "-W", "-n", "-q", "-b", "html", "docs", "docs/_build/html")


@nox.session(python="3.11")
def bench(session: nox.Session) -> None:
    """Measure, as ratios in one run; ``-- ROW …`` picks rows, ``--peers`` adds the peers."""
    install(session, "test", "bench")
    session.run("python", "tests/bench/run.py", *session.posargs)


@nox.session(python="3.11")
def build(session: nox.Session) -> None:
    """Build every wheel and look into it."""
    session.install(*CONSTRAINTS, *group("build"))
    out = Path("dist")
    shutil.rmtree(out, ignore_errors=True)
    for member in MEMBERS:
        session.run("python", "-m", "build", "-o", str(out), member, silent=True)
    session.run("python", "tests/wheels/look.py", str(out))


@nox.session(python="3.11")
def corpus(session: nox.Session) -> None:
    """Take a JSON-lines file of real declarations through everything: ``-- PATH``."""
    install(session, "test")
    session.run("python", "tests/corpus/run.py", *session.posargs)


if __name__ == "__main__":
    sys.exit("run it with nox: nox -s tests")
