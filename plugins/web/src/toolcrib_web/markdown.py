"""HTML to Markdown, by html-to-markdown; nothing else knows of that library."""

from __future__ import annotations

import re


__all__ = ["to_markdown"]

_BLANK = re.compile(r"\n{3,}")


def to_markdown(source: str, *, boilerplate: bool = True) -> str:
    """Return the Markdown of HTML: headings, lists, tables, code, links and images.

    Args:
        source: HTML.
        boilerplate: Whether navigation and forms are kept.
    """
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

    options = ConversionOptions(
        extract_metadata=False,
        bullets="-",
        list_indent_width=2,
        inline_data_media="alt_text_only",
        hidden_content="drop",
        compact_tables=True,
        br_in_tables=False,
        autolinks=False,
        preprocessing=PreprocessingOptions(
            enabled=not boilerplate, remove_navigation=True, remove_forms=True
        ),
    )
    return _BLANK.sub("\n\n", convert(source, options).content or "").strip()
