"""The language servers that are known: what they serve and how they are started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs


__all__ = ["KNOWN", "ServerSpec", "known_for"]

Slot = Literal["main", "lint"]


@attrs.frozen(kw_only=True)
class ServerSpec:
    """One way to serve some languages.

    Attributes:
        name: Under which it is configured and shown.
        languages: The protocol's words.
        command: Program and arguments.
        install: How a person gets it.
        slot: Of the servers in one slot, the first that is installed serves a language;
            one of each slot serve a file together.
        trust: Why it needs a workspace that is trusted; empty if it runs nothing of it.
        roots: Names of files that mark the folder to open; the nearest one above.
        options: ``initializationOptions``.
        settings: What it is told when it asks for its configuration.
        env: Variables of its own.
        settle: Seconds after its start in which it may not know all files yet.
        opening: Seconds after a file was opened in which an empty answer is doubted.
        quiet: Seconds without news after which pushed diagnostics are complete.
        edit_commands: Commands of it that do nothing but propose an edit.
        told_commands: Commands that an editor carries out by itself: their arguments are a
            document, its version and the edits.
        looked: What it logs when it has looked for the files of the workspace.
        indexes: Whether it also needs its index to find a definition.
        counts: In what it counts columns where that is not what it says.
    """

    name: str
    languages: tuple[str, ...]
    command: tuple[str, ...]
    install: str = ""
    slot: Slot = "main"
    trust: str = ""
    roots: tuple[str, ...] = ()
    options: Mapping[str, Any] = attrs.field(factory=dict, hash=False)
    settings: Mapping[str, Any] = attrs.field(factory=dict, hash=False)
    env: Mapping[str, str] = attrs.field(factory=dict, hash=False)
    settle: float = 0.5
    opening: float = 0.4
    quiet: float = 0.3
    edit_commands: frozenset[str] = frozenset()
    told_commands: frozenset[str] = frozenset()
    looked: str = ""
    indexes: bool = False
    counts: Literal["", "utf-8", "utf-16", "utf-32"] = ""


_PYTHON = ("python",)
_TYPESCRIPT = ("typescript", "typescriptreact", "javascript", "javascriptreact")
_C = ("c", "cpp", "objective-c")
_STYLE = ("css", "scss", "less")
# Nothing is fetched from schema stores: answers come from the workspace.
_NO_NETWORK = {"http": {"proxy": "http://127.0.0.1:9", "proxyStrictSSL": True}}
_PYRIGHT_ANALYSIS = {"diagnosticMode": "openFilesOnly", "autoSearchPaths": True}
_PYRIGHT_LOOKED = r"Found \d+ source file|No source files found"

# In the order of preference within a slot.
KNOWN: tuple[ServerSpec, ...] = (
    ServerSpec(
        name="basedpyright",
        languages=_PYTHON,
        command=("basedpyright-langserver", "--stdio"),
        install="pip install basedpyright",
        settings={"basedpyright": {"analysis": _PYRIGHT_ANALYSIS}},
        looked=_PYRIGHT_LOOKED,
    ),
    ServerSpec(
        name="pyright",
        languages=_PYTHON,
        command=("pyright-langserver", "--stdio"),
        install="pip install 'pyright[nodejs]'",
        settings={"python": {"analysis": _PYRIGHT_ANALYSIS}},
        env={"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
        looked=_PYRIGHT_LOOKED,
    ),
    ServerSpec(
        name="ty",
        languages=_PYTHON,
        command=("ty", "server"),
        install="pip install ty",
    ),
    ServerSpec(
        name="pyrefly",
        languages=_PYTHON,
        command=("pyrefly", "lsp"),
        install="pip install pyrefly",
    ),
    ServerSpec(
        name="pylsp",
        languages=_PYTHON,
        command=("pylsp",),
        install="pip install python-lsp-server",
        quiet=0.6,
        counts="utf-32",  # it says nothing, which means utf-16
    ),
    ServerSpec(
        name="jedi",
        languages=_PYTHON,
        command=("jedi-language-server",),
        install="pip install jedi-language-server",
        counts="utf-32",  # it says utf-8
    ),
    ServerSpec(
        name="ruff",
        languages=_PYTHON,
        command=("ruff", "server"),
        install="pip install ruff",
        slot="lint",
        edit_commands=frozenset(
            {"ruff.applyAutofix", "ruff.applyFormat", "ruff.applyOrganizeImports"}
        ),
    ),
    ServerSpec(
        name="typescript",
        languages=_TYPESCRIPT,
        command=("typescript-language-server", "--stdio"),
        install="npm install -g typescript@5 typescript-language-server",
        options={"disableAutomaticTypingAcquisition": True, "hostInfo": "toolcrib"},
        settle=1.0,
        quiet=0.8,
        edit_commands=frozenset({"_typescript.applyWorkspaceEdit"}),
    ),
    ServerSpec(
        name="tsc",
        languages=_TYPESCRIPT,
        command=("tsc", "--lsp", "--stdio"),
        install="npm install -g typescript@7",
    ),
    ServerSpec(
        name="vscode-json",
        languages=("json", "jsonc"),
        command=("vscode-json-language-server", "--stdio"),
        install="npm install -g vscode-langservers-extracted",
        options={"provideFormatter": True, "handledSchemaProtocols": ["file"]},
        settings={"json": {"validate": {"enable": True}, "format": {"enable": True}}},
    ),
    ServerSpec(
        name="vscode-html",
        languages=("html",),
        command=("vscode-html-language-server", "--stdio"),
        install="npm install -g vscode-langservers-extracted",
        options={
            "provideFormatter": True,
            "embeddedLanguages": {"css": True, "javascript": True},
        },
    ),
    ServerSpec(
        name="vscode-css",
        languages=_STYLE,
        command=("vscode-css-language-server", "--stdio"),
        install="npm install -g vscode-langservers-extracted",
        options={"provideFormatter": True},
        settings={name: {"validate": True} for name in _STYLE},
        told_commands=frozenset({"_css.applyCodeAction"}),
    ),
    ServerSpec(
        name="bash",
        languages=("shellscript",),
        command=("bash-language-server", "start"),
        install="npm install -g bash-language-server",
        settle=1.5,
        opening=1.5,
        quiet=0.8,
        settings={"bashIde": {"enableSourceErrorDiagnostics": False}},
    ),
    ServerSpec(
        name="yaml",
        languages=("yaml",),
        command=("yaml-language-server", "--stdio"),
        install="npm install -g yaml-language-server",
        settings={
            "yaml": {"schemaStore": {"enable": False}, "validate": True, "hover": True},
            **_NO_NETWORK,
        },
        quiet=0.6,
    ),
    ServerSpec(
        name="clangd",
        languages=_C,
        command=("clangd", "--background-index", "--log=error"),
        install="apt install clangd",
        settle=2.0,
        quiet=0.4,
        indexes=True,
        edit_commands=frozenset({"clangd.applyFix", "clangd.applyTweak"}),
    ),
    ServerSpec(
        name="gopls",
        languages=("go", "gomod"),
        command=("gopls",),
        install="go install golang.org/x/tools/gopls@latest",
        trust="it runs the go command, which may run tools that the module names",
        roots=("go.work", "go.mod"),
        env={"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "GOPROXY": "off"},
        settle=1.0,
        quiet=1.0,
        edit_commands=frozenset({"gopls.apply_fix"}),
    ),
    ServerSpec(
        name="rust-analyzer",
        languages=("rust",),
        command=("rust-analyzer",),
        install="rustup component add rust-analyzer",
        trust="it runs build scripts and macros of the project",
        roots=("Cargo.toml",),
        settle=3.0,
        quiet=1.0,
    ),
    ServerSpec(
        name="lua",
        languages=("lua",),
        command=("lua-language-server",),
        install="install lua-language-server with your package manager",
        trust="it runs plugins that the workspace names",
    ),
    ServerSpec(
        name="zls",
        languages=("zig",),
        command=("zls",),
        install="install zls with your package manager",
        trust="it runs the project's build file",
    ),
    ServerSpec(
        name="taplo",
        languages=("toml",),
        command=("taplo", "lsp", "stdio"),
        install="cargo install taplo-cli --features lsp",
    ),
    ServerSpec(
        name="marksman",
        languages=("markdown",),
        command=("marksman", "server"),
        install="install marksman with your package manager",
    ),
    ServerSpec(
        name="dockerfile",
        languages=("dockerfile",),
        command=("docker-langserver", "--stdio"),
        install="npm install -g dockerfile-language-server-nodejs",
    ),
    ServerSpec(
        name="terraform",
        languages=("terraform",),
        command=("terraform-ls", "serve"),
        install="install terraform-ls with your package manager",
        trust="it runs the terraform command and providers of the workspace",
    ),
    ServerSpec(
        name="ruby",
        languages=("ruby",),
        command=("ruby-lsp",),
        install="gem install ruby-lsp",
        trust="it loads gems that the project names",
    ),
)


def known_for(language: str) -> tuple[ServerSpec, ...]:
    """Return the servers of a language, the preferred ones first."""
    return tuple(spec for spec in KNOWN if language in spec.languages)
