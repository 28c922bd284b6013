"""Addresses: one text for one request target."""

from __future__ import annotations

import re

from . import hosts


__all__ = ["canonical", "parts"]

_PORTS = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):[/\\]{2}([^/\\?#]*)([^#]*)", re.DOTALL)
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ENCODED = re.compile("%([0-9A-Fa-f]{2})")
_UNSAFE = re.compile("[^!-~]")
_PORT = re.compile(r"[0-9]{0,5}", re.ASCII)


def canonical(text: str) -> str:
    """Return an address's canonical text.

    Raises:
        ValueError: it is no address of a known scheme, or readers would disagree on it.
    """
    text = text.strip(" ")
    match = _SCHEME.fullmatch(text.partition("#")[0])
    if match is None:
        message = f"{text!r} is no address with a scheme and a host"
        raise ValueError(message)
    scheme = match[1].lower()
    if scheme not in _PORTS:
        message = f"the scheme {scheme!r} is not one that rules know"
        raise ValueError(message)
    path, question, query = match[3].partition("?")
    target = _path(path.replace("\\", "/"))
    if question:
        target += "?" + _percent(query)
    return f"{scheme}://{_authority(match[2], _PORTS[scheme])}{target}"


def parts(value: str) -> tuple[str, str, str, str]:
    """Return scheme, host, port (empty: the default) and target of a canonical text."""
    scheme, _, rest = value.partition("://")
    cut = rest.find("/")
    authority, target = (rest, "/") if cut < 0 else (rest[:cut], rest[cut:])
    if authority.startswith("["):
        host, _, port = authority[1:].partition("]")
        return scheme, host, port[1:], target
    host, _, port = authority.partition(":")
    return scheme, host, port, target


def _authority(text: str, default: str) -> str:
    text = text.rpartition("@")[2]
    if text.startswith("["):
        host, bracket, rest = text.partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            message = f"{text!r} is no host and port"
            raise ValueError(message)
        host, port = host + bracket, rest[1:]
    else:
        host, _, port = text.partition(":")
        if "%" in host:
            host = _decoded(host)
            if ":" in host or "%" in host:
                message = f"{text!r} is no host and port"
                raise ValueError(message)
    if _PORT.fullmatch(port) is None or int(port or "0") > 65535:
        message = f"{port!r} is no port"
        raise ValueError(message)
    port = str(int(port)) if port else default
    name = hosts.canonical(host)
    name = f"[{name}]" if ":" in name else name
    return name if port == default else f"{name}:{port}"


def _decoded(text: str) -> str:
    raw = _ENCODED.sub(lambda match: chr(int(match[1], 16)), text)
    return raw.encode("latin-1", "strict").decode("utf-8") if not raw.isascii() else raw


def _path(text: str) -> str:
    """Return a path without dot segments, with the fewest percent encodings."""
    out: list[str] = []
    segments = _percent(text).split("/")[1:]
    for position, segment in enumerate(segments):
        last = position == len(segments) - 1
        if segment == "..":
            if out:
                out.pop()
        elif segment != ".":
            out.append(segment)
            continue
        if last:
            out.append("")
    return "/" + "/".join(out)


def _percent(text: str) -> str:
    if "\t" in text or "\r" in text or "\n" in text:
        message = "an address holds no line breaks or tabs"
        raise ValueError(message)
    if "%" in text:
        text = _ENCODED.sub(_unescaped, text)
    return _UNSAFE.sub(_escaped, text)


def _unescaped(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return chr(code) if code in _UNRESERVED else match[0].upper()


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8"))
