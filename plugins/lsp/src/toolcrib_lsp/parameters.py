"""Parameters that several tools share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

from toolcrib import AtLeast, Between, Length


__all__ = ["Column", "Cursor", "File", "Limit", "Line", "Name", "Wait"]

File: TypeAlias = Annotated[Path, "File, from the workspace or absolute"]
Line: TypeAlias = Annotated[int | None, "Line, from 1", AtLeast(1)]
Name: TypeAlias = Annotated[
    str | None, "What stands there, as it is written, such as load or self.load", Length(1, 500)
]
Column: TypeAlias = Annotated[
    int | None, "Column in characters, from 1; only if the name stands twice", AtLeast(1)
]
Wait: TypeAlias = Annotated[
    int, "Seconds to wait for a server that starts or indexes", Between(0, 110)
]
Limit: TypeAlias = Annotated[int, "Most entries", Between(1, 500)]
Cursor: TypeAlias = Annotated[str | None, "From the answer before, to go on"]
