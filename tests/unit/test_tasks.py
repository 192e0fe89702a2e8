"""The life of a task: every rule, every refusal, and the facts that a refusal states."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamtasks.domain import holds
from teamtasks.domain import tasks as rules
from teamtasks.domain.agents import Actor
from teamtasks.domain.errors import (
    AssignedToAnother,
    AttemptRequired,
    CapabilityMissing,
    InvalidInput,
    NotTheHolder,
    Refused,
    TaskAlreadyClaimed,
    TaskAlreadyCompleted,
    TaskBlocked,
    TeamtasksError,
    TooLate,
)
from teamtasks.store import validate

from .documents import AGENT_NAMES, BEFORE, HEAVY, NOW, agent, done, failure, held, late_result, small_tasks, task, tasks

BACKEND = Actor("backend")


# claim


def test_a_claim_puts_a_pending_task_into_the_hands_of_the_agent_as_the_first_attempt() -> None:
    taken = rules.claim(task(), "backend", agent(incarnation=2), [], NOW)
    assert taken == {
        **task(),
        "status": "in_progress",
        "assignee": "backend",
        "attempts": 1,
        "claim": {"incarnation": 2, "attempt": 1, "at": NOW},
    }


def test_a_claim_after_three_attempts_is_the_fourth() -> None:
    taken = rules.claim(task(attempts=3), "backend", agent(), [], NOW)
    assert (taken["attempts"], taken["claim"]["attempt"]) == (4, 4)


def test_a_task_that_is_reserved_for_me_is_mine_to_claim() -> None:
    assert rules.claim(task(assignee="backend"), "backend", agent(), [], NOW)["status"] == "in_progress"


def test_a_task_whose_needs_i_have_declared_is_mine_to_claim() -> None:
    wanted = task(needs=["sql", "python"])
    able = agent(capabilities=["go", "python", "sql"])
    assert rules.claim(wanted, "backend", able, [], NOW)["status"] == "in_progress"


def test_a_completed_task_cannot_be_claimed() -> None:
    with pytest.raises(TaskAlreadyCompleted) as refusal:
        rules.claim(done(2, by="db"), "backend", agent(), [], NOW)
    assert refusal.value.message == "task-2 was completed by db"
    assert refusal.value.hint == "teamtasks show task-2"
    assert refusal.value.facts == {"task": "task-2"}


def test_a_task_completed_by_an_edit_says_that_it_was_completed_by_hand() -> None:
    edited = task(status="completed", completed_at=BEFORE)
    with pytest.raises(TaskAlreadyCompleted, match=r"^task-1 was completed by hand$"):
        rules.claim(edited, "backend", agent(), [], NOW)


def test_a_held_task_cannot_be_claimed_and_the_refusal_says_by_whom_and_since_when() -> None:
    with pytest.raises(TaskAlreadyClaimed) as refusal:
        rules.claim(held(2, by="db", attempt=3), "backend", agent(), [], NOW)
    assert refusal.value.message == "task-2 is held by db (attempt 3, 8m)"
    assert refusal.value.hint == "teamtasks ready"
    assert refusal.value.facts == {"task": "task-2", "holder": "db", "attempt": 3, "since": BEFORE}


def test_a_blocked_task_cannot_be_claimed_and_the_refusal_names_what_it_waits_for() -> None:
    blockers = [held(1, by="db"), task(2)]
    with pytest.raises(TaskBlocked) as refusal:
        rules.claim(task(3, dependencies=["task-1", "task-2"]), "backend", agent(), blockers, NOW)
    assert refusal.value.message == "task-3 cannot start: it waits for task-1(db, 8m), task-2"
    assert refusal.value.hint == "teamtasks why task-3"
    assert refusal.value.facts == {"task": "task-3", "blocked_by": ["task-1", "task-2"]}


def test_a_task_that_is_reserved_for_another_cannot_be_claimed() -> None:
    with pytest.raises(AssignedToAnother) as refusal:
        rules.claim(task(assignee="db"), "backend", agent(), [], NOW)
    assert refusal.value.message == "task-1 is reserved for db"
    assert refusal.value.hint == "teamtasks claim, or let the lead: teamtasks assign task-1 backend"
    assert refusal.value.facts == {"task": "task-1", "assignee": "db"}


def test_a_task_whose_needs_i_have_not_declared_cannot_be_claimed() -> None:
    with pytest.raises(CapabilityMissing) as refusal:
        rules.claim(task(needs=["sql", "go", "css"]), "backend", agent(capabilities=["go"]), [], NOW)
    assert refusal.value.message == "task-1 needs sql, css, which backend has not declared"
    assert refusal.value.hint == "teamtasks join backend --can go --can sql --can css"
    assert refusal.value.facts == {"task": "task-1", "missing": ["sql", "css"]}


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"status": "completed"}, TaskAlreadyCompleted),
        (held(by="db"), TaskAlreadyClaimed),
        ({}, TaskBlocked),
        ({"blockers": []}, AssignedToAnother),
        ({"blockers": [], "assignee": None}, CapabilityMissing),
    ],
)
def test_of_several_reasons_against_a_claim_the_first_is_told(wrong: Any, expected: type[TeamtasksError]) -> None:
    """Completed, held, blocked, reserved, unsuited: in this order."""
    wanted = {**task(assignee="db", needs=["sql"]), **wrong}
    blockers = wanted.pop("blockers", [task(9)])
    with pytest.raises(expected):
        rules.claim(wanted, "backend", agent(), blockers, NOW)


# claim again


def test_an_agent_that_claims_again_is_given_its_task_unchanged() -> None:
    mine = held(incarnation=2)
    assert rules.take_again(mine, "backend", agent(incarnation=2), NOW) == mine


def test_a_new_incarnation_takes_its_task_over_as_the_next_attempt() -> None:
    taken = rules.take_again(held(attempt=1, incarnation=1), "backend", agent(incarnation=2), NOW)
    assert taken["claim"] == {"incarnation": 2, "attempt": 2, "at": NOW}
    assert (taken["status"], taken["assignee"], taken["attempts"]) == ("in_progress", "backend", 2)


def test_what_was_taken_over_is_on_record() -> None:
    taken = rules.take_again(held(attempt=1, incarnation=1), "backend", agent(incarnation=3), NOW)
    assert taken["failures"] == [
        {
            "attempt": 1,
            "agent": "backend",
            "incarnation": 1,
            "kind": "taken_over",
            "at": NOW,
            "claimed_at": BEFORE,
            "reason": "backend_3 took over from backend_1",
        }
    ]


# who may act


@pytest.mark.parametrize(("who", "attempt"), [("backend", 1), ("backend_1", 1), ("backend", None), ("backend_1", None)])
def test_the_holder_may_act_on_the_first_attempt_whether_or_not_it_names_it(who: str, attempt: int | None) -> None:
    holds.check_hold(held(attempt=1), Actor(who), attempt)


@pytest.mark.parametrize("who", ["backend", "backend_2"])
def test_the_holder_may_act_on_a_later_attempt_that_it_names(who: str) -> None:
    holds.check_hold(held(attempt=3, incarnation=2), Actor(who), 3)


@pytest.mark.parametrize("who", ["backend", "backend_1"])
def test_from_the_second_attempt_on_it_must_be_named(who: str) -> None:
    with pytest.raises(AttemptRequired) as refusal:
        holds.check_hold(held(attempt=2), Actor(who), None)
    assert refusal.value.message == "task-1 is at attempt 2: say which one is yours"
    assert refusal.value.hint == "add --attempt N (your brief says which), or set TEAMTASKS_ATTEMPT"
    assert refusal.value.facts == {"task": "task-1"}


def test_an_attempt_that_has_not_been_is_a_mistake_not_a_late_agent() -> None:
    with pytest.raises(InvalidInput) as refusal:
        holds.check_hold(held(attempt=2), BACKEND, 3)
    assert refusal.value.message == "task-1 has no attempt 3"
    assert refusal.value.facts == {"task": "task-1", "attempts": 2}


@pytest.mark.parametrize("attempt", [0, -1])
def test_an_attempt_below_one_is_no_attempt(attempt: int) -> None:
    with pytest.raises(InvalidInput):
        holds.check_hold(held(attempt=2), BACKEND, attempt)


def test_the_holder_with_an_attempt_of_its_own_that_has_ended_is_too_late() -> None:
    again = held(attempt=2, failures=[failure(1)])
    with pytest.raises(TooLate) as refusal:
        holds.check_hold(again, BACKEND, 1)
    assert refusal.value.message == (
        "too late: backend's attempt 1 on task-1 has ended, attempt 2 is in the hands of backend"
    )
    assert refusal.value.hint == "stop work on it; then: teamtasks claim"
    assert refusal.value.facts == {
        "task": "task-1",
        "attempt": 1,
        "attempts": 2,
        "status": "in_progress",
        "holder": "backend",
    }


def test_an_earlier_life_of_the_holder_is_too_late_even_with_the_current_attempt() -> None:
    taken_over = held(attempt=2, incarnation=2, failures=[failure(1, kind="taken_over")])
    with pytest.raises(TooLate):
        holds.check_hold(taken_over, Actor("backend_1"), 2)


def test_a_new_incarnation_that_has_not_claimed_is_not_told_that_the_attempt_ended() -> None:
    with pytest.raises(NotTheHolder) as refusal:
        holds.check_hold(held(attempt=1, incarnation=1), Actor("backend_2"), 1)
    assert refusal.value.message == "backend_2 does not hold task-1: backend_1 does"
    assert refusal.value.hint == "teamtasks --as backend_2 claim task-1"


@pytest.mark.parametrize("attempt", [None, 1])
def test_an_agent_whose_task_went_to_another_is_too_late(attempt: int | None) -> None:
    with pytest.raises(TooLate) as refusal:
        holds.check_hold(held(by="db", attempt=2, failures=[failure(1)]), BACKEND, attempt)
    assert refusal.value.message == "too late: backend's attempt 1 on task-1 has ended, attempt 2 is in the hands of db"
    assert refusal.value.facts["holder"] == "db"


def test_without_an_attempt_the_latest_one_that_ended_is_meant() -> None:
    past = [failure(1), failure(2, agent="db"), failure(3), failure(4, agent="db")]
    with pytest.raises(TooLate) as refusal:
        holds.check_hold(task(attempts=4, failures=past), BACKEND, None)
    assert refusal.value.facts["attempt"] == 3
    assert refusal.value.message == "too late: backend's attempt 3 on task-1 has ended, it is pending"


def test_a_late_incarnation_is_told_about_its_own_attempt() -> None:
    past = [failure(1, incarnation=1), failure(2, incarnation=2)]
    with pytest.raises(TooLate) as refusal:
        holds.check_hold(task(attempts=2, failures=past), Actor("backend_1"), None)
    assert refusal.value.facts["attempt"] == 1


def test_an_agent_whose_task_was_completed_by_another_is_too_late() -> None:
    with pytest.raises(TooLate, match=r"on task-1 has ended, it is completed$"):
        holds.check_hold(done(by="db", attempt=2, failures=[failure(1)]), BACKEND, 1)


def test_an_agent_whose_name_begins_like_the_holders_is_not_its_next_life() -> None:
    with pytest.raises(NotTheHolder) as refusal:
        holds.check_hold(held(by="data"), Actor("data_eng"), 1)
    assert refusal.value.message == "data_eng does not hold task-1: data does"


@pytest.mark.parametrize("attempt", [None, 2])
def test_an_agent_whose_task_was_completed_in_its_hands_by_another_is_too_late(attempt: int | None) -> None:
    finished = rules.complete(held(by="backend", attempt=2), Actor("human"), "", [], NOW)
    with pytest.raises(TooLate) as refusal:
        holds.check_hold(finished, BACKEND, attempt)
    assert refusal.value.message == "too late: backend's attempt 2 on task-1 has ended, it is completed"
    assert refusal.value.facts["attempt"] == 2


def test_who_never_had_a_completed_task_is_told_that_it_is_completed() -> None:
    with pytest.raises(TaskAlreadyCompleted, match=r"^task-1 was completed by db$"):
        holds.check_hold(done(by="db"), BACKEND, 1)


def test_who_does_not_hold_a_held_task_is_told_who_does() -> None:
    with pytest.raises(NotTheHolder) as refusal:
        holds.check_hold(held(by="db"), BACKEND, 1)
    assert refusal.value.message == "backend does not hold task-1: db does"
    assert refusal.value.hint == "teamtasks show task-1"
    assert refusal.value.facts == {"task": "task-1", "holder": "db"}


def test_a_pending_task_is_held_by_nobody_not_even_by_whom_it_is_reserved_for() -> None:
    with pytest.raises(NotTheHolder) as refusal:
        holds.check_hold(task(assignee="backend"), BACKEND, None)
    assert refusal.value.message == "backend does not hold task-1: it is pending: nobody does"
    assert refusal.value.hint == "teamtasks claim task-1"
    assert refusal.value.facts == {"task": "task-1", "holder": None}


# complete


def test_a_completed_task_has_no_claim_and_says_when_by_whom_and_with_what_result() -> None:
    finished = rules.complete(held(attempt=2), Actor("backend_2"), "POST /pay works", [], NOW)
    assert finished == {
        **task(),
        "status": "completed",
        "assignee": "backend",
        "attempts": 2,
        "completed_at": NOW,
        "completed_by": "backend_2",
        "result": "POST /pay works",
    }


def test_a_result_may_be_empty_and_is_then_absent() -> None:
    assert "result" not in rules.complete(held(), BACKEND, "", [], NOW)


def test_evidence_is_kept_in_the_order_of_the_criteria() -> None:
    wanted = held(acceptance_criteria=["it runs", "it is fast"])
    proofs: list[Any] = [{"criterion": 2, "text": "12 ms"}, {"criterion": 1, "text": "exit 0"}]
    finished = rules.complete(wanted, BACKEND, "", proofs, NOW)
    assert finished["evidence"] == [{"criterion": 1, "text": "exit 0"}, {"criterion": 2, "text": "12 ms"}]


@pytest.mark.parametrize("number", [0, 3, -1])
def test_evidence_for_a_criterion_that_does_not_exist_is_refused(number: int) -> None:
    wanted = held(acceptance_criteria=["it runs", "it is fast"])
    with pytest.raises(InvalidInput) as refusal:
        rules.complete(wanted, BACKEND, "", [{"criterion": number, "text": "x"}], NOW)
    assert refusal.value.message == f"task-1 has 2 acceptance criteria, no number {number}"
    assert refusal.value.hint == "teamtasks show task-1"


def test_empty_evidence_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^the evidence is empty$"):
        rules.complete(held(acceptance_criteria=["a"]), BACKEND, "", [{"criterion": 1, "text": " \n"}], NOW)


def test_a_result_that_is_too_long_is_refused_with_its_length() -> None:
    with pytest.raises(InvalidInput) as refusal:
        rules.complete(held(), BACKEND, "x" * 64_001, [], NOW)
    assert refusal.value.message == "the result has 64,001 characters, at most 64,000 are kept"
    assert refusal.value.facts == {"length": 64_001, "most": 64_000}


def test_text_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^the result is not valid UTF-8 text$"):
        rules.complete(held(), BACKEND, "a\ud800", [], NOW)


def test_a_pending_task_completed_by_the_lead_is_the_leads() -> None:
    finished = rules.complete(task(), Actor("boss"), "", [], NOW)
    assert (finished["assignee"], finished["completed_by"]) == ("boss", "boss")


def test_a_pending_task_completed_by_a_person_is_nobodys() -> None:
    finished = rules.complete(task(), Actor("human"), "", [], NOW)
    assert (finished["assignee"], finished["completed_by"]) == (None, "human")


def test_a_pending_task_completed_by_an_incarnation_belongs_to_its_name() -> None:
    finished = rules.complete(task(), Actor("boss_2"), "", [], NOW)
    assert (finished["assignee"], finished["completed_by"]) == ("boss", "boss_2")


@pytest.mark.parametrize(("by", "whose"), [("boss", "boss"), ("human", None)])
def test_a_task_completed_over_the_head_of_its_holder_ends_the_holders_attempt(by: str, whose: str | None) -> None:
    finished = rules.complete(held(by="backend", attempt=2), Actor(by), "", [], NOW)
    assert (finished["assignee"], finished["completed_by"]) == (whose, by)
    assert finished["failures"] == [failure(2, kind="reassigned", at=NOW, reason=f"completed by {by}")]


@pytest.mark.parametrize("by", ["boss", "human", "boss_2"])
def test_a_pending_task_completed_by_force_is_a_valid_document(by: str) -> None:
    validate.check("task", rules.complete(task(), Actor(by), "", [], NOW))


# repeating oneself


@pytest.mark.parametrize("attempt", [None, 1])
def test_who_completed_the_first_attempt_has_completed_it_whether_or_not_it_names_it(attempt: int | None) -> None:
    assert holds.already_completed(done(attempt=1), BACKEND, attempt)


def test_a_later_attempt_counts_as_completed_only_by_its_number() -> None:
    assert holds.already_completed(done(attempt=2), BACKEND, 2)
    assert not holds.already_completed(done(attempt=2), BACKEND, 1)
    assert not holds.already_completed(done(attempt=2), BACKEND, None)


def test_an_incarnation_that_completed_a_task_has_completed_it() -> None:
    assert holds.already_completed(done(attempt=2, completed_by="backend_2"), Actor("backend_2"), 2)


def test_nobody_else_has_completed_it() -> None:
    assert not holds.already_completed(done(by="db"), BACKEND, 1)


def test_a_task_that_is_not_completed_has_been_completed_by_nobody() -> None:
    assert not holds.already_completed(held(), BACKEND, 1)


@pytest.mark.parametrize("by", ["boss", "human"])
def test_a_holder_whose_task_the_lead_completed_did_not_complete_it(by: str) -> None:
    """Else what it brings would be taken for a repetition, and dropped."""
    finished = rules.complete(held(by="backend", attempt=1), Actor(by), "done elsewhere", [], NOW)
    assert not holds.already_completed(finished, BACKEND, 1)


@pytest.mark.parametrize("attempt", [None, 1])
@pytest.mark.parametrize("kind", ["failed", "released"])
def test_who_ended_the_first_attempt_has_ended_it_whether_or_not_it_names_it(kind: str, attempt: int | None) -> None:
    assert holds.already_ended(task(attempts=1, failures=[failure(1, kind=kind)]), BACKEND, attempt, kind)


def test_a_later_attempt_counts_as_ended_only_by_its_number() -> None:
    twice = task(attempts=2, failures=[failure(1, kind="released"), failure(2)])
    assert holds.already_ended(twice, BACKEND, 2, "failed")
    assert not holds.already_ended(twice, BACKEND, 1, "failed")
    assert not holds.already_ended(twice, BACKEND, None, "failed")


def test_failing_an_attempt_that_another_agent_failed_is_no_repetition() -> None:
    assert not holds.already_ended(task(attempts=1, failures=[failure(1, agent="db")]), BACKEND, 1, "failed")


def test_failing_is_a_repetition_even_when_another_has_it_by_now() -> None:
    assert holds.already_ended(held(by="db", attempt=2, failures=[failure(1)]), BACKEND, 1, "failed")


def test_an_agent_that_holds_it_again_and_names_no_attempt_speaks_of_the_present_one() -> None:
    assert not holds.already_ended(held(attempt=2, failures=[failure(1)]), BACKEND, None, "failed")
    assert holds.already_ended(held(attempt=2, failures=[failure(1)]), BACKEND, 1, "failed")


# fail and release


def test_a_failed_task_is_pending_again_and_keeps_what_was_learned() -> None:
    back = rules.fail(held(attempt=2, incarnation=3), "401 from ChargeB", ["new key", "old API"], "HTTP 401", NOW)
    assert back == {
        **task(attempts=2),
        "failures": [
            {
                "attempt": 2,
                "agent": "backend",
                "incarnation": 3,
                "kind": "failed",
                "at": NOW,
                "claimed_at": BEFORE,
                "reason": "401 from ChargeB",
                "tried": ["new key", "old API"],
                "output": "HTTP 401",
            }
        ],
    }


def test_what_a_failure_does_not_have_is_absent() -> None:
    assert "tried" not in rules.fail(held(), "broke", [], "", NOW)["failures"][0]
    assert "output" not in rules.fail(held(), "broke", [], "", NOW)["failures"][0]


def test_each_failure_is_added_to_those_before() -> None:
    back = rules.fail(held(attempt=2, failures=[failure(1)]), "again", [], "", NOW)
    assert [f["attempt"] for f in back["failures"]] == [1, 2]


def test_of_a_long_output_the_end_is_kept_and_the_cut_is_said() -> None:
    back = rules.fail(held(), "broke", [], "a" * 1_234 + "b" * 8_000, NOW)
    assert back["failures"][0]["output"] == "[… 1,234 characters before this were cut]\n" + "b" * 8_000


def test_an_output_of_just_the_allowed_length_is_kept_whole() -> None:
    assert rules.output_tail("x" * 8_000) == "x" * 8_000


@pytest.mark.parametrize(
    ("reason", "tried", "output", "message"),
    [
        ("", [], "", "the reason is empty"),
        (" \n", [], "", "the reason is empty"),
        ("r", ["x", " "], "", "what was tried is empty"),
        ("r", [], "\udfff", "the output is not valid UTF-8 text"),
        ("\udfff", [], "", "the reason is not valid UTF-8 text"),
        ("r" * 64_001, [], "", "the reason has 64,001 characters, at most 64,000 are kept"),
    ],
    ids=["no-reason", "blank-reason", "blank-approach", "output", "reason", "length"],
)
def test_a_failure_that_says_nothing_readable_is_refused(reason: str, tried: list[str], output: str, message: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        rules.fail(held(), reason, tried, output, NOW)
    assert refusal.value.message == message


def test_a_released_task_is_pending_again_without_blame() -> None:
    back = rules.release(held(), "I am needed elsewhere", NOW)
    assert (back["status"], back["assignee"], back["attempts"], "claim" in back) == ("pending", None, 1, False)
    assert back["failures"] == [failure(1, kind="released", at=NOW, reason="I am needed elsewhere")]


def test_releasing_needs_a_reason() -> None:
    with pytest.raises(InvalidInput, match=r"^the reason is empty$"):
        rules.release(held(), "  ", NOW)


# assign


def test_an_assigned_task_is_reserved_and_still_pending() -> None:
    assert rules.assign(task(), "db", NOW) == task(assignee="db")


def test_a_reservation_can_be_moved_and_lifted() -> None:
    assert rules.assign(task(assignee="db"), "docs", NOW) == task(assignee="docs")
    assert rules.assign(task(assignee="db"), None, NOW) == task()


@pytest.mark.parametrize(("to", "reason"), [("db", "reassigned to db"), (None, "reassigned to nobody")])
def test_assigning_work_in_progress_ends_the_attempt_on_record(to: str | None, reason: str) -> None:
    moved = rules.assign(held(by="backend", attempt=2), to, NOW)
    assert (moved["status"], moved["assignee"], moved["attempts"], "claim" in moved) == ("pending", to, 2, False)
    assert moved["failures"] == [failure(2, kind="reassigned", at=NOW, reason=reason)]


def test_the_agent_it_was_taken_from_is_late_from_then_on() -> None:
    moved = rules.assign(held(by="backend"), "db", NOW)
    with pytest.raises(TooLate, match=r"backend's attempt 1 on task-1 has ended"):
        holds.check_hold(moved, BACKEND, 1)


def test_a_completed_task_cannot_be_assigned() -> None:
    with pytest.raises(TaskAlreadyCompleted, match=r"^task-1 was completed by db$"):
        rules.assign(done(by="db"), "backend", NOW)


# depend


def test_new_dependencies_follow_the_old_ones_and_are_named_once() -> None:
    changed = rules.depend(task(4, dependencies=["task-1", "task-2"]), [task(3), task(1), task(3)], ["task-2"])
    assert changed == task(4, dependencies=["task-1", "task-3"])


def test_removing_a_dependency_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidInput) as refusal:
        rules.depend(task(4, dependencies=["task-1"]), [], ["task-1", "task-2", "task-3"])
    assert refusal.value.message == "task-4 does not depend on task-2, task-3"
    assert refusal.value.hint == "teamtasks show task-4"
    assert refusal.value.facts == {"task": "task-4"}


def test_begun_work_cannot_be_made_to_wait_for_something_unfinished() -> None:
    with pytest.raises(Refused) as refusal:
        rules.depend(held(4), [task(1), done(2), held(3, by="db")], [])
    assert refusal.value.message == "task-4 is in_progress: it cannot be made to wait for task-1, task-3 now"
    assert refusal.value.hint == "teamtasks show task-4"
    assert refusal.value.exit_code == 4


def test_completed_work_cannot_be_made_to_wait_either() -> None:
    with pytest.raises(Refused, match=r"^task-4 is completed: it cannot be made to wait for task-1 now$"):
        rules.depend(done(4), [task(1)], [])


def test_begun_work_may_be_said_to_depend_on_what_is_completed_and_freed_of_the_rest() -> None:
    changed = rules.depend(held(4, dependencies=["task-1"]), [done(2)], ["task-1"])
    assert changed["dependencies"] == ["task-2"]


# notes


def test_a_note_is_added_with_who_and_when() -> None:
    noted = rules.note(rules.note(task(), "db", "first", BEFORE), "human", "second", NOW)
    assert noted["notes"] == [
        {"at": BEFORE, "by": "db", "text": "first"},
        {"at": NOW, "by": "human", "text": "second"},
    ]


def test_an_empty_note_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^the note is empty$"):
        rules.note(task(), "db", "\t", NOW)


# late results


def test_a_late_completion_says_who_which_attempt_and_with_what_evidence() -> None:
    proofs: list[Any] = [{"criterion": 2, "text": "seen"}, {"criterion": 1, "text": "heard"}]
    about = held(by="db", attempt=4, acceptance_criteria=["a", "b"])
    assert holds.late_completion(about, Actor("backend_2"), 3, "works", proofs, NOW) == {
        "attempt": 3,
        "agent": "backend",
        "at": NOW,
        "outcome": "completed",
        "text": "works",
        "evidence": [{"criterion": 1, "text": "heard"}, {"criterion": 2, "text": "seen"}],
    }


def test_a_late_failure_keeps_what_was_tried_and_the_end_of_the_output() -> None:
    late = holds.late_failure(BACKEND, 1, "broke", ["a", "b"], "x" * 8_001, NOW)
    assert late == {
        "attempt": 1,
        "agent": "backend",
        "at": NOW,
        "outcome": "failed",
        "text": "broke",
        "tried": ["a", "b"],
        "output": "[… 1 characters before this were cut]\n" + "x" * 8_000,
    }


def test_what_a_late_result_does_not_have_is_absent() -> None:
    assert holds.late_completion(held(by="db"), BACKEND, 1, "", [], NOW) == late_result(text="", at=NOW)
    assert holds.late_failure(BACKEND, 1, "r", [], "", NOW) == late_result(text="r", at=NOW, outcome="failed")


def test_a_late_result_that_could_not_be_written_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^the result has 64,001 characters"):
        holds.late_completion(held(by="db"), BACKEND, 1, "x" * 64_001, [], NOW)
    with pytest.raises(InvalidInput, match=r"^the evidence is empty$"):
        holds.late_completion(held(by="db"), BACKEND, 1, "", [{"criterion": 1, "text": ""}], NOW)
    with pytest.raises(InvalidInput, match=r"^task-1 has 0 acceptance criteria, no number 1$"):
        holds.late_completion(held(by="db"), BACKEND, 1, "", [{"criterion": 1, "text": "x"}], NOW)
    with pytest.raises(InvalidInput, match=r"^the reason is empty$"):
        holds.late_failure(BACKEND, 1, "", [], "", NOW)


def test_a_late_result_is_kept_on_the_task_and_changes_nothing_else() -> None:
    assert holds.with_late_result(held(by="db"), late_result()) == held(by="db", late_results=[late_result()])


def test_the_same_late_result_brought_again_is_kept_once() -> None:
    kept = holds.with_late_result(held(), late_result())
    assert holds.with_late_result(kept, late_result(at=NOW)) == kept


def test_another_late_result_of_the_same_agent_is_kept_too() -> None:
    kept = holds.with_late_result(holds.with_late_result(held(), late_result()), late_result(text="better"))
    assert [each["text"] for each in kept["late_results"]] == ["it works", "better"]


def test_only_the_newest_twenty_late_results_are_kept() -> None:
    kept = held()
    for n in range(25):
        kept = holds.with_late_result(kept, late_result(text=f"result {n}"))
    assert [each["text"] for each in kept["late_results"]] == [f"result {n}" for n in range(5, 25)]


# texts


def test_a_text_of_just_the_allowed_length_is_kept_as_it_is() -> None:
    assert rules.checked_text("it", "é" * 10, 10) == "é" * 10
    assert rules.required_text("it", " x ", 3) == " x "


def test_a_text_may_be_empty_unless_it_is_required() -> None:
    assert rules.checked_text("it", "") == ""
    with pytest.raises(InvalidInput, match=r"^it is empty$"):
        rules.required_text("it", "")


# what holds for every rule

SOMEBODY = st.sampled_from(["backend", "db", "docs"])
REASONS = st.sampled_from(["broke", "broke", "", "\ud800"])
PROOFS = st.lists(st.fixed_dictionaries({"criterion": st.integers(0, 2), "text": REASONS}), max_size=2)


@st.composite
def acts(draw: st.DrawFn) -> list[Any]:
    """Every rule, with whatever arguments it may be given, as a function of the task."""
    name, text, to = draw(SOMEBODY), draw(REASONS), draw(SOMEBODY | st.none())
    others = draw(st.lists(small_tasks(), max_size=2))
    able = agent(incarnation=draw(st.integers(1, 3)), capabilities=draw(st.lists(AGENT_NAMES, max_size=2)))
    proofs: list[Any] = draw(PROOFS)
    attempt = draw(st.none() | st.integers(1, 5))
    late = late_result(text=draw(st.sampled_from(["a", "b"])))
    return [
        lambda t: rules.claim(t, name, able, others, NOW),
        lambda t: rules.take_again(t, name, able, NOW) if "claim" in t else t,
        lambda t: rules.complete(t, Actor(name), text, proofs, NOW),
        lambda t: rules.fail(t, text, [text, "x"], text, NOW) if "claim" in t else t,
        lambda t: rules.release(t, text, NOW) if "claim" in t else t,
        lambda t: rules.assign(t, to, NOW),
        lambda t: rules.depend(t, others, t["dependencies"][:1]),
        lambda t: rules.note(t, name, text, NOW),
        lambda t: holds.with_late_result(t, late),
        lambda t: holds.check_hold(t, Actor(name), attempt) or t,
    ]


@HEAVY
@given(tasks(), acts())
def test_no_rule_changes_the_document_that_it_is_given(before: Any, every: list[Any]) -> None:
    given_to_it = copy.deepcopy(before)
    for act in every:
        try:
            act(given_to_it)
        except TeamtasksError:
            pass
        assert given_to_it == before


@HEAVY
@given(tasks(), acts())
def test_every_rule_returns_a_valid_document_that_forgets_nothing(before: Any, every: list[Any]) -> None:
    for act in every:
        try:
            after = act(before)
        except TeamtasksError:
            continue
        validate.check("task", after)
        assert after["attempts"] >= before["attempts"]
        assert ("claim" in after) == (after["status"] == "in_progress")
        assert after.get("claim", {}).get("attempt", after["attempts"]) == after["attempts"]
        for kept in ("failures", "notes"):
            assert after.get(kept, [])[: len(before.get(kept, []))] == before.get(kept, [])
