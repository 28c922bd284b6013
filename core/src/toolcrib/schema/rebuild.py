"""Build a schema anew, keyword by keyword, from a closed list.

Nothing of the authored object survives but what a function below has copied. What is not
in the list is left out and recorded, or refused if it nearly says a keyword.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolcrib.errors import SchemaError

from . import keywords, values
from .failures import UnresolvedError
from .normal import Change
from .pointers import escape, unescape


if TYPE_CHECKING:
    from .references import Place, Resources


__all__ = ["At", "Handler", "Node", "Rebuild", "registering"]

MOST_NODES = 5_000
# In characters: weighing a pattern is by far the dearest thing that a schema can ask for.
COST_OF_PATTERN = 6_000
DEEPEST = 64
LONGEST_POINTER = 300

Handler = Callable[["Rebuild", "Node"], None]


class At:
    """Where the walk stands: pointer, base URI and depth."""

    __slots__ = ("base", "depth", "pointer")

    def __init__(self, pointer: str, base: str, depth: int) -> None:
        self.pointer = pointer
        self.base = base
        self.depth = depth

    def down(self, *steps: str) -> At:
        """Return the place some steps further down."""
        return At("/".join((self.pointer, *steps)), self.base, self.depth + 1)


class Node:
    """One keyword on its way: its schema as authored, what is built, key and value."""

    __slots__ = ("at", "key", "out", "raw", "value")

    def __init__(
        self, raw: Mapping[str, Any], out: dict[str, Any], key: str, value: Any, at: At
    ) -> None:
        self.raw = raw
        self.out = out
        self.key = key
        self.value = value
        self.at = at

    @property
    def pointer(self) -> str:
        """JSON pointer of the keyword."""
        return f"{self.at.pointer}/{escape(self.key)}"


class Rebuild:
    """One walk over one document.

    Args:
        root: The document.
        draft: The declared draft, or None where a keyword of any draft counts.
        handlers: The function for each keyword of the closed list.

    Attributes:
        needs: Keywords that only ``jsonschema-rs`` can enforce, with their pointers.
        outside: Keywords that no normal form can hold, as errors.
        defaults: Subschemas with a default, and its pointer.
    """

    def __init__(
        self, *, root: Any, draft: str | None, handlers: Mapping[str, Handler]
    ) -> None:
        self.root = root
        self.draft = draft
        self.handlers = handlers
        self.losses: list[Change] = []
        self.repairs: list[Change] = []
        self.needs: list[tuple[str, str]] = []
        self.outside: list[SchemaError] = []
        self.defaults: list[tuple[dict[str, Any], str]] = []
        self.budget = values.Budget()
        self._definitions: dict[str, dict[str, Any]] = {}
        self._names: dict[str, str] = {}
        self._waiting: list[tuple[str, Place]] = []
        self._resources: Resources | None = None
        self._weights: dict[str, int | None] = {}
        self._nodes = 0

    def run(self) -> dict[str, Any]:
        """Build the whole document."""
        base = "" if not _has_identifier(self.root) else self.resources.enter(self.root, "")
        schema = self.node(self.root, At("", base, 0))
        while self._waiting:
            name, place = self._waiting.pop(0)
            self._definitions[name] = self.node(place.schema, At(place.pointer, place.base, 0))
        if self._definitions:
            schema["$defs"] = self._definitions
        return schema

    @property
    def resources(self) -> Resources:
        """The identifiers of the document, collected when first needed."""
        if self._resources is None:
            from .references import Resources  # noqa: PLC0415 - only for references

            self._resources = Resources(self.root, self.draft)
        return self._resources

    def node(self, raw: Any, at: At) -> dict[str, Any]:
        """Build one subschema."""
        self._nodes += 1
        if self._nodes > MOST_NODES or at.depth > DEEPEST:
            limit = f"{MOST_NODES} subschemas" if at.depth <= DEEPEST else f"{DEEPEST} levels"
            text = f"The schema has more than {limit}"
            pointer = at.pointer[:LONGEST_POINTER]
            raise SchemaError(text, keyword="schema", pointer=pointer)
        if isinstance(raw, bool):
            return {} if raw else {"not": {}}
        if not isinstance(raw, Mapping):
            text = f"A schema must be an object or a boolean, not {values.describe(raw)}"
            pointer = at.pointer[:LONGEST_POINTER]
            raise SchemaError(text, keyword=_last(pointer), pointer=pointer)
        if at.pointer and _has_identifier(raw):
            at = At(at.pointer, self.resources.enter(raw, at.base), at.depth)
        out: dict[str, Any] = {}
        only = self._beside_reference(raw, at)
        for key, value in raw.items():
            if only is not None and key not in only:
                continue
            handler = self.handlers.get(key)
            node = Node(raw, out, key, value, at)
            if handler is None:
                self._unknown(node)
            elif self._speaks(key):
                handler(self, node)
            else:
                self.lose(node, f"ignored: draft {self.draft} does not have it")
        return out

    def refer(self, node: Node, place: Place) -> None:
        """Point to a definition that will be built from a place."""
        name = self._names.get(place.pointer)
        if name is None:
            name = self._name(place.pointer)
            self._names[place.pointer] = name
            self._definitions[name] = {}
            self._waiting.append((name, place))
        node.out["$ref"] = f"#/$defs/{escape(name)}"

    def error(self, node: Node, text: str) -> SchemaError:
        """Make an error about a keyword."""
        return SchemaError(text, keyword=node.key[:100], pointer=node.pointer[:LONGEST_POINTER])

    def lose(self, node: Node, text: str) -> None:
        """Record something left out."""
        self.losses.append(Change(node.key, node.pointer, text))

    def repair(self, node: Node, text: str) -> None:
        """Record a slip that was read in its only meaning."""
        self.repairs.append(Change(node.key, node.pointer, text))

    def need(self, node: Node) -> None:
        """Record a keyword that only ``jsonschema-rs`` can enforce."""
        self.needs.append((node.key, node.pointer))

    def weigh(self, pattern: str) -> int | None:
        """Read a pattern and return the longest text on which it is tried."""
        if pattern not in self._weights:
            from . import patterns  # noqa: PLC0415 - only schemas with patterns pay

            self.budget.spend(COST_OF_PATTERN)
            self._weights[pattern] = patterns.read(pattern).limit
        return self._weights[pattern]

    def _speaks(self, key: str) -> bool:
        since = keywords.SINCE.get(key)
        if since is None or self.draft is None:
            return True
        if key == "$recursiveRef":
            return self.draft == "2019-09"
        return keywords.DRAFTS.index(self.draft) >= keywords.DRAFTS.index(since)

    def _beside_reference(self, raw: Mapping[str, Any], at: At) -> frozenset[str] | None:
        """Return the keys that count in a draft that ignores what stands beside ``$ref``."""
        if self.draft not in ("4", "6", "7") or not isinstance(raw.get("$ref"), str):
            return None
        kept = frozenset({"$ref", "default", "examples", *keywords.ANNOTATIONS})
        for key in raw:
            if key in keywords.ASSERTIONS:
                text = f"ignored: draft {self.draft} ignores what stands beside $ref"
                self.losses.append(Change(key, f"{at.pointer}/{escape(key)}", text))
        return kept

    def _unknown(self, node: Node) -> None:
        key = node.key
        if not isinstance(key, str):
            text = "A key is not text"
            raise SchemaError(
                text, keyword=str(key)[:100], pointer=node.at.pointer[:LONGEST_POINTER]
            )
        if key in keywords.BENIGN or key.startswith(("x-", "$$")):
            return
        import difflib  # noqa: PLC0415 - rare

        folded = {name.casefold(): name for name in keywords.ASSERTIONS}
        wanted = key.replace("_", "").replace("-", "").casefold()
        close = difflib.get_close_matches(wanted[:64], folded, n=1, cutoff=0.85)
        if close and not self._speaks_otherwise(key):
            text = f"Unknown keyword; it nearly says {folded[close[0]]!r}"
            raise self.error(node, text)
        self.lose(node, "left out: not a keyword")

    def _speaks_otherwise(self, key: str) -> bool:
        return self.draft is not None and key in keywords.SINCE

    def _name(self, pointer: str) -> str:
        """Choose the name of a definition: its own, if it is plain and free."""
        last = _last(pointer) or "root"
        plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in last)
        name = base = plain[:64]
        number = 2
        taken = set(self._names.values())
        while name in taken:
            name = f"{base}_{number}"
            number += 1
        return name

    def resolve(self, node: Node) -> Place | None:
        """Resolve a reference; None if it leaves what a normal form can hold."""
        if not isinstance(node.value, str):
            raise self.error(node, "A reference must be text")
        try:
            return self.resources.resolve(node.value, node.at.base)
        except UnresolvedError as error:
            self.outside.append(self.error(node, f"{node.value[:100]!r} {error}"))
            return None


def registering(table: dict[str, Handler]) -> Callable[..., Callable[[Handler], Handler]]:
    """Make the decorator that enters a function in a table, under some keywords."""

    def keyword(*names: str) -> Callable[[Handler], Handler]:
        def register(function: Handler) -> Handler:
            table.update(dict.fromkeys(names, function))
            return function

        return register

    return keyword


def _has_identifier(raw: Any) -> bool:
    return isinstance(raw, Mapping) and ("$id" in raw or "id" in raw)


def _last(pointer: str) -> str:
    return unescape(pointer.rpartition("/")[2])
