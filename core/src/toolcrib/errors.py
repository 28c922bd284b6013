"""Every exception of toolcrib.

::

    ToolcribError
    ├── PolicyError                a policy file cannot be used
    │   └── RuleSyntaxError        one rule of it cannot be read
    ├── DeclarationError           a tool or pack is declared wrongly
    ├── SchemaError                a JSON Schema is outside what can be enforced
    ├── ManifestError              a manifest cannot be used
    ├── RecordError                the ledger cannot be read or written
    ├── StageError                 a stage was skipped or given a stale value
    ├── AnsweredError              somebody else answered a question first, otherwise
    └── ToolFailure                raised by a tool, becomes an outcome
        ├── Invalid                the arguments are wrong beyond their schema
        ├── NotFound               what the call names does not exist
        ├── Unavailable            the tool cannot work here and now
        ├── Busy                   too much is asked at once
        ├── Refused                the tool itself declines the call
        ├── Failed                 it did not work
        ├── Uncertain              the effect may have happened
        └── Transient              it did not happen, and trying again may help

What went wrong *with a call* is never raised to the caller of a stage: it is a
:class:`toolcrib.Refusal` or an :class:`toolcrib.Outcome`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from pathlib import Path

    from .question import Decision


__all__ = [
    "AnsweredError",
    "Busy",
    "DeclarationError",
    "Failed",
    "Invalid",
    "ManifestError",
    "NotFound",
    "PolicyError",
    "RecordError",
    "Refused",
    "RuleSyntaxError",
    "SchemaError",
    "StageError",
    "ToolFailure",
    "ToolcribError",
    "Transient",
    "Unavailable",
    "Uncertain",
]


class ToolcribError(Exception):
    """Base of everything that toolcrib raises."""


class PolicyError(ToolcribError):
    """Raised when a policy file cannot be used; it names file, line and key."""

    def __init__(
        self,
        text: str,
        *,
        file: Path | str | None = None,
        line: int | None = None,
        key: str | None = None,
    ) -> None:
        self.text = text
        self.file = file
        self.line = line
        self.key = key
        where = f"{file or '<policy>'}" + (f":{line}" if line is not None else "")
        super().__init__(f"{where}: {key + ': ' if key else ''}{text}")


class RuleSyntaxError(PolicyError):
    """Raised when a permission rule cannot be read; it points at the column."""

    def __init__(
        self,
        text: str,
        *,
        rule: str,
        column: int,
        file: Path | str | None = None,
        line: int | None = None,
    ) -> None:
        self.rule = rule
        self.column = column
        super().__init__(
            f"{text}\n  {rule}\n  {' ' * column}^",
            file=file,
            line=line,
        )


class DeclarationError(ToolcribError):
    """Raised when a tool or pack is declared wrongly; it lists every problem."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class SchemaError(ToolcribError):
    """Raised when a JSON Schema cannot be enforced exactly.

    ``keyword`` is the offending keyword, ``pointer`` its JSON pointer (RFC 6901).
    """

    def __init__(self, text: str, *, keyword: str, pointer: str) -> None:
        self.text = text
        self.keyword = keyword
        self.pointer = pointer
        super().__init__(f"{text} (keyword {keyword!r} at {pointer or '/'})")


class ManifestError(ToolcribError):
    """Raised when a manifest is missing, unreadable or wrong.

    ``code`` is the code of the refusal that it becomes, such as ``api.unsupported``.
    """

    def __init__(self, text: str, *, code: str = "manifest.invalid") -> None:
        self.text = text
        self.code = code
        super().__init__(text)


class RecordError(ToolcribError):
    """Raised when the ledger cannot be read or written."""


class StageError(ToolcribError):
    """Raised when a stage is skipped or given a value that another stage did not make."""


class AnsweredError(ToolcribError):
    """Raised when a question had another answer already: the first one holds.

    Attributes:
        question_id: What was asked.
        first: The decision that holds, and was applied.
        second: The decision that came too late, and changes nothing.
    """

    def __init__(self, question_id: str, first: Decision, second: Decision) -> None:
        self.question_id = question_id
        self.first = first
        self.second = second
        super().__init__(
            f"{first.by} answered question {question_id} first ({type(first).__name__}), and "
            f"that holds; the {type(second).__name__} by {second.by} changes nothing"
        )


class ToolFailure(ToolcribError):  # noqa: N818 - what it ends is a call, not a program
    """Raised by a tool to end its call with a status other than ``ok``.

    ``text`` is shown to the model: say what is wrong and what to do next.
    ``code`` is a stable dotted word of the pack, such as ``files.ambiguous``.
    """

    def __init__(self, text: str, *, code: str | None = None) -> None:
        self.text = text
        self.code = code
        super().__init__(text)


class Invalid(ToolFailure):
    """Raised when arguments are wrong in a way that their schema cannot say.

    ``path`` is the JSON pointer of the offending value, such as ``/edits/0/old``.
    """

    def __init__(self, path: str, text: str, *, code: str | None = None) -> None:
        self.path = path
        super().__init__(text, code=code)


class NotFound(ToolFailure):
    """Raised when what the call names does not exist."""


class Unavailable(ToolFailure):
    """Raised when the tool cannot work here and now."""


class Busy(ToolFailure):
    """Raised when too much is asked at once."""


class Refused(ToolFailure):
    """Raised when the tool itself declines the call."""


class Failed(ToolFailure):
    """Raised when the call did not work."""


class Uncertain(ToolFailure):
    """Raised when the effect may have happened and nobody can tell."""


class Transient(ToolFailure):
    """Raised when nothing happened yet and trying again may help.

    ``retry_after`` is in seconds, as the remote asked for it.
    """

    def __init__(
        self, text: str, *, retry_after: float | None = None, code: str | None = None
    ) -> None:
        self.retry_after = retry_after
        super().__init__(text, code=code)
