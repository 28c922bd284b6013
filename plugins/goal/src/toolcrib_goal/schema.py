"""The file of goals: what makes it, and what brings an old one up to date."""

from __future__ import annotations


__all__ = ["APPLICATION", "MIGRATIONS"]

APPLICATION = 0x74634731  # "tcG1"

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE goals (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        grp TEXT NOT NULL,
        conversation TEXT NOT NULL,
        objective TEXT NOT NULL,
        revision INTEGER NOT NULL DEFAULT 1,
        status TEXT NOT NULL,
        version INTEGER NOT NULL DEFAULT 1,
        reason TEXT,
        calls INTEGER, seconds REAL, tokens INTEGER,
        used_calls INTEGER NOT NULL DEFAULT 0,
        used_seconds REAL NOT NULL DEFAULT 0,
        used_tokens INTEGER NOT NULL DEFAULT 0,
        since REAL,
        attempt INTEGER NOT NULL DEFAULT 0,
        requester TEXT,
        evidence TEXT,
        digest TEXT,
        verdict TEXT,
        same INTEGER NOT NULL DEFAULT 0,
        last TEXT,
        created REAL NOT NULL,
        updated REAL NOT NULL
    );
    CREATE UNIQUE INDEX goals_one ON goals (grp, conversation)
        WHERE status NOT IN ('complete', 'dropped');
    CREATE INDEX goals_grp ON goals (grp, seq);
    CREATE TABLE verdicts (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        goal INTEGER NOT NULL REFERENCES goals (seq),
        attempt INTEGER NOT NULL,
        passed INTEGER NOT NULL,
        by TEXT NOT NULL,
        digest TEXT NOT NULL,
        grounds TEXT NOT NULL,
        given REAL NOT NULL
    )
    """,
)
