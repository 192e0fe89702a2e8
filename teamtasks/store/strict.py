"""Strict reading of JSON that we did not write: the errors name line and column, and nothing is quietly dropped.

UTF-8 (a byte order mark is tolerated), no duplicate keys, no NaN or infinities, no lone surrogates, depth and size capped.
The standard decoder reads; only when something is wrong is the text walked again, slowly, to say where.
"""

from __future__ import annotations

import json
from json.decoder import scanstring  # type: ignore[attr-defined]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

DEEPEST = 64
DIGITS_MOST = 4_000
_SPACE = " \t\r\n"
_ENDS = _SPACE + ",]}"


class NotStrict(Exception):
    """What is wrong with the text, and where: line and column count from 1, in characters."""

    def __init__(self, why: str, line: int, column: int) -> None:
        super().__init__(f"{why} (line {line}, column {column})")
        self.why, self.line, self.column = why, line, column


def loads(data: bytes) -> Any:
    text = _decoded(data)
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite, parse_int=_whole)
        _check(value, 1)
    except json.JSONDecodeError as error:
        raise NotStrict(error.msg, error.lineno, error.colno) from None
    except (_Refused, RecursionError):
        raise _place_of_refusal(text) from None
    return value


def position(data: bytes, path: Sequence[str | int]) -> tuple[int, int]:
    """Line and column of the value at ``path`` in a text that has been read before; as far as the path leads."""
    text = _decoded(data)
    place = _skip_space(text, 0)
    for step in path:
        found = _member(text, place, step)
        if found is None:
            break
        place = found
    at = _at(text, place, "")
    return at.line, at.column


def _place_of_refusal(text: str) -> Exception:
    try:
        _walk(text, _skip_space(text, 0), 1)
    except NotStrict as found:
        return found
    raise AssertionError("what the decoder refuses has a place")  # pragma: no cover


class _Refused(Exception):
    """Something that JSON, or we, do not allow. Where it stands is found by ``_walk``."""


def _decoded(data: bytes) -> str:
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        raise _at(before, len(before), "not UTF-8") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Refused
    return found


def _refuse(_name: str) -> None:
    raise _Refused


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _Refused
    return value


def _whole(text: str) -> int:
    if len(text) > DIGITS_MOST:
        raise _Refused
    return int(text)


def _check(value: Any, depth: int) -> None:
    """What the decoder lets pass: depth and lone surrogates."""
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            raise _Refused
    elif isinstance(value, dict | list):
        if depth > DEEPEST:
            raise _Refused
        for inner in (*value, *value.values()) if isinstance(value, dict) else value:
            _check(inner, depth + 1)


def _walk(text: str, place: int, depth: int) -> int:
    """Past the value at ``place``; raises ``NotStrict`` at the first thing that is not allowed in it."""
    char = text[place : place + 1]
    if char == '"':
        return _walk_text(text, place)
    if char not in ("{", "["):
        return _walk_word(text, place)
    if depth > DEEPEST:
        raise _at(text, place, f"nested more than {DEEPEST} deep")
    keys: set[str] = set()
    at = _skip_space(text, place + 1)
    while text[at : at + 1] not in ("}", "]", ""):
        if char == "{":
            key, end = scanstring(text, at + 1, True)
            if key in keys:
                raise _at(text, at, f"the key {key!r} stands twice in one object")
            keys.add(key)
            _walk_text(text, at)
            at = _skip_space(text, _skip_space(text, end) + 1)
        at = _skip_space(text, _walk(text, at, depth + 1))
        if text[at : at + 1] == ",":
            at = _skip_space(text, at + 1)
    return at + 1


def _walk_text(text: str, place: int) -> int:
    value, end = scanstring(text, place + 1, True)
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise _at(text, place, "a lone surrogate is not text")
    return int(end)


def _walk_word(text: str, place: int) -> int:
    end = place
    while end < len(text) and text[end] not in _ENDS:
        end += 1
    word = text[place:end]
    if word in ("NaN", "Infinity", "-Infinity"):
        raise _at(text, place, f"{word} is not JSON")
    if word.lstrip("-").isdigit():
        if len(word) > DIGITS_MOST:
            raise _at(text, place, f"a number of more than {DIGITS_MOST:,} digits")
    elif word not in ("true", "false", "null") and float(word) in (float("inf"), float("-inf")):
        raise _at(text, place, f"{word[:40]} is too large a number")
    return end


def _member(text: str, place: int, step: str | int) -> int | None:
    """Where the value of one key or index begins inside the object or list that begins at ``place``."""
    if text[place : place + 1] not in ("{", "["):
        return None
    decoder, at, index = json.JSONDecoder(), _skip_space(text, place + 1), 0
    while text[at : at + 1] not in ("}", "]", ""):
        key: str | int = index
        if text[place] == "{":
            key, at = scanstring(text, at + 1, True)
            at = _skip_space(text, _skip_space(text, at) + 1)
        if key == step:
            return at
        _value, at = decoder.raw_decode(text, at)
        at = _skip_space(text, at)
        if text[at : at + 1] == ",":
            at = _skip_space(text, at + 1)
        index += 1
    return None


def _skip_space(text: str, place: int) -> int:
    while place < len(text) and text[place] in _SPACE:
        place += 1
    return place


def _at(text: str, place: int, why: str) -> NotStrict:
    return NotStrict(why, text.count("\n", 0, place) + 1, place - (text.rfind("\n", 0, place) + 1) + 1)
