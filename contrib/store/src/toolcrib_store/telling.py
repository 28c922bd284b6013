"""From what a store says to the failure that ends a call."""

from __future__ import annotations

import contextlib

from collections.abc import Iterator

from toolcrib import Busy, Failed, Invalid, NotFound, Refused, ToolFailure

from .errors import BusyError, DatabaseError, StoreError


__all__ = ["told"]


@contextlib.contextmanager
def told(code: str) -> Iterator[None]:
    """Turn what a store raises into the failure that ends a call.

    Args:
        code: Code of the failure where the file itself cannot be used, such as
            ``task.store``. A text that no file could hold ends with ``task.text``.
    """
    try:
        yield
    except StoreError as error:
        raise _failure(error) from error
    except UnicodeEncodeError as error:
        text = f"a text holds half a character at {error.start}: {error.object!a:.60}"
        whole = ""  # which of the arguments it is, the file does not know
        raise Invalid(whole, text, code=f"{code.partition('.')[0]}.text") from error
    except BusyError as error:
        raise Busy(str(error), code=code) from error
    except DatabaseError as error:
        raise Failed(str(error), code=code) from error


def _failure(error: StoreError) -> ToolFailure:
    if error.kind == "invalid":
        return Invalid(error.pointer, error.text, code=error.code)
    kind = {"not_found": NotFound, "busy": Busy}.get(error.kind, Refused)
    return kind(error.text, code=error.code)
