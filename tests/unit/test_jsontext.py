"""JSON text as the standard library reads and writes it, compact."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamtasks import jsontext

from .documents import PROPERTY, TEXTS

TEXT = TEXTS | st.text(st.characters(exclude_categories=()), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12
)


@PROPERTY
@given(VALUES)
def test_a_value_is_written_as_json_writes_it_compactly(value: Any) -> None:
    assert jsontext.dumps(value) == json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


@PROPERTY
@given(VALUES)
def test_a_value_survives_being_written_and_read(value: Any) -> None:
    assert jsontext.loads(jsontext.dumps(value)) == value


@PROPERTY
@given(VALUES, st.booleans(), st.sampled_from([None, 2]))
def test_a_text_is_read_as_json_reads_it(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert jsontext.loads(text) == json.loads(text)


@PROPERTY
@given(VALUES)
def test_what_is_written_has_no_line_end(value: Any) -> None:
    assert "\n" not in jsontext.dumps(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_not_written(value: float) -> None:
    for holder in (value, [value], {"a": value}):
        with pytest.raises(ValueError, match=r"not JSON compliant"):
            jsontext.dumps(holder)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a":-Infinity}'])
def test_what_is_no_number_is_not_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not JSON$"):
        jsontext.loads(text)


@pytest.mark.parametrize("value", [{1, 2}, b"x", object(), [object()]])
def test_what_is_no_json_is_not_written(value: Any) -> None:
    with pytest.raises(TypeError, match=r"is not JSON$"):
        jsontext.dumps(value)


@pytest.mark.parametrize("text", ["", " ", "{", "[1,", '{"a"', '{"a":1,}', "nul", '"a', "'a'", '["\n"]', "{1:2}"])
def test_what_is_no_json_is_not_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        jsontext.loads(text)


ALONE = """
import sys
from teamtasks import jsontext
assert "json" not in sys.modules
for text in ('{', '{"a":1,}', '"a', '[1,', 'nul', '', '["\\n"]', '{"a":1 "b":2}'):
    try:
        jsontext.loads(text)
    except ValueError:
        continue
    raise AssertionError(text)
"""


def test_broken_text_is_refused_in_a_process_that_has_not_imported_json() -> None:
    """The C scanner takes its error from the json module, which the frequent commands never import."""
    ran = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=False)
    assert ran.stderr == ""
