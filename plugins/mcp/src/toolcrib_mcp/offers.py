"""What a served catalog may offer besides tools: prompts, resources, completions.

A pack's tools are served as they are. Who has prompts or resources to offer as well makes
an ``Offers`` and names it: ``toolcrib serve --offers my_package:offers``.
"""

from __future__ import annotations

import base64
import re

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import attrs


__all__ = ["Offers", "Prompt", "Resource", "Template"]

_PART = re.compile(r"\{(\w+)\}")

Reader = Callable[..., Awaitable["str | bytes"]]
Completer = Callable[[str, str, Mapping[str, str]], Awaitable["list[str]"]]


@attrs.frozen(kw_only=True)
class Resource:
    """A resource: its address, and what reads it."""

    uri: str
    read: Reader
    name: str
    description: str = ""
    media_type: str = "text/plain"


@attrs.frozen(kw_only=True)
class Template:
    """Resources whose addresses are made from a template, such as ``x://{id}``."""

    template: str
    read: Reader
    name: str
    description: str = ""
    media_type: str = "text/plain"

    def matches(self, uri: str) -> dict[str, str] | None:
        """Return the parts of an address, or None if it is not made from the template."""
        pattern = ""
        last = 0
        for part in _PART.finditer(self.template):
            pattern += re.escape(self.template[last : part.start()]) + f"(?P<{part[1]}>[^/]+)"
            last = part.end()
        found = re.fullmatch(pattern + re.escape(self.template[last:]), uri)
        return None if found is None else found.groupdict()


@attrs.frozen(kw_only=True)
class Prompt:
    """A prompt: ``get(**arguments)`` gives its messages in the protocol's form."""

    name: str
    get: Callable[..., Awaitable[list[Mapping[str, Any]]]]
    description: str = ""
    arguments: Mapping[str, tuple[str, bool]] = attrs.field(factory=dict)


@attrs.define
class Offers:
    """Prompts, resources and completions to serve."""

    resources: dict[str, Resource] = attrs.field(factory=dict)
    templates: list[Template] = attrs.field(factory=list)
    prompts: dict[str, Prompt] = attrs.field(factory=dict)
    completers: dict[tuple[str, str], Completer] = attrs.field(factory=dict)
    listeners: list[Callable[[str], None]] = attrs.field(factory=list, repr=False)

    def prompts_changed(self) -> None:
        """Tell clients that the prompts are others now."""
        self._tell("prompts")

    def resources_changed(self) -> None:
        """Tell clients that the resources are others now."""
        self._tell("resources")

    def updated(self, uri: str) -> None:
        """Tell subscribers that a resource says something else now."""
        self._tell(uri)

    def _tell(self, what: str) -> None:
        for listener in self.listeners:
            listener(what)

    def resource(
        self, uri: str, *, name: str, description: str = "", media_type: str = "text/plain"
    ) -> Callable[[Reader], Reader]:
        """Offer a resource: decorates ``async () -> str | bytes``."""

        def decorate(read: Reader) -> Reader:
            self.resources[uri] = Resource(
                uri=uri, read=read, name=name, description=description, media_type=media_type
            )
            return read

        return decorate

    def template(
        self, template: str, *, name: str, description: str = "", media_type: str = "text/plain"
    ) -> Callable[[Reader], Reader]:
        """Offer a template: decorates ``async (**parts) -> str | bytes``."""

        def decorate(read: Reader) -> Reader:
            made = Template(
                template=template,
                read=read,
                name=name,
                description=description,
                media_type=media_type,
            )
            self.templates.append(made)
            return read

        return decorate

    def prompt(
        self,
        name: str,
        *,
        description: str = "",
        arguments: Mapping[str, tuple[str, bool]] | None = None,
    ) -> Callable[[Any], Any]:
        """Offer a prompt; ``arguments`` maps names to (description, required)."""

        def decorate(get: Any) -> Any:
            self.prompts[name] = Prompt(
                name=name, get=get, description=description, arguments=arguments or {}
            )
            return get

        return decorate

    def completer(self, reference: str, argument: str) -> Callable[[Completer], Completer]:
        """Suggest values: decorates ``async (value, argument, others) -> list``."""

        def decorate(function: Completer) -> Completer:
            self.completers[reference, argument] = function
            return function

        return decorate

    async def read(self, uri: str) -> dict[str, Any] | None:
        """Return a resource's contents in the protocol's form, or None."""
        known = self.resources.get(uri)
        if known is not None:
            return _contents(uri, known.media_type, await known.read())
        for template in self.templates:
            parts = template.matches(uri)
            if parts is not None:
                return _contents(uri, template.media_type, await template.read(**parts))
        return None


def _contents(uri: str, media_type: str, data: str | bytes) -> dict[str, Any]:
    about = {"uri": uri, "mimeType": media_type}
    if isinstance(data, str):
        return {**about, "text": data}
    return {**about, "blob": base64.b64encode(data).decode("ascii")}
