"""What discovery finds: packs, where they come from, and what was refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib.outcome import Refusal
from toolcrib.tool import Provenance

from .installed import Claim


if TYPE_CHECKING:
    from toolcrib.manifest.document import PackManifest


__all__ = ["Claim", "Finding", "Findings"]


@attrs.frozen(kw_only=True, eq=False)
class Finding:
    """One pack: its manifest, and where it comes from.

    Attributes:
        distribution, version: None for a pack passed in as an object.
        entry_point: ``module:attribute``, or None for such a pack.
        plugin: The object itself, for such a pack.
    """

    pack_id: str
    manifest: PackManifest = attrs.field(repr=False)
    provenance: Provenance
    distribution: str | None = None
    version: str | None = None
    entry_point: str | None = None
    plugin: Any = attrs.field(default=None, repr=False)

    def __str__(self) -> str:
        return f"pack {self.pack_id} of {self.provenance}"


Prover = Callable[[Claim], Finding | Refusal]


class Findings:
    """What is installed.

    A manifest is read when somebody asks for its pack, and once.

    Attributes:
        claims: Installed packs whose package is the one that import would load, by
            pack id and distribution.
        local: Packs that were given as objects or findings.
        troubles: What was refused before any manifest was read.
    """

    def __init__(
        self,
        packs: Iterable[Finding] = (),
        refusals: Iterable[Refusal] = (),
        *,
        claims: Iterable[Claim] = (),
        prover: Prover | None = None,
    ) -> None:
        self.local: tuple[Finding, ...] = tuple(packs)
        self.troubles: tuple[Refusal, ...] = tuple(refusals)
        self.claims: tuple[Claim, ...] = tuple(claims)
        self._prover = prover
        self._proved: dict[Claim, Finding | Refusal] = {}

    @property
    def packs(self) -> tuple[Finding, ...]:
        """Every pack with a good manifest, by pack id and distribution."""
        proved = (self.prove(claim) for claim in self.claims)
        found = [f for f in (*self.local, *proved) if isinstance(f, Finding)]
        return tuple(sorted(found, key=lambda f: (f.pack_id, f.distribution or "")))

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Everything that was refused, manifests included, in a stable order."""
        proved = (self.prove(claim) for claim in self.claims)
        return (*self.troubles, *(r for r in proved if isinstance(r, Refusal)))

    def prove(self, claim: Claim) -> Finding | Refusal:
        """Read and check the manifest of one claim, once."""
        known = self._proved.get(claim)
        if known is None:
            if self._prover is None:  # pragma: no cover - claims come with their prover
                raise LookupError(str(claim))
            known = self._proved[claim] = self._prover(claim)
        return known

    def with_local(self, findings: Iterable[Finding]) -> Findings:
        """Return the same findings and more given ones."""
        more = Findings(
            (*self.local, *findings),
            self.troubles,
            claims=self.claims,
            prover=self._prover,
        )
        more._proved = self._proved
        return more
