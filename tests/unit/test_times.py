"""Time as text: against datetime, and against the pattern that the schemas state."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamtasks.domain import times
from teamtasks.domain.errors import InvalidInput
from teamtasks.store import validate

from .documents import PROPERTY

MOMENTS = st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31, 23, 59, 59)).map(
    lambda t: t.replace(microsecond=0)
)
PATTERN = re.compile(validate.load("task")["definitions"]["time"]["pattern"])


@PROPERTY
@given(MOMENTS)
def test_a_time_and_its_text_are_what_datetime_says(moment: datetime) -> None:
    seconds = int(moment.replace(tzinfo=UTC).timestamp())
    text = moment.isoformat() + "Z"
    assert times.iso(seconds) == text
    assert times.epoch(text) == seconds


@PROPERTY
@given(st.integers(0, 2**33))
def test_a_time_survives_the_way_to_text_and_back(seconds: int) -> None:
    assert times.epoch(times.iso(seconds)) == seconds


def test_fractions_are_cut_off_both_ways() -> None:
    assert times.iso(1.999) == "1970-01-01T00:00:01Z"
    assert times.epoch("1970-01-01T00:00:01.999Z") == 1


@pytest.mark.parametrize(
    "text", ["2024-02-29T23:59:59Z", "2000-02-29T00:00:00Z", "1900-03-01T00:00:00Z", "2100-12-31T12:00:00Z"]
)
def test_leap_days_are_in_their_place(text: str) -> None:
    assert times.epoch(text) == int(datetime.fromisoformat(text).timestamp())


# what is a time

SPOILT = st.builds(
    lambda text, place, wrong, cut: text[:place] + wrong + text[place + cut :],
    st.from_regex(PATTERN, fullmatch=True),
    st.integers(0, 30),
    st.sampled_from(["", "0", "9", "3", ".", "Z", "\n", " ", "-", ":", "٣", "²", "t", "+00:00"]),
    st.integers(0, 2),
)


@PROPERTY
@given(SPOILT | st.from_regex(PATTERN, fullmatch=True) | st.text("0123456789-T:.Z\n", max_size=31) | st.text(max_size=31))
def test_a_time_is_what_the_schema_says(text: str) -> None:
    assert times.is_iso(text) == bool(PATTERN.fullmatch(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-03-29",
        "2026-03-29T10:00:00",
        "2026-03-29T10:00:00+00:00",
        "2026-03-29 10:00:00Z",
        "2026-03-29t10:00:00z",
        "2026-00-29T10:00:00Z",
        "2026-13-29T10:00:00Z",
        "2026-03-00T10:00:00Z",
        "2026-03-32T10:00:00Z",
        "2026-03-29T24:00:00Z",
        "2026-03-29T10:60:00Z",
        "2026-03-29T10:00:61Z",
        "2026-03-29T10:00:00.Z",
        "2026-03-29T10:00:00.1234567890Z",
        "2026-03-29T10:00:00Z\n",
        "٢٠٢٦-03-29T10:00:00Z",
    ],
)
def test_these_are_no_times(text: str) -> None:
    assert not times.is_iso(text)


@pytest.mark.parametrize("text", ["2026-03-29T10:00:00Z", "2026-03-29T10:00:00.1Z", "2026-12-31T23:59:60.123456789Z"])
def test_these_are_times(text: str) -> None:
    assert times.is_iso(text)


# between and age


def test_between_two_times_are_seconds_and_never_less_than_none() -> None:
    assert times.seconds_between("2026-03-29T09:52:00Z", "2026-03-29T10:00:01Z") == 481
    assert times.seconds_between("2026-03-29T10:00:01Z", "2026-03-29T09:52:00Z") == 0


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-5, "0s"),
        (0, "0s"),
        (59.9, "59s"),
        (60, "1m"),
        (61, "1m"),
        (7_199, "119m"),
        (7_200, "2h"),
        (2 * 86_400 - 1, "47h"),
        (2 * 86_400, "2d"),
        (900 * 86_400, "900d"),
    ],
)
def test_an_age_is_the_few_characters_that_a_reader_needs(seconds: float, expected: str) -> None:
    assert times.age(seconds) == expected


# durations


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("15m", 900),
        ("90s", 90),
        ("1h30m", 5_400),
        ("2d", 172_800),
        ("1d2h3m4s", 93_784),
        ("15", 900),
        (" 15M ", 900),
        ("366d", 366 * 86_400),
        ("0h5m", 300),
    ],
)
def test_a_duration_is_read_as_people_write_it(text: str, expected: int) -> None:
    assert times.duration(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "0", "0m", "m", "-5m", "1.5h", "15 m", "1h30", "m5", "5w", "5mm", "٣m", "²", "9" * 30, "5m\n5", "1e3s"],
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        times.duration(text, what="--estimate")
    assert refusal.value.message == f"--estimate must look like 15m, 90s or 1h30m, not {text!r}"
    assert refusal.value.facts == {"value": text}


@PROPERTY
@given(st.lists(st.tuples(st.integers(0, 400), st.sampled_from("smhd")), min_size=1, max_size=3))
def test_a_duration_is_the_sum_of_its_parts(parts: list[tuple[int, str]]) -> None:
    total = sum(n * {"s": 1, "m": 60, "h": 3_600, "d": 86_400}[unit] for n, unit in parts)
    text = "".join(f"{n}{unit}" for n, unit in parts)
    if 0 < total <= 366 * 86_400:
        assert times.duration(text) == total
    else:
        with pytest.raises(InvalidInput):
            times.duration(text)


def test_a_duration_of_more_than_a_year_is_refused_as_such() -> None:
    with pytest.raises(InvalidInput) as refusal:
        times.duration("367d", what="--estimate")
    assert refusal.value.message == "--estimate is at most a year, not '367d'"
