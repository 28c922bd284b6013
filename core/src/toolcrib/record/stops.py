"""Orders to stop a conversation, which every process that works on it sees."""

from __future__ import annotations

from toolcrib import canonical

from .calls import check_name
from .damage import readable
from .journal import Journal


__all__ = ["Stops"]


class Stops(Journal):
    """The part of the ledger that orders to stop live in."""

    def stop(self, conversation: str, *, by: str, reason: str = "") -> None:
        """Note that what runs for a conversation, and for those it started, is to end.

        Raises:
            RecordError: it cannot be written, so other processes will not hear of it.
        """
        check_name(conversation)
        body = canonical.dumps({"by": by, "reason": reason})
        with self._writing:
            self._append(conversation, "stop", body)

    def stopped(self, conversation: str, *, since: float) -> str | None:
        """Return who ordered a conversation, or one that started it, to stop, and why.

        Args:
            conversation: Its name.
            since: Seconds since the epoch; orders from before do not count.
        """
        parts = conversation.split("/")
        names = ["/".join(parts[: number + 1]) for number in range(len(parts))]
        marks = ", ".join("?" * len(names))
        rows = self._rows(
            "SELECT e.body FROM entries e JOIN conversations v ON v.id = e.conversation "  # noqa: S608
            f"WHERE v.name IN ({marks}) AND e.number > v.entries - 1000 "
            "AND e.kind = 'stop' AND e.time >= ? ORDER BY e.seq DESC LIMIT 1",
            (*names, since),
        )
        if not rows:
            return None
        return _words(rows[0][0])


@readable
def _words(body: str) -> str:
    """Say what an order says."""
    said = canonical.loads(body)
    why = f": {said['reason']}" if said["reason"] else ""
    return f"{said['by']} stopped the conversation{why}"
