"""A person at the terminal: no option, pipe or agent answers in their place."""

from __future__ import annotations

import contextlib
import os
import sys

import click


__all__ = ["confirm"]


def confirm(text: str, word: str) -> None:
    """Have the person at the terminal type a word; who types anything else is left out.

    The question goes to the terminal device and never to standard input, so neither what
    is piped in nor a program without a terminal can answer it.

    Args:
        text: What is confirmed.
        word: What has to be typed.

    Raises:
        click.ClickException: there is no terminal, or something else was typed.
    """
    try:
        device = os.open("/dev/tty" if os.name == "posix" else "CONIN$", os.O_RDWR)
    except OSError:
        said = "that is for a person to say, at a terminal; there is none here"
        raise click.ClickException(said) from None
    try:
        _forget(device)
        os.write(device, f"{text}\nType {word} to confirm: ".encode("utf-8", "replace"))
        answer = os.read(device, 1024).decode("utf-8", "replace").strip()
    finally:
        os.close(device)
    if answer != word:
        said = "that was not confirmed; nothing was changed"
        raise click.ClickException(said)


def _forget(device: int) -> None:
    """Drop what was typed before the question was there to be read."""
    if sys.platform != "win32":
        import termios  # noqa: PLC0415 - there is none elsewhere

        with contextlib.suppress(termios.error):
            termios.tcflush(device, termios.TCIFLUSH)
