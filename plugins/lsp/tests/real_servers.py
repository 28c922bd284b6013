"""A small two-file project for each language, and what servers must say about it."""

from __future__ import annotations

import json
import os
import shutil
import sys

from pathlib import Path
from typing import Any

import attrs


__all__ = ["PROJECTS", "SERVERS", "Case", "Project", "installed"]


@attrs.frozen(kw_only=True)
class Project:
    """Two files, of which the second uses what the first defines.

    Attributes:
        files: Content by name; ``{ws}`` stands for the folder.
        lib, app: The defining and the using file.
        name: What is defined, and used.
        defined, used: Lines of the definition and of a use of it.
        caller: The function around the use, if there are functions.
        bad, fixed: Content of the using file with a fault, and without.
        fault: Line of the fault.
        symbol: What the outline calls it, if that is another name.
        caller_line: Line of that function.
        anchor: Line of a use in the defining file, where files are islands.
        new_name: What it is renamed to.
        flawed: Content of a further file, which servers offer to mend.
    """

    files: dict[str, str]
    lib: str
    app: str
    name: str
    defined: int
    used: int
    caller: str = ""
    bad: str = ""
    fixed: str = ""
    fault: int = 0
    symbol: str = ""
    caller_line: int = 0
    anchor: int = 0
    new_name: str = "salute"
    flawed: str = ""

    def make(self, folder: Path) -> None:
        """Write it."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("{ws}", str(folder)))


_PY_LIB = 'def greet(name: str) -> str:\n    """Say hello."""\n    return "hello " + name\n'
_PY_APP = (
    'from lib import greet\n\n\ndef run() -> None:\n    print("é😀é😀é😀é😀x", greet("x"))\n'
)
_TS_LIB = 'export function greet(name: string): string {\n  return "hi " + name;\n}\n'
_TS_APP = (
    'import { greet } from "./lib";\n\n'
    'export function run(): string {\n  return greet("x");\n}\n'
)
_GO_LIB = 'package main\n\nfunc greet(name string) string {\n\treturn "hi " + name\n}\n'
_GO_APP = 'package main\n\nfunc main() {\n\tprintln(greet("x"))\n}\n'
_C_APP = '#include "lib.h"\n\nint main(void) {\n  return greet(2);\n}\n'
_PY_FLAWED = "import os\n\n\ndef f() -> float:\n    return sqrt(2)\n"
_TS_FLAWED = 'import { greet } from "./lib";\n\nexport const y = gret("x");\n'
_RS_APP = 'mod lib;\n\nfn main() {\n    println!("{}", lib::greet("x"));\n}\n'

PROJECTS: dict[str, Project] = {
    "python": Project(
        files={"lib.py": _PY_LIB, "app.py": _PY_APP},
        lib="lib.py",
        app="app.py",
        name="greet",
        defined=1,
        used=5,
        caller="run",
        caller_line=4,
        bad=_PY_APP + "\n\nprint(undefined_name))\n",
        fixed=_PY_APP,
        fault=8,
        flawed=_PY_FLAWED,
    ),
    "typescript": Project(
        files={
            "lib.ts": _TS_LIB,
            "app.ts": _TS_APP,
            "tsconfig.json": '{"compilerOptions": {"strict": true, "types": []}}\n',
        },
        lib="lib.ts",
        app="app.ts",
        name="greet",
        defined=1,
        used=4,
        caller="run",
        caller_line=3,
        bad=_TS_APP + '\nconst n: number = greet("y");\nexport default n;\n',
        fixed=_TS_APP,
        fault=7,
        flawed=_TS_FLAWED,
    ),
    "json": Project(
        files={"lib.json": '{"greet": {"to": 1}}\n', "app.json": '{"use": [1, 2]}\n'},
        lib="lib.json",
        app="app.json",
        name="greet",
        defined=1,
        used=0,
        bad='{"use": [1, 2}\n',
        fixed='{"use": [1, 2]}\n',
        fault=1,
        flawed='{"b": 1, "a": 2}\n',
    ),
    "html": Project(
        files={
            "lib.html": '<html>\n<body>\n<p id="greet">x</p>\n</body>\n</html>\n',
            "app.html": "<html><head>\n<style>\np { color: red; }\n</style>\n</head></html>\n",
        },
        lib="lib.html",
        app="app.html",
        name="body",
        defined=2,
        used=0,
        symbol="p#greet",
        flawed="<p>x\n",
    ),
    "css": Project(
        files={
            "lib.css": ":root {\n  --greet: red;\n}\n.x { color: var(--greet); }\n",
            "app.css": ".use { color: blue; }\n",
        },
        lib="lib.css",
        app="app.css",
        name="--greet",
        defined=2,
        used=0,
        bad=".use { color: ; }\n",
        fixed=".use { color: blue; }\n",
        fault=1,
        flawed=".x { colr: red; }\n",
        symbol=":root",
        anchor=4,
        new_name="--salute",
    ),
    "shellscript": Project(
        files={
            "lib.sh": '#!/bin/bash\ngreet() {\n  echo "hello $1"\n}\n',
            "app.sh": "#!/bin/bash\nsource ./lib.sh\ngreet x\n",
        },
        lib="lib.sh",
        app="app.sh",
        name="greet",
        defined=2,
        used=3,
        flawed="#!/bin/bash\necho $1\n",
    ),
    "yaml": Project(
        files={
            "lib.yaml": "base: &greet {a: 1}\n\nuse:\n  <<: *greet\n",
            "app.yaml": "use: [1, 2]\n",
        },
        lib="lib.yaml",
        app="app.yaml",
        name="greet",
        defined=1,
        used=0,
        bad="use: [1, 2\nb: }\n",
        fixed="use: [1, 2]\n",
        fault=2,
        symbol="base",
        anchor=4,
        flawed="base: &unused {a: 1}\n",
    ),
    "c": Project(
        files={
            "lib.h": "int greet(int n);\n",
            "lib.c": '#include "lib.h"\n\nint greet(int n) {\n  return n + 1;\n}\n',
            "app.c": _C_APP,
            "compile_commands.json": json.dumps(
                [
                    {"directory": "{ws}", "command": f"cc -c {n}.c", "file": f"{{ws}}/{n}.c"}
                    for n in ("lib", "app")
                ]
            ),
        },
        lib="lib.c",
        app="app.c",
        name="greet",
        defined=3,
        used=4,
        caller="main",
        caller_line=3,
        bad=_C_APP.replace("greet(2)", "undefined_name"),
        fixed=_C_APP,
        fault=4,
        flawed="int other(void) {\n  return 3\n}\n",
    ),
    "go": Project(
        files={
            "go.mod": "module example.com/hello\n\ngo 1.19\n",
            "lib.go": _GO_LIB,
            "main.go": _GO_APP,
        },
        lib="lib.go",
        app="main.go",
        name="greet",
        defined=3,
        used=4,
        caller="main",
        caller_line=3,
        bad=_GO_APP.replace('greet("x")', "undefinedName"),
        fixed=_GO_APP,
        fault=4,
        flawed='package main\n\nimport "os"\n\nfunc other() {}\n',
    ),
    "rust": Project(
        files={
            "Cargo.toml": '[package]\nname = "hello"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/lib.rs": 'pub fn greet(n: &str) -> String {\n    format!("hi {n}")\n}\n',
            "src/main.rs": _RS_APP,
        },
        lib="src/lib.rs",
        app="src/main.rs",
        name="greet",
        defined=1,
        used=4,
        caller="main",
        bad=_RS_APP.replace('lib::greet("x")', "undefined_name"),
        fixed=_RS_APP,
        fault=4,
    ),
}


@attrs.frozen(kw_only=True)
class Case:
    """One server and what it is known not to do.

    Attributes:
        language: The project that it is tried on.
        pip: Whether pip alone provides it.
        program: What must be there.
        lacks: Tools that it does not support.
        odd: Tools whose answer lacks something.
        silent: Tools to which it answers nothing here, though it supports them.
        action: What it offers for the flawed file, or the start of it.
        mended: What the file holds once that was done.
    """

    language: str
    program: str
    pip: bool = False
    lacks: frozenset[str] = frozenset()
    silent: frozenset[str] = frozenset()
    odd: frozenset[str] = frozenset()
    action: str = ""
    mended: str = ""


_PLACES = {"definition", "references", "implementation", "type_definition"}
_CALLS = {"incoming_calls", "outgoing_calls"}
_EVERYWHERE = {"workspace_symbols", *_CALLS}
_NO_TYPES = {"implementation", "type_definition", *_CALLS}


def _python(
    program: str,
    *lacks: str,
    silent: tuple[str, ...] = (),
    odd: tuple[str, ...] = (),
    **facts: Any,
) -> Case:
    return Case(
        language="python",
        program=program,
        pip=True,
        lacks=frozenset(lacks),
        silent=frozenset(silent),
        odd=frozenset(odd),
        **facts,
    )


def _npm(language: str, program: str, *lacks: str, **facts: Any) -> Case:
    return Case(language=language, program=program, lacks=frozenset(lacks), **facts)


SERVERS: dict[str, Case] = {
    # An implementation of a function is none of it to some.
    "basedpyright": _python(
        "basedpyright-langserver",
        "format",
        silent=("implementation",),
        action="Add `# pyright: ignore[reportUnusedImport]`",
        mended=_PY_FLAWED.replace("os", "os  # pyright: ignore[reportUnusedImport]"),
    ),
    "pyright": _python(
        "pyright-langserver", "format", "implementation", silent=("code_actions",)
    ),
    "ty": _python(
        "ty",
        "format",
        silent=("implementation",),
        action="Ignore 'unresolved-reference'",
        mended=_PY_FLAWED.replace("(2)", "(2)  # ty: ignore[unresolved-reference]"),
    ),
    "pyrefly": _python(
        "pyrefly",
        "format",
        silent=("implementation", "type_definition"),
        odd=("outgoing_calls",),
        action="Remove unused import",
        mended=_PY_FLAWED.removeprefix("import os\n"),
    ),
    "pylsp": _python("pylsp", "implementation", *_EVERYWHERE, silent=("code_actions",)),
    "jedi": _python(
        "jedi-language-server",
        "format",
        "implementation",
        *_CALLS,
        silent=("code_actions",),
    ),
    "ruff": _python(
        "ruff",
        "symbols",
        "rename",
        *_PLACES,
        *_EVERYWHERE,
        silent=("hover",),
        action="Ruff (F401): Remove unused import",
        mended=_PY_FLAWED.removeprefix("import os\n"),
    ),
    "typescript": _npm(
        "typescript",
        "typescript-language-server",
        action="Change spelling to 'greet'",
        mended=_TS_FLAWED.replace("gret", "greet"),
    ),
    "vscode-json": _npm(
        "json",
        "vscode-json-language-server",
        *_PLACES,
        *_EVERYWHERE,
        "rename",
        silent=frozenset({"hover"}),
    ),
    "vscode-html": _npm(
        "html",
        "vscode-html-language-server",
        *_NO_TYPES,
        "workspace_symbols",
        "code_actions",
        "code_action",
        silent=frozenset({"definition", "references"}),
    ),
    "vscode-css": _npm(
        "css",
        "vscode-css-language-server",
        *_NO_TYPES,
        "workspace_symbols",
        action="Rename to 'color'",
        mended=".x { color: red; }\n",
    ),
    "bash": _npm(
        "shellscript",
        "bash-language-server",
        *_NO_TYPES,
        silent=frozenset({"code_actions"}),
    ),
    "yaml": _npm(
        "yaml",
        "yaml-language-server",
        *_NO_TYPES,
        "references",
        "workspace_symbols",
        "format",
        action="Delete unused anchor",
        mended="base: {a: 1}\n",
    ),
    "clangd": _npm(
        "c",
        "clangd",
        "outgoing_calls",
        silent=frozenset({"implementation", "type_definition"}),
        action="insert ';'",
        mended="int other(void) {\n  return 3;\n}\n",
    ),
    "gopls": _npm(
        "go",
        "gopls",
        silent=frozenset({"implementation", "type_definition"}),
        action="Delete import",
        mended="package main\n\nfunc other() {}\n",
    ),
}


def installed(program: str) -> bool:
    """Tell whether a program can be found where the pack looks for it."""
    own = os.path.dirname(os.path.abspath(sys.executable))
    return bool(shutil.which(program) or shutil.which(program, path=own))
