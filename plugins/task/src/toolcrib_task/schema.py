"""The file of tasks: what makes it, and what brings an old one up to date."""

from __future__ import annotations


__all__ = ["APPLICATION", "MIGRATIONS", "MISFITS"]

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
    """
    CREATE INDEX gone_change ON gone (grp, change)
    """,
)

MISFITS = """
    SELECT t.seq, t.grp, 'it does not wait for as many as are not done' FROM tasks AS t
        WHERE t.waiting != (SELECT count(*) FROM needs JOIN tasks AS o ON o.seq = on_task
                            WHERE task = t.seq AND o.status != 'done')
    UNION ALL
    SELECT seq, grp, 'it needs others, and does not say so' FROM tasks
        WHERE NOT needing AND seq IN (SELECT task FROM needs)
    UNION ALL
    SELECT seq, grp, 'it is held by nobody, or without an end' FROM tasks
        WHERE (status IN ('claimed', 'working')) != (lease IS NOT NULL AND owner IS NOT NULL)
    UNION ALL
    SELECT seq, grp, 'it has a number of a change that was not yet made' FROM tasks
        WHERE change > (SELECT number FROM counter)
"""
"""What does not fit together, by number and list, with what is wrong."""
