"""What is measured: a tool of six parameters, and folders of installed packs."""

from __future__ import annotations

import base64
import hashlib
import json
import time

from collections.abc import Callable
from pathlib import Path
from typing import Any


ARGUMENTS = {
    "city": "Bonn",
    "days": 3,
    "unit": "celsius",
    "offset": 1.5,
    "tags": ["wind", "rain"],
    "verbose": True,
}
WRONG = ARGUMENTS | {"days": "three", "unit": "kelvin"}

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Town", "minLength": 1},
        "days": {"type": "integer", "description": "How many", "minimum": 1, "maximum": 14},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
        "offset": {"type": "number", "default": 0.0},
        "tags": {"type": "array", "items": {"type": "string"}},
        "verbose": {"type": "boolean", "default": False},
    },
    "required": ["city", "tags"],
    "additionalProperties": False,
}


def declared(name: str, summary: str = "Weather forecast for a town.") -> dict[str, Any]:
    """A tool as a manifest declares it."""
    return {
        "name": name,
        "description": {"summary": summary},
        "input_schema": SCHEMA,
        "effects": [],
    }


def install(site: Path, name: str, *, pack: str, tools: int, code: str = "") -> None:
    """Install a pack as pip would."""
    package = name.replace("-", "_")
    folder = site / package
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(code, encoding="utf-8")
    names = ["forecast", *(f"tool{n}" for n in range(1, tools))]
    manifest = {
        "api": 1,
        "pack": pack,
        "hooks": ["toolcrib_tools"],
        "tools": [declared(each) for each in names],
    }
    (folder / "toolcrib.json").write_text(json.dumps(manifest), encoding="utf-8")
    info = site / f"{package}-1.0.dist-info"
    info.mkdir()
    points = f"[toolcrib.packs.v1]\n{pack} = {package}:pack\n"
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)
    lines = [f"{info.name}/RECORD,,"]
    for file in sorted(folder.iterdir()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest())
        where = file.relative_to(site).as_posix()
        lines.append(f"{where},sha256={digest.decode().rstrip('=')},{file.stat().st_size}")
    (info / "RECORD").write_text("\n".join(lines) + "\n")


def stranger(site: Path, name: str, *, script: bool) -> None:
    """Install a distribution that has nothing to do with us."""
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n" + "Classifier: A :: B\n" * 20
    (info / "METADATA").write_text(text)
    (info / "RECORD").write_text(f"{info.name}/RECORD,,\n")
    if script:
        (info / "entry_points.txt").write_text("[console_scripts]\nx = y:z\n")


PACK = '''
from typing import Annotated, Literal

from toolcrib import Between, Context, Length, Pack

pack = Pack("{pack}")


@pack.tool(effects=[])
async def forecast(
    ctx: Context,
    city: Annotated[str, Length(1)],
    tags: list[str],
    days: Annotated[int, Between(1, 14)] = 3,
    unit: Literal["celsius", "fahrenheit"] = "celsius",
    offset: float = 0.0,
    verbose: bool = False,
) -> str:
    """Weather forecast for a town."""
    return "sunny"


for number in range(1, {tools}):
    pack.tool(forecast.handler, name=f"tool{{number}}", effects=[])
'''


def timed(work: Callable[[], object], count: int = 1) -> float:
    """Seconds of one of ``count`` repetitions that ``work`` does."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) / count


def least(*works: Callable[[], float], rounds: int = 9) -> list[float]:
    """The least of several rounds, the works taking turns: noise can only add."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for place, work in enumerate(works):
            best[place] = min(best[place], work())
    return best
