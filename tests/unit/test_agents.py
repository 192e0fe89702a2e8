"""Members of a team: who acts, joining, lives, limits, and signs of life."""

from __future__ import annotations

from typing import Any

import pytest

from teamtasks.domain import agents as rules
from teamtasks.domain.agents import Actor
from teamtasks.domain.errors import AgentNotFound, InvalidInput, LimitReached, NotAllowed, TooLate

from .documents import BEFORE, NOW, agent, pulse

# who acts


@pytest.mark.parametrize(
    ("text", "name", "incarnation"), [("backend", "backend", None), ("backend_2", "backend", 2), ("human", "human", None)]
)
def test_an_actor_is_a_name_and_where_known_a_life(text: str, name: str, incarnation: int | None) -> None:
    actor = Actor(text)
    assert (actor.name, actor.incarnation, str(actor)) == (name, incarnation, text)


def test_only_the_human_is_human() -> None:
    assert Actor("human").is_human
    assert not Actor("backend").is_human


@pytest.mark.parametrize(
    "text", ["", "Backend", "lead", "all", "system", "nobody", "human_2", "lead_2", "back_2_3", "x\n", "_2"]
)
def test_nobody_acts_under_a_name_that_is_none(text: str) -> None:
    with pytest.raises(InvalidInput):
        Actor(text)


# joining


def test_who_joins_first_is_a_teammate_in_its_first_life() -> None:
    assert rules.join(None, now=NOW) == agent(joined_at=NOW)


def test_who_joins_again_is_in_its_next_life_and_keeps_what_it_does_not_say_again() -> None:
    before = agent(role="lead", capabilities=["sql"], incarnation=2, holds=["task-4"], model="opus")
    assert rules.join(before, now=NOW) == {**before, "incarnation": 3, "joined_at": NOW}


def test_what_is_said_again_replaces_what_was() -> None:
    before = agent(role="lead", capabilities=["sql"], model="opus")
    after = rules.join(before, now=NOW, role="teammate", capabilities=["css", "go", "css"], model="haiku")
    assert (after["role"], after["capabilities"], after["model"]) == ("teammate", ["css", "go"], "haiku")


def test_a_capability_is_a_name() -> None:
    with pytest.raises(InvalidInput, match=r"^'C\+\+' cannot name a capability: "):
        rules.join(None, now=NOW, capabilities=["C++"])


def test_joining_does_not_change_the_life_before() -> None:
    before = agent(capabilities=["sql"], holds=["task-1"])
    rules.join(before, now=NOW, capabilities=["css"])
    assert before == agent(capabilities=["sql"], holds=["task-1"])


# being known


@pytest.mark.parametrize("who", ["backend", "backend_1", "backend_2"])
def test_a_member_is_known_in_every_life_that_it_has_had(who: str) -> None:
    member = agent(incarnation=2)
    assert rules.known(Actor(who), member, []) is member


def test_a_life_that_has_not_begun_is_not_known() -> None:
    with pytest.raises(AgentNotFound) as refusal:
        rules.known(Actor("backend_3"), agent(incarnation=2), [])
    assert refusal.value.message == "backend has lived 2 time(s), there is no backend_3 yet"
    assert refusal.value.hint == "teamtasks join backend"
    assert refusal.value.facts == {"agent": "backend", "incarnation": 2}


def test_an_unknown_name_is_refused_with_who_was_probably_meant() -> None:
    with pytest.raises(AgentNotFound) as refusal:
        rules.known(Actor("bakend"), None, ["web", "backend"])
    assert refusal.value.message == "no agent 'bakend' in this team. Did you mean backend? (agents: backend, web)"
    assert refusal.value.hint == "say backend; if it is somebody new: teamtasks join bakend"
    assert refusal.value.facts == {"agent": "bakend", "agents": ["backend", "web"], "meant": "backend"}


def test_in_an_empty_team_nobody_could_be_meant() -> None:
    refusal = rules.unknown("db", [])
    assert refusal.message == "no agent 'db' in this team. (no agent has joined yet)"
    assert refusal.hint == "teamtasks join db"


# lives


@pytest.mark.parametrize("who", ["backend", "backend_2"])
def test_the_current_life_acts(who: str) -> None:
    assert rules.current_life(Actor(who), agent(incarnation=2)) == 2


def test_an_earlier_life_is_too_late_for_everything() -> None:
    with pytest.raises(TooLate) as refusal:
        rules.current_life(Actor("backend_1"), agent(incarnation=2))
    assert refusal.value.message == "backend_1 was replaced by backend_2"
    assert refusal.value.hint == "teamtasks --as backend_2 whoami"
    assert refusal.value.facts == {"agent": "backend", "incarnation": 1, "current": 2}


# force


def test_a_person_and_the_lead_may_override() -> None:
    rules.check_override(Actor("human"), None)
    rules.check_override(Actor("boss"), agent(role="lead"))


@pytest.mark.parametrize("member", [agent(), None])
def test_a_teammate_may_not_override(member: Any) -> None:
    with pytest.raises(NotAllowed) as refusal:
        rules.check_override(Actor("backend_2"), member)
    assert refusal.value.message == "backend is a teammate: only the lead or a person may use --force"
    assert refusal.value.facts == {"agent": "backend"}


# holds


def test_taking_and_letting_go() -> None:
    two = rules.take(rules.take(agent(), "task-1"), "task-2")
    assert two["holds"] == ["task-1", "task-2"]
    assert rules.let_go(two, "task-1")["holds"] == ["task-2"]
    assert two["holds"] == ["task-1", "task-2"]


def test_taking_twice_is_taking_once_and_letting_go_of_nothing_is_nothing() -> None:
    assert rules.take(agent(holds=["task-1"]), "task-1") == agent(holds=["task-1"])
    assert rules.let_go(agent(holds=["task-1"]), "task-9") == agent(holds=["task-1"])


def test_below_the_limit_one_more_may_be_taken() -> None:
    rules.check_limit("backend", agent(holds=[]), 1)
    rules.check_limit("backend", agent(holds=["task-1"]), 2)


def test_at_the_limit_no_more_may_be_taken() -> None:
    with pytest.raises(LimitReached) as refusal:
        rules.check_limit("backend", agent(holds=["task-4", "task-7"]), 2)
    assert refusal.value.message == "backend holds task-4, task-7; this team's limit is 2 at once"
    assert refusal.value.hint == "teamtasks whoami, or raise the limit: teamtasks settings wip_limit=3"
    assert refusal.value.facts == {"agent": "backend", "holds": ["task-4", "task-7"], "limit": 2}


# signs of life


def test_the_first_sign_of_life_is_taken_as_it_is() -> None:
    assert rules.beat(None, pulse(), acted=False) == pulse()


def test_the_next_sign_keeps_when_it_started_and_what_is_not_said_again() -> None:
    last = pulse(started_at=BEFORE, context_percent=40, doing="tests")
    fresh = pulse(started_at=NOW, last_beat=NOW, last_action=NOW, context_percent=50)
    assert rules.beat(last, fresh, acted=True) == {**fresh, "started_at": BEFORE, "doing": "tests"}


def test_a_mere_heartbeat_does_not_move_the_last_action() -> None:
    beaten = rules.beat(pulse(), pulse(last_beat=NOW, last_action=NOW), acted=False)
    assert (beaten["last_beat"], beaten["last_action"]) == (NOW, BEFORE)


def test_another_life_starts_afresh() -> None:
    fresh = pulse(incarnation=2, started_at=NOW)
    assert rules.beat(pulse(doing="tests"), fresh, acted=False) == fresh


def test_a_sign_of_life_does_not_change_the_one_before() -> None:
    last = pulse()
    rules.beat(last, pulse(last_beat=NOW, doing="tests"), acted=True)
    assert last == pulse()
