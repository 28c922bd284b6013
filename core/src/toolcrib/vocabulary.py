"""The closed sets of words that the contract, the command line and errors share."""

from __future__ import annotations

from enum import StrEnum


__all__ = [
    "Access",
    "Audience",
    "Cancellation",
    "Concurrency",
    "Durability",
    "Effect",
    "Idempotence",
    "Kind",
    "Label",
    "Mode",
    "Scope",
    "Status",
    "kind_of",
]


class _Words(StrEnum):
    """A closed set of words, which are listed to whoever uses another."""

    @classmethod
    def _missing_(cls, value: object) -> None:
        words = ", ".join(repr(str(word)) for word in cls)
        text = f"{value!r} is no {cls.__name__.lower()}: it is one of {words}"
        raise ValueError(text)


class Effect(_Words):
    """What a call may do to the world."""

    FS_READ = "fs_read"
    FS_WRITE = "fs_write"
    PROCESS = "process"
    NET_READ = "net_read"
    NET_WRITE = "net_write"
    AGENT = "agent"
    HOST_STATE = "host_state"
    BROWSER = "browser"
    DEVICE = "device"


class Kind(_Words):
    """A label derived from effects; it never decides anything."""

    READ_ONLY = "read_only"
    WRITE = "write"
    EXECUTE = "execute"


_READS = frozenset({Effect.FS_READ, Effect.NET_READ})
_WRITES = frozenset({Effect.FS_WRITE, Effect.NET_WRITE, Effect.HOST_STATE})


def kind_of(effects: frozenset[Effect]) -> Kind:
    """Derive the label of a set of effects."""
    if effects <= _READS:
        return Kind.READ_ONLY
    if effects <= _READS | _WRITES:
        return Kind.WRITE
    return Kind.EXECUTE


class Audience(_Words):
    """To whom a tool is described."""

    MODEL = "model"
    USER = "user"
    OPERATOR = "operator"


class Idempotence(_Words):
    """Whether a call may be replayed after a transient failure."""

    NO = "no"
    YES = "yes"
    KEYED = "keyed"


class Concurrency(_Words):
    """Beside which calls a call may run.

    ``exclusive``: never beside a call that shares one of its resources.
    ``shared``: excluded only by writers of one of its resources.
    """

    EXCLUSIVE = "exclusive"
    SHARED = "shared"


class Cancellation(_Words):
    """What cancelling a running call really does."""

    COOPERATIVE = "cooperative"
    THREAD = "thread"
    PROCESS = "process"
    REMOTE = "remote"


class Label(_Words):
    """What flows through a tool; policy may forbid a combination in one session."""

    READS_PRIVATE = "reads_private"
    RETURNS_UNTRUSTED = "returns_untrusted"
    SENDS_OUT = "sends_out"


class Access(_Words):
    """How a call touches one resource."""

    READ = "read"
    WRITE = "write"


class Mode(_Words):
    """What happens to a call that no rule, grant or person has decided."""

    PLAN = "plan"
    ASK = "ask"
    EDITS = "edits"
    TRUST = "trust"


class Scope(_Words):
    """How long an approval lasts."""

    ONCE = "once"
    SESSION = "session"
    PROJECT = "project"


class Durability(_Words):
    """What a committed receipt survives: ``normal`` kill -9, ``full`` power loss."""

    NORMAL = "normal"
    FULL = "full"


class Status(_Words):
    """How a call ended. ``uncertain``: the effect may have happened."""

    OK = "ok"
    INVALID = "invalid"
    UNKNOWN_TOOL = "unknown_tool"
    REFUSED = "refused"
    NEEDS_APPROVAL = "needs_approval"
    UNAVAILABLE = "unavailable"
    BUSY = "busy"
    NOT_FOUND = "not_found"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    UNCERTAIN = "uncertain"
