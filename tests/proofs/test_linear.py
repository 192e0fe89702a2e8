"""The checker must be able to fail: histories written by hand, good ones and bad ones."""

from __future__ import annotations

from math import inf

import pytest

from proofs.linear import Op, accounts, check
from proofs.onetask import State, chain, seen


def shown(**changes):
    return State("a", **changes).seen()


HELD = {"status": "in_progress", "assignee": "ann", "attempts": 1}
HELD_BY_BOB = {"status": "in_progress", "assignee": "bob", "attempts": 1}
RELEASED = {"attempts": 1, "ended": ((1, "ann", "released"),), "reasons": chain(["1 ann released x"])}
HELD_AGAIN = {**RELEASED, "status": "in_progress", "assignee": "bob", "attempts": 2}
DONE = {**HELD, "status": "completed", "completed_by": "ann", "result": "r"}


def op(by, kind, begun, ended=inf, verdict=None, revision=None, see=None, *, task="task-1", waits=None, **args):
    return Op(
        by, kind, task, begun, ended, verdict, revision, None if see is None else shown(**see), waits, args, f"{begun}"
    )


def notes(*texts):
    return chain(f"ann {text}" for text in texts)


CREATED = op("ann", "create", 1, 2, "ok", 1, {}, text="a")
CLAIMED = op("ann", "claim", 3, 4, "ok", 2, HELD)

GOOD = {
    "one after the other": [
        CREATED,
        CLAIMED,
        op("ann", "note", 5, 6, "ok", 3, {**HELD, "notes": notes("n")}, text="n"),
        op("ann", "complete", 7, 8, "ok", 4, {**DONE, "notes": notes("n")}, text="r", attempt=1),
        op("ann", "complete", 9, 10, "again", 4, {**DONE, "notes": notes("n")}, text="r", attempt=1),
        op("bob", "claim", 11, 12, "completed"),
    ],
    "two claim at once and one gets it": [
        CREATED,
        op("bob", "claim", 2.5, 9, "claimed"),
        op("ann", "claim", 3, 8, "ok", 2, HELD),
    ],
    "answers come in another order than the revisions": [
        CREATED,
        op("ann", "note", 3, 20, "ok", 2, {"notes": notes("x")}, text="x"),
        op("ann", "note", 4, 6, "ok", 3, {"notes": notes("x", "y")}, text="y"),
    ],
    "a reader beside a writer sees the old or the new": [
        CREATED,
        op("ann", "claim", 3, 9, "ok", 2, HELD),
        op("bob", "show", 4, 5, "ok", 1, {}),
        op("bob", "show", 6, 7, "ok", 2, HELD),
    ],
    "a revision of other tasks in between": [CREATED, op("bob", "show", 3, 4, "ok", 17, {})],
    "unknown, and it happened": [CREATED, op("ann", "claim", 3), op("bob", "claim", 5, 6, "claimed")],
    "unknown, and it never happened": [CREATED, op("ann", "claim", 3), op("bob", "claim", 5, 6, "ok", 2, HELD_BY_BOB)],
    "unknown, and it happened long after": [
        CREATED,
        op("ann", "note", 3, text="n"),
        op("bob", "show", 5, 6, "ok", 1, {}),
        op("bob", "show", 7, 8, "ok", 2, {"notes": notes("n")}),
    ],
    "an unknown creation, repeated": [
        op("ann", "create", 1, text="a", key="k"),
        op("ann", "create", 3, 4, "again", 1, {}, text="a", key="k"),
    ],
    "late, refused and kept": [
        CREATED,
        CLAIMED,
        op("ann", "release", 5, 6, "ok", 3, RELEASED, text="x", attempt=1),
        op("bob", "claim", 7, 8, "ok", 4, HELD_AGAIN),
        op("ann", "complete", 9, 10, "late", text="r", attempt=1),
        op("bob", "show", 11, 12, "ok", 5, {**HELD_AGAIN, "late": ((1, "ann", "completed", "r"),)}),
    ],
    "a task waits for another that is completed meanwhile": [
        CREATED,
        op("ann", "create", 3, 4, "ok", 2, {"dependencies": ("task-1",)}, task="task-2", text="a", on=["task-1"]),
        op("bob", "claim", 5, 30, "blocked", task="task-2"),
        op("ann", "claim", 6, 7, "ok", 3, HELD),
        op("ann", "complete", 8, 9, "ok", 4, DONE, text="r", attempt=1),
        op("bob", "claim", 10, 11, "ok", 5, {**HELD_BY_BOB, "dependencies": ("task-1",)}, task="task-2"),
    ],
}

BAD = {
    "lost update": [
        CREATED,
        op("ann", "note", 3, 4, "ok", 2, {"notes": notes("x")}, text="x"),
        op("ann", "note", 3, 4, "ok", 3, {"notes": notes("y")}, text="y"),
    ],
    "a lost update that only a reader sees": [
        CREATED,
        op("ann", "note", 3, 5, "ok", 2, {"notes": notes("x")}, text="x"),
        op("bob", "show", 6, 7, "ok", 3, {}),
    ],
    "two holders": [CREATED, CLAIMED, op("bob", "claim", 3, 4, "ok", 3, HELD_BY_BOB)],
    "two holders, one after the other": [
        CREATED,
        CLAIMED,
        op("bob", "claim", 5, 6, "ok", 3, {**HELD_BY_BOB, "attempts": 2}),
    ],
    "a late completion accepted": [
        CREATED,
        CLAIMED,
        op("ann", "release", 5, 6, "ok", 3, RELEASED, text="x", attempt=1),
        op("bob", "claim", 7, 8, "ok", 4, HELD_AGAIN),
        op("ann", "complete", 9, 10, "ok", 5, {**RELEASED, **DONE, "attempts": 2}, text="r", attempt=1),
    ],
    "a late result that is not kept": [
        CREATED,
        CLAIMED,
        op("ann", "release", 5, 6, "ok", 3, RELEASED, text="x", attempt=1),
        op("ann", "complete", 9, 10, "late", text="r", attempt=1),
        op("bob", "show", 11, 12, "ok", 4, RELEASED),
    ],
    "a stale read": [CREATED, CLAIMED, op("bob", "show", 5, 6, "ok", 1, {})],
    "a read of the future": [CREATED, op("bob", "show", 3, 4, "ok", 1, HELD), op("ann", "claim", 5, 6, "ok", 2, HELD)],
    "a reader at a revision that does not show all of it": [
        CREATED,
        op("ann", "claim", 3, 9, "ok", 2, HELD),
        op("bob", "show", 4, 8, "ok", 2, {}),
    ],
    "a duplicate revision": [
        CREATED,
        op("ann", "note", 3, 5, "ok", 2, {"notes": notes("x")}, text="x"),
        op("ann", "note", 4, 6, "ok", 2, {"notes": notes("x", "y")}, text="y"),
    ],
    "a duplicate revision on two tasks": [CREATED, op("bob", "create", 3, 4, "ok", 1, {}, task="task-2", text="a")],
    "revisions against the clock": [
        CREATED,
        op("ann", "note", 3, 4, "ok", 5, {"notes": notes("x")}, text="x"),
        op("ann", "note", 6, 7, "ok", 4, {"notes": notes("x", "y")}, text="y"),
    ],
    "an acknowledged write is missing": [CREATED, CLAIMED, op("bob", "claim", 5, 6, "ok", 3, HELD_BY_BOB)],
    "unknown, but it happened before it was asked for": [
        CREATED,
        op("bob", "show", 3, 4, "ok", 2, {"notes": notes("n")}),
        op("ann", "note", 5, text="n"),
    ],
    "unknown, and it happened twice": [
        CREATED,
        op("ann", "note", 3, text="n"),
        op("bob", "show", 5, 6, "ok", 3, {"notes": notes("n", "n")}),
    ],
    "begun although it waits": [
        CREATED,
        op("ann", "create", 3, 4, "ok", 2, {"dependencies": ("task-1",)}, task="task-2", text="a", on=["task-1"]),
        op("bob", "claim", 5, 6, "ok", 3, {**HELD_BY_BOB, "dependencies": ("task-1",)}, task="task-2"),
    ],
    "said to be ready although it waits": [
        CREATED,
        op("ann", "create", 3, 4, "ok", 2, {"dependencies": ("task-1",)}, task="task-2", text="a", on=["task-1"]),
        op("bob", "show", 5, 6, "ok", 2, {"dependencies": ("task-1",)}, task="task-2", waits=[]),
    ],
    "refused without a reason": [CREATED, op("ann", "claim", 3, 4, "claimed")],
}


@pytest.mark.parametrize("name", GOOD)
def test_what_can_have_happened_is_accepted(name):
    assert check(GOOD[name]) == []


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_have_happened_is_found(name):
    assert check(BAD[name])


def test_a_violation_says_where_it_is():
    (wrong,) = check(BAD["a stale read"])
    assert "task-1" in wrong
    assert "bob: show" in wrong


def test_long_histories_of_many_processes_are_decided_fast():
    """Sixty-four processes that overlap all the time, among them calls without an answer and refusals."""
    history, texts = [CREATED], []
    for n in range(3000):
        begun, ended = 3 + n, 3 + n + 64
        if n % 10 == 3:
            history.append(
                op("bob", "note", begun, text=f"never-{n}")
                if n % 300 == 3
                else op("bob", "fail", begun, ended, "not_holder", text="x")
            )
            continue
        if n % 3 == 0:
            texts.append(f"{n}")
            history.append(op("ann", "note", begun, ended, "ok", n + 2, {"notes": notes(*texts)}, text=f"{n}"))
        else:
            history.append(op("bob", "show", begun, ended, "ok", n + 2, {"notes": notes(*texts)}))
    assert check(history) == []


def document(**changes):
    return {
        "id": "task-1",
        "title": "a",
        "status": "pending",
        "assignee": None,
        "attempts": 0,
        "dependencies": [],
        **changes,
    }


def line(revision, by, event, task, **facts):
    return {
        "rev": revision,
        "by": by,
        "events": [{"event": event, "task": "task-1", **facts}],
        "docs": [["task", "task-1", task]],
    }


FIRST = line(1, "ann", "task_created", document())
TAKEN = line(2, "ann", "task_claimed", document(status="in_progress", assignee="ann", attempts=1, claim={"attempt": 1}))


def test_a_document_shows_what_the_model_shows():
    assert seen(document()) == shown()
    assert seen(TAKEN["docs"][0][2]) == shown(**HELD)


def test_a_journal_that_has_what_was_acknowledged_is_accepted():
    assert accounts([CREATED, CLAIMED], [FIRST, TAKEN], 0) == []


@pytest.mark.parametrize(
    "lines",
    [
        [FIRST],
        [FIRST, {**TAKEN, "by": "bob"}],
        [FIRST, line(2, "ann", "task_noted", TAKEN["docs"][0][2])],
        [FIRST, line(2, "ann", "task_claimed", document())],
        [FIRST, TAKEN, line(3, "bob", "task_noted", document())],
    ],
    ids=["missing", "by another", "another event", "another document", "unasked"],
)
def test_a_journal_that_tells_another_story_is_found(lines):
    assert accounts([CREATED, CLAIMED], lines, 0)


def test_the_journal_tells_which_task_an_unanswered_claim_got():
    claim = op("ann", "claim", 3, task="")
    assert accounts([CREATED, claim], [FIRST, TAKEN], 0) == []
    assert claim.task == "task-1"


def test_an_unanswered_call_explains_one_line_only():
    claim = op("ann", "claim", 3, task="")
    assert accounts([CREATED, claim], [FIRST, TAKEN, {**TAKEN, "rev": 3}], 0)


def test_what_a_late_agent_brought_must_be_in_the_journal():
    late = op("ann", "complete", 9, 10, "late", text="r", attempt=1)
    kept = {"attempt": 1, "agent": "ann", "outcome": "completed", "text": "r"}
    assert accounts([CREATED, late], [FIRST], 0)
    assert accounts([CREATED, late], [FIRST, line(2, "ann", "late_result_kept", document(late_results=[kept]))], 0) == []
