"""The program that looks into wheels finds what is wrong, and nothing else."""

from __future__ import annotations

import importlib.util
import zipfile

from pathlib import Path

import pytest


WHOLE = {
    "acme_x/__init__.py": "pack = None\n",
    "acme_x/py.typed": "",
    "acme_x/toolcrib.json": '{"api": 1, "pack": "x", "tools": []}',
    "acme_x-1.0.dist-info/METADATA": (
        "Metadata-Version: 2.4\nName: acme-x\nVersion: 1.0\nSummary: X\nKeywords: x\n"
        "Requires-Python: >=3.11\nLicense-Expression: MIT\nClassifier: Typing :: Typed\n\n"
        + "What it is for. "
        * 20
    ),
    "acme_x-1.0.dist-info/entry_points.txt": "[toolcrib.packs.v1]\nx = acme_x:pack\n",
    "acme_x-1.0.dist-info/licenses/LICENSE": "MIT\n",
}


@pytest.fixture(scope="module")
def look():
    spec = importlib.util.spec_from_file_location("look", Path(__file__).with_name("look.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def faults(look, tmp_path):
    """What is wrong with a wheel of these files, RECORD made from them."""

    def of(changes, record=()):
        files = {name: text for name, text in (WHOLE | changes).items() if text is not None}
        listed = [*files, "acme_x-1.0.dist-info/RECORD"]
        files["acme_x-1.0.dist-info/RECORD"] = "".join(
            f"{name},,\n" for name in listed if name not in record
        )
        path = tmp_path / "acme_x-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return look.look(tmp_path)[path.name]

    return of


def test_a_whole_wheel_has_no_faults(faults):
    assert faults({}) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"acme_x/py.typed": None}, "py.typed is missing"),
        ({"acme_x/toolcrib.json": None}, "holds no acme_x/toolcrib.json"),
        ({"acme_x/toolcrib.json": '{"api": 1, "pack": "y"}'}, "not the manifest of 'x'"),
        ({"acme_x/__pycache__/a.pyc": "x"}, "is no source"),
        ({"acme_x/tests/test_a.py": ""}, "is a test"),
        ({"other/__init__.py": ""}, "outside of the package"),
        ({"acme_x/a.py": "HOME = '/ho" + "me/me'"}, "a.py holds"),
        ({"acme_x-1.0.dist-info/licenses/LICENSE": None}, "licence's text is missing"),
        ({"acme_x-1.0.dist-info/METADATA": "Name: acme-x\n\nShort."}, "no Version"),
    ],
)
def test_each_fault_is_named(faults, changes, words):
    assert any(words in fault for fault in faults(changes))


def test_a_file_that_record_does_not_list_is_named(faults):
    assert "RECORD and archive differ: acme_x/py.typed" in faults(
        {}, record={"acme_x/py.typed"}
    )


def test_an_empty_folder_is_a_fault(look, tmp_path):
    assert look.look(tmp_path)["all"]
