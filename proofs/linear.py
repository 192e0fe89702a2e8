"""Whether what many processes were told can have happened one after the other: a Wing–Gong search, task by task.

Each operation lies somewhere between its invocation and its answer. One of unknown outcome (its process was killed) happened
at any time after its invocation, or never. A revision in an answer narrows that down: no two writes share one, a write
with a smaller one comes first, and whoever was answered at revision r saw exactly the writes up to r.

The search stays small on long histories: it forgets everything at a moment at which nobody was waiting but the possible
states; it visits each set of operations in each state once; and an operation that fits here and changes nothing is
taken at once, because putting it off could not help any other.

``accounts`` compares the answers with the journal: each acknowledged write is the line of its revision, and each line is the
work of somebody who asked for it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from proofs.onetask import ATTEMPTS, NOTES, REASONS, State, outcomes, seen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NO_TASK = ("wip_limit", "nothing_ready", "plan_finished", "lock_timeout")  # refusals that say nothing about a task
WRITES = ("create", "claim", "complete", "fail", "release", "note", "assign")  # those that always change something
MOST_LOOKS = 300_000  # configurations of one stretch; more than this is not decided
EVENTS = {
    "create": "task_created", "claim": "task_claimed", "complete": "task_completed", "fail": "task_failed",
    "release": "task_released", "note": "task_noted", "assign": "task_assigned", "depend": "task_depends",
}  # fmt: skip


@dataclass(eq=False)
class Op:
    """One call: who asked for what and when, and what came back. ``verdict`` is "ok", "again" (nothing new), an error's
    code, or None where no answer came."""

    by: str
    kind: str
    task: str
    invoked: float
    answered: float = inf
    verdict: str | None = None
    revision: int | None = None
    seen: list[Any] | None = None
    waits: list[str] | None = None  # what the answer says that the task waits for
    args: dict[str, Any] = field(default_factory=dict)
    name: str = ""

    def __str__(self) -> str:
        came = "no answer" if self.verdict is None else f"{self.verdict} at revision {self.revision}"
        when = f"{self.invoked:.6f}" + ("" if self.answered == inf else f"–{self.answered:.6f}")
        return f"{self.name} {self.by}: {self.kind} {self.task} {self.args} [{when}] → {came} {self.seen or ''}"

    @property
    def writes(self) -> bool:
        return self.verdict == "ok" and self.kind in WRITES


class Completions:
    """When each task was completed, as far as the answers tell: what other tasks' claims rest on."""

    def __init__(self, ops: Iterable[Op]) -> None:
        self._known: dict[str, Op] = {}
        self._perhaps: dict[str, float] = {}
        for op in ops:
            if op.kind == "complete" and op.verdict == "ok":
                self._known[op.task] = op
            elif op.kind == "complete" and op.verdict is None:
                self._perhaps[op.task] = min(op.invoked, self._perhaps.get(op.task, inf))

    def possible(self, task: str, op: Op) -> set[bool]:
        """Whether the task can have been completed, and whether it can have been open, when ``op`` happened."""
        known = self._known.get(task)
        if known is None:
            return {False, True} if self._perhaps.get(task, inf) < op.answered else {False}
        if op.revision is not None and known.revision is not None:
            return {known.revision <= op.revision}
        return {value for value, may in ((True, known.invoked < op.answered), (False, known.answered > op.invoked)) if may}


class Config(NamedTuple):
    """How far a search has come: which operations have happened, and to what they led."""

    happened: int  # a bit for each operation of the stretch
    used: frozenset[int]  # those of unknown outcome that have happened
    state: State | None
    revision: int


def check(ops: list[Op]) -> list[str]:
    """What is wrong with a history, each with the task and the operations around it."""
    completions = Completions(ops)
    tasks: dict[str, list[Op]] = {}
    for op in ops:
        if op.task and op.verdict not in NO_TASK:
            tasks.setdefault(op.task, []).append(op)
    return [*_shared_revisions(ops), *(wrong for task in tasks for wrong in check_task(tasks[task], completions))]


def _shared_revisions(ops: list[Op]) -> Iterator[str]:
    taken: dict[int, Op] = {}
    for op in ops:
        if op.writes and op.revision is not None:
            if op.revision in taken:
                yield f"two writes share revision {op.revision}: {taken[op.revision]} and {op}"
            taken[op.revision] = op


def check_task(ops: list[Op], completions: Completions) -> list[str]:
    """Nothing, if some order explains every answer; else where every order fails."""
    unknown = sorted((op for op in ops if op.verdict is None), key=lambda op: op.invoked)
    stretches = list(_stretches(op for op in ops if op.verdict is not None))
    horizons: list[list[Any] | None] = [None]
    for stretch in reversed(stretches):
        ranked = sorted((op for op in stretch if op.revision is not None and op.seen), key=_rank)
        horizons.append(ranked[0].seen if ranked else horizons[-1])
    configs = {Config(0, frozenset(), None, 0)}
    for stretch, horizon in zip(stretches, horizons[-2::-1], strict=True):
        search = _Search(stretch, unknown, completions, horizon)
        configs = search.ends(configs)
        if not configs:
            return [search.failure()]
    return []


def _stretches(ops: Iterable[Op]) -> Iterator[list[Op]]:
    """Cut where nobody was waiting for an answer: what comes later cannot have happened earlier."""
    stretch: list[Op] = []
    end = -inf
    for op in sorted(ops, key=lambda op: op.invoked):
        if stretch and op.invoked > end:
            yield stretch
            stretch = []
        stretch.append(op)
        end = max(end, op.answered)
    if stretch:
        yield stretch


def _rank(op: Op) -> tuple[int, int]:
    """By revision; at the same one the write, then what perhaps is one, then what only looked."""
    return op.revision or 0, 0 if op.writes else 1 if op.kind == "depend" else 2


class _Search:
    """Every way through one stretch of a task's history. ``horizon`` is the next sight of the task after it."""

    def __init__(self, ops: list[Op], unknown: list[Op], completions: Completions, horizon: list[Any] | None) -> None:
        self.ops, self.unknown, self.completions, self.horizon = ops, unknown, completions, horizon
        self.ranked = sorted((op for op in ops if op.revision is not None), key=_rank)
        self.ranked_bits = sum(1 << n for n, op in enumerate(ops) if op.revision is not None)
        self.all = (1 << len(ops)) - 1
        self.furthest = Config(-1, frozenset(), None, 0)
        self.tired = False

    def ends(self, starts: Iterable[Config]) -> set[Config]:
        """The configurations in which everything of the stretch has happened."""
        found: set[Config] = set()
        stack = [start._replace(happened=0) for start in starts]
        visited = set(stack)
        while stack:
            config = stack.pop()
            if config.happened == self.all:
                found.add(config._replace(happened=0))
                continue
            if config.happened.bit_count() >= self.furthest.happened.bit_count() or self.furthest.happened < 0:
                self.furthest = config
            if len(visited) > MOST_LOOKS:
                self.tired = True
                return set()
            following = [c for c in self._following(config) if c not in visited]
            visited.update(following)
            stack.extend(following)
        return found

    def _following(self, config: Config) -> list[Config]:
        # Those with a revision happen in its order, so as many of them as have happened are the first ones.
        happened = (config.happened & self.ranked_bits).bit_count()
        first = self.ranked[happened] if happened < len(self.ranked) else None
        ways: list[Config] = []
        limit = inf
        for n in self._next(config.happened):
            op = self.ops[n]
            limit = min(limit, op.answered)
            if op.revision is not None and first is not None and _rank(op) > _rank(first):
                continue
            for state, revision in self._fits(op, config):
                following = config._replace(happened=config.happened | 1 << n, state=state, revision=revision)
                if state == config.state:
                    return [following]
                ways.append(following)
        sight = self.horizon if first is None else first.seen
        for n, op in enumerate(self.unknown):
            if n not in config.used and op.invoked <= limit:
                for state, _verdict in self._outcomes(config.state, op):
                    if state != config.state and not _is_beyond(state, sight):
                        ways.append(config._replace(used=config.used | {n}, state=state))
        return ways

    def _next(self, happened: int) -> Iterator[int]:
        """The operations that may happen next: those invoked before any other that has not happened was answered."""
        limit = inf
        left = self.all & ~happened
        while left:
            n = (left & -left).bit_length() - 1
            if self.ops[n].invoked > limit:
                return
            limit = min(limit, self.ops[n].answered)
            yield n
            left &= left - 1

    def _outcomes(self, state: State | None, op: Op) -> list[tuple[State | None, str]]:
        return outcomes(state, op, lambda task: self.completions.possible(task, op))

    def _fits(self, op: Op, config: Config) -> Iterator[tuple[State | None, int]]:
        """The states to which the operation leads here, if that is what its answer says."""
        for state, verdict in self._outcomes(config.state, op):
            if verdict != op.verdict or (op.seen is not None and (state is None or state.seen() != op.seen)):
                continue
            if op.waits is not None and state is not None and not self._waits_rightly(state, op):
                continue
            revision = config.revision if op.revision is None else op.revision
            if revision > config.revision or (state == config.state and revision == config.revision) or op.revision is None:
                yield state, revision

    def _waits_rightly(self, state: State, op: Op) -> bool:
        open_ones = state.dependencies if state.status == "pending" else ()
        return set(op.waits or ()) <= set(open_ones) and all(
            (d not in (op.waits or ())) in self.completions.possible(d, op) for d in open_ones
        )

    def failure(self) -> str:
        config, op = self.furthest, self.ops[0]
        if self.tired:
            return f"{op.task}: not decided after {MOST_LOOKS:,} looks, from {op}"
        state = config.state.seen() if config.state else "not there"
        told = [
            f"{op.task}: no order explains the answers; {config.happened.bit_count()} of {len(self.ops)} operations lead to",
            f"    {state} at revision {config.revision}, and then one of:",
        ]
        for op in (self.ops[n] for n in self._next(config.happened)):
            expected = " or ".join(verdict for _state, verdict in self._outcomes(config.state, op))
            told.append(f"    {op} (should be: {expected})")
        return "\n".join(told[:14])


def _is_beyond(state: State | None, sight: list[Any] | None) -> bool:
    """Whether the task has already more attempts, endings or notes than somebody will see later: they never get fewer."""
    if state is None or sight is None:
        return False
    return state.attempts > sight[ATTEMPTS] or state.reasons[0] > sight[REASONS][0] or state.notes[0] > sight[NOTES][0]


def accounts(ops: list[Op], lines: list[dict[str, Any]], base: int) -> list[str]:
    """What does not agree between the answers and the journal's lines after revision ``base``.

    Operations of unknown outcome that the journal tells of get their task, where it was open which one it would be.
    """
    by_revision = {line["rev"]: line for line in lines}
    wrong, explained = [], set()
    for op in ops:
        if op.verdict != "ok" or op.kind not in EVENTS or op.revision is None:
            continue
        line = by_revision.get(op.revision)
        if line is not None and _is_work_of(line, op) and seen(_document(line, op.task)) == op.seen:
            explained.add(op.revision)
        elif op.writes:
            wrong.append(f"acknowledged, but revision {op.revision} is not that: {op}; the journal has {_told(line)}")
    pool = sorted((op for op in ops if op.verdict is None or op.verdict == "late"), key=lambda op: op.invoked)
    for revision in sorted(r for r in by_revision if r > base and r not in explained):
        line = by_revision[revision]
        author = next((op for op in pool if _may_be_work_of(line, op)), None)
        if author is None:
            wrong.append(f"nobody asked for revision {revision}: {_told(line)}")
        else:
            pool.remove(author)
            author.task = author.task or _subject(line)
    return [*wrong, *_late_and_lost(ops, lines)]


def _late_and_lost(ops: list[Op], lines: list[dict[str, Any]]) -> Iterator[str]:
    """What a late agent brought is kept before it is refused, although its refusal carries no revision."""
    late = [line for line in lines if any(e["event"] == "late_result_kept" for e in line["events"])]
    kept = {result["text"] for line in late for result in _document(line, _subject(line))["late_results"]}
    for op in ops:
        if op.verdict == "late" and op.kind in ("complete", "fail") and op.args["text"] not in kept:
            yield f"told that it is kept, but it is not in the journal: {op}"


def _is_work_of(line: dict[str, Any], op: Op) -> bool:
    named = any(e["event"] == EVENTS[op.kind] and e.get("task") == op.task for e in line["events"])
    return named and line["by"] == op.by and _document(line, op.task) is not None


def _may_be_work_of(line: dict[str, Any], op: Op) -> bool:
    """For those who were not told: the same author, event and task, and their text is in what was put."""
    events = [e for e in line["events"] if e["event"] != "agent_joined"]
    if line["by"] != op.by or len(events) != 1 or op.kind not in EVENTS or op.task not in ("", events[0].get("task")):
        return False
    expected = ("late_result_kept",) if op.verdict == "late" else (EVENTS[op.kind], "late_result_kept")
    text = json.dumps(op.args["text"]) if "text" in op.args else ""
    return events[0]["event"] in expected and text in json.dumps(_document(line, _subject(line)))


def _subject(line: dict[str, Any]) -> str:
    return next((e["task"] for e in line["events"] if "task" in e), "")


def _document(line: dict[str, Any], task: str) -> Any:
    return next((document for kind, id, document in line["docs"] if kind == "task" and id == task), None)


def _told(line: dict[str, Any] | None) -> str:
    if line is None:
        return "no such line"
    task = _document(line, _subject(line))
    return f"by {line['by']}: {line['events']} {seen(task) if task else ''}"
