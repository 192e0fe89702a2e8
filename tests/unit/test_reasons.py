"""Why something does not move, in words, and the command that would move it."""

from __future__ import annotations

from typing import Any

import pytest

from teamtasks.domain.reasons import last_sign, reason

from .documents import NOW, agent, by_id, done, failure, held, pulse, task


def why(about: Any, *others: Any, agents: Any = None, pulses: Any = None) -> Any:
    return reason(about, by_id(*others), agents or {}, pulses or {}, NOW)


def test_a_completed_task_needs_nothing() -> None:
    assert why(done()) == {"cause": "completed", "text": "completed", "next": None}


@pytest.mark.parametrize("about", [held(), task(assignee="db"), task(needs=["sql"]), task()])
def test_the_command_that_would_move_it_is_given_as_the_reader_calls_it(about: Any) -> None:
    told = reason(about, {}, {}, {}, NOW, "teamtasks -t payments")
    assert told["next"].startswith("teamtasks -t payments ")


def test_a_blocked_task_points_to_nothing_but_its_blockers() -> None:
    assert why(task(2, dependencies=["task-1"]), task(1)) == {"cause": "blocked", "text": "cannot start", "next": None}


def test_a_held_task_says_by_whom_and_for_how_long() -> None:
    assert why(held(2, attempt=3)) == {
        "cause": "held",
        "text": "in progress: backend, attempt 3, 8m",
        "holder": "backend",
        "since": "2026-03-29T09:52:00Z",
        "next": "teamtasks assign task-2 <agent> --force",
    }


@pytest.mark.parametrize(
    ("estimate", "expected"), [(8, "8 min of 8"), (7, "8 min of 7, over its estimate"), (15, "8 min of 15")]
)
def test_a_held_task_with_an_estimate_says_whether_it_is_over(estimate: int, expected: str) -> None:
    assert why(held(estimate=estimate))["text"] == f"in progress: backend, attempt 1, {expected}"


def test_a_held_task_tells_the_last_sign_of_life_of_the_life_that_holds_it() -> None:
    pulses = {
        ("backend", 1): pulse(last_beat="2026-03-29T09:00:00Z"),
        ("backend", 2): pulse(last_beat="2026-03-29T09:59:40Z"),
    }
    told = why(held(incarnation=2, estimate=15), pulses=pulses)["text"]
    assert told == "in progress: backend, attempt 1, 8 min of 15, last sign of life 20s ago"


def test_a_reserved_task_says_for_whom_and_how_to_free_it() -> None:
    assert why(task(2, assignee="db")) == {
        "cause": "reserved",
        "text": "ready, reserved for db",
        "holder": "db",
        "next": "teamtasks assign task-2 --nobody",
    }


def test_a_reserved_task_says_what_keeps_the_agent_busy_and_whether_it_lives() -> None:
    agents = {"db": agent(incarnation=2, holds=["task-4", "task-5"])}
    pulses = {("db", 2): pulse(last_beat="2026-03-29T09:57:00Z")}
    told = why(task(assignee="db"), agents=agents, pulses=pulses)["text"]
    assert told == "ready, reserved for db, who is busy with task-4, task-5, last sign of life 3m ago"


def test_a_task_that_no_agent_is_able_to_do_says_what_is_missing() -> None:
    agents = {"db": agent(capabilities=["sql"]), "web": agent(capabilities=["css"])}
    assert why(task(needs=["sql", "css"]), agents=agents) == {
        "cause": "unsuited",
        "text": "ready, but no agent has declared css and sql",
        "next": "teamtasks join <agent> --can css --can sql",
    }


def test_a_ready_task_that_somebody_could_do_waits_to_be_taken() -> None:
    agents = {"db": agent(capabilities=["sql", "css"])}
    assert why(task(needs=["sql"]), agents=agents) == {
        "cause": "ready",
        "text": "ready, nobody has taken it",
        "next": "teamtasks --as <agent> claim task-1",
    }


def test_a_ready_task_tells_how_its_last_attempt_ended() -> None:
    past = [failure(1), failure(2, agent="db", kind="released", reason="not\nmine")]
    told = why(task(attempts=2, failures=past))["text"]
    assert told == "ready, nobody has taken it; attempt 2 released (db): not\\nmine"


def test_where_only_a_head_is_at_hand_a_ready_task_tells_how_often_it_was_tried() -> None:
    assert why(task(attempts=2))["text"] == "ready, nobody has taken it; tried 2x"


def test_an_agent_without_a_sign_of_life_has_none_to_tell() -> None:
    assert last_sign(None, NOW) == ""
    assert last_sign(pulse(), NOW) == "last sign of life 8m ago"
