"""One task as its rules say, written a second time and without teamtasks: what ``linear`` compares the answers with.

``outcomes(state, op, done)`` says what an operation may come to if it happens now: the state after it and the verdict. There
are two only where it depends on another task of which it is not known whether it was completed by then. A state is None
before the task was created.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from proofs.linear import Op

    Done = Callable[[str], set[bool]]
    Outcome = tuple["State | None", str]

HUMAN = "human"
LATE_KEPT = 20

ATTEMPTS, REASONS, NOTES = 3, 8, 10  # where they stand in what is seen

Chain = tuple[int, int]
EMPTY: Chain = (0, 0)


class State(NamedTuple):
    """What the rules look at. Texts that only grow are kept as how many there are and a sum over them."""

    title: str
    assignee: str | None = None
    dependencies: tuple[str, ...] = ()
    status: str = "pending"
    attempts: int = 0
    completed_by: str = ""
    result: str = ""
    ended: tuple[tuple[int, str, str], ...] = ()  # attempt, agent, kind
    reasons: Chain = EMPTY
    late: tuple[tuple[int, str, str, str], ...] = ()  # attempt, agent, outcome, text
    notes: Chain = EMPTY

    def seen(self) -> list[Any]:
        """The same as ``seen`` makes of the document."""
        claim = self.attempts if self.status == "in_progress" else 0
        late = chain(" ".join(map(str, entry)) for entry in self.late)
        return [
            self.title, self.status, self.assignee, self.attempts, claim, list(self.dependencies), self.completed_by,
            self.result, list(self.reasons), list(late), list(self.notes),
        ]  # fmt: skip


def seen(task: dict[str, Any]) -> list[Any]:
    """What an answer shows of a task, in few bytes."""
    reasons = chain(_reason(f["attempt"], f["agent"], f["kind"], f["reason"]) for f in task.get("failures", ()))
    late = chain(f"{r['attempt']} {r['agent']} {r['outcome']} {r['text']}" for r in task.get("late_results", ()))
    notes = chain(f"{n['by']} {n['text']}" for n in task.get("notes", ()))
    return [
        task["title"], task["status"], task["assignee"], task["attempts"], task.get("claim", {}).get("attempt", 0),
        task["dependencies"], task.get("completed_by", ""), task.get("result", ""), list(reasons), list(late), list(notes),
    ]  # fmt: skip


def chain(texts: Iterable[str], start: Chain = EMPTY) -> Chain:
    count, total = start
    for text in texts:
        count, total = count + 1, crc32(text.encode() + b"\n", total)
    return count, total


def _reason(attempt: int, agent: str, kind: str, text: str) -> str:
    return f"{attempt} {agent} {kind} {text if kind in ('failed', 'released') else ''}"


def outcomes(state: State | None, op: Op, done: Done) -> list[Outcome]:
    if op.kind == "create":
        return [_create(state, op)]
    if state is None:
        return [(None, "no_task")]
    return _RULES[op.kind](state, op, done)


def _create(state: State | None, op: Op) -> Outcome:
    if state is not None:
        return state, "again"
    return State(op.args["text"], dependencies=tuple(op.args.get("on", ()))), "ok"


def _claim(state: State, op: Op, done: Done) -> list[Outcome]:
    if state.status == "in_progress" and state.assignee == op.by and not op.args.get("another"):
        return [(state, "again")]
    if state.status != "pending":
        return [(state, "completed" if state.status == "completed" else "claimed")]
    found: list[Outcome] = []
    if _may_wait(state.dependencies, done):
        found.append((state, "blocked"))
    if _may_begin(state.dependencies, done):
        if state.assignee in (None, op.by):
            found.append((state._replace(status="in_progress", assignee=op.by, attempts=state.attempts + 1), "ok"))
        else:
            found.append((state, "assigned"))
    return found


def _complete(state: State, op: Op, done: Done) -> list[Outcome]:
    if state.status == "completed" and state.completed_by == op.by and (op.args.get("attempt") or 1) == state.attempts:
        return [(state, "again")]
    finished: Outcome = (_completed(state, op), "ok")
    if not op.args.get("force"):
        return [_refusal(state, op, "completed") or finished]
    if state.status == "completed":
        return [(state, "completed")]
    if state.status == "in_progress":
        return [finished]
    found: list[Outcome] = [(state, "blocked")] if _may_wait(state.dependencies, done) else []
    return [*found, finished] if _may_begin(state.dependencies, done) else found


def _completed(state: State, op: Op) -> State:
    if state.status == "in_progress" and state.assignee != op.by:
        state = _ended(state, "reassigned", "")
    assignee = None if op.by == HUMAN else op.by
    return state._replace(status="completed", assignee=assignee, completed_by=op.by, result=op.args["text"])


def _give_back(state: State, op: Op, _done: Done) -> list[Outcome]:
    """``fail`` and ``release``. Only what a late ``fail`` brings is kept."""
    kind = "failed" if op.kind == "fail" else "released"
    attempt = op.args.get("attempt")
    holds = state.status == "in_progress" and state.assignee == op.by
    if not (attempt is None and holds):
        past = _past(state, op.by, attempt or 1)
        if past is not None and past[2] == kind:
            return [(state, "again")]
    refusal = _refusal(state, op, kind if op.kind == "fail" else None)
    return [refusal or (_ended(state, kind, op.args["text"]), "ok")]


def _note(state: State, op: Op, _done: Done) -> list[Outcome]:
    holds = state.status == "in_progress" and state.assignee == op.by
    if op.args.get("attempt") is not None or holds:
        refusal = _refusal(state, op, None)
        if refusal is not None:
            return [refusal]
    return [(_noted(state, op), "ok")]


def _assign(state: State, op: Op, _done: Done) -> list[Outcome]:
    to, holder = op.args["to"], state.assignee if state.status == "in_progress" else None
    if holder is not None and holder == to:
        return [(state, "usage")]
    if holder is not None and holder != op.by and not op.args.get("force"):
        return [(state, "not_allowed")]
    if state.status == "completed":
        return [(state, "completed")]
    if holder is not None:
        state = _ended(state, "reassigned", "")
    return [(_noted(state._replace(assignee=to), op), "ok")]


def _depend(state: State, op: Op, done: Done) -> list[Outcome]:
    on, off = op.args.get("on", ()), op.args.get("off", ())
    if any(d not in state.dependencies for d in off):
        return [(state, "usage")]
    kept = [d for d in state.dependencies if d not in off]
    changed: Outcome = (state._replace(dependencies=tuple(dict.fromkeys([*kept, *on]))), "ok")
    if state.status == "pending":
        return [changed]
    found: list[Outcome] = [(state, "refused")] if _may_wait(on, done) else []
    return [*found, changed] if _may_begin(on, done) else found


def _show(state: State, _op: Op, _done: Done) -> list[Outcome]:
    return [(state, "ok")]


_RULES = {
    "claim": _claim, "complete": _complete, "fail": _give_back, "release": _give_back, "note": _note, "assign": _assign,
    "depend": _depend, "show": _show,
}  # fmt: skip


def _may_wait(dependencies: Iterable[str], done: Done) -> bool:
    return any(False in done(d) for d in dependencies)


def _may_begin(dependencies: Iterable[str], done: Done) -> bool:
    return all(True in done(d) for d in dependencies)


def _refusal(state: State, op: Op, late: str | None) -> Outcome | None:
    """None for the holder in its current attempt. ``late`` is the outcome under which a late agent's text is kept."""
    attempt = op.args.get("attempt")
    if attempt is not None and not 1 <= attempt <= max(1, state.attempts):
        return state, "usage"
    if state.status == "in_progress" and state.assignee == op.by:
        if attempt is None and state.attempts > 1:
            return state, "attempt_required"
        return None if attempt in (None, state.attempts) else _too_late(state, op, attempt, late)
    past = _past(state, op.by, attempt)
    if past is not None:
        return _too_late(state, op, past[0], late)
    return state, "completed" if state.status == "completed" else "not_holder"


def _too_late(state: State, op: Op, attempt: int, outcome: str | None) -> Outcome:
    if outcome is not None:
        entry = (attempt, op.by, outcome, op.args["text"])
        if entry not in state.late:
            state = state._replace(late=(*state.late, entry)[-LATE_KEPT:])
    return state, "late"


def _past(state: State, agent: str, attempt: int | None) -> tuple[int, str, str] | None:
    mine = [e for e in state.ended if e[1] == agent and attempt in (None, e[0])]
    return mine[-1] if mine else None


def _ended(state: State, kind: str, text: str) -> State:
    entry = (state.attempts, state.assignee or "", kind)
    reasons = chain([_reason(*entry, text)], state.reasons)
    return state._replace(status="pending", assignee=None, ended=(*state.ended, entry), reasons=reasons)


def _noted(state: State, op: Op) -> State:
    return state._replace(notes=chain([f"{op.by} {op.args['text']}"], state.notes))
