"""The exact line or command that mends what was refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import places


if TYPE_CHECKING:
    from ..outcome import Refusal
    from ..policy import Policy


__all__ = ["mend"]

_AGAIN = frozenset({"manifest.unlisted", "manifest.altered", "metadata.unreadable"})
_UPGRADE = frozenset({"manifest.invalid", "api.unsupported", "pack.duplicated"})


def mend(refusal: Refusal, policy: Policy) -> tuple[str, ...]:
    """Return lines to write or commands to run; empty where the reason says it all."""
    code, subject, details = refusal.code, refusal.subject, refusal.details
    file = policy.file or places.policy_file()
    if code in _AGAIN:
        return (f"pip install --force-reinstall {subject}",)
    if code in _UPGRADE:
        return (f"pip install --upgrade {subject}", f"toolcrib packs disable {subject}")
    if code == "manifest.missing":
        return (
            f"in the project of {subject}: toolcrib manifest write",
            f"or: toolcrib packs disable {subject}",
        )
    if code == "pack.missing":
        return (f"pip install {subject}", f"or: toolcrib packs disable {subject}")
    if code == "pack.contested":
        pack = details.get("pack", "")
        owners = [
            f'{pack} = "{name}"' for name in details.get("claimants", ()) if " " not in name
        ]
        return (f"in {file}:", "[owners]", *(f"{line}  # or another" for line in owners[:1]))
    if code == "distribution.shadowed":
        return (f"remove {details.get('loaded', 'one of the two')}",)
    if code == "policy.dangling":
        return (f"in {file}: take {subject!r} out of {details.get('key', 'policy')}",)
    if code == "tool.unmet":
        return tuple(f"provide {what}" for what in details.get("missing", ()))
    if code == "source.unreadable":
        return ("toolcrib doctor --activate",)
    if code in {"lock.absent", "lock.drifted"}:
        return ("toolcrib lock diff", f"toolcrib lock accept {subject.partition('.')[0]}")
    return ()
