"""Packs of strangers: built as wheels, installed with pip, used from the command line."""

from __future__ import annotations

import json

import pytest


WEATHER = '''
from pathlib import Path
from typing import Annotated, Literal

from toolcrib import Context, Pack

Path(__file__).with_name("imported").touch()

pack = Pack("weather", title="Weather")


@pack.tool(effects=[])
def forecast(
    ctx: Context, city: Annotated[str, "Town"], unit: Literal["C", "F"] = "C"
) -> str:
    """Weather forecast for a town."""
    return f"{city}: 21 {unit}"
'''

ENDS = {
    "raises": 'raise ImportError("a library is missing")',
    "exits": "raise SystemExit(3)",
    "kills": "import os; os._exit(7)",
    "hangs": "import threading; threading.Event().wait()",
}


def chat(*calls):
    """A chat completion of calls: ``(id, name, arguments)``."""
    listed = [
        {
            "id": id_,
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for id_, name, arguments in calls
    ]
    message = {"role": "assistant", "content": None, "tool_calls": listed}
    return json.dumps({"id": "chatcmpl-1", "choices": [{"message": message}]})


def bare_manifest(pack):
    """A manifest for code that nobody may import."""
    tool = {
        "name": "ping",
        "description": {"summary": "Answer."},
        "input_schema": {"type": "object", "properties": {}},
        "effects": [],
    }
    value = {"api": 1, "pack": pack, "hooks": ["toolcrib_tools"], "tools": [tool]}
    return json.dumps(value).encode()


@pytest.fixture
def weather(project, written, build, fresh):
    """An environment with somebody's pack in it, and where its package is."""
    made = project("acme-weather", WEATHER, pack="weather")
    written(made)
    (made.manifest.parent / "imported").unlink(missing_ok=True)
    fresh.install(build(made))
    package = fresh.site / "acme_weather"
    assert not (package / "imported").exists()
    return fresh, package


def test_a_strangers_wheel_is_listed_without_import_enabled_by_a_line_and_called(weather):
    """What pip installed is seen, does nothing, and runs once its line stands in the policy."""
    user, package = weather
    listed = user.json("packs")
    mine = [p for p in listed["available"] if p["pack"] == "weather"]
    assert [(p["distribution"], p["version"]) for p in mine] == [("acme-weather", "1.0")]
    assert "acme-weather" in mine[0]["enable"]
    assert not any(p["pack"] == "weather" for p in listed["enabled"])

    call = chat(("c1", "weather_forecast", {"city": "Bonn"}))
    disabled = user.toolcrib("run", "-", given=call)
    assert disabled.code != 0
    (answer,) = disabled.lines
    assert "acme-weather" in answer["content"]
    assert not (package / "imported").exists(), "nothing so far may import the pack"

    user.allow('packs = ["acme-weather"]\n')
    (entry,) = user.json("packs")["enabled"]
    assert entry["pack"] == "weather"
    assert entry["how"] == "wheel"
    assert entry["tools"] == ["weather.forecast"]
    (tool,) = [t for t in user.json("tools") if t["id"] == "weather.forecast"]
    assert tool["description"]["summary"] == "Weather forecast for a town."
    assert user.toolcrib("explain", "weather.forecast").code == 0
    assert user.toolcrib("--help").code == 0
    assert user.toolcrib("doctor").code == 0
    assert not (package / "imported").exists(), "looking must not import"

    ran = user.toolcrib("run", "-", given=call)
    assert ran.code == 0, ran.err
    assert ran.lines == [{"role": "tool", "tool_call_id": "c1", "content": "Bonn: 21 C"}]
    assert (package / "imported").exists()


def test_the_command_that_the_refusal_names_enables_the_pack(weather):
    """What the list of packs tells a user to type does what it says."""
    user, _ = weather
    assert user.toolcrib("packs", "enable", "acme-weather").code == 0
    assert user.policy.read_text() == 'packs = ["acme-weather"]\n'
    ran = user.toolcrib("run", "-", given=chat(("c1", "weather_forecast", {"city": "Bonn"})))
    assert ran.code == 0
    assert user.toolcrib("packs", "disable", "acme-weather").code == 0
    assert user.json("packs")["enabled"] == []


def altered(package, info):
    """Somebody makes the pack's tool look harmless, or adds one."""
    file = package / "toolcrib.json"
    value = json.loads(file.read_bytes())
    value["tools"][0]["description"]["summary"] = "Quite another thing."
    file.write_text(json.dumps(value))


def unlisted(package, info):
    """The manifest is not one of the files that were installed."""
    record = info / "RECORD"
    kept = [line for line in record.read_text().splitlines() if "toolcrib.json" not in line]
    record.write_text("\n".join(kept) + "\n")


def without_record(package, info):
    """Nothing says what was installed."""
    (info / "RECORD").unlink()


def removed(package, info):
    """The manifest is gone."""
    (package / "toolcrib.json").unlink()


@pytest.mark.parametrize("tamper", [altered, unlisted, without_record, removed])
def test_a_pack_that_was_tampered_with_is_refused_without_import(weather, tamper):
    """It is named with its code, its tools are gone, and its code has not run."""
    user, package = weather
    user.allow('packs = ["acme-weather"]\n')
    tamper(package, user.site / "acme_weather-1.0.dist-info")
    listed = user.json("packs")
    assert listed["enabled"] == []
    (refusal,) = listed["refused"]
    assert refusal["subject"] == "acme-weather"
    assert refusal["code"].startswith(("manifest.", "metadata."))
    ran = user.toolcrib("run", "-", given=chat(("c1", "weather_forecast", {"city": "Bonn"})))
    (answer,) = ran.lines
    assert ran.code != 0
    assert answer["tool_call_id"] == "c1"
    assert not (package / "imported").exists()
    assert user.toolcrib("doctor").code != 0


def test_locked_code_that_changed_is_refused_without_import(weather):
    """The lock tells when a file is not the approved one, whatever RECORD says."""
    user, package = weather
    user.allow('packs = ["acme-weather"]\n')
    assert user.toolcrib("lock", "write").code == 0
    call = chat(("c1", "weather_forecast", {"city": "Bonn"}))
    assert user.toolcrib("run", "-", given=call).code == 0
    (package / "imported").unlink()
    with (package / "__init__.py").open("a") as file:
        file.write("\n# one more line\n")
    ran = user.toolcrib("run", "-", given=call)
    assert ran.code != 0
    assert "lock" in ran.lines[0]["content"]
    assert not (package / "imported").exists()


@pytest.fixture
def rivals(project, written, build, fresh):
    """Two distributions that claim one pack id, and a third that has nothing to do with it."""
    for name, version, pack in [
        ("acme-weather", "1.0", "weather"),
        ("zeta-weather", "2.5", "weather"),
        ("acme-tides", "0.3", "tides"),
    ]:
        code = WEATHER.replace('Pack("weather"', f'Pack("{pack}"').replace(
            "{city}: 21", f"{name}: {{city}}"
        )
        made = project(name, code, pack=pack, version=version)
        written(made)
        fresh.install(build(made))
    return fresh


def test_two_enabled_claims_to_one_id_are_both_withheld_and_the_rest_works(rivals):
    """Both are named with their version, and the line that chooses is given."""
    rivals.allow('packs = ["acme-weather", "zeta-weather", "acme-tides"]\n')
    listed = rivals.json("packs")
    assert [p["pack"] for p in listed["enabled"]] == ["tides"]
    texts = [r["text"] for r in listed["refused"] if r["code"] == "pack.contested"]
    assert texts
    for text in texts:
        assert "acme-weather 1.0" in text
        assert "zeta-weather 2.5" in text
        assert "[owners]" in text
        assert 'weather = "' in text
    calls = chat(
        ("c1", "weather_forecast", {"city": "Bonn"}), ("c2", "tides_forecast", {"city": "Bonn"})
    )
    ran = rivals.toolcrib("run", "-", given=calls)
    first, second = ran.lines
    assert ran.code != 0
    assert "pack.contested" in first["content"]
    assert second["content"] == "acme-tides: Bonn C"


def test_the_line_that_chooses_chooses(rivals):
    """With it, the chosen distribution's tools are there and the other's are not."""
    rivals.allow("""
        packs = ["acme-weather", "zeta-weather"]

        [owners]
        weather = "zeta-weather"
    """)
    (entry,) = rivals.json("packs")["enabled"]
    assert (entry["distribution"], entry["version"]) == ("zeta-weather", "2.5")
    ran = rivals.toolcrib("run", "-", given=chat(("c", "weather_forecast", {"city": "Bonn"})))
    assert ran.code == 0
    assert ran.lines[0]["content"] == "zeta-weather: Bonn C"


def test_a_disabled_claim_to_the_same_id_changes_nothing(rivals):
    """Installing something cannot take away what is enabled."""
    rivals.allow('packs = ["acme-weather"]\n')
    before = rivals.json("packs")["enabled"]
    call = chat(("c", "weather_forecast", {"city": "Bonn"}))
    with_rival = rivals.toolcrib("run", "-", given=call)
    rivals.pip("uninstall", "-y", "-q", "zeta-weather")
    alone = rivals.toolcrib("run", "-", given=call)
    assert rivals.json("packs")["enabled"] == before
    assert with_rival.code == alone.code == 0
    assert with_rival.lines == alone.lines


@pytest.mark.parametrize("way", ENDS)
def test_a_pack_that_ends_at_import_harms_nothing_but_its_own_calls(
    way, project, written, build, fresh
):
    """Listing, help, doctor, disabling and other packs' tools work; each call is answered."""
    bad = project("acme-bad", ENDS[way], pack="bad", manifest=bare_manifest("bad"))
    good = project("acme-weather", WEATHER, pack="weather")
    written(good)
    fresh.install(build(bad), build(good))
    fresh.allow('packs = ["acme-bad", "acme-weather"]\ntimeout = 2.0\n')

    assert fresh.toolcrib("--help").code == 0
    assert [p["pack"] for p in fresh.json("packs")["enabled"]] == ["bad", "weather"]
    assert {"bad.ping", "weather.forecast"} <= {t["id"] for t in fresh.json("tools")}
    assert fresh.toolcrib("doctor").code == 0

    good_call = ("c1", "weather_forecast", {"city": "Bonn"})
    alone = fresh.toolcrib("run", "-", given=chat(good_call))
    assert alone.code == 0, alone.err
    assert alone.lines[0]["content"] == "Bonn: 21 C"
    if way not in {"kills", "hangs"}:
        beside = fresh.toolcrib("run", "-", given=chat(("c0", "bad_ping", {}), good_call))
        first, second = beside.lines
        assert beside.code == 14
        assert "pack." in first["content"]
        assert second["content"] == "Bonn: 21 C"
    if way == "hangs":
        beside = fresh.toolcrib("run", "-", given=chat(("c0", "bad_ping", {}), good_call))
        assert [line["tool_call_id"] for line in beside.lines] == ["c0", "c1"]
        assert beside.lines[1]["content"] == "Bonn: 21 C"

    assert fresh.toolcrib("packs", "disable", "acme-bad").code == 0
    assert [p["pack"] for p in fresh.json("packs")["enabled"]] == ["weather"]
    assert fresh.toolcrib("packs", "disable", "acme-weather").code == 0


def test_a_call_that_killed_the_host_is_known_after_it(project, written, build, fresh):
    """The receipts of what ran before are there; the same calls can be given again."""
    bad = project("acme-bad", ENDS["kills"], pack="bad", manifest=bare_manifest("bad"))
    good = project("acme-weather", WEATHER, pack="weather")
    written(good)
    fresh.install(build(bad), build(good))
    fresh.allow('packs = ["acme-bad", "acme-weather"]\n')
    lines = "\n".join(
        [chat(("c1", "weather_forecast", {"city": "Bonn"})), chat(("c2", "bad_ping", {}))]
    )
    died = fresh.toolcrib("run", "-", "--conversation", "k", given=lines)
    assert died.code == 7
    receipts = fresh.json("ledger", "show", "k")
    ended = [r for r in receipts if r["status"] == "ok"]
    assert [r["tool_id"] for r in ended] == ["weather.forecast"]
    fresh.allow('packs = ["acme-weather"]\n')
    again = fresh.toolcrib("run", "-", "--conversation", "k", given=lines)
    assert [line["tool_call_id"] for line in again.lines] == ["c1", "c2"]
    assert again.lines[0]["content"].startswith("Bonn: 21 C\n")
    assert "not run again" in again.err
