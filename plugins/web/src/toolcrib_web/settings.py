"""The pack's table of the policy file, read once and refused with the key that is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs

from toolcrib import Unavailable, resources


if TYPE_CHECKING:
    from toolcrib_net import NetPolicy


__all__ = ["Credential", "ProviderSettings", "WebSettings"]

Robots = Literal["obey", "warn", "ignore"]

#: What requests say they are: a program, by name, that a site can look up and refuse.
USER_AGENT = "toolcrib-web/0.1"
PROVIDERS = ("searxng", "brave", "tavily", "exa", "ddgs")
_MIB = 1 << 20


@attrs.frozen(kw_only=True)
class Credential:
    """What is sent to one host to say who asks: a secret by name, never its value."""

    secret: str
    header: str = "authorization"
    scheme: str = "Bearer"


@attrs.frozen(kw_only=True)
class ProviderSettings:
    """How one search provider is asked.

    Attributes:
        url: Where; needed for ``searxng`` only.
        secret: Name of the secret that holds its key.
        budget: Most requests in a day; 0: no limit.
        timeout: Seconds for one request.
        engines: For ``ddgs``: which engines are asked.
    """

    url: str | None = None
    secret: str | None = None
    budget: int = 0
    timeout: float = 12.0
    engines: tuple[str, ...] = attrs.field(default=(), converter=tuple)


@attrs.frozen(kw_only=True)
class WebSettings:
    """How the pack behaves.

    Attributes:
        net: What requests may do; a table of ``toolcrib_net.NetPolicy``.
        hosts: Names with addresses of their own, instead of what a resolver says.
        ca_file: Certificates that are trusted beside the system's.
        robots: What ``robots.txt`` means.
        offline: Whether only what is stored is given.
        cache_mib: Size of the store on disk; 0: nothing is stored.
        memory_mib: Size of what is kept ready in memory.
        credentials: Host → what is sent to it.
        providers: Search providers in the order in which they are asked.
        search: Provider → how it is asked.
        search_age: Seconds for which a search's results are given again.
        blocked_domains: Domains that no search shows.
    """

    net: Mapping[str, Any] = attrs.field(factory=dict)
    hosts: Mapping[str, list[str]] = attrs.field(factory=dict)
    ca_file: Path | None = None
    robots: Robots = "obey"
    offline: bool = False
    cache_mib: int = 256
    memory_mib: int = 32
    user_agent: str = USER_AGENT
    credentials: Mapping[str, Credential] = attrs.field(factory=dict)
    providers: tuple[str, ...] = ("ddgs",)
    search: Mapping[str, ProviderSettings] = attrs.field(factory=dict)
    search_age: float = 900.0
    blocked_domains: tuple[str, ...] = ()

    @property
    def cache_bytes(self) -> int:
        """Size of the store on disk."""
        return self.cache_mib * _MIB

    def provider(self, name: str) -> ProviderSettings:
        """Return how a provider is asked."""
        return self.search.get(name) or ProviderSettings()

    def policy(self) -> NetPolicy:
        """Return what requests may do."""
        from toolcrib_net import NetPolicy

        policy = NetPolicy.from_table({"user_agent": self.user_agent, **self.net})
        if self.ca_file is None:
            return policy
        import ssl

        context = ssl.create_default_context()
        context.load_verify_locations(self.ca_file)
        return attrs.evolve(policy, tls=context)

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> WebSettings:
        """Read the table ``[pack.web]``.

        Raises:
            Unavailable: something in it cannot be used (``web.settings``).
        """
        try:
            return cls._read(table)
        except (ValueError, TypeError, OSError) as error:
            text = f"The settings [pack.web] cannot be used: {error}. The user must mend them."
            raise Unavailable(text, code="web.settings") from error

    @classmethod
    def _read(cls, table: Mapping[str, Any]) -> WebSettings:
        known = {field.name: field.default for field in attrs.fields(cls)}
        values: dict[str, Any] = {}
        for key, value in table.items():
            if key not in known:
                text = f"{key} is not known; known are {', '.join(known)}"
                raise ValueError(text)
            values[key] = _READERS.get(key, _like(key, known[key]))(value)
        settings = cls(**values)
        settings.policy()
        return settings


def _like(key: str, default: Any) -> Any:
    def check(value: Any) -> Any:
        same = type(value) is type(default) or (
            isinstance(default, float) and type(value) is int
        )
        if not same:
            text = f"{key} must be like {default!r}, not {value!r}"
            raise ValueError(text)
        return value

    return check


def _robots(value: Any) -> Any:
    if value not in {"obey", "warn", "ignore"}:
        text = f"robots must be obey, warn or ignore, not {value!r}"
        raise ValueError(text)
    return value


def _table(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        text = f"{value!r} must be a table"
        raise ValueError(text)  # noqa: TRY004 - a setting's mistake is a value
    return value


def _made(kind: Any) -> Any:
    return lambda value: {name: kind(**_table(each)) for name, each in _table(value).items()}


def _credentials(value: Any) -> Mapping[str, Credential]:
    found = _made(Credential)(value)
    return {resources.Host(host).value: each for host, each in found.items()}


def _providers(value: Any) -> tuple[str, ...]:
    for name in value:
        if name not in PROVIDERS:
            text = f"{name!r} is no search provider; known are {', '.join(PROVIDERS)}"
            raise ValueError(text)
    return tuple(value)


_READERS = {
    "net": _table,
    "hosts": _table,
    "ca_file": Path,
    "robots": _robots,
    "credentials": _credentials,
    "providers": _providers,
    "search": _made(ProviderSettings),
    "blocked_domains": tuple,
}
