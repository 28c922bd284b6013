"""The static description of a pack: written, read, checked."""

from __future__ import annotations

from .document import (
    API,
    FILE_NAME,
    MANIFEST_SCHEMA,
    CommandGroup,
    PackManifest,
    dump,
    interface_digest,
    is_reference,
    read,
)


__all__ = [
    "API",
    "FILE_NAME",
    "MANIFEST_SCHEMA",
    "CommandGroup",
    "PackManifest",
    "dump",
    "interface_digest",
    "is_reference",
    "read",
]
