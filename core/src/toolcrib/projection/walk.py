"""One rewriting of one schema: its state, its references and its root."""

from __future__ import annotations

import hashlib

from collections.abc import Callable, Mapping
from typing import Any

from .facts import ANNOTATIONS, Profile
from .inverse import Inverse, Step, prune
from .losses import Loss, Unfit
from .matching import disjoint
from .merging import Clash, merge
from .reading import Document, copied, modern
from .rewritten import Rewritten


__all__ = ["Node", "Walk", "property_key"]

Node = tuple[dict[str, Any], Step]

_DEEPEST = 120
_MOST_NODES = 20_000
_UNROLLED = 3


class Walk:
    """The state of one rewriting.

    ``visit`` rewrites one node; it is set by the engine that the profile chooses.
    """

    __slots__ = (
        "characters",
        "choices",
        "defs",
        "document",
        "enum_values",
        "inlining",
        "level",
        "losses",
        "nodes",
        "notes",
        "optional",
        "optional_above",
        "profile",
        "properties",
        "referred",
        "steps",
        "unions",
        "visit",
        "wrapper",
    )

    def __init__(
        self,
        schema: Mapping[str, Any],
        profile: Profile,
        visit: Callable[[Walk, Any, str], Node],
    ) -> None:
        self.profile = profile
        self.visit = visit
        self.document = Document(schema)
        self.losses: list[Loss] = []
        self.notes: list[str] = []
        self.wrapper: str | None = None
        self.referred = False
        self.defs: dict[str, dict[str, Any] | None] = {}
        self.steps: dict[str, Step] = {}
        self.choices: list[tuple[Mapping[str, Any], str]] = []
        self.inlining: list[str] = []
        self.optional_above: dict[str, int] = {"#": 0}
        self.level = self.nodes = 0
        self.properties = self.enum_values = self.characters = 0
        self.optional = self.unions = 0

    # -- small things that every rewriting needs -----------------------------------

    def lose(self, at: str, keyword: str, kind: Any, text: str = "") -> None:
        """Record what the sent schema does not carry."""
        self.losses.append(Loss(at, keyword, kind, text))

    def count(self, at: str) -> None:
        """Bound the size of what is walked; schemas of live sources are hostile."""
        self.nodes += 1
        if self.nodes > _MOST_NODES:
            raise Unfit(at, "$ref", f"the schema unfolds to more than {_MOST_NODES} nodes")
        if len(at) > _DEEPEST and at.count("/") > _DEEPEST:
            raise Unfit(at, "properties", "the schema is nested too deeply")

    def key(self, name: str) -> str:
        """Return the name under which a property is sent."""
        pattern = self.profile.key_pattern
        if pattern is None or pattern.fullmatch(name):
            return name
        sent = property_key(name, self.profile)
        note = f"{sent} stands for {name}."
        if note not in self.notes:
            self.notes.append(note)
        return sent

    def choice(self, wires: list[dict[str, Any]], steps: list[Step], at: str) -> Step:
        """Return the step of a union, to be checked when everything is known."""
        if all(step is None for step in steps):
            return None
        renames = _renames(wires, steps)
        if renames is not None:
            return {"fields": renames}
        step = {"union": [[w, s] for w, s in zip(wires, steps, strict=True)]}
        self.choices.append((step, at))
        return step

    # -- references ----------------------------------------------------------------

    def reference(self, node: dict[str, Any], at: str) -> Node:
        """Rewrite a node with ``$ref``: inline it or point to a definition."""
        pointer = self.document.pointer(node["$ref"], at)
        beside = {key: value for key, value in node.items() if key not in ("$ref", "$defs")}
        if self.document.ignores_siblings:
            beside = {key: value for key, value in beside.items() if key in ANNOTATIONS}
        cyclic = self.document.cyclic(pointer, at)
        if cyclic and self.profile.recursion == "unroll":
            return self._unrolled(pointer, beside, at)
        if cyclic and self.profile.recursion == "refuse":
            raise Unfit(at, "$ref", f"#{pointer} is recursive")
        defined = pointer == "" or pointer.startswith(("/$defs/", "/definitions/"))
        if cyclic and beside and (pointer in self.inlining or beside.keys() <= ANNOTATIONS):
            return self._beside(pointer, beside, at)
        if beside or not (cyclic or (defined and self.profile.refs != "inline")):
            return self.inline(pointer, beside, at)
        return self.definition(pointer, at)

    def inline(self, pointer: str, beside: Mapping[str, Any], at: str) -> Node:
        """Rewrite what a pointer names in the place of the reference."""
        if pointer in self.inlining:
            raise Unfit(at, "$ref", f"the reference to #{pointer} leads back to itself")
        target = self.document.resolve(pointer, at)
        if isinstance(target, bool):
            return self.visit(self, dict(beside) if target else target, at)
        self.inlining.append(pointer)
        try:
            whole = merge(modern(target, at), beside) if beside else target
            return self.visit(self, whole, at)
        except Clash as clash:
            text = f"what stands beside the reference to #{pointer} contradicts it"
            raise Unfit(at, clash.keyword, text) from None
        finally:
            self.inlining.pop()

    def definition(self, pointer: str, at: str) -> Node:
        """Point to a definition, rewriting it first where it is met first."""
        name = self.definition_name(pointer)
        if name == "#":
            self._check_recursion(name, pointer, at)
            sent = f"#/properties/{self.wrapper}" if self.wrapper else "#"
            return {"$ref": sent}, {"ref": "#"}
        if name not in self.defs:
            self._define(name, pointer, at)
        elif self.defs[name] is None:
            self._check_recursion(name, pointer, at)
        return {"$ref": f"#/$defs/{name}"}, {"ref": name}

    def _define(self, name: str, pointer: str, at: str) -> None:
        self.defs[name] = None
        self.optional_above[name] = 0
        before = dict(self.optional_above)
        # Limits count a definition on its own, and do not look through references.
        counted = (self.level, self.optional, self.unions, self.inlining)
        self.level, self.inlining = 0, []
        wire, step = self.visit(self, self.document.resolve(pointer, at), pointer)
        self.level, self.optional, self.unions, self.inlining = counted
        self.defs[name], self.steps[name] = wire, step
        self.optional_above = before

    def _check_recursion(self, name: str, pointer: str, at: str) -> None:
        if self.profile.recursion == "optional" and not self.optional_above.get(name):
            text = f"#{pointer} contains itself outside any property that may be left out"
            raise Unfit(at, "$ref", text)

    def _beside(self, pointer: str, beside: dict[str, Any], at: str) -> Node:
        """Give a reference its annotations through a union of one."""
        if not beside.keys() <= ANNOTATIONS:
            raise Unfit(at, "$ref", f"constraints stand beside the recursive #{pointer}")
        wire, step = self.definition(pointer, at)
        kept = {k: copied(v) for k, v in beside.items() if k in ("title", "description")}
        return {**kept, "anyOf": [wire]}, step

    def _unrolled(self, pointer: str, beside: dict[str, Any], at: str) -> Node:
        """Write out a recursive definition a few levels deep, then accept anything."""
        depth = self.inlining.count(pointer)
        target = self.document.resolve(pointer, at)
        if depth >= _UNROLLED or isinstance(target, bool):
            self.lose(at, "$ref", "widened", f"#{pointer} is written out {_UNROLLED} deep")
            return {}, None
        self.inlining.append(pointer)
        try:
            return self.visit(self, merge(modern(target, at), beside), at)
        except Clash as clash:
            raise Unfit(at, clash.keyword, "siblings contradict a reference") from None
        finally:
            self.inlining.pop()

    def definition_name(self, pointer: str) -> str:
        """Name the definition that a pointer is sent as."""
        if pointer == "":
            return "#"
        for prefix in ("/$defs/", "/definitions/"):
            name = pointer.removeprefix(prefix)
            if name != pointer and "/" not in name and "~" not in name:
                return name
        digest = hashlib.sha256(pointer.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{pointer.rpartition('/')[2].replace('~', '_')}_{digest[:6]}"

    # -- conjunctions --------------------------------------------------------------

    def conjunction(self, node: Mapping[str, Any], at: str) -> dict[str, Any]:
        """Merge ``allOf`` into its node.

        Raises:
            Clash: the members cannot be said as one schema.
        """
        merged = {key: value for key, value in node.items() if key != "allOf"}
        base: dict[str, Any] = {}
        for member in node["allOf"]:
            if member is False:
                raise Clash(keyword="allOf")
            if member is not True:
                base = merge(base, self.flat(member, at))
        return merge(base, merged)

    def flat(self, member: Any, at: str, depth: int = 0) -> dict[str, Any]:
        """Return one member of a combination with its references and ``allOf`` merged in.

        Raises:
            Clash: it cannot be said as one schema.
        """
        node = modern(member, at)
        if depth > 16:
            raise Clash(keyword="allOf")
        if "$ref" in node:
            pointer = self.document.pointer(node.pop("$ref"), at)
            if self.document.cyclic(pointer, at):
                raise Clash(keyword="$ref")
            target = self.document.resolve(pointer, at)
            if isinstance(target, bool):
                raise Clash(keyword="$ref")
            node = merge(self.flat(target, at, depth + 1), node)
        return self.conjunction(node, at) if "allOf" in node else node

    # -- the end -------------------------------------------------------------------

    def finish(self, wire: dict[str, Any], step: Step) -> Rewritten:
        """Put definitions and inverse together, and check what needs the whole."""
        if self.wrapper is not None:
            step = {"wrap": self.wrapper, "of": step}
        if self.defs:
            kept = wire.setdefault("$defs", {})
            kept.update(self.defs)
        inverse = None
        if step is not None or self.steps:
            inverse = self._inverse(wire, step)
        return Rewritten(
            schema=wire,
            inverse=inverse,
            losses=tuple(self.losses),
            notes=tuple(self.notes),
            strict=self.profile.strict,
            optional=self.optional,
            unions=self.unions,
        )

    def _inverse(self, wire: dict[str, Any], step: Step) -> Inverse | None:
        if not self.steps and not self.choices:
            # Without references and unions, every step that was made changes something.
            return None if step is None else Inverse(step, {}, wire)
        inner = step["of"] if step is not None and "wrap" in step else step
        identities = _identities({**self.steps, "#": inner})
        for choice, at in self.choices:
            pruned = prune(choice, identities)
            if pruned is not None and "union" in pruned:
                _check_apart(pruned["union"], wire, at)
        final = prune(step, identities)
        if final is None:
            return None
        used = {name: prune(each, identities) for name, each in self.steps.items()}
        return Inverse(final, {n: s for n, s in used.items() if s is not None}, wire)


def _check_apart(branches: list[list[Any]], wire: Mapping[str, Any], at: str) -> None:
    """Refuse a union whose branches need different undoing but look alike."""
    for i, (one, undo) in enumerate(branches):
        for other, differently in branches[i + 1 :]:
            if undo != differently and not disjoint(one, other, wire):
                text = "after rewriting, the branches cannot be told apart"
                raise Unfit(at, "anyOf", text)


def _renames(wires: list[dict[str, Any]], steps: list[Step]) -> dict[str, Any] | None:
    """Return one table for all branches where they only rename, and never differently.

    A sent name carries a hash of the declared one, so it is nobody else's.
    """
    merged: dict[str, Any] = {}
    for step in steps:
        if step is None:
            continue
        if step.keys() != {"fields"} or any(drops for _, drops, _ in step["fields"].values()):
            return None
        for sent, entry in step["fields"].items():
            if merged.setdefault(sent, entry) != entry:
                return None
    for wire, step in zip(wires, steps, strict=True):
        known = step["fields"] if step is not None else {}
        for sent in wire.get("properties") or ():
            if sent in merged and sent not in known:
                return None
    return merged


def _identities(steps: Mapping[str, Step]) -> frozenset[str]:
    """Find the definitions that change nothing, recursive ones included."""
    found = frozenset(steps)
    while True:
        kept = frozenset(name for name in found if prune(steps[name], found) is None)
        if kept == found:
            return found
        found = kept


def property_key(name: str, profile: Profile) -> str:
    """Clean a property name: other characters become ``_``, then six digits of a hash.

    The result looks at the name alone, so it never changes when other names do.
    """
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    extra = ""
    pattern = profile.key_pattern
    if pattern is not None:
        extra = "".join(c for c in ".-" if pattern.fullmatch(f"a{c}a"))
    clean = "".join(
        c if (c.isascii() and c.isalnum()) or c == "_" or c in extra else "_" for c in name
    )
    if profile.key_start is not None and not profile.key_start.match(clean):
        clean = "p_" + clean
    return f"{clean[: 64 - 7]}_{digest}"
