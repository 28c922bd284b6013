"""Discover: read installed distributions into findings. Nothing is imported.

Three steps, each cheaper to skip than to take: *claims* (which distributions have an
entry point of ours, from their metadata alone), *location* (is the package that they
name the one that import would load), and *proof* (is its manifest the installed one,
and does it say what it must). The third is taken when somebody asks for the pack, so
that a thousand installed packs with three enabled cost what three cost.
"""

from __future__ import annotations

import sys

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib.codes import refuse
from toolcrib.names import normalize_distribution
from toolcrib.outcome import Refusal
from toolcrib.tool import Provenance

from .copies import Located, settle
from .findings import Finding, Findings
from .installed import Claim, claims_in, entry_points
from .provenance import manifest_bytes, prove
from .searchpath import SearchPath


if TYPE_CHECKING:
    from toolcrib.manifest.document import PackManifest


__all__ = ["discover", "local_finding"]


def discover(
    *,
    path: Sequence[str] | None = None,
    local: Iterable[Any] = (),
    develop: bool = False,
) -> Findings:
    """Read what is installed.

    Args:
        path: Where to look; ``sys.path`` by default.
        local: Packs passed in as objects.
        develop: Let editable installs have no manifest. Their code is then imported
            to ask it, when its pack is enabled.

    Returns:
        Findings in an order that does not depend on the file system.
    """
    search = SearchPath.read(sys.path if path is None else path)
    refusals = list(search.refusals)
    claims: list[Claim] = []
    for folder in search.folders:
        for found in claims_in(folder):
            if isinstance(found, Refusal):
                refusals.append(found)
            else:
                claims.append(found)
    for archive in search.archives:
        refusals += _zipped(archive)
    located, refused = settle(claims, search, develop=develop)
    refusals = sorted((*refusals, *refused), key=lambda r: (r.subject, r.code, r.text))
    given = [local_finding(pack) for pack in local]
    by_claim = {item.claim: item for item in located}
    return Findings(
        given,
        refusals,
        claims=by_claim,
        prover=lambda claim: _named(claim, _prove(by_claim[claim], develop=develop)),
    )


def local_finding(pack: Any, *, core: bool = False) -> Finding:
    """Make the finding of a pack passed in as an object.

    Raises:
        DeclarationError: its tools are declared wrongly.
    """
    from toolcrib.authoring import describe  # noqa: PLC0415 - only for packs given as objects

    manifest = describe(pack)
    how = Provenance(None, manifest.version, None, None, "core" if core else "local")
    return Finding(pack_id=manifest.pack, manifest=manifest, provenance=how, plugin=pack)


def _named(claim: Claim, found: Finding | Refusal) -> Finding | Refusal:
    """Say in a refusal whose tools are withheld, so that a call of one can be answered."""
    if isinstance(found, Finding):
        return found
    return attrs.evolve(found, details={**found.details, "pack": claim.pack_id})


def _prove(item: Located, *, develop: bool) -> Finding | Refusal:
    """Read a manifest, and check that it is the installed one and says what it must."""
    claim = item.claim
    data = manifest_bytes(claim, item.location)
    if isinstance(data, Refusal):
        if develop and item.editable:
            return _described(item)
        return data
    if not item.editable:
        refusal = prove(claim, data)
        if refusal is not None:
            return refusal
    return _read(item, data)


def _read(item: Located, data: bytes) -> Finding | Refusal:
    from toolcrib.errors import ManifestError  # noqa: PLC0415
    from toolcrib.manifest import document as manifest  # noqa: PLC0415

    claim = item.claim
    try:
        read = manifest.read(data, subject=str(claim))
    except ManifestError as error:
        code = getattr(error, "code", None) or "manifest.invalid"
        text = f"the manifest of {claim} is not usable: {error}"
        return refuse(code, claim.distribution, text)
    if read.pack != claim.pack_id:
        text = (
            f"{claim} is declared as pack {claim.pack_id!r}, but the manifest of its "
            f"package says {read.pack!r}; a package holds one pack"
        )
        return refuse("manifest.invalid", claim.distribution, text)
    return _finding(item, read, read.digest)


def _finding(item: Located, manifest: PackManifest, digest: str | None) -> Finding:
    claim = item.claim
    return Finding(
        pack_id=claim.pack_id,
        manifest=manifest,
        provenance=Provenance(
            claim.distribution,
            claim.version,
            claim.entry_point,
            item.location.folder,
            "editable" if item.editable else "wheel",
            digest,
        ),
        distribution=claim.distribution,
        version=claim.version,
        entry_point=claim.entry_point,
    )


def _described(item: Located) -> Finding | Refusal:
    """Ask the code of an editable pack for what its manifest would say."""
    from toolcrib.loading import describe  # noqa: PLC0415 - only under develop

    manifest = describe(item.claim, item.location)
    return manifest if isinstance(manifest, Refusal) else _finding(item, manifest, None)


def _zipped(archive: str) -> Iterator[Refusal]:
    """Refuse the packs in an archive: their files cannot be checked one by one."""
    import zipfile  # noqa: PLC0415 - archives on the path are rare

    try:
        if not zipfile.is_zipfile(archive):
            return
        import importlib_metadata  # noqa: PLC0415 - changes the process: only if needed

        distributions = list(importlib_metadata.distributions(path=[archive]))
    except Exception as error:  # noqa: BLE001 - a broken archive must not hide others
        text = f"the archive {archive} on the import path cannot be read: {error}"
        yield refuse("metadata.unreadable", archive, text)
        return
    for distribution in distributions:
        name = archive
        try:
            text = distribution.read_text("entry_points.txt") or ""
            name = normalize_distribution(distribution.metadata["Name"])
            claims = entry_points(text)
        except Exception as error:  # noqa: BLE001 - the same for one in it
            text = f"the metadata of {name} in {archive} cannot be read: {error}"
            yield refuse("metadata.unreadable", name, text)
            continue
        if claims:
            text = (
                f"{name} lies in the archive {archive}; packs are read from folders, where "
                f"each file can be checked: pip install {name}"
            )
            yield refuse("metadata.unreadable", name, text)
