"""A private SQLite file for a pack: opened with care, migrated, checked, copied, exported."""

from __future__ import annotations

from .database import Database
from .errors import BusyError, DatabaseError, StoreError
from .telling import told


__all__ = ["BusyError", "Database", "DatabaseError", "StoreError", "told"]
