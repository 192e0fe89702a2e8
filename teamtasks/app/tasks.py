"""What leads do to tasks: create, assign, depend."""

from __future__ import annotations

from teamtasks.app.lookup import find, free, member, missing
from teamtasks.app.members import acting, seen
from teamtasks.domain import agents, creation, graph, tasks
from teamtasks.domain.errors import DependencyCycle, InvalidInput, NotAllowed, SelfDependency
from teamtasks.domain.names import task_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from teamtasks.domain.agents import Actor
    from teamtasks.domain.creation import Wish
    from teamtasks.domain.documents import Agent, Task
    from teamtasks.store.base import Store, Tx

    Answer = dict[str, Any]


def create(store: Store, who: Actor, wish: Wish) -> Answer:
    """A new task; with a key that is already known, the task that it created before."""
    wish.dependencies = list(dict.fromkeys(map(task_id, wish.dependencies)))

    def body(tx: Tx) -> tuple[Task, bool, Agent | None]:
        agent = acting(tx, who)
        stored = tx.get("key", wish.key) if wish.key else None
        if stored is not None:
            return find(tx, creation.same_request(wish.key or "", stored, wish)), False, agent
        for dependency in wish.dependencies:
            if tx.get("task", dependency) is None:
                raise missing(tx, dependency)
        if wish.assignee is not None:
            member(tx, wish.assignee)
        id = tx.next_id("task")
        tx.get("task", id)
        task = wish.granted(id=id, now=tx.now, by=str(who))
        tx.put("task", id, task)
        if wish.key:
            tx.put("key", wish.key, {"task": id, "digest": wish.digest()})
        tx.record("task_created", task=id, title=task["title"])
        return task, True, agent

    (task, created, agent), revision = store.transact(body, by=str(who))
    seen(store, who, agent)
    return {"revision": revision, "task": task, "created": created}


def assign(store: Store, who: Actor, id: str, to: str | None, *, note: str | None = None, force: bool = False) -> Answer:
    """Reserves a task for an agent. Work in progress is taken away only by its holder, or by force."""

    def body(tx: Tx) -> tuple[Task, str | None, Agent | None]:
        agent = acting(tx, who)
        task = find(tx, id)
        if to is not None:
            member(tx, to)
        holder = task["assignee"] if task["status"] == "in_progress" else None
        if holder is not None and holder == to:
            raise InvalidInput(f"{task['id']} is in the hands of {to} already", task=task["id"])
        if holder is not None and holder != who.name:
            if not force:
                raise NotAllowed(
                    f"{task['id']} is in progress: assigning it ends {holder}'s attempt {task['claim']['attempt']}",
                    hint=f"teamtasks assign {task['id']} {to or '--nobody'} --force, or tell {holder} to release it",
                    task=task["id"],
                    holder=holder,
                )
            agents.check_override(who, agent)
        assigned = tasks.assign(task, to, tx.now)
        if note:
            assigned = tasks.note(assigned, str(who), note, tx.now)
        tx.put("task", task["id"], assigned)
        if holder is not None:
            free(tx, holder, task["id"])
        tx.record("task_assigned", task=task["id"], to=to, taken_from=holder)
        return assigned, holder, agent

    (task, holder, agent), revision = store.transact(body, by=str(who))
    seen(store, who, agent)
    return {"revision": revision, "task": task, "taken_from": holder}


def depend(store: Store, who: Actor, id: str, *, on: Sequence[str] = (), off: Sequence[str] = ()) -> Answer:
    """Adds and removes dependencies. A cycle is refused and printed as a path."""
    added, removed = list(dict.fromkeys(map(task_id, on))), list(dict.fromkeys(map(task_id, off)))
    if not added and not removed:
        raise InvalidInput("say what it depends on", hint=f"teamtasks depend {id} --on ID, or --off ID")

    def body(tx: Tx) -> tuple[Task, list[str], Agent | None]:
        agent = acting(tx, who)
        task = find(tx, id)
        if task["id"] in added:
            raise SelfDependency(f"{task['id']} cannot depend on itself", task=task["id"])
        others = [find(tx, other) for other in added]
        cycle = graph.cycle_through(task["id"], added, lambda other: tx.get("task", other))
        if cycle:
            raise DependencyCycle(
                f"that would be a cycle: {' → '.join(cycle)} (→ means: depends on)",
                hint=f"teamtasks why {cycle[1]}",
                cycle=cycle,
            )
        changed = tasks.depend(task, others, removed)
        tx.put("task", task["id"], changed)
        waits = [d for d in changed["dependencies"] if (tx.get("task", d) or {}).get("status") != "completed"]
        tx.record("task_depends", task=task["id"], on=added, off=removed)
        return changed, waits, agent

    (task, waits, agent), revision = store.transact(body, by=str(who))
    seen(store, who, agent)
    return {
        "revision": revision,
        "task": {**task, "ready": task["status"] == "pending" and not waits, "blocked_by": waits},
    }
