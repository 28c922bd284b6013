"""The pack: it answers ``toolcrib_project`` and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from toolcrib import Pack, Tool
from toolcrib.projection import Dialect

from .bedrock import BEDROCK, BEDROCK_TEXT
from .cohere import COHERE
from .compatible import DEEPSEEK, GROQ, XAI, XAI_SDK
from .gemini import GEMINI, GEMINI_OPENAPI
from .mistral import MISTRAL
from .ollama import OLLAMA


__all__ = ["DIALECTS", "pack"]

DIALECTS: Mapping[str, Dialect] = {
    each.name: each
    for each in (
        BEDROCK,
        BEDROCK_TEXT,
        COHERE,
        DEEPSEEK,
        GEMINI,
        GEMINI_OPENAPI,
        GROQ,
        MISTRAL,
        OLLAMA,
        XAI,
        XAI_SDK,
    )
}


pack = Pack("dialects", title="Dialects", version="1")


@pack.project
def speak(tool: Tool | None, dialect: str) -> Dialect | None:
    """Say which dialects this pack speaks; tools are left to the core's engine."""
    return DIALECTS.get(dialect) if tool is None else None
