"""What people and agents look at. Nothing here changes anything."""

from __future__ import annotations

from teamtasks.app.lookup import find, member
from teamtasks.app.members import acting, seen
from teamtasks.domain import graph
from teamtasks.domain.errors import InvalidInput
from teamtasks.domain.names import task_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from teamtasks.domain.agents import Actor
    from teamtasks.domain.documents import Head
    from teamtasks.store.base import Store, View

    Answer = dict[str, Any]

STATES = ("pending", "in_progress", "completed", "ready", "blocked")
DEEPEST = 40  # links of a chain that are told one by one; its root causes are told however deep they lie


def list_tasks(
    store: Store,
    who: Actor,
    *,
    status: str | None = None,
    assignee: str | None = None,
    group: str | None = None,
    ready: bool = False,
    blocked: bool = False,
    whole: bool = True,
) -> Answer:
    """The tasks that match every filter, oldest first, with what is derived. Not ``whole``: what a line shows of them."""
    wanted = _state(status)
    view = store.read()
    agent = acting(view, who)
    if assignee is not None:
        member(view, assignee)
    heads: list[Any] = list(view.all("task").values() if whole else view.scan("task"))
    unfinished = graph.unfinished(heads)
    shown = [derived(head, unfinished) for head in heads]
    chosen = [
        task
        for task in shown
        if (wanted is None or _is(task, wanted))
        and (assignee is None or task["assignee"] == assignee)
        and (group is None or task.get("group") == group)
        and (not ready or task["ready"])
        and (not blocked or task["blocked_by"])
    ]
    seen(store, who, agent)
    return {"revision": view.revision, "now": view.now, "tasks": chosen, "blockers": _blockers(chosen, unfinished)}


def _is(task: Any, state: str) -> bool:
    if state == "ready":
        return bool(task["ready"])
    return bool(task["blocked_by"]) if state == "blocked" else task["status"] == state


def _blockers(tasks: list[Any], unfinished: dict[str, Any]) -> Answer:
    """Who has what these tasks wait for."""
    named = {id for task in tasks for id in task["blocked_by"]}
    facts = ("status", "assignee", "claim")
    return {id: {f: unfinished[id][f] for f in facts if f in unfinished[id]} for id in sorted(named, key=task_number)}


def derived(task: Any, unfinished: dict[str, Head]) -> Any:
    """A task with what is never stored: whether it is ready, and what it waits for."""
    waits = graph.open_dependencies(task, unfinished) if task["status"] == "pending" else []
    return {**task, "ready": task["status"] == "pending" and not waits, "blocked_by": waits}


def ready(store: Store, who: Actor) -> Answer:
    """What could begin now, best first. An agent sees what it may claim, the human sees everything."""
    view = store.read()
    agent = acting(view, who)
    heads: dict[str, Any] = graph.unfinished(view.scan("task", unfinished=True))
    if agent is None:
        chosen = [h["id"] for h in graph.ready_order(heads)]
    else:
        chosen = list(graph.candidates(heads, who.name, agent["capabilities"]))
    seen(store, who, agent)
    return {"revision": view.revision, "now": view.now, "tasks": [derived(heads[id], heads) for id in chosen]}


def show(store: Store, who: Actor, id: str) -> Answer:
    view = store.read()
    agent = acting(view, who)
    task = find(view, id)
    heads = graph.unfinished(view.scan("task", unfinished=True))
    waiting = sorted(graph.waiting_on(heads).get(task["id"], ()), key=task_number) if task["id"] in heads else []
    seen(store, who, agent)
    return {"revision": view.revision, "now": view.now, "task": {**derived(task, heads), "waited_for_by": waiting}}


def blocked(store: Store, who: Actor, *, command: str = "teamtasks") -> Answer:
    """Every blocked task with the root causes behind it, and each root with what waits on it."""
    view = store.read()
    agent = acting(view, who)
    heads: dict[str, Any] = graph.unfinished(view.scan("task", unfinished=True))
    stuck = [derived(h, heads) for h in heads.values() if h["status"] == "pending" and graph.open_dependencies(h, heads)]
    waiting = graph.waiting_on(heads)
    roots: dict[str, list[str]] = {}
    for task in stuck:
        task["roots"] = graph.root_causes(task["id"], heads)
        for root in task["roots"]:
            roots.setdefault(root, []).append(task["id"])
    explain = _Explainer(store, view, heads, command)
    causes = [{**explain(root), "waiting": len(graph.behind(root, waiting))} for root in roots]
    causes.sort(key=lambda cause: (-cause["waiting"], task_number(cause["id"])))
    seen(store, who, agent)
    return {"revision": view.revision, "now": view.now, "tasks": stuck, "causes": causes}


def why(store: Store, who: Actor, id: str, *, command: str = "teamtasks") -> Answer:
    """The chain from a task down to what holds it up, and the command that would move it."""
    view = store.read()
    agent = acting(view, who)
    task = find(view, id)
    heads: dict[str, Any] = graph.unfinished(view.scan("task", unfinished=True))
    explain = _Explainer(store, view, heads, command)
    waiting = graph.waiting_on(heads)
    roots = graph.root_causes(task["id"], heads) or ([task["id"]] if task["id"] in heads else [])
    seen(store, who, agent)
    return {
        "revision": view.revision,
        "now": view.now,
        "task": {**explain(task["id"], task), "waiting": len(graph.behind(task["id"], waiting))},
        "chain": _chain(task["id"], heads, explain, set(), DEEPEST),
        "causes": [{**explain(root), "waiting": len(graph.behind(root, waiting))} for root in roots],
    }


def _chain(id: str, heads: dict[str, Any], explain: _Explainer, shown: set[str], deep: int) -> list[Answer]:
    """What the task waits for, each with what that waits for. A task that stands in two places is told once."""
    links = []
    for blocker in graph.open_dependencies(heads[id], heads) if id in heads and deep else ():
        link = {**explain(blocker), "repeated": blocker in shown, "chain": []}
        if blocker not in shown:
            shown.add(blocker)
            link["chain"] = _chain(blocker, heads, explain, shown, deep - 1)
        links.append(link)
    return links


class _Explainer:
    """Gives a task's id, title, state and reason. Agents and their files are read once."""

    def __init__(self, store: Store, view: View, heads: dict[str, Any], command: str) -> None:
        self._view, self._heads, self._now, self._command = view, heads, view.now, command
        self._agents, self._pulses = view.all("agent"), store.pulses()

    def __call__(self, id: str, task: Any = None) -> Answer:
        from teamtasks.domain.reasons import reason

        told = task or self._heads[id]
        if told["status"] == "pending" and told["attempts"]:
            told = self._view.get("task", id)  # whole: its failures say what came of it
        found = reason(told, self._heads, self._agents, self._pulses, self._now, self._command)
        return {"id": id, "title": told["title"], "status": told["status"], **found}


def _state(text: str | None) -> str | None:
    if text is None:
        return None
    state = text.replace("-", "_")
    if state not in STATES:
        raise InvalidInput(f"--status is one of {', '.join(STATES)}, not {text!r}", value=text)
    return state
