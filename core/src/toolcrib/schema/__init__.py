"""Rebuild JSON Schemas into a closed normal form that is enforced exactly."""

from __future__ import annotations

from .normal import Change, Engine, JsonSchema, NormalSchema
from .normalizing import normalize
from .problem import Problem


__all__ = ["Change", "Engine", "JsonSchema", "NormalSchema", "Problem", "normalize"]
