"""Further dialects for toolcrib, through the projection hook.

The pack has no tools. Policy enables its distribution and names it as a projector::

    packs = ["toolcrib-dialects"]
    projectors = ["dialects"]
"""

from __future__ import annotations

from .bedrock import BEDROCK, BEDROCK_TEXT
from .cohere import COHERE
from .compatible import DEEPSEEK, GROQ, XAI, XAI_SDK
from .gemini import GEMINI, GEMINI_OPENAPI
from .mistral import MISTRAL
from .ollama import OLLAMA
from .plugin import DIALECTS, pack


__all__ = [
    "BEDROCK",
    "BEDROCK_TEXT",
    "COHERE",
    "DEEPSEEK",
    "DIALECTS",
    "GEMINI",
    "GEMINI_OPENAPI",
    "GROQ",
    "MISTRAL",
    "OLLAMA",
    "XAI",
    "XAI_SDK",
    "pack",
]
