"""Hand edits: three versions are merged field by field, and what comes out keeps the rules."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamtasks.domain import adoption
from teamtasks.store import validate

from .documents import AGENT_NAMES, BEFORE, HEAVY, NOW, PROPERTY, agent, by_id, done, failure, held, small_tasks, task, tasks

# merging

FIELDS = st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), max_size=3)
VERSIONS = st.dictionaries(st.sampled_from(["x", "y"]), FIELDS, max_size=2).map(lambda documents: {"task": documents})
ABSENT = "absent"


def applied(ours: Any, puts: Any) -> Any:
    """Ours, after the puts."""
    after = {kind: dict(documents) for kind, documents in ours.items()}
    for (kind, id), document in puts.items():
        after[kind][id] = document
    return {kind: {id: d for id, d in documents.items() if d is not None} for kind, documents in after.items()}


@PROPERTY
@given(VERSIONS, VERSIONS)
def test_if_they_changed_nothing_nothing_is_put(base: Any, ours: Any) -> None:
    assert adoption.merge(base, ours, base) == ({}, [])


@PROPERTY
@given(VERSIONS, VERSIONS)
def test_if_only_they_changed_something_theirs_is_taken(base: Any, theirs: Any) -> None:
    puts, conflicts = adoption.merge(base, base, theirs)
    assert applied(base, puts) == theirs
    assert conflicts == []


@PROPERTY
@given(VERSIONS, VERSIONS)
def test_if_both_made_the_same_change_nothing_is_put(base: Any, both: Any) -> None:
    assert adoption.merge(base, both, both) == ({}, [])


@PROPERTY
@given(FIELDS, FIELDS, FIELDS)
def test_of_a_document_that_all_have_each_field_is_merged_by_itself(was: Any, ours: Any, theirs: Any) -> None:
    """Unchanged by them: ours. Changed by them alone: theirs. Changed by both, differently: ours, and a conflict."""
    puts, conflicts = adoption.merge({"task": {"x": was}}, {"task": {"x": ours}}, {"task": {"x": theirs}})
    merged = applied({"task": {"x": ours}}, puts)["task"]["x"]
    clash = False
    for field in "abc":
        before, now, wanted = (version.get(field, ABSENT) for version in (was, ours, theirs))
        both = wanted != before and now != before and wanted != now
        clash = clash or both
        assert merged.get(field, ABSENT) == (now if wanted == before or both else wanted)
    assert conflicts == (["x"] if clash else [])


@PROPERTY
@given(VERSIONS, VERSIONS, VERSIONS)
def test_a_merge_puts_only_what_changes_and_only_what_they_touched(base: Any, ours: Any, theirs: Any) -> None:
    puts, conflicts = adoption.merge(base, ours, theirs)
    for (kind, id), document in puts.items():
        assert document != ours[kind].get(id)
        assert theirs[kind].get(id) != base[kind].get(id)
    assert len(conflicts) == len(set(conflicts))


@PROPERTY
@given(VERSIONS, VERSIONS, VERSIONS)
def test_a_merge_changes_none_of_the_three_versions(base: Any, ours: Any, theirs: Any) -> None:
    before = copy.deepcopy((base, ours, theirs))
    adoption.merge(base, ours, theirs)
    assert (base, ours, theirs) == before


@pytest.mark.parametrize(
    ("was", "ours", "theirs", "merged", "conflict"),
    [
        (None, None, {"a": 1}, {"a": 1}, False),  # they made it
        (None, {"a": 2}, {"a": 1}, {"a": 2}, True),  # both made it: ours was acknowledged
        ({"a": 0}, {"a": 0}, None, None, False),  # they removed what we left alone
        ({"a": 0}, {"a": 2}, None, {"a": 2}, True),  # they removed what we changed
        ({"a": 0}, None, {"a": 1}, None, True),  # they changed what we removed
        ({"a": 0}, None, {"a": 0}, None, False),  # they left alone what we removed
        ({"a": 0}, None, None, None, False),  # both removed it
    ],
)
def test_making_and_removing(was: Any, ours: Any, theirs: Any, merged: Any, conflict: bool) -> None:
    def version(document: Any) -> Any:
        return {"task": {} if document is None else {"x": document}}

    puts, conflicts = adoption.merge(version(was), version(ours), version(theirs))
    assert applied(version(ours), puts) == version(merged)
    assert conflicts == (["x"] if conflict else [])


def test_kinds_are_merged_apart() -> None:
    base: Any = {"task": {"x": {"a": 0}}, "agent": {"x": {"a": 0}}}
    theirs: Any = {"task": {"x": {"a": 0}}, "agent": {"x": {"a": 1}}}
    assert adoption.merge(base, base, theirs) == ({("agent", "x"): {"a": 1}}, [])


# making whole


def test_a_task_by_hand_needs_no_more_than_an_id_and_a_title() -> None:
    whole = adoption.whole_task({"id": "task-7", "title": "Pay"}, None, NOW)
    assert whole == task(7, title="Pay", created_at=NOW, created_by="human")


def test_what_a_person_left_out_is_taken_from_what_it_was() -> None:
    before = held(7, priority=1, description="why", notes=[{"at": BEFORE, "by": "db", "text": "n"}])
    whole = adoption.whole_task({"id": "task-7", "title": "Pay", "status": "pending"}, before, NOW)
    assert (whole["priority"], whole["description"], whole["attempts"], whole["created_at"]) == (1, "why", 1, BEFORE)
    assert (whole["status"], whole["assignee"]) == ("pending", "backend")


def test_optional_fields_that_a_person_left_out_are_removed() -> None:
    assert "notes" not in adoption.whole_task({"id": "task-7", "title": "Pay"}, task(7, notes=[]), NOW)


def test_in_progress_with_a_hyphen_is_understood() -> None:
    assert (
        adoption.whole_task({"id": "task-7", "title": "Pay", "status": "in-progress"}, None, NOW)["status"] == "in_progress"
    )


def test_what_is_not_known_is_kept() -> None:
    assert adoption.whole_task({"id": "task-7", "title": "Pay", "ticket": 12}, None, NOW)["ticket"] == 12


def test_an_agent_by_hand_needs_nothing() -> None:
    assert adoption.whole_agent({}, None, NOW) == agent(joined_at=NOW)
    assert adoption.whole_agent({"role": "lead"}, agent(incarnation=4, holds=["task-1"]), NOW) == agent(
        role="lead", incarnation=4, holds=["task-1"]
    )


def test_a_team_by_hand_needs_nothing() -> None:
    plain = {"created_at": NOW, "lead": None, "topology": "mesh", "settings": {"wip_limit": 1}}
    assert adoption.whole_team({}, None, NOW) == plain
    assert adoption.whole_team({"topology": "hub"}, {**plain, "created_at": BEFORE}, NOW) == {
        **plain,
        "created_at": BEFORE,
        "topology": "hub",
    }


def test_a_setting_that_a_person_left_out_keeps_its_value() -> None:
    before = {"created_at": BEFORE, "lead": None, "topology": "mesh", "settings": {"wip_limit": 3}}
    assert adoption.whole_team({"settings": {}}, before, NOW)["settings"] == {"wip_limit": 3}


@pytest.mark.parametrize("settings", [7, "x", None, []])
def test_settings_of_another_kind_are_left_for_the_schema_to_refuse(settings: Any) -> None:
    assert adoption.whole_team({"settings": settings}, None, NOW)["settings"] == settings


# settling a task


def test_what_an_edit_may_not_touch_is_as_it_was() -> None:
    was = held(1, attempt=3, failures=[failure(1), failure(2)], key="k", late_results=[])
    lies = {"attempts": 1, "failures": [], "created_at": NOW, "created_by": "me", "key": "other", "completed_by": "me"}
    edited = {**was, **lies, "title": "Better", "claim": {"incarnation": 9, "attempt": 9, "at": NOW}}
    assert adoption.settled_task(edited, was, 1, NOW) == {**was, "title": "Better"}


def test_the_attempts_never_go_down() -> None:
    was = task(1, attempts=3)
    assert adoption.settled_task({**was, "attempts": 0}, was, 1, NOW) == was
    begun = adoption.settled_task({**was, "attempts": 0, "status": "in_progress", "assignee": "db"}, was, 1, NOW)
    assert (begun["attempts"], begun["claim"]["attempt"]) == (4, 4)


def test_what_an_edit_removed_without_the_right_to_is_there_again() -> None:
    was = held(1, failures=[failure(1)], key="k")
    bare = {k: v for k, v in was.items() if k not in ("claim", "failures", "key")}
    assert adoption.settled_task(bare, was, 1, NOW) == was


def test_a_hold_that_was_edited_away_is_on_record() -> None:
    was = held(1, by="backend", attempt=2)
    settled = adoption.settled_task({**was, "status": "pending", "assignee": None}, was, 1, NOW)
    assert settled == task(
        1, attempts=2, failures=[failure(2, kind="edited", at=NOW, reason="tasks.json was edited by hand")]
    )


def test_work_that_was_given_to_another_by_hand_is_the_next_attempt() -> None:
    was = held(1, by="backend", attempt=2)
    settled = adoption.settled_task({**was, "assignee": "db"}, was, 4, NOW)
    assert settled["claim"] == {"incarnation": 4, "attempt": 3, "at": NOW}
    assert (settled["attempts"], settled["failures"][0]["agent"]) == (3, "backend")


def test_work_that_was_begun_by_hand_gets_a_claim() -> None:
    settled = adoption.settled_task({**task(1), "status": "in_progress", "assignee": "db"}, task(1), 2, NOW)
    assert settled == held(1, by="db", claim={"incarnation": 2, "attempt": 1, "at": NOW})


def test_a_new_task_in_progress_gets_a_claim_too() -> None:
    settled = adoption.settled_task(task(1, status="in_progress", assignee="db"), None, 1, NOW)
    assert settled == held(1, by="db", claim={"incarnation": 1, "attempt": 1, "at": NOW})


def test_a_new_task_whose_claim_was_made_up_still_fences_with_its_attempts() -> None:
    """Else the next claim would be attempt 1, and the agent of attempt 7 could not be told from a late one."""
    made_up = task(1, status="in_progress", assignee="db", claim={"incarnation": 1, "attempt": 7, "at": BEFORE})
    settled = adoption.settled_task(made_up, None, 1, NOW)
    assert settled["claim"]["attempt"] == settled["attempts"]


def test_a_claim_by_hand_keeps_nothing_but_what_a_claim_has() -> None:
    """A field ``description`` in a claim would stand before the task's own, where summaries are cut out of its line."""
    claim = {"incarnation": 1, "attempt": 1, "at": BEFORE}
    made_up = held(1, by="db", claim={**claim, "description": "by hand"})
    assert adoption.settled_task(made_up, None, 1, NOW)["claim"] == claim


def test_work_that_nobody_is_named_for_gets_no_claim() -> None:
    assert "claim" not in adoption.settled_task(task(1, status="in_progress"), None, 1, NOW)


def test_a_task_completed_by_hand_says_when_and_by_whom() -> None:
    settled = adoption.settled_task({**task(1), "status": "completed"}, task(1), 1, NOW)
    assert settled == task(1, status="completed", completed_at=NOW, completed_by="human")


def test_a_task_completed_by_hand_keeps_the_time_that_it_gives() -> None:
    settled = adoption.settled_task({**task(1), "status": "completed", "completed_at": BEFORE}, task(1), 1, NOW)
    assert settled["completed_at"] == BEFORE


def test_a_completed_task_cannot_lose_its_time() -> None:
    settled = adoption.settled_task({**done(1), "completed_at": None}, done(1), 1, NOW)
    assert settled["completed_at"] is not None


def test_a_task_reopened_by_hand_is_not_completed_any_more() -> None:
    settled = adoption.settled_task({**done(1), "status": "pending"}, done(1), 1, NOW)
    assert (settled["completed_at"], "completed_by" in settled, settled["attempts"]) == (None, False, 1)


@st.composite
def edits(draw: st.DrawFn) -> tuple[Any, Any]:
    """A task, and what a person made of it."""
    was = draw(tasks())
    edited = {
        **was,
        "status": draw(st.sampled_from(["pending", "in_progress", "completed"])),
        "assignee": draw(AGENT_NAMES | st.none()),
        "attempts": draw(st.integers(0, 9)),
        "completed_at": draw(st.sampled_from([None, BEFORE])),
    }
    for field in draw(st.lists(st.sampled_from(["claim", "failures", "completed_by", "notes"]), max_size=2)):
        edited.pop(field, None)
    return was, edited


@HEAVY
@given(edits())
def test_whatever_was_edited_the_fence_only_rises_and_nothing_learned_is_lost(edit: tuple[Any, Any]) -> None:
    was, edited = edit
    before = copy.deepcopy(edit)
    settled = adoption.settled_task(edited, was, 1, NOW)
    assert settled["attempts"] >= was["attempts"]
    assert settled.get("failures", [])[: len(was.get("failures", []))] == was.get("failures", [])
    assert ("claim" in settled) == (settled["status"] == "in_progress" and settled["assignee"] is not None)
    assert settled.get("claim", {}).get("attempt", settled["attempts"]) == settled["attempts"]
    validate.check("task", settled)
    assert edit == before


# settling the agents


def resettled(agents: Any, *plan: Any, known: Any = None, lead: str | None = None) -> Any:
    return adoption.resettled_agents(agents, known or {}, by_id(*plan), lead, NOW)


def test_hands_are_as_full_as_the_tasks_say() -> None:
    agents = {"backend": agent(holds=["task-1", "task-2"]), "db": agent(), "docs": agent(holds=["task-4"])}
    plan = [held(2, by="backend"), held(3, by="db"), held(4, by="docs"), task(1)]
    assert resettled(agents, *plan) == {"backend": agent(holds=["task-2"]), "db": agent(holds=["task-3"])}


@pytest.mark.parametrize("given_work", [held(1, by="new"), task(1, assignee="new")])
def test_whoever_was_given_work_by_hand_joins(given_work: Any) -> None:
    holds = ["task-1"] if given_work["status"] == "in_progress" else []
    assert resettled({}, given_work) == {"new": agent(joined_at=NOW, holds=holds)}


def test_whoever_was_removed_by_hand_but_has_work_comes_back_as_it_was() -> None:
    known = {"db": agent(incarnation=3, capabilities=["sql"], holds=["task-1", "task-2"])}
    back = {"db": agent(incarnation=3, capabilities=["sql"], holds=["task-1"])}
    assert resettled({}, held(1, by="db"), known=known) == back


def test_whoever_was_removed_by_hand_and_has_no_work_stays_away() -> None:
    assert resettled({}, task(1), known={"db": agent()}) == {}


def test_who_did_something_once_does_not_join_for_it() -> None:
    assert resettled({}, done(1, by="gone")) == {}


def test_the_lead_is_whom_the_team_names_and_nobody_else() -> None:
    agents = {"old": agent(role="lead"), "boss": agent(), "db": agent()}
    assert resettled(agents, lead="boss") == {"old": agent(), "boss": agent(role="lead")}
    assert resettled({}, lead="boss") == {"boss": agent(role="lead", joined_at=NOW)}


@PROPERTY
@given(
    st.dictionaries(AGENT_NAMES, st.lists(st.integers(1, 6).map("task-{}".format), max_size=3, unique=True), max_size=3),
    st.lists(small_tasks(), max_size=4, unique_by=lambda t: t["id"]),
)
def test_after_settling_every_agent_holds_exactly_what_it_has_in_progress(holds: Any, plan: list[Any]) -> None:
    agents = {name: agent(holds=ids) for name, ids in holds.items()}
    changed = resettled(agents, *plan)
    for name, member in {**agents, **changed}.items():
        mine = {t["id"] for t in plan if t["status"] == "in_progress" and t["assignee"] == name}
        assert set(member["holds"]) == mine
        assert len(member["holds"]) == len(mine)
    assert all(agents.get(name) != member for name, member in changed.items())
    assert agents == {name: agent(holds=ids) for name, ids in holds.items()}


# contradictions


def test_a_sound_plan_contradicts_nothing() -> None:
    plan = by_id(done(1), held(2, dependencies=["task-1"]), task(3, dependencies=["task-2"]))
    assert adoption.contradiction(plan, list(plan)) is None


def test_a_dependency_that_does_not_exist_is_a_contradiction() -> None:
    plan = by_id(task(1), task(2, dependencies=["task-1", "task-9"]))
    assert adoption.contradiction(plan, []) == ("task-2", "dependencies", "depends on task-9, which does not exist")


def test_work_in_progress_that_nobody_holds_is_a_contradiction() -> None:
    plan = by_id(task(1, status="in_progress"))
    assert adoption.contradiction(plan, ["task-1"]) == ("task-1", "status", "is in progress, but nobody is its assignee")


def test_work_begun_by_hand_before_its_time_is_a_contradiction() -> None:
    plan = by_id(task(1), held(2), held(3, dependencies=["task-1", "task-2"]))
    expected = ("task-3", "status", "is in progress, but it waits for task-1, task-2")
    assert adoption.contradiction(plan, ["task-3"]) == expected


def test_work_that_was_in_progress_before_the_edit_goes_on() -> None:
    assert adoption.contradiction(by_id(task(1), held(2, dependencies=["task-1"])), ["task-1"]) is None


def test_a_cycle_is_a_contradiction_and_is_told_as_a_path() -> None:
    plan = by_id(task(1, dependencies=["task-2"]), task(2, dependencies=["task-3"]), task(3, dependencies=["task-2"]))
    assert adoption.contradiction(plan, []) == ("task-2", "dependencies", "stands in a cycle: task-2 → task-3 → task-2")


def test_a_task_that_waits_for_itself_is_a_contradiction() -> None:
    plan = by_id(task(1, dependencies=["task-1"]))
    assert adoption.contradiction(plan, []) == ("task-1", "dependencies", "stands in a cycle: task-1 → task-1")
