"""What leads, teammates and people can do, over every store: the rules must not depend on a store's good manners."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from every_store import STORES, TEAM, Ledger, new_store, quick_place
from hostile_store import HostileStore

from teamtasks.domain.agents import Actor
from teamtasks.domain.errors import (
    AgentNotFound,
    AssignedToAnother,
    AttemptRequired,
    CapabilityMissing,
    DependencyCycle,
    InvalidInput,
    KeyReused,
    LimitReached,
    NotAllowed,
    NothingReady,
    NotTheHolder,
    PlanFinished,
    Refused,
    SelfDependency,
    TaskAlreadyClaimed,
    TaskAlreadyCompleted,
    TaskBlocked,
    TaskNotFound,
    TooLate,
)
from teamtasks.store.base import Rehearsal
from teamtasks.team import Team

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=STORES)
def ledger(request: pytest.FixtureRequest) -> Iterator[Ledger]:
    with quick_place() as place:
        yield Ledger(new_store(request.param, place))


@pytest.fixture
def hostile() -> Ledger:
    return Ledger(new_store("hostile", Path()))


@contextmanager
def refused(ledger: Ledger, error: type[Exception]) -> Iterator[pytest.ExceptionInfo[Any]]:
    """The refusal, and that it changed nothing."""
    before = ledger.everything()
    with pytest.raises(error) as caught:
        yield caught
    assert ledger.everything() == before


def meanwhile(ledger: Ledger, *rivals: Any) -> None:
    """Between the next transaction's decision and its commit somebody else does this."""
    assert isinstance(ledger.store, HostileStore)
    ledger.store.rivals = list(rivals)


# create


def test_a_created_task_is_pending_and_carries_everything_that_was_asked_for(ledger: Ledger) -> None:
    ledger.human.join("backend")
    first = ledger.task("Schema")
    answer = ledger.human.create(
        "  Payment API ", description="POST /pay", acceptance_criteria=["answers 201"], dependencies=[first[5:], first],
        priority=1, size="small", estimate=15, group="api", needs=["python"], assignee="backend", metadata={"a": [1]},
    )  # fmt: skip
    task = ledger.get(answer["task"]["id"])
    assert answer == {"revision": ledger.store.read().revision, "task": task, "created": True}
    at = task.pop("created_at")
    assert task == {
        "id": answer["task"]["id"], "status": "pending", "assignee": "backend", "priority": 1, "dependencies": [first],
        "needs": ["python"], "group": "api", "title": "Payment API", "attempts": 0, "size": "small", "estimate": 15,
        "description": "POST /pay", "acceptance_criteria": ["answers 201"], "created_by": "human", "completed_at": None,
        "metadata": {"a": [1]},
    }  # fmt: skip
    assert at <= ledger.store.read().now


def test_tasks_have_ids_that_differ(ledger: Ledger) -> None:
    ids = [ledger.task() for _ in range(5)]
    assert len(set(ids)) == 5
    assert list(ledger.store.read().all("task")) == ids


def test_an_unknown_dependency_or_assignee_is_refused(ledger: Ledger) -> None:
    with refused(ledger, TaskNotFound):
        ledger.human.create("x", dependencies=["task-9"])
    with refused(ledger, AgentNotFound):
        ledger.human.create("x", assignee="nobody-here")


def test_a_request_repeated_with_its_key_creates_nothing_twice(ledger: Ledger) -> None:
    before = ledger.task()
    first = ledger.human.create("Import", key="import-1", priority=1, dependencies=[before])
    again = ledger.human.create("Import", key="import-1", priority=1, dependencies=[before[5:]])
    assert (again["created"], again["task"], again["revision"]) == (False, first["task"], first["revision"])
    assert len(ledger.store.read().all("task")) == 2


def test_a_key_gives_the_task_as_it_is_now(ledger: Ledger) -> None:
    id = ledger.task("Import", key="import-1")
    ledger.agent("backend").claim(id)
    assert ledger.human.create("Import", key="import-1")["task"]["status"] == "in_progress"


def test_a_key_with_other_content_is_refused(ledger: Ledger) -> None:
    id = ledger.task("Import", key="import-1")
    with refused(ledger, KeyReused) as caught:
        ledger.human.create("Export", key="import-1")
    assert caught.value.facts["task"] == id


def test_two_requests_with_one_key_at_once_create_one_task(hostile: Ledger) -> None:
    answers: list[Any] = []
    meanwhile(hostile, lambda: answers.append(hostile.human.create("Import", key="import-1")))
    mine = hostile.human.create("Import", key="import-1")
    assert (mine["created"], answers[0]["created"]) == (False, True)
    assert mine["task"] == answers[0]["task"]
    assert len(hostile.store.read().all("task")) == 1


@pytest.mark.parametrize(
    "wish",
    [
        {"title": " "},
        {"title": "x" * 201},
        {"title": "x", "priority": 5},
        {"title": "x", "size": "huge"},
        {"title": "x", "estimate": 0},
        {"title": "x", "group": "Not A Name"},
        {"title": "x", "needs": ["Not A Name"]},
        {"title": "x", "dependencies": ["the first one"]},
        {"title": "x", "acceptance_criteria": [""]},
        {"title": "x", "metadata": {"a": float("nan")}},
        {"title": "x", "metadata": {"a": "\ud800"}},
        {"title": "x", "key": ""},
    ],
)
def test_a_wish_that_cannot_be_granted_is_refused(ledger: Ledger, wish: Any) -> None:
    with refused(ledger, InvalidInput):
        ledger.human.create(**wish)


def test_an_agent_that_nobody_knows_may_do_nothing_but_join_and_claim(ledger: Ledger) -> None:
    id = ledger.task()
    ghost = ledger.agent("ghost")
    for act in (
        lambda: ghost.create("x"),
        lambda: ghost.assign(id, None),
        lambda: ghost.depend(id, on=[id]),
        lambda: ghost.note(id, "x"),
        lambda: ghost.complete(id),
        lambda: ghost.fail(id, reason="x"),
        lambda: ghost.release(id, reason="x"),
        lambda: ghost.settings(wip_limit=2),
        ghost.settings,
        ghost.whoami,
        ghost.heartbeat,
        ghost.list,
        ghost.ready,
        ghost.blocked,
        lambda: ghost.show(id),
        lambda: ghost.why(id),
        lambda: ghost.brief(id),
    ):
        with refused(ledger, AgentNotFound):
            act()
    assert ghost.claim()["task"]["id"] == id


# assign


def test_an_assigned_task_is_reserved(ledger: Ledger) -> None:
    id = ledger.task()
    ledger.human.join("backend")
    answer = ledger.human.assign(id, "backend", note="use the staging key")
    assert (answer["task"]["assignee"], answer["task"]["status"], answer["taken_from"]) == ("backend", "pending", None)
    assert [note["text"] for note in ledger.get(id)["notes"]] == ["use the staging key"]
    with refused(ledger, AssignedToAnother):
        ledger.agent("db").claim(id)
    with refused(ledger, NothingReady):
        ledger.agent("db").claim()
    assert ledger.agent("backend").claim()["task"]["id"] == id


def test_a_reservation_can_be_lifted(ledger: Ledger) -> None:
    ledger.human.join("backend")
    id = ledger.task(assignee="backend")
    ledger.human.assign(id, None)
    assert ledger.agent("db").claim()["task"]["id"] == id


def test_assigning_to_nobody_known_is_refused(ledger: Ledger) -> None:
    id = ledger.task()
    with refused(ledger, AgentNotFound):
        ledger.human.assign(id, "backend")
    with refused(ledger, TaskNotFound):
        ledger.human.assign("task-999", None)


def test_the_same_assignment_again_changes_nothing(ledger: Ledger) -> None:
    ledger.human.join("backend")
    id = ledger.task(assignee="backend")
    before = ledger.everything()
    assert ledger.human.assign(id, "backend")["revision"] == before[0]
    assert ledger.everything() == before


def test_work_in_progress_is_taken_away_only_by_force(ledger: Ledger) -> None:
    id = ledger.task()
    ledger.human.join("anna", role="lead")
    ledger.human.join("db")
    ledger.agent("backend").claim(id)
    for who in (ledger.human, ledger.agent("anna"), ledger.agent("db")):
        with refused(ledger, NotAllowed):
            who.assign(id, "db")
    with refused(ledger, NotAllowed):
        ledger.agent("db").assign(id, "db", force=True)
    answer = ledger.agent("anna").assign(id, "db", force=True)
    assert (answer["taken_from"], answer["task"]["assignee"], answer["task"]["status"]) == ("backend", "db", "pending")
    assert answer["task"]["failures"][-1]["kind"] == "reassigned"
    assert ledger.holds("backend") == []
    assert ledger.agent("db").claim()["attempt"] == 2


def test_a_holder_may_pass_on_what_it_holds(ledger: Ledger) -> None:
    id = ledger.task()
    ledger.human.join("db")
    ledger.agent("backend").claim(id)
    assert ledger.agent("backend").assign(id, "db")["taken_from"] == "backend"
    assert ledger.holds("backend") == []


def test_a_task_is_not_assigned_to_its_holder_nor_after_its_end(ledger: Ledger) -> None:
    id = ledger.task()
    ledger.agent("backend").claim(id)
    with refused(ledger, InvalidInput):
        ledger.human.assign(id, "backend", force=True)
    ledger.agent("backend").complete(id)
    with refused(ledger, TaskAlreadyCompleted):
        ledger.human.assign(id, "backend", force=True)


def test_a_task_claimed_a_moment_ago_is_not_assigned_away(hostile: Ledger) -> None:
    id = hostile.task()
    hostile.human.join("db")
    meanwhile(hostile, lambda: hostile.agent("backend").claim(id))
    with pytest.raises(NotAllowed):
        hostile.human.assign(id, "db")
    assert hostile.get(id)["assignee"] == "backend"


# depend


def test_a_task_waits_for_what_it_depends_on(ledger: Ledger) -> None:
    first, second = ledger.task(), ledger.task()
    answer = ledger.human.depend(second, on=[first[5:]])
    assert (answer["task"]["dependencies"], answer["task"]["ready"]) == ([first], False)
    assert answer["task"]["blocked_by"] == [first]
    with refused(ledger, TaskBlocked) as caught:
        ledger.agent("backend").claim(second)
    assert caught.value.facts["blocked_by"] == [first]
    assert ledger.human.depend(second, off=[first])["task"]["ready"]
    assert ledger.agent("backend").claim(second)["attempt"] == 1


def test_a_cycle_is_refused_and_told_as_a_path(ledger: Ledger) -> None:
    a = ledger.task()
    b = ledger.task(dependencies=[a])
    c = ledger.task(dependencies=[b])
    with refused(ledger, DependencyCycle) as caught:
        ledger.human.depend(a, on=[c])
    assert caught.value.facts["cycle"] == [a, c, b, a]
    with refused(ledger, SelfDependency):
        ledger.human.depend(a, on=[a])


def test_a_cycle_of_two_who_depend_at_once_is_refused(hostile: Ledger) -> None:
    a, b, c = hostile.task(), hostile.task(), hostile.task()
    hostile.human.depend(b, on=[c])
    meanwhile(hostile, lambda: hostile.human.depend(c, on=[a]))
    with pytest.raises(DependencyCycle):
        hostile.human.depend(a, on=[b])
    assert hostile.get(a)["dependencies"] == []


def test_an_unknown_dependency_is_refused_and_so_is_taking_away_what_is_not_there(ledger: Ledger) -> None:
    a, b = ledger.task(), ledger.task()
    with refused(ledger, TaskNotFound):
        ledger.human.depend(a, on=["task-999"])
    with refused(ledger, InvalidInput):
        ledger.human.depend(a, off=[b])
    with refused(ledger, InvalidInput):
        ledger.human.depend(a)


def test_the_same_dependency_again_changes_nothing(ledger: Ledger) -> None:
    a, b = ledger.task(), ledger.task()
    revision = ledger.human.depend(b, on=[a])["revision"]
    assert ledger.human.depend(b, on=[a])["revision"] == revision


def test_work_that_has_begun_cannot_be_made_to_wait(ledger: Ledger) -> None:
    done, open_, begun = ledger.task(), ledger.task(), ledger.task()
    backend = ledger.agent("backend")
    backend.claim(done)
    backend.complete(done)
    backend.claim(begun)
    with refused(ledger, Refused):
        ledger.human.depend(begun, on=[open_])
    assert ledger.human.depend(begun, on=[done])["task"]["dependencies"] == [done]


def test_work_that_began_a_moment_ago_cannot_be_made_to_wait(hostile: Ledger) -> None:
    first, second = hostile.task(), hostile.task()
    meanwhile(hostile, lambda: hostile.agent("backend").claim(second))
    with pytest.raises(Refused):
        hostile.human.depend(second, on=[first])
    assert hostile.get(second)["dependencies"] == []


# join, whoami, heartbeat


def test_each_joining_is_the_next_incarnation(ledger: Ledger) -> None:
    first = ledger.human.join("backend", can=["python", "sql", "python"], model="small")
    second = ledger.human.join("backend")
    third = ledger.human.join("backend", can=["go"], model="large")
    assert [answer["agent"]["incarnation"] for answer in (first, second, third)] == [1, 2, 3]
    assert [answer["agent"]["capabilities"] for answer in (first, second, third)] == [["python", "sql"]] * 2 + [["go"]]
    assert [answer["agent"]["model"] for answer in (first, second, third)] == ["small", "small", "large"]
    assert set(ledger.store.pulses()) == {("backend", n) for n in (1, 2, 3)}


@pytest.mark.parametrize("name", ["human", "lead", "all", "Backend", "back end", "backend_2", "", "x" * 65, "../x", "x\n"])
def test_a_name_that_is_reserved_or_not_a_name_cannot_join(ledger: Ledger, name: str) -> None:
    with refused(ledger, InvalidInput):
        ledger.human.join(name)


def test_a_lead_who_joins_leads_a_team_that_has_none(ledger: Ledger) -> None:
    assert ledger.human.settings()["settings"]["lead"] is None
    assert ledger.human.join("anna", role="lead")["agent"]["role"] == "lead"
    assert ledger.human.settings()["settings"]["lead"] == "anna"
    assert ledger.human.join("anna")["agent"]["role"] == "lead"


def test_there_is_one_lead_at_most(ledger: Ledger) -> None:
    ledger.human.join("anna", role="lead")
    with refused(ledger, InvalidInput):
        ledger.human.join("bert", role="lead")


def test_a_lead_who_joins_again_as_a_teammate_leads_no_more(ledger: Ledger) -> None:
    ledger.human.join("anna", role="lead")
    ledger.human.join("anna", role="teammate")
    assert ledger.human.settings()["settings"]["lead"] is None
    ledger.human.join("bert", role="lead")


def test_two_leads_who_join_at_once_do_not_both_lead(hostile: Ledger) -> None:
    meanwhile(hostile, lambda: hostile.human.join("bert", role="lead"))
    with pytest.raises(InvalidInput):
        hostile.human.join("anna", role="lead")
    assert hostile.human.settings()["settings"]["lead"] == "bert"


def test_a_new_incarnation_still_holds_what_the_last_one_held(ledger: Ledger) -> None:
    id = ledger.task()
    ledger.agent("backend").claim()
    assert ledger.human.join("backend")["agent"]["holds"] == [id]
    told = ledger.agent("backend").whoami()
    assert (told["agent"]["incarnation"], [task["id"] for task in told["tasks"]]) == (2, [id])


def test_whoami_says_team_place_and_agent(ledger: Ledger) -> None:
    assert ledger.human.whoami() == {
        "revision": 1,
        "team": TEAM,
        "place": ledger.store.place,
        "agent": None,
        "tasks": [],
    }
    ledger.human.join("backend", can=["python"])
    told = ledger.agent("backend").whoami()
    assert (told["agent"]["name"], told["agent"]["capabilities"], told["tasks"]) == ("backend", ["python"], [])


def test_an_incarnation_that_has_not_lived_yet_is_unknown(ledger: Ledger) -> None:
    ledger.human.join("backend")
    for act in (ledger.agent("backend_2").whoami, ledger.agent("backend_2").claim, ledger.agent("new_2").claim):
        with refused(ledger, AgentNotFound):
            act()


def test_every_command_of_an_agent_is_a_sign_of_life_and_no_commit(ledger: Ledger) -> None:
    id = ledger.task()
    backend = ledger.agent("backend")
    backend.claim()
    pulse = ledger.store.pulses()["backend", 1]
    assert (pulse["task"], pulse["attempt"], pulse["task_since"]) == (id, 1, ledger.get(id)["claim"]["at"])
    before = ledger.everything()
    backend.heartbeat(context=65, doing="writing tests")
    backend.list()
    pulse = ledger.store.pulses()["backend", 1]
    assert (pulse["context_percent"], pulse["doing"], pulse["task"]) == (65, "writing tests", id)
    assert ledger.everything() == before
    backend.complete(id)
    assert "task" not in ledger.store.pulses()["backend", 1]


def test_a_heartbeat_needs_an_agent_and_a_percentage(ledger: Ledger) -> None:
    with refused(ledger, InvalidInput):
        ledger.human.heartbeat()
    ledger.human.join("backend")
    for context in (-1, 101):
        with refused(ledger, InvalidInput):
            ledger.agent("backend").heartbeat(context=context)
    assert ledger.agent("backend").heartbeat(context=0)["agent"] == {
        "name": "backend",
        "incarnation": 1,
        "context_percent": 0,
    }


# claim


def test_a_claimed_task_is_in_the_hands_of_the_agent(ledger: Ledger) -> None:
    id = ledger.task("Payment API", description="POST /pay")
    answer = ledger.agent("backend").claim()
    task = ledger.get(id)
    assert (task["status"], task["assignee"], task["attempts"]) == ("in_progress", "backend", 1)
    assert (task["claim"]["incarnation"], task["claim"]["attempt"]) == (1, 1)
    assert ledger.holds("backend") == [id]
    assert (answer["task"], answer["attempt"], answer["again"]) == (task, 1, False)
    assert answer["revision"] == ledger.store.read().revision
    assert "POST /pay" in answer["brief"]


def test_claiming_needs_a_name(ledger: Ledger) -> None:
    ledger.task()
    with refused(ledger, InvalidInput):
        ledger.human.claim()


def test_an_unknown_name_joins_by_claiming_and_only_if_it_gets_something(ledger: Ledger) -> None:
    with refused(ledger, NothingReady):
        ledger.agent("backend").claim()
    ledger.task()
    ledger.agent("backend_1").claim()
    assert ledger.store.read().get("agent", "backend")["incarnation"] == 1


def test_the_best_task_is_mine_then_urgent_then_what_unblocks_most_then_the_oldest(ledger: Ledger) -> None:
    ledger.human.join("backend")
    plain, plain_too = ledger.task(), ledger.task()
    opener = ledger.task()
    middle = ledger.task(dependencies=[opener])
    ledger.task(dependencies=[middle])
    urgent = ledger.task(priority=0)
    mine = ledger.task(priority=4, assignee="backend")
    ledger.task(priority=0, needs=["go"])
    ledger.human.settings(wip_limit=5)
    ledger.settle()
    backend = ledger.agent("backend")
    assert [task["id"] for task in backend.ready()["tasks"]] == [mine, urgent, opener, plain, plain_too]
    taken = []
    for _ in range(5):
        taken.append(backend.claim(another=True)["task"]["id"])
        ledger.settle()
    assert taken == [mine, urgent, opener, plain, plain_too]


def test_a_claim_never_takes_what_is_not_ready_however_old_the_scan(ledger: Ledger) -> None:
    """What the first scans show has been reserved, claimed, made to wait and completed since."""
    ledger.human.join("db")
    ids = [ledger.task() for _ in range(5)]
    ledger.settle()
    ledger.human.assign(ids[0], "db")
    ledger.agent("web").claim(ids[1])
    ledger.human.depend(ids[2], on=[ids[1]])
    assert ledger.agent("backend").claim()["task"]["id"] in ids[3:]
    assert ledger.agent("frontend").claim()["task"]["id"] in ids[3:]
    with refused(ledger, NothingReady):
        ledger.agent("late").claim()


def test_a_task_that_a_scan_does_not_show_yet_is_found(ledger: Ledger) -> None:
    with refused(ledger, NothingReady):
        ledger.agent("backend").claim()
    id = ledger.task()
    assert ledger.agent("backend").claim()["task"]["id"] == id


def test_of_two_who_claim_one_task_at_once_one_gets_it(hostile: Ledger) -> None:
    id = hostile.task()
    hostile.settle()
    meanwhile(hostile, lambda: hostile.agent("rival").claim(id))
    with pytest.raises(TaskAlreadyClaimed):
        hostile.agent("backend").claim(id)
    assert (hostile.get(id)["assignee"], hostile.get(id)["attempts"]) == ("rival", 1)
    assert hostile.store.read().get("agent", "backend") is None


def test_whoever_loses_a_race_for_the_best_task_takes_the_next(hostile: Ledger) -> None:
    first, second = hostile.task(), hostile.task()
    hostile.settle()
    meanwhile(hostile, lambda: hostile.agent("rival").claim(first))
    assert hostile.agent("backend").claim()["task"]["id"] == second


def test_nothing_ready_is_said_only_if_it_is_still_so(hostile: Ledger) -> None:
    hostile.human.join("backend")
    meanwhile(hostile, lambda: hostile.task("just in time"))
    assert hostile.agent("backend").claim()["task"]["title"] == "just in time"


def test_the_plan_is_finished_is_said_only_if_it_is_still_so(hostile: Ledger) -> None:
    id = hostile.task()
    hostile.agent("backend").claim(id)
    hostile.agent("backend").complete(id)
    meanwhile(hostile, lambda: hostile.task("one more"))
    assert hostile.agent("backend").claim()["task"]["title"] == "one more"


def test_a_task_does_not_begin_if_it_was_made_to_wait_at_the_same_moment(hostile: Ledger) -> None:
    first, second = hostile.task(), hostile.task()
    hostile.settle()
    meanwhile(hostile, lambda: hostile.human.depend(second, on=[first]))
    with pytest.raises(TaskBlocked):
        hostile.agent("backend").claim(second)


def test_a_claim_by_id_knows_what_no_scan_shows_yet(ledger: Ledger) -> None:
    second = ledger.task()
    ledger.settle()
    first = ledger.task()
    ledger.human.depend(second, on=[first])
    with refused(ledger, TaskBlocked):
        ledger.agent("backend").claim(second)
    ledger.agent("db").claim(first)
    ledger.agent("db").complete(first)
    assert ledger.agent("backend").claim(second)["attempt"] == 1


def test_a_claim_by_id_says_why_it_cannot_be(ledger: Ledger) -> None:
    ledger.human.join("db")
    ledger.human.join("backend", can=["sql"])
    taken, reserved, needy = ledger.task(), ledger.task(assignee="db"), ledger.task(needs=["sql", "go"])
    blocked = ledger.task(dependencies=[needy])
    ledger.agent("db").claim(taken)
    backend = ledger.agent("backend")
    for id, error in (
        (taken, TaskAlreadyClaimed),
        (reserved, AssignedToAnother),
        (needy, CapabilityMissing),
        (blocked, TaskBlocked),
        ("task-999", TaskNotFound),
        ("the first", InvalidInput),
    ):
        with refused(ledger, error):
            backend.claim(id)
    ledger.agent("db").complete(taken)
    with refused(ledger, TaskAlreadyCompleted):
        backend.claim(taken)


def test_ids_are_forgiving(ledger: Ledger) -> None:
    id = ledger.task()
    number = id[5:]
    for spelling in (id, number, f"#{number}", f"Task {number}", f" TASK-{number} ", f"0{number}"):
        answer = ledger.agent("backend").claim(spelling)
        assert (answer["task"]["id"], answer["attempt"]) == (id, 1)


def test_claiming_again_gives_the_same_task_and_changes_nothing(ledger: Ledger) -> None:
    ids = [ledger.task(), ledger.task()]
    first = ledger.agent("backend").claim()
    before = ledger.everything()
    for again in (ledger.agent("backend").claim(), ledger.agent("backend_1").claim(first["task"]["id"])):
        assert (again["again"], again["attempt"], again["task"]) == (True, 1, first["task"])
        assert again["revision"] == first["revision"]
        assert again["brief"] == first["brief"]
    assert ledger.everything() == before
    assert first["task"]["id"] in ids


def test_a_new_incarnation_that_claims_takes_over_as_the_next_attempt(ledger: Ledger) -> None:
    id = ledger.task()
    ledger.agent("backend").claim()
    ledger.human.join("backend")
    answer = ledger.agent("backend").claim()
    task = ledger.get(id)
    assert (answer["task"]["id"], answer["attempt"], answer["again"]) == (id, 2, True)
    assert (task["claim"]["incarnation"], task["attempts"]) == (2, 2)
    assert [(f["attempt"], f["incarnation"], f["kind"]) for f in task["failures"]] == [(1, 1, "taken_over")]
    assert ledger.holds("backend") == [id]
    with refused(ledger, TooLate):
        ledger.agent("backend_1").claim()


def test_one_more_is_given_within_the_limit_only(ledger: Ledger) -> None:
    ids = [ledger.task() for _ in range(3)]
    backend = ledger.agent("backend")
    backend.claim()
    with refused(ledger, LimitReached):
        backend.claim(another=True)
    ledger.human.settings(wip_limit=2)
    second = backend.claim(another=True)
    assert second["again"] is False
    assert len(set(ledger.holds("backend"))) == 2
    with refused(ledger, LimitReached):
        backend.claim(another=True)
    with refused(ledger, LimitReached):
        backend.claim(next(id for id in ids if id not in ledger.holds("backend")))
    backend.complete(second["task"]["id"])
    assert len(ledger.holds("backend")) == 1
    backend.claim(another=True)
    assert len(ledger.holds("backend")) == 2


def test_a_claim_by_id_while_holding_another_is_one_more(ledger: Ledger) -> None:
    first, second = ledger.task(), ledger.task()
    ledger.human.settings(wip_limit=2)
    backend = ledger.agent("backend")
    backend.claim(first)
    assert backend.claim(second)["task"]["id"] == second
    assert ledger.holds("backend") == [first, second]


def test_two_processes_of_one_agent_do_not_exceed_its_limit(hostile: Ledger) -> None:
    first, second = hostile.task(), hostile.task()
    hostile.human.join("backend")
    hostile.settle()
    meanwhile(hostile, lambda: hostile.agent("backend").claim(first))
    with pytest.raises(LimitReached):
        hostile.agent("backend").claim(second)
    assert hostile.holds("backend") == [first]
    assert hostile.get(second)["status"] == "pending"


def test_nothing_ready_tells_what_stands_in_the_way(ledger: Ledger) -> None:
    ledger.human.join("db")
    ledger.human.join("backend")
    running, reserved, needy = ledger.task(), ledger.task(assignee="db"), ledger.task(needs=["go"])
    ledger.task(dependencies=[running])
    ledger.agent("web").claim(running)
    with refused(ledger, NothingReady) as caught:
        ledger.agent("backend").claim()
    facts = caught.value.facts
    assert (facts["running"], facts["reserved"], facts["unsuited"]) == ([running], [reserved], [needy])
    assert facts["unfinished"] == 4


def test_a_finished_plan_is_told_from_nothing_ready(ledger: Ledger) -> None:
    with refused(ledger, NothingReady):  # the lead is still writing it
        ledger.agent("backend").claim()
    id = ledger.task()
    ledger.agent("web").claim(id)
    with refused(ledger, NothingReady):
        ledger.agent("backend").claim()
    ledger.agent("web").complete(id)
    with refused(ledger, PlanFinished):
        ledger.agent("backend").claim()
    ledger.task()
    assert ledger.agent("backend").claim()["attempt"] == 1


def test_whoever_waits_gets_the_task_that_becomes_ready(ledger: Ledger) -> None:
    first = ledger.task()
    second = ledger.task(dependencies=[first])
    ledger.agent("db").claim(first)
    answers: list[Any] = []
    waiter = threading.Thread(target=lambda: answers.append(ledger.agent("backend").claim(wait=20)), daemon=True)
    waiter.start()
    ledger.agent("db").complete(first)
    waiter.join(20)
    assert [answer["task"]["id"] for answer in answers] == [second]


def test_waiting_in_vain_ends_with_nothing_ready_and_a_finished_plan_is_not_waited_for(ledger: Ledger) -> None:
    id = ledger.task()
    ledger.agent("db").claim(id)
    with refused(ledger, NothingReady):
        ledger.agent("backend").claim(wait=0.05)
    ledger.agent("db").complete(id)
    with refused(ledger, PlanFinished):
        ledger.agent("backend").claim(wait=20)


# complete


def test_a_completed_task_says_who_when_and_what_came_out(ledger: Ledger) -> None:
    id = ledger.task(acceptance_criteria=["it works", "it is fast"])
    ledger.agent("backend").claim()
    answer = ledger.agent("backend").complete(id, result="POST /pay works", evidence={2: "bench", 1: "tests"})
    task = ledger.get(id)
    assert (answer["task"], answer["repeated"], answer["revision"]) == (task, False, ledger.store.read().revision)
    assert (task["status"], task["assignee"], task["completed_by"]) == ("completed", "backend", "backend")
    assert (task["result"], "claim" in task, task["completed_at"] is None) == ("POST /pay works", False, False)
    assert task["evidence"] == [{"criterion": 1, "text": "tests"}, {"criterion": 2, "text": "bench"}]
    assert ledger.holds("backend") == []


def test_evidence_for_a_criterion_that_does_not_exist_is_refused(ledger: Ledger) -> None:
    id = ledger.task(acceptance_criteria=["it works"])
    ledger.agent("backend").claim()
    for evidence in ({2: "x"}, {0: "x"}, {1: " "}):
        with refused(ledger, InvalidInput):
            ledger.agent("backend").complete(id, evidence=evidence)


def test_completing_says_what_can_begin_now(ledger: Ledger) -> None:
    first, other = ledger.task(), ledger.task()
    opened = ledger.task(dependencies=[first])
    ledger.task(dependencies=[first, other])
    ledger.task(dependencies=[opened])
    ledger.agent("backend").claim(first)
    ledger.settle()
    assert ledger.agent("backend").complete(first)["unblocked"] == [opened]


def test_completing_never_says_that_something_can_begin_that_still_waits(ledger: Ledger) -> None:
    first, other = ledger.task(), ledger.task()
    waits = ledger.task(dependencies=[first])
    ledger.agent("backend").claim(first)
    ledger.settle()
    ledger.human.depend(waits, on=[other])
    assert ledger.agent("backend").complete(first)["unblocked"] == []


def test_completing_never_says_that_something_can_begin_that_has_begun(ledger: Ledger) -> None:
    first = ledger.task()
    begun = ledger.task(dependencies=[first])
    ledger.agent("backend").claim(first)
    ledger.settle()
    ledger.human.depend(begun, off=[first])
    ledger.agent("db").claim(begun)
    assert ledger.agent("backend").complete(first)["unblocked"] == []


def test_what_depends_on_a_completed_task_can_begin_and_reads_its_result(ledger: Ledger) -> None:
    first = ledger.task()
    second = ledger.task(dependencies=[first])
    backend = ledger.agent("backend")
    backend.claim(first)
    backend.complete(first, result="the table is called payments")
    answer = backend.claim()
    assert answer["task"]["id"] == second
    assert "the table is called payments" in answer["brief"]


def test_completing_again_in_the_same_attempt_counts_once(ledger: Ledger) -> None:
    id = ledger.task()
    backend = ledger.agent("backend")
    backend.claim()
    first = backend.complete(id, result="done")
    before = ledger.everything()
    for attempt in (None, 1):
        again = backend.complete(id, result="done", attempt=attempt)
        assert (again["repeated"], again["task"], again["revision"]) == (True, first["task"], first["revision"])
    assert ledger.everything() == before


def test_only_the_holder_completes(ledger: Ledger) -> None:
    held, free = ledger.task(), ledger.task()
    ledger.agent("backend").claim(held)
    ledger.human.join("db")
    for who in (ledger.agent("db"), ledger.human):
        for id in (held, free):
            with refused(ledger, NotTheHolder):
                who.complete(id)
    ledger.agent("backend").complete(held)
    for who in (ledger.agent("db"), ledger.human):
        with refused(ledger, TaskAlreadyCompleted):
            who.complete(held)


def test_from_the_second_attempt_on_the_attempt_must_be_given(ledger: Ledger) -> None:
    id = ledger.task()
    backend = ledger.agent("backend")
    backend.claim()
    backend.fail(id, reason="no luck")
    assert backend.claim()["attempt"] == 2
    for act in (
        lambda: backend.complete(id),
        lambda: backend.fail(id, reason="x"),
        lambda: backend.release(id, reason="x"),
        lambda: backend.note(id, "x"),
    ):
        with refused(ledger, AttemptRequired):
            act()
    assert backend.complete(id, attempt=2)["task"]["status"] == "completed"


def test_an_attempt_that_never_was_is_refused(ledger: Ledger) -> None:
    id = ledger.task()
    ledger.agent("backend").claim()
    for attempt in (0, 2, 99, -1):
        for act in (
            lambda attempt=attempt: ledger.agent("backend").complete(id, attempt=attempt),
            lambda attempt=attempt: ledger.agent("backend").fail(id, reason="x", attempt=attempt),
            lambda attempt=attempt: ledger.agent("backend").release(id, reason="x", attempt=attempt),
            lambda attempt=attempt: ledger.agent("backend").note(id, "x", attempt=attempt),
        ):
            with refused(ledger, InvalidInput):
                act()


def late(ledger: Ledger) -> str:
    """A task that was taken from backend (attempt 1) and is in the hands of db (attempt 2)."""
    id = ledger.task(acceptance_criteria=["it works"])
    ledger.human.join("db")
    ledger.agent("backend").claim(id)
    ledger.human.assign(id, "db", force=True)
    ledger.agent("db").claim(id)
    return id


def test_a_late_completion_is_refused_and_what_it_brought_is_kept(ledger: Ledger) -> None:
    id = late(ledger)
    before = ledger.get(id)
    with pytest.raises(TooLate) as caught:
        ledger.agent("backend").complete(id, result="mine", evidence={1: "see"}, attempt=1)
    assert caught.value.facts["holder"] == "db"
    task = ledger.get(id)
    kept = task.pop("late_results")
    assert task == before
    assert [(k["attempt"], k["agent"], k["outcome"], k["text"]) for k in kept] == [(1, "backend", "completed", "mine")]
    assert kept[0]["evidence"] == [{"criterion": 1, "text": "see"}]
    assert "mine" in ledger.agent("db").brief(id)["brief"]


def test_a_late_failure_is_refused_and_what_it_brought_is_kept(ledger: Ledger) -> None:
    id = late(ledger)
    before = ledger.get(id)
    with pytest.raises(TooLate):
        ledger.agent("backend").fail(id, reason="401", tried=["tokens"], output="traceback")
    task = ledger.get(id)
    kept = task.pop("late_results")[0]
    assert task == before
    assert (kept["outcome"], kept["text"], kept["tried"], kept["output"]) == ("failed", "401", ["tokens"], "traceback")


def test_a_late_result_is_kept_once(ledger: Ledger) -> None:
    id = late(ledger)
    for _ in range(3):
        with pytest.raises(TooLate):
            ledger.agent("backend").complete(id, result="mine", attempt=1)
    assert len(ledger.get(id)["late_results"]) == 1
    with pytest.raises(TooLate):
        ledger.agent("backend").complete(id, result="mine, better", attempt=1)
    assert len(ledger.get(id)["late_results"]) == 2


def test_a_late_result_is_checked_like_any_other(ledger: Ledger) -> None:
    id = late(ledger)
    backend = ledger.agent("backend")
    for act in (
        lambda: backend.complete(id, result="x" * 64_001, attempt=1),
        lambda: backend.complete(id, result="\ud800", attempt=1),
        lambda: backend.complete(id, evidence={1: ""}, attempt=1),
        lambda: backend.complete(id, evidence={99: "x"}, attempt=1),
        lambda: backend.fail(id, reason=" ", attempt=1),
        lambda: backend.fail(id, reason="x", tried=[""], attempt=1),
    ):
        with refused(ledger, InvalidInput):
            act()


def test_an_earlier_life_is_late_once_its_successor_has_taken_over(ledger: Ledger) -> None:
    id = ledger.task()
    ledger.agent("backend_1").claim()
    ledger.human.join("backend")
    ledger.agent("backend_2").claim()
    for who, attempt in (("backend_1", 1), ("backend_1", None), ("backend", 1)):
        with pytest.raises((TooLate, AttemptRequired)):
            ledger.agent(who).complete(id, result="from the first life", attempt=attempt)
    assert ledger.get(id)["status"] == "in_progress"
    with pytest.raises(TooLate):
        ledger.agent("backend_1").complete(id, attempt=2)
    assert ledger.agent("backend_2").complete(id, attempt=2)["task"]["completed_by"] == "backend_2"


def test_until_its_successor_claims_an_earlier_life_may_still_finish(ledger: Ledger) -> None:
    id = ledger.task()
    ledger.agent("backend_1").claim()
    ledger.human.join("backend")
    with refused(ledger, NotTheHolder):
        ledger.agent("backend_2").complete(id, attempt=1)
    assert ledger.agent("backend_1").complete(id)["task"]["status"] == "completed"


def test_a_completion_that_comes_while_the_task_is_taken_away_is_late(hostile: Ledger) -> None:
    id = hostile.task()
    hostile.human.join("db")
    hostile.agent("backend").claim(id)
    meanwhile(hostile, lambda: hostile.human.assign(id, "db", force=True))
    with pytest.raises(TooLate):
        hostile.agent("backend").complete(id, result="mine", attempt=1)
    task = hostile.get(id)
    assert (task["status"], task["assignee"], len(task["late_results"])) == ("pending", "db", 1)


# fail, release, note


def test_a_failure_sends_the_task_back_with_what_was_learned(ledger: Ledger) -> None:
    id = ledger.task()
    backend = ledger.agent("backend")
    claimed = backend.claim()["task"]["claim"]
    answer = backend.fail(id, reason="401 everywhere", tried=["bearer", "query"], output="…\nHTTP 401")
    task = ledger.get(id)
    assert (task["status"], task["assignee"], task["attempts"], "claim" in task) == ("pending", None, 1, False)
    failure = task["failures"][0]
    assert failure.pop("at") >= claimed["at"]
    assert failure == {
        "attempt": 1, "agent": "backend", "incarnation": 1, "kind": "failed", "claimed_at": claimed["at"],
        "reason": "401 everywhere", "tried": ["bearer", "query"], "output": "…\nHTTP 401",
    }  # fmt: skip
    assert (answer["repeated"], ledger.holds("backend")) == (False, [])
    brief = ledger.agent("db").claim()["brief"]
    for learned in ("401 everywhere", "bearer", "query", "HTTP 401"):
        assert learned in brief


def test_a_failure_needs_a_reason(ledger: Ledger) -> None:
    id = ledger.task()
    ledger.agent("backend").claim()
    with refused(ledger, InvalidInput):
        ledger.agent("backend").fail(id, reason=" ")
    with refused(ledger, InvalidInput):
        ledger.agent("backend").fail(id, reason="x", tried=[""])
    with refused(ledger, InvalidInput):
        ledger.agent("backend").release(id, reason="")


@pytest.mark.parametrize("act", ["fail", "release"])
def test_giving_back_again_in_the_same_attempt_counts_once_whoever_has_it_now(ledger: Ledger, act: str) -> None:
    id = ledger.task()
    backend = ledger.agent("backend")
    backend.claim()
    getattr(backend, act)(id, reason="no luck")
    for step in (lambda: None, lambda: ledger.agent("db").claim(id), lambda: ledger.agent("db").complete(id, attempt=2)):
        step()
        before = ledger.everything()
        for attempt in (None, 1):
            assert getattr(backend, act)(id, reason="no luck", attempt=attempt)["repeated"]
        assert ledger.everything() == before


def test_a_new_attempt_is_not_mistaken_for_a_repetition(ledger: Ledger) -> None:
    id = ledger.task()
    backend = ledger.agent("backend")
    for attempt in (1, 2, 3):
        assert backend.claim()["attempt"] == attempt
        assert not backend.fail(id, reason=f"no luck {attempt}", attempt=attempt)["repeated"]
    assert [f["reason"] for f in ledger.get(id)["failures"]] == ["no luck 1", "no luck 2", "no luck 3"]
    assert ledger.get(id)["attempts"] == 3


def test_a_released_task_is_free_without_blame(ledger: Ledger) -> None:
    id = ledger.task()
    ledger.agent("backend").claim()
    answer = ledger.agent("backend").release(id, reason="review first")
    task = ledger.get(id)
    assert (answer["task"], task["status"], task["assignee"], ledger.holds("backend")) == (task, "pending", None, [])
    assert [(f["kind"], f["reason"]) for f in task["failures"]] == [("released", "review first")]


def test_only_the_holder_fails_or_releases(ledger: Ledger) -> None:
    held, free = ledger.task(), ledger.task()
    ledger.agent("backend").claim(held)
    ledger.human.join("db")
    for who in (ledger.agent("db"), ledger.human):
        for id in (held, free):
            with refused(ledger, NotTheHolder):
                who.fail(id, reason="x")
            with refused(ledger, NotTheHolder):
                who.release(id, reason="x")
    ledger.agent("backend").complete(held)
    for act in (ledger.human.fail, ledger.human.release):
        with refused(ledger, TaskAlreadyCompleted):
            act(held, reason="x")


def test_a_late_release_changes_nothing(ledger: Ledger) -> None:
    id = late(ledger)
    with refused(ledger, TooLate):
        ledger.agent("backend").release(id, reason="x", attempt=1)


def test_anybody_may_leave_a_note(ledger: Ledger) -> None:
    id = ledger.task()
    ledger.human.join("db")
    ledger.human.note(id, "first")
    ledger.agent("db").note(id, "second")
    ledger.agent("backend").claim(id)
    ledger.agent("db").note(id, "third")
    answer = ledger.agent("backend_1").note(id, "fourth", attempt=1)
    assert [(n["by"], n["text"]) for n in answer["task"]["notes"]] == [
        ("human", "first"), ("db", "second"), ("db", "third"), ("backend_1", "fourth"),
    ]  # fmt: skip
    assert answer["task"] == ledger.get(id)
    with refused(ledger, InvalidInput):
        ledger.human.note(id, " ")
    with refused(ledger, TaskNotFound):
        ledger.human.note("task-999", "x")


def test_a_note_of_a_late_attempt_is_refused(ledger: Ledger) -> None:
    id = late(ledger)
    with refused(ledger, TooLate):
        ledger.agent("backend").note(id, "x", attempt=1)


def test_two_notes_at_once_are_both_kept(hostile: Ledger) -> None:
    id = hostile.task()
    meanwhile(hostile, lambda: hostile.human.note(id, "theirs"))
    hostile.human.note(id, "mine")
    assert [n["text"] for n in hostile.get(id)["notes"]] == ["theirs", "mine"]


# by force


@pytest.fixture
def led(ledger: Ledger) -> Ledger:
    """A team with a lead (anna), a holder (backend) and somebody else (db)."""
    ledger.human.join("anna", role="lead")
    ledger.human.join("db")
    ledger.human.join("backend")
    return ledger


@pytest.mark.parametrize("who", ["human", "anna", "anna_1"])
def test_a_person_or_the_lead_may_end_by_force_what_another_holds(led: Ledger, who: str) -> None:
    boss = Team(led.store, Actor(who))
    for act, status in (
        (lambda id: boss.complete(id, result="by force", force=True), "completed"),
        (lambda id: boss.fail(id, reason="by force", force=True), "pending"),
        (lambda id: boss.release(id, reason="by force", force=True), "pending"),
    ):
        id = led.task()
        led.agent("backend").claim(id)
        assert act(id)["task"]["status"] == status
        assert (led.get(id)["status"], led.holds("backend")) == (status, [])


def test_a_teammate_may_use_no_force(led: Ledger) -> None:
    id = led.task()
    led.agent("backend").claim(id)
    for who in (led.agent("db"), led.agent("backend")):
        for act in (
            lambda who=who: who.complete(id, force=True),
            lambda who=who: who.fail(id, reason="x", force=True),
            lambda who=who: who.release(id, reason="x", force=True),
        ):
            with refused(led, NotAllowed):
                act()


@pytest.mark.parametrize(("who", "assignee"), [("human", None), ("anna", "anna"), ("anna_1", "anna")])
def test_what_nobody_holds_may_be_completed_by_force(led: Ledger, who: str, assignee: str | None) -> None:
    id = led.task()
    task = Team(led.store, Actor(who)).complete(id, result="not needed any more", force=True)["task"]
    assert (task["status"], task["completed_by"], task["assignee"]) == ("completed", who, assignee)


def test_force_does_not_reach_past_what_blocks_nor_past_the_end(led: Ledger) -> None:
    first = led.task()
    second = led.task(dependencies=[first])
    with refused(led, TaskBlocked):
        led.human.complete(second, force=True)
    with refused(led, InvalidInput):
        led.human.fail(second, reason="x", force=True)
    with refused(led, InvalidInput):
        led.human.release(second, reason="x", force=True)
    led.human.complete(first, force=True)
    for act in (
        lambda: led.agent("anna").complete(first, force=True),
        lambda: led.human.fail(first, reason="x", force=True),
        lambda: led.human.release(first, reason="x", force=True),
    ):
        with refused(led, TaskAlreadyCompleted):
            act()


def test_a_holder_whose_task_was_completed_over_its_head_is_late_and_its_result_is_kept(led: Ledger) -> None:
    id = led.task()
    led.agent("backend").claim(id)
    led.human.complete(id, result="by force", force=True)
    with pytest.raises(TooLate):
        led.agent("backend").complete(id, result="precious", attempt=1)
    task = led.get(id)
    assert (task["result"], [k["text"] for k in task["late_results"]]) == ("by force", ["precious"])


def test_an_agent_that_never_began_what_was_reserved_for_it_is_told_that_it_is_completed(led: Ledger) -> None:
    id = led.task(assignee="backend")
    led.human.complete(id, force=True)
    for attempt in (None, 1):
        with refused(led, TaskAlreadyCompleted):
            led.agent("backend").complete(id, result="x", attempt=attempt)
        with refused(led, TaskAlreadyCompleted):
            led.agent("backend").fail(id, reason="x", attempt=attempt)


def test_an_attempt_of_another_is_not_mine_because_the_task_was_reserved_for_me(led: Ledger) -> None:
    id = led.task()
    led.agent("db").claim(id)
    led.agent("db").fail(id, reason="no luck")
    led.human.assign(id, "backend")
    led.human.complete(id, force=True)
    with refused(led, TaskAlreadyCompleted):
        led.agent("backend").complete(id, result="x")


def test_a_team_has_no_lead_any_more_who_could_use_force(led: Ledger) -> None:
    id = led.task()
    led.agent("backend").claim(id)
    led.human.settings(lead="db")
    with refused(led, NotAllowed):
        led.agent("anna").release(id, reason="x", force=True)
    assert led.agent("db").release(id, reason="x", force=True)["task"]["status"] == "pending"


# settings


def test_settings_are_shown_and_changed(ledger: Ledger) -> None:
    ledger.human.join("anna")
    assert ledger.human.settings()["settings"] == {"lead": None, "topology": "mesh", "wip_limit": 1}
    answer = ledger.human.settings(lead="anna", topology="hub", wip_limit=3)
    assert answer["settings"] == {"lead": "anna", "topology": "hub", "wip_limit": 3}
    assert ledger.human.settings() == answer
    assert ledger.store.read().get("agent", "anna")["role"] == "lead"


def test_roles_follow_the_lead(ledger: Ledger) -> None:
    ledger.human.join("anna", role="lead")
    ledger.human.join("bert")
    ledger.human.settings(lead="bert")
    assert {name: a["role"] for name, a in ledger.store.read().all("agent").items()} == {"anna": "teammate", "bert": "lead"}
    ledger.human.settings(lead=None)
    assert {a["role"] for a in ledger.store.read().all("agent").values()} == {"teammate"}
    assert ledger.human.settings()["settings"]["lead"] is None


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"wip_limit": 0}, InvalidInput),
        ({"wip_limit": 1001}, InvalidInput),
        ({"wip_limit": "many"}, InvalidInput),
        ({"topology": "ring"}, InvalidInput),
        ({"topology": "hub"}, InvalidInput),
        ({"lead": "nobody-here"}, AgentNotFound),
        ({"wip_limt": 3}, InvalidInput),
        ({"wip_limit": 3, "topology": "ring"}, InvalidInput),
    ],
)
def test_settings_that_cannot_be_are_refused_as_a_whole(ledger: Ledger, changes: Any, error: type[Exception]) -> None:
    with refused(ledger, error):
        ledger.human.settings(**changes)


def test_a_hub_keeps_its_lead(ledger: Ledger) -> None:
    ledger.human.join("anna")
    ledger.human.settings(lead="anna", topology="hub")
    with refused(ledger, InvalidInput):
        ledger.human.settings(lead=None)
    assert ledger.human.settings(topology="mesh", lead=None)["settings"]["lead"] is None


def test_two_settings_at_once_are_both_kept(hostile: Ledger) -> None:
    hostile.human.join("anna")
    meanwhile(hostile, lambda: hostile.human.settings(lead="anna"))
    hostile.human.settings(wip_limit=4)
    assert hostile.human.settings()["settings"] == {"lead": "anna", "topology": "mesh", "wip_limit": 4}


# views


@pytest.fixture
def board(ledger: Ledger) -> tuple[Ledger, dict[str, str]]:
    """done; running ← behind ← far; ready (urgent); reserved for db; needy."""
    ledger.human.join("db")
    ids = {"done": ledger.task("done"), "running": ledger.task("running", estimate=15, group="api")}
    ids["behind"] = ledger.task("behind", dependencies=[ids["running"], ids["done"]])
    ids["far"] = ledger.task("far", dependencies=[ids["behind"]], group="api")
    ids["ready"] = ledger.task("ready", priority=0)
    ids["reserved"] = ledger.task("reserved", assignee="db")
    ids["needy"] = ledger.task("needy", needs=["go"])
    backend = ledger.agent("backend")
    backend.claim(ids["done"])
    backend.complete(ids["done"], result="well done")
    backend.claim(ids["running"])
    return ledger, ids


def test_a_list_shows_every_task_with_what_is_derived(board: tuple[Ledger, dict[str, str]]) -> None:
    ledger, ids = board
    answer = ledger.human.list()
    tasks = {task["id"]: task for task in answer["tasks"]}
    assert list(tasks) == list(ids.values())
    assert answer["revision"] == ledger.store.read().revision
    assert {name for name, id in ids.items() if tasks[id]["ready"]} == {"ready", "reserved", "needy"}
    assert {name: tasks[id]["blocked_by"] for name, id in ids.items() if tasks[id]["blocked_by"]} == {
        "behind": [ids["running"]],
        "far": [ids["behind"]],
    }
    assert tasks[ids["done"]]["result"] == "well done"
    assert answer["blockers"][ids["running"]]["assignee"] == "backend"


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({"status": "pending"}, ["behind", "far", "ready", "reserved", "needy"]),
        ({"status": "in_progress"}, ["running"]),
        ({"status": "in-progress"}, ["running"]),
        ({"status": "completed"}, ["done"]),
        ({"status": "ready"}, ["ready", "reserved", "needy"]),
        ({"ready": True}, ["ready", "reserved", "needy"]),
        ({"status": "blocked"}, ["behind", "far"]),
        ({"blocked": True, "group": "api"}, ["far"]),
        ({"group": "api"}, ["running", "far"]),
        ({"assignee": "db"}, ["reserved"]),
        ({"assignee": "backend"}, ["done", "running"]),
        ({"assignee": "db", "status": "completed"}, []),
    ],
)
def test_a_list_can_be_narrowed(board: tuple[Ledger, dict[str, str]], filters: Any, names: list[str]) -> None:
    ledger, ids = board
    assert [task["id"] for task in ledger.human.list(**filters)["tasks"]] == [ids[name] for name in names]


def test_a_list_refuses_a_state_or_an_agent_that_does_not_exist(ledger: Ledger) -> None:
    with pytest.raises(InvalidInput):
        ledger.human.list(status="stuck")
    with pytest.raises(AgentNotFound):
        ledger.human.list(assignee="nobody-here")


def test_show_gives_everything_and_who_waits(board: tuple[Ledger, dict[str, str]]) -> None:
    ledger, ids = board
    shown = ledger.human.show(ids["running"][5:])["task"]
    assert {**ledger.get(ids["running"]), "ready": False, "blocked_by": [], "waited_for_by": [ids["behind"]]} == shown
    assert ledger.human.show(ids["behind"])["task"]["blocked_by"] == [ids["running"]]
    with pytest.raises(TaskNotFound):
        ledger.human.show("task-999")


def test_ready_is_what_could_begin_best_first(board: tuple[Ledger, dict[str, str]]) -> None:
    ledger, ids = board
    ledger.human.join("db", can=["go"])

    def names(who: Team) -> list[str]:
        return [task["title"] for task in who.ready()["tasks"]]

    assert names(ledger.human) == ["ready", "reserved", "needy"]
    assert names(ledger.agent("backend")) == ["ready"]
    assert names(ledger.agent("db")) == ["reserved", "ready", "needy"]
    assert ids["ready"] in [task["id"] for task in ledger.human.ready()["tasks"]]


def test_blocked_goes_down_to_the_root(board: tuple[Ledger, dict[str, str]]) -> None:
    ledger, ids = board
    answer = ledger.human.blocked()
    assert {task["id"]: task["roots"] for task in answer["tasks"]} == {
        ids["behind"]: [ids["running"]],
        ids["far"]: [ids["running"]],
    }
    assert [(c["id"], c["cause"], c["waiting"], c["holder"]) for c in answer["causes"]] == [
        (ids["running"], "held", 2, "backend")
    ]


def test_why_tells_the_chain_and_the_cause(board: tuple[Ledger, dict[str, str]]) -> None:
    ledger, ids = board
    answer = ledger.human.why(ids["far"])
    assert (answer["task"]["cause"], answer["task"]["waiting"]) == ("blocked", 0)
    link = answer["chain"][0]
    assert (link["id"], link["chain"][0]["id"], link["chain"][0]["chain"]) == (ids["behind"], ids["running"], [])
    assert [(c["id"], c["cause"], c["waiting"]) for c in answer["causes"]] == [(ids["running"], "held", 2)]


@pytest.mark.parametrize(
    ("name", "cause"),
    [("done", "completed"), ("running", "held"), ("ready", "ready"), ("reserved", "reserved"), ("needy", "unsuited")],
)
def test_why_tells_what_a_task_that_is_not_blocked_waits_for(
    board: tuple[Ledger, dict[str, str]], name: str, cause: str
) -> None:
    ledger, ids = board
    assert ledger.human.why(ids[name])["task"]["cause"] == cause


def test_why_tells_how_the_last_attempt_ended(ledger: Ledger) -> None:
    id = ledger.task()
    ledger.agent("backend").claim()
    ledger.agent("backend").fail(id, reason="401 everywhere")
    assert "401 everywhere" in ledger.human.why(id)["task"]["text"]


def test_looking_changes_nothing(board: tuple[Ledger, dict[str, str]]) -> None:
    ledger, ids = board
    before = ledger.everything()
    backend = ledger.agent("backend")
    for look in (backend.list, backend.ready, backend.blocked, backend.whoami, backend.settings, backend.heartbeat):
        look()
    for look_at in (backend.show, backend.why, backend.brief):
        look_at(ids["far"])
    assert ledger.everything() == before


# rehearsal


def test_every_change_can_be_rehearsed_and_gives_the_answer_without_the_change(board: tuple[Ledger, dict[str, str]]) -> None:
    ledger, ids = board
    ledger.settle()
    before, pulses = ledger.everything(), set(ledger.store.pulses())
    rehearsed = Team(Rehearsal(ledger.store), Actor("backend"))  # type: ignore[arg-type]
    answers = [
        rehearsed.create("never made")["task"]["title"],
        rehearsed.join("new")["agent"]["incarnation"],
        rehearsed.as_("new").claim()["task"]["id"],
        rehearsed.complete(ids["running"])["task"]["status"],
        rehearsed.fail(ids["running"], reason="x")["task"]["status"],
        rehearsed.release(ids["running"], reason="x")["task"]["status"],
        rehearsed.note(ids["running"], "x")["task"]["notes"][0]["text"],
        rehearsed.assign(ids["running"], "db")["taken_from"],
        rehearsed.depend(ids["far"], on=[ids["ready"]])["task"]["dependencies"],
        rehearsed.settings(wip_limit=9)["settings"]["wip_limit"],
    ]
    assert answers == [
        "never made", 1, ids["ready"], "completed", "pending", "pending", "x", "backend", [ids["behind"], ids["ready"]], 9,
    ]  # fmt: skip
    assert ledger.everything() == before
    assert set(ledger.store.pulses()) == pulses


# history


def test_every_change_says_in_the_past_tense_what_was_done(hostile: Ledger) -> None:
    ledger = hostile
    ledger.human.join("db")
    id = ledger.task("Schema")
    other = ledger.task("API")
    ledger.human.depend(other, on=[id])
    ledger.human.assign(other, "db")
    backend = ledger.agent("backend")
    backend.claim(id)
    backend.note(id, "x")
    backend.fail(id, reason="no luck")
    backend.claim(id)
    backend.release(id, reason="x", attempt=2)
    backend.claim(id)
    with pytest.raises(TooLate):
        backend.complete(id, attempt=2)
    backend.complete(id, attempt=3)
    ledger.human.settings(wip_limit=2)
    told = [[event["event"] for event in commit["events"]] for commit in ledger.store.history]
    assert told == [
        ["agent_joined"], ["task_created"], ["task_created"], ["task_depends"], ["task_assigned"],
        ["agent_joined", "task_claimed"], ["task_noted"], ["task_failed"], ["task_claimed"], ["task_released"],
        ["task_claimed"], ["late_result_kept"], ["task_completed"], ["settings_changed"],
    ]  # fmt: skip
    assert [commit["by"] for commit in ledger.store.history] == ["db"] + ["human"] * 4 + ["backend"] * 8 + ["human"]
