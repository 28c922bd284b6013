"""A part of a page as text to read: Markdown, or the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .marks import cleaned, plain
from .tabs import Tab


if TYPE_CHECKING:
    from playwright.async_api import ElementHandle


__all__ = ["markdown_of", "rows_of", "table_text"]

_LARGEST = 4_000_000
_CELL = 2000
#: What a reader sees of an element, as HTML: no code, nothing hidden, no values.
_VISIBLE = """root => {
  const start = root || document.body;
  if (!start) return '';
  const drop = new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'IFRAME', 'OBJECT', 'SVG',
    'TEXTAREA']);
  const copy = node => {
    if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.data);
    if (node.nodeType !== Node.ELEMENT_NODE) return null;
    if (drop.has(node.tagName.toUpperCase())) return null;
    const style = getComputedStyle(node);
    if (style.display === 'none' || style.visibility === 'hidden') return null;
    const made = document.createElement(node.tagName);
    for (const name of ['alt', 'start', 'colspan', 'rowspan'])
      if (node.hasAttribute(name)) made.setAttribute(name, node.getAttribute(name));
    if (node.tagName === 'A' && /^https?:/.test(node.href))
      made.setAttribute('href', node.href);
    const inner = node.shadowRoot ? node.shadowRoot.childNodes
      : node.tagName === 'SLOT' ? node.assignedNodes() : node.childNodes;
    for (const child of inner) { const c = copy(child); if (c) made.appendChild(c); }
    return made;
  };
  const made = copy(start);
  return made ? made.outerHTML : '';
}"""
#: A table's cells, those that span several in each of their places.
_ROWS = """root => {
  const start = root || document;
  const table = start.tagName === 'TABLE' ? start
    : start.querySelector('table') || (start.closest && start.closest('table'));
  const text = cell => (cell.innerText || '').replace(/\\s+/g, ' ').trim().slice(0, 2000);
  if (!table) {
    const grid = start.matches && start.matches('[role=table], [role=grid]') ? start
      : start.querySelector('[role=table], [role=grid]');
    if (!grid) return null;
    return [...grid.querySelectorAll('[role=row]')].slice(0, 20000).map(row =>
      [...row.querySelectorAll('[role=cell], [role=gridcell], [role=columnheader],'
        + '[role=rowheader]')].map(text));
  }
  const rows = [];
  [...table.rows].slice(0, 20000).forEach((row, y) => {
    rows[y] = rows[y] || [];
    let x = 0;
    for (const cell of row.cells) {
      while (rows[y][x] !== undefined) x++;
      const tall = Math.min(cell.rowSpan || 1, 1000), wide = Math.min(cell.colSpan || 1, 100);
      for (let dy = 0; dy < tall && y + dy < table.rows.length; dy++)
        for (let dx = 0; dx < wide; dx++) {
          rows[y + dy] = rows[y + dy] || [];
          rows[y + dy][x + dx] = text(cell);
        }
      x += wide;
    }
  });
  return rows.map(row => Array.from(row, cell => cell === undefined ? '' : cell));
}"""


async def markdown_of(tab: Tab, handle: ElementHandle | None) -> str:
    """Return what a reader sees of an element, or of a page, as Markdown."""
    import asyncio

    if handle is None:
        source: Any = await tab.ask(tab.page.evaluate(_VISIBLE))
    else:
        source = await tab.ask(handle.evaluate(_VISIBLE))
    return await asyncio.to_thread(_converted, str(source)[:_LARGEST])


def _converted(source: str) -> str:
    from html_to_markdown import ConversionOptions, convert

    options = ConversionOptions(
        extract_metadata=False,
        bullets="-",
        list_indent_width=2,
        compact_tables=True,
        br_in_tables=False,
        autolinks=False,
    )
    text = convert(source, options).content or ""
    return "\n".join(plain(line.rstrip()) for line in text.strip().splitlines())


async def rows_of(tab: Tab, handle: ElementHandle | None) -> list[tuple[str, ...]] | None:
    """Return the rows of the table that an element is, holds, or is in; None: there is none."""
    if handle is None:
        found: Any = await tab.ask(tab.page.evaluate(_ROWS))
    else:
        found = await tab.ask(handle.evaluate(_ROWS))
    if found is None:
        return None
    return [tuple(cleaned(str(cell), _CELL) for cell in row) for row in found]


def table_text(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a Markdown table; the first one is its head."""
    if not rows:
        return ""
    width = max(len(row) for row in rows)
    lines = [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in _filled(row, width)) + " |"
        for row in rows
    ]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


def _filled(row: Sequence[str], width: int) -> list[str]:
    return [*row, *[""] * (width - len(row))]
