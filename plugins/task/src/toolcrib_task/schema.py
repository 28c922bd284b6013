"""The file of tasks: what makes it, and what brings an old one up to date."""

from __future__ import annotations


__all__ = ["APPLICATION", "MIGRATIONS"]

APPLICATION = 0x74635431  # "tcT1"

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE counter (number INTEGER NOT NULL);
    INSERT INTO counter VALUES (0);
    CREATE TABLE tasks (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        grp TEXT NOT NULL,
        title TEXT NOT NULL,
        description TEXT NOT NULL,
        status TEXT NOT NULL,
        priority INTEGER NOT NULL,
        owner TEXT,
        lease REAL,
        attempt INTEGER NOT NULL DEFAULT 0,
        repeatable INTEGER NOT NULL,
        version INTEGER NOT NULL DEFAULT 1,
        needing INTEGER NOT NULL DEFAULT 0,
        waiting INTEGER NOT NULL DEFAULT 0,
        evidence TEXT,
        metadata TEXT NOT NULL,
        created REAL NOT NULL,
        updated REAL NOT NULL,
        change INTEGER NOT NULL
    );
    CREATE INDEX tasks_next ON tasks (grp, status, waiting, priority, seq);
    CREATE INDEX tasks_order ON tasks (grp, priority, seq);
    CREATE INDEX tasks_lease ON tasks (lease) WHERE lease IS NOT NULL;
    CREATE INDEX tasks_change ON tasks (grp, change);
    CREATE TABLE needs (
        task INTEGER NOT NULL REFERENCES tasks (seq),
        on_task INTEGER NOT NULL REFERENCES tasks (seq),
        PRIMARY KEY (task, on_task)
    ) WITHOUT ROWID;
    CREATE INDEX needs_on ON needs (on_task);
    CREATE TABLE gone (seq INTEGER PRIMARY KEY, grp TEXT NOT NULL, change INTEGER NOT NULL)
    """,
    """
    CREATE TABLE runs (
        job TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        type TEXT NOT NULL,
        description TEXT NOT NULL,
        root TEXT NOT NULL,
        resumed_from TEXT,
        depth INTEGER NOT NULL,
        worktree TEXT,
        branch TEXT,
        base TEXT,
        settled TEXT,
        created REAL NOT NULL
    )
    """,
)
