"""The pack's table of the policy file, read once and refused with the key that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib import Unavailable

from .origins import Origins


if TYPE_CHECKING:
    from toolcrib_net import FixedResolver, NetPolicy


__all__ = ["BrowserSettings"]


def _positive(_: Any, field: attrs.Attribute[Any], value: float) -> None:
    if not value > 0:
        text = f"{field.name} must be above zero, not {value!r}"
        raise ValueError(text)


@attrs.frozen(kw_only=True)
class BrowserSettings:
    """How the pack behaves.

    Attributes:
        executable: The browser's program; found on the path by default.
        net: What its traffic may do; a table of ``toolcrib_net.NetPolicy``.
        hosts: Names with addresses of their own, instead of what a resolver says.
        navigate: Origins that pages may have (``https://*.example.com``); empty: any
            that rules and net let through.
        requests: Hosts, or origins, that pages may ask for anything; empty: any.
        sessions: Contexts at once.
        pages: Pages of one session at once.
        queue: Operations of one session that wait.
        width, height: The viewport, in CSS pixels.
        language, timezone: What pages are told.
        download_mib: Largest download that is kept.
        sandbox: Whether the browser's own sandbox is used: ``auto`` is yes, except for
            root, for whom it does not start; ``off`` is for containers without it.
    """

    executable: Path | None = None
    net: Mapping[str, Any] = attrs.field(factory=dict)
    hosts: Mapping[str, list[str]] = attrs.field(factory=dict)
    navigate: Origins = attrs.field(factory=Origins)
    requests: Origins = attrs.field(factory=Origins)
    sessions: int = attrs.field(default=8, validator=_positive)
    pages: int = attrs.field(default=8, validator=_positive)
    queue: int = attrs.field(default=32, validator=_positive)
    width: int = attrs.field(default=1440, validator=_positive)
    height: int = attrs.field(default=900, validator=_positive)
    language: str = "en-US"
    timezone: str = "UTC"
    download_mib: int = attrs.field(default=32, validator=_positive)
    sandbox: str = "auto"

    def policy(self) -> NetPolicy:
        """Return what the browser's traffic may do."""
        from toolcrib_net import NetPolicy

        # A page asks one host for many things at once.
        return NetPolicy.from_table({"per_host": 32, "max_connections": 256, **self.net})

    def resolver(self) -> FixedResolver:
        """Return what turns names into addresses."""
        from toolcrib_net import FixedResolver, SystemResolver

        return FixedResolver(self.hosts, SystemResolver())

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> BrowserSettings:
        """Read the table ``[pack.browser]``.

        Raises:
            Unavailable: something in it cannot be used (``browser.settings``).
        """
        try:
            return cls._read(table)
        except (ValueError, TypeError) as error:
            text = (
                f"The settings [pack.browser] cannot be used: {error}. The user must mend them."
            )
            raise Unavailable(text, code="browser.settings") from error

    @classmethod
    def _read(cls, table: Mapping[str, Any]) -> BrowserSettings:
        known = {field.name: field.default for field in attrs.fields(cls)}
        values: dict[str, Any] = {}
        for key, value in table.items():
            if key not in known:
                text = f"{key} is not known; known are {', '.join(known)}"
                raise ValueError(text)
            try:
                values[key] = _READERS.get(key, _like(known[key]))(value)
            except (ValueError, TypeError) as error:
                text = f"{key}: {error}"
                raise ValueError(text) from error
        settings = cls(**values)
        settings.policy()
        return settings


def _like(default: Any) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if type(value) is not type(default):
            text = f"it must be like {default!r}, not {value!r}"
            raise ValueError(text)
        return value

    return check


def _table(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        text = f"{value!r} must be a table"
        raise ValueError(text)  # noqa: TRY004 - a setting's mistake is a value
    return value


def _sandbox(value: Any) -> str:
    if value not in {"auto", "off"}:
        text = f"it must be auto or off, not {value!r}"
        raise ValueError(text)
    return str(value)


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "executable": Path,
    "net": _table,
    "hosts": _table,
    "navigate": Origins.read,
    "requests": Origins.read,
    "sandbox": _sandbox,
}
