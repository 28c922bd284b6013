"""Sphinx configuration."""

from __future__ import annotations


project = "toolcrib"
copyright = "2026, the toolcrib authors"  # noqa: A001 - Sphinx's name
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "toolcrib"
nitpicky = True
