"""Write ``reference/losses.md``, or check that it is current: what each dialect is told.

``python docs/losses.py`` writes it, ``--check`` leaves with 1 if it is not current. Nothing
in it is written by hand: for each row one schema is projected, and the result looked at.
"""

from __future__ import annotations

import json
import sys

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolcrib.projection import Dialect, dialect, project
from toolcrib.tool import Description, Tool
from toolcrib_dialects import DIALECTS


PAGE = Path(__file__).parent / "reference" / "losses.md"
NOTE = "<!-- Written by docs/losses.py; change the code instead. -->\n\n"
LEAD = (
    "For each keyword one schema was projected, and the result looked at. Whatever a "
    "dialect is told, arguments are checked against the tool's own schema."
)
TEXT: dict[str, Any] = {"type": "string"}
CORE = ("openai", "openai-responses", "anthropic", "mcp")

# What a row is called → the schema of the one property, and the keyword that is looked at.
ROWS: Mapping[str, tuple[Any, str]] = {
    "`minimum` `maximum`": ({"type": "integer", "minimum": 1}, "minimum"),
    "`exclusiveMinimum`": ({"type": "integer", "exclusiveMinimum": 0}, "exclusiveMinimum"),
    "`multipleOf`": ({"type": "integer", "multipleOf": 2}, "multipleOf"),
    "`minLength` `maxLength`": ({**TEXT, "minLength": 1}, "minLength"),
    "`pattern`": ({**TEXT, "pattern": "^[a-z]+$"}, "pattern"),
    "`pattern` with look-around": ({**TEXT, "pattern": "^(?=a)"}, "pattern"),
    "`format`: `date-time`": ({**TEXT, "format": "date-time"}, "format"),
    "`format`: one of your own": ({**TEXT, "format": "ticket"}, "format"),
    "`default`": ({**TEXT, "default": "a"}, "default"),
    "`enum` of strings": ({**TEXT, "enum": ["a", "b"]}, "enum"),
    "`enum` of several types": ({"enum": ["a", 1, True]}, "enum"),
    "`const`": ({"const": 3}, "const"),
    "`minItems` `maxItems`": ({"type": "array", "items": TEXT, "maxItems": 3}, "maxItems"),
    "`uniqueItems`": ({"type": "array", "items": TEXT, "uniqueItems": True}, "uniqueItems"),
    "`contains`": ({"type": "array", "items": TEXT, "contains": TEXT}, "contains"),
    "a tuple (`prefixItems`)": (
        {
            "type": "array",
            "prefixItems": [TEXT, {"type": "integer"}],
            "items": False,
            "minItems": 2,
        },
        "prefixItems",
    ),
    "a map (`additionalProperties`)": (
        {"type": "object", "additionalProperties": TEXT},
        "additionalProperties",
    ),
    "`patternProperties`": (
        {
            "type": "object",
            "patternProperties": {"^x-": TEXT},
            "additionalProperties": False,
        },
        "patternProperties",
    ),
    "an open object": ({"type": "object"}, "additionalProperties"),
    "`dependentRequired`": (
        {
            "type": "object",
            "properties": {"a": TEXT, "b": TEXT},
            "additionalProperties": False,
            "dependentRequired": {"a": ["b"]},
        },
        "dependentRequired",
    ),
    "`anyOf`": ({"anyOf": [TEXT, {"type": "integer"}]}, "anyOf"),
    "`oneOf`": ({"oneOf": [TEXT, {"type": "integer"}]}, "oneOf"),
    "`allOf`": ({"allOf": [TEXT, {"enum": ["a", "b"]}]}, "allOf"),
    "`not`": ({**TEXT, "not": {"const": "x"}}, "not"),
    "`if` `then` `else`": (
        {
            "type": "object",
            "properties": {"a": TEXT},
            "additionalProperties": False,
            "if": {"properties": {"a": {"const": "x"}}},
            "then": {"required": ["a"]},
        },
        "if",
    ),
    "`$ref`": ({"$ref": "#/$defs/T"}, "$ref"),
    "a recursive `$ref`": ({"$ref": "#/$defs/N"}, "$ref"),
    "a null of its own": ({"type": ["string", "null"]}, "type"),
    "a property that may be left out": ("optional", "required"),
    "no type at all": ({"description": "Anything."}, "type"),
}
DEFS: dict[str, Any] = {
    "T": {"type": "string", "enum": ["a", "b"]},
    "N": {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/N"}},
        "additionalProperties": False,
    },
}


def tool(sub: Any) -> Tool:
    """Return a tool with the property that a row is about."""
    optional = sub == "optional"
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"p": TEXT if optional else sub},
        "required": [] if optional else ["p"],
        "additionalProperties": False,
    }
    reference = sub.get("$ref") if isinstance(sub, dict) else None
    if reference:
        schema["$defs"] = {reference[-1]: DEFS[reference[-1]]}
    return Tool(id="demo.tool", title="", description=Description("Demo."), input_schema=schema)


def cell(spoken: Dialect, sub: Any, *, strict: bool) -> str:
    """Say what becomes of a row's keyword in one dialect."""
    projected = project((tool(sub),), spoken, strict=strict)
    if projected.refusals:
        return "refused"
    (entry,) = projected.entries
    sent = json.dumps(entry.declaration)
    losses = [loss for loss in entry.losses if loss.keyword != "strict"]
    if strict and not entry.strict:
        return "lax"
    kinds = dict.fromkeys(loss.kind for loss in losses if loss.kind != "lax")
    if kinds:
        return ", ".join(kinds)
    if entry.inverse is not None:
        return "rewritten"
    # What only advises, such as a default, is said in words without being a loss.
    words = isinstance(sub, dict) and "default" in sub and "(default=" in sent
    return "folded" if words else "told"


def columns() -> dict[str, list[str]]:
    """Return each form's cells; forms with the same cells share a column."""
    found: dict[tuple[str, ...], list[str]] = {}
    spoken = {name: dialect(name) for name in CORE} | dict(sorted(DIALECTS.items()))
    for name, each in spoken.items():
        for strict in (False, True) if each.strict is not None else (False,):
            cells = tuple(cell(each, sub, strict=strict) for sub, _ in ROWS.values())
            found.setdefault(cells, []).append(f"{name} strict" if strict else name)
    return {", ".join(names): list(cells) for cells, names in found.items()}


def page() -> str:
    """Return the page."""
    found = columns()
    letters = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", found, strict=False))
    lines = [
        "# What each dialect is told",
        "",
        LEAD,
        "",
        "| word | |",
        "|---|---|",
        "| told | the schema that is sent says it |",
        "| rewritten | it is said in another shape, and a recorded inverse leads back |",
        "| folded | it is said in the description, in words |",
        "| dropped, widened | the model is not told, or is told something looser |",
        "| closed | further properties are shut out where the tool's schema says nothing |",
        "| lax | strict cannot say it, so this tool is sent without strict |",
        "| refused | no form of the dialect can say it: the tool is not shown |",
        "",
        "| column | forms |",
        "|---|---|",
        *(f"| {letter} | {names} |" for letter, names in letters.items()),
        "",
        f"| | {' | '.join(letters)} |",
        f"|---|{'---|' * len(letters)}",
    ]
    for number, row in enumerate(ROWS):
        cells = " | ".join(found[names][number] for names in letters.values())
        lines.append(f"| {row} | {cells} |")
    return NOTE + "\n".join(lines) + "\n"


def main() -> int:
    """Write the page, or check it."""
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PAGE} is not current: python docs/losses.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
