"""Discover: nothing is imported, and each distribution stands for itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile

from pathlib import Path

import pytest

from toolcrib.discovery.installed import entry_points
from toolcrib.discovery.stage import discover
from toolcrib.pack.definition import Pack


def found(*sites, **options):
    return discover(path=[str(s) for s in sites], **options)


def codes(findings):
    return [r.code for r in findings.refusals]


def test_pack_is_found_with_its_manifest_and_provenance(site):
    """A wheel's pack comes with what its manifest and metadata say."""
    site.install("Toolcrib-Web", pack="web")
    (finding,) = found(site).packs
    assert (finding.pack_id, finding.distribution, finding.version) == (
        "web",
        "toolcrib-web",
        "1.0",
    )
    assert [t.id for t in finding.manifest.tools] == ["web.ping"]
    assert finding.provenance.how == "wheel"
    assert finding.provenance.location == str(site.path.resolve())
    assert finding.provenance.manifest_digest.startswith("sha256:")


def test_nothing_is_imported(site):
    """Discovery, manifests included, runs no code of a pack, whatever that does."""
    site.install("toolcrib-bad", code="import os; os._exit(13)")
    script = (
        "import sys; from toolcrib.discovery import discover; f = discover(); "
        "print('bad' in [p.pack_id for p in f.packs], 'toolcrib_bad' in sys.modules, "
        "'importlib_metadata' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "True False False"


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("METADATA", None),
        ("METADATA", b"Metadata-Version: 2.1\nVersion: 1.0\n\n"),
        ("METADATA", b"Metadata-Version: 2.1\nName: toolcrib-bad\n\n"),
        ("METADATA", b"Name: toolcrib-b\xff\xfe\nVersion: 1\n\n"),
        ("METADATA", b"Name: toolcrib-web\nVersion: 1\n\n"),
        ("entry_points.txt", b"[toolcrib.packs.v1]\nno equals sign\n"),
        ("entry_points.txt", b"[toolcrib.packs.v1]\nbad = \xff\n"),
        ("entry_points.txt", b"[toolcrib.packs.v1]\nbad = toolcrib_bad:pack [extra]\n"),
        ("entry_points.txt", b"[toolcrib.packs.v1]\nbad = not an object\n"),
        ("entry_points.txt", b"[toolcrib.packs.v1]\nBad_Name = toolcrib_bad:pack\n"),
        ("entry_points.txt", "folder"),
        ("entry_points.txt", b"[toolcrib.packs.next]\nbad = toolcrib_bad:pack\n"),
    ],
)
def test_unreadable_metadata_refuses_that_distribution_alone(site, file, content):
    """One broken distribution is named, and never hides another."""
    info = site.install("toolcrib-bad")
    site.install("toolcrib-good")
    if content is not None and content != "folder":
        (info / file).write_bytes(content)
    else:
        (info / file).unlink()
    if content == "folder":
        (info / file).mkdir()
    findings = found(site)
    assert [p.pack_id for p in findings.packs] == ["good"]
    (refusal,) = findings.refusals
    assert (refusal.code, refusal.subject) == ("metadata.unreadable", "toolcrib-bad")


def test_broken_metadata_of_strangers_is_nobodys_business(site):
    """Only distributions with an entry point of ours are read any further."""
    site.install("toolcrib-good")
    broken = site.info("stranger", points="[console_scripts]\nx = y:z\n")
    (broken / "METADATA").write_bytes(b"\xff\xfe")
    (site.info("worse") / "entry_points.txt").write_bytes(b"[a]\nno equals \xff\n")
    (site.path / "file.dist-info").write_text("not a folder")
    findings = found(site)
    assert [p.pack_id for p in findings.packs] == ["good"]
    assert findings.refusals == ()


@pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="needs file permissions")
def test_metadata_that_may_not_be_read_is_refused(site):
    """What cannot be opened may claim anything, so it is named."""
    info = site.install("toolcrib-bad")
    (info / "entry_points.txt").chmod(0)
    assert codes(found(site)) == ["metadata.unreadable"]


def test_two_spellings_of_one_path_are_one(site, tmp_path):
    """A link and a relative spelling give one pack, and one refusal of a broken one."""
    site.install("toolcrib-web")
    (site.info("toolcrib-bad", points="[toolcrib.packs.v1]\nbroken\n"))
    link = tmp_path / "link"
    link.symlink_to(site.path, target_is_directory=True)
    findings = found(site, link, os.path.relpath(site.path), f"{site}/", site)
    assert len(findings.packs) == 1
    assert codes(findings) == ["metadata.unreadable"]


def test_second_copy_is_refused_alone_and_both_are_named(site, other):
    """The copy that import would load is kept; the other one is named with it."""
    site.install("toolcrib-web", version="1.0")
    other.install("toolcrib-web", version="2.0")
    findings = found(site, other)
    assert [p.version for p in findings.packs] == ["1.0"]
    (refusal,) = findings.refusals
    assert refusal.code == "distribution.shadowed"
    for part in ("1.0", "2.0", str(site), str(other)):
        assert part in refusal.text
    assert [p.version for p in found(other, site).packs] == ["2.0"]


def test_copy_without_its_package_does_not_win_by_order(site, other):
    """Import would load the second folder's package, so that copy is kept."""
    info = site.install("toolcrib-web", version="1.0")
    for file in (site.path / "toolcrib_web").iterdir():
        file.unlink()
    (site.path / "toolcrib_web").rmdir()
    other.install("toolcrib-web", version="2.0")
    findings = found(site, other)
    assert [p.version for p in findings.packs] == ["2.0"]
    assert codes(findings) == ["distribution.shadowed"]
    assert str(info.parent) in findings.refusals[0].text


@pytest.mark.parametrize("shape", ["package", "module", "elsewhere"])
def test_package_that_import_would_not_load_is_refused(site, other, shape):
    """A stray package or module earlier on the path shadows the installed one."""
    site.install("toolcrib-web")
    if shape == "module":
        (other.path / "toolcrib_web.py").write_text("")
    else:
        (other.path / "toolcrib_web").mkdir()
        (other.path / "toolcrib_web" / "__init__.py").write_text("")
    findings = found(other, site)
    assert findings.packs == ()
    (refusal,) = findings.refusals
    assert refusal.code == "distribution.shadowed"
    assert str(other) in refusal.text
    assert str(site) in refusal.text


def test_folder_without_init_does_not_shadow(site, other):
    """Import prefers a package to a namespace, wherever on the path they are."""
    site.install("toolcrib-web")
    (other.path / "toolcrib_web").mkdir()
    assert len(found(other, site).packs) == 1


def test_pack_named_like_a_builtin_module_is_shadowed(site):
    """Import gives Python's own module."""
    site.install("toolcrib-web", package="sys")
    assert codes(found(site)) == ["distribution.shadowed"]


def test_remains_of_an_upgrade_lose_to_the_recorded_manifest(site):
    """Of two metadata folders, the one whose RECORD fits the files is true."""
    site.install("toolcrib-web", version="1.0")
    manifest = site.manifest("web", version="2")
    site.install("toolcrib-web", version="2.0", manifest=manifest)
    findings = found(site)
    assert [p.version for p in findings.packs] == ["2.0"]
    assert codes(findings) == ["distribution.shadowed"]


def test_remains_that_nothing_tells_apart_are_refused_both(site):
    """No winner is picked by order."""
    site.install("toolcrib-web", version="1.0")
    site.install("toolcrib-web", version="2.0")
    findings = found(site)
    assert findings.packs == ()
    assert codes(findings) == ["distribution.shadowed"] * 2


def test_what_an_installer_half_removed_is_skipped(site):
    """Installers mark such folders with a tilde."""
    info = site.install("toolcrib-web")
    info.rename(info.with_name("~" + info.name[1:]))
    assert found(site).packs == found(site).refusals == ()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda p: p.unlink(), "manifest.missing"),
        (lambda p: p.write_bytes(b"{}"), "manifest.altered"),
        (lambda p: p.write_bytes(p.read_bytes() + b" "), "manifest.altered"),
    ],
)
def test_manifest_that_is_not_the_installed_one_is_refused(site, change, code):
    """RECORD says which bytes were installed."""
    site.install("toolcrib-web")
    change(site.path / "toolcrib_web" / "toolcrib.json")
    assert codes(found(site)) == [code]


def test_manifest_that_record_does_not_list_is_refused(site):
    """A file dropped into a package is not the pack's."""
    info = site.install("toolcrib-web", manifest=None)
    site.install("toolcrib-web", record=False)
    assert codes(found(site)) == ["manifest.unlisted"]
    (info / "RECORD").unlink()
    assert codes(found(site)) == ["manifest.unlisted"]


@pytest.mark.parametrize("value", ["", "md5=abc", "sha1=abc", "sha256="])
def test_weak_or_missing_hash_proves_nothing(site, value):
    """Only strong hashes count."""
    info = site.install("toolcrib-web", record=False)
    (info / "RECORD").write_text(f"toolcrib_web/toolcrib.json,{value},1\n")
    assert codes(found(site)) == ["manifest.unlisted"]


@pytest.mark.parametrize(
    "manifest",
    [b"not json", b"[]", b'{"api": 1}', b'{"api": 1, "pack": "other", "tools": []}', b"\xff"],
)
def test_manifest_that_says_nonsense_is_refused(site, manifest):
    """Another pack's manifest is nonsense too."""
    site.install("toolcrib-web", manifest=manifest)
    findings = found(site)
    assert codes(findings) == ["manifest.invalid"]
    assert "toolcrib-web 1.0" in findings.refusals[0].text


@pytest.mark.parametrize("where", ["group", "manifest"])
def test_other_generation_is_named_with_both_numbers(site, where):
    """A pack for a newer core is reported, not absent."""
    if where == "group":
        site.install("toolcrib-web", points="[toolcrib.packs.v2]\nweb = toolcrib_web:pack\n")
    else:
        site.install("toolcrib-web", manifest=site.manifest("web", api=2))
    (refusal,) = found(site).refusals
    assert refusal.code == "api.unsupported"
    assert "2" in refusal.text
    assert "speaks 1" in refusal.text


def test_pack_for_both_generations_is_used_quietly(site):
    """Different objects for two generations are how an author supports both cores."""
    points = "[toolcrib.packs.v1]\nweb = toolcrib_web:pack\n"
    points += "[toolcrib.packs.v2]\nweb = toolcrib_web:new\n"
    site.install("toolcrib-web", points=points)
    findings = found(site)
    assert len(findings.packs) == 1
    assert findings.refusals == ()


@pytest.mark.parametrize(
    "second",
    [
        "alias = toolcrib_web:pack\n",
        "[toolcrib.packs.v2]\nweb = toolcrib_web:pack\n",
    ],
)
def test_one_object_under_two_entries_counts_once(site, second):
    """The second declaration is reported with both names."""
    points = f"[toolcrib.packs.v1]\nweb = toolcrib_web:pack\n{second}"
    site.install("toolcrib-web", points=points)
    findings = found(site)
    assert [p.pack_id for p in findings.packs] == ["web"]
    (refusal,) = findings.refusals
    assert refusal.code == "pack.duplicated"
    assert "web = toolcrib_web:pack" in refusal.text


@pytest.mark.parametrize("shape", ["module", "namespace"])
def test_entry_point_outside_a_package_is_refused(site, shape):
    """There is no place for a manifest."""
    site.info("toolcrib-web", points="[toolcrib.packs.v1]\nweb = toolcrib_web:pack\n")
    if shape == "module":
        (site.path / "toolcrib_web.py").write_text("")
    else:
        (site.path / "toolcrib_web").mkdir()
    assert codes(found(site)) == ["manifest.missing"]


def test_missing_package_is_refused(site):
    """A distribution whose files are gone is named."""
    site.info("toolcrib-web", points="[toolcrib.packs.v1]\nweb = toolcrib_web:pack\n")
    assert codes(found(site)) == ["manifest.missing"]


@pytest.fixture
def project(tmp_path):
    """The source tree of a pack."""
    package = tmp_path / "project" / "src" / "toolcrib_web"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("pack = None")
    return tmp_path / "project"


def install_editable(site, project, *, pth=None, finder=None, manifest=True):
    """Install the project as editable, by a path file or an import finder."""
    info = site.info("toolcrib-web", points="[toolcrib.packs.v1]\nweb = toolcrib_web:pack\n")
    origin = {"url": project.as_uri(), "dir_info": {"editable": True}}
    (info / "direct_url.json").write_text(json.dumps(origin))
    lines = []
    if pth is not None:
        (site.path / "_toolcrib_web.pth").write_text(pth)
        lines.append("_toolcrib_web.pth,,")
    if finder is not None:
        (site.path / "__editable___toolcrib_web_finder.py").write_text(finder)
        lines.append("__editable___toolcrib_web_finder.py,,")
    (info / "RECORD").write_text("\n".join(lines))
    if manifest:
        text = site.manifest("web")
        (project / "src" / "toolcrib_web" / "toolcrib.json").write_bytes(text)


def test_editable_package_is_found_through_the_pth_file(site, project):
    """The path file names the folder; its import lines are not run."""
    install_editable(site, project, pth=f"import boom\n# note\n{project / 'src'}\n")
    (finding,) = found(site).packs
    assert finding.provenance.how == "editable"
    assert finding.provenance.location == str((project / "src").resolve())


def test_editable_package_is_found_through_the_finders_mapping(site, project):
    """The mapping is read as text."""
    mapping = {"toolcrib_web": str(project / "src" / "toolcrib_web")}
    finder = f"raise SystemExit\nMAPPING: dict[str, str] = {mapping!r}\nX = 1\n"
    install_editable(site, project, finder=finder)
    assert found(site).packs[0].provenance.how == "editable"


def test_editable_mapping_that_is_code_is_not_run(site, project):
    """Only a literal is read."""
    install_editable(site, project, finder="MAPPING = __import__('os')._exit(3)\n")
    assert codes(found(site)) == ["manifest.missing"]


def test_editable_package_on_the_path_belongs_to_its_project(site, project):
    """At run time Python has put the folder of the path file on the path."""
    install_editable(site, project)
    assert len(found(site, project / "src").packs) == 1


def test_editable_metadata_in_the_project_is_the_same_distribution(site, project):
    """Build tools leave an egg-info folder beside the package."""
    install_editable(site, project, pth=f"{project / 'src'}\n")
    egg = project / "src" / "toolcrib_web.egg-info"
    egg.mkdir()
    (egg / "PKG-INFO").write_text("Name: toolcrib-web\nVersion: 1.0\n\n")
    (egg / "entry_points.txt").write_text("[toolcrib.packs.v1]\nweb = toolcrib_web:pack\n")
    findings = found(site, project / "src")
    assert len(findings.packs) == 1
    assert findings.refusals == ()


def test_editable_foreign_package_on_the_path_shadows_it(site, other, project):
    """Import would load the stranger."""
    install_editable(site, project, pth=f"{project / 'src'}\n")
    (other.path / "toolcrib_web").mkdir()
    (other.path / "toolcrib_web" / "__init__.py").write_text("")
    assert codes(found(site, other)) == ["distribution.shadowed"]


def test_editable_without_a_manifest_it_is_refused(site, project):
    """Unless one develops, and says so."""
    install_editable(site, project, pth=f"{project / 'src'}\n", manifest=False)
    assert codes(found(site)) == ["manifest.missing"]


def test_editable_develop_asks_the_code_instead(importable, project, monkeypatch):
    """A manifest is not needed while one writes the pack."""
    install_editable(importable, project, pth=f"{project / 'src'}\n", manifest=False)
    code = "from toolcrib.pack import Pack\npack = Pack('web')\n"
    code += "@pack.tool(effects=[])\ndef hello(ctx) -> str:\n    'Say hello.'\n    return 'x'\n"
    (project / "src" / "toolcrib_web" / "__init__.py").write_text(code)
    monkeypatch.syspath_prepend(str(project / "src"))
    findings = found(importable, project / "src", develop=True)
    (finding,) = findings.packs
    assert [t.id for t in finding.manifest.tools] == ["web.hello"]
    assert finding.provenance.manifest_digest is None
    sys.modules.pop("toolcrib_web", None)


def test_editable_develop_survives_code_that_exits(importable, project, monkeypatch):
    """A pack that is being written is broken half of the time."""
    install_editable(importable, project, pth=f"{project / 'src'}\n", manifest=False)
    (project / "src" / "toolcrib_web" / "__init__.py").write_text("raise SystemExit(1)")
    monkeypatch.syspath_prepend(str(project / "src"))
    assert codes(found(importable, project / "src", develop=True)) == ["pack.unloadable"]
    assert "toolcrib_web" not in sys.modules


def test_egg_info_alone_proves_nothing(site):
    """It has no RECORD, so nobody can say that its files are the installed ones."""
    info = site.install("toolcrib-web", record=False)
    egg = info.with_suffix(".egg-info")
    info.rename(egg)
    (egg / "METADATA").rename(egg / "PKG-INFO")
    assert codes(found(site)) == ["manifest.unlisted"]


def test_archive_is_refused_and_does_no_harm(site, tmp_path):
    """Packs are read from folders, where each file can be checked."""
    site.install("toolcrib-good")
    archive = tmp_path / "packs.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(
            "toolcrib_bad-1.0.dist-info/METADATA", "Name: toolcrib-bad\nVersion: 1\n\n"
        )
        point = "[toolcrib.packs.v1]\nbad = toolcrib_bad:pack\n"
        file.writestr("toolcrib_bad-1.0.dist-info/entry_points.txt", point)
        file.writestr("stranger-1.0.dist-info/METADATA", "Name: stranger\nVersion: 1\n\n")
    (tmp_path / "broken.zip").write_bytes(b"PK\x05\x06 not an archive")
    (tmp_path / "plain.txt").write_text("not an archive either")
    findings = found(archive, tmp_path / "broken.zip", tmp_path / "plain.txt", site)
    assert [p.pack_id for p in findings.packs] == ["good"]
    assert [(r.subject, r.code) for r in findings.refusals] == [
        ("toolcrib-bad", "metadata.unreadable")
    ]


def test_path_may_name_what_is_not_there(site, tmp_path):
    """Import skips such entries as well."""
    site.install("toolcrib-web")
    findings = discover(path=[str(tmp_path / "no"), "\0", 7, str(site)])  # type: ignore[list-item]
    assert len(findings.packs) == 1


def test_order_is_that_of_names_not_of_the_disk(site, other):
    """Packs and refusals come sorted, whatever was written first."""
    for name in ("c", "a", "b"):
        site.install(f"toolcrib-{name}")
        (site.info(f"toolcrib-x{name}", points="[toolcrib.packs.v1]\nbroken\n"))
    one = found(site)
    for name in ("b", "a", "c"):
        other.install(f"toolcrib-{name}")
        (other.info(f"toolcrib-x{name}", points="[toolcrib.packs.v1]\nbroken\n"))
    two = found(other)
    assert [p.pack_id for p in one.packs] == [p.pack_id for p in two.packs] == ["a", "b", "c"]
    assert [r.subject for r in one.refusals] == [r.subject for r in two.refusals]


def test_one_distribution_may_hold_two_packs(site):
    """Each in a package of its own."""
    points = "[toolcrib.packs.v1]\nweb = toolcrib_web:pack\nnet = toolcrib_net.pack:pack\n"
    info = site.install("toolcrib-web", points=points, record=False)
    net = site.path / "toolcrib_net"
    net.mkdir()
    (net / "__init__.py").write_text("")
    (net / "toolcrib.json").write_bytes(site.manifest("net"))
    site.record(info, site.path / "toolcrib_web" / "toolcrib.json", net / "toolcrib.json")
    assert [p.pack_id for p in found(site).packs] == ["net", "web"]


def test_manifests_are_read_when_asked_for(site):
    """Claims come from metadata alone."""
    site.install("toolcrib-web")
    findings = found(site)
    (site.path / "toolcrib_web" / "toolcrib.json").unlink()
    assert [c.pack_id for c in findings.claims] == ["web"]
    assert codes(findings) == ["manifest.missing"]


def test_uninstalled_pack_is_gone_and_an_upgrade_is_seen(site):
    """Nothing is kept between two looks."""
    info = site.install("toolcrib-web", version="1.0")
    assert [p.version for p in found(site).packs] == ["1.0"]
    for file in info.iterdir():
        file.unlink()
    info.rmdir()
    assert found(site).packs == ()
    site.install("toolcrib-web", version="2.0")
    assert [p.version for p in found(site).packs] == ["2.0"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[toolcrib.packs.v1]\n a = b:c # no comment\n",
            [("toolcrib.packs.v1", "a", "b:c # no comment")],
        ),
        (
            "; x\n[other]\nnot a pair\n[toolcrib.packs.v1]\n\n# c\na=b\n",
            [("toolcrib.packs.v1", "a", "b")],
        ),
        ("[other]\nx = toolcrib.packs.v1\n", []),
    ],
)
def test_entry_points_are_read_by_group(text, expected):
    """Other groups' lines are not ours to judge."""
    assert entry_points(text) == expected


def test_large_entry_points_are_read_and_huge_ones_refused(site):
    """A bound, but not a small one."""
    info = site.install("toolcrib-web")
    text = (info / "entry_points.txt").read_text()
    (info / "entry_points.txt").write_text("# " + "x" * 200_000 + "\n" + text)
    assert len(found(site).packs) == 1
    (info / "entry_points.txt").write_text("# " + "x" * 2_000_000 + "\n" + text)
    assert codes(found(site)) == ["metadata.unreadable"]


def test_local_pack_is_found_without_metadata(site):
    """A pack passed in as an object describes itself."""
    pack = Pack("mine")

    @pack.tool(effects=[])
    def hello(ctx) -> str:
        """Say hello."""
        return "hello"

    (finding,) = found(site, local=[pack]).packs
    assert (finding.pack_id, finding.provenance.how) == ("mine", "local")
    assert [t.id for t in finding.manifest.tools] == ["mine.hello"]


def test_only_claimants_metadata_is_opened(site, monkeypatch):
    """A thousand strangers cost one failed open each."""
    site.install("toolcrib-web")
    for number in range(20):
        site.info(f"stranger{number}", points="[console_scripts]\nx = y:z\n")
    opened = []
    real = os.open

    def watched(path, *rest, **more):
        opened.append(str(path))
        return real(path, *rest, **more)

    monkeypatch.setattr(os, "open", watched)
    found(site)
    assert [Path(p).parent.name for p in opened if p.endswith("METADATA")] == [
        "toolcrib_web-1.0.dist-info"
    ]
