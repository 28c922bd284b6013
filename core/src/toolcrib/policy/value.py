"""What a user decided: which packs are enabled, and what their tools may do.

A policy is a value. Make one in Python (``Policy(packs=["toolcrib-web"])``), read a
file with full authority (:meth:`Policy.load`), or find the user's file and let the
workspace's only tighten it (:meth:`Policy.discover`).
"""

from __future__ import annotations

import os

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib.vocabulary import Durability, Label, Mode

from . import values
from .values import Hide, Limits, Notice, RetryPolicy, SecretBinding


if TYPE_CHECKING:
    from toolcrib.rules import Rule


__all__ = ["Hide", "Limits", "Notice", "Policy", "RetryPolicy", "SecretBinding"]


def _rules(value: Any) -> tuple[Rule, ...]:
    # Only a policy that has rules pays for their grammar.
    if isinstance(value, list | tuple) and not value:
        return ()
    from toolcrib.rules import Rule, parse  # noqa: PLC0415

    return values.listed(lambda r: r if isinstance(r, Rule) else parse(values.word(r)))(value)


def _any(value: Any) -> Any:
    return value


def _local(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__"):
        text = "must be a list of packs"
        raise values.BadValue(text)
    return tuple(value)


_packs = values.listed(values.pack_id)
_NONE: Mapping[str, Any] = MappingProxyType({})


# How each field is read; all but the values that are None by default.
_CONVERT: Mapping[str, Callable[[Any], Any]] = {
    "packs": values.listed(values.distribution),
    "owners": values.tabled(values.pack_id, values.distribution),
    "local": _local,
    "develop": values.flag,
    "workspace": lambda value: Path.cwd() if value is None else values.path(value),
    "trusted": values.flag,
    "mode": values.member(Mode),
    "rules": _rules,
    "overrides": values.tabled(values.tool_id, values.tool_id),
    "renames": values.tabled(values.tool_id, values.word),
    "hide": values.built(Hide),
    "projectors": _packs,
    "guards": _packs,
    "reviewers": _packs,
    "observers": _packs,
    "directives": values.frozen(values.pack_id),
    "flags": values.frozen(values.word),
    "defer": values.optional(values.flag),
    "always_loaded": values.listed(values.word),
    "optional_repairs": values.frozen(values.optional_repair),
    "timeout": values.number(),
    "result_budget": values.whole(),
    "batch_budget": values.whole(),
    "limits": values.built(Limits),
    "retry": values.built(RetryPolicy),
    "durability": values.member(Durability),
    "ledger": values.optional(values.path),
    "state": values.optional(values.path),
    "settings": values.tabled(values.pack_id, values.tabled(values.word, _any)),
    "secrets": values.tabled(values.word, values.built(SecretBinding)),
    "forbid_labels": values.label_sets,
    "vocabulary": values.vocabulary,
    "valid_id": values.valid_id,
    "isolate": values.flag,
    "allow_async": values.flag,
    "file": values.optional(values.path),
    "notices": tuple,
}
# Where the file's key is another word than the field.
_KEY_OF = {"overrides": "override", "renames": "rename", "settings": "pack"}


@attrs.frozen(kw_only=True, init=False)
class Policy:
    """Everything that a user decides.

    Attributes:
        packs: Enabled distributions; nothing else enables a pack.
        owners: Pack id → distribution, where two enabled ones claim the id.
        local: Packs passed in as objects.
        develop: Compose editable and local packs without a manifest.
        workspace: The folder that sessions work in.
        trusted: Whether the user trusts what the workspace's file says.
        mode: What happens to a call that nothing else decided.
        rules: Permission rules.
        overrides: Tool id → id of the tool that takes its place.
        renames: Tool id → its new last part.
        hide: Tools that nobody is offered.
        projectors, guards, reviewers, observers: Pack ids that may do so, in order.
        directives: Packs whose directives are obeyed.
        flags: Names that tools may require.
        defer, always_loaded: Whether schemas hide until searched; which never do.
        optional_repairs: What may be mended beyond what has one reading: ``R12``, one
            value for a list of one; ``R13``, ``null`` for an unknown property.
        timeout: Seconds for one call.
        result_budget, batch_budget: Characters shown to the model of one result, and
            of all results of one response.
        limits, retry: See there.
        durability: What a committed receipt survives.
        ledger: File of the ledger; None keeps it in memory.
        state: Folder of packs' state and artifacts; None is the platform's.
        settings: Pack id → its table of the policy file.
        secrets: Name → where it comes from and who may use it.
        forbid_labels: Combinations that may not meet in one session.
        vocabulary: Closes a field: ``category``, ``tags``, ``serves``, ``kind``,
            ``audience`` or ``effects`` → allowed words.
        valid_id: A regular expression that tool ids must fit as a whole; in Python also
            a function that tells whether a tool's declaration is named well.
        isolate: Whether every synchronous signature runs off the event loop.
        allow_async: Whether packs may have asynchronous handlers.
        file: The file that a user would edit, named by refusals.
        notices: What a file asked for and did not get.
    """

    packs: tuple[str, ...]
    owners: Mapping[str, str]
    local: tuple[Any, ...]
    develop: bool
    workspace: Path
    trusted: bool
    mode: Mode
    rules: tuple[Rule, ...]
    overrides: Mapping[str, str]
    renames: Mapping[str, str]
    hide: Hide
    projectors: tuple[str, ...]
    guards: tuple[str, ...]
    reviewers: tuple[str, ...]
    observers: tuple[str, ...]
    directives: frozenset[str]
    flags: frozenset[str]
    defer: bool | None
    always_loaded: tuple[str, ...]
    optional_repairs: frozenset[str]
    timeout: float
    result_budget: int
    batch_budget: int
    limits: Limits
    retry: RetryPolicy
    durability: Durability
    ledger: Path | None
    state: Path | None
    settings: Mapping[str, Mapping[str, Any]]
    secrets: Mapping[str, SecretBinding]
    forbid_labels: tuple[frozenset[Label], ...]
    vocabulary: Mapping[str, frozenset[str]]
    valid_id: str | Callable[[Any], bool] | None
    isolate: bool
    allow_async: bool
    file: Path | None
    notices: tuple[Notice, ...]

    def __init__(
        self,
        *,
        packs: Iterable[str] = (),
        owners: Mapping[str, str] = _NONE,
        local: Iterable[Any] = (),
        develop: bool = False,
        workspace: str | Path | None = None,
        trusted: bool = False,
        mode: Mode | str = Mode.ASK,
        rules: Iterable[Rule | str] = (),
        overrides: Mapping[str, str] = _NONE,
        renames: Mapping[str, str] = _NONE,
        hide: Hide | Mapping[str, Any] | None = None,
        projectors: Iterable[str] = (),
        guards: Iterable[str] = (),
        reviewers: Iterable[str] = (),
        observers: Iterable[str] = (),
        directives: Iterable[str] = (),
        flags: Iterable[str] = (),
        defer: bool | None = None,
        always_loaded: Iterable[str] = (),
        optional_repairs: Iterable[str] = (),
        timeout: float = 120.0,
        result_budget: int = 60_000,
        batch_budget: int = 240_000,
        limits: Limits | Mapping[str, int] | None = None,
        retry: RetryPolicy | Mapping[str, float] | None = None,
        durability: Durability | str = Durability.NORMAL,
        ledger: str | Path | None = None,
        state: str | Path | None = None,
        settings: Mapping[str, Mapping[str, Any]] = _NONE,
        secrets: Mapping[str, SecretBinding | Mapping[str, Any]] = _NONE,
        forbid_labels: Iterable[Iterable[Label | str]] = (),
        vocabulary: Mapping[str, Iterable[str]] = _NONE,
        valid_id: str | Callable[[Any], bool] | None = None,
        isolate: bool = False,
        allow_async: bool = True,
        file: str | Path | None = None,
        notices: Iterable[Notice] = (),
    ) -> None:
        given = locals()
        fields = {
            name: values.converted(_KEY_OF.get(name, name), convert, given[name])
            for name, convert in _CONVERT.items()
        }
        self.__attrs_init__(**fields)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, workspace: Path | str | None = None
    ) -> Policy:
        """Read a policy file that carries full authority.

        Args:
            path: The file; paths in it are relative to its folder.
            workspace: The folder that sessions work in; the current one by default.

        Raises:
            PolicyError: it cannot be read, or says something that nobody understands.
        """
        from . import file as policyfile  # noqa: PLC0415 - tomllib is for those who read files

        path = Path(path).absolute()
        fields = policyfile.read(path).fields
        return cls(workspace=workspace, file=path, **fields)

    @classmethod
    def discover(cls, workspace: str | os.PathLike[str] = ".") -> Policy:
        """Take the user's policy file, and let the workspace's only tighten it.

        The workspace's file has full authority if the user trusted its very bytes
        (:func:`toolcrib.trust.trust`). What it asks for and does not get stands in
        :attr:`notices`. Neither file needs to exist.

        Raises:
            PolicyError: a file cannot be read, or says what nobody understands. A
                workspace's file too: its denials must not be lost by a slip.
        """
        from . import tightening  # noqa: PLC0415 - as above

        return tightening.discover(Path(workspace))
