"""What the calls of one session are judged by, kept current."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolcrib.errors import RecordError
from toolcrib.permission import AuthorityContext, GrantView
from toolcrib.vocabulary import Label, Mode


if TYPE_CHECKING:
    from toolcrib.question import Grant
    from toolcrib.signature import Resource, Signature
    from toolcrib.tool import Tool

    from .session import Session


__all__ = ["Authority"]


class Authority:
    """Rules, grants, mode and labels of one session."""

    def __init__(self, session: Session, mode: Mode) -> None:
        self._session = session
        self.mode_now = mode
        self._grants = GrantView()
        self._labels: frozenset[Label] = frozenset()
        self._context: AuthorityContext | None = None
        self._place: Any = None
        self.problems: list[str] = []

    @property
    def mode(self) -> Mode:
        """What happens to calls that nothing else decides."""
        return self.mode_now

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self.mode_now = mode
        self._context = None

    def load(self) -> None:
        """Take up the grants that were given to this principal before."""
        session = self._session
        ledger = session.toolbox.ledger
        for grant in ledger.standing(
            principal=session.principal,
            conversation=session.conversation,
            session=session.id,
            project=self._project,
        ):
            self._grants.add(grant)

    @property
    def _project(self) -> str:
        return str(self._session.toolbox.workspace.root)

    def keep(self, grant: Grant) -> None:
        """Remember a grant; failing to store it never refuses the approved call."""
        session = self._session
        self._grants.add(grant)
        try:
            session.toolbox.ledger.grant(grant, session=session.id, project=self._project)
        except RecordError as error:
            self.problems.append(f"grant {grant.id} holds for this session only: {error}")

    def used(self, grant_id: str) -> None:
        """Count a run that a grant covered; the ledger has counted it already."""
        if self._grants.get(grant_id) is not None:
            self._grants.used(grant_id)

    def ran(self, tool: Tool) -> None:
        """Note what flowed, now that a tool ran."""
        if not tool.labels <= self._labels:
            self._labels |= tool.labels
            self._context = None
        # What a sub-agent read comes back to its caller.
        if self._session.parent is not None:
            self._session.parent.authority.ran(tool)

    def barrier(self, tool_id: str, signature: Signature | None) -> Callable[[Resource], bool]:
        """Return what tells whether rules keep a call from something that it came upon."""
        entry = self._session.toolbox.catalog.tools.get(tool_id)
        if entry is None or signature is None:
            # Nothing was authorised, so nothing is let through.
            return lambda _: True
        from toolcrib.permission import Barrier  # noqa: PLC0415 - only calls that walk pay

        return Barrier(entry.tool, signature, self.context()).bars

    def context(self) -> AuthorityContext:
        """Return what a call is judged by now; for a fork also what its parent is."""
        session, toolbox = self._session, self._session.toolbox
        above = session.parent.authority.context() if session.parent is not None else None
        place = session.workspace
        known = self._context
        if known is None or known.parent is not above or self._place is not place:
            self._place = place
            known = self._context = AuthorityContext(
                workspace=place.root,
                rules=toolbox.rules_in(place.root),
                parent=above,
                agent=session.conversation if above is not None else None,
                grants=self._grants,
                mode=self.mode_now,
                protected=toolbox.protected,
                pack_state=toolbox.pack_state,
                principal=session.principal,
                conversation=session.conversation,
                labels_seen=self._labels,
                forbid_labels=toolbox.policy.forbid_labels,
                clock=toolbox.clock,
                policy_file=toolbox.policy.file,
            )
        return known
