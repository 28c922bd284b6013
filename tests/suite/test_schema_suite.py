"""The official JSON Schema test suite, through normalising and validating.

The suite is not ours and is not kept here. ``TOOLCRIB_SCHEMA_SUITE`` names a folder that
holds its ``tests`` folder: a clone, or the ``json`` folder of the source distribution of
``jsonschema``. Without it these tests are skipped.

What must hold: nothing that the suite calls invalid is accepted, nothing that it calls
valid is refused, and what is not decided was refused by name when its schema was read.
"""

from __future__ import annotations

import json
import os

from collections import Counter
from pathlib import Path

import pytest

from toolcrib.errors import SchemaError
from toolcrib.schema import normalize
from toolcrib.schema.engines import has_other
from toolcrib.schema.judge import Judge
from toolcrib.validator import Validator


SUITE = os.environ.get("TOOLCRIB_SCHEMA_SUITE")
FOLDERS = {
    "draft4": "4",
    "draft6": "6",
    "draft7": "7",
    "draft2019-09": "2019-09",
    "draft2020-12": "2020-12",
}
# What the suite serves from a web server of its own; nothing is ever fetched here.
SERVED = "http://localhost:1234/"

pytestmark = pytest.mark.skipif(not SUITE, reason="TOOLCRIB_SCHEMA_SUITE is not set")


def _groups(folder):
    for path in sorted((Path(SUITE or "") / "tests" / folder).glob("*.json")):
        for group in json.loads(path.read_text(encoding="utf-8")):
            yield path.name, group


def _validator(schema, draft):
    try:
        return Validator(normalize(schema, draft=draft))
    except SchemaError:
        return None


def _needs_another_document(name, schema):
    return name == "refRemote.json" or SERVED in json.dumps(schema)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_decided_verdict_is_right(folder):
    """No false acceptance, no false refusal, and a share that is decided."""
    counts: Counter[str] = Counter()
    wrong = []
    for name, group in _groups(folder):
        validator = _validator(group["schema"], FOLDERS[folder])
        for test in group["tests"]:
            if validator is None:
                served = _needs_another_document(name, group["schema"])
                counts["served" if served else "refused"] += 1
                continue
            counts["decided"] += 1
            if validator.is_valid(test["data"]) is not test["valid"]:
                wrong.append((name, group["description"], test["description"]))
    print(folder, dict(counts))
    assert wrong == []
    assert counts["decided"] > 500
    share = counts["decided"] / (counts["decided"] + counts["refused"])
    assert share >= (0.99 if has_other() else 0.93)


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_judge_and_the_compiled_form_agree(folder):
    """Both ways to a verdict come to the same one."""
    for name, group in _groups(folder):
        validator = _validator(group["schema"], FOLDERS[folder])
        if validator is None or validator.normal.engine == "jsonschema-rs":
            continue
        schema = validator.normal.schema
        for test in group["tests"]:
            judged = Judge(schema).fresh().accepts(schema, test["data"])
            assert judged is test["valid"], (name, group["description"], test["description"])


@pytest.mark.parametrize("folder", FOLDERS)
def test_normal_forms_of_the_suite_are_stable(folder):
    """Normalising a normal form is the identity."""
    for name, group in _groups(folder):
        validator = _validator(group["schema"], FOLDERS[folder])
        if validator is not None and not validator.normal.verbatim:
            schema = validator.normal.schema
            assert normalize(schema).schema == schema, (name, group["description"])
