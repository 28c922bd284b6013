"""What the lock holds, what it finds changed, and how packs load under it."""

from __future__ import annotations

import importlib
import importlib.resources
import importlib.util
import json
import os
import py_compile
import sys

import attrs
import pytest

from toolcrib.catalog.livesource import Live
from toolcrib.errors import PolicyError
from toolcrib.lock import (
    Gate,
    Lock,
    Severity,
    accept,
    diff,
    live_refusals,
    read,
    render,
    take,
    verify,
    write,
)
from toolcrib.outcome import Refusal
from toolcrib.tool import Description, Tool


def locked(site, **more):
    lock, refusals = take([site.finding()], path=site.search(), **more)
    assert refusals == ()
    return lock


@pytest.fixture
def gate():
    made = []

    def make(lock, site, **more):
        one = Gate(lock, path=site.search(), **more)
        made.append(one)
        return one

    yield make
    for one in made:
        one.close()


def drift(before, site):
    return verify(before, locked(site))


def test_a_lock_holds_all_that_was_approved(site):
    """Distribution, version, files, dependencies, manifest, hooks, definitions."""
    pack = locked(site).packs["demo"]

    assert (pack.distribution, pack.version) == ("toolcrib-demo", "1.0")
    assert pack.entry_point == f"{site.package}:pack"
    assert sorted(pack.files) == [
        "toolcrib_demo-1.0.dist-info/METADATA",
        "toolcrib_demo-1.0.dist-info/entry_points.txt",
        f"{site.package}/__init__.py",
        f"{site.package}/part.py",
        f"{site.package}/toolcrib.json",
    ]
    assert {name: d.version for name, d in pack.dependencies.items()} == {
        "dep": "1.5",
        "deeper": "2",
        "extra-one": "3",
    }
    assert pack.tools["demo.ping"]["input_schema"]["required"] == ["text"]
    assert pack.hooks == ("toolcrib_tools",)


def test_a_lock_survives_its_file(site, tmp_path):
    """Equal locks have equal bytes."""
    lock = locked(site, volatile=["demo.ping"])
    path = tmp_path / "toolcrib.lock"
    write(path, lock)

    assert read(path) == lock
    assert read(path).dumps() == path.read_text() == lock.dumps()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["site", "toolcrib.lock"]


def test_no_file_is_no_lock(tmp_path):
    """Which is not the same as a lock of nothing."""
    assert read(tmp_path / "toolcrib.lock") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"toolcrib_lock": 2, "packs": {}}',
        '{"toolcrib_lock": 1}',
        '{"toolcrib_lock": 1, "packs": {"a": {}}}',
        '{"toolcrib_lock": 1, "packs": {"a": {"files": 3}}}',
        '{"toolcrib_lock": 1, "packs": {}, "packs": {}}',
        "<<<<<<< ours",
    ],
)
def test_a_broken_lock_is_refused(tmp_path, text):
    """With the file's name and the way back."""
    path = tmp_path / "toolcrib.lock"
    path.write_text(text)

    with pytest.raises(PolicyError, match=r"toolcrib\.lock") as caught:
        read(path)
    assert "restore it" in str(caught.value) or "upgrade" in str(caught.value)
    assert path.read_text() == text


def test_a_lock_with_other_types_is_refused(site, tmp_path):
    """A number where a digest should be is no digest."""
    value = json.loads(locked(site).dumps())
    value["packs"]["demo"]["files"]["x"] = 3
    path = tmp_path / "toolcrib.lock"
    path.write_text(json.dumps(value))

    with pytest.raises(PolicyError, match="text is expected"):
        read(path)


def test_a_lock_that_cannot_be_written_is_told(tmp_path):
    """And leaves no file of its own."""
    with pytest.raises(PolicyError, match="cannot be written"):
        write(tmp_path / "missing" / "toolcrib.lock", Lock())


def test_nothing_changed_is_no_change(site):
    """Compiled files in __pycache__ and installers' notes do not count."""
    lock = locked(site)
    cache = site.folder / "__pycache__"
    cache.mkdir()
    (cache / "part.cpython-311.pyc").write_bytes(b"planted")
    (site.path / "toolcrib_demo-1.0.dist-info" / "INSTALLER").write_text("uv\n")

    assert drift(lock, site) == ()


def _change_file(site):
    (site.folder / "part.py").write_text("answer = 43\n")


def _add_file(site):
    (site.folder / "more.py").write_text("")


def _add_compiled(site):
    (site.folder / "part.pyc").write_bytes(b"x")


def _add_data_folder(site):
    (site.folder / "sub").mkdir()
    (site.folder / "sub" / "x.txt").write_text("")


def _remove_file(site):
    (site.folder / "part.py").unlink()


def _link_file(site):
    target = site.path / "copy.py"
    (site.folder / "part.py").rename(target)
    (site.folder / "part.py").symlink_to(target)


def _upgrade(site):
    site.version = "1.1"
    site.install()


def _reinstall_changed(site):
    site.sources["part.py"] = "answer = 0\n"
    site.install()


def _change_dependency(site):
    site.wheel("dep", "1.5", {"dep/__init__.py": "evil = 1"}, needs=["deeper[x]"])


def _drop_dependency(site):
    for file in (site.path / "deeper-2.dist-info").iterdir():
        file.unlink()


@pytest.mark.parametrize(
    ("change", "subject", "severity"),
    [
        (_change_file, "part.py", Severity.WIDENING),
        (_reinstall_changed, "part.py", Severity.WIDENING),
        (_add_file, "more.py", Severity.WIDENING),
        (_add_compiled, "part.pyc", Severity.WIDENING),
        (_add_data_folder, "sub/x.txt", Severity.WIDENING),
        (_remove_file, "part.py", Severity.BREAKING),
        (_link_file, "part.py", Severity.WIDENING),
        (_upgrade, "version", Severity.WIDENING),
        (_change_dependency, "dependency dep", Severity.WIDENING),
        (_drop_dependency, "dependency deeper", Severity.BREAKING),
    ],
)
def test_every_change_of_code_is_found(site, gate, change, subject, severity):
    """By diff, and by the gate before anything is imported."""
    lock = locked(site)
    change(site)

    changes = drift(lock, site)
    refusal = gate(lock, site)(site.finding())

    assert (severity, True) in [(c.severity, subject in c.subject) for c in changes]
    assert refusal.code == "lock.drifted"
    assert subject in refusal.text
    assert "toolcrib lock accept demo" in refusal.text
    assert site.package not in sys.modules


def test_a_dependency_that_lost_its_metadata_is_missed_whoever_looks(site):
    """Once somebody imported importlib_metadata, its finder is the one that is asked."""
    import importlib_metadata  # noqa: PLC0415 - it changes the process

    assert importlib_metadata.version("attrs")
    lock = locked(site)
    _drop_dependency(site)

    assert [c.subject for c in drift(lock, site) if "deeper" in c.subject]


@pytest.mark.parametrize(
    ("more", "severity", "words"),
    [
        ({"title": "Other"}, Severity.COSMETIC, "Ping"),
        ({"description": {"summary": "Obey me."}}, Severity.COSMETIC, "Obey me"),
        ({"effects": ["net_write"]}, Severity.WIDENING, "+net_write"),
        ({"labels": []}, Severity.COSMETIC, "-"),
        ({"idempotent": "yes"}, Severity.WIDENING, "yes"),
        ({"input_schema": {"type": "object"}}, Severity.BREAKING, "properties"),
    ],
)
def test_changes_of_a_definition_are_classified(site, make_tool, more, severity, words):
    """Words, more power, or less than before."""
    lock = locked(site)
    site.tools = [make_tool(**more)]
    site.install()

    changes = [c for c in drift(lock, site) if c.subject.startswith("tool ")]

    assert [c.severity for c in changes] == [severity]
    assert words in changes[0].text


def test_tools_that_come_and_go_are_told(site, make_tool):
    """With what the new one may do."""
    lock = locked(site)
    site.tools = [make_tool("pong", effects=["process"])]
    site.install()

    told = {c.subject: c for c in drift(lock, site)}

    assert told["tool demo.ping"].severity is Severity.BREAKING
    assert told["tool demo.pong"].severity is Severity.WIDENING
    assert "process" in told["tool demo.pong"].text


def test_a_volatile_definition_may_change_but_not_its_effects(site, make_tool):
    """By name, in the lock."""
    lock = locked(site, volatile=["demo.p*"])
    manifest = f"{site.package}/toolcrib.json"

    def left():
        return [c.subject for c in drift(lock, site) if manifest not in c.subject]

    site.tools = [make_tool(description={"summary": "Today is Monday."})]
    site.install()
    assert left() == []
    assert any(c.tolerated for c in diff(lock, locked(site)))
    site.tools = [make_tool(effects=["process"]), make_tool("pong")]
    site.install()
    assert left() == ["tool demo.ping effects", "tool demo.pong"]


def test_accepting_takes_one_pack_as_it_is_now(site, make_tool):
    """The names of volatile tools stay."""
    old = locked(site, volatile=["demo.ping"])
    other = Lock({**old.packs, "other": old.packs["demo"]})
    _upgrade(site)
    now = locked(site)

    accepted = accept(other, now, ["demo"])

    assert accepted.packs["demo"].version == "1.1"
    assert accepted.packs["demo"].volatile == ("demo.ping",)
    assert accepted.packs["other"].version == "1.0"
    assert verify(accepted, now, packs=["demo"]) == ()
    assert "other" not in accept(other, now, ["other"]).packs


def test_a_diff_reads_well(site, make_tool):
    """Worst first, one block for each pack."""
    lock = locked(site)
    site.tools = [make_tool(title="Other", effects=["process"])]
    site.install()

    text = render(diff(lock, locked(site)))

    lines = text.splitlines()
    assert lines[0] == "pack demo"
    assert "widening  tool demo.ping effects: +process" in text
    assert text.index("widening") < text.index("cosmetic")
    assert render(()) == ""


def test_packs_that_come_and_go_are_told(site):
    """As such, not file by file."""
    lock = locked(site)

    assert [c.text for c in diff(Lock(), lock)] == ["new, from toolcrib-demo 1.0"]
    assert [c.severity for c in diff(lock, Lock())] == [Severity.BREAKING]


def test_an_approved_pack_passes(site, gate):
    """And its code runs as it was approved."""
    check = gate(locked(site), site)

    assert check(site.finding()) is None
    assert importlib.import_module(site.package).answer == 42


def test_a_pack_without_a_lock_entry_is_refused(site, gate):
    """A lock lists everything that may run."""
    refusal = gate(Lock(), site)(site.finding())

    assert refusal.code == "lock.absent"


def test_an_editable_pack_cannot_be_locked(site):
    """Its code changes under the lock."""
    finding = site.finding()
    editable = attrs.evolve(
        finding, provenance=attrs.evolve(finding.provenance, how="editable")
    )

    lock, (refusal,) = take([editable], path=site.search())

    assert lock == Lock()
    assert refusal.code == "lock.unlockable"


def test_the_core_needs_no_lock(site, gate):
    """It checks the others."""
    finding = site.finding()
    core = attrs.evolve(finding, provenance=attrs.evolve(finding.provenance, how="core"))

    assert gate(Lock(), site)(core) is None


def test_changed_files_of_dependencies_are_found_when_looked_for(site, gate):
    """RECORD still says the old digest."""
    lock = locked(site)
    (site.path / "dep" / "data.txt").write_text("changed")

    assert gate(lock, site)(site.finding()) is None
    refusal = gate(lock, site, deep=True)(site.finding())
    assert "dep/data.txt" in refusal.text


def _plant(site, code):
    """Leave compiled code that Python would take for up to date."""
    source = site.folder / "part.py"
    evil = site.path / "evil.py"
    evil.write_text(code)
    cached = importlib.util.cache_from_source(str(source))
    py_compile.compile(
        str(evil), cfile=cached, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    evil.unlink()


def test_planted_compiled_code_is_not_run(site, gate):
    """Without the lock Python runs it; with the lock the source is what runs."""
    lock = locked(site)
    _plant(site, "answer = 'evil'\n")
    assert importlib.import_module(site.package).answer == "evil"
    for name in [n for n in sys.modules if n.startswith(site.package)]:
        del sys.modules[name]

    assert gate(lock, site)(site.finding()) is None

    assert importlib.import_module(site.package).answer == 42


def test_a_file_changed_after_the_check_is_not_run(site, gate):
    """What is compiled is what was compared."""
    lock = locked(site)
    assert gate(lock, site)(site.finding()) is None
    (site.folder / "part.py").write_text("answer = 'evil'\n")

    with pytest.raises(ImportError, match=r"not the file that toolcrib\.lock lists"):
        importlib.import_module(site.package)


def test_a_module_added_after_the_check_does_not_exist(site, gate):
    """Whatever its kind."""
    lock = locked(site)
    assert gate(lock, site)(site.finding()) is None
    (site.folder / "more.py").write_text("")
    importlib.import_module(site.package)

    with pytest.raises(ModuleNotFoundError, match=r"not in toolcrib\.lock"):
        importlib.import_module(site.package + ".more")


def test_a_shadowing_copy_is_not_run(site, gate, tmp_path, monkeypatch):
    """An earlier folder of the search path does not matter any more."""
    lock = locked(site)
    assert gate(lock, site)(site.finding()) is None
    shadow = tmp_path / "shadow" / site.package
    shadow.mkdir(parents=True)
    (shadow / "__init__.py").write_text("answer = 'evil'\n")
    monkeypatch.syspath_prepend(str(shadow.parent))

    assert importlib.import_module(site.package).answer == 42


def test_locked_packages_keep_their_resources_and_tracebacks(site, gate):
    """Data files, sources and sub-packages work as they do elsewhere."""
    site.sources["data.txt"] = "hello"
    site.sources["sub/__init__.py"] = "def f():\n    raise ValueError('x')\n"
    site.install()
    lock = locked(site)
    assert gate(lock, site)(site.finding()) is None

    package = importlib.import_module(site.package)
    sub = importlib.import_module(site.package + ".sub")

    assert importlib.resources.files(package).joinpath("data.txt").read_text() == "hello"
    assert package.__file__ == str(site.folder / "__init__.py")
    assert package.__spec__.submodule_search_locations == [str(site.folder)]
    with pytest.raises(ValueError, match="x") as caught:
        sub.f()
    assert "raise ValueError" in str(caught.traceback[-1].statement)
    assert not (site.folder / "__pycache__").exists()


def test_other_packages_are_left_to_python(site, gate):
    """The importer knows only what is locked."""
    check = gate(locked(site), site)
    check(site.finding())

    assert check.importer.find_spec("json") is None
    check.close()
    assert check.importer not in sys.meta_path


def live_tool(name, **more):
    values = {
        "id": f"demo.hub.{name}",
        "title": name,
        "description": Description("s"),
        "input_schema": {"type": "object"},
        "effects": frozenset(),
    }
    return Tool(**{**values, **more})


def test_live_tools_are_withheld_alone_when_they_change(site, gate):
    """The others of the source go on; another source is not judged by this one."""
    before = Live(pack="demo", source="hub", tools=(live_tool("a"), live_tool("b")))
    lock = locked(site, live=[before])
    assert "demo.hub.a" in lock.packs["demo"].tools
    assert verify(lock, locked(site)) == ()  # its sources were not read
    assert [c.text for c in diff(lock, locked(site))][-1] == "dropped hub"
    assert gate(lock, site)(site.finding()) is None
    assert live_refusals(lock, before) == {}

    after = Live(
        pack="demo",
        source="hub",
        tools=(live_tool("a", description=Description("Obey.")), live_tool("c")),
    )
    refused = live_refusals(lock, after)

    assert sorted(refused) == ["demo.hub.a", "demo.hub.c"]
    assert all(isinstance(r, Refusal) and r.code == "lock.drifted" for r in refused.values())
    assert live_refusals(Lock(), after) == {}


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_linked_folder_counts_as_a_file(site):
    """It could lead anywhere."""
    lock = locked(site)
    (site.folder / "sub").symlink_to(site.path)

    assert [c.subject for c in drift(lock, site)] == [f"file {site.package}/sub"]
