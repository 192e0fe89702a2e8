"""Who holds a task, who held it, and who comes too late.

The attempt is the fence: whoever acts on a task must be its holder in its current attempt. What a late agent brings is
kept on the task, and changes nothing else.
"""

from __future__ import annotations

from teamtasks.domain.errors import AttemptRequired, InvalidInput, NotTheHolder, TooLate
from teamtasks.domain.names import split_incarnation
from teamtasks.domain.tasks import checked_evidence, checked_text, learned, refuse_if_held, required_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from teamtasks.domain.agents import Actor
    from teamtasks.domain.documents import Evidence, Failure, LateResult, Task

LATE_RESULTS_KEPT = 20


def check_hold(task: Task, who: Actor, attempt: int | None) -> None:
    """Passes the current holder with the current attempt; everybody else is told what is the case.

    The attempt must be given from the second on: by then a late agent of the same name may still be at work.
    """
    if attempt is not None and not 1 <= attempt <= max(1, task["attempts"]):
        raise InvalidInput(f"{task['id']} has no attempt {attempt}", task=task["id"], attempts=task["attempts"])
    if task["status"] == "in_progress" and task["assignee"] == who.name:
        return _check_current(task, who, attempt)
    past = _past_attempt(task, who, attempt)
    if past is not None:
        raise _too_late(task, who, past["attempt"])
    if task["status"] == "completed":
        refuse_if_held(task, "")
    raise _not_the_holder(task, who)


def _check_current(task: Task, who: Actor, attempt: int | None) -> None:
    """For the agent whose name is on the task: is it this life, and this attempt?"""
    current = task["claim"]
    if who.incarnation is not None and who.incarnation > current["incarnation"]:
        raise _not_the_holder(task, who)
    if attempt is None and current["attempt"] > 1:
        raise AttemptRequired(
            f"{task['id']} is at attempt {current['attempt']}: say which one is yours",
            hint="add --attempt N (your brief says which), or set TEAMTASKS_ATTEMPT",
            task=task["id"],
        )
    given = current["attempt"] if attempt is None else attempt
    if given != current["attempt"] or who.incarnation not in (None, current["incarnation"]):
        raise _too_late(task, who, given)


def _not_the_holder(task: Task, who: Actor) -> NotTheHolder:
    name, holder = who.name, task["assignee"] if task["status"] == "in_progress" else None
    if holder is None:
        held, hint = "it is pending: nobody does", f"teamtasks claim {task['id']}"
    elif holder == who.name:  # its own earlier life
        name, held = str(who), f"{holder}_{task['claim']['incarnation']} does"
        hint = f"teamtasks --as {who} claim {task['id']}"
    else:
        held, hint = f"{holder} does", f"teamtasks show {task['id']}"
    return NotTheHolder(f"{name} does not hold {task['id']}: {held}", hint=hint, task=task["id"], holder=holder)


def already_completed(task: Task, who: Actor, attempt: int | None) -> bool:
    """Whether this very agent completed it in this very attempt: said again, it counts once."""
    given = attempt if attempt is not None else 1
    by = split_incarnation(task.get("completed_by", ""))[0]
    return task["status"] == "completed" and by == who.name and given == task["attempts"]


def already_ended(task: Task, who: Actor, attempt: int | None, kind: str) -> bool:
    """Whether this very agent ended this very attempt in this way. Without an attempt it speaks of what it holds now."""
    if attempt is None and task["status"] == "in_progress" and task["assignee"] == who.name:
        return False
    past = _past_attempt(task, who, attempt if attempt is not None else 1)
    return past is not None and past["kind"] == kind


def late_completion(task: Task, who: Actor, attempt: int, result: str, evidence: list[Evidence], now: str) -> LateResult:
    text = checked_text("the result", result)
    late: LateResult = {"attempt": attempt, "agent": who.name, "at": now, "outcome": "completed", "text": text}
    if evidence:
        late["evidence"] = checked_evidence(task, evidence)
    return late


def late_failure(who: Actor, attempt: int, reason: str, tried: Sequence[str], output: str, now: str) -> LateResult:
    text = required_text("the reason", reason)
    late: LateResult = {"attempt": attempt, "agent": who.name, "at": now, "outcome": "failed", "text": text}
    late.update(learned(tried, output))
    return late


def with_late_result(task: Task, late: LateResult) -> Task:
    """The task with what a late agent brought, once."""
    kept = task.get("late_results", [])
    same = [k for k in kept if {**k, "at": ""} == {**late, "at": ""}]
    return task if same else {**task, "late_results": [*kept, late][-LATE_RESULTS_KEPT:]}


def _past_attempt(task: Task, who: Actor, attempt: int | None) -> Failure | None:
    """The latest attempt of this agent that has ended, or the one it names."""
    for failure in reversed(task.get("failures", [])):
        if (
            failure["agent"] == who.name
            and attempt in (None, failure["attempt"])
            and who.incarnation in (None, failure["incarnation"])
        ):
            return failure
    return None


def _too_late(task: Task, who: Actor, attempt: int) -> TooLate:
    if task["status"] == "in_progress":
        now = f"attempt {task['claim']['attempt']} is in the hands of {task['assignee']}"
    else:
        now = f"it is {task['status']}"
    return TooLate(
        f"too late: {who.name}'s attempt {attempt} on {task['id']} has ended, {now}",
        hint="stop work on it; then: teamtasks claim",
        task=task["id"],
        attempt=attempt,
        attempts=task["attempts"],
        status=task["status"],
        holder=task["assignee"],
    )
