"""What goes into fields: values as they are given, secrets only where nobody sees them."""

from __future__ import annotations

import ipaddress

from collections.abc import Mapping

from toolcrib import Context, Refused

from .actions import Fill, Type
from .desk import Desk
from .elements import Element
from .fields import is_secret_field
from .origins import host_of


__all__ = ["values_of"]


async def values_of(
    ctx: Context, desk: Desk, action: Fill | Type, elements: Mapping[str, Element]
) -> dict[str, str]:
    """Return what goes into each field, by ref.

    Raises:
        Refused: a credential field is given a literal (``browser.secret_needed``), or a
            secret would go into a field that shows it (``browser.secret_shown``), or
            over a connection that others can read (``browser.secret_in_clear``).
        Unavailable: policy binds no such secret to this tool and host.
    """
    if isinstance(action, Type):
        _judge_literal(elements[action.ref])
        return {}
    values: dict[str, str] = {}
    for field in action.fields:
        element = elements[field.ref]
        if field.secret is None:
            if field.value:
                _judge_literal(element)
            values[field.ref] = field.value or ""
            continue
        _judge_secret(desk, element)
        value = await ctx.secret(field.secret, destination=host_of(element.origin))
        desk.secrets[field.secret] = value
        values[field.ref] = value
    return values


def _judge_literal(element: Element) -> None:
    if not is_secret_field(element.facts):
        return
    text = (
        f"Field {element.ref} is for a credential: it takes a secret by its name, never a "
        "value. Use fill with secret; the user binds secrets under [secrets] in toolcrib.toml."
    )
    raise Refused(text, code="browser.secret_needed")


def _judge_secret(desk: Desk, element: Element) -> None:
    if not is_secret_field(element.facts):
        text = (
            f"Field {element.ref} is an ordinary one, which shows what it holds. Secrets go "
            "into password fields and the like only."
        )
        raise Refused(text, code="browser.secret_shown")
    host = host_of(element.origin)
    policy = desk.engine.policy
    own = host == "localhost" or _is_loopback(host)
    if not (element.origin.startswith("https:") or own or policy.host_named(host)):
        text = (
            f"Secrets are sent over https only, and {element.origin} is not. Only the user "
            "can allow it, by naming the host in allow of [pack.browser.net]."
        )
        raise Refused(text, code="browser.secret_in_clear")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
