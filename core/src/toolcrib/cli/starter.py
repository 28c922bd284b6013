"""The files of a new pack."""

from __future__ import annotations

from string import Template


__all__ = ["files"]

_PYPROJECT = """\
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[project]
name = "$distribution"
version = "0.1.0"
description = "$title tools for LLM agents."
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["toolcrib>=0.1,<0.2"]

[project.optional-dependencies]
test = ["pytest>=8", "toolcrib[author,cli]"]

[project.entry-points."toolcrib.packs.v1"]
$name = "$package:pack"

[tool.hatch.build.targets.wheel]
packages = ["src/$package"]
"""

_INIT = '''\
"""$title tools for LLM agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import attrs

from toolcrib import Between, Context, NotFound, Pack, Refused, Signature, resources


__all__ = ["Words", "count_words", "pack"]

pack = Pack("$name", title="$title")


@attrs.frozen
class Words:
    """How often the commonest words of a file occur."""

    total: int
    commonest: dict[str, int]


# Effects are an upper bound: what the tool may ever do. Labels say what flows through it.
@pack.tool(effects={"fs_read"}, labels={"reads_private"}, idempotent="yes")
def count_words(
    ctx: Context,
    path: Annotated[Path, "Text file, from the workspace or absolute"],
    most: Annotated[int, Between(1, 100)] = 10,
) -> Words:
    """Count the words of a text file."""
    file = ctx.host.workspace.root / path
    try:
        words = file.read_text(encoding="utf-8", errors="replace").casefold().split()
    except FileNotFoundError as error:
        text = f"There is no file {path}. List the folder first."
        raise NotFound(text) from error
    except OSError as error:
        text = f"{path} cannot be read ({error.strerror}). Name a text file."
        raise Refused(text) from error
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    commonest = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]
    return Words(total=len(words), commonest=dict(commonest))


# What this very call touches; rules and approvals are about it.
@count_words.signature
def _(path: Path, most: int = 10) -> Signature:
    return Signature(reads=[resources.Path(path)])
'''

_TEST = '''\
"""The tools, called through every stage, as a model would."""

from __future__ import annotations

from pathlib import Path

from toolcrib import Outcome, Policy, Toolbox

from $package import pack


def call(workspace: Path, tool: str, **arguments: object) -> Outcome:
    """Call a tool in a workspace."""
    policy = Policy(local=[pack], workspace=workspace)
    with Toolbox.sync(policy) as box, box.session() as session:
        return session.call(tool, arguments)


def test_words_are_counted(tmp_path: Path) -> None:
    """The total and the commonest words come back."""
    (tmp_path / "notes.txt").write_text("one two two")
    outcome = call(tmp_path, "$name.count_words", path="notes.txt")
    assert outcome.ok, outcome
    assert outcome.result.structured == {"total": 3, "commonest": {"two": 2, "one": 1}}


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    """The model is told what to do next."""
    outcome = call(tmp_path, "$name.count_words", path="missing.txt")
    assert outcome.status == "not_found"
    assert "List the folder" in outcome.text


def test_a_folder_is_no_text_file(tmp_path: Path) -> None:
    """What cannot be read is an answer, not a crash."""
    outcome = call(tmp_path, "$name.count_words", path=".")
    assert outcome.status == "refused"
    assert "Name a text file" in outcome.text


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    """What the schema does not allow never reaches the tool."""
    outcome = call(tmp_path, "$name.count_words", path="notes.txt", most=0)
    assert outcome.status == "invalid"
'''

_README = """\
# $distribution

$title tools for LLM agents, a pack for toolcrib.

```
pip install $distribution
toolcrib packs enable $distribution
toolcrib tools --pack $name
```

## Work on it

```
pip install -e '.[test]'
toolcrib manifest write      # after every change of a tool; commit toolcrib.json
pytest
toolcrib manifest check      # in continuous integration
```

`src/$package/__init__.py` declares the tools; `src/$package/toolcrib.json` is their
manifest, which hosts read without running any code.
"""

_IGNORE = """\
__pycache__/
*.egg-info/
dist/
.pytest_cache/
.venv/
"""


def files(name: str, distribution: str) -> dict[str, str]:
    """Return path → text of every file of a new pack's project."""
    package = distribution.replace("-", "_")
    words = {
        "name": name,
        "distribution": distribution,
        "package": package,
        "title": name.replace("-", " ").capitalize(),
    }
    texts = {
        "pyproject.toml": _PYPROJECT,
        "README.md": _README,
        ".gitignore": _IGNORE,
        f"src/{package}/__init__.py": _INIT,
        f"src/{package}/py.typed": "",
        f"tests/test_{package}.py": _TEST,
    }
    return {place: Template(text).substitute(words) for place, text in texts.items()}
