"""The quick reader and click read the same call alike, or the quick one leaves it to click."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from teamtasks.cli import argv, clicks
from teamtasks.cli.table import BY_NAME, COMMANDS, COMMON, Command, Param, options, words

Read = tuple[str, dict[str, Any]]
MANY = settings(max_examples=700, deadline=None, database=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True, scope="module")
def a_home_of_its_own(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("TEAMTASKS_", "CLAUDE"))]:
            patch.delenv(name)
        patch.setenv("TEAMTASKS_HOME", str(tmp_path_factory.mktemp("argv")))
        yield


def by_click(call: list[str]) -> Read | None:
    """What click arrives at; None if it refuses, or answers by itself."""
    found: list[Read] = []

    def run(command: Command, values: dict[str, Any]) -> int:
        found.append((command.name, values))
        return 0

    clicks.main(call, run)
    return found[0] if found else None


def by_us(call: list[str]) -> Read | None:
    read = argv.read(call)
    return None if read is None else (read[0].name, read[1])


# Words that are easily taken for something else.
TEXTS = st.one_of(
    st.sampled_from(
        ["", "-", "--", "---", "-1", "0", "7", "007", "1e3", "٣", "²", "=", "a=b", "--x=y", "-q", "-t", "--json", "--as",
         "-h", "--help", "--version", "list", "claim", "small", "SMALL", "lead", " ", "-d", "--reason", "9" * 12, "é", "\n"]
    ),
    st.text(max_size=6),
)  # fmt: skip


def values_of(param: Param) -> st.SearchStrategy[str]:
    """Mostly what the option takes, at times anything."""
    good: st.SearchStrategy[str] = st.text("abc-= 1", min_size=1, max_size=5)
    if param.kind == "int":
        good = st.integers(0, 10**9 - 1).map(str)
    elif param.kind == "choice":
        good = st.sampled_from(param.choices)
    return st.one_of(*[good] * 9, TEXTS)


@st.composite
def option(draw: st.DrawFn, params: tuple[Param, ...]) -> list[str]:
    param = draw(st.sampled_from(params))
    flag = draw(st.sampled_from(param.flags))
    if param.kind == "flag":
        return [draw(st.sampled_from([*[flag] * 18, f"{flag}=", f"{flag}=x"]))]
    value = draw(values_of(param))
    shapes = [
        [flag, value],
        [flag, value],
        [flag, value],
        [f"{flag}={value}"],
        [f"{flag}={value}"],
        [f"{flag}{value}"],
        [flag],
    ]
    return draw(st.sampled_from(shapes))


@st.composite
def odd(draw: st.DrawFn) -> list[str]:
    """What does not belong there: unknown and shortened options, bundles, separators, words too many."""
    known = draw(st.sampled_from([flag for command in COMMANDS for param in options(command) for flag in param.flags]))
    strange = [
        known,
        known[:-1],
        known + "x",
        known.upper(),
        "-qt",
        "-qq",
        "-xq",
        "--",
        "-",
        "--unknown",
        "--unknown=x",
        "-tq",
    ]
    return [draw(st.one_of(st.sampled_from(strange), TEXTS))]


@st.composite
def calls(draw: st.DrawFn) -> list[str]:
    """Any call that somebody might type: options anywhere, words missing or too many, things that do not belong."""
    before = draw(st.lists(st.one_of(*[option(COMMON)] * 9, odd()), max_size=2))
    command = draw(st.sampled_from(COMMANDS))
    name = draw(st.sampled_from([command.name] * 40 + [command.name[:-1], "", "-", command.name.upper()]))
    parts: list[list[str]] = [
        [draw(TEXTS if not draw(st.integers(0, 4)) else st.text("ab1=", min_size=1))] for _ in words(command)
    ]
    required = [param for param in command.params if param.required and param.flags]
    parts += [draw(option((param,))) for param in required if draw(st.integers(0, 9))]
    parts += draw(st.lists(option(options(command)), max_size=4))
    if not draw(st.integers(0, 5)):
        parts.append(draw(odd()))
    if parts and not draw(st.integers(0, 9)):
        parts.pop(draw(st.integers(0, len(parts) - 1)))
    shuffled = draw(st.permutations(parts))
    return [word for part in (*before, [name], *shuffled) for word in part]


@st.composite
def usual_calls(draw: st.DrawFn) -> tuple[list[str], Read]:
    """A call as an agent makes it, and what it means. Built forwards from the meaning, without any reader."""
    command = draw(st.sampled_from(COMMANDS))
    values: dict[str, Any] = {}
    parts: list[list[str]] = []
    for param in command.params:
        if param.is_word:
            text = draw(st.text("abc 1=", min_size=1, max_size=5))
            values[param.name] = (text,) if param.kind == "rest" else text
            parts.append([text])
    chosen = draw(st.lists(st.sampled_from(options(command)), max_size=4, unique_by=lambda param: param.name))
    required = [param for param in command.params if param.required and param.flags and param not in chosen]
    optional: list[list[str]] = []
    for param in (*required, *chosen):
        optional += _given(draw, param, values)
    where = [draw(st.integers(0, len(parts))) for _ in optional]
    for place, part in sorted(zip(where, optional, strict=True), key=lambda pair: -pair[0]):
        parts.insert(place, part)
    return [command.name, *[word for part in parts for word in part]], (command.name, values)


def _given(draw: st.DrawFn, param: Param, values: dict[str, Any]) -> list[list[str]]:
    flag = draw(st.sampled_from(param.flags))
    if param.kind == "flag":
        values[param.name] = True
        return [[flag]]
    if param.kind == "int":
        values[param.name] = draw(st.integers(0, 10**9 - 1))
        return [[flag, str(values[param.name])]]
    text = draw(st.sampled_from(param.choices) if param.choices else st.text("abc 1=-", max_size=5))
    values[param.name] = (text,) if param.kind == "many" else text
    return [[f"{flag}={text}"] if flag.startswith("--") and draw(st.booleans()) else [flag, text]]


@MANY
@given(calls())
@example(["list", "--json", "--json=x"])
@example(["note", "--", "2", "--json"])
@example(["note", "2", "-"])
@example(["note", "2", "--attempt", "٣", "x"])
@example(["claim", "--timeout", "--wait"])
@example(["settings"])
@example(["settings", "a=1", "--json", "b=2"])
@example(["--as", "a", "--as", "b", "claim", "--as", "c"])
@example(["create", "--", "--json"])
@example(["create", "x", "-dtext"])
@example(["list", "--assign", "b"])
@example([])
def test_whatever_is_typed_the_quick_reader_agrees_with_click_or_leaves_it_to_click(call):
    ours = by_us(call)
    event("read by us" if ours else "left to click")
    if ours is not None:
        assert ours == by_click(call)


@MANY
@given(usual_calls())
def test_a_usual_call_is_read_without_click_and_means_what_it_says(pair):
    call, meant = pair
    assert by_us(call) == meant
    assert by_click(call) == meant


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_example_in_the_table_is_read_without_click(command):
    for text in command.examples:
        call = shlex.split(text.partition(" < ")[0].replace("$$", "123"))[1:]
        assert by_us(call) is not None, text
        assert by_us(call) == by_click(call)


def test_a_note_that_begins_with_a_dash_is_read_without_click():
    call = ["note", "--attempt", "2", "--", "2", "--json is broken"]
    assert by_us(call) == ("note", {"attempt": 2, "id": "2", "text": "--json is broken"}) == by_click(call)


def test_help_version_and_nothing_at_all_are_left_to_click():
    for call in ([], ["--help"], ["-h"], ["--version"], ["list", "--help"], ["list", "-h"], ["--json"]):
        assert argv.read(call) is None


def test_no_option_of_a_command_hides_a_common_one():
    for command in BY_NAME.values():
        flags = [flag for param in options(command) for flag in param.flags]
        names = [param.name for param in (*words(command), *options(command))]
        assert len(flags) == len(set(flags)), command.name
        assert len(names) == len(set(names)), command.name


def test_the_reader_lives_up_to_its_name():
    assert len(Path(argv.__file__).read_text().splitlines()) <= 120
