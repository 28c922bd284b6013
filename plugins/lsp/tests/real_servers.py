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

    def make(self, folder: Path) -> None:
        """Write it."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("{ws}", str(folder)))


_PY_LIB = 'def greet(name: str) -> str:\n    """Say hello."""\n    return "hello " + name\n'
_PY_APP = 'from lib import greet\n\n\ndef run() -> None:\n    print("é😀x", greet("x"))\n'
_TS_APP = 'import { greet } from "./lib";\n\nexport function run(): string {\n  return greet("x");\n}\n'
_GO_APP = 'package main\n\nfunc main() {\n\tprintln(greet("x"))\n}\n'
_C_APP = '#include "lib.h"\n\nint main(void) {\n  return greet(2);\n}\n'
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
        bad=_PY_APP + "\n\nprint(undefined_name)\n",
        fixed=_PY_APP,
        fault=8,
    ),
    "typescript": Project(
        files={
            "lib.ts": 'export function greet(name: string): string {\n  return "hi " + name;\n}\n',
            "app.ts": _TS_APP,
            "tsconfig.json": '{"compilerOptions": {"strict": true, "types": []}}\n',
        },
        lib="lib.ts",
        app="app.ts",
        name="greet",
        defined=1,
        used=4,
        caller="run",
        bad=_TS_APP + "\nconst n: number = greet(\"y\");\nexport default n;\n",
        fixed=_TS_APP,
        fault=7,
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
    ),
    "html": Project(
        files={
            "lib.html": '<html>\n<body>\n<p id="greet">x</p>\n</body>\n</html>\n',
            "app.html": '<html><head>\n<style>\np { color: red; }\n</style>\n</head></html>\n',
        },
        lib="lib.html",
        app="app.html",
        name="p",
        defined=3,
        used=0,
        symbol="p#greet",
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
        symbol=":root",
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
    ),
    "yaml": Project(
        files={
            "lib.yaml": "base: &greet\n  a: 1\nuse:\n  <<: *greet\n",
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
        bad=_C_APP.replace("greet(2)", "undefined_name"),
        fixed=_C_APP,
        fault=4,
    ),
    "go": Project(
        files={
            "go.mod": "module example.com/hello\n\ngo 1.19\n",
            "lib.go": 'package main\n\nfunc greet(name string) string {\n\treturn "hi " + name\n}\n',
            "main.go": _GO_APP,
        },
        lib="lib.go",
        app="main.go",
        name="greet",
        defined=3,
        used=4,
        caller="main",
        bad=_GO_APP.replace('greet("x")', "undefinedName"),
        fixed=_GO_APP,
        fault=4,
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
        silent: Tools to which it answers nothing here, though it supports them.
        faultless: Whether it finds no fault in the bad file.
        settings: For the pack.
    """

    language: str
    program: str
    pip: bool = False
    lacks: frozenset[str] = frozenset()
    silent: frozenset[str] = frozenset()
    faultless: bool = False
    settings: dict[str, Any] = attrs.field(factory=dict)


_NO_CALLS = {"incoming_calls", "outgoing_calls"}
_ONLY_SYMBOLS = {
    *("definition", "references", "implementation", "type_definition"),
    *("workspace_symbols", "rename", *_NO_CALLS),
}

SERVERS: dict[str, Case] = {
    "basedpyright": Case(language="python", program="basedpyright-langserver", pip=True),
    "pyright": Case(language="python", program="pyright-langserver", pip=True),
    "ty": Case(language="python", program="ty", pip=True),
    "pyrefly": Case(language="python", program="pyrefly", pip=True),
    "pylsp": Case(language="python", program="pylsp", pip=True),
    "jedi": Case(language="python", program="jedi-language-server", pip=True),
    "ruff": Case(language="python", program="ruff", pip=True),
    "typescript": Case(language="typescript", program="typescript-language-server"),
    "vscode-json": Case(language="json", program="vscode-json-language-server"),
    "vscode-html": Case(language="html", program="vscode-html-language-server"),
    "vscode-css": Case(language="css", program="vscode-css-language-server"),
    "bash": Case(language="shellscript", program="bash-language-server"),
    "yaml": Case(language="yaml", program="yaml-language-server"),
    "clangd": Case(language="c", program="clangd"),
    "gopls": Case(language="go", program="gopls"),
    "rust-analyzer": Case(language="rust", program="rust-analyzer"),
}


def installed(program: str) -> bool:
    """Tell whether a program can be found where the pack looks for it."""
    own = os.path.dirname(os.path.abspath(sys.executable))
    return bool(shutil.which(program) or shutil.which(program, path=own))
