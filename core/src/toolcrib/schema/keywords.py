"""The closed list of JSON Schema keywords, and what other dialects call things."""

from __future__ import annotations


__all__ = [
    "ANNOTATIONS",
    "ASSERTIONS",
    "BENIGN",
    "DRAFTS",
    "IN_PLACE",
    "IN_PLACE_LISTS",
    "SINCE",
    "TYPES",
    "TYPE_SLIPS",
    "URIS",
]

# Drafts in order; a keyword that came with a later one says nothing in an earlier one.
DRAFTS = ("4", "6", "7", "2019-09", "2020-12")

URIS = {
    "json-schema.org/draft-04/schema": "4",
    "json-schema.org/draft-06/schema": "6",
    "json-schema.org/draft-07/schema": "7",
    "json-schema.org/schema": "2020-12",
    "json-schema.org/draft/2019-09/schema": "2019-09",
    "json-schema.org/draft/2020-12/schema": "2020-12",
}

SINCE = {
    "const": "6",
    "contains": "6",
    "propertyNames": "6",
    "if": "7",
    "then": "7",
    "else": "7",
    "$anchor": "2019-09",
    "$recursiveRef": "2019-09",
    "dependentRequired": "2019-09",
    "dependentSchemas": "2019-09",
    "maxContains": "2019-09",
    "minContains": "2019-09",
    "unevaluatedItems": "2019-09",
    "unevaluatedProperties": "2019-09",
    "$dynamicAnchor": "2020-12",
    "$dynamicRef": "2020-12",
    "prefixItems": "2020-12",
}

TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})

# What programmers write where they mean a JSON type; None stands for "any value".
TYPE_SLIPS: dict[str, str | None] = {
    "any": None,
    "arr": "array",
    "arraylist": "array",
    "bool": "boolean",
    "byte": "integer",
    "char": "string",
    "dict": "object",
    "dictionary": "object",
    "double": "number",
    "float": "number",
    "hashmap": "object",
    "hashtable": "object",
    "int": "integer",
    "list": "array",
    "long": "integer",
    "map": "object",
    "none": "null",
    "nonetype": "null",
    "num": "number",
    "obj": "object",
    "short": "integer",
    "str": "string",
    "text": "string",
    "tuple": "array",
    "unknown": None,
}

# Looked at by a validator: a key that nearly says one of these is a typing mistake.
ASSERTIONS = (
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "required",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
)

ANNOTATIONS: dict[str, type | tuple[type, ...]] = {
    "title": str,
    "description": str,
    "format": str,
    "contentEncoding": str,
    "contentMediaType": str,
    "deprecated": bool,
    "readOnly": bool,
    "writeOnly": bool,
}

# Known to say nothing about validity; left out without a word.
BENIGN = frozenset(
    {
        "$comment",
        "$vocabulary",
        "contentSchema",
        "discriminator",
        "example",
        "externalDocs",
        "optional",
        "xml",
    }
)

# Keywords whose subschemas look at the same value as the schema that holds them.
IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
IN_PLACE = ("not", "if", "then", "else")
