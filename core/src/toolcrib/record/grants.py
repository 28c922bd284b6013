"""Remembered approvals: saved, found, used at most as often as they say, revoked."""

from __future__ import annotations

import sqlite3

from typing import Any, Final

from toolcrib import canonical
from toolcrib.errors import RecordError
from toolcrib.question import Grant
from toolcrib.vocabulary import Scope

from .damage import readable
from .forms import grant_from_json, grant_to_json, text_of
from .journal import Journal


__all__ = ["USE_GRANT", "Grants"]

_STANDING: Final = (
    "revoked = 0 AND (expires IS NULL OR expires > ?) AND (uses_left IS NULL OR uses_left > 0)"
)
USE_GRANT: Final = f"UPDATE grants SET uses_left = uses_left - 1 WHERE id = ? AND {_STANDING}"  # noqa: S608
_COVER: Final = (
    "SELECT body, uses_left, revoked FROM grants WHERE tool = ? "  # noqa: S608
    "AND (arguments = ? OR arguments IS NULL) AND definition = ? AND principal = ? "
    f"AND {_STANDING} AND bound IN (?, ?, ?) ORDER BY arguments IS NULL, rowid"
)
_PROJECT: Final = (
    "SELECT body, uses_left, revoked FROM grants WHERE principal = ? AND bound = ? "  # noqa: S608
    f"AND {_STANDING} ORDER BY rowid"
)
_USABLE: Final = (
    f"SELECT body, uses_left, revoked FROM grants WHERE {_STANDING} AND principal = ? "  # noqa: S608
    "AND bound IN (?, ?, ?) ORDER BY rowid"
)
_GRANTS: Final = (
    "SELECT g.body, g.uses_left, g.revoked FROM grants g "  # noqa: S608
    "JOIN conversations v ON v.id = g.conversation "
    f"WHERE ({_STANDING} OR NOT ?) AND (? IS NULL OR v.name = ?) ORDER BY g.rowid"
)


class Grants(Journal):
    """The part of the ledger that holds grants."""

    def grant(self, grant: Grant, *, session: str = "", project: str = "") -> None:
        """Save a grant.

        Args:
            grant: What was approved.
            session: The opening of the conversation that a grant of scope ``session``
                ends with.
            project: The project that a grant of scope ``project`` is for.

        Raises:
            RecordError: it cannot be written, or the id is taken.
        """
        if (grant.arguments_digest is None) == (grant.rule is None):
            text = f"grant {grant.id!r} needs either arguments or a rule"
            raise RecordError(text)
        form = text_of(grant_to_json(grant))
        row = (
            grant.id,
            grant.tool_id,
            grant.definition_digest,
            grant.arguments_digest,
            grant.principal,
            grant.scope,
            _bound(grant.scope, grant.conversation, session, project),
            grant.expires,
            1 if grant.scope is Scope.ONCE else grant.uses_left,
            grant.revoked,
            form,
        )
        try:
            with self._writing as execute:
                self._append(grant.conversation, "grant", f'{{"grant":{form}}}')
                identity = self._heads[grant.conversation].id
                execute(
                    "INSERT INTO grants (conversation, id, tool, definition, arguments, "
                    "principal, scope, bound, expires, uses_left, revoked, body) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (identity, *row),
                )
        except sqlite3.IntegrityError as error:
            text = f"{self.place}: grant {grant.id!r} is saved already"
            raise RecordError(text) from error

    def covering(
        self,
        *,
        tool_id: str,
        definition_digest: str,
        arguments_digest: str,
        principal: str,
        conversation: str,
        session: str = "",
        project: str = "",
    ) -> tuple[Grant, ...]:
        """Return the standing grants that may cover a call.

        First those for these very arguments, then those with a rule, which the caller
        must still match. Expired, revoked and used grants are left out, as are those of
        another principal, session, project or definition.
        """
        values = (tool_id, arguments_digest, definition_digest, principal, self._clock())
        bounds = tuple(_bound(s, conversation, session, project) for s in Scope)
        return tuple(_grant(row) for row in self._rows(_COVER, values + bounds))

    def standing(
        self, *, principal: str, conversation: str, session: str = "", project: str = ""
    ) -> tuple[Grant, ...]:
        """Return all grants that a session may use when it opens, oldest first."""
        bounds = tuple(_bound(s, conversation, session, project) for s in Scope)
        rows = self._rows(_USABLE, (self._clock(), principal, *bounds))
        return tuple(_grant(row) for row in rows)

    def use_grant(self, grant_id: str, *, call_id: str | None = None) -> bool:
        """Use a grant once; False if it is used up, revoked or expired.

        A call that is noted with :meth:`Ledger.intent` uses its grant there.
        """
        with self._writing as execute:
            used = execute(USE_GRANT, (grant_id, self._clock()))
            if used.rowcount != 1:
                return False
            self._note_grant(grant_id, "grant.used", call_id)
        return True

    def revoke_grant(self, grant_id: str) -> bool:
        """Revoke a grant at once, in every process; False if it did not stand."""
        with self._writing as execute:
            changed = execute(
                "UPDATE grants SET revoked = 1 WHERE id = ? AND revoked = 0", (grant_id,)
            )
            if changed.rowcount != 1:
                return False
            self._note_grant(grant_id, "grant.revoked", None)
        return True

    def _note_grant(self, grant_id: str, kind: str, call_id: str | None) -> None:
        row = self._execute(
            "SELECT v.name FROM grants g JOIN conversations v ON v.id = g.conversation "
            "WHERE g.id = ?",
            (grant_id,),
        ).fetchone()
        body = canonical.dumps({"call_id": call_id, "grant_id": grant_id})
        self._append(row[0], kind, body, call=call_id)

    def end_session(self, conversation: str, session: str) -> int:
        """Revoke the grants of one opening of a conversation; return how many stood."""
        bound = _bound(Scope.SESSION, conversation, session, "")
        rows = self._rows("SELECT id FROM grants WHERE bound = ? AND revoked = 0", (bound,))
        return sum(self.revoke_grant(row[0]) for row in rows)

    def project_grants(self, principal: str, project: str) -> tuple[Grant, ...]:
        """Return the standing grants of a principal for a whole project, oldest first."""
        bound = _bound(Scope.PROJECT, "", "", project)
        rows = self._rows(_PROJECT, (principal, bound, self._clock()))
        return tuple(_grant(row) for row in rows)

    def grants(
        self, conversation: str | None = None, *, standing: bool = True
    ) -> tuple[Grant, ...]:
        """Return grants, oldest first.

        Args:
            conversation: Only those given in one conversation.
            standing: Leave out what is expired, revoked or used up.
        """
        rows = self._rows(_GRANTS, (self._clock(), standing, conversation, conversation))
        return tuple(_grant(row) for row in rows)


def _bound(scope: Scope, conversation: str, session: str, project: str) -> str:
    """Return what a grant of a scope ends with, as one text to compare."""
    if scope is Scope.PROJECT:
        return canonical.dumps([scope, project])
    if scope is Scope.SESSION:
        return canonical.dumps([scope, conversation, session])
    return canonical.dumps([scope, conversation])


@readable
def _grant(row: Any) -> Grant:
    body, uses_left, revoked = row
    return grant_from_json(canonical.loads(body), uses_left=uses_left, revoked=bool(revoked))
