"""Lossless repairs of what models send: one reading, or none.

==== =========================================================== ===================
rule what is mended                                              where
==== =========================================================== ===================
R1   nothing, ``""`` or ``null`` for no arguments                admission
R2   arguments encoded twice                                     admission
R3   an array or object sent as JSON text                        :mod:`.values`
R4   a number or boolean sent as text                            :mod:`.values`
R5   ``5.0`` for an integer                                      :mod:`.values`
R6   ``null`` for an optional property that refuses it           :mod:`.values`
R7   a listed value in another case                              :mod:`.values`
R8   one fence around the JSON, or surplus closing brackets      :mod:`.text`
R9   a trailing comma, a raw control character in a string       :mod:`.text`
R10  a known wrapper around a tool's name                        :mod:`.calls`
R11  ``multi_tool_use.parallel``                                 :mod:`.calls`
R12  one value for a list of one (only if asked for)             :mod:`.values`
R13  ``null`` for an unknown property (only if asked for)        :mod:`.values`
==== =========================================================== ===================

Never: completing JSON that ends in the middle, guessing names, filling required values,
picking between two values of one key, reading ``"yes"`` as true, splitting text into a
list, dropping an unknown key that has a value.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .rules import LOSSLESS, OPTIONAL


if TYPE_CHECKING:
    from .calls import expand_parallel, rename, unwrap_name
    from .text import TruncatedError, mend
    from .values import Repairer


__all__ = [
    "LOSSLESS",
    "OPTIONAL",
    "Repairer",
    "TruncatedError",
    "expand_parallel",
    "mend",
    "rename",
    "unwrap_name",
]

# Valid calls need none of these, and most calls are valid.
_LAZY = {
    "Repairer": "values",
    "TruncatedError": "text",
    "expand_parallel": "calls",
    "mend": "text",
    "rename": "calls",
    "unwrap_name": "calls",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        text = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(text)
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
