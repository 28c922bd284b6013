"""Discover and compose together: what finds packs and settles their conflicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .catalog.stage import Catalog, compose
from .discovery.findings import Findings
from .discovery.stage import discover, local_finding
from .outcome import Refusal
from .policy.value import Policy


__all__ = ["Registry"]


class Registry:
    """Finds packs once and composes catalogs from them.

    ::

        registry = Registry.discover()
        catalog = registry.compose(Policy(packs=["toolcrib-web"]))

    Attributes:
        findings: What is installed.
    """

    def __init__(self, findings: Findings) -> None:
        self.findings = findings

    @classmethod
    def discover(cls, *, path: Sequence[str] | None = None, develop: bool = False) -> Registry:
        """Read what is installed; nothing is imported."""
        return cls(discover(path=path, develop=develop))

    def compose(self, policy: Policy, *, core: Iterable[Any] = (), **options: Any) -> Catalog:
        """Compose a catalog; the policy's local packs, and the core's, are added.

        Args:
            policy: What the user decided.
            core: Packs of the core itself.
            options: Those of :func:`toolcrib.catalog.compose`.
        """
        given = [local_finding(pack, core=True) for pack in core]
        given += [local_finding(pack) for pack in policy.local]
        return compose(self.findings.with_local(given), policy, **options)

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Everything that was refused while discovering; reads every manifest."""
        return self.findings.refusals
