"""A page's accessibility tree as a list of nodes, read from Playwright's text of it.

That text is YAML in form, with text of the page in it. Each line is taken apart here, the
page's own words are made harmless, and everything that is shown later is written anew from
the parts: no text of a page can look like a node.
"""

from __future__ import annotations

import functools
import json
import re

from collections.abc import Iterator, Mapping

import attrs

from .marks import plain


__all__ = ["Node", "Outline", "parse"]

_KEY = re.compile(
    r"""(?P<role>/?[a-zA-Z][\w-]*)            # a role, or the name of a property
        (?:\ (?P<name>"(?:[^"\\]|\\.)*"|/(?:[^/\\]|\\.)*/))?   # the accessible name
        (?P<marks>(?:\ \[[^\]]*\])*)$""",
    re.VERBOSE,
)
# The same for a whole line, if nothing in it is quoted in YAML's own way: most are like that.
_SIMPLE = re.compile(
    r"""(?P<role>/?[a-zA-Z][\w-]*)
        (?:\ (?P<name>"(?:[^"\\]|\\.)*+"))?
        (?P<marks>(?:\ \[[^\]:"]*\])*+)(?::(?P<value>.*))?$""",
    re.VERBOSE | re.DOTALL,
)
_MARK = re.compile(r"\[([a-z]+)(?:=([^\]]*))?\]")
# Of these one knows without being told.
_CLICKABLE = frozenset({"link", "button", "checkbox", "radio", "option", "menuitem", "tab"})
_LONGEST_NAME = 400
_LONGEST_TEXT = 2000
# Two looks at one page have most of their lines in common. What fields hold is not kept.
_REMEMBERED = 16_384
_LONGEST_LINE = 250
_FIELDS = ("textbox", "searchbox", "spinbutton", "combobox")


@attrs.define(slots=True)
class Node:
    """One line of the tree.

    Attributes:
        depth: From 0.
        role: ``button``, ``link``, ``text`` …
        name: Its accessible name, made harmless.
        ref: What actions name it by; empty if it has none.
        states: ``checked``, ``disabled``, ``level=2`` …, in the browser's order.
        text: Its text or value, made harmless.
        properties: ``url`` and the like.
        box: Place and size in CSS pixels, if asked for.
    """

    depth: int
    role: str
    name: str = ""
    ref: str = ""
    states: tuple[str, ...] = ()
    text: str = ""
    properties: tuple[tuple[str, str], ...] = ()
    box: str = ""
    hidden: bool = False

    def line(self, *, focus: bool = True) -> str:
        """Return it as one line, as it is shown, with or without who has the focus."""
        words = [self.role]
        if self.name:
            words.append(_literal(self.name))
        words += [f"[{state}]" for state in self.states if focus or state != "active"]
        if self.hidden:
            words.append("[value hidden]")
        if self.box:
            words.append(f"[box={self.box}]")
        if self.ref:
            words.append(f"[ref={self.ref}]")
        for name, value in self.properties:
            words.append(f"({name}: {value})")
        tail = f": {self.text}" if self.text and not self.hidden else ""
        return "- " + " ".join(words) + tail

    def fingerprint(self) -> str:
        """Return what must stay the same for the element to be the one that was seen."""
        # In a tree of its own an element may say that it is clickable where its holder does.
        steady = [s for s in self.states if s not in {"active", "clickable"}]
        shown = "" if self.role in {"textbox", "searchbox", "spinbutton"} else self.text
        return f"{self.role}\0{self.name}\0{' '.join(steady)}\0{shown}\0{self.properties}"


@attrs.define
class Outline:
    """A whole tree, in document order.

    Attributes:
        nodes: The lines.
        refs: Ref → position.
    """

    nodes: list[Node]
    refs: Mapping[str, int]
    _steady: list[str] | None = attrs.field(default=None, init=False, repr=False, eq=False)

    def steady(self) -> list[str]:
        """Return the lines without who has the focus; nodes do not change after that."""
        if self._steady is None:
            self._steady = [node.line(focus=False) for node in self.nodes]
        return self._steady

    def node(self, ref: str) -> Node | None:
        """Return the node with a ref, or None."""
        place = self.refs.get(ref)
        return None if place is None else self.nodes[place]

    def below(self, place: int) -> int:
        """Return the position after the last node below one."""
        depth, at = self.nodes[place].depth, place + 1
        while at < len(self.nodes) and self.nodes[at].depth > depth:
            at += 1
        return at

    def is_framed(self, ref: str) -> bool:
        """Tell whether an element is in a frame of the page."""
        place = self.refs.get(ref)
        return place is not None and any(n.role == "iframe" for n in self.parents(place))

    def parents(self, place: int) -> Iterator[Node]:
        """Give the nodes above one, the nearest first."""
        depth = self.nodes[place].depth
        for at in range(place - 1, -1, -1):
            if self.nodes[at].depth < depth:
                depth = self.nodes[at].depth
                yield self.nodes[at]


def parse(text: str) -> Outline:
    """Read what Playwright says of a page."""
    nodes: list[Node] = []
    refs: dict[str, int] = {}
    for line in text.split("\n"):
        body = line.lstrip(" ")
        if not body.startswith("- "):
            continue
        known = len(line) <= _LONGEST_LINE and not body.startswith(_FIELDS, 2)
        read = _known if known else _parts
        role, name, ref, states, value, box = read(body[2:])
        depth = (len(line) - len(body)) // 2
        node = Node(depth, role, name, ref, states, value, (), box)
        if role.startswith("/"):
            _adopt(nodes, node)
            continue
        if node.ref:
            refs.setdefault(node.ref, len(nodes))
        nodes.append(node)
    return Outline(nodes, refs)


def _adopt(nodes: list[Node], prop: Node) -> None:
    """Give a line such as ``/url: …`` to the node above it."""
    for node in reversed(nodes):
        if node.depth < prop.depth:
            node.properties = (*node.properties, (prop.role[1:], prop.text[:300]))
            return


def _parts(body: str) -> tuple[str, str, str, tuple[str, ...], str, str]:
    """Return role, name, ref, states, text and box of a line."""
    match = _SIMPLE.match(body)
    if match is not None:
        value = _unquoted((match["value"] or "").strip())
    else:
        key, value = _halves(body)
        match = _KEY.match(key)
    if match is None:
        return "text", "", "", (), _bounded(plain(_unquoted(body)), _LONGEST_TEXT), ""
    role, name, marks = match["role"], match["name"] or "", match["marks"]
    ref, box, states = "", "", []
    for mark, setting in _MARK.findall(marks):
        if mark == "ref":
            ref = setting
        elif mark == "box":
            box = setting
        elif mark != "cursor":
            states.append(f"{mark}={setting}" if setting else mark)
        elif role not in _CLICKABLE:
            states.append("clickable")
    if name.startswith('"'):
        name = _json(name)
    name = _bounded(plain(name), _LONGEST_NAME)
    return role, name, ref, tuple(states), _bounded(plain(value), _LONGEST_TEXT), box


_known = functools.lru_cache(_REMEMBERED)(_parts)


def _halves(body: str) -> tuple[str, str]:
    """Take a line apart into its key and its value."""
    if body.startswith("'"):
        end = 1
        while end < len(body):
            if body[end] == "'":
                if body[end + 1 : end + 2] != "'":
                    break
                end += 1
            end += 1
        key, rest = body[1:end].replace("''", "'"), body[end + 1 :]
        return key, _unquoted(rest[1:].strip()) if rest.startswith(":") else ""
    end = _end_of_key(body)
    return body[:end], _unquoted(body[end + 1 :].strip())


def _end_of_key(body: str) -> int:
    """Return where the colon behind the key stands: not one inside of the name."""
    if '"' not in body:
        found = body.find(":")
        return len(body) if found < 0 else found
    at, inside = 0, False
    while at < len(body):
        character = body[at]
        if inside and character == "\\":
            at += 1
        elif character == '"':
            inside = not inside
        elif character == ":" and not inside:
            return at
        at += 1
    return len(body)


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return _json(text)
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text


def _json(text: str) -> str:
    if "\\" not in text:
        return text[1:-1]
    try:
        return str(json.loads(text))
    except ValueError:
        return text[1:-1]


def _literal(text: str) -> str:
    if '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _bounded(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
