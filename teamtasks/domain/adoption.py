"""Hand edits of tasks.json are welcome: how one is read, made whole, and merged into a ledger that went on meanwhile.

Three versions meet: the *base* that the editor started from, *theirs*, and *ours*, the ledger as it is now. What they
changed against the base is taken over, task by task and field by field; where both sides changed the same field, ours
stands and the task is named as a conflict.
"""

from __future__ import annotations

from teamtasks.domain.agents import let_go, take
from teamtasks.domain.graph import find_cycle
from teamtasks.domain.names import HIGHEST_BY_HAND, task_number
from teamtasks.domain.tasks import ended

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from typing import Any

    Document = dict[str, Any]
    Documents = Mapping[str, Mapping[str, Document]]

EDITOR = "human"
_MISSING = object()
_NEVER_EDITED = ("attempts", "claim", "failures", "late_results", "created_at", "created_by", "completed_by", "key")


def whole_task(task: Document, base: Document | None, now: str) -> Document:
    """What a person wrote, with what a person may leave out; ``in-progress`` and other near words become ours."""
    defaults: Document = {
        "status": "pending",
        "assignee": None,
        "priority": 2,
        "dependencies": [],
        "attempts": 0,
        "description": "",
        "acceptance_criteria": [],
        "created_at": now,
        "created_by": EDITOR,
        "completed_at": None,
    }
    filled = {**defaults, **{k: v for k, v in (base or {}).items() if k in defaults}, **task}
    if filled["status"] == "in-progress":
        filled["status"] = "in_progress"
    return filled


def whole_agent(agent: Document, base: Document | None, now: str) -> Document:
    defaults: Document = {"role": "teammate", "capabilities": [], "incarnation": 1, "joined_at": now, "holds": []}
    return {**defaults, **{k: v for k, v in (base or {}).items() if k in defaults}, **agent}


def whole_team(team: Document, base: Document | None, now: str) -> Document:
    defaults: Document = {"created_at": now, "lead": None, "topology": "mesh", "settings": {"wip_limit": 1}}
    filled = {**defaults, **{k: v for k, v in (base or {}).items() if k in defaults}, **team}
    if isinstance(filled["settings"], dict):
        filled["settings"] = {**defaults["settings"], **(base or {}).get("settings", {}), **filled["settings"]}
    return filled


def merge(base: Documents, ours: Documents, theirs: Documents) -> tuple[dict[tuple[str, str], Document | None], list[str]]:
    """What must be put to take their changes over, and the ids where both sides had changed the same thing."""
    puts: dict[tuple[str, str], Document | None] = {}
    conflicts: list[str] = []
    for kind in theirs:
        for id in {**base[kind], **theirs[kind]}:
            was, now, wanted = base[kind].get(id), ours[kind].get(id), theirs[kind].get(id)
            merged, conflict = _merged(was, now, wanted)
            if conflict:
                conflicts.append(id)
            if merged != now:
                puts[kind, id] = merged
    return puts, conflicts


def _merged(was: Document | None, now: Document | None, wanted: Document | None) -> tuple[Document | None, bool]:
    if wanted == was or wanted == now:
        return now, False
    if was is None and now is not None:  # both sides made this id: ours was acknowledged
        return now, True
    if wanted is None or now is None:  # removed by one side, while the other left it alone or changed it
        return (wanted, False) if now == was else (now, True)
    merged, conflict = dict(now), False
    for field in {**(was or {}), **wanted}:
        before, after = (was or {}).get(field, _MISSING), wanted.get(field, _MISSING)
        if after == before:
            continue
        if now.get(field, _MISSING) not in (before, after):
            conflict = True
        elif after is _MISSING:
            merged.pop(field, None)
        else:
            merged[field] = after
    return merged, conflict


def settled_task(wanted: Document, was: Document | None, incarnation: int, now: str) -> Document:
    """An edited task that keeps the rules: the fence only rises, a hold that was edited away is on record."""
    task = {**wanted}
    if was is not None:
        for field in _NEVER_EDITED:
            task.pop(field, None)
        task.update({field: was[field] for field in _NEVER_EDITED if field in was})
        if was["status"] == "in_progress" and (task["status"], task["assignee"]) != ("in_progress", was["assignee"]):
            task["failures"] = ended(was, "edited", "tasks.json was edited by hand", now)["failures"]  # type: ignore[arg-type]
            task.pop("claim", None)
    if task["status"] == "in_progress":
        task = _with_claim(task, incarnation, now)
    else:
        task.pop("claim", None)
    if task["status"] != "completed":
        task["completed_at"] = None
        task.pop("completed_by", None)
    else:
        task["completed_at"] = task["completed_at"] or now
        task.setdefault("completed_by", EDITOR)
    return task


def _with_claim(task: Document, incarnation: int, now: str) -> Document:
    """A claim that was written by hand counts like any other: nothing but what a claim has, and the fence not below it."""
    given = task.get("claim")
    if given is not None:
        kept = {field: given[field] for field in ("incarnation", "attempt", "at")}
        return {**task, "claim": kept, "attempts": max(task["attempts"], kept["attempt"])}
    if not task["assignee"]:  # refused as a contradiction
        return task
    attempt = task["attempts"] + 1
    return {**task, "claim": {"incarnation": incarnation, "attempt": attempt, "at": now}, "attempts": attempt}


def resettled_agents(
    agents: Mapping[str, Any], known: Mapping[str, Any], tasks: Mapping[str, Any], lead: str | None, now: str
) -> dict[str, Document]:
    """The agents that no longer say what the tasks and the team say: what they hold, and who leads.

    Whoever has work or leads must be there: removed by hand, it comes back as it was ``known``; new, it joins.
    """
    held: dict[str, list[str]] = {}
    for task in tasks.values():
        if task["assignee"] and task["status"] != "completed":
            mine = held.setdefault(task["assignee"], [])
            if task["status"] == "in_progress":
                mine.append(task["id"])
    needed = [name for name in (*held, lead) if name is not None and name not in agents]
    changed: dict[str, Document] = {}
    for name in [*agents, *dict.fromkeys(needed)]:
        right: Any = agents.get(name) or known.get(name) or whole_agent({}, None, now)
        for id in right["holds"]:
            if id not in held.get(name, ()):
                right = let_go(right, id)
        for id in held.get(name, ()):
            right = take(right, id)
        role = "lead" if name == lead else "teammate"
        right = right if right["role"] == role else {**right, "role": role}
        if right != agents.get(name):
            changed[name] = right
    return changed


def contradiction(tasks: Mapping[str, Any], edited: Container[str]) -> tuple[str, str, str] | None:
    """The first thing that schemas cannot say: the task, the field and what is wrong with it."""
    for id, task in tasks.items():
        if id in edited and task_number(id) > HIGHEST_BY_HAND:
            return id, "id", f"leaves no room for further tasks: numbers go up to {HIGHEST_BY_HAND}"
        for dependency in task["dependencies"]:
            if dependency not in tasks:
                return id, "dependencies", f"depends on {dependency}, which does not exist"
        if task["status"] == "in_progress" and id in edited:
            if not task["assignee"]:
                return id, "status", "is in progress, but nobody is its assignee"
            waits = [d for d in task["dependencies"] if tasks[d]["status"] != "completed"]
            if waits:
                return id, "status", f"is in progress, but it waits for {', '.join(waits)}"
    cycle = find_cycle(tasks)
    if cycle:
        return cycle[0], "dependencies", f"stands in a cycle: {' → '.join(cycle)}"
    return None
