"""Why something does not move: for each unfinished task the cause at hand, in words, and the command that would move it."""

from __future__ import annotations

from teamtasks.domain.graph import open_dependencies
from teamtasks.domain.times import age, seconds_between
from teamtasks.domain.untrusted import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from teamtasks.domain.documents import Agent, Pulse, Summary

    Reason = dict[str, Any]


def reason(
    task: Summary,
    unfinished: Mapping[str, Summary],
    agents: Mapping[str, Agent],
    pulses: Mapping[tuple[str, int], Pulse],
    now: str,
    command: str = "teamtasks",
) -> Reason:
    """``cause`` is one of blocked, held, reserved, unsuited, ready, completed; ``next`` is a command or None."""
    if task["status"] == "completed":
        return {"cause": "completed", "text": "completed", "next": None}
    if task["status"] == "in_progress":
        return _held(task, pulses, now, command)
    if open_dependencies(task, unfinished):
        return {"cause": "blocked", "text": "cannot start", "next": None}
    if task["assignee"] is not None:
        return _reserved(task, task["assignee"], agents, pulses, now, command)
    needs = set(task.get("needs", ()))
    if needs and not any(needs.issubset(a["capabilities"]) for a in agents.values()):
        wanted = " and ".join(sorted(needs))
        flags = " ".join(f"--can {n}" for n in sorted(needs))
        return {
            "cause": "unsuited",
            "text": f"ready, but no agent has declared {wanted}",
            "next": f"{command} join <agent> {flags}",
        }
    return {
        "cause": "ready",
        "text": f"ready, nobody has taken it{_last_failure(task)}",
        "next": f"{command} --as <agent> claim {task['id']}",
    }


def _last_failure(task: Any) -> str:
    """What came of the last attempt, where the whole task is at hand."""
    failures = task.get("failures", ())
    if not failures:
        return f"; tried {task['attempts']}x" if task["attempts"] else ""
    last = failures[-1]
    return f"; attempt {last['attempt']} {last['kind']} ({last['agent']}): {one_line(last['reason'], 120)}"


def _held(task: Summary, pulses: Mapping[tuple[str, int], Pulse], now: str, command: str) -> Reason:
    held, holder = task["claim"], task["assignee"] or ""
    minutes = seconds_between(held["at"], now) // 60
    parts = [f"in progress: {holder}, attempt {held['attempt']}"]
    if "estimate" in task:
        over = ", over its estimate" if minutes > task["estimate"] else ""
        parts.append(f"{minutes} min of {task['estimate']}{over}")
    else:
        parts.append(age(seconds_between(held["at"], now)))
    sign = last_sign(pulses.get((holder, held["incarnation"])), now)
    if sign:
        parts.append(sign)
    return {
        "cause": "held",
        "text": ", ".join(parts),
        "holder": holder,
        "since": held["at"],
        "next": f"{command} assign {task['id']} <agent> --force",
    }


def _reserved(
    task: Summary, name: str, agents: Mapping[str, Agent], pulses: Mapping[tuple[str, int], Pulse], now: str, command: str
) -> Reason:
    agent = agents.get(name)
    sign = last_sign(pulses.get((name, agent["incarnation"])), now) if agent else ""
    lacks = [n for n in task.get("needs", ()) if agent and n not in agent["capabilities"]]
    unable = f", who has not declared {' and '.join(lacks)}" if lacks else ""
    busy = f", who is busy with {', '.join(agent['holds'])}" if agent and agent["holds"] else ""
    return {
        "cause": "reserved",
        "text": f"ready, reserved for {name}{unable}{busy}{', ' + sign if sign else ''}",
        "holder": name,
        "next": f"{command} assign {task['id']} --nobody",
    }


def last_sign(pulse: Pulse | None, now: str) -> str:
    return f"last sign of life {age(seconds_between(pulse['last_beat'], now))} ago" if pulse else ""
