"""The stage *admit*: from what a model sent to arguments that are valid and frozen."""

from __future__ import annotations

from .checking import checked, hopeless
from .stage import admit, check_output


__all__ = ["admit", "check_output", "checked", "hopeless"]
