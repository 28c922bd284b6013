"""The words of a text as the index knows them: split, stemmed, and what means the same."""

from __future__ import annotations

import re

from collections.abc import Iterator


__all__ = ["MEANINGS", "words"]

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")
_ENDINGS = (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"))

# Words that people and the authors of tools use for one thing. General words only: what
# belongs to one product or field is for the tool's own tags.
_SYNONYMS = (
    ("delete", "remove", "erase", "drop", "unlink", "destroy", "discard"),
    ("create", "add", "new", "make", "insert", "generate", "open"),
    ("find", "search", "lookup", "query", "locate", "grep", "look"),
    ("get", "fetch", "retrieve", "read", "show", "view", "load", "see", "tell"),
    ("list", "enumerate", "show", "all", "every"),
    ("update", "edit", "modify", "change", "patch", "set", "fix"),
    ("write", "save", "store", "put", "record", "remember", "log"),
    ("run", "execute", "start", "launch", "invoke", "kick", "begin"),
    ("stop", "kill", "cancel", "abort", "terminate", "end", "close", "leave"),
    ("send", "post", "publish", "submit", "message"),
    ("reply", "answer", "respond", "response"),
    ("undo", "rollback", "revert", "restore", "back"),
    ("file", "document", "path"),
    ("folder", "directory", "dir"),
    ("repository", "repo"),
    ("picture", "image", "photo", "screenshot"),
    ("mail", "email", "inbox", "newsletter"),
    ("web", "internet", "online", "website", "site"),
    ("page", "website", "url", "address"),
    ("db", "database", "sql"),
    ("sql", "select", "query"),
    ("copy", "duplicate", "clone", "download"),
    ("move", "rename"),
    ("error", "diagnostic", "problem", "issue", "bug", "crash", "exception"),
    ("ticket", "issue"),
    ("report", "declare"),
    ("fail", "failure", "log"),
    ("calendar", "event", "schedule", "meeting", "appointment", "agenda"),
    ("pull", "merge", "pr"),
    ("ci", "pipeline", "workflow", "integration"),
    ("vm", "virtual", "machine", "server"),
    ("shell", "command", "terminal", "bash"),
    ("process", "server", "job"),
    ("background", "daemon"),
    ("user", "person", "people", "account", "member", "someone", "somebody"),
    ("colleague", "employee", "staff", "coworker", "person"),
    ("client", "customer"),
    ("weather", "forecast", "rain", "outside"),
    ("hot", "cold", "warm", "temperature", "heat", "climate"),
    ("convert", "transform", "translate"),
    ("money", "currency", "amount", "dollar", "euro", "pound", "price", "pay"),
    ("bill", "invoice", "charge"),
    ("buy", "order", "purchase", "trade"),
    ("book", "reserve", "reservation"),
    ("package", "parcel", "shipment", "delivery"),
    ("upload", "send", "push"),
    ("click", "press", "tap", "push"),
    ("type", "fill", "enter"),
    ("shorten", "summarize", "condense", "summary"),
    ("article", "text", "paper", "news"),
    ("scientific", "research", "science", "academic"),
    ("read", "speak", "say", "aloud", "voice", "speech"),
    ("transcribe", "speech", "recording", "audio"),
    ("spell", "spelling", "spellcheck", "grammar", "proofread"),
    ("nearby", "near", "close", "around"),
    ("direction", "route", "way"),
    ("calculate", "compute", "evaluate", "calculator"),
    ("average", "mean", "statistic"),
    ("chart", "graph", "plot", "diagram"),
    ("live", "follow", "tail", "watch", "monitor"),
    ("chat", "channel", "slack", "dm"),
    ("task", "todo", "job"),
    ("assign", "give", "hand", "delegate"),
    ("finish", "done", "complete"),
    ("ip", "address", "dns", "resolve"),
    ("hostname", "host"),
    ("reachable", "ping", "alive"),
    ("slow", "latency", "performance"),
    ("secret", "password", "credential", "key"),
    ("security", "vulnerability", "vulnerable"),
    ("mute", "silence"),
    ("outage", "incident"),
    ("headline", "news", "today"),
    ("cv", "resume", "curriculum"),
    ("holiday", "vacation", "leave"),
    ("salary", "wage", "payslip"),
    ("manager", "boss", "report"),
    ("compile", "build"),
    ("definition", "define", "symbol"),
    ("usage", "reference", "use"),
    ("home", "house", "room"),
    ("light", "lamp"),
    ("song", "music", "track"),
    ("cut", "trim", "crop"),
    ("small", "resize", "size"),
    ("combine", "merge", "join"),
    ("zip", "archive", "compress", "unzip", "extract", "unpack"),
    ("hash", "checksum", "digest"),
    ("permission", "access", "role", "executable"),
)
# Words that say nothing about a tool.
_SILENT = """
    a an and any are as at be by can do does for from how i if in into is it its me my of on
    or our please some that the their them then there these this to tool up use using want
    what when where which who will with you your
    """
_STOP = frozenset(_SILENT.split())


def _stem(word: str) -> str:
    for ending, instead in _ENDINGS:
        if len(word) > len(ending) + 1 and word.endswith(ending):
            return word[: -len(ending)] + instead
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if len(word) > len(ending) + 3 and word.endswith(ending):
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
                word = word[:-1]
            return word
    return word.removesuffix("e") if len(word) > 4 else word


def words(text: str) -> Iterator[str]:
    """Yield the stems of a text's words; names are split, and also kept whole."""
    for part in _PART.findall(text):
        word = part.lower()
        if word not in _STOP:
            yield _stem(word)


# For each stem, the stems of the words that mean the same to a tool's author.
MEANINGS: dict[str, frozenset[str]] = {}
for _group in _SYNONYMS:
    _stems = frozenset(_stem(word) for word in _group)
    for _word in _stems:
        MEANINGS[_word] = MEANINGS.get(_word, frozenset()) | _stems
