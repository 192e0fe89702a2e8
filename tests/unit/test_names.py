"""What may be a name, what is meant by an id, and what was probably meant."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamtasks.domain import names
from teamtasks.domain.errors import InvalidInput

from .documents import PROPERTY

NAME = re.compile(r"[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?")
TASK_ID = re.compile(r"task-[1-9][0-9]{0,8}")
INCARNATION = re.compile(r".*_[0-9]+", re.DOTALL)

NEARLY = st.text("ab09_-", max_size=70)
SPOILT = st.builds(
    lambda text, place, wrong: text[: place % (len(text) + 1)] + wrong + text[place % (len(text) + 1) :],
    NEARLY,
    st.integers(0, 70),
    st.sampled_from(["\n", "A", " ", "/", ".", "é", "а", "ｂ", "²", "٣", "\x00", "ſ", "K", "ı"]),
)
FUZZED = NEARLY | SPOILT | st.text(max_size=70)

NOT_NAMES = [
    "",
    "x\n",
    "\nx",
    "../x",
    "x/y",
    ".",
    "CON",
    "Backend",
    "back end",
    "-x",
    "x-",
    "_x",
    "x_",
    "раyments",  # begins with Cyrillic letters
    "ｂackend",
    "x²",
    "x٣",
    "a" * 65,
    "a" * 300,
    "x\x00",
]


@PROPERTY
@given(FUZZED)
def test_a_name_is_what_the_pattern_matches_in_full(text: str) -> None:
    assert names.is_name(text) == bool(NAME.fullmatch(text))


@PROPERTY
@given(FUZZED)
def test_an_agents_name_is_a_name_that_is_not_reserved_and_not_an_incarnation(text: str) -> None:
    allowed = bool(NAME.fullmatch(text)) and not INCARNATION.fullmatch(text) and text not in names.RESERVED
    assert names.is_agent_name(text) == allowed


@pytest.mark.parametrize("text", NOT_NAMES)
def test_these_are_no_names(text: str) -> None:
    assert not names.is_name(text)
    for check in (names.check_team_name, names.check_agent_name, lambda t: names.check_label("group", t)):
        with pytest.raises(InvalidInput) as refusal:
            check(text)
        assert refusal.value.facts == {"value": text}


@pytest.mark.parametrize("text", ["a", "7", "backend", "a-b_c", "a" * 64, "0x", "q--a", "con"])
def test_these_are_names(text: str) -> None:
    assert names.check_team_name(text) == names.check_agent_name(text) == names.check_label("group", text) == text


@pytest.mark.parametrize("text", ["all", "lead", "human", "system", "nobody"])
def test_reserved_words_name_neither_a_team_nor_an_agent_but_may_be_labels(text: str) -> None:
    with pytest.raises(InvalidInput, match=f"^'{text}' is reserved and cannot name a team$"):
        names.check_team_name(text)
    with pytest.raises(InvalidInput, match=f"^'{text}' is reserved and cannot name an agent$"):
        names.check_agent_name(text)
    assert names.check_label("group", text) == text


def test_an_agents_name_cannot_be_read_as_an_incarnation() -> None:
    with pytest.raises(InvalidInput) as refusal:
        names.check_agent_name("backend_2")
    assert refusal.value.message == (
        "an agent's name does not end in _<number>: 'backend_2' would be an incarnation of 'backend'"
    )
    assert names.check_team_name("backend_2") == "backend_2"


def test_a_bad_name_is_refused_with_what_is_allowed() -> None:
    with pytest.raises(InvalidInput) as refusal:
        names.check_agent_name("Back\nend")
    assert refusal.value.message == (
        "'Back\\nend' cannot name an agent: use 1 to 64 of a-z, 0-9, _ and -, beginning and ending with a letter or digit"
    )
    with pytest.raises(InvalidInput, match=r"^'B' cannot name a capability: use 1 to 64"):
        names.check_label("capability", "B")


# incarnations


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("backend", ("backend", None)),
        ("backend_2", ("backend", 2)),
        ("back_end_12", ("back_end", 12)),
        ("back_end", ("back_end", None)),
        ("_2", ("_2", None)),
        ("backend_", ("backend_", None)),
        ("backend_²", ("backend_²", None)),
        ("backend_2x", ("backend_2x", None)),
        ("backend-2", ("backend-2", None)),
    ],
)
def test_a_name_with_a_number_behind_an_underscore_is_an_incarnation(text: str, expected: tuple[str, int | None]) -> None:
    assert names.split_incarnation(text) == expected


def test_a_number_of_any_length_is_no_trouble() -> None:
    assert names.split_incarnation("a_" + "9" * 10_000)[0] == "a"


# ids of tasks


@PROPERTY
@given(
    st.from_regex(TASK_ID)
    | FUZZED.map("task-{}".format)
    | st.integers(-1, 10**10).map("task-{}".format)
    | st.text("task-0123456789\n", max_size=16)
)
def test_a_task_id_is_what_the_pattern_matches_in_full(text: str) -> None:
    assert names.is_task_id(text) == bool(TASK_ID.fullmatch(text))


@pytest.mark.parametrize(
    "text", ["2", "#2", "task-2", "Task 2", "TASK-2", " task-2\n", "02", "task-002", "#task-2", "task 2"]
)
def test_ids_are_forgiving(text: str) -> None:
    assert names.task_id(text) == "task-2"


@pytest.mark.parametrize(
    "text",
    ["", "0", "task-", "task-0", "-2", "2.0", "two", "task-x", "²", "٣", "task--2", "2 3", "1234567890", "../2", "##2"],
)
def test_what_is_no_id_is_refused_with_what_ids_look_like(text: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        names.task_id(text)
    assert refusal.value.message == f"{text!r} is not a task id"
    assert refusal.value.hint == "ids look like task-2, or just 2"
    assert refusal.value.facts == {"value": text}


@PROPERTY
@given(FUZZED | st.integers(0, 10**10).map(str) | st.from_regex(r"#?(task[- ])?0{0,3}[0-9]{1,11}", fullmatch=True))
def test_whatever_is_understood_becomes_a_valid_id_and_stays_it(text: str) -> None:
    try:
        meant = names.task_id(text)
    except InvalidInput:
        return
    assert names.is_task_id(meant)
    assert names.task_id(meant) == meant
    assert names.task_number(meant) == int(meant[5:])


# did you mean


def test_a_slip_of_the_finger_finds_what_was_meant() -> None:
    assert names.did_you_mean("bakend", ["frontend", "backend", "db"]) == "backend"


def test_something_else_altogether_finds_nothing() -> None:
    assert names.did_you_mean("zebra", ["frontend", "backend", "db"]) is None
    assert names.did_you_mean("backend", []) is None
