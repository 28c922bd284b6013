"""The pack as the core sees it: signatures, previews, rules, schemas, failures."""

import ast
import re

from pathlib import Path

import attrs
import pytest

from toolcrib import (
    Access,
    Effect,
    Kind,
    Result,
    Signature,
    authoring,
)

import toolcrib_files

from toolcrib_files import outputs, pack
from toolcrib_files.definition import _failure
from toolcrib_files.faults import _MEANINGS, Fault, from_os


TOOLS = {tool.name: tool for tool in pack.tools()}
READING = {"read", "list", "glob", "grep"}


def test_pack_has_its_seven_tools():
    assert set(TOOLS) == READING | {"write", "edit", "patch"}
    assert {tool.id for tool in TOOLS.values()} == {f"files.{name}" for name in TOOLS}


def test_only_reading_tools_may_be_replayed():
    idempotent = {name for name, t in TOOLS.items() if t.idempotent == "yes"}
    assert idempotent == READING


def test_effects_are_no_wider_than_what_the_tools_do():
    for name, tool in TOOLS.items():
        wanted = {Effect.FS_READ} if name in READING else {Effect.FS_READ, Effect.FS_WRITE}
        assert tool.effects == wanted
        assert tool.kind is (Kind.READ_ONLY if name in READING else Kind.WRITE)
        assert tool.output_schema
        assert tool.description.summary.endswith(".")


PATCH = (
    "*** Begin Patch\n*** Add File: new/a\n+x\n*** Update File: b\n*** Move to: c\n"
    "*** Delete File: d\n*** End Patch\n"
)
CALLS = {
    "read": ({"path": "src/f"}, ["src/f"], []),
    "list": ({"path": "src"}, ["src"], []),
    "glob": ({"path": "src", "pattern": "../../**"}, ["src"], []),
    "grep": ({"path": "src", "pattern": "x"}, ["src"], []),
    "write": ({"path": "src/f", "content": ""}, ["src/f"], ["src/f"]),
    "edit": ({"path": "src/f", "edits": [{"old": "a", "new": "b"}]}, ["src/f"], ["src/f"]),
    "patch": ({"patch": PATCH}, ["b", "d"], ["b", "c", "d", "new/a"]),
}


@pytest.mark.parametrize("name", CALLS)
def test_signature_names_every_path_and_how_it_is_touched(tree, files, name):
    arguments, reads, writes = CALLS[name]
    signature = files.signature(name, **arguments)
    assert [r.value for r in signature.resources if r.access is Access.READ] == [
        str(tree.ws / path) for path in reads
    ]
    assert [r.value for r in signature.resources if r.access is Access.WRITE] == [
        str(tree.ws / path) for path in writes
    ]
    assert signature.effects <= TOOLS[name].effects


def test_searching_names_the_workspace_when_no_path_is_given(tree, files):
    for name, arguments in (
        ("grep", {"pattern": "x"}),
        ("glob", {"pattern": "x"}),
        ("list", {}),
    ):
        assert [r.value for r in files.signature(name, **arguments).resources] == [str(tree.ws)]


def test_signature_is_asked_for_through_the_hook():
    arguments = {"path": "src/f"}
    made = pack.toolcrib_signature(tool=TOOLS["read"], arguments=arguments)
    assert isinstance(made, Signature)
    assert made.resources[0].value == "src/f"


def test_glob_pattern_never_leaves_its_folder(tree, files):
    tree.write("sub/f")
    tree.write("g")
    for pattern in ("../**", "../../**", "/**", "sub/../../**"):
        assert files.run("glob", pattern=pattern, path="sub").structured["entries"] == []


RULES = {
    "read": "allow files.read(path=src/**)",
    "list": "allow files.list(path=src, path=src/**)",
    "glob": "allow files.glob(path=src, path=src/**)",
    "grep": "allow files.grep(path=src, path=src/**)",
    "write": "allow files.write(path=src/**)",
    "edit": "allow files.edit(path=src/**)",
    "patch": "allow files.patch(path=*, path=new/**)",
}


@pytest.mark.parametrize("name", RULES)
def test_always_offers_the_folder(files, name):
    rule = files.tools[name].companions.generalize(**CALLS[name][0])
    assert rule == RULES[name]


@pytest.mark.parametrize(
    "path", ["../x/f", "a*b/f", "a,b/f", 'a"b/f', "(x)/f", "!a/f", "a\nb/f"]
)
def test_always_offers_the_exact_call_where_a_rule_could_mean_more(files, path):
    assert files.tools["read"].companions.generalize(path=path) is None


def test_offered_rules_can_be_read():
    rules = pytest.importorskip("toolcrib.rules")
    for text in RULES.values():
        assert str(rules.parse(text).verdict) == "allow"


# Previews.


def test_preview_of_a_write_is_a_unified_diff(tree, files):
    tree.write("f", "a\nb\n")
    shown = files.preview("write", path="f", content="a\nc\n")
    assert shown == "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    new = files.preview("write", path="new", content="x\n")
    assert new.startswith("--- /dev/null\n+++ new\n")


def test_preview_of_an_edit_is_a_unified_diff(tree, files):
    tree.write("f", "a\nb\n")
    shown = files.preview("edit", path="f", edits=[{"old": "b", "new": "c"}])
    assert "-b\n+c\n" in shown


def test_preview_of_a_patch_shows_every_file(tree, files):
    for name in "bd":
        tree.write(name, f"{name}\n")
    shown = files.preview("patch", patch=PATCH)
    assert "+++ new/a" in shown
    assert "--- b\n+++ c\n(moved, same content)" in shown
    assert "--- d\n+++ /dev/null" in shown


def test_preview_shows_line_ends_and_bytes_that_are_no_text(tree, files):
    tree.write("f", b"a\r\nb\xff\r\n")
    shown = files.preview("edit", path="f", edits=[{"old": "a", "new": "c"}])
    assert "-a␍\n+c␍\n b\ufffd␍" in shown


def test_preview_changes_nothing(tree, files):
    path = tree.write("f", "a\n")
    before = path.stat()
    files.preview("edit", path="f", edits=[{"old": "a", "new": "b"}])
    files.preview("write", path="d/new", content="x")
    files.preview("patch", patch="*** Begin Patch\n*** Add File: n/x\n+x\n*** End Patch")
    after = path.stat()
    assert tree.names() == ["f"]
    assert before.st_ctime_ns == after.st_ctime_ns
    assert list(tree.state.iterdir()) == []


def test_preview_of_a_call_that_cannot_work_says_why(tree, files):
    tree.write("f", "a\na\n")
    with pytest.raises(Exception, match="2 places"):
        files.preview("edit", path="f", edits=[{"old": "a", "new": "b"}])


# Results and failures.


def _runs(tree):
    tree.write("f", "a\nb\n")
    tree.write("i.png", b"\x89PNG\r\n\x1a\n\0")
    yield "read", {"path": "f"}
    yield "read", {"path": "i.png"}
    yield "list", {}
    yield "glob", {"pattern": "**"}
    for mode in ("content", "files", "count"):
        yield "grep", {"pattern": "a", "mode": mode, "context": 1}
    yield "edit", {"path": "f", "edits": [{"old": "a", "new": "c"}]}
    yield "write", {"path": "new/x", "content": "x\n"}
    yield "patch", {"patch": "*** Begin Patch\n*** Add File: y\n+x\n*** End Patch"}


def test_structured_output_fits_the_schema_of_each_tool(tree, files):
    fast = pytest.importorskip("fastjsonschema")
    for name, arguments in _runs(tree):
        result = files.run(name, **arguments)
        assert isinstance(result, Result)
        assert result.summary
        assert "\n" not in result.summary
        fast.validate(TOOLS[name].output_schema, result.structured)


def test_outputs_are_values():
    for name in outputs.__all__:
        kind = getattr(outputs, name)
        if isinstance(kind, type):
            assert attrs.has(kind)


@pytest.mark.parametrize("number", sorted(_MEANINGS))
def test_every_error_of_the_system_has_a_sentence(number):
    fault = from_os(OSError(number, "x"), "the/file")
    assert fault.text.startswith("the/file ")
    assert fault.text.endswith(".")
    assert fault.code.startswith("files.")


def test_unknown_error_of_the_system_is_told_as_it_is():
    assert "weird" in from_os(OSError(9999, "weird"), "f").text


@pytest.mark.parametrize(
    "kind", ["invalid", "not_found", "refused", "failed", "busy", "unavailable"]
)
def test_every_kind_of_fault_ends_a_call_in_its_way(kind):
    failure = _failure(Fault("Text.", kind=kind, code="files.x", pointer="/p"))
    assert type(failure).__name__.lower() == kind.replace("_", "")
    assert failure.code == "files.x"


ENGINE = Path(toolcrib_files.__file__).parent
PACK = {
    "__init__",
    "changes",
    "definition",
    "generalizing",
    "outputs",
    "reads",
    "searches",
}


@pytest.mark.parametrize("path", sorted(ENGINE.glob("*.py")), ids=lambda p: p.stem)
def test_engine_knows_nothing_of_the_framework(path):
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            imported.add((node.module or "").split(".")[0])
    assert path.stem in PACK or "toolcrib" not in imported
    lines = [line for line in path.read_text().splitlines() if line.strip()]
    assert len(lines) <= 300


def test_search_child_imports_nothing_but_the_standard_library():
    source = (ENGINE / "searching.py").read_text()
    assert "from ." not in source
    assert "import attrs" not in source


def test_manifest_is_the_one_that_the_code_declares():
    stored = (ENGINE / "toolcrib.json").read_bytes()
    assert stored == authoring.write(pack), "write it anew with: toolcrib manifest"


def test_every_code_is_explained_in_the_readme():
    readme = (Path(__file__).parent.parent / "README.md").read_text()
    used = set()
    for path in ENGINE.glob("*.py"):
        used |= set(re.findall(r'"(files\.[a-z_]+)"', path.read_text()))
    codes = used - {f"files.{name}" for name in TOOLS}
    assert len(codes) > 30
    assert sorted(code for code in codes if f"`{code}`" not in readme) == []
    explained = set(re.findall(r"`(files\.[a-z_]+)`", readme.split("## Codes")[1]))
    assert explained <= codes
