"""What can be done with a page: the grammar of ``browser.interact``."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

from toolcrib import Between, Invalid, Length, Pattern


__all__ = [
    "Action",
    "Check",
    "Click",
    "Drag",
    "Field",
    "Fill",
    "Hover",
    "Press",
    "Ref",
    "Scroll",
    "Select",
    "Type",
    "Upload",
    "check_action",
    "refs_of",
    "told",
    "word_of",
]

Ref = Annotated[str, Pattern(r"^[a-z][a-z0-9]{1,63}$")]
Modifier = Literal["Alt", "Control", "Meta", "Shift"]
_KEYS = frozenset({
    *("Enter", "Tab", "Escape", "Backspace", "Delete", "Insert", "Space", "Home", "End"),
    *("PageUp", "PageDown", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"),
    *(f"F{n}" for n in range(1, 13)),
})  # fmt: skip
_MODIFIERS = frozenset({"Alt", "Control", "Meta", "Shift", "ControlOrMeta"})
_LONGEST_VALUE = 16 * 1024


@attrs.frozen(kw_only=True)
class Click:
    """Click an element."""

    kind: Literal["click"]
    ref: Ref
    button: Literal["left", "right", "middle"] = "left"
    count: Annotated[int, "2 is a double click", Between(1, 3)] = 1
    modifiers: Annotated[tuple[Modifier, ...], Length(0, 4)] = ()


@attrs.frozen(kw_only=True)
class Hover:
    """Move the mouse over an element."""

    kind: Literal["hover"]
    ref: Ref


@attrs.frozen(kw_only=True)
class Field:
    """A field of a form, and what goes into it: a value, or a secret by its name."""

    ref: Ref
    value: Annotated[str | None, Length(0, _LONGEST_VALUE)] = None
    secret: Annotated[
        str | None, "Name of a secret; the only way into password fields", Length(1, 128)
    ] = None


@attrs.frozen(kw_only=True)
class Fill:
    """Put values into fields, replacing what they hold."""

    kind: Literal["fill"]
    fields: Annotated[tuple[Field, ...], Length(1, 20)]
    submit: Annotated[bool, "Press Enter in the last one"] = False


@attrs.frozen(kw_only=True)
class Type:
    """Type text key by key, behind what is there."""

    kind: Literal["type"]
    ref: Ref
    text: Annotated[str, Length(1, 4096)]


@attrs.frozen(kw_only=True)
class Press:
    """Press a key or chord, such as Enter or Control+A."""

    kind: Literal["press"]
    key: Annotated[str, Length(1, 40)]
    ref: Annotated[Ref | None, "Gets the focus first; left out: what has it"] = None


@attrs.frozen(kw_only=True)
class Select:
    """Choose options of a list, by value or label."""

    kind: Literal["select"]
    ref: Ref
    options: Annotated[tuple[str, ...], Length(1, 16)]


@attrs.frozen(kw_only=True)
class Check:
    """Set a checkbox or radio button, or clear a checkbox."""

    kind: Literal["check", "uncheck"]
    ref: Ref


@attrs.frozen(kw_only=True)
class Scroll:
    """Scroll the page, or the part under an element."""

    kind: Literal["scroll"]
    direction: Literal["up", "down", "left", "right"] = "down"
    amount: Annotated[int, "CSS pixels", Between(1, 10_000)] = 600
    ref: Ref | None = None


@attrs.frozen(kw_only=True)
class Upload:
    """Give files to a file field, or to what opens a file chooser."""

    kind: Literal["upload"]
    ref: Ref
    paths: Annotated[tuple[str, ...], "Files of the workspace", Length(1, 10)]


@attrs.frozen(kw_only=True)
class Drag:
    """Drag an element onto another."""

    kind: Literal["drag"]
    ref: Ref
    to: Ref


Action = Click | Hover | Fill | Type | Press | Select | Check | Scroll | Upload | Drag


def refs_of(action: Action) -> tuple[str, ...]:
    """Return the refs that an action names, each once, in order."""
    if isinstance(action, Fill):
        return tuple(dict.fromkeys(field.ref for field in action.fields))
    if isinstance(action, Drag):
        return (action.ref, action.to)
    return (action.ref,) if action.ref is not None else ()


def word_of(action: Action) -> str:
    """Return the word that rules know an action by."""
    if isinstance(action, Click):
        if action.button == "right":
            return "right_click"
        return "double_click" if action.count == 2 else "click"
    return action.kind


def told(action: Action) -> str:
    """Return an action in words, without anything secret."""
    if isinstance(action, Fill):
        return "; ".join(_told_field(f) for f in action.fields) + (
            "; then Enter" if action.submit else ""
        )
    if isinstance(action, Type):
        return f"type {_short(action.text)} into {action.ref}"
    if isinstance(action, Press):
        return f"press {action.key}" + (f" in {action.ref}" if action.ref else "")
    if isinstance(action, Select):
        return f"select {', '.join(map(_short, action.options))} in {action.ref}"
    if isinstance(action, Scroll):
        where = f" over {action.ref}" if action.ref else ""
        return f"scroll {action.direction} by {action.amount}{where}"
    if isinstance(action, Upload):
        return f"upload {', '.join(map(_short, action.paths))} to {action.ref}"
    if isinstance(action, Drag):
        return f"drag {action.ref} to {action.to}"
    keys = f" with {'+'.join(action.modifiers)}" if isinstance(action, Click) else ""
    plain = isinstance(action, Click) and not action.modifiers
    return f"{word_of(action)} {action.ref}{'' if plain else keys}"


def _told_field(field: Field) -> str:
    if field.secret is not None:
        return f"fill {field.ref} with secret {field.secret}"
    return f"fill {field.ref} with {_short(field.value or '')}"


def _short(text: str) -> str:
    line = " ".join(text.split()).replace('"', "'")
    return f'"{line[:200]}…"' if len(line) > 200 else f'"{line}"'


def check_action(action: Action) -> None:
    """Refuse what the schema cannot.

    Raises:
        Invalid: it names the place.
    """
    if isinstance(action, Fill):
        _check_fields(action)
    if isinstance(action, Press) and not _is_chord(action.key):
        text = (
            f"{action.key!r} is no key. Give one character, or one of "
            f"{', '.join(sorted(_KEYS))}; chords as Control+A."
        )
        raise Invalid("/action/key", text, code="browser.bad_key")
    if isinstance(action, Drag) and action.ref == action.to:
        text = "An element cannot be dragged onto itself."
        raise Invalid("/action/to", text, code="browser.bad_drag")


def _check_fields(action: Fill) -> None:
    seen: set[str] = set()
    for number, field in enumerate(action.fields):
        here = f"/action/fields/{number}"
        if (field.value is None) == (field.secret is None):
            text = "Give either a value or the name of a secret."
            raise Invalid(here, text, code="browser.bad_field")
        if field.ref in seen:
            text = f"Field {field.ref} is named twice."
            raise Invalid(f"{here}/ref", text, code="browser.bad_field")
        seen.add(field.ref)
    if sum(len(field.value or "") for field in action.fields) > _LONGEST_VALUE:
        text = f"The values have more than {_LONGEST_VALUE} characters together."
        raise Invalid("/action/fields", text, code="browser.bad_field")


def _is_chord(text: str) -> bool:
    head, plus, key = text.rpartition("+")
    if plus and not key:  # the plus sign itself
        head, key = head.removesuffix("+"), "+"
    modifiers = head.split("+") if head else []
    if len(set(modifiers)) != len(modifiers) or not set(modifiers) <= _MODIFIERS:
        return False
    return key in _KEYS or (len(key) == 1 and key.isprintable())
