"""Drives the pack as a client for the public conformance suite; the address comes last."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import httpx2

from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.client.auth.utils import build_protected_resource_metadata_discovery_urls
from mcp.shared.auth import AuthorizationCodeResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from toolcrib import Allow, Policy, Toolbox

from toolcrib_mcp import oauth, pack
from toolcrib_mcp.definition import HUBS


SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
VERSION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION")
CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")


class Person:
    """Answers forms with their defaults, and confirms."""

    async def question(self, text: str, **_: Any) -> str | None:
        return "yes"

    async def form(self, text: str, schema: Any) -> Any:
        values = {k: v["default"] for k, v in schema["properties"].items() if "default" in v}
        needed = schema.get("required", [])
        return {
            **{k: True for k in needed if schema["properties"][k].get("type") == "boolean"},
            **values,
        }

    async def url(self, text: str, url: str) -> bool:
        return True


class Model:
    """Stands for the app's model."""

    async def run(self, task: Any) -> Any:
        return {"text": "", "model": "stub"}


class Browser:
    """Follows the login page without a person."""

    result: AuthorizationCodeResult | None = None

    async def redirect(self, url: str) -> None:
        async with httpx2.AsyncClient() as client:
            response = await client.get(url, follow_redirects=False)
        query = parse_qs(urlparse(response.headers["location"]).query)
        first = {key: values[0] for key, values in query.items()}
        self.result = AuthorizationCodeResult(
            code=first["code"], state=first.get("state"), iss=first.get("iss")
        )

    async def callback(self) -> AuthorizationCodeResult:
        assert self.result is not None
        return self.result


async def _enterprise(url: str, storage: Any) -> Any:
    found = build_protected_resource_metadata_discovery_urls(None, url)[0]
    async with httpx2.AsyncClient(timeout=30.0) as http:
        issuer = (await http.get(found)).json()["authorization_servers"][0]

    async def assertion(audience: str, resource: str) -> str:
        data = {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
            "subject_token": CONTEXT["idp_id_token"],
            "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
            "audience": audience,
            "resource": resource,
            "client_id": CONTEXT["idp_client_id"],
        }
        async with httpx2.AsyncClient(timeout=30.0) as http:
            answer = await http.post(CONTEXT["idp_token_endpoint"], data=data)
        return str(answer.json()["access_token"])

    return IdentityAssertionOAuthProvider(
        server_url=url,
        storage=storage,
        client_id=CONTEXT["client_id"],
        client_secret=CONTEXT["client_secret"],
        issuer=issuer,
        assertion_provider=assertion,
        token_endpoint_auth_method="client_secret_basic",
    )


async def _auth(url: str, state: Path) -> Any:
    """Return the way to log in that a scenario is about."""
    from toolcrib_mcp.settings import ServerConfig

    about: dict[str, Any] = {
        "redirect_uri": "http://localhost:3000/callback",
        "client_metadata_url": "https://conformance-test.local/client-metadata.json",
    }
    if CONTEXT.get("client_id"):
        about |= {k: CONTEXT[k] for k in ("client_id", "client_secret") if CONTEXT.get(k)}
    config = ServerConfig(name="peer", url=url, transport="http", oauth=about)
    storage = oauth.Stored(config, state)
    if SCENARIO == "auth/client-credentials-jwt":
        signed = SignedJWTParameters(
            issuer=CONTEXT["client_id"],
            subject=CONTEXT["client_id"],
            signing_algorithm=CONTEXT.get("signing_algorithm", "ES256"),
            signing_key=CONTEXT["private_key_pem"],
        )
        return PrivateKeyJWTOAuthProvider(
            server_url=url,
            storage=storage,
            client_id=CONTEXT["client_id"],
            assertion_provider=signed.create_assertion_provider(),
        )
    if SCENARIO == "auth/client-credentials-basic":
        return ClientCredentialsOAuthProvider(
            server_url=url,
            storage=storage,
            client_id=CONTEXT["client_id"],
            client_secret=CONTEXT["client_secret"],
            token_endpoint_auth_method="client_secret_basic",
        )
    if SCENARIO == "auth/enterprise-managed-authorization":
        return await _enterprise(url, storage)
    browser = Browser()
    return oauth.interactive(config, storage, browser.redirect, browser.callback)


async def main(url: str) -> int:
    modern = VERSION is None or VERSION in MODERN_PROTOCOL_VERSIONS
    if SCENARIO == "json-schema-ref-no-deref":
        modern = False  # The suite's server speaks only the older revision here.
    server = {
        "url": url,
        "revision": "auto" if modern else "legacy",
        "recover": 0,
        "sampling": True,
        "idle_timeout": 20.0,
    }
    folder = Path(tempfile.mkdtemp())
    if SCENARIO.startswith("auth/") or not SCENARIO:
        auth = await _auth(url, folder)
        oauth.stored = lambda config, state: auth
    policy = Policy(
        local=[pack],
        workspace=folder,
        state=folder / ".state",
        settings={"mcp": {"servers": {"peer": server}}},
    )
    async with Toolbox(policy, ask=Person(), agents=Model()) as box, box.session() as session:
        hub = HUBS._hubs[-1][1]
        await hub.servers["peer"].connection.settled()
        for _ in range(200):
            offered = len([t for t in box.catalog.tools if t.startswith("mcp.peer.")])
            if offered >= len(hub.servers["peer"].offer.implementations):
                break
            await asyncio.sleep(0.02)
        tools = [t.rpartition("mcp.peer.")[2] for t in box.catalog.tools if "mcp.peer." in t]
        print("state:", hub.servers["peer"].status(), tools, file=sys.stderr)

        async def call(name: str, arguments: Any = None) -> Any:
            outcome = await session.call(
                f"mcp.peer.{name}", arguments or {}, approver=lambda _: Allow(by="suite")
            )
            print(name, outcome.status, outcome.text, file=sys.stderr)
            return outcome

        await _scenario(call, box, hub, tools)
        return 0 if hub.servers["peer"].connection.state == "connected" else 1


async def _scenario(call: Any, box: Any, hub: Any, tools: list[str]) -> None:
    if SCENARIO in {"tools_call", "request-metadata", "http-standard-headers"}:
        await call("add_numbers", {"a": 5, "b": 3})
    elif SCENARIO == "sse-retry":
        await call("test_reconnection")
    elif SCENARIO == "elicitation-sep1034-client-defaults":
        await call("test_client_elicitation_defaults")
    elif SCENARIO == "json-schema-2020-12-preservation":
        tool = box.catalog["mcp.peer.json_schema_2020_12_tool"].tool
        await call("json_schema_echo", {"schema": tool.input_schema})
    elif SCENARIO == "http-invalid-tool-headers":
        for name in tools:
            schema = box.catalog[f"mcp.peer.{name}"].tool.input_schema
            kinds = {"string": "x", "integer": 0, "number": 0, "boolean": False}
            fields = schema.get("properties", {})
            needed = schema.get("required", [])
            await call(name, {n: kinds.get(fields[n].get("type"), "x") for n in needed})
    elif SCENARIO == "http-custom-headers":
        for each in CONTEXT.get("toolCalls", []):
            if each["name"] in tools:
                await call(each["name"], each.get("arguments") or {})
    elif SCENARIO == "sep-2322-client-request-state":
        for name in "echo_state", "unrelated", "no_state", "no_result_type":
            await call(f"test_mrtr_{name}")
    elif SCENARIO.startswith("auth/") and tools:
        await call(tools[0])


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
