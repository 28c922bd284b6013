"""The file of goals: what makes it, and what brings an old one up to date."""

from __future__ import annotations


__all__ = ["APPLICATION", "MIGRATIONS", "MISFITS"]

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
    """
    ALTER TABLE goals ADD COLUMN seen_calls INTEGER
    """,
)

MISFITS = """
    SELECT g.seq, g.grp, 'it is complete without a verdict of somebody else' FROM goals AS g
        WHERE g.status = 'complete' AND NOT EXISTS (
            SELECT 1 FROM verdicts AS v WHERE v.goal = g.seq AND v.passed
            AND v.attempt = g.attempt AND v.digest = g.digest AND v.by != g.requester)
    UNION ALL
    SELECT seq, grp, 'it waits for a verdict, and nothing says on what' FROM goals
        WHERE status = 'verifying' AND (digest IS NULL OR requester IS NULL)
"""
"""What does not fit together, by number and workspace, with what is wrong."""
