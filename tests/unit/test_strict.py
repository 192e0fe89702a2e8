"""Strict reading: what is wrong with a file, at which line and column, and nothing quietly dropped."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamtasks.store import strict

from .documents import PROPERTY, TEXTS

BOM = b"\xef\xbb\xbf"


def refused(data: bytes) -> tuple[str, int, int]:
    with pytest.raises(strict.NotStrict) as refusal:
        strict.loads(data)
    wrong = refusal.value
    assert str(wrong) == f"{wrong.why} (line {wrong.line}, column {wrong.column})"
    return wrong.why, wrong.line, wrong.column


def place(data: bytes) -> tuple[int, int]:
    return refused(data)[1:]


# what is read

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@PROPERTY
@given(VALUES, st.booleans(), st.sampled_from([None, 2]), st.sampled_from([b"", BOM]))
def test_good_json_is_read_as_json_reads_it(value: Any, ascii_only: bool, indent: int | None, mark: bytes) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert strict.loads(mark + text.encode()) == value


def test_a_byte_order_mark_is_tolerated_once() -> None:
    assert strict.loads(BOM + b'{"a":1}') == {"a": 1}
    assert place(BOM + BOM + b'{"a":1}') == (1, 1)


def test_a_pair_of_surrogate_escapes_is_one_character() -> None:
    assert strict.loads(b'["\\ud83d\\ude00"]') == ["😀"]


def test_the_same_key_in_different_objects_is_no_duplicate() -> None:
    assert strict.loads(b'{"a":{"a":1},"b":[{"a":1},{"a":2}]}') == {"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]}


def test_numbers_as_large_as_numbers_go_are_read() -> None:
    assert strict.loads(b"[1e308,-1e308,12345678901234567890,1e-999]") == [1e308, -1e308, 12345678901234567890, 0.0]


# what is no UTF-8


@pytest.mark.parametrize("codec", ["utf-16", "utf-32"])
def test_another_encoding_is_refused_at_its_first_byte(codec: str) -> None:
    assert refused('{"a":1}'.encode(codec)) == ("not UTF-8", 1, 1)


def test_utf_16_without_a_mark_is_refused_at_its_first_zero_byte() -> None:
    assert place('{"a":1}'.encode("utf-16-le")) == (1, 2)


def test_a_bad_byte_is_refused_where_it_stands() -> None:
    assert refused(b'{"a":1,\n "b":"x\xff"}') == ("not UTF-8", 2, 8)


def test_surrogates_as_bytes_are_refused() -> None:
    assert refused(b'["\xed\xa0\x80"]') == ("not UTF-8", 1, 3)


def test_columns_count_characters_not_bytes() -> None:
    assert refused('{"é":"'.encode() + b'\xff"}') == ("not UTF-8", 1, 7)
    assert place('{"é":x}'.encode()) == (1, 6)


def test_a_byte_order_mark_does_not_move_the_place_of_a_bad_byte() -> None:
    assert refused(BOM + b'{"a":1,\n "b":"x\xff"}') == ("not UTF-8", 2, 8)


# duplicate keys


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a":1,"a":2}', (1, 8)),
        (b'{"a":1,\n  "b":2,\n  "a":3}', (3, 3)),
        (b'{"x":{"a":1,"b":2,"a":3}}', (1, 19)),
        (b'{"a":1, "a" : 1}', (1, 9)),
        (b'{"a":1,"a":2,"a":3}', (1, 8)),
    ],
)
def test_a_key_that_stands_twice_is_refused_where_it_stands_again(data: bytes, expected: tuple[int, int]) -> None:
    assert refused(data) == ("the key 'a' stands twice in one object", *expected)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a":"a","a":1}', (1, 10)),  # a value that looks like the key
        (b'{"b":{"a":1},"a":1,"a":2}', (1, 20)),  # the same key further inside
        (b'{"a":["a"],"b":"a","a":2}', (1, 20)),
        ('{"é":1,"é":2}'.encode(), (1, 8)),  # not ASCII
        (b'{"\\u0061":1,"a":2}', (1, 13)),  # escaped
        (b'{"a":1,"\\u0061":2}', (1, 8)),
        (b'{"\\"":1,"\\"":2}', (1, 9)),
        (b'{"a\\"":"\\"","a\\"":2}', (1, 13)),
    ],
)
def test_whatever_else_looks_like_it_is_not_taken_for_the_key(data: bytes, expected: tuple[int, int]) -> None:
    assert place(data) == expected


# numbers that are none


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_words_for_numbers_are_refused(word: str) -> None:
    assert refused(f'{{"a":1,\n "b":[0,{word}]}}'.encode()) == (f"{word} is not JSON", 2, 9)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1.5E+400"])
def test_numbers_beyond_all_bounds_are_refused(number: str) -> None:
    assert refused(f'{{"a":1,\n "b":[0,{number}]}}'.encode()) == (f"{number} is too large a number", 2, 9)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a":"NaN","b":NaN}', (1, 16)),
        (b'{"NaN":1,"b":NaN}', (1, 14)),
        (b'{"a":"1e999","b":1e999}', (1, 18)),
        (b"[-1e999]", (1, 2)),
        (b'{"a":"-Infinity Infinity","b":Infinity}', (1, 31)),
    ],
)
def test_whatever_else_looks_like_it_is_not_taken_for_the_number(data: bytes, expected: tuple[int, int]) -> None:
    assert place(data) == expected


def test_an_integer_that_python_will_not_read_is_refused_where_it_stands() -> None:
    assert place(b'{"a":1,\n "b":' + b"9" * 5_000 + b"}") == (2, 6)


# surrogates


def test_a_lone_surrogate_is_refused_where_its_text_begins() -> None:
    assert refused(b'{"a":1,\n "b":["x","\\ud800"]}') == ("a lone surrogate is not text", 2, 11)


def test_a_lone_surrogate_in_a_key_is_refused_where_the_key_begins() -> None:
    assert refused(b'{"a":1,\n "\\udc00":2}') == ("a lone surrogate is not text", 2, 2)


# depth


def test_sixty_four_levels_are_read() -> None:
    assert strict.loads(b"[" * 64 + b"1" + b"]" * 64)


@pytest.mark.parametrize("depth", [65, 200, 500])
def test_more_levels_are_refused_where_they_begin(depth: int) -> None:
    data = b"[" * depth + b"]" * depth
    assert refused(data) == ("nested more than 64 deep", 1, 65)


def test_objects_count_as_levels_too() -> None:
    data = b'{"a":' * 70 + b"1" + b"}" * 70
    assert refused(data) == ("nested more than 64 deep", 1, 1 + 64 * 5)


@pytest.mark.parametrize(
    "data",
    [b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000],
    ids=["unclosed", "closed", "objects"],
)
def test_a_hundred_thousand_levels_are_refused_and_harm_nobody(data: bytes) -> None:
    why, line, _column = refused(data)
    assert why.startswith("nested ")
    assert line == 1


def test_a_hundred_thousand_levels_are_refused_where_they_begin_to_be_too_many() -> None:
    assert refused(b"[\n" + b"[" * 100_000)[1:] == (2, 64)


def test_of_several_wrong_things_the_first_is_told() -> None:
    assert refused(b'[{"a":1,"a":2},NaN]') == ("the key 'a' stands twice in one object", 1, 9)
    assert refused(b'[NaN,{"a":1,"a":2}]') == ("NaN is not JSON", 1, 2)
    assert refused(b'{"a":NaN,"a":"\\ud800"}') == ("NaN is not JSON", 1, 6)


# what is no JSON at all


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", (1, 1)),
        (b" \n ", (2, 2)),
        (b'{"a":1} x', (1, 9)),
        (b'{"a":1}{"a":1}', (1, 8)),
        (b'{"a":1,\n// why\n"b":2}', (2, 1)),
        (b"{'a':1}", (1, 2)),
        (b'{"a"1}', (1, 5)),
        (b'{"a":1 "b":2}', (1, 8)),
        (b'{"a":[1,2', (1, 10)),
        (b'{"a":tru}', (1, 6)),
        (b"[01]", (1, 3)),
        (b'["a\nb"]', (1, 4)),
        (b'["\x00"]', (1, 3)),
        (b'{\x00"a":1}', (1, 2)),
        (b'["\\x41"]', (1, 3)),
        (b'{"a":"x', (1, 6)),
        (b"\x1f\x8b\x08", (1, 2)),
    ],
)
def test_what_is_no_json_is_refused_where_it_stops_to_be(data: bytes, expected: tuple[int, int]) -> None:
    assert place(data) == expected


@PROPERTY
@given(st.binary(max_size=40) | st.text('{}[]":,\\ud8NaI1e9.- \n', max_size=40).map(str.encode))
def test_whatever_the_bytes_they_are_read_or_refused_inside_the_text(data: bytes) -> None:
    try:
        strict.loads(data)
    except strict.NotStrict as wrong:
        assert 1 <= wrong.line <= data.count(b"\n") + 1
        assert 1 <= wrong.column <= len(data) + 1


# positions

FILE = '\ufeff{"format": 1,\n "tasks": [\n  {"id": "task-1", "title": "é \\" ,"},\n  {"id":"task-2"}\n ]}'.encode()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ((), (1, 1)),
        (("format",), (1, 12)),
        (("tasks",), (2, 11)),
        (("tasks", 0), (3, 3)),
        (("tasks", 0, "id"), (3, 10)),
        (("tasks", 0, "title"), (3, 29)),
        (("tasks", 1), (4, 3)),
        (("tasks", 1, "id"), (4, 9)),
    ],
)
def test_the_value_at_a_path_has_a_line_and_a_column(path: tuple[Any, ...], expected: tuple[int, int]) -> None:
    assert strict.position(FILE, path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("nothing",), (1, 1)),
        (("tasks", 2), (2, 11)),
        (("tasks", "id"), (2, 11)),
        (("tasks", 1, "title"), (4, 3)),
        (("tasks", 1, "id", "deeper"), (4, 9)),
        (("format", 0), (1, 12)),
    ],
)
def test_a_path_that_leads_nowhere_is_followed_as_far_as_it_leads(path: tuple[Any, ...], expected: tuple[int, int]) -> None:
    assert strict.position(FILE, path) == expected


@PROPERTY
@given(VALUES, st.sampled_from([None, 1]), st.data())
def test_at_the_position_of_a_path_stands_the_value_of_that_path(
    value: Any, indent: int | None, data: st.DataObject
) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    path: list[Any] = []
    inner = value
    while isinstance(inner, dict | list) and inner and data.draw(st.booleans()):
        path.append(data.draw(st.sampled_from(sorted(inner) if isinstance(inner, dict) else range(len(inner)))))
        inner = inner[path[-1]]
    line, column = strict.position(text.encode(), path)
    start = sum(len(each) + 1 for each in text.split("\n")[: line - 1]) + column - 1
    assert json.JSONDecoder().raw_decode(text, start)[0] == inner
