"""Artifacts: content too large or too binary for a result, kept by its SHA-256."""

from __future__ import annotations

from .blobs import Healed
from .export import export
from .index import Artifact
from .store import ArtifactStore, Namespace, Quota, SessionArtifacts


__all__ = [
    "Artifact",
    "ArtifactStore",
    "Healed",
    "Namespace",
    "Quota",
    "SessionArtifacts",
    "export",
]
