"""What is said when stdout is not a terminal: plain lines of few tokens. Agents parse them, so tests pin them.

Every text that somebody else wrote goes through ``one_line`` or ``block``: no control character reaches the reader.
"""

from __future__ import annotations

from teamtasks.domain.times import age, seconds_between
from teamtasks.domain.untrusted import block, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Answer = dict[str, Any]


def tasks(answer: Answer) -> str:
    """``task-4 pending "Integration tests" blocked-by task-2(backend, 8m)``"""
    blockers = answer.get("blockers", {})
    return "\n".join([task_line(task, blockers, answer["now"]) for task in answer["tasks"]])


def task_line(task: Answer, blockers: Answer, now: str) -> str:
    parts = [task["id"], task["status"], f'"{one_line(task["title"])}"']
    if task["status"] == "in_progress":
        held = age(seconds_between(task["claim"]["at"], now))
        parts.append(f"{task['assignee']} {held}" + (f"/{task['estimate']}m" if "estimate" in task else ""))
        if task["attempts"] > 1:
            parts.append(f"attempt {task['attempts']}")
    elif task["status"] == "pending":
        waits = [blocker(id, blockers.get(id, {}), now) for id in task["blocked_by"]]
        parts.append(f"blocked-by {','.join(waits)}" if waits else "ready")
        if task["assignee"]:
            parts.append(f"for {task['assignee']}")
        if task["attempts"]:
            parts.append(f"tried {task['attempts']}x")
        if task.get("needs"):
            parts.append(f"needs {','.join(task['needs'])}")
    elif task["assignee"]:
        parts.append(f"by {task['assignee']}")
    if task["priority"] != 2:
        parts.append(f"p{task['priority']}")
    if "group" in task:
        parts.append(f"[{task['group']}]")
    return " ".join(parts)


def blocker(id: str, facts: Answer, now: str) -> str:
    if "claim" in facts:
        return f"{id}({facts['assignee']}, {age(seconds_between(facts['claim']['at'], now))})"
    return id


def task(answer: Answer) -> str:
    """Everything about one task, a fact a line."""
    shown = answer["task"]
    return "\n".join([task_line(shown, {}, answer["now"]), *facts(shown, lambda time: time), *texts(shown)])


def facts(shown: Answer, when: Callable[[str], str]) -> list[str]:
    """``when`` puts a time into words."""
    lines = [f"created: {when(shown['created_at'])} by {one_line(shown['created_by'])}"]
    if shown["completed_at"]:
        lines.append(f"completed: {when(shown['completed_at'])} by {one_line(shown.get('completed_by', 'hand'))}")
    lines += [f"size: {shown['size']}"] if "size" in shown else []
    lines += [f"estimate: {shown['estimate']}m"] if "estimate" in shown else []
    lines += [f"key: {one_line(shown['key'])}"] if "key" in shown else []
    lines += [f"depends on: {' '.join(shown['dependencies'])}"] if shown["dependencies"] else []
    lines += [f"waited for by: {' '.join(shown['waited_for_by'])}"] if shown["waited_for_by"] else []
    return lines


def texts(shown: Answer) -> list[str]:
    lines = [f"description: {indented(shown['description'])}"] if shown["description"] else []
    proofs = {item["criterion"]: item["text"] for item in shown.get("evidence", ())}
    for number, criterion in enumerate(shown["acceptance_criteria"], 1):
        proof = f" — {one_line(proofs[number])}" if number in proofs else ""
        lines.append(f"criterion {number}: {one_line(criterion)}{proof}")
    for failure in shown.get("failures", ()):
        lines.append(
            f"attempt {failure['attempt']} {failure['kind']} ({failure['agent']}, {failure['at']}): "
            f"{one_line(failure['reason'])}"
        )
        lines += [f"  tried: {one_line(text)}" for text in failure.get("tried", ())]
        if "output" in failure:
            lines.append(f"  output: {indented(failure['output'])}")
    for late in shown.get("late_results", ()):
        lines.append(f"late, {late['outcome']} ({late['agent']}, attempt {late['attempt']}): {one_line(late['text'])}")
    lines += [f"note ({one_line(note['by'])}, {note['at']}): {one_line(note['text'])}" for note in shown.get("notes", ())]
    if "result" in shown:
        lines.append(f"result: {indented(shown['result'])}")
    for key, value in shown.get("metadata", {}).items():
        lines.append(f"meta {one_line(key)}: {one_line(str(value))}")
    return lines


def indented(text: str) -> str:
    """Text of many lines, of which only the first begins where ours do: none of it can pass for a field."""
    return block(text.rstrip("\n")).replace("\n", "\n    ")


def blocked(answer: Answer) -> str:
    """A line a root cause, then the tasks that wait on it, each told once."""
    lines = []
    told: set[str] = set()
    for cause in answer["causes"]:
        lines.append(f'{cause["id"]} "{one_line(cause["title"])}" {cause["text"]} · {cause["waiting"]} waiting')
        fresh, known = stuck_behind(cause["id"], answer["tasks"], told)
        lines += [f'  {t["id"]} "{one_line(t["title"])}" blocked-by {",".join(t["blocked_by"])}' for t in fresh]
        lines += [f"  and {' '.join(known)}"] if known else []
        lines += [f"  next: {cause['next']}"] if cause["next"] else []
    return "\n".join(lines)


def stuck_behind(root: str, stuck: list[Answer], told: set[str]) -> tuple[list[Answer], list[str]]:
    """The tasks behind a root cause that have not been told yet, and the ids of those that have."""
    behind = [task for task in stuck if root in task["roots"]]
    fresh = [task for task in behind if task["id"] not in told]
    known = [task["id"] for task in behind if task["id"] in told]
    told.update(task["id"] for task in fresh)
    return fresh, known


def why(answer: Answer) -> str:
    """The chain as a tree, then what to do about its roots."""
    told = answer["task"]
    lines = [f'{told["id"]} "{one_line(told["title"])}" {_ending(told, bool(answer["chain"]))}']
    return "\n".join([*lines, *_branches(answer["chain"], ""), *advice(answer["causes"])])


def advice(causes: list[Answer]) -> list[str]:
    """How much waits on each root, and the command that would move it."""
    lines = []
    for cause in causes:
        if cause["waiting"]:
            lines.append(f"{cause['waiting']} task{'s wait' if cause['waiting'] > 1 else ' waits'} on {cause['id']}.")
        if cause["next"]:
            stays = "If it stays" if cause["cause"] in ("held", "reserved") else "To move it"
            lines.append(f"{stays}: {cause['next']}")
    return lines


def _branches(chain: list[Answer], indent: str) -> list[str]:
    lines = []
    for link in chain:
        last = link is chain[-1]
        state = "(see above)" if link["repeated"] else _ending(link, bool(link["chain"]))
        lines.append(f'{indent}{"└─ " if last else "├─ "}{link["id"]} "{one_line(link["title"])}" {state}')
        lines += _branches(link["chain"], indent + ("   " if last else "│  "))
    return lines


def _ending(told: Answer, more: bool) -> str:
    return f"{told['text']}:" if more and told["cause"] == "blocked" else str(told["text"])


def team_created(answer: Answer) -> str:
    lead = f", led by {answer['lead']}" if answer["lead"] else ""
    return f"team {answer['team']} ({answer['topology']}{lead}) in {one_line(answer['place'])}"


def teams(answer: Answer) -> str:
    lines = []
    for team in answer["teams"]:
        if "error" in team:
            lines.append(f"{team['name']} cannot be read: {one_line(team['error'])}")
        else:
            lines.append(
                f"{team['name']} revision {team['revision']}, {team['agents']} agents, {team['completed']} completed, "
                f"{team['in_progress']} in progress, {team['pending']} pending"
            )
    return "\n".join(lines)


def deleted(answer: Answer) -> str:
    return f"team {answer['team']} deleted" if answer["deleted"] else f"team {answer['team']} would be deleted"


def settings(answer: Answer) -> str:
    return "\n".join([f"{key}={value if value is not None else 'none'}" for key, value in answer["settings"].items()])


def created(answer: Answer) -> str:
    title = one_line(answer["task"]["title"])
    return f'{answer["task"]["id"]} {"created" if answer["created"] else "exists"} "{title}"'


def assigned(answer: Answer) -> str:
    task, taken = answer["task"], answer["taken_from"]
    to = f"for {task['assignee']}" if task["assignee"] else "for anybody"
    return f"{task['id']} {task['status']} {to}" + (f", taken from {taken}" if taken else "")


def depends(answer: Answer) -> str:
    task = answer["task"]
    if task["blocked_by"]:
        return f"{task['id']} {task['status']} blocked-by {','.join(task['blocked_by'])}"
    return f"{task['id']} {task['status']}{' ready' if task['ready'] else ''}"


def joined(answer: Answer) -> str:
    agent = answer["agent"]
    can = f", can {','.join(agent['capabilities'])}" if agent["capabilities"] else ""
    holds = f", holds {','.join(agent['holds'])}" if agent["holds"] else ""
    return f"{agent['name']}_{agent['incarnation']} joined as {agent['role']}{can}{holds}"


def whoami(answer: Answer) -> str:
    agent = answer["agent"]
    if agent is None:
        return f"human in team {answer['team']} ({one_line(answer['place'])})"
    can = f", can {','.join(agent['capabilities'])}" if agent["capabilities"] else ""
    lines = [f"{agent['name']}_{agent['incarnation']}, {agent['role']} of team {answer['team']}{can}"]
    lines += [f'holds {t["id"]} "{one_line(t["title"])}" attempt {t["attempts"]}' for t in answer["tasks"] if t]
    return "\n".join(lines)


def heartbeat(answer: Answer) -> str:
    agent = answer["agent"]
    context = f" context {agent['context_percent']}%" if "context_percent" in agent else ""
    return f"{agent['name']}_{agent['incarnation']} alive{context}"


def noted(answer: Answer) -> str:
    return f"{answer['task']['id']} noted"


def completed(answer: Answer) -> str:
    again = " (already)" if answer["repeated"] else ""
    free = f", now ready: {' '.join(answer['unblocked'])}" if answer["unblocked"] else ""
    return f"{answer['task']['id']} completed{again}{free}"


def failed(answer: Answer) -> str:
    task = answer["task"]
    again = " (already)" if answer["repeated"] else ""
    return f"{task['id']} pending{again}, attempt {task['attempts']} failed; the next brief says what was tried"


def released(answer: Answer) -> str:
    again = " (already)" if answer["repeated"] else ""
    return f"{answer['task']['id']} pending{again}, attempt {answer['task']['attempts']} released"


def doctor(answer: Answer) -> str:
    lines = []
    for finding in answer["findings"]:
        hint = f" ({one_line(finding['hint'])})" if "hint" in finding else ""
        lines.append(f"{finding['severity']}: {one_line(finding['message'])}{hint}")
    lines.append(f"{answer['problems']} problem(s)" if answer["problems"] else "healthy")
    return "\n".join(lines)


def schema(answer: Answer) -> str:
    if "schemas" in answer:
        return "\n".join(answer["schemas"])
    import json

    return json.dumps(answer["schema"], indent=2, ensure_ascii=False)


def told(answer: Answer) -> str:
    return str(answer["summary"])
