"""The official JSON Schema test suite, through normalising and validating.

The suite is not ours and is not kept here. ``TOOLCRIB_SCHEMA_SUITE`` names a folder that
holds its ``tests`` and ``remotes`` folders: a clone, or the ``json`` folder of the source
distribution of ``jsonschema``. Without it these tests are skipped.

What must hold: nothing that the suite calls invalid is accepted, nothing that it calls
valid is refused, and what is not decided was refused by name when its schema was read.
Nothing is ever fetched, so schemas that refer to other documents are refused first, and
then judged again with those documents bundled, as JSON Schema 2020-12 has it in section 9.3.
"""

from __future__ import annotations

import json
import os

from collections import Counter
from pathlib import Path
from urllib.parse import urljoin

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
# Where the suite wants the other documents to be.
SERVED = "http://localhost:1234/"
# Schemas in a language of their own; what its words mean, nobody here can know.
OWN_LANGUAGE = "vocabulary.json"

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


def _documents(folder):
    """Give the other documents of a draft, by the address where the suite wants them."""
    root = Path(SUITE or "") / "remotes"
    for path in sorted(root.rglob("*.json")):
        name = path.relative_to(root).as_posix()
        if name.startswith((f"{folder}/", "draft")) is name.startswith(f"{folder}/"):
            yield SERVED + name, json.loads(path.read_text(encoding="utf-8"))


def _named(schema, folder):
    """Return the other documents that a schema, or one of those, names."""
    documents, found, text, size = dict(_documents(folder)), {}, json.dumps(schema), -1
    while len(found) > size:
        size = len(found)
        for uri, document in documents.items():
            if uri not in found and uri.rpartition("/")[2] in text:
                found[uri] = document
                text += json.dumps(document)
    return found


def _bundled(schema, folder):
    """Put the documents that a schema needs into it, under the addresses that they have."""
    identifier = "id" if folder == "draft4" else "$id"
    place = "definitions" if folder in ("draft4", "draft6", "draft7") else "$defs"
    held = {}
    for uri, document in _named(schema, folder).items():
        own = urljoin(uri, document.get(identifier, ""))
        whole = {key: value for key, value in document.items() if key != "$schema"}
        held[uri] = whole | {identifier: own}
        if own.rstrip("#") != uri:
            held[f"{uri} as served"] = {identifier: uri, "allOf": [{"$ref": own}]}
    return schema | {place: schema.get(place, {}) | held}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_decided_verdict_is_right(folder):
    """No false acceptance, no false refusal, and a share that is decided."""
    counts: Counter[str] = Counter()
    wrong = []
    for name, group in _groups(folder):
        schema = group["schema"]
        validator = _validator(schema, FOLDERS[folder])
        how = "decided"
        if validator is None and isinstance(schema, dict):
            validator = _validator(_bundled(schema, folder), FOLDERS[folder])
            how = "bundled" if validator is not None else "refused"
        if has_other():
            assert how != "refused" or name == OWN_LANGUAGE, group["description"]
        for test in group["tests"]:
            counts[how] += 1
            if validator is not None and validator.is_valid(test["data"]) is not test["valid"]:
                wrong.append((name, group["description"], test["description"]))
    print(folder, dict(counts))
    assert wrong == []
    assert counts["decided"] > 500
    share = 1 - counts["refused"] / counts.total()
    assert share >= (0.99 if has_other() else 0.95)


@pytest.mark.parametrize("folder", FOLDERS)
def test_optional_formats_refuse_nothing_valid(folder):
    """They are annotations; how many texts of the wrong form pass is reported."""
    counts: Counter[str] = Counter()
    for name, group in _groups(f"{folder}/optional/format"):
        validator = _validator(group["schema"], FOLDERS[folder])
        for test in group["tests"]:
            accepted = validator is not None and validator.is_valid(test["data"])
            assert accepted or not test["valid"], (name, test["description"])
            right = accepted is test["valid"]
            counts["as the format says" if right else "of another form, accepted"] += 1
    print(folder, "formats", dict(counts))
    assert counts.total() > 50


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
