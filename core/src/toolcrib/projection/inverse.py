"""The recorded way back from what a model was shown to what its tool declares.

An inverse is data, so that it can be kept with a pending call and read in another
process: a tree of steps that is walked together with the value.

========== ======================================= =================================
step        sent                                    declared
========== ======================================= =================================
``fields``  an object, names cleaned, null for      the object, names as declared,
            what is left out                        nulls of ours taken away
``items``   a list                                  the same list, each item undone
``prefix``  a tuple as a list                       the same list, each item undone
``pairs``   a list of ``{"key": …, "value": …}``    a map
``tuple``   an object ``item_0 … item_n``           a list
``union``   one of several forms                    what the form that fits undoes
``wrap``    an object with one property             that property's value
``ref``     what a definition says                  what the definition undoes
========== ======================================= =================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import attrs

from .matching import fits
from .reading import escape


__all__ = ["Inverse", "Step", "prune"]

# A step is a JSON-safe mapping with one of the keys above; None changes nothing.
Step = Mapping[str, Any] | None

_KINDS = ("fields", "items", "pairs", "union", "wrap", "ref", "tuple", "prefix")


@attrs.frozen(eq=False, slots=False)
class Inverse:
    """Undo what a projection did to a tool's arguments.

    Attributes:
        step: What to undo at the root.
        definitions: What to undo where a definition is used.
        schema: The sent schema, by which the branches of a union are told apart.
    """

    step: Mapping[str, Any]
    definitions: Mapping[str, Step] = attrs.field(factory=dict)
    schema: Mapping[str, Any] = attrs.field(factory=dict, repr=False)

    def __call__(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as the tool declares them.

        Raises:
            ValueError: with a sentence for the model, in terms of what it was shown.
        """
        try:
            value = self._undo(self.step, arguments, "")
        except RecursionError:
            _refuse("the arguments are nested too deeply")
        if not isinstance(value, Mapping):
            _refuse(f"expected an object, got {_kind(value)}")
        return dict(value)

    def encode(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return declared arguments as a model would send them: the other way round.

        Raises:
            ValueError: no branch of a union fits.
        """
        value = self._do(self.step, arguments)
        if not isinstance(value, dict):
            _refuse(f"expected an object, got {_kind(value)}")
        return value

    def wire_pointer(self, pointer: str, sent: Mapping[str, Any] | None = None) -> str:
        """Return where a model finds what a pointer into the declared arguments means.

        A model knows the arguments as it sent them: an error at ``/labels/a`` of a map
        is told to it as ``/labels/0/value``.

        Args:
            pointer: JSON pointer into the declared arguments.
            sent: The arguments as they were sent; without them a pointer into a map
                ends at the map, for its place in the list is not known.
        """
        step: Step = self.step
        value: Any = sent
        out = ""
        tokens = pointer.split("/")[1:]
        while True:
            step, out, value = self._opened(step, out, value)
            if step is None or not tokens:
                return "/".join([out, *tokens]) if tokens else out
            found = _entered(step, tokens.pop(0), value)
            if found is None:
                return out
            more, step, value = found
            out += more

    def _opened(self, step: Step, at: str, value: Any) -> tuple[Step, str, Any]:
        """Go through wrappers, references and unions, down to a step of a container."""
        for _ in range(64):
            if step is None:
                break
            if "wrap" in step:
                at += f"/{step['wrap']}"
                value = value.get(step["wrap"]) if isinstance(value, Mapping) else None
                step = step["of"]
            elif "ref" in step:
                step = self._referred(step)
            elif "union" in step:
                fitting = (s for w, s in step["union"] if fits(w, value, self.schema))
                step = next(fitting, None)
            else:
                break
        return step, at, value

    def to_json(self) -> dict[str, Any]:
        """Return the inverse as a JSON-safe value."""
        return {
            "step": self.step,
            "definitions": dict(self.definitions),
            "schema": self.schema,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Inverse:
        """Read what :meth:`to_json` returned."""
        return cls(value["step"], value["definitions"], value["schema"])

    # -- from sent to declared -----------------------------------------------------

    def _undo(self, step: Step, value: Any, at: str) -> Any:
        if step is None:
            return value
        for kind in _KINDS:
            if kind in step:
                return getattr(self, f"_undo_{kind}")(step, value, at)
        return _refuse(f"an inverse has no step {sorted(step)}")

    def _undo_fields(self, step: Mapping[str, Any], value: Any, at: str) -> Any:
        if not isinstance(value, Mapping):
            return value
        fields = step["fields"]
        rest = step.get("rest")
        out: dict[str, Any] = {}
        for sent, sub in value.items():
            name, drops, inner = fields.get(sent, (sent, False, rest))
            if drops and sub is None:
                continue
            if name in out:
                _refuse(f"{at or '/'}: {sent!r} and {name!r} are the same property; give one")
            out[name] = sub if inner is None else self._undo(inner, sub, f"{at}/{escape(sent)}")
        return out

    def _undo_items(self, step: Mapping[str, Any], value: Any, at: str) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return [self._undo(step["items"], each, f"{at}/{i}") for i, each in enumerate(value)]

    def _undo_prefix(self, step: Mapping[str, Any], value: Any, at: str) -> Any:
        if not isinstance(value, list | tuple):
            return value
        prefix, rest = step["prefix"], step.get("rest")
        return [
            self._undo(prefix[i] if i < len(prefix) else rest, each, f"{at}/{i}")
            for i, each in enumerate(value)
        ]

    def _undo_pairs(self, step: Mapping[str, Any], value: Any, at: str) -> Any:
        if not isinstance(value, list | tuple):
            _refuse(f"{at or '/'}: expected a list of key/value pairs, got {_kind(value)}")
        out: dict[str, Any] = {}
        for i, pair in enumerate(value):
            where = f"{at}/{i}"
            if not isinstance(pair, Mapping) or pair.keys() != {"key", "value"}:
                _refuse(f'{where}: expected {{"key": …, "value": …}}, got {_kind(pair)}')
            key = pair["key"]
            if not isinstance(key, str):
                _refuse(f"{where}/key: expected text, got {_kind(key)}")
            if key in out:
                _refuse(f"{where}/key: duplicate key {key!r} in {at.rpartition('/')[2] or '/'}")
            out[key] = self._undo(step["pairs"], pair["value"], f"{where}/value")
        return out

    def _undo_tuple(self, step: Mapping[str, Any], value: Any, at: str) -> Any:
        inner = step["tuple"]
        names = [f"item_{i}" for i in range(len(inner))]
        if not isinstance(value, Mapping) or sorted(value) != sorted(names):
            _refuse(f"{at or '/'}: expected an object with {', '.join(names)}")
        return [
            self._undo(each, value[name], f"{at}/{name}")
            for name, each in zip(names, inner, strict=True)
        ]

    def _undo_union(self, step: Mapping[str, Any], value: Any, at: str) -> Any:
        for schema, inner in step["union"]:
            if fits(schema, value, self.schema):
                return self._undo(inner, value, at)
        # Nothing fits: the tool's own validator says what is wrong.
        return value

    def _undo_wrap(self, step: Mapping[str, Any], value: Any, at: str) -> Any:
        name = step["wrap"]
        if not isinstance(value, Mapping) or name not in value:
            _refuse(f"{at or '/'}: expected an object with {name!r}")
        if len(value) > 1:
            extra = sorted(key for key in value if key != name)
            _refuse(f"{at or '/'}: unknown property {extra[0]!r}; give everything in {name!r}")
        return self._undo(step["of"], value[name], f"{at}/{name}")

    def _undo_ref(self, step: Mapping[str, Any], value: Any, at: str) -> Any:
        return self._undo(self._referred(step), value, at)

    def _referred(self, step: Mapping[str, Any]) -> Step:
        name = step["ref"]
        if name == "#":
            return self.step.get("of") if "wrap" in self.step else self.step
        return self.definitions.get(name)

    # -- from declared to sent -----------------------------------------------------

    def _do(self, step: Step, value: Any) -> Any:
        if step is None:
            return value
        for kind in _KINDS:
            if kind in step:
                return getattr(self, f"_do_{kind}")(step, value)
        return _refuse(f"an inverse has no step {sorted(step)}")

    def _do_fields(self, step: Mapping[str, Any], value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        by_name = {name: (sent, inner) for sent, (name, _, inner) in step["fields"].items()}
        rest = step.get("rest")
        out = {}
        for name, sub in value.items():
            sent, inner = by_name.get(name, (name, rest))
            out[sent] = self._do(inner, sub)
        for sent, (_, drops, _) in step["fields"].items():
            if drops:
                out.setdefault(sent, None)
        return out

    def _do_items(self, step: Mapping[str, Any], value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return [self._do(step["items"], each) for each in value]

    def _do_prefix(self, step: Mapping[str, Any], value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        prefix, rest = step["prefix"], step.get("rest")
        return [
            self._do(prefix[i] if i < len(prefix) else rest, each)
            for i, each in enumerate(value)
        ]

    def _do_pairs(self, step: Mapping[str, Any], value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return [{"key": k, "value": self._do(step["pairs"], v)} for k, v in value.items()]

    def _do_tuple(self, step: Mapping[str, Any], value: Any) -> Any:
        if not isinstance(value, list | tuple) or len(value) != len(step["tuple"]):
            return value
        return {
            f"item_{i}": self._do(inner, each)
            for i, (inner, each) in enumerate(zip(step["tuple"], value, strict=True))
        }

    def _do_union(self, step: Mapping[str, Any], value: Any) -> Any:
        for schema, inner in step["union"]:
            try:
                sent = self._do(inner, value)
            except ValueError:
                continue  # Deeper down, the value is of no branch: not of this one either.
            if fits(schema, sent, self.schema):
                return sent
        return _refuse("no branch of the union fits")

    def _do_wrap(self, step: Mapping[str, Any], value: Any) -> Any:
        return {step["wrap"]: self._do(step["of"], value)}

    def _do_ref(self, step: Mapping[str, Any], value: Any) -> Any:
        return self._do(self._referred(step), value)


def _entered(step: Mapping[str, Any], token: str, value: Any) -> tuple[str, Step, Any] | None:
    """Go one token of a declared pointer down a sent value; None: it is not there."""
    name = token.replace("~1", "/").replace("~0", "~")
    if "pairs" in step:
        for i, pair in enumerate(value if isinstance(value, list | tuple) else ()):
            if isinstance(pair, Mapping) and pair.get("key") == name:
                return f"/{i}/value", step["pairs"], pair.get("value")
        return None
    if "fields" in step:
        sent, inner = name, step.get("rest")
        for key, (declared, _, below) in step["fields"].items():
            if declared == name:
                sent, inner = key, below
        found = value.get(sent) if isinstance(value, Mapping) else None
        return f"/{escape(sent)}", inner, found
    number = int(token) if token.isdecimal() else 0
    if "tuple" in step:
        inner = step["tuple"][number] if number < len(step["tuple"]) else None
        found = value.get(f"item_{token}") if isinstance(value, Mapping) else None
        return f"/item_{token}", inner, found
    prefix = step.get("prefix", ())
    inner = prefix[number] if number < len(prefix) else step.get("items", step.get("rest"))
    listed = isinstance(value, list | tuple) and number < len(value)
    return f"/{token}", inner, value[number] if listed else None


def _refuse(text: str) -> NoReturn:
    """Say that arguments cannot be undone; a wrong type is a wrong value here."""
    raise ValueError(text)


def prune(step: Step, identities: frozenset[str]) -> Step:
    """Take out of a step what changes nothing; None when nothing is left."""
    if step is None:
        return None
    if "ref" in step:
        return None if step["ref"] in identities else step
    if "items" in step:
        inner = prune(step["items"], identities)
        return None if inner is None else {"items": inner}
    if "union" in step:
        return _prune_union(step, identities)
    if "fields" in step:
        return _prune_fields(step, identities)
    if "prefix" in step:
        inner_steps = [prune(each, identities) for each in step["prefix"]]
        rest = prune(step.get("rest"), identities)
        if rest is None and all(each is None for each in inner_steps):
            return None
        return {"prefix": inner_steps, "rest": rest}
    if "pairs" in step:
        return {"pairs": prune(step["pairs"], identities)}
    if "tuple" in step:
        return {"tuple": [prune(each, identities) for each in step["tuple"]]}
    return {"wrap": step["wrap"], "of": prune(step["of"], identities)}


def _prune_union(step: Mapping[str, Any], identities: frozenset[str]) -> Step:
    branches = [[schema, prune(inner, identities)] for schema, inner in step["union"]]
    first = branches[0][1]
    if all(inner == first for _, inner in branches):
        pruned: Step = first
        return pruned
    return {"union": branches}


def _prune_fields(step: Mapping[str, Any], identities: frozenset[str]) -> Step:
    fields = {}
    rest = prune(step.get("rest"), identities)
    for sent, (name, drops, whole) in step["fields"].items():
        inner = prune(whole, identities)
        # Beside a rest, an entry that changes nothing says that the rest does not either.
        if rest is not None or inner is not None or drops or name != sent:
            fields[sent] = [name, drops, inner]
    if not fields and rest is None:
        return None
    return {"fields": fields, "rest": rest} if rest is not None else {"fields": fields}


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str):
        return "text"
    return "a boolean" if isinstance(value, bool) else "a number"
