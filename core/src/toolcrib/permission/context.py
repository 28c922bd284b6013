"""What a call is judged by: rules, grants, mode, folders, and who makes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import Any

import attrs

from toolcrib.resources import paths
from toolcrib.resources.folding import fold
from toolcrib.vocabulary import Label, Mode

from .bound import Facts
from .grants import GrantView
from .ruleset import RuleSet


__all__ = ["AuthorityContext", "Protected"]

PackState = Callable[[str], str | PurePath | None]


class Protected:
    """Files and folders of toolcrib's own, which no tool may change.

    Both where a path leads and how it is spelled count, in any letter case.
    """

    __slots__ = ("paths",)

    def __init__(self, own: Iterable[str | PurePath] = ()) -> None:
        found: dict[str, None] = {}
        for path in own:
            real, plain = paths.resolve(paths.absolute(paths.text_of(path)))
            found[fold(real)] = None
            if plain:
                found[fold(plain)] = None
        self.paths = tuple(found)

    def holds(self, *spellings: str) -> bool:
        """Tell whether one of the spellings is protected or lies in what is."""
        return any(
            paths.is_inside(fold(spelling), path)
            for spelling in spellings
            if spelling
            for path in self.paths
        )

    def lies_in(self, *spellings: str) -> bool:
        """Tell whether something protected lies below one of the spellings."""
        return any(
            paths.is_inside(path, fold(spelling))
            for spelling in spellings
            if spelling
            for path in self.paths
        )


def _protected(value: Protected | Iterable[str | PurePath]) -> Protected:
    return value if isinstance(value, Protected) else Protected(value)


def _folder(value: str | PurePath) -> str:
    text = paths.text_of(value)
    return text if paths.is_absolute(text) else paths.resolve(paths.absolute(text))[0]


def _state(value: PackState | str | PurePath | None) -> PackState | None:
    if value is None or callable(value):
        return value
    folder = _folder(value)
    return lambda _pack: folder


def _containment(value: Iterable[str | PurePath] | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(map(_folder, value))


def _labels(value: Iterable[Label | str]) -> frozenset[Label]:
    return frozenset(map(Label, value))


def _combinations(value: Iterable[Iterable[Label | str]]) -> tuple[frozenset[Label], ...]:
    return tuple(map(_labels, value))


@attrs.frozen(kw_only=True)
class AuthorityContext:
    """What a call is judged by.

    Attributes:
        folder: The workspace, absolute, links resolved (``workspace=`` to set it).
        rules, grants: What was decided before.
        mode: What happens to a call that nothing else decides.
        protected: Files of toolcrib's own; build a :class:`Protected` once and share it.
        pack_state: The private folder of a pack, by its id; or one folder for all.
        containment: Folders that no path may leave; None leaves that to rules and mode.
        principal, conversation, agent: Who calls, and where.
        labels_seen: Labels of the tools that ran in this session.
        forbid_labels: Combinations that may not meet in one session.
        clock: Returns seconds since the epoch; a clock with ``time()`` will do.
        policy_file: The file that a user would edit, named by refusals.
        parent: What the caller of a sub-agent is judged by: a call must pass both.
    """

    folder: str = attrs.field(alias="workspace", converter=_folder)
    rules: RuleSet = attrs.field(factory=RuleSet)
    grants: GrantView = attrs.field(factory=GrantView)
    mode: Mode = attrs.field(default=Mode.ASK, converter=Mode)
    protected: Protected = attrs.field(factory=Protected, converter=_protected)
    pack_state: PackState | None = attrs.field(default=None, converter=_state)
    containment: tuple[str, ...] | None = attrs.field(
        default=None,
        converter=_containment,
    )
    principal: str = ""
    conversation: str = ""
    agent: str | None = None
    labels_seen: frozenset[Label] = attrs.field(default=frozenset(), converter=_labels)
    forbid_labels: tuple[frozenset[Label], ...] = attrs.field(
        default=(), converter=_combinations
    )
    clock: Any = None
    policy_file: str | PurePath | None = None
    parent: AuthorityContext | None = None
    facts: Facts = attrs.field(init=False, repr=False)
    by_mode: str = attrs.field(init=False, repr=False)
    _folders: dict[str, str] = attrs.field(init=False, repr=False, eq=False, factory=dict)

    @facts.default
    def _facts(self) -> Facts:
        return Facts(self.mode, self.agent, self.principal)

    @by_mode.default
    def _by_mode(self) -> str:
        return f"mode {self.mode}"

    def above(self) -> AuthorityContext | None:
        """Return the parent's rules, mode and limits with this context's own grants.

        What people granted to the parent is not the child's; what they grant to the
        child answers the parent's rules as well.
        """
        if self.parent is None:
            return None
        return attrs.evolve(
            self.parent,
            grants=self.grants,
            principal=self.principal,
            conversation=self.conversation,
            clock=self.clock,
            labels_seen=self.labels_seen | self.parent.labels_seen,
        )

    def now(self) -> float | None:
        """Return the time, or None without a clock: then what expires has expired."""
        if self.clock is None:
            return None
        read = getattr(self.clock, "time", self.clock)
        return float(read())

    def is_own(self, pack: str, path: str) -> bool:
        """Tell whether a path lies in a pack's own state folder."""
        if self.pack_state is None or not path:
            return False
        folder = self._folders.get(pack)
        if folder is None:
            found = self.pack_state(pack)
            folder = "" if found is None else paths.resolve(paths.text_of(found))[0]
            self._folders[pack] = folder
        return folder != "" and paths.is_inside(path, folder)

    def contains(self, path: str) -> bool:
        """Tell whether a path lies in the folders that the session is kept in."""
        return any(paths.is_inside(path, folder) for folder in self.containment or ())

    def is_inside(self, path: str) -> bool:
        """Tell whether a canonical path lies in the workspace."""
        return paths.is_inside(path, self.folder)
