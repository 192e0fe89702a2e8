"""Strict reading of JSON that we did not write: the errors name line and column, and nothing is quietly dropped.

UTF-8 (a byte order mark is tolerated), no duplicate keys, no NaN or infinities, no lone surrogates, depth and size capped.
"""

from __future__ import annotations

import json
from json.decoder import scanstring  # type: ignore[attr-defined]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

DEEPEST = 64


class NotStrict(Exception):
    """What is wrong with the text, and where: line and column count from 1."""

    def __init__(self, why: str, line: int, column: int) -> None:
        super().__init__(f"{why} (line {line}, column {column})")
        self.why, self.line, self.column = why, line, column


def loads(data: bytes) -> Any:
    text = _decoded(data)
    try:
        value = _Decoder().decode(text)
    except json.JSONDecodeError as error:
        raise NotStrict(error.msg, error.lineno, error.colno) from None
    except _Refused as error:
        raise _at(text, max(0, error.place if error.place >= 0 else text.find(error.token)), error.why) from None
    except RecursionError:
        raise NotStrict("nested too deep", 1, 1) from None
    except ValueError as error:
        raise NotStrict(str(error).split(";")[0], 1, 1) from None
    _check_values(text, value, ())
    return value


def position(data: bytes, path: Sequence[str | int]) -> tuple[int, int]:
    """Line and column of the value at ``path`` in a text that has been read before; as far as the path leads."""
    text = _decoded(data)
    at = _at(text, _place(text, path), "")
    return at.line, at.column


class _Refused(Exception):
    """Where it happened is known as a place in the text, or as the token that did it."""

    def __init__(self, why: str, *, place: int = -1, token: str = "") -> None:
        super().__init__(why)
        self.why, self.place, self.token = why, place, token


class _Decoder(json.JSONDecoder):
    """The standard decoder with its Python scanner, so that a refusal knows where it stands."""

    def __init__(self) -> None:
        super().__init__(parse_constant=_no_constant, parse_float=_finite)
        plain: Any = json.decoder.JSONObject  # type: ignore[attr-defined]

        def parse_object(s_and_end: tuple[str, int], *rest: Any) -> Any:
            text, begin = s_and_end
            strict, scan_once, _hook, _pairs, memo = rest

            def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
                found = dict(pairs)
                if len(found) < len(pairs):
                    raise _duplicate(text, begin, pairs)
                return found

            return plain(s_and_end, strict, scan_once, None, unique, memo)

        self.parse_object = parse_object
        self.scan_once = json.scanner.py_make_scanner(self)  # type: ignore[attr-defined]


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        raise NotStrict("not UTF-8", line, error.start - (before.rfind(b"\n") + 1) + 1) from None


def _no_constant(name: str) -> None:
    raise _Refused(f"{name} is not JSON", token=name)


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _Refused(f"{text} is too large a number", token=text)
    return value


def _duplicate(text: str, begin: int, pairs: list[tuple[str, Any]]) -> _Refused:
    seen = set()
    for key, _value in pairs:
        if key in seen:
            break
        seen.add(key)
    quoted = json.dumps(key)
    first = text.find(quoted, begin)
    second = text.find(quoted, first + 1)
    return _Refused(f"the key {key!r} stands twice in one object", place=second if second >= 0 else begin)


def _check_values(text: str, value: Any, path: tuple[str | int, ...]) -> None:
    if len(path) > DEEPEST:
        raise _at(text, _place(text, path), f"nested more than {DEEPEST} deep")
    if isinstance(value, dict):
        for key, inner in value.items():
            _check_text(text, key, (*path, key))
            _check_values(text, inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _check_values(text, inner, (*path, index))
    elif isinstance(value, str):
        _check_text(text, value, path)


def _check_text(text: str, value: str, path: tuple[str | int, ...]) -> None:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _at(text, _place(text, path), "a lone surrogate is not text") from None


def _place(text: str, path: Sequence[str | int]) -> int:
    place = _skip_space(text, 0)
    for step in path:
        found = _member(text, place, step)
        if found is None:
            break
        place = found
    return place


def _member(text: str, place: int, step: str | int) -> int | None:
    """Where the value of one key or index begins inside the object or list that begins at ``place``."""
    if place >= len(text) or text[place] not in "{[":
        return None
    is_object = text[place] == "{"
    decoder, at, index = json.JSONDecoder(), _skip_space(text, place + 1), 0
    while at < len(text) and text[at] not in "}]":
        key: str | int = index
        if is_object:
            key, at = scanstring(text, at + 1, True)
            at = _skip_space(text, _skip_space(text, at) + 1)
        if key == step:
            return at
        _value, at = decoder.raw_decode(text, at)
        at = _skip_space(text, at)
        if at < len(text) and text[at] == ",":
            at = _skip_space(text, at + 1)
        index += 1
    return None


def _skip_space(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    return place


def _at(text: str, place: int, why: str) -> NotStrict:
    return NotStrict(why, text.count("\n", 0, place) + 1, place - (text.rfind("\n", 0, place) + 1) + 1)
