"""The exact line or command that mends what was refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib import places


if TYPE_CHECKING:
    from toolcrib.outcome import Refusal
    from toolcrib.policy.value import Policy


__all__ = ["is_for_apps", "mend"]

# Code → lines; {subject} is what was refused, {pack} its first part, {file} the policy.
_LINES: dict[str, tuple[str, ...]] = {
    "metadata.unreadable": ("pip install --force-reinstall {subject}",),
    "manifest.unlisted": ("pip install --force-reinstall {subject}",),
    "manifest.altered": ("pip install --force-reinstall {subject}",),
    "manifest.missing": (
        "in the project of {subject}: toolcrib manifest write",
        "or: toolcrib packs disable {subject}",
    ),
    "manifest.invalid": (
        "pip install --upgrade {subject}",
        "or: toolcrib packs disable {subject}",
    ),
    "api.unsupported": (
        "pip install --upgrade toolcrib {subject}",
        "or: toolcrib packs disable {subject}",
    ),
    "pack.duplicated": ("toolcrib packs disable {subject}",),
    "pack.missing": ("pip install {subject}", "or: toolcrib packs disable {subject}"),
    "distribution.shadowed": ("remove {loaded}, or what it hides: {refused}",),
    "policy.dangling": ("in {file}: take {subject} out of {key}",),
    "source.unreadable": ("toolcrib doctor --activate",),
    "lock.absent": ("toolcrib lock accept {pack}",),
    "lock.drifted": ("toolcrib lock diff", "toolcrib lock accept {pack}"),
}


def is_for_apps(refusal: Refusal) -> bool:
    """Tell whether a tool is withheld only for want of a part that an app's host has."""
    return refusal.code == "tool.unmet" and bool(refusal.details.get("only_host"))


def mend(refusal: Refusal, policy: Policy) -> tuple[str, ...]:
    """Return lines to write or commands to run; empty where the reason says it all."""
    details = refusal.details
    file = policy.file or places.policy_file()
    if is_for_apps(refusal):
        return ("nothing here; an app whose host has it offers the tool",)
    if refusal.code == "tool.unmet":
        return tuple(f"provide {what}" for what in details.get("missing", ()))
    if refusal.code == "pack.contested":
        pack = details.get("pack", "")
        names = [name for name in details.get("claimants", ()) if " " not in name]
        choices = [f'{pack} = "{name}"' for name in names]
        return (f"in {file}, under [owners]: {' or '.join(choices)}",) if choices else ()
    words = {
        "subject": refusal.subject,
        "pack": refusal.subject.partition(".")[0],
        "file": file,
        "key": details.get("key", "the policy"),
        "loaded": details.get("loaded", "the one that import would load"),
        "refused": details.get("refused", "the other"),
    }
    return tuple(line.format(**words) for line in _LINES.get(refusal.code, ()))
