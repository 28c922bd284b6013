"""The browser's process: how it is started, and that it ends."""

from __future__ import annotations

import asyncio
import contextlib
import os

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolcrib import Unavailable

from .finding import environment, executable, install_command
from .inside import install
from .settings import BrowserSettings
from .temporary import shortened


if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright
    from toolcrib_net import FilteringProxy


__all__ = ["Running", "launch"]

_START = 30.0
_STOP = 8.0
#: Hosts that the browser itself would ask, for no page's sake.
OWN_HOSTS = frozenset({
    *("content-autofill.googleapis.com", "update.googleapis.com", "clients2.google.com"),
    *("optimizationguide-pa.googleapis.com", "safebrowsing.googleapis.com"),
    *("accounts.google.com", "android.clients.google.com", "redirector.gvt1.com"),
})  # fmt: skip
_FLAGS = (
    # Nothing leaves by another way than the proxy: no names looked up, no QUIC, and
    # WebRTC without sockets of its own.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--dns-prefetch-disable",
    "--no-pings",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--safebrowsing-disable-auto-update",
    "--disable-gpu",
    "--disable-print-preview",
)


class Running:
    """A browser that runs, and the driver that it is spoken to through."""

    def __init__(
        self, driver: Playwright, browser: Browser, left: contextlib.ExitStack
    ) -> None:
        self._driver = driver
        self._left = left
        self.browser = browser

    @property
    def alive(self) -> bool:
        """Whether the browser is there."""
        return bool(self.browser.is_connected())

    async def close(self) -> None:
        """End the browser, then its driver; the driver kills what does not end."""
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.browser.close(), _STOP)
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self._driver.stop(), _STOP)
        self._left.close()


async def launch(settings: BrowserSettings, proxy: FilteringProxy) -> Running:
    """Start the browser.

    Raises:
        Unavailable: there is none, or it does not start.
    """
    program = executable(settings.executable)
    with contextlib.ExitStack() as left:
        variables = left.enter_context(shortened(environment(os.environ)))
        driver, browser = await _start(program, _options(settings, program, proxy, variables))
        return Running(driver, browser, left.pop_all())


async def _start(program: Path, options: dict[str, Any]) -> tuple[Playwright, Browser]:
    from playwright.async_api import async_playwright

    driver = await async_playwright().start()
    try:
        await install(driver)
        return driver, await driver.chromium.launch(**options)
    except BaseException as error:
        with contextlib.suppress(Exception):
            await driver.stop()
        if not isinstance(error, Exception):
            raise
        text = (
            f"The browser {program} does not start: {_reason(error)} The user can reinstall "
            f"it: {install_command()}"
        )
        raise Unavailable(text, code="browser.not_started") from error


def _options(
    settings: BrowserSettings,
    program: Path,
    proxy: FilteringProxy,
    variables: Mapping[str, str],
) -> dict[str, Any]:
    # Its own sandbox does not work for root.
    sandbox = settings.sandbox == "auto" and os.geteuid() != 0
    return {
        "executable_path": program,
        "headless": True,
        "args": list(_FLAGS),
        "chromium_sandbox": sandbox,
        "env": dict(variables),
        # "<-loopback>": this machine, too, is asked through the proxy only.
        "proxy": {
            "server": proxy.url,
            "username": proxy.username,
            "password": proxy.password,
            "bypass": "<-loopback>",
        },
        "timeout": _START * 1000,
        # The toolbox closes it; a signal to the group must not come first.
        "handle_sigint": False,
        "handle_sigterm": False,
        "handle_sighup": False,
    }


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # What ended the browser tells more than what it, or the script that starts it, minds.
    for mark in ("fatal", "error", "[err]"):
        telling = [line for line in lines if mark in line.lower()]
        if telling:
            break
    return (telling or lines or [type(error).__name__])[0][:300].rstrip(".") + "."
