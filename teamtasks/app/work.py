"""What teammates do: claim, complete, fail, release, note. Each is one transaction, decided by the attempt."""

from __future__ import annotations

from teamtasks.app.lookup import find, free
from teamtasks.app.members import acting, seen
from teamtasks.domain import agents, graph, holds, tasks
from teamtasks.domain.brief import brief as brief_text
from teamtasks.domain.errors import InvalidInput, NothingReady, NotTheHolder, PlanFinished, TaskAlreadyCompleted, TooLate
from teamtasks.domain.names import task_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from teamtasks.domain.agents import Actor
    from teamtasks.domain.documents import Agent, Evidence, Head, LateResult, Task
    from teamtasks.store.base import Reader, Store, Tx

    Answer = dict[str, Any]


def claim(store: Store, who: Actor, id: str | None = None, *, another: bool = False, command: str = "teamtasks") -> Answer:
    """The best ready task, or the one that is named; whoever holds one already is given that one again."""
    if who.is_human:
        raise InvalidInput("claiming needs a name", hint="teamtasks --as NAME claim, or set TEAMTASKS_AGENT")
    id = None if id is None else task_id(id)

    def body(tx: Tx) -> tuple[Task, list[Task], Agent, bool]:
        agent = _joined(tx, who)
        task = None if another else _held_already(tx, who, agent, id)
        again = task is not None
        if task is not None:
            taken = tasks.take_again(task, who.name, agent, tx.now)
        else:
            agents.check_limit(who.name, agent, tx.get("team", store.team)["settings"]["wip_limit"])
            taken = _taken(tx, who, agent, id)
        tx.put("task", taken["id"], taken)
        tx.put("agent", who.name, agents.take(agent, taken["id"]))
        tx.record("task_claimed", task=taken["id"], attempt=taken["attempts"])
        return taken, _dependencies(tx, taken), agent, again

    (task, dependencies, agent, again), revision = store.transact(body, by=str(who))
    held = task["claim"]
    seen(store, who, agent, task=task["id"], attempt=held["attempt"], task_since=held["at"])
    text = brief_text(task, dependencies, reader=who.name, command=command)
    return {"revision": revision, "task": task, "attempt": held["attempt"], "again": again, "brief": text}


def wait_and_claim(
    store: Store, who: Actor, id: str | None, *, another: bool, until: Callable[[], float], command: str = "teamtasks"
) -> Answer:
    """Claims, and while nothing is ready waits for the next change. ``until`` says how many seconds are left."""
    revision = None
    while True:
        try:
            return claim(store, who, id, another=another, command=command)
        except NothingReady:
            left = until()
            if left <= 0:
                raise
            if revision is not None:
                store.wait(revision, left)
            # Read before the next try, so that what is committed after that try is not slept through.
            revision = store.read().revision


def brief(store: Store, who: Actor, id: str, *, command: str = "teamtasks") -> Answer:
    view = store.read()
    agent = acting(view, who)
    task = find(view, id)
    seen(store, who, agent)
    return {
        "revision": view.revision,
        "task": task,
        "brief": brief_text(task, _dependencies(view, task), reader=who.name, command=command),
    }


def note(store: Store, who: Actor, id: str, text: str, *, attempt: int | None = None) -> Answer:
    """Anybody may leave a note; the holder, or whoever names an attempt, must be at the current one."""

    def body(tx: Tx) -> tuple[Task, Agent | None]:
        agent = acting(tx, who)
        task = find(tx, id)
        if attempt is not None or (task["status"] == "in_progress" and task["assignee"] == who.name):
            holds.check_hold(task, who, attempt)
        noted = tasks.note(task, str(who), text, tx.now)
        tx.put("task", task["id"], noted)
        tx.record("task_noted", task=task["id"])
        return noted, agent

    (task, agent), revision = store.transact(body, by=str(who))
    seen(store, who, agent)
    return {"revision": revision, "task": task}


def complete(
    store: Store,
    who: Actor,
    id: str,
    *,
    result: str = "",
    evidence: Sequence[Evidence] = (),
    attempt: int | None = None,
    force: bool = False,
) -> Answer:
    """Done. Said twice with the same attempt it counts once; said too late it is kept, and refused."""

    def late(task: Task, attempt: int, now: str) -> LateResult:
        return holds.late_completion(task, who, attempt, result, list(evidence), now)

    def body(tx: Tx) -> _Outcome:
        agent, task = acting(tx, who), find(tx, id)
        if holds.already_completed(task, who, attempt):
            return _Outcome(task, agent, repeated=True)
        refused = _not_the_holder(tx, who, agent, task, attempt, force, late)
        if refused is not None:
            return refused
        if task["status"] == "pending" and (waits := _blockers(tx, task)):
            raise tasks.blocked(task, waits, tx.now)
        holder = task["assignee"] if task["status"] == "in_progress" else None
        done = tasks.complete(task, who, result, list(evidence), tx.now)
        tx.put("task", task["id"], done)
        if holder is not None:
            free(tx, holder, task["id"])
        tx.record("task_completed", task=task["id"], attempt=task["attempts"])
        return _Outcome(done, agent, unblocked=_unblocked(tx, done))

    return _ended(store, who, body)


def fail(
    store: Store,
    who: Actor,
    id: str,
    *,
    reason: str,
    tried: Sequence[str] = (),
    output: str = "",
    attempt: int | None = None,
    force: bool = False,
) -> Answer:
    """Back to pending with everything that was learned: the next brief tells it."""

    def late(_task: Task, attempt: int, now: str) -> LateResult:
        return holds.late_failure(who, attempt, reason, tried, output, now)

    def body(tx: Tx) -> _Outcome:
        agent, task = acting(tx, who), find(tx, id)
        if holds.already_ended(task, who, attempt, "failed"):
            return _Outcome(task, agent, repeated=True)
        refused = _not_the_holder(tx, who, agent, task, attempt, force, late)
        if refused is not None:
            return refused
        holder = _must_be_held(task)
        back = tasks.fail(task, reason, tried, output, tx.now)
        tx.put("task", task["id"], back)
        free(tx, holder, task["id"])
        tx.record("task_failed", task=task["id"], attempt=task["attempts"], reason=reason[:200])
        return _Outcome(back, agent)

    return _ended(store, who, body)


def release(store: Store, who: Actor, id: str, *, reason: str, attempt: int | None = None, force: bool = False) -> Answer:
    """Back to pending without blame: somebody else may take it."""

    def body(tx: Tx) -> _Outcome:
        agent, task = acting(tx, who), find(tx, id)
        if holds.already_ended(task, who, attempt, "released"):
            return _Outcome(task, agent, repeated=True)
        if not _by_force(who, agent, task, force):
            _check_hold(who, agent, task, attempt)
        holder = _must_be_held(task)
        back = tasks.release(task, reason, tx.now)
        tx.put("task", task["id"], back)
        free(tx, holder, task["id"])
        tx.record("task_released", task=task["id"], attempt=task["attempts"])
        return _Outcome(back, agent)

    return _ended(store, who, body)


class _Outcome:
    """What a transaction came to. ``refused`` is raised after the commit, because it recorded something."""

    __slots__ = ("agent", "refused", "repeated", "task", "unblocked")

    def __init__(
        self,
        task: Task,
        agent: Agent | None,
        *,
        repeated: bool = False,
        unblocked: Sequence[str] = (),
        refused: TooLate | None = None,
    ) -> None:
        self.task, self.agent, self.repeated = task, agent, repeated
        self.unblocked, self.refused = list(unblocked), refused


def _ended(store: Store, who: Actor, body: Callable[[Tx], _Outcome]) -> Answer:
    outcome, revision = store.transact(body, by=str(who))
    seen(store, who, outcome.agent, task=None, attempt=None, task_since=None)
    if outcome.refused is not None:
        raise outcome.refused
    answer = {"revision": revision, "task": outcome.task, "repeated": outcome.repeated}
    if outcome.task["status"] == "completed":
        answer["unblocked"] = outcome.unblocked
    return answer


def _not_the_holder(
    tx: Tx,
    who: Actor,
    agent: Agent | None,
    task: Task,
    attempt: int | None,
    force: bool,
    late: Callable[[Task, int, str], LateResult],
) -> _Outcome | None:
    """None for the holder and for those who may override; what a late agent brought is kept before it is refused."""
    if _by_force(who, agent, task, force):
        return None
    try:
        _check_hold(who, agent, task, attempt)
    except TooLate as refusal:
        kept = holds.with_late_result(task, late(task, int(str(refusal.facts["attempt"])), tx.now))
        tx.put("task", task["id"], kept)
        tx.record("late_result_kept", task=task["id"], agent=who.name, attempt=refusal.facts["attempt"])
        refusal.message += "; what you brought is kept on the task"
        return _Outcome(kept, agent, refused=refusal)
    return None


def _check_hold(who: Actor, agent: Agent | None, task: Task, attempt: int | None) -> None:
    try:
        holds.check_hold(task, who, attempt)
    except NotTheHolder as refusal:
        if agents.may_override(who, agent) and task["status"] == "in_progress":
            refusal.hint = "add --force to act in the place of its holder"
        raise


def _by_force(who: Actor, agent: Agent | None, task: Task, force: bool) -> bool:
    if not force:
        return False
    agents.check_override(who, agent)
    if task["status"] == "completed":
        raise TaskAlreadyCompleted(f"{task['id']} is completed", hint=f"teamtasks show {task['id']}", task=task["id"])
    return True


def _must_be_held(task: Task) -> str:
    if task["status"] != "in_progress" or task["assignee"] is None:
        raise InvalidInput(f"{task['id']} is {task['status']}: nobody holds it", hint=f"teamtasks show {task['id']}")
    return task["assignee"]


def _joined(tx: Tx, who: Actor) -> Agent:
    """The agent that claims; an unknown name joins by claiming."""
    agent: Agent | None = tx.get("agent", who.name)
    if agent is None:
        if who.incarnation not in (None, 1):
            raise agents.unknown(who.name, tx.all("agent"))
        tx.record("agent_joined", agent=who.name, incarnation=1)
        return agents.join(None, now=tx.now)
    agents.known(who, agent, ())
    agents.current_life(who, agent)
    return agent


def _held_already(tx: Tx, who: Actor, agent: Agent, id: str | None) -> Task | None:
    for held in agent["holds"]:
        task: Task | None = tx.get("task", held)
        if task and task["status"] == "in_progress" and task["assignee"] == who.name and id in (None, held):
            return task
    return None


def _taken(tx: Tx, who: Actor, agent: Agent, id: str | None) -> Task:
    if id is not None:
        task = find(tx, id)
        return tasks.claim(task, who.name, agent, _blockers(tx, task), tx.now)
    taken = _best(tx, who, agent, graph.unfinished(tx.scan("task", unfinished=True)))
    if taken is None:  # a scan may be old: "nothing" is said only of what was read as a whole
        everything: dict[str, Head] = tx.all("task")
        taken = _best(tx, who, agent, graph.unfinished(everything.values()))
        if taken is None:
            raise _nothing(who, agent, everything)
    return taken


def _best(tx: Tx, who: Actor, agent: Agent, heads: dict[str, Head]) -> Task | None:
    for candidate in graph.candidates(heads, who.name, agent["capabilities"]):
        task: Task | None = tx.get("task", candidate)
        if task and task["status"] == "pending" and graph.suits(task, who.name, agent["capabilities"]):
            blockers = _blockers(tx, task)
            if not blockers:
                return tasks.claim(task, who.name, agent, blockers, tx.now)
    return None


def _nothing(who: Actor, agent: Agent, everything: dict[str, Head]) -> NothingReady | PlanFinished:
    """Why there is nothing to take: a plan that has not begun, one that is finished, or work that others must do first."""
    heads = graph.unfinished(everything.values())
    if not everything:
        return NothingReady("there is no task yet", hint="teamtasks claim --wait", unfinished=0)
    if not heads:
        return PlanFinished("nothing is left to do: every task is completed", hint="teamtasks list")
    running = [h["id"] for h in heads.values() if h["status"] == "in_progress"]
    ready = [h for h in heads.values() if graph.is_ready(h, heads)]
    reserved = [h["id"] for h in ready if h["assignee"] not in (None, who.name)]
    unsuited = [h for h in ready if h["id"] not in reserved]
    waiting = len(heads) - len(running) - len(ready)
    counts = (
        (len(running), "in progress"),
        (len(reserved), "reserved for others"),
        (len(unsuited), f"beyond what {who.name} can do"),
        (waiting, "blocked"),
    )
    hint = "teamtasks claim --wait"
    if unsuited and not running:  # waiting would not help
        able = dict.fromkeys([*agent["capabilities"], *(n for h in unsuited for n in h.get("needs", ()))])
        hint = f"teamtasks join {who.name} --can {' --can '.join(able)}"
    return NothingReady(
        f"nothing is ready for {who.name} now: {', '.join(f'{n} {what}' for n, what in counts if n)}",
        hint=hint,
        running=running,
        reserved=reserved,
        unsuited=[h["id"] for h in unsuited],
        unfinished=len(heads),
    )


def _blockers(reader: Reader, task: Task) -> list[Task]:
    return [d for d in _dependencies(reader, task) if d["status"] != "completed"]


def _dependencies(reader: Reader, task: Task) -> list[Task]:
    found = [reader.get("task", d) for d in task["dependencies"]]
    return [d for d in found if d is not None]


def _unblocked(tx: Tx, done: Task) -> list[str]:
    """The tasks that can begin now because this one is completed. Found by a scan, then read: a scan may be old."""
    found = []
    for head in tx.scan("task", unfinished=True):
        if done["id"] in head["dependencies"]:
            task: Task | None = tx.get("task", head["id"])
            if task and task["status"] == "pending" and done["id"] in task["dependencies"] and not _blockers(tx, task):
                found.append(task["id"])
    return found
