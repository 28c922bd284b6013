"""Cookies of one fetch: kept between its redirects, for the host that set them, then gone."""

from __future__ import annotations

import attrs

from .targets import Target


__all__ = ["Jar"]

_MOST = 50
_LARGEST = 4096


@attrs.define
class Jar:
    """What servers asked to remember during one fetch."""

    _kept: dict[tuple[str, str], tuple[str, bool]] = attrs.field(factory=dict)

    def learn(self, target: Target, lines: list[str]) -> None:
        """Keep what a host set for itself; what it sets for others is left out."""
        for line in lines:
            pair, *attributes = line.split(";")
            name, equals, value = (part.strip() for part in pair.partition("="))
            words = dict(_attribute(each) for each in attributes)
            domain = words.get("domain", "").lstrip(".").lower()
            foreign = domain and domain != target.host
            secure = "secure" in words
            broken = not equals or not name or len(line) > _LARGEST
            if foreign or broken or (secure and target.scheme != "https"):
                continue
            key = (target.host, name)
            if words.get("max-age", "").strip() in {"0", "-1"} or not value:
                self._kept.pop(key, None)
            elif len(self._kept) < _MOST or key in self._kept:
                self._kept[key] = (value, secure)

    def header(self, target: Target) -> str | None:
        """Return the ``Cookie`` header for a request, or None."""
        pairs = [
            f"{name}={value}"
            for (host, name), (value, secure) in self._kept.items()
            if host == target.host and (not secure or target.scheme == "https")
        ]
        return "; ".join(pairs) if pairs else None


def _attribute(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip().lower(), value.strip()
