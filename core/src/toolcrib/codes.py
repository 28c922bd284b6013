"""Every code that a refusal or outcome of the core can carry.

A code is stable: programs compare it, the documentation explains it. Text around it
may be improved at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from .outcome import Refusal
from .vocabulary import Status


__all__ = ["CODES", "Code", "refuse"]


@attrs.frozen
class Code:
    """What a code means."""

    status: Status
    meaning: str
    retryable: bool = False


_UNAVAILABLE = Status.UNAVAILABLE
_REFUSED = Status.REFUSED
_INVALID = Status.INVALID

CODES: Mapping[str, Code] = {
    # discover
    "metadata.unreadable": Code(_UNAVAILABLE, "The distribution's metadata cannot be read."),
    "distribution.shadowed": Code(
        _UNAVAILABLE, "A second copy of the distribution, which import would not load."
    ),
    "manifest.missing": Code(_UNAVAILABLE, "The package holds no toolcrib.json."),
    "manifest.invalid": Code(_UNAVAILABLE, "The manifest is not what its format says."),
    "manifest.unlisted": Code(_UNAVAILABLE, "The manifest is not listed in RECORD."),
    "manifest.altered": Code(_UNAVAILABLE, "The manifest's bytes differ from RECORD."),
    "api.unsupported": Code(_UNAVAILABLE, "The pack speaks another generation of the API."),
    "pack.duplicated": Code(_UNAVAILABLE, "A distribution declares one pack twice."),
    # compose
    "pack.contested": Code(_UNAVAILABLE, "Two enabled distributions claim one pack id."),
    "pack.disabled": Code(
        _UNAVAILABLE, "The pack is installed, but policy does not enable it."
    ),
    "pack.missing": Code(_UNAVAILABLE, "Policy enables a distribution that is not installed."),
    "tool.misnamed": Code(_UNAVAILABLE, "A tool's name is outside the grammar of its pack."),
    "tool.duplicated": Code(_UNAVAILABLE, "A pack declares one tool name twice."),
    "tool.contested": Code(_UNAVAILABLE, "Policy gives two tools one id."),
    "tool.foreign": Code(_UNAVAILABLE, "A tool uses a word that policy's vocabulary lacks."),
    "policy.dangling": Code(_UNAVAILABLE, "Policy names a tool or pack that is not there."),
    "source.unreadable": Code(
        _UNAVAILABLE,
        "A live source cannot be read; its tools are the last known ones.",
        retryable=True,
    ),
    "tool.hidden": Code(_UNAVAILABLE, "Policy hides the tool."),
    "delegate.contested": Code(_UNAVAILABLE, "Two offered tools answer one delegate id."),
    "delegate.unknown": Code(_UNAVAILABLE, "No offered tool answers the delegate id."),
    "source.pending": Code(
        _UNAVAILABLE, "A live source has not been read yet.", retryable=True
    ),
    "tool.unmet": Code(_UNAVAILABLE, "What the tool requires is not there."),
    "schema.unsupported": Code(_UNAVAILABLE, "The tool's schema cannot be enforced exactly."),
    # project
    "name.contested": Code(_UNAVAILABLE, "Two tools would have one name on the wire."),
    "dialect.full": Code(_UNAVAILABLE, "The dialect has no room for more tools in a request."),
    "dialect.lossy": Code(_UNAVAILABLE, "The projection would lose what may not be lost."),
    "dialect.broken": Code(_UNAVAILABLE, "The dialect failed on the tool."),
    # activate
    "pack.unloadable": Code(_UNAVAILABLE, "The pack's module could not be imported."),
    "pack.inert": Code(_UNAVAILABLE, "The pack provides nothing."),
    "pack.unruly": Code(_UNAVAILABLE, "The pack's hooks break a rule."),
    "pack.drifted": Code(_UNAVAILABLE, "The pack's code contradicts its manifest."),
    # lock
    "lock.absent": Code(_UNAVAILABLE, "The pack is not in the lock."),
    "lock.drifted": Code(_UNAVAILABLE, "Code or definitions differ from what was approved."),
    "lock.unlockable": Code(_UNAVAILABLE, "The pack's code cannot be locked where it is."),
    # admit
    "tool.unknown": Code(Status.UNKNOWN_TOOL, "No tool has this name."),
    "tool.inactive": Code(_UNAVAILABLE, "The tool's own function says that it is not there."),
    "tool.not_loaded": Code(_INVALID, "The tool's schema had not been loaded; it is now."),
    "arguments.malformed": Code(_INVALID, "The arguments are not JSON."),
    "arguments.truncated": Code(_INVALID, "The arguments end in the middle."),
    "arguments.not_object": Code(_INVALID, "The arguments are not a JSON object."),
    "arguments.invalid": Code(_INVALID, "The arguments do not fit the tool's schema."),
    "arguments.too_large": Code(_INVALID, "The arguments are larger or deeper than allowed."),
    "call.reused": Code(_INVALID, "The provider's call id was used for another call."),
    "call.malformed": Code(_INVALID, "The call is not in the dialect's form."),
    # authorize
    "rule.denied": Code(_REFUSED, "A rule denies the call."),
    "mode.denied": Code(_REFUSED, "The session's mode does not permit the call."),
    "path.outside": Code(_REFUSED, "A path lies outside the workspace."),
    "path.protected": Code(_REFUSED, "A path belongs to toolcrib itself."),
    "signature.wider": Code(_REFUSED, "The call touches more than the tool declares."),
    "guard.refused": Code(_REFUSED, "A guard refuses the call."),
    "guard.broken": Code(_REFUSED, "A guard failed, hung or is missing."),
    "person.denied": Code(_REFUSED, "A person said no."),
    "question.open": Code(
        Status.NEEDS_APPROVAL, "Nobody has answered the question yet.", retryable=True
    ),
    "answer.stale": Code(
        _REFUSED, "The call, preview, tool or view changed after it was approved."
    ),
    "answer.narrow": Code(
        _REFUSED, "The rule that was given as the answer does not cover the call."
    ),
    "grant.used": Code(_REFUSED, "The approval was used already."),
    "resolve.refused": Code(_REFUSED, "The tool's resolve function rejects the selection."),
    "intent.unknown": Code(_INVALID, "What was selected is no intent of the view."),
    "turn.stopped": Code(_REFUSED, "A tool ended the turn, so nothing more of it runs."),
    "directive.restricted": Code(_REFUSED, "A tool restricted what may run until later."),
    "labels.forbidden": Code(_REFUSED, "Policy forbids this combination in one session."),
    # execute
    "call.cancelled": Code(Status.CANCELLED, "The call was cancelled before it had an effect."),
    "call.timeout": Code(Status.TIMEOUT, "The deadline passed.", retryable=True),
    "call.uncertain": Code(Status.UNCERTAIN, "The effect may have happened; nobody can tell."),
    "call.busy": Code(Status.BUSY, "Too many calls are waiting.", retryable=True),
    "call.looping": Code(_REFUSED, "The same call failed the same way too often."),
    "tool.failed": Code(Status.FAILED, "The tool could not do it."),
    "tool.crashed": Code(Status.FAILED, "The tool raised an exception it did not expect."),
    "tool.transient": Code(
        Status.FAILED, "The tool met a passing failure in every attempt.", retryable=True
    ),
    "tool.unavailable": Code(_UNAVAILABLE, "The tool cannot work here and now."),
    "tool.busy": Code(Status.BUSY, "The tool is asked too much at once.", retryable=True),
    "tool.not_found": Code(Status.NOT_FOUND, "What the call names does not exist."),
    "tool.refused": Code(_REFUSED, "The tool itself declines the call."),
    "check.late": Code(
        _REFUSED, "The tool's own check of the arguments did not end in time; nothing ran."
    ),
    "tool.invalid": Code(_INVALID, "The tool finds the arguments wrong."),
    "output.invalid": Code(
        Status.FAILED, "The tool's output does not fit its own schema; the call did run."
    ),
    "output.unchecked": Code(
        Status.FAILED,
        "The tool's own check of its output did not end in time; the call did run.",
    ),
    "review.failed": Code(Status.FAILED, "A reviewer rejects the result; the call did run."),
    # record
    "artifact.unknown": Code(Status.NOT_FOUND, "The session has no artifact of this digest."),
    "artifact.damaged": Code(Status.FAILED, "The artifact's bytes on disk were changed."),
    "artifact.quota": Code(_UNAVAILABLE, "The session's artifacts have no room left."),
    "secret.unavailable": Code(_UNAVAILABLE, "Policy binds no such secret to the tool."),
    "ledger.unwritable": Code(
        _UNAVAILABLE, "The ledger cannot be written, so nothing may run."
    ),
}


def refuse(
    code: str,
    subject: str,
    text: str,
    *,
    retryable: bool | None = None,
    **details: Any,
) -> Refusal:
    """Make a refusal; status and whether to retry come from the code."""
    known = CODES[code]
    return Refusal(
        status=known.status,
        code=code,
        subject=subject,
        text=text,
        retryable=known.retryable if retryable is None else retryable,
        details=details,
    )
