"""What agents parse and people read, to the letter.

Each file in ``golden/`` is a transcript: its ``$`` lines are run some minutes into the story of conftest.py, and what they
print must be what stands there. After an intended change: run with ``GOLDEN=write``, then read the diff.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest

from e2e.world import TEAMTASKS, on_terminal, steady, transcript, without_styles

GOLDEN = Path(__file__).parent / "golden"
PLAIN = sorted(path.stem for path in GOLDEN.glob("*.txt") if not path.stem.startswith("terminal"))
SEEN = ["list", "list --status completed", "ready", "show 2", "show 1", "blocked", "why 5", "why 2", "why 1"]


def commands_in(path: Path) -> list[str]:
    return [line.removeprefix("$ ") for line in path.read_text().splitlines() if line.startswith("$ teamtasks")]


def matches(path: Path, printed: str) -> bool:
    if os.environ.get("GOLDEN") == "write":
        path.write_text(printed)
    assert printed == path.read_text()
    return True


@pytest.mark.parametrize("name", PLAIN)
def test_plain_output_is_as_the_transcript_says(later, name):
    path = GOLDEN / f"{name}.txt"
    assert matches(path, transcript(later, commands_in(path)))


def test_the_json_of_a_claim_has_the_task_the_attempt_and_the_brief(team):
    team("create", "Payment API", "--accept", "answers 201", "--estimate", "15m")
    answer = team("--as", "b", "claim", "--json")
    assert json.loads(steady(answer.out, team.home)) == {
        "revision": 3,
        "task": {
            "id": "task-1",
            "status": "in_progress",
            "assignee": "b",
            "priority": 2,
            "dependencies": [],
            "title": "Payment API",
            "attempts": 1,
            "claim": {"incarnation": 1, "attempt": 1, "at": "2026-01-01T00:00:00Z"},
            "estimate": 15,
            "description": "",
            "acceptance_criteria": ["answers 201"],
            "created_at": "2026-01-01T00:00:00Z",
            "created_by": "human",
            "completed_at": None,
        },
        "attempt": 1,
        "again": False,
        "brief": answer.json["brief"],
    }
    assert answer.json["brief"] + "\n" == team("--as", "b", "claim").out


def test_a_brief_addresses_only_the_holder_as_you(story):
    assert "You hold it as db." in story("--as", "db", "brief", "2").out
    for who in ("human", "backend"):
        told = story("--as", who, "brief", "2").out
        assert "You hold it" not in told
        assert "db" in told.splitlines()[1]
        assert "complete task-2" not in told


def test_the_brief_of_a_blocked_task_says_what_it_waits_for_and_offers_no_claim(story):
    told = story("--as", "backend", "brief", "4").out
    assert "task-2" in told.splitlines()[1]
    assert "claim task-4" not in told


def test_a_brief_stays_short_however_long_the_history_is(story):
    for number in range(2, 14):
        story("--as", "db", "fail", "2", "--attempt", str(number), "--reason", "r" * 3000, "--output", "-", stdin="o" * 9000)
        story("--as", "db", "claim", "2", "-q")
        story("note", "2", f"note {number} " + "n" * 3000)
    told = story("--as", "db", "brief", "2").out
    assert len(told) < 30_000
    assert "attempt 13: db failed" in told
    assert "note 13 " in told
    assert re.search(r"earlier: teamtasks .*show task-2", told)


def tokens(text: str) -> int:
    """As everywhere in this project: bytes of UTF-8 divided by four, rounded up."""
    return -(-len(text.encode()) // 4)


def test_answers_cost_few_tokens(team):
    team("create", "Payment API")
    assert tokens(team("create", "Integration tests", "--after", "1").out) <= 10
    assert tokens(team("list").out) <= 2 * 14
    assert tokens(team("ready").out) <= 12
    assert tokens(team("--as", "backend", "claim").out) <= 110
    assert tokens(team("why", "2").out) <= 70
    assert tokens(team("--as", "backend", "complete", "1", "--result", "works").out) <= 12
    assert tokens(team("--as", "backend", "complete", "7", code=3).err) <= 30
    assert tokens(team("show", "1").out) <= 45


# on a terminal


def drawn(story, command: str, columns: int, **env: str) -> str:
    code, text = on_terminal([TEAMTASKS, *shlex.split(command)], story.environ(**env), columns=columns)
    assert code == 0
    return text


@pytest.mark.parametrize("columns", [80, 140])
def test_a_terminal_shows_what_the_transcript_says(later, columns):
    told = [f"$ teamtasks {each}\n{without_styles(drawn(later, each, columns))}" for each in SEEN]
    assert matches(GOLDEN / f"terminal-{columns}.txt", steady("\n".join(told), later.home))


@pytest.mark.parametrize("columns", [40, 80, 140])
@pytest.mark.parametrize("command", SEEN)
def test_no_line_of_a_view_is_wider_than_the_terminal(story, command, columns):
    for line in without_styles(drawn(story, command, columns)).splitlines():
        assert len(line) <= columns


@pytest.mark.parametrize("command", SEEN)
def test_no_color_takes_the_colours_and_nothing_else(later, command):
    coloured, sober = drawn(later, command, 100), drawn(later, command, 100, NO_COLOR="1")
    assert without_styles(coloured) == without_styles(sober)
    for colour in range(30, 38):
        assert f"\x1b[{colour}m" not in sober


def test_colours_say_what_is_done_running_and_blocked(story):
    lines = drawn(story, "list", 100).splitlines()
    assert "\x1b[32mdone" in lines[0]
    assert "\x1b[36mrunning" in lines[1]
    assert "\x1b[33mblocked" in lines[3]


def test_a_dumb_terminal_gets_no_escape_sequences(story):
    _code, text = on_terminal(["/usr/bin/env", "TERM=dumb", TEAMTASKS, "list"], story.environ())
    assert "\x1b" not in text
    assert "Payment API" in text


def test_what_is_not_a_view_is_the_same_on_a_terminal_as_in_a_pipe(story):
    for command in ("whoami", "settings", "teams", "--as db brief 2", "create 'Changelog' --dry-run", "schema"):
        assert drawn(story, command, 80) == story(*shlex.split(command)).out


def test_nothing_to_show_is_said_alike_on_a_terminal_and_in_a_pipe(story):
    piped = story("list", "--group", "nobody").err
    assert without_styles(drawn(story, "list --group nobody", 100)) == piped


def test_delete_asks_a_person_for_the_name_and_takes_no_for_an_answer(story):
    command = [TEAMTASKS, "delete", "payments"]
    code, text = on_terminal(command, story.environ(), typed=b"no\n")
    assert code == 1
    assert "Delete the team payments with its tasks and its history? Type its name: " in text
    assert "not deleted" in text
    assert story("teams", "-q").out == "payments\n"
    assert on_terminal(command, story.environ(), typed=b"payments\n")[0] == 0
    assert story("teams", "-q").out == ""


# ages


def test_ages_are_minutes_of_the_estimate_and_the_last_sign_of_life(later):
    assert later("list").out.splitlines()[1] == 'task-2 in_progress "Payment API" db 8m/15m attempt 2 p1 [api]'
    assert "blocked-by task-2(db, 8m),task-3" in later("list").out
    assert later("why", "2").out.splitlines()[0] == (
        'task-2 "Payment API" in progress: db, attempt 2, 8 min of 15, last sign of life 3m ago'
    )
    assert "(attempt 2, 8m). Try: " in later("--as", "backend", "claim", "2", code=4).err


def test_work_over_its_estimate_is_told_so(later, public):
    text = (public / "tasks.json").read_text().replace('"estimate":15', '"estimate":5', 1)
    (public / "tasks.json").write_text(text)
    assert "8 min of 5, over its estimate" in later("why", "2").out
    assert "\x1b[31m8m" in drawn(later, "list", 100)
