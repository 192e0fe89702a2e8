"""The life of a task: create, claim, complete, fail, release, assign, depend.

Each rule takes the documents that it needs and returns new ones, or raises an error that states what is the case. The
attempt is the fence: it counts up with each claim, for ever, so that whoever comes late can be told from the holder.
"""

from __future__ import annotations

from teamtasks.domain.errors import (
    AssignedToAnother,
    CapabilityMissing,
    InvalidInput,
    Refused,
    TaskAlreadyClaimed,
    TaskAlreadyCompleted,
    TaskBlocked,
)
from teamtasks.domain.times import age, seconds_between

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from teamtasks.domain.agents import Actor
    from teamtasks.domain.documents import Agent, Claim, Evidence, Failure, Task

OUTPUT_KEPT = 8_000  # characters of a failed attempt's output: the end of it, where the error is
TEXT_MOST = 64_000


def checked_text(what: str, text: str, most: int = TEXT_MOST) -> str:
    """``text``, unless it is too long for a document or cannot be written as UTF-8."""
    if len(text) > most:
        raise InvalidInput(
            f"{what} has {len(text):,} characters, at most {most:,} are kept",
            hint="put the rest into a file and name it",
            length=len(text),
            most=most,
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{what} is not valid UTF-8 text") from None
    return text


def required_text(what: str, text: str, most: int = TEXT_MOST) -> str:
    if not text.strip():
        raise InvalidInput(f"{what} is empty")
    return checked_text(what, text, most)


def claim(task: Task, name: str, agent: Agent, blockers: Sequence[Task], now: str) -> Task:
    """The task in the agent's hands, as the next attempt."""
    refuse_if_held(task, now)
    if blockers:
        raise blocked(task, blockers, now)
    if task["assignee"] not in (None, name):
        raise AssignedToAnother(
            f"{task['id']} is reserved for {task['assignee']}",
            hint=f"teamtasks claim, or let the lead: teamtasks assign {task['id']} {name}",
            task=task["id"],
            assignee=task["assignee"],
        )
    missing = [n for n in task.get("needs", ()) if n not in agent["capabilities"]]
    if missing:
        raise CapabilityMissing(
            f"{task['id']} needs {', '.join(missing)}, which {name} has not declared",
            hint=f"teamtasks join {name} --can {' --can '.join([*agent['capabilities'], *missing])}",
            task=task["id"],
            missing=missing,
        )
    return _held(task, name, agent["incarnation"], now)


def take_again(task: Task, name: str, agent: Agent, now: str) -> Task:
    """What a restarted agent finds: its own task, unchanged; a new incarnation takes it over as the next attempt."""
    if task["claim"]["incarnation"] == agent["incarnation"]:
        return task
    reason = f"{name}_{agent['incarnation']} took over from {name}_{task['claim']['incarnation']}"
    return _held(ended(task, "taken_over", reason, now), name, agent["incarnation"], now)


def refuse_if_held(task: Task, now: str) -> None:
    if task["status"] == "completed":
        raise TaskAlreadyCompleted(
            f"{task['id']} was completed by {task.get('completed_by') or 'hand'}",
            hint=f"teamtasks show {task['id']}",
            task=task["id"],
        )
    if task["status"] == "in_progress":
        held = task["claim"]
        since = age(seconds_between(held["at"], now))
        raise TaskAlreadyClaimed(
            f"{task['id']} is held by {task['assignee']} (attempt {held['attempt']}, {since})",
            hint="teamtasks ready",
            task=task["id"],
            holder=task["assignee"],
            attempt=held["attempt"],
            since=held["at"],
        )


def complete(task: Task, who: Actor, result: str, evidence: list[Evidence], now: str) -> Task:
    """Done, by whoever says so. Completed over the head of its holder, the holder's attempt has ended without success."""
    checked_text("the result", result)
    proofs = checked_evidence(task, evidence)
    if task["status"] == "in_progress" and task["assignee"] != who.name:
        task = ended(task, "reassigned", f"completed by {who}", now)
    done: Task = {**_without_claim(task), "status": "completed", "completed_at": now, "completed_by": str(who)}
    done["assignee"] = None if who.is_human else who.name
    if result:
        done["result"] = result
    if proofs:
        done["evidence"] = proofs
    return done


def checked_evidence(task: Task, evidence: list[Evidence]) -> list[Evidence]:
    """In the order of the criteria that it is for, each of which must exist."""
    for item in evidence:
        required_text("the evidence", item["text"])
        if not 1 <= item["criterion"] <= len(task["acceptance_criteria"]):
            raise InvalidInput(
                f"{task['id']} has {len(task['acceptance_criteria'])} acceptance criteria, no number {item['criterion']}",
                hint=f"teamtasks show {task['id']}",
                task=task["id"],
            )
    return sorted(evidence, key=lambda item: item["criterion"])


def fail(task: Task, reason: str, tried: Sequence[str], output: str, now: str) -> Task:
    """Back to pending, with everything that was learned."""
    back = ended(task, "failed", required_text("the reason", reason), now)
    back["failures"][-1].update(learned(tried, output))
    return back


def learned(tried: Sequence[str], output: str) -> Any:
    learned: dict[str, Any] = {}
    if tried:
        learned["tried"] = [required_text("what was tried", t) for t in tried]
    if output:
        learned["output"] = output_tail(output)
    return learned


def release(task: Task, reason: str, now: str) -> Task:
    return ended(task, "released", required_text("the reason", reason), now)


def assign(task: Task, to: str | None, now: str) -> Task:
    """Reserved for ``to``. Taking it out of somebody's hands ends their attempt, whose result would be late."""
    if task["status"] == "completed":
        refuse_if_held(task, now)
    if task["status"] == "in_progress":
        task = ended(task, "reassigned", f"reassigned to {to or 'nobody'}", now)
    return {**task, "assignee": to}


def depend(task: Task, on: Sequence[Task], off: Sequence[str]) -> Task:
    """Other dependencies. Work that has begun cannot be made to wait for something unfinished."""
    absent = [d for d in off if d not in task["dependencies"]]
    if absent:
        raise InvalidInput(
            f"{task['id']} does not depend on {', '.join(absent)}", hint=f"teamtasks show {task['id']}", task=task["id"]
        )
    unfinished = [t["id"] for t in on if t["status"] != "completed"]
    if task["status"] != "pending" and unfinished:
        raise Refused(
            f"{task['id']} is {task['status']}: it cannot be made to wait for {', '.join(unfinished)} now",
            hint=f"teamtasks show {task['id']}",
            task=task["id"],
        )
    kept = [d for d in task["dependencies"] if d not in off]
    return {**task, "dependencies": list(dict.fromkeys([*kept, *(t["id"] for t in on)]))}


def note(task: Task, by: str, text: str, now: str) -> Task:
    required_text("the note", text)
    return {**task, "notes": [*task.get("notes", ()), {"at": now, "by": by, "text": text}]}


def ended(task: Task, kind: str, reason: str, now: str) -> Task:
    """Pending again, the attempt on record. The number stays: the next claim is another attempt."""
    held: Claim = task["claim"]
    failure: Failure = {
        "attempt": held["attempt"],
        "agent": task["assignee"] or "",
        "incarnation": held["incarnation"],
        "kind": kind,
        "at": now,
        "claimed_at": held["at"],
        "reason": reason,
    }
    failures = [*task.get("failures", ()), failure]
    return {**_without_claim(task), "status": "pending", "assignee": None, "failures": failures}


def output_tail(output: str) -> str:
    if len(output) > OUTPUT_KEPT:
        output = f"[… {len(output) - OUTPUT_KEPT:,} characters before this were cut]\n" + output[-OUTPUT_KEPT:]
    return checked_text("the output", output)


def _held(task: Task, name: str, incarnation: int, now: str) -> Task:
    attempt = task["attempts"] + 1
    taken: Claim = {"incarnation": incarnation, "attempt": attempt, "at": now}
    return {**task, "status": "in_progress", "assignee": name, "attempts": attempt, "claim": taken}


def _without_claim(task: Task) -> Task:
    return {key: value for key, value in task.items() if key != "claim"}  # type: ignore[return-value]


def blocked(task: Task, blockers: Sequence[Task], now: str) -> TaskBlocked:
    waits = ", ".join([describe_blocker(b, now) for b in blockers])
    return TaskBlocked(
        f"{task['id']} cannot start: it waits for {waits}",
        hint=f"teamtasks why {task['id']}",
        task=task["id"],
        blocked_by=[b["id"] for b in blockers],
    )


def describe_blocker(blocker: Task, now: str) -> str:
    """``task-2(backend, 8m)``: who has it and for how long, or that nobody does."""
    if blocker["status"] == "in_progress":
        return f"{blocker['id']}({blocker['assignee']}, {age(seconds_between(blocker['claim']['at'], now))})"
    return blocker["id"]
