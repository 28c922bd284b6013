"""What we announce to a server, built from the protocol's own types.

Importing the types takes a quarter of a second, so this module is loaded in a thread when
the first server starts.
"""

from __future__ import annotations

import os

from collections.abc import Mapping
from functools import cache
from typing import Any

from lsprotocol import converters, types

from .places import uri_of
from .positions import ENCODINGS


__all__ = ["initialize_params"]


@cache
def _converter() -> Any:
    return converters.get_converter()


def _symbols() -> types.ClientSymbolKindOptions:
    return types.ClientSymbolKindOptions(value_set=list(types.SymbolKind))


def _text_document() -> types.TextDocumentClientCapabilities:
    formats = [types.MarkupKind.PlainText, types.MarkupKind.Markdown]
    resolve = types.ClientCodeActionResolveOptions(properties=["edit"])
    kinds = types.ClientCodeActionKindOptions(value_set=list(types.CodeActionKind))
    return types.TextDocumentClientCapabilities(
        synchronization=types.TextDocumentSyncClientCapabilities(
            dynamic_registration=True, did_save=True
        ),
        definition=types.DefinitionClientCapabilities(
            dynamic_registration=True, link_support=True
        ),
        references=types.ReferenceClientCapabilities(dynamic_registration=True),
        implementation=types.ImplementationClientCapabilities(
            dynamic_registration=True, link_support=True
        ),
        type_definition=types.TypeDefinitionClientCapabilities(
            dynamic_registration=True, link_support=True
        ),
        hover=types.HoverClientCapabilities(dynamic_registration=True, content_format=formats),
        document_symbol=types.DocumentSymbolClientCapabilities(
            dynamic_registration=True,
            symbol_kind=_symbols(),
            hierarchical_document_symbol_support=True,
        ),
        call_hierarchy=types.CallHierarchyClientCapabilities(dynamic_registration=True),
        rename=types.RenameClientCapabilities(dynamic_registration=True, prepare_support=True),
        code_action=types.CodeActionClientCapabilities(
            dynamic_registration=True,
            code_action_literal_support=types.ClientCodeActionLiteralOptions(
                code_action_kind=kinds
            ),
            is_preferred_support=True,
            disabled_support=True,
            data_support=True,
            resolve_support=resolve,
        ),
        formatting=types.DocumentFormattingClientCapabilities(dynamic_registration=True),
        range_formatting=types.DocumentRangeFormattingClientCapabilities(
            dynamic_registration=True
        ),
        diagnostic=types.DiagnosticClientCapabilities(
            dynamic_registration=True, related_document_support=False
        ),
        publish_diagnostics=types.PublishDiagnosticsClientCapabilities(
            version_support=True, code_description_support=True, data_support=True
        ),
    )


def _workspace() -> types.WorkspaceClientCapabilities:
    operations = [
        types.ResourceOperationKind.Create,
        types.ResourceOperationKind.Rename,
        types.ResourceOperationKind.Delete,
    ]
    return types.WorkspaceClientCapabilities(
        apply_edit=True,
        workspace_edit=types.WorkspaceEditClientCapabilities(
            document_changes=True,
            resource_operations=operations,
            failure_handling=types.FailureHandlingKind.Abort,
        ),
        did_change_configuration=types.DidChangeConfigurationClientCapabilities(
            dynamic_registration=True
        ),
        did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(
            dynamic_registration=True, relative_pattern_support=True
        ),
        symbol=types.WorkspaceSymbolClientCapabilities(
            dynamic_registration=True, symbol_kind=_symbols()
        ),
        execute_command=types.ExecuteCommandClientCapabilities(dynamic_registration=True),
        workspace_folders=True,
        configuration=True,
        diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=True),
    )


def initialize_params(root: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of ``initialize`` for a folder."""
    encodings: list[types.PositionEncodingKind | str] = [
        types.PositionEncodingKind(name) for name in ENCODINGS
    ]
    capabilities = types.ClientCapabilities(
        workspace=_workspace(),
        text_document=_text_document(),
        window=types.WindowClientCapabilities(
            work_done_progress=True,
            show_message=types.ShowMessageRequestClientCapabilities(),
            show_document=types.ShowDocumentClientCapabilities(support=False),
        ),
        general=types.GeneralClientCapabilities(position_encodings=encodings),
    )
    params = types.InitializeParams(
        capabilities=capabilities,
        process_id=os.getpid(),
        client_info=types.ClientInfo(name="toolcrib-lsp"),
        root_uri=uri_of(root),
        root_path=root,
        workspace_folders=[
            types.WorkspaceFolder(uri=uri_of(root), name=os.path.basename(root) or root)
        ],
        initialization_options=dict(options) or None,
    )
    plain: dict[str, Any] = _converter().unstructure(params, types.InitializeParams)
    # Older than the protocol's own way, and the only one that some clangd know.
    plain["capabilities"]["offsetEncoding"] = list(ENCODINGS)
    return plain
