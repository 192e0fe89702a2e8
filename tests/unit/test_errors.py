"""Every refusal has a word that scripts match on, an exit code that tells its kind, facts and a hint."""

from __future__ import annotations

import pytest

from teamtasks.domain import errors


def every(kind: type[errors.TeamtasksError]) -> list[type[errors.TeamtasksError]]:
    return [kind, *(deeper for each in kind.__subclasses__() for deeper in every(each))]


def test_an_error_states_what_is_the_case_the_facts_and_what_to_do_next() -> None:
    error = errors.TaskBlocked("task-4 waits", hint="teamtasks why task-4", task="task-4", blocked_by=["task-2"])
    assert (str(error), error.message, error.hint) == ("task-4 waits", "task-4 waits", "teamtasks why task-4")
    assert error.facts == {"task": "task-4", "blocked_by": ["task-2"]}


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.TeamtasksError, 1),
        (errors.InvalidInput, 2),
        (errors.NotFound, 3),
        (errors.Refused, 4),
        (errors.Blocked, 5),
        (errors.NothingReady, 6),
        (errors.LockTimeout, 7),
        (errors.InvalidData, 8),
        (errors.StoreUnavailable, 9),
        (errors.PlanFinished, 10),
    ],
)
def test_each_kind_of_error_has_its_exit_code_and_so_has_all_that_is_of_its_kind(
    kind: type[errors.TeamtasksError], code: int
) -> None:
    assert kind.exit_code == code
    if kind is not errors.TeamtasksError:
        assert {each.exit_code for each in every(kind)} == {code}


def test_no_two_errors_that_are_raised_share_their_word() -> None:
    """A bare ``Blocked`` is never raised; what is of its kind may have its word."""
    codes = [each.code for each in every(errors.TeamtasksError) if each is not errors.Blocked]
    assert sorted(codes) == sorted(set(codes))
