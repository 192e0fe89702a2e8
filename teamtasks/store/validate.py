"""Schema checks, on every write and on everything that we did not write ourselves.

``check`` walks a schema directly: a small subset of draft-07, no imports, some 50 µs a document, so that each commit can
afford it. ``report`` asks jsonschema for everything that is wrong, for files that people edited. A property test shows
that the two agree. (Validators generated from the schemas would be as fast, but they are a second copy to keep in step.)
"""

from __future__ import annotations

import os

from teamtasks import jsontext
from teamtasks.domain.errors import InvalidData
from teamtasks.domain.names import is_agent_name, is_name, is_task_id
from teamtasks.domain.times import is_iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Schema = dict[str, Any]

PLACE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "schemas")

_NAME = "[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?"
PATTERNS: dict[str, Callable[[str], bool]] = {
    f"^{_NAME}$": is_name,
    f"^(?!(all|lead|human|system|nobody)$)(?!.*_[0-9]+$){_NAME}$": is_agent_name,
    "^task-[1-9][0-9]{0,8}$": is_task_id,
    "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)"
    "([.][0-9]{1,9})?Z$": is_iso,
}
"""The patterns of our schemas, without ``re``. Any other pattern works too, and costs its import."""

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_loaded: dict[str, Schema] = {}


class Mismatch(Exception):
    """A value that is not what the schema says: where (a path of keys and indexes) and why."""

    def __init__(self, path: tuple[str | int, ...], why: str) -> None:
        super().__init__(why)
        self.path = path
        self.why = why


def load(name: str) -> Schema:
    if name not in _loaded:
        with open(os.path.join(PLACE, f"{name}.json"), encoding="utf-8") as file:
            _loaded[name] = jsontext.loads(file.read())
    return _loaded[name]


def check(kind: str, value: object) -> None:
    """Raises ``Mismatch`` at the first thing that is wrong."""
    schema = load(kind)
    _check(value, schema, schema, ())


def check_json(what: str, value: object) -> None:
    """Whether it can be written at all: no NaN, no lone surrogates, nothing that is not JSON."""
    try:
        jsontext.dumps(value).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidData(f"{what} cannot be written as JSON: {error}", kind=what) from None


def check_document(kind: str, id: str, value: Any) -> None:
    """For a store, before it writes: what we are about to make durable is what the schemas say."""
    check_json(f"{kind} {id}", value)
    if kind == "task" and isinstance(value, dict) and value.get("id") != id:
        raise InvalidData(f"task {id} would say of itself that it is {value.get('id')}", kind=kind, id=id)
    try:
        check(kind, value)
    except Mismatch as wrong:
        where = ".".join(map(str, wrong.path)) or "it"
        raise InvalidData(
            f"{kind} {id} would not be valid: {where} {wrong.why}", hint=f"teamtasks schema {kind}", kind=kind, id=id
        ) from None


def report(kind: str, value: object) -> Iterator[Mismatch]:
    """Everything that is wrong, outermost first."""
    from jsonschema import Draft7Validator

    errors = sorted(Draft7Validator(load(kind)).iter_errors(value), key=lambda e: len(e.absolute_path))
    for error in errors:
        yield Mismatch(tuple(error.absolute_path), _shorter(error.message))
    if not errors:  # jsonschema takes 2.0 for a whole number, and a line end behind a name for no part of it
        try:
            check(kind, value)
        except Mismatch as wrong:
            yield wrong


def _check(value: Any, schema: Schema, root: Schema, path: tuple[str | int, ...]) -> None:
    if "$ref" in schema:
        return _check(value, root["definitions"][schema["$ref"].rpartition("/")[2]], root, path)
    if "type" in schema:
        _check_type(value, schema["type"], path)
    if "const" in schema and (value != schema["const"] or isinstance(value, bool) != isinstance(schema["const"], bool)):
        raise Mismatch(path, f"must be {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        raise Mismatch(path, f"must be one of {', '.join(map(str, schema['enum']))}, not {_shorter(repr(value))}")
    if isinstance(value, str):
        _check_text(value, schema, path)
    elif isinstance(value, dict):
        _check_object(value, schema, root, path)
    elif isinstance(value, list):
        _check_list(value, schema, root, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if value < schema.get("minimum", value):
            raise Mismatch(path, f"must be at least {schema['minimum']}")
        if value > schema.get("maximum", value):
            raise Mismatch(path, f"must be at most {schema['maximum']}")
    return None


def _check_type(value: Any, wanted: str | list[str], path: tuple[str | int, ...]) -> None:
    for name in (wanted,) if isinstance(wanted, str) else wanted:
        if isinstance(value, _TYPES[name]) and (not isinstance(value, bool) or name == "boolean"):
            return
    words = wanted if isinstance(wanted, str) else " or ".join(wanted)
    raise Mismatch(path, f"must be {words}, not {_shorter(repr(value))}")


def _check_text(value: str, schema: Schema, path: tuple[str | int, ...]) -> None:
    if len(value) < schema.get("minLength", 0):
        raise Mismatch(path, f"must have at least {schema['minLength']} character(s)")
    if len(value) > schema.get("maxLength", len(value)):
        raise Mismatch(path, f"must have at most {schema['maxLength']} characters")
    pattern = schema.get("pattern")
    if pattern is not None and not PATTERNS[pattern](value):
        raise Mismatch(path, f"is not of the right form: {_shorter(repr(value))}")


def _check_object(value: Schema, schema: Schema, root: Schema, path: tuple[str | int, ...]) -> None:
    for name in schema.get("required", ()):
        if name not in value:
            raise Mismatch(path, f"has no {name!r}")
    properties = schema.get("properties", {})
    for name, inner in value.items():
        if name in properties:
            _check(inner, properties[name], root, (*path, name))


def _check_list(value: list[Any], schema: Schema, root: Schema, path: tuple[str | int, ...]) -> None:
    if len(value) > schema.get("maxItems", len(value)):
        raise Mismatch(path, f"must have at most {schema['maxItems']} entries")
    if schema.get("uniqueItems") and len({jsontext.dumps(v) for v in value}) < len(value):
        raise Mismatch(path, "must not repeat itself")
    for index, item in enumerate(value):
        _check(item, schema["items"], root, (*path, index))


def _shorter(text: str) -> str:
    return text if len(text) <= 120 else text[:119] + "…"
