"""The other side of :func:`toolcrib_runners.call`: runs in the child process."""

from __future__ import annotations

import importlib
import json
import os

from collections.abc import Mapping
from typing import Any


__all__ = ["main"]

_FIELDS = ("text", "code", "path", "retry_after")


def main(payload: Mapping[str, Any]) -> None:
    """Call the function and write its value, or what it raised, as the answer."""
    descriptor = int(os.environ.pop("TOOLCRIB_ANSWER"))
    # What the function starts must not hold the answer open.
    os.set_inheritable(descriptor, False)
    try:
        answer = {"value": _called(payload)}
        data = json.dumps(answer).encode()
    except BaseException as error:  # noqa: BLE001 - told to the parent, whatever it is
        data = json.dumps({"error": _told(error)}).encode()
    with os.fdopen(descriptor, "wb") as answers:
        answers.write(data)


def _called(payload: Mapping[str, Any]) -> Any:
    module, _, name = payload["function"].partition(":")
    target: Any = importlib.import_module(module)
    for part in name.split("."):
        target = getattr(target, part)
    return target(*payload["args"], **payload["kwargs"])


def _told(error: BaseException) -> dict[str, Any]:
    kind = type(error)
    fields = {name: getattr(error, name) for name in _FIELDS if hasattr(error, name)}
    return {
        "kind": kind.__qualname__,
        "module": kind.__module__,
        "text": str(error)[:4000],
        "fields": {
            k: v for k, v in fields.items() if v is None or isinstance(v, str | int | float)
        },
    }
