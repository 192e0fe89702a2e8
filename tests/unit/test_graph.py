"""What waits for what, checked against plain implementations on small random plans."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from teamtasks.domain import graph

from .documents import PROPERTY, by_id, done, held, task

Plan = dict[str, Any]


@st.composite
def plans(draw: st.DrawFn, *, cyclic: bool = False) -> Plan:
    """Up to eight tasks in any order; each depends on earlier ones, or on any if cycles are wanted."""
    count = draw(st.integers(1, 8))
    made = []
    for n in range(1, count + 1):
        reach = range(1, count + 1) if cyclic else range(1, n)
        needed = draw(st.lists(st.sampled_from(list(reach) or [99]), max_size=3, unique=True))
        status = draw(st.sampled_from(["pending", "pending", "in_progress", "completed"]))
        fields = {
            "dependencies": [f"task-{d}" for d in needed],
            "priority": draw(st.integers(1, 2)),
            "assignee": draw(st.sampled_from([None, None, "backend", "db"])),
            "needs": draw(st.sampled_from([[], [], ["sql"], ["sql", "go"]])),
        }
        made.append(task(n, status=status, **fields))
    return by_id(*draw(st.permutations(made)))


def reachable(start: str, edges: dict[str, list[str]]) -> set[str]:
    """Every node that a path of one step or more leads to, by repeated relaxation."""
    found = set(edges.get(start, []))
    while True:
        more = {far for near in found for far in edges.get(near, [])} - found
        if not more:
            return found
        found |= more


def edges_of(plan: Plan) -> dict[str, list[str]]:
    return {id: [d for d in t["dependencies"] if d in plan] for id, t in plan.items()}


# blockers and readiness


def test_only_unfinished_dependencies_are_open() -> None:
    heads = graph.unfinished([done(1), held(2), task(3), task(4)])
    assert list(heads) == ["task-2", "task-3", "task-4"]
    wanted = task(9, dependencies=["task-1", "task-3", "task-2", "task-77"])
    assert graph.open_dependencies(wanted, heads) == ["task-3", "task-2"]


def test_a_task_is_ready_when_it_is_pending_and_nothing_it_depends_on_is_open() -> None:
    heads = by_id(task(2), held(3))
    assert graph.is_ready(task(4, dependencies=["task-1"]), heads)
    assert not graph.is_ready(task(4, dependencies=["task-1", "task-2"]), heads)
    assert not graph.is_ready(held(3), heads)
    assert not graph.is_ready(done(1), heads)


def test_a_reserved_task_is_ready_all_the_same() -> None:
    assert graph.is_ready(task(assignee="db"), {})


def test_waiting_on_names_those_who_wait_for_each_task() -> None:
    heads = by_id(task(1), task(2, dependencies=["task-1"]), task(3, dependencies=["task-2", "task-1"]))
    assert graph.waiting_on(heads) == {"task-1": ["task-2", "task-3"], "task-2": ["task-3"]}


@PROPERTY
@given(plans(cyclic=True))
def test_behind_a_task_is_everything_that_needs_it_however_far_away(plan: Plan) -> None:
    waiting = graph.waiting_on(plan)
    for id in plan:
        assert graph.behind(id, waiting) == {t for t in plan if id in reachable(t, edges_of(plan))}


# suiting an agent


def test_a_task_suits_whom_it_is_reserved_for_and_nobody_else() -> None:
    assert graph.suits(task(assignee="db"), "db", [])
    assert not graph.suits(task(assignee="db"), "backend", [])
    assert not graph.suits(task(assignee="db"), None, [])
    assert graph.suits(task(), None, [])


def test_a_task_suits_only_who_can_do_all_that_it_needs() -> None:
    assert graph.suits(task(needs=["sql"]), "db", ["go", "sql"])
    assert not graph.suits(task(needs=["sql", "go"]), "db", ["sql"])
    assert not graph.suits(task(needs=["sql"]), "db", [])
    assert graph.suits(task(needs=[]), "db", [])


def test_a_reservation_does_not_give_the_agent_what_it_cannot_do() -> None:
    assert not graph.suits(task(assignee="db", needs=["sql"]), "db", [])


# candidates


def test_what_is_assigned_to_me_comes_before_anything_more_urgent() -> None:
    heads = by_id(task(1, priority=0), task(2, priority=4, assignee="backend"))
    assert list(graph.candidates(heads, "backend", [])) == ["task-2", "task-1"]


def test_then_priority_decides() -> None:
    heads = by_id(task(1, priority=3), task(2, priority=1), task(3, priority=0))
    assert list(graph.candidates(heads, "backend", [])) == ["task-3", "task-2", "task-1"]


def test_then_what_unblocks_most_counting_those_far_behind() -> None:
    heads = by_id(
        task(1),
        task(2),
        task(3, dependencies=["task-1"]),
        task(4, dependencies=["task-2"]),
        task(5, dependencies=["task-4"]),
        task(6, dependencies=["task-5"]),
    )
    assert list(graph.candidates(heads, "backend", [])) == ["task-2", "task-1"]


def test_then_the_oldest_by_number_not_by_text() -> None:
    heads = by_id(task(10), task(9), task(100))
    assert list(graph.candidates(heads, "backend", [])) == ["task-9", "task-10", "task-100"]


def test_what_is_held_blocked_reserved_for_another_or_beyond_me_is_no_candidate() -> None:
    heads = by_id(held(1), task(2, dependencies=["task-1"]), task(3, assignee="db"), task(4, needs=["sql"]), task(5))
    assert list(graph.candidates(heads, "backend", ["go"])) == ["task-5"]


def test_nothing_ready_gives_no_candidate() -> None:
    assert list(graph.candidates({}, "backend", [])) == []
    assert list(graph.candidates(by_id(held(1)), "backend", [])) == []


@PROPERTY
@given(plans(), st.sampled_from([[], ["sql"], ["sql", "go"]]))
def test_candidates_are_exactly_what_i_may_claim_in_the_stated_order(plan: Plan, capabilities: list[str]) -> None:
    heads = graph.unfinished(plan.values())
    mine = [
        t
        for t in heads.values()
        if t["status"] == "pending"
        and not any(d in heads for d in t["dependencies"])
        and t["assignee"] in (None, "backend")
        and set(t["needs"]) <= set(capabilities)
    ]

    def rank(t: Any) -> tuple[Any, ...]:
        unblocks = sum(t["id"] in reachable(other, edges_of(heads)) for other in heads)
        return t["assignee"] != "backend", t["priority"], -unblocks, int(t["id"].removeprefix("task-"))

    assert list(graph.candidates(heads, "backend", capabilities)) == [t["id"] for t in sorted(mine, key=rank)]


def test_the_order_of_all_ready_work_leaves_reservations_aside() -> None:
    heads = by_id(task(1), task(2, assignee="db", priority=1), task(3, dependencies=["task-1"]), task(4, priority=2))
    assert [h["id"] for h in graph.ready_order(heads)] == ["task-2", "task-1", "task-4"]


# cycles


def is_a_cycle(path: list[str], edges: dict[str, list[str]]) -> bool:
    steps = pairwise(path)
    return path[0] == path[-1] and len(set(path)) == len(path) - 1 and all(b in edges[a] for a, b in steps)


@PROPERTY
@given(plans(cyclic=True))
def test_a_cycle_is_found_if_and_only_if_there_is_one(plan: Plan) -> None:
    found = graph.find_cycle(plan)
    try:
        TopologicalSorter(edges_of(plan)).prepare()
    except CycleError:
        assert found is not None
        assert is_a_cycle(found, edges_of(plan))
    else:
        assert found is None


@PROPERTY
@given(plans(cyclic=True), st.data())
def test_a_dependency_is_refused_if_and_only_if_it_would_close_a_cycle(plan: Plan, data: st.DataObject) -> None:
    id = data.draw(st.sampled_from(sorted(plan)))
    wanted = data.draw(st.lists(st.sampled_from(sorted(plan)), unique=True, max_size=3))
    edges = {**edges_of(plan), id: wanted}
    found = graph.cycle_through(id, wanted, plan.get)
    if id in reachable(id, edges):
        assert found is not None
        assert found[0] == id
        assert is_a_cycle(found, edges)
    else:
        assert found is None


def test_a_task_that_depends_on_itself_is_the_shortest_cycle() -> None:
    assert graph.find_cycle(by_id(task(1, dependencies=["task-1"]))) == ["task-1", "task-1"]
    assert graph.cycle_through("task-1", ["task-1"], lambda _: None) == ["task-1", "task-1"]


def test_a_cycle_is_a_path_from_the_task_over_what_it_depends_on_back_to_it() -> None:
    plan = by_id(task(1), task(2, dependencies=["task-1"]), task(3, dependencies=["task-2"]))
    assert graph.cycle_through("task-1", ["task-3"], plan.get) == ["task-1", "task-3", "task-2", "task-1"]


def test_a_dependency_that_does_not_exist_closes_no_cycle() -> None:
    assert graph.cycle_through("task-1", ["task-99"], {}.get) is None
    assert graph.find_cycle(by_id(task(1, dependencies=["task-99"]))) is None


def test_a_chain_far_longer_than_the_stack_is_no_trouble() -> None:
    count = 3_000
    chain = by_id(*[task(n, dependencies=[f"task-{n + 1}"]) for n in range(1, count)], task(count))
    assert graph.find_cycle(chain) is None
    found = graph.cycle_through(f"task-{count}", ["task-1"], chain.get)
    assert found is not None
    assert len(found) == count + 1
    assert graph.root_causes("task-1", chain) == [f"task-{count}"]


# root causes


def test_the_root_cause_is_at_the_bottom_of_the_chain() -> None:
    heads = by_id(held(2), task(4, dependencies=["task-2"]), task(7, dependencies=["task-4"]))
    assert graph.root_causes("task-7", heads) == ["task-2"]


def test_a_task_that_nothing_blocks_has_no_root_cause() -> None:
    assert graph.root_causes("task-1", by_id(task(1, dependencies=["task-9"]))) == []


def test_a_finished_or_unknown_task_has_no_root_cause() -> None:
    assert graph.root_causes("task-5", by_id(task(1))) == []


@PROPERTY
@given(plans())
def test_root_causes_are_the_unblocked_among_everything_that_blocks(plan: Plan) -> None:
    heads = graph.unfinished(plan.values())
    open_edges = edges_of(heads)
    for id in heads:
        roots = graph.root_causes(id, heads)
        assert sorted(roots) == sorted(far for far in reachable(id, open_edges) if not open_edges[far])


@PROPERTY
@given(plans(cyclic=True))
def test_a_cycle_on_disk_does_not_hang_the_search_for_root_causes(plan: Plan) -> None:
    for id in plan:
        assert set(graph.root_causes(id, plan)) <= set(plan)
