"""The third-party validators, and the only module that knows them.

Neither may ever fetch a reference, change what it is given, or let an exception of its
own out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from toolcrib.errors import SchemaError

from .normal import JsonSchema
from .pointers import escape
from .problem import Problem
from .values import shorten


__all__ = ["Other", "compile_fast", "has_other"]

_DRAFTS = {
    "4": "http://json-schema.org/draft-04/schema#",
    "6": "http://json-schema.org/draft-06/schema#",
    "7": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
}
_MOST_BACKTRACKING = 100_000
_LARGEST_PATTERN = 1 << 20


class _Refuse(dict[str, Callable[[str], Any]]):
    """Handlers for every scheme there is; each refuses."""

    def __contains__(self, scheme: object) -> bool:
        return True

    def __missing__(self, scheme: str) -> Callable[[str], Any]:
        return _refuse


def _refuse(uri: str) -> Any:
    text = f"nothing is ever fetched: {uri[:200]}"
    raise LookupError(text)


def compile_fast(lowered: dict[str, Any]) -> Callable[[Any], bool | None]:
    """Compile a lowered schema; the function answers None where the library broke down.

    Raises:
        SchemaError: it does not compile.
    """
    import fastjsonschema  # noqa: PLC0415 - 22 ms that only a first call pays

    try:
        run = fastjsonschema.compile(
            lowered,
            handlers=_Refuse(),
            use_default=False,
            use_formats=False,
            # Nobody reads them: the judge explains. Without, half as much is compiled.
            detailed_exceptions=False,
        )
    except Exception as error:
        text = f"The schema does not compile ({type(error).__name__})"
        raise SchemaError(text, keyword="schema", pointer="") from error
    failure = fastjsonschema.JsonSchemaValueException

    def accepts(value: Any) -> bool | None:
        try:
            run(value)
        except failure:
            return False
        except Exception:  # noqa: BLE001 - arithmetic of its generated code can fail
            return None
        return True

    return accepts


def has_other() -> bool:
    """Tell whether ``jsonschema-rs`` is installed."""
    return find_spec("jsonschema_rs") is not None


class Other:
    """A schema compiled by ``jsonschema-rs``.

    Raises:
        SchemaError: the schema breaks its own meta-schema, or does not compile.
    """

    def __init__(self, schema: JsonSchema, draft: str) -> None:
        import jsonschema_rs  # noqa: PLC0415 - an extra

        if isinstance(schema, Mapping):
            schema = {**schema, "$schema": _DRAFTS[draft]}
        self._failure = jsonschema_rs.ValidationError
        try:
            jsonschema_rs.meta.validate(schema)
            self._validator = jsonschema_rs.validator_for(
                schema,
                validate_formats=False,
                retriever=_refuse,
                pattern_options=jsonschema_rs.FancyRegexOptions(
                    backtrack_limit=_MOST_BACKTRACKING, size_limit=_LARGEST_PATTERN
                ),
            )
        except jsonschema_rs.ValidationError as error:
            keyword = str(error.instance_path[-1]) if error.instance_path else "schema"
            text = error.message[:200]
            where = _pointer(error.instance_path)
            raise SchemaError(text, keyword=keyword, pointer=where) from None
        except Exception as error:  # noqa: BLE001 - it lets out whatever compiling raises
            text = f"The schema does not compile: {str(error)[:200]}"
            raise SchemaError(text, keyword="schema", pointer="") from None

    def accepts(self, value: Any) -> bool:
        """Tell whether a value is valid; one that cannot be judged is not."""
        try:
            return self._validator.is_valid(value)
        except Exception:  # noqa: BLE001 - what cannot be judged is refused
            return False

    def first(self, value: Any) -> Problem:
        """Return the first thing that is wrong; all of them could take too long."""
        try:
            self._validator.validate(value)
        except self._failure as error:
            return Problem(
                _pointer(error.instance_path),
                error.kind.name,
                error.message[:200],
                shorten(error.instance),
            )
        except Exception as error:  # noqa: BLE001 - what cannot be judged is refused
            text = f"the value cannot be judged ({type(error).__name__})"
            return Problem("", "schema", text)
        return Problem("", "schema", "the value is refused")


def _pointer(path: list[str | int]) -> str:
    return "".join(f"/{escape(str(step))}" for step in path)
