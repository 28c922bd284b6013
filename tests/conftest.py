"""Fresh environments to install wheels into, and the ledger of which tests ran."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sysconfig
import textwrap
import venv

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest


ROOT = Path(__file__).resolve().parents[1]


# -- environments -------------------------------------------------------------------


@attrs.frozen
class Done:
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[Any]:
        """Standard output, as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


@attrs.frozen
class Environment:
    """A virtual environment that sees this one's packages, with a user of its own."""

    root: Path
    pip_command: tuple[str, ...]

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.root / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"

    @property
    def site(self) -> Path:
        """Where its distributions are."""
        return _site(self.root / "venv")

    @property
    def policy(self) -> Path:
        """Its user's policy file."""
        return self.root / "config" / "toolcrib" / "toolcrib.toml"

    @property
    def workspace(self) -> Path:
        """Where its user works."""
        return self.root / "workspace"

    def allow(self, text: str) -> None:
        """Write the user's policy."""
        self.policy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.policy.write_text(textwrap.dedent(text), encoding="utf-8")
        self.policy.chmod(0o600)

    def pip(self, *arguments: Any) -> None:
        """Run pip for this environment; it asks no registry."""
        command = [*self.pip_command, "--python", str(self.python), *map(str, arguments)]
        _run(command, env=_clean())

    def install(self, *wheels: Path) -> None:
        """Install wheels as a user would."""
        self.pip("install", "--quiet", "--no-deps", "--no-index", *wheels)

    def toolcrib(self, *arguments: Any, given: str = "") -> Done:
        """Run the command line there, without a terminal."""
        environment = _clean() | {
            "HOME": str(self.root),
            "XDG_CONFIG_HOME": str(self.root / "config"),
            "XDG_STATE_HOME": str(self.root / "state"),
        }
        done = subprocess.run(
            [str(self.python), "-m", "toolcrib", *map(str, arguments)],
            input=given,
            capture_output=True,
            encoding="utf-8",
            env=environment,
            cwd=self.workspace,
            timeout=120,
            check=False,
            start_new_session=True,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def json(self, *arguments: Any, code: int = 0) -> Any:
        """Run a command with ``--json`` and return what it prints."""
        done = self.toolcrib(*arguments, "--json")
        assert done.code == code, (done.code, done.out, done.err)
        return json.loads(done.out)


def _clean() -> dict[str, str]:
    """The environment without what would lead somewhere else."""
    dropped = (
        "PYTHONPATH",
        "PYTHONHOME",
        "VIRTUAL_ENV",
        "TOOLCRIB_",
        "PIP_",
        "COVERAGE_",
        "COV_",
    )
    return {k: v for k, v in os.environ.items() if not k.startswith(dropped)}


def _run(command: list[str], **options: Any) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def _site(folder: Path) -> Path:
    names = {"base": str(folder), "platbase": str(folder)}
    return Path(sysconfig.get_path("purelib", "venv", names))


def _fresh(folder: Path, *, with_pip: bool = False) -> None:
    """Make a virtual environment that also sees the packages of this one."""
    venv.create(folder, with_pip=with_pip, symlinks=os.name != "nt")
    ours = sysconfig.get_path("purelib")
    # As a user's environment would have them: the core and what it depends on.
    (_site(folder) / "_below.pth").write_text(f"import site; site.addsitedir({ours!r})\n")


@pytest.fixture(scope="session")
def pip_command(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """A pip that can install into any environment, and build with what is installed here."""
    folder = tmp_path_factory.mktemp("pip") / "venv"
    _fresh(folder, with_pip=True)
    scripts = "Scripts" if os.name == "nt" else "bin"
    return (str(folder / scripts / "python"), "-m", "pip", "--disable-pip-version-check")


@pytest.fixture
def fresh(tmp_path: Path, pip_command: tuple[str, ...]) -> Environment:
    """A fresh environment of a user who has configured nothing."""
    made = Environment(tmp_path / "user", pip_command)
    made.workspace.mkdir(parents=True)
    _fresh(made.root / "venv")
    return made


# -- packs kept outside the workspace -----------------------------------------------


@attrs.frozen
class Project:
    """A pack's project: what its author would have in a repository."""

    folder: Path
    package: str

    @property
    def manifest(self) -> Path:
        """Its manifest."""
        return self.folder / "src" / self.package / "toolcrib.json"


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., Project]:
    """Makes a project: ``project("acme-weather", code, pack="weather", version="1.0")``."""

    def make(
        name: str, code: str, *, pack: str, version: str = "1.0", manifest: bytes | None = None
    ) -> Project:
        package = name.replace("-", "_")
        made = Project(tmp_path / "projects" / f"{name}-{version}", package)
        source = made.manifest.parent
        source.mkdir(parents=True)
        (source / "__init__.py").write_text(textwrap.dedent(code), encoding="utf-8")
        if manifest is not None:
            made.manifest.write_bytes(manifest)
        (made.folder / "pyproject.toml").write_text(
            textwrap.dedent(f"""\
                [build-system]
                requires = ["hatchling"]
                build-backend = "hatchling.build"

                [project]
                name = "{name}"
                version = "{version}"

                [project.entry-points."toolcrib.packs.v1"]
                {pack} = "{package}:pack"

                [tool.hatch.build.targets.wheel]
                packages = ["src/{package}"]
                """),
            encoding="utf-8",
        )
        return made

    return make


@pytest.fixture
def build(tmp_path: Path, pip_command: tuple[str, ...]) -> Callable[[Project], Path]:
    """Builds the wheel of a project with nothing from the network."""

    def make(project: Project) -> Path:
        out = tmp_path / "wheels" / project.folder.name
        options = ("--no-deps", "--no-index", "--no-build-isolation", "--quiet")
        _run(
            [*pip_command, "wheel", *options, "-w", str(out), str(project.folder)], env=_clean()
        )
        (wheel,) = out.glob("*.whl")
        return wheel

    return make


@pytest.fixture
def written(pip_command: tuple[str, ...]) -> Callable[[Project], None]:
    """Writes a project's manifest as its author does: ``toolcrib manifest write``."""

    def write(project: Project) -> None:
        python = pip_command[0]
        _run([python, "-m", "toolcrib", "manifest", "write", str(project.folder)], env=_clean())
        shutil.rmtree(project.manifest.parent / "__pycache__", ignore_errors=True)

    return write


# -- which tests ran -----------------------------------------------------------------

FAULTS = ROOT / "docs" / "public-faults.md"


class Ran:
    """Which tests passed in this run; in a full one, all that the map names must have.

    Args:
        wanted: Those that must have passed; by default all that are named.
    """

    def __init__(self, wanted: set[str] | None = None) -> None:
        self.wanted = named_tests(FAULTS) if wanted is None else wanted
        self.passed: set[str] = set()
        self.missing: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that passed; under xdist the controller hears of all."""
        if report.when == "call" and report.passed:
            self.passed.add(report.nodeid.partition("[")[0])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a full run in which a test of the map did not pass."""
        self.missing = sorted(self.wanted - self.passed)
        if self.missing and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name what did not run."""
        for name in self.missing:
            terminalreporter.write_line(f"docs/public-faults.md: {name} did not pass", red=True)


def named_tests(page: Path) -> set[str]:
    """Return the tests that the map of public faults names."""
    return set(re.findall(r"`([\w./-]+\.py::\w+)`", page.read_text(encoding="utf-8")))


def peer_tests(names: set[str]) -> set[str]:
    """Return those of some tests that need a real peer, without importing any."""
    found = set()
    for path in {name.partition("::")[0] for name in names}:
        tree = ast.parse((FAULTS.parents[1] / path).read_text(encoding="utf-8"))
        everything = any(
            isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == "pytestmark"
            and "pytest.mark.peer" in ast.unparse(node.value)
            for node in tree.body
        )
        found |= {
            f"{path}::{node.name}"
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (
                everything
                or any("pytest.mark.peer" in ast.unparse(d) for d in node.decorator_list)
            )
        }
    return found & names


def wanted_of(markexpr: str) -> set[str]:
    """Return the tests of the map that a full run with some marks must have passed."""
    named = named_tests(FAULTS)
    if markexpr == "not peer":
        return named - peer_tests(named)
    return peer_tests(named) if markexpr == "peer" else named


def is_full(config: pytest.Config) -> bool:
    """Whether everything was asked for, so that what did not run is missing."""
    options: Mapping[str, Any] = vars(config.option)
    narrowed = ("keyword", "deselect", "ignore", "ignore_glob", "lf", "maxfail", "collectonly")
    return (
        config.args_source is not config.ArgsSource.ARGS
        and config.invocation_params.dir == config.rootpath
        and options.get("markexpr") in _full_marks()
        and not any(options.get(name) for name in narrowed)
    )


def _full_marks() -> set[str]:
    # Where peers need not be there, those that are absent are skipped.
    return {"", "not peer", *(["peer"] if os.environ.get("TOOLCRIB_PEERS") else [])}


def pytest_configure(config: pytest.Config) -> None:
    """Watch a full run, from the process that hears of every test."""
    if not hasattr(config, "workerinput") and is_full(config):
        wanted = wanted_of(config.option.markexpr)
        config.pluginmanager.register(Ran(wanted), "toolcrib-ran")
