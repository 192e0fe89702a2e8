"""Several agents do anything in any order, on every store, and a plain model says what must come of it."""

from __future__ import annotations

import json
from contextlib import ExitStack
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from every_store import Ledger, new_store, quick_place, validator
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from plain_model import HUMAN, Model, Who

from teamtasks.domain.agents import Actor
from teamtasks.domain.errors import TeamtasksError
from teamtasks.team import Team

NAMES = ("anna", "bert", "cleo")
SKILLS = ("go", "sql")
NO_TASK = "task-99999"

agents = st.builds(Who, st.sampled_from(NAMES), st.sampled_from((None, None, None, 1, 2, 3)))
anybody = st.just(Who(HUMAN)) | agents
numbers = st.integers(0, 30)
texts = st.sampled_from(("one way", "another way"))
# Which attempt is named, from the task's point of view: none, the newest, one before it, or one that may never have been.
attempts = st.sampled_from(("none", "newest", "newest", "before", "never", "zero"))


class Acts:
    """The acts of the model, done on the ledger."""

    def __init__(self, store: Any) -> None:
        self.store = store

    def create(self, who: Who, *, dependencies: list[str], **wish: Any) -> Any:
        return self._as(who).create("Some work", dependencies=dependencies, **wish)

    def assign(self, who: Who, id: str, *, to: str | None, force: bool) -> Any:
        return self._as(who).assign(id, to, force=force)

    def depend(self, who: Who, id: str, *, on: list[str], off: list[str]) -> Any:
        return self._as(who).depend(id, on=on, off=off)

    def limit_to(self, who: Who, *, limit: int) -> Any:
        return self._as(who).settings(wip_limit=limit)

    def join(self, who: Who, *, name: str, able: list[str]) -> Any:
        return self._as(who).join(name, can=able)

    def claim(self, who: Who, id: str | None, *, another: bool, best: bool) -> Any:
        return self._as(who).claim(id, another=another)

    def complete(self, who: Who, id: str, *, attempt: int | None, text: str, force: bool) -> Any:
        return self._as(who).complete(id, attempt=attempt, result=text, force=force)

    def give_back(self, who: Who, id: str, *, how: str, attempt: int | None, text: str, force: bool) -> Any:
        act = self._as(who).fail if how == "failed" else self._as(who).release
        return act(id, reason=text, attempt=attempt, force=force)

    def note(self, who: Who, id: str, *, attempt: int | None) -> Any:
        return self._as(who).note(id, "worth knowing", attempt=attempt)

    def _as(self, who: Who) -> Team:
        return Team(self.store, Actor(str(who)))


class TeamMachine(RuleBasedStateMachine):
    kind = ""

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.acts: Acts
        self.ledger: Ledger
        self.place: Path
        self.resources = ExitStack()
        self.last: tuple[str, tuple[Any, ...], dict[str, Any]] | None = None
        self.attempts: dict[str, int] = {}

    @initialize(plan=st.lists(st.tuples(st.integers(1, 2), st.lists(numbers, max_size=2)), min_size=3, max_size=6))
    def open(self, plan: list[tuple[int, list[int]]]) -> None:
        """A team that is under way: random acts on an empty one would nearly all be refused."""
        self.place = self.resources.enter_context(quick_place())
        self.ledger = Ledger(new_store(self.kind, self.place))
        self.acts = Acts(self.ledger.store)
        self.join(NAMES[0], ["go"])
        self.join(NAMES[1], [])
        self.create(Who(HUMAN), 1, [], ("go",), None, None)
        for priority, after in plan:
            self.plan(priority, after)

    def teardown(self) -> None:
        with self.resources:
            if hasattr(self, "ledger"):
                self.finish_everything()
                self.look_everything_over()

    def finish_everything(self) -> None:
        """Dependencies lead to no dead end: in some order everything can be completed, and then the plan is finished."""
        while unfinished := [task for task in self.model.tasks.values() if task.status != "completed"]:
            able = [task for task in unfinished if not self.model.blockers(task)]
            assert able
            self.act("complete", Who(HUMAN), able[0].id, attempt=None, text="", force=True)
        self.claim(Who("finally"), another=False)

    def look_everything_over(self) -> None:
        assert [f for f in self.ledger.store.check(fix=False) if f["severity"] == "problem"] == []

    # One act, and what must come of it.

    def act(self, name: str, /, *args: Any, **facts: Any) -> None:
        self.last = (name, args, facts)
        before = self.ledger.everything()
        answer, code = None, None
        try:
            answer = getattr(self.acts, name)(*args, **facts)
        except TeamtasksError as error:
            code = error.code
        refusals = getattr(self.model, name)(*args, **facts, answer=answer)
        assert code in (refusals or {None}), f"{name} said {code}, true would be {refusals or 'success'}"
        revision, documents = self.ledger.everything()
        assert revision == before[0] + (documents != before[1])
        if code not in (None, "late"):
            assert documents == before[1], "a refusal changed something"
        if answer is not None:
            assert answer["revision"] == revision
        if name == "claim" and answer is not None and not answer["again"]:
            assert len(self.model.holds(args[0].name)) <= self.model.limit

    def pick(self, number: int) -> str:
        """One of the tasks there are; now and then one that is not there."""
        ids = list(self.model.tasks)
        return ids[number % len(ids)] if ids and number < 30 else NO_TASK

    def attempt(self, id: str, which: str) -> int | None:
        newest = self.model.tasks[id].attempts if id in self.model.tasks else 1
        return {"none": None, "newest": newest, "before": newest - 1, "never": newest + 1, "zero": 0}[which]

    @rule(
        who=anybody,
        priority=st.integers(1, 2),
        after=st.lists(numbers, max_size=2),
        needs=st.sampled_from(((), (), ("go",))),
        assignee=st.none() | st.sampled_from(NAMES),
        key=st.sampled_from((None, None, None, "a key")),
    )
    def create(self, who: Who, priority: int, after: list[int], needs: Any, assignee: str | None, key: str | None) -> None:
        dependencies = [self.pick(number) for number in after]
        self.act("create", who, priority=priority, dependencies=dependencies, needs=list(needs), assignee=assignee, key=key)

    @rule(priority=st.integers(0, 4), after=st.lists(numbers, max_size=2))
    def plan(self, priority: int, after: list[int]) -> None:
        dependencies = [self.pick(n % 30) for n in after if self.model.tasks]
        self.act("create", Who(HUMAN), priority=priority, dependencies=dependencies, needs=[], assignee=None, key=None)

    @rule(name=st.sampled_from(NAMES), able=st.lists(st.sampled_from(SKILLS), unique=True))
    def join(self, name: str, able: list[str]) -> None:
        self.act("join", Who(HUMAN), name=name, able=able)

    @rule(who=agents, another=st.booleans())
    def claim(self, who: Who, another: bool) -> None:
        self.act("claim", who, None, another=another, best=self.kind != "hostile")

    @rule(who=agents, number=numbers, another=st.booleans())
    def claim_by_id(self, who: Who, number: int, another: bool) -> None:
        self.act("claim", who, self.pick(number), another=another, best=False)

    # What happens most: somebody claims, and ends what it holds in the right way.

    @rule(name=st.sampled_from(NAMES), text=texts, how=st.sampled_from(("completed", "failed", "released", "held")))
    def work(self, name: str, text: str, how: str) -> None:
        if not self.model.holds(name):
            self.claim(Who(name), another=False)
        for id in self.model.holds(name)[:1] if how != "held" else ():
            task = self.model.tasks[id]
            self.end(Who(name, task.life), id, how, task.attempts, text)

    @rule(data=st.data(), text=texts, how=st.sampled_from(("completed", "failed", "released")))
    def come_late(self, data: st.DataObject, text: str, how: str) -> None:
        """Somebody ends once more an attempt that has ended."""
        past = [(task.id, *ended) for task in self.model.tasks.values() for ended in task.ended]
        if past:
            id, attempt, name, life, _how = data.draw(st.sampled_from(past))
            self.end(Who(name, data.draw(st.sampled_from((None, life)))), id, how, attempt, text)

    @rule(data=st.data(), text=texts, how=st.sampled_from(("completed", "failed", "released", "noted")))
    def fumble(self, data: st.DataObject, text: str, how: str) -> None:
        """A holder, or an earlier or later life of it, acts on what it holds and names a wrong attempt, or none."""
        held = [task for task in self.model.tasks.values() if task.holder]
        if held:
            task = data.draw(st.sampled_from(held))
            life = data.draw(st.sampled_from((None, task.life, max(1, (task.life or 1) - 1), (task.life or 1) + 1)))
            attempt = data.draw(st.sampled_from((None, task.attempts, task.attempts - 1)))
            self.end(Who(task.holder or "", life), task.id, how, attempt, text)

    @rule(name=st.sampled_from(NAMES), text=texts)
    def live_again(self, name: str, text: str) -> None:
        """An agent is replaced at work; the new one takes over; the old one comes back."""
        held = self.model.holds(name)[:1]
        self.join(name, [])
        self.claim(Who(name), another=False)
        for id in held:
            task = self.model.tasks[id]
            self.end(Who(name, (task.life or 2) - 1), id, "completed", task.attempts - 1, text)

    def end(self, who: Who, id: str, how: str, attempt: int | None, text: str) -> None:
        if how == "completed":
            self.act("complete", who, id, attempt=attempt, text=text, force=False)
        elif how == "noted":
            self.act("note", who, id, attempt=attempt)
        else:
            self.act("give_back", who, id, how=how, attempt=attempt, text=text, force=False)

    @rule(who=anybody, number=numbers, which=attempts, text=texts, force=st.sampled_from((False, False, False, True)))
    def complete(self, who: Who, number: int, which: str, text: str, force: bool) -> None:
        id = self.pick(number)
        self.act("complete", who, id, attempt=self.attempt(id, which), text=text, force=force)

    @rule(
        who=anybody, number=numbers, how=st.sampled_from(("failed", "released")), which=attempts, text=texts,
        force=st.sampled_from((False, False, False, True)),
    )  # fmt: skip
    def give_back(self, who: Who, number: int, how: str, which: str, text: str, force: bool) -> None:
        id = self.pick(number)
        self.act("give_back", who, id, how=how, attempt=self.attempt(id, which), text=text, force=force)

    @rule(who=anybody, number=numbers, to=st.none() | st.sampled_from(NAMES), force=st.booleans())
    def assign(self, who: Who, number: int, to: str | None, force: bool) -> None:
        self.act("assign", who, self.pick(number), to=to, force=force)

    @rule(who=anybody, number=numbers, on=st.lists(numbers, max_size=2), off=st.lists(numbers, max_size=1))
    def depend(self, who: Who, number: int, on: list[int], off: list[int]) -> None:
        id = self.pick(number)
        mine = self.model.tasks[id].dependencies if id in self.model.tasks else []
        removed = [mine[n % len(mine)] if mine else self.pick(n) for n in off]
        self.act("depend", who, id, on=[self.pick(n) for n in on], off=removed)

    @rule(who=anybody, number=numbers, which=attempts)
    def note(self, who: Who, number: int, which: str) -> None:
        id = self.pick(number)
        self.act("note", who, id, attempt=self.attempt(id, which))

    @rule(limit=st.integers(1, 3))
    def limit_to(self, limit: int) -> None:
        self.act("limit_to", Who(HUMAN), limit=limit)

    @rule()
    def say_it_again(self) -> None:
        if self.last is not None:
            name, args, facts = self.last
            self.act(name, *args, **facts)

    # What is always so.

    @invariant()
    def the_ledger_says_what_the_model_says(self) -> None:
        view = self.ledger.store.read()
        assert {id: _task_facts(task) for id, task in view.all("task").items()} == {
            id: _model_facts(task) for id, task in self.model.tasks.items()
        }
        assert {name: (a["incarnation"], frozenset(a["capabilities"])) for name, a in view.all("agent").items()} == {
            name: (agent.life, agent.able) for name, agent in self.model.agents.items()
        }
        assert {key: found["task"] for key, found in view.all("key").items()} == {
            key: id for key, (id, _wish) in self.model.keys.items()
        }

    @invariant()
    def what_agents_hold_is_what_tasks_say_and_no_task_is_held_by_two(self) -> None:
        view = self.ledger.store.read()
        held = sorted((id, name) for name, agent in view.all("agent").items() for id in agent["holds"])
        in_progress = [task for task in view.all("task").values() if task["status"] == "in_progress"]
        assert held == sorted((task["id"], task["assignee"]) for task in in_progress)

    @invariant()
    def nothing_that_must_wait_has_begun(self) -> None:
        tasks = self.ledger.store.read().all("task")
        for task in tasks.values():
            if task["status"] != "pending":
                assert all(tasks[d]["status"] == "completed" for d in task["dependencies"])

    @invariant()
    def dependencies_have_no_cycle(self) -> None:
        tasks = self.ledger.store.read().all("task")
        TopologicalSorter({id: task["dependencies"] for id, task in tasks.items()}).prepare()

    @invariant()
    def attempts_never_go_down(self) -> None:
        for id, task in self.ledger.store.read().all("task").items():
            assert task["attempts"] >= self.attempts.get(id, 0)
            self.attempts[id] = task["attempts"]


def _task_facts(task: Any) -> Any:
    claim = task.get("claim")
    assert (task["status"] == "in_progress") == (claim is not None)
    assert (task["status"] == "completed") == (task["completed_at"] is not None)
    if claim is not None:
        assert claim["attempt"] == task["attempts"]
    return (
        task["status"], task["assignee"], task["attempts"], claim and claim["incarnation"], task["dependencies"],
        [(f["attempt"], f["agent"], f["incarnation"], f["kind"]) for f in task.get("failures", ())],
        [(k["attempt"], k["agent"], k["outcome"], k["text"]) for k in task.get("late_results", ())],
        len(task.get("notes", ())),
    )  # fmt: skip


def _model_facts(task: Any) -> Any:
    return (
        task.status, task.assignee, task.attempts, task.life, task.dependencies, task.ended, task.late, task.notes,
    )  # fmt: skip


class MemoryMachine(TeamMachine):
    kind = "memory"


class HostileMachine(TeamMachine):
    kind = "hostile"


class FileMachine(TeamMachine):
    """Also: any program can read tasks.json at any moment, and finds what the ledger says."""

    kind = "files"
    checked = b""

    @invariant()
    def tasks_json_is_valid_and_says_what_a_reader_sees(self) -> None:
        raw = Path(self.ledger.store.place, "tasks.json").read_bytes()
        if raw == self.checked:
            return
        self.checked = raw
        content = json.loads(raw)
        VALID.validate(content)
        view = self.ledger.store.read()
        assert content["revision"] == view.revision
        assert {task["id"]: task for task in content["tasks"]} == view.all("task")
        assert content["agents"] == view.all("agent")
        assert content["keys"] == view.all("key")

    def look_everything_over(self) -> None:
        super().look_everything_over()
        lines = (self.place / "home" / "teamtasks" / "payments" / "journal.jsonl").read_text(encoding="utf-8").splitlines()
        revisions = [json.loads(line)["rev"] for line in lines]
        assert revisions == list(range(1, self.ledger.store.read().revision + 1))


VALID = validator("tasks.json")


def _rounds(examples: int) -> settings:
    return settings(
        max_examples=examples, stateful_step_count=40, deadline=None, database=None, report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


TestMemory = MemoryMachine.TestCase
TestMemory.settings = _rounds(90)
TestHostile = HostileMachine.TestCase
TestHostile.settings = _rounds(60)
TestFiles = FileMachine.TestCase
TestFiles.settings = _rounds(25)
