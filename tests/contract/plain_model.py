"""The rules once more, as small as they can be said: dicts and sets, no store, no documents, no code of ours.

Each act gives the set of refusals that would be true; the empty set says that it succeeds, and then the model has changed
with it. Where several refusals are true at once, any of them may be told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

HUMAN = "human"


@dataclass
class Task:
    id: str
    priority: int
    dependencies: list[str]
    needs: frozenset[str]
    assignee: str | None
    status: str = "pending"
    attempts: int = 0
    life: int | None = None  # of the agent that holds it
    ended: list[tuple[int, str, int, str]] = field(default_factory=list)  # attempt, agent, life, how
    completed_by: str | None = None
    notes: int = 0
    late: list[tuple[int, str, str, str]] = field(default_factory=list)  # attempt, agent, outcome, text

    @property
    def holder(self) -> str | None:
        return self.assignee if self.status == "in_progress" else None


@dataclass
class Agent:
    life: int = 1
    able: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Who:
    name: str
    life: int | None = None

    def __str__(self) -> str:
        return self.name if self.life is None else f"{self.name}_{self.life}"


class Model:
    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {}
        self.agents: dict[str, Agent] = {}
        self.keys: dict[str, tuple[str, Any]] = {}
        self.limit = 1

    def holds(self, name: str) -> list[str]:
        return [t.id for t in self.tasks.values() if t.holder == name]

    def blockers(self, task: Task) -> list[str]:
        return [d for d in task.dependencies if self.tasks[d].status != "completed"]

    def reaches(self, start: str, goal: str) -> bool:
        return start == goal or any(self.reaches(d, goal) for d in self.tasks[start].dependencies)

    def waiting_behind(self, id: str) -> int:
        open_tasks = [t for t in self.tasks.values() if t.status != "completed" and t.id != id]
        return sum(self._waits(t, id) for t in open_tasks)

    def _waits(self, task: Task, id: str) -> bool:
        return any(
            d == id or (self.tasks[d].status != "completed" and self._waits(self.tasks[d], id)) for d in task.dependencies
        )

    def suitable(self, name: str) -> list[str]:
        """What this agent could claim now, best first."""
        able = self.agents[name].able if name in self.agents else frozenset()
        found = [
            t
            for t in self.tasks.values()
            if t.status == "pending" and not self.blockers(t) and t.assignee in (None, name) and t.needs <= able
        ]
        found.sort(key=lambda t: (t.assignee is None, t.priority, -self.waiting_behind(t.id), int(t.id[5:])))
        return [t.id for t in found]

    def _stranger(self, who: Who) -> set[str]:
        if who.name == HUMAN:
            return set()
        known = self.agents.get(who.name)
        return {"no_agent"} if known is None or (who.life or 0) > known.life else set()

    # what leads do

    def create(
        self, who: Who, *, priority: int, dependencies: list[str], needs: list[str], assignee: str | None, key: str | None,
        answer: Any,
    ) -> set[str]:  # fmt: skip
        wish = (priority, dependencies, needs, assignee)
        refusals = self._stranger(who)
        if refusals:
            return refusals
        if key in self.keys:
            return set() if self.keys[key][1] == wish else {"key_reused"}
        if any(d not in self.tasks for d in dependencies):
            refusals.add("no_task")
        if assignee is not None and assignee not in self.agents:
            refusals.add("no_agent")
        if not refusals:
            id = answer["task"]["id"]
            assert id not in self.tasks, "an id was given twice"
            self.tasks[id] = Task(id, priority, list(dict.fromkeys(dependencies)), frozenset(needs), assignee)
            if key:
                self.keys[key] = (id, wish)
        return refusals

    def assign(self, who: Who, id: str, *, to: str | None, force: bool, answer: Any) -> set[str]:
        refusals, task = self._stranger(who), self.tasks.get(id)
        if task is None:
            return refusals | {"no_task"}
        if to is not None and to not in self.agents:
            refusals.add("no_agent")
        if task.status == "completed":
            refusals.add("completed")
        if task.holder is not None and task.holder == to:
            refusals.add("usage")
        if task.holder not in (None, who.name) and not (force and who.name == HUMAN):
            refusals.add("not_allowed")
        if not refusals:
            if task.holder is not None:
                self._end(task, "reassigned")
            task.assignee = to
        return refusals

    def depend(self, who: Who, id: str, *, on: list[str], off: list[str], answer: Any) -> set[str]:
        refusals, task = self._stranger(who), self.tasks.get(id)
        if not on and not off:
            refusals.add("usage")
        if task is None or any(d not in self.tasks for d in on):
            return refusals | {"no_task"} | ({"self_dependency"} if id in on else set())
        if id in on:
            refusals.add("self_dependency")
        if any(self.reaches(d, id) for d in on if d != id):
            refusals.add("cycle")
        if any(d not in task.dependencies for d in off):
            refusals.add("usage")
        if task.status != "pending" and any(self.tasks[d].status != "completed" for d in on):
            refusals.add("refused")
        if not refusals:
            task.dependencies = list(dict.fromkeys([*(d for d in task.dependencies if d not in off), *on]))
        return refusals

    def limit_to(self, who: Who, *, limit: int, answer: Any) -> set[str]:
        refusals = self._stranger(who)
        if not refusals:
            self.limit = limit
        return refusals

    # what teammates do

    def join(self, who: Who, *, name: str, able: list[str], answer: Any) -> set[str]:
        known = self.agents.get(name)
        kept = known.able if known else frozenset()
        self.agents[name] = Agent(known.life + 1 if known else 1, frozenset(able) or kept)
        return set()

    def claim(self, who: Who, id: str | None, *, another: bool, best: bool, answer: Any) -> set[str]:
        """``best``: of what is suitable it must be the best."""
        known = self.agents.get(who.name)
        if (who.life or 1) > (known.life if known else 1):
            return {"no_agent"}
        if known is not None and who.life is not None and who.life < known.life:
            return {"late"}
        mine = [] if another else [held for held in self.holds(who.name) if id in (None, held)]
        if mine:
            return self._claim_again(who, mine, answer)
        refusals = {"wip_limit"} if len(self.holds(who.name)) >= self.limit else set()
        refusals |= self._unclaimable(who, id)
        if not refusals:
            self.agents.setdefault(who.name, Agent())
            taken = answer["task"]["id"]
            choice = [id] if id else self.suitable(who.name)
            assert taken in (choice[:1] if best else choice), "another task was taken"
            assert not answer["again"]
            self._hold(self.tasks[taken], who.name)
        return refusals

    def _claim_again(self, who: Who, mine: list[str], answer: Any) -> set[str]:
        assert answer is not None, "an agent was not given again what it holds"
        task = self.tasks[answer["task"]["id"]]
        assert task.id in mine
        assert answer["again"]
        if task.life != self.agents[who.name].life:
            self._end(task, "taken_over")
            self._hold(task, who.name)
        return set()

    def _unclaimable(self, who: Who, id: str | None) -> set[str]:
        if id is None:
            if self.suitable(who.name):
                return set()
            finished = self.tasks and all(t.status == "completed" for t in self.tasks.values())
            return {"plan_finished"} if finished else {"nothing_ready"}
        task = self.tasks.get(id)
        if task is None:
            return {"no_task"}
        able = self.agents[who.name].able if who.name in self.agents else frozenset()
        facts = {
            "completed": task.status == "completed",
            "claimed": task.status == "in_progress",
            "blocked": bool(self.blockers(task)),
            "assigned": task.status == "pending" and task.assignee not in (None, who.name),
            "capability": not task.needs <= able,
        }
        return {code for code, true in facts.items() if true}

    def _hold(self, task: Task, name: str) -> None:
        assert not self.blockers(task), "work has begun that must wait"
        task.status, task.assignee, task.life = "in_progress", name, self.agents[name].life
        task.attempts += 1

    def _end(self, task: Task, how: str) -> None:
        assert task.assignee is not None
        assert task.life is not None
        task.ended.append((task.attempts, task.assignee, task.life, how))
        task.status, task.assignee, task.life = "pending", None, None

    def complete(self, who: Who, id: str, *, attempt: int | None, text: str, force: bool, answer: Any) -> set[str]:
        task = self.tasks.get(id)
        if self._stranger(who) or task is None:
            return self._stranger(who) | ({"no_task"} if task is None else set())
        if task.completed_by == who.name and (1 if attempt is None else attempt) == task.attempts:
            assert answer["repeated"]
            return set()
        refusals = self._may_end(task, who, attempt, force, ("completed", text))
        if not refusals and task.status == "pending" and self.blockers(task):
            refusals = {"blocked"}
        if not refusals:
            if task.holder not in (None, who.name):
                self._end(task, "reassigned")
            task.status, task.completed_by, task.life = "completed", who.name, None
            task.assignee = None if who.name == HUMAN else who.name
        return refusals

    def give_back(
        self, who: Who, id: str, *, how: str, attempt: int | None, text: str, force: bool, answer: Any
    ) -> set[str]:
        task = self.tasks.get(id)
        if self._stranger(who) or task is None:
            return self._stranger(who) | ({"no_task"} if task is None else set())
        speaks_of_now = attempt is None and task.holder == who.name
        past = self._past(task, who, 1 if attempt is None else attempt)
        if past and past[3] == how and not speaks_of_now:
            assert answer["repeated"]
            return set()
        refusals = self._may_end(task, who, attempt, force, ("failed", text) if how == "failed" else None)
        if not refusals and task.holder is None:
            refusals = {"usage"}
        if not refusals:
            self._end(task, how)
        return refusals

    def note(self, who: Who, id: str, *, attempt: int | None, answer: Any) -> set[str]:
        refusals, task = self._stranger(who), self.tasks.get(id)
        if task is None:
            return refusals | {"no_task"}
        if not refusals and (attempt is not None or task.holder == who.name):
            code, _late = self._hold_of(task, who, attempt)
            refusals = {code} if code else set()
        if not refusals:
            task.notes += 1
        return refusals

    def _may_end(
        self, task: Task, who: Who, attempt: int | None, force: bool, brought: tuple[str, str] | None
    ) -> set[str]:  # fmt: skip
        if force:
            if who.name != HUMAN:
                return {"not_allowed"}
            return {"completed"} if task.status == "completed" else set()
        code, late = self._hold_of(task, who, attempt)
        if late is not None and brought is not None and (late, who.name, *brought) not in task.late:
            task.late.append((late, who.name, *brought))
        return {code} if code else set()

    def _hold_of(self, task: Task, who: Who, attempt: int | None) -> tuple[str | None, int | None]:
        """What forbids to act on the task, if anything; and, where that is lateness, of which attempt."""
        if attempt is not None and not 1 <= attempt <= max(1, task.attempts):
            return "usage", None
        if task.holder == who.name:
            assert task.life is not None
            if (who.life or 0) > task.life:
                return "not_holder", None
            if attempt is None and task.attempts > 1:
                return "attempt_required", None
            given = task.attempts if attempt is None else attempt
            is_mine = given == task.attempts and who.life in (None, task.life)
            return (None, None) if is_mine else ("late", given)
        past = self._past(task, who, attempt)
        if past:
            return "late", past[0]
        return "completed" if task.status == "completed" else "not_holder", None

    def _past(self, task: Task, who: Who, attempt: int | None) -> tuple[int, str, int, str] | None:
        found = [
            e for e in task.ended if e[1] == who.name and attempt in (None, e[0]) and who.life in (None, e[2])
        ]  # fmt: skip
        return found[-1] if found else None
