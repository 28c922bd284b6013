"""Join the user's policy and the workspace's, so that the workspace's only tightens."""

from __future__ import annotations

import stat

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from toolcrib.places import POLICY_FILE, expanded, policy_file
from toolcrib.vocabulary import Durability, Mode

from . import file as policyfile
from .file import PolicyDocument
from .trust import is_trusted
from .value import Policy
from .values import Limits, Notice, RetryPolicy


__all__ = ["discover", "overlay", "tighten"]

_STRICTER_FIRST = [Mode.PLAN, Mode.ASK, Mode.EDITS, Mode.TRUST]
_Merged = tuple[Any, list[Notice]]


def discover(workspace: Path) -> Policy:
    """Return the policy of a workspace; see :meth:`toolcrib.Policy.discover`."""
    root = expanded(workspace).resolve()
    users = policy_file()
    policy = Policy(workspace=root, file=users)
    if users.is_file():
        document = policyfile.read(users)
        exposed = _exposed(document)
        policy = attrs.evolve(policy, **document.fields, notices=exposed)
    own = root / POLICY_FILE
    if not own.is_file() or (users.is_file() and own.samefile(users)):
        return policy
    document = policyfile.read(own)
    if is_trusted(own, document.digest):
        return overlay(policy, document)
    return tighten(policy, document)


def overlay(policy: Policy, document: PolicyDocument) -> Policy:
    """Join with a trusted file: lists and tables are added, single values replaced.

    Denials, hidden tools and forbidden combinations of the user stay in any case.
    """
    fields: dict[str, Any] = {}
    for name, value in document.fields.items():
        before = getattr(policy, name)
        if isinstance(value, tuple):
            fields[name] = tuple(dict.fromkeys((*before, *value)))
        elif isinstance(value, Mapping):
            fields[name] = {**before, **value}
        elif isinstance(value, frozenset) or name == "hide":
            fields[name] = before | value
        else:
            fields[name] = value
    return attrs.evolve(policy, **fields, trusted=True)


def tighten(policy: Policy, document: PolicyDocument) -> Policy:
    """Take what is stricter from a file that is not trusted; report the rest."""
    fields: dict[str, Any] = {}
    notices: list[Notice] = []
    for name, value in document.fields.items():
        merge = _TIGHTEN.get(name)
        if merge is None:
            notices.append(_ignored(policy, document, name))
            continue
        fields[name], ignored = merge(getattr(policy, name), value, document)
        notices += ignored
    return attrs.evolve(policy, **fields, notices=(*policy.notices, *notices))


_KEY_OF = {
    "overrides": ("override",),
    "renames": ("rename",),
    "settings": ("pack",),
    "defer": ("deferral", "enabled"),
    "always_loaded": ("deferral", "always_loaded"),
}


def _ignored(policy: Policy, document: PolicyDocument, name: str) -> Notice:
    path = _KEY_OF.get(name, (name,))
    text = (
        f"{'.'.join(path)!r} could widen what is allowed, so it is ignored: write it to "
        f"{policy.file}, or look at this file and trust it"
    )
    if name == "packs":
        more = [p for p in document.fields["packs"] if p not in policy.packs]
        if not more:
            return document.notice("'packs' adds nothing to the user's policy", "packs")
        lines = ", ".join(f'"{p}"' for p in (*policy.packs, *more))
        text = f"the workspace asks for {', '.join(more)}; to enable: packs = [{lines}] in "
        text += str(policy.file)
    return document.notice(text, *path)


def _rules(mine: Any, theirs: Any, document: PolicyDocument) -> _Merged:
    kept = tuple(r for r in theirs if str(r.verdict) != "allow")
    notices = [
        Notice(
            f"an allow rule of a workspace that is not trusted is ignored: {r.text}",
            document.file,
            r.line,
            "rules",
        )
        for r in theirs
        if str(r.verdict) == "allow"
    ]
    return (*mine, *kept), notices


def _mode(mine: Mode, theirs: Mode, document: PolicyDocument) -> _Merged:
    strict = min(mine, theirs, key=_STRICTER_FIRST.index)
    if strict is theirs:
        return strict, []
    return strict, [document.notice(f"mode {theirs!s} is wider than {mine!s}: ignored", "mode")]


def _lower(key: str) -> Callable[[Any, Any, PolicyDocument], _Merged]:
    def merge(mine: float, theirs: float, document: PolicyDocument) -> _Merged:
        if theirs <= mine:
            return theirs, []
        text = f"{key} may only be lowered here, from {mine:g}: ignored"
        return mine, [document.notice(text, key)]

    return merge


def _limits(mine: Limits, theirs: Limits, document: PolicyDocument) -> _Merged:
    merged = {}
    notices: list[Notice] = []
    for field in attrs.fields(Limits):
        key = field.name
        merged[key] = getattr(mine, key)
        # Only what the file names: the rest of `theirs` are the defaults.
        if ("limits", key) in document.lines:
            merged[key] = min(merged[key], getattr(theirs, key))
            if getattr(theirs, key) > merged[key]:
                text = f"limits.{key} may only be lowered here, from {merged[key]}: ignored"
                notices.append(document.notice(text, "limits", key))
    return Limits(**merged), notices


def _retry(mine: RetryPolicy, theirs: RetryPolicy, document: PolicyDocument) -> _Merged:
    notices = [
        document.notice(f"retry.{key} decides nothing about safety here: ignored", "retry", key)
        for key in ("base", "cap")
        if ("retry", key) in document.lines
    ]
    if ("retry", "attempts") not in document.lines:
        return mine, notices
    merged = attrs.evolve(mine, attempts=min(mine.attempts, theirs.attempts))
    if theirs.attempts > mine.attempts:
        text = f"retry.attempts may only be lowered here, from {mine.attempts}: ignored"
        notices.append(document.notice(text, "retry", "attempts"))
    return merged, notices


def _added(mine: Any, theirs: Any, document: PolicyDocument) -> _Merged:  # noqa: ARG001
    return (
        tuple(dict.fromkeys((*mine, *theirs))) if isinstance(mine, tuple) else mine | theirs
    ), []


def _durable(mine: Any, theirs: Any, document: PolicyDocument) -> _Merged:
    if Durability.FULL in {mine, theirs} and theirs is not Durability.FULL:
        return mine, [document.notice("durability may only be raised here", "durability")]
    return theirs, []


def _vocabulary(mine: Any, theirs: Any, document: PolicyDocument) -> _Merged:  # noqa: ARG001
    return {
        k: mine.get(k, v) & theirs.get(k, mine.get(k, v)) for k, v in {**theirs, **mine}.items()
    }, []


def _valid_id(mine: Any, theirs: Any, document: PolicyDocument) -> _Merged:
    if mine is None or mine == theirs:
        return theirs, []
    return mine, [document.notice("valid_id is the user's already: ignored", "valid_id")]


def _switch(key: str, *, strict: bool) -> Callable[[Any, Any, PolicyDocument], _Merged]:
    def merge(mine: bool, theirs: bool, document: PolicyDocument) -> _Merged:  # noqa: FBT001
        if theirs is strict or theirs is mine:
            return theirs, []
        return mine, [document.notice(f"{key} may not be loosened here: ignored", key)]

    return merge


# What a workspace may say; anything that is not here could widen.
_TIGHTEN: dict[str, Callable[[Any, Any, PolicyDocument], _Merged]] = {
    "rules": _rules,
    "mode": _mode,
    "hide": _added,
    "forbid_labels": _added,
    "limits": _limits,
    "retry": _retry,
    "timeout": _lower("timeout"),
    "result_budget": _lower("result_budget"),
    "batch_budget": _lower("batch_budget"),
    "durability": _durable,
    "vocabulary": _vocabulary,
    "valid_id": _valid_id,
    "isolate": _switch("isolate", strict=True),
    "allow_async": _switch("allow_async", strict=False),
}


def _exposed(document: PolicyDocument) -> tuple[Notice, ...]:
    """Warn of a policy that other users of the machine could write."""
    if document.file.stat().st_mode & stat.S_IWOTH:
        return (document.notice("every user of this machine can write this file"),)
    return ()
