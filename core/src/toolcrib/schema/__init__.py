"""Rebuild JSON Schemas into a closed normal form that is enforced exactly."""

from __future__ import annotations

from .normal import Change, Engine, NormalSchema
from .normalizing import normalize
from .problem import Problem


__all__ = ["Change", "Engine", "NormalSchema", "Problem", "normalize"]
