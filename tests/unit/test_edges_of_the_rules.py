"""Refusals at the very edge of what the rules allow."""

from __future__ import annotations

import pytest

from teamtasks.domain.agents import Actor
from teamtasks.domain.errors import InvalidInput
from teamtasks.domain.times import is_iso
from teamtasks.store import strict, validate

from .documents import task


def test_the_first_life_of_an_agent_is_number_one():
    with pytest.raises(InvalidInput, match="counted from 1"):
        Actor("backend_0")
    assert Actor("backend_1").incarnation == 1


def test_what_is_right_before_the_mistake_is_not_taken_for_it():
    text = '{"a":1.5,"b":-2,"c":true,"d":"x","e":[1e3,{}],"a":0}'
    with pytest.raises(strict.NotStrict, match="'a' stands twice") as refused:
        strict.loads(text.encode())
    assert refused.value.column == text.rindex('"a"') + 1


@pytest.mark.parametrize(
    ("field", "most", "more"),
    [
        ("priority", 4, 5),
        ("priority", 0, -1),
        ("acceptance_criteria", [str(n) for n in range(50)], [str(n) for n in range(51)]),
    ],
)
def test_as_much_as_is_allowed_is_allowed_and_no_more(field, most, more):
    validate.check("task", task(**{field: most}))
    with pytest.raises(validate.Mismatch, match=r"must (be|have) at (most|least)"):
        validate.check("task", task(**{field: more}))


@pytest.mark.parametrize("text", ["2026/03/29T10:00:00Z", "2026-03-29T10.00.00Z", "2026-03-29 10:00:00Z"])
def test_a_time_in_another_form_is_none(text):
    assert is_iso("2026-03-29T10:00:00Z")
    assert not is_iso(text)
