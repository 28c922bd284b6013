"""Give tools to LLM agents: packs from pip, permissions per call, and nothing runs twice.

Names are loaded when they are first used, so ``import toolcrib`` costs next to nothing.
"""

# This module imports nothing, typing included: it would cost more than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import resources as resources
    from .call import AdmittedCall as AdmittedCall
    from .call import AuthorizedCall as AuthorizedCall
    from .call import Call as Call
    from .catalog.stage import Catalog as Catalog
    from .context import Context as Context
    from .context import PackHost as PackHost
    from .conversation.batch import Batch as Batch
    from .conversation.session import Session as Session
    from .conversation.view import Calls as Calls
    from .conversation.view import View as View
    from .errors import AnsweredError as AnsweredError
    from .errors import Busy as Busy
    from .errors import DeclarationError as DeclarationError
    from .errors import Failed as Failed
    from .errors import Invalid as Invalid
    from .errors import ManifestError as ManifestError
    from .errors import NotFound as NotFound
    from .errors import PolicyError as PolicyError
    from .errors import RecordError as RecordError
    from .errors import Refused as Refused
    from .errors import RuleSyntaxError as RuleSyntaxError
    from .errors import SchemaError as SchemaError
    from .errors import StageError as StageError
    from .errors import ToolcribError as ToolcribError
    from .errors import ToolFailure as ToolFailure
    from .errors import Transient as Transient
    from .errors import Unavailable as Unavailable
    from .errors import Uncertain as Uncertain
    from .events import Event as Event
    from .hookspecs import hookimpl as hookimpl
    from .implementation import Companions as Companions
    from .implementation import Implementation as Implementation
    from .jobs.record import LostError as LostError
    from .outcome import ArtifactLink as ArtifactLink
    from .outcome import Audio as Audio
    from .outcome import Directive as Directive
    from .outcome import File as File
    from .outcome import Image as Image
    from .outcome import Json as Json
    from .outcome import Link as Link
    from .outcome import Outcome as Outcome
    from .outcome import Receipt as Receipt
    from .outcome import Refusal as Refusal
    from .outcome import Result as Result
    from .outcome import Text as Text
    from .pack.definition import Pack as Pack
    from .permission.reviews import Review as Review
    from .policy.value import Policy as Policy
    from .projection.dialect import Dialect as Dialect
    from .question import Allow as Allow
    from .question import AllowRule as AllowRule
    from .question import Decision as Decision
    from .question import Deny as Deny
    from .question import Grant as Grant
    from .question import Question as Question
    from .registry import Registry as Registry
    from .signature import Resource as Resource
    from .signature import Signature as Signature
    from .sources import Source as Source
    from .tool import Description as Description
    from .tool import Example as Example
    from .tool import Provenance as Provenance
    from .tool import Requirements as Requirements
    from .tool import Tool as Tool
    from .toolbox import Toolbox as Toolbox
    from .typed.constraints import AtLeast as AtLeast
    from .typed.constraints import AtMost as AtMost
    from .typed.constraints import Between as Between
    from .typed.constraints import Format as Format
    from .typed.constraints import Length as Length
    from .typed.constraints import Multiple as Multiple
    from .typed.constraints import Pattern as Pattern
    from .typed.constraints import Url as Url
    from .validator import Validators as Validators
    from .vocabulary import Access as Access
    from .vocabulary import Audience as Audience
    from .vocabulary import Cancellation as Cancellation
    from .vocabulary import Concurrency as Concurrency
    from .vocabulary import Effect as Effect
    from .vocabulary import Idempotence as Idempotence
    from .vocabulary import Kind as Kind
    from .vocabulary import Label as Label
    from .vocabulary import Mode as Mode
    from .vocabulary import Scope as Scope
    from .vocabulary import Status as Status

_HOMES = {
    "conversation.batch": ("Batch",),
    "call": ("AdmittedCall", "AuthorizedCall", "Call"),
    "catalog.stage": ("Catalog",),
    "typed.constraints": (
        *("AtLeast", "AtMost", "Between", "Format", "Length", "Multiple", "Pattern", "Url"),
    ),
    "context": ("Context", "PackHost"),
    "errors": (
        *("AnsweredError", "Busy", "DeclarationError", "Failed", "Invalid"),
        *("ManifestError", "NotFound"),
        *("PolicyError", "RecordError", "Refused", "RuleSyntaxError", "SchemaError"),
        *("StageError", "ToolFailure", "ToolcribError", "Transient", "Unavailable"),
        "Uncertain",
    ),
    "events": ("Event",),
    "hookspecs": ("hookimpl",),
    "implementation": ("Companions", "Implementation"),
    "jobs.record": ("LostError",),
    "outcome": (
        *("ArtifactLink", "Audio", "Directive", "File", "Image", "Json", "Link"),
        *("Outcome", "Receipt", "Refusal", "Result", "Text"),
    ),
    "pack.definition": ("Pack",),
    "permission.reviews": ("Review",),
    "policy.value": ("Policy",),
    "projection.dialect": ("Dialect",),
    "question": ("Allow", "AllowRule", "Decision", "Deny", "Grant", "Question"),
    "registry": ("Registry",),
    "conversation.session": ("Session",),
    "signature": ("Resource", "Signature"),
    "sources": ("Source",),
    "tool": ("Description", "Example", "Provenance", "Requirements", "Tool"),
    "toolbox": ("Toolbox",),
    "conversation.view": ("Calls", "View"),
    "validator": ("Validators",),
    "vocabulary": (
        *("Access", "Audience", "Cancellation", "Concurrency", "Effect", "Idempotence"),
        *("Kind", "Label", "Mode", "Scope", "Status"),
    ),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME, "resources"])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None and name != "resources":
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module  # noqa: PLC0415 - see the module's text

    module = import_module(f"{__name__}.{home or name}")
    value = getattr(module, name) if home is not None else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
