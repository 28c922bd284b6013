"""Which language a file is in, by its name."""

from __future__ import annotations

import os

from collections.abc import Mapping


__all__ = ["LANGUAGES", "extensions_of", "language_of"]

_EXTENSIONS: dict[str, tuple[str, ...]] = {
    "python": (".py", ".pyi", ".pyw"),
    "typescript": (".ts", ".mts", ".cts"),
    "typescriptreact": (".tsx",),
    "javascript": (".js", ".mjs", ".cjs"),
    "javascriptreact": (".jsx",),
    "json": (".json",),
    "jsonc": (".jsonc", ".json5"),
    "html": (".html", ".htm", ".xhtml"),
    "css": (".css",),
    "scss": (".scss",),
    "less": (".less",),
    "shellscript": (".sh", ".bash", ".ksh"),
    "yaml": (".yaml", ".yml"),
    "c": (".c", ".h"),
    "cpp": (".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx"),
    "objective-c": (".m",),
    "go": (".go",),
    "gomod": (".mod",),
    "rust": (".rs",),
    "lua": (".lua",),
    "zig": (".zig",),
    "toml": (".toml",),
    "markdown": (".md", ".markdown"),
    "latex": (".tex",),
    "ruby": (".rb", ".rake", ".gemspec"),
    "php": (".php",),
    "swift": (".swift",),
    "terraform": (".tf", ".tfvars"),
    "dockerfile": (".dockerfile",),
    "nix": (".nix",),
    "haskell": (".hs",),
    "java": (".java",),
    "kotlin": (".kt", ".kts"),
    "elixir": (".ex", ".exs"),
    "svelte": (".svelte",),
    "vue": (".vue",),
}
_NAMES = {
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "gemfile": "ruby",
    "rakefile": "ruby",
    "go.mod": "gomod",
    ".bashrc": "shellscript",
    ".bash_profile": "shellscript",
    "pkgbuild": "shellscript",
}
_BY_EXTENSION = {end: name for name, ends in _EXTENSIONS.items() for end in ends}

LANGUAGES = frozenset(_EXTENSIONS)


def language_of(path: str, own: Mapping[str, str] | None = None) -> str | None:
    """Return the protocol's word for a file's language, or None if it has none.

    Args:
        path: The file; only its name is looked at.
        own: Languages by extension that come before the table's.
    """
    name = os.path.basename(path).lower()
    end = os.path.splitext(name)[1]
    if own and end in own:
        return own[end]
    return _NAMES.get(name) or _BY_EXTENSION.get(end)


def extensions_of(language: str) -> tuple[str, ...]:
    """Return the ends of file names of a language."""
    return _EXTENSIONS.get(language, ())
