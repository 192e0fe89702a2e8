"""``teamtasks.open``: the verbs of the command line as methods, and its refusals as exceptions."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from every_store import validator

import teamtasks
from teamtasks.domain import errors
from teamtasks.team import Team

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def team(home: Path) -> Team:
    return teamtasks.open("payments", home=str(home), create=True)


def python(code: str, **environ: str) -> str:
    """What a fresh interpreter says."""
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("TEAMTASKS_", "CLAUDE"))}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**keep, **environ}, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# open


def test_a_team_is_created_only_if_that_is_asked_for(home: Path) -> None:
    with pytest.raises(errors.TeamNotFound):
        teamtasks.open("payments", home=str(home))
    assert not home.exists()
    assert teamtasks.open("payments", home=str(home), create=True).list()["tasks"] == []


def test_creating_a_team_that_is_there_opens_it(team: Team, home: Path) -> None:
    team.create("x")
    assert len(teamtasks.open("payments", home=str(home), create=True).list()["tasks"]) == 1


def test_the_only_team_need_not_be_named(team: Team, home: Path) -> None:
    assert teamtasks.open(home=str(home)).whoami()["team"] == "payments"
    teamtasks.open("billing", home=str(home), create=True)
    with pytest.raises(teamtasks.TeamtasksError, match="billing, payments"):
        teamtasks.open(home=str(home))


def test_who_acts_is_the_agent_that_is_named_or_the_human(team: Team, home: Path) -> None:
    assert str(team.who) == "human"
    assert str(teamtasks.open("payments", home=str(home), agent="backend_2").who) == "backend_2"
    assert str(team.as_("db").who) == "db"
    assert repr(team.as_("db")) == "<Team payments as db>"


@pytest.mark.parametrize("name", ["../etc", "Payments", "", "all", "x\n"])
def test_a_name_that_is_not_one_is_refused(home: Path, name: str) -> None:
    with pytest.raises(teamtasks.TeamtasksError):
        teamtasks.open(name, home=str(home), create=True)


def test_the_environment_says_where_and_who(team: Team, home: Path) -> None:
    code = "import teamtasks; t = teamtasks.open(); print(t.store.team, t.who, t.store.place)"
    said = python(code, TEAMTASKS_HOME=str(home), TEAMTASKS_TEAM="payments", TEAMTASKS_AGENT="backend")
    assert said == f"payments backend {home / 'tasks' / 'payments'}"


def test_a_home_that_is_given_counts_more_than_the_environment(team: Team, home: Path, tmp_path: Path) -> None:
    code = f"import teamtasks; print(teamtasks.open(home={str(home)!r}).store.place)"
    said = python(code, TEAMTASKS_HOME=str(tmp_path / "elsewhere"), TEAMTASKS_TEAM="another", TEAMTASKS_AGENT="backend")
    assert said == str(home / "tasks" / "payments")


# every method


def test_every_method_answers_as_the_command_of_its_name_does_with_json(team: Team) -> None:
    """Each answer is what schemas/answers.json says of the command."""
    told: dict[str, Any] = {}

    def answer(name: str, value: Any) -> Any:
        validator(f"answers.json#/definitions/{name}").validate(value)
        told[name] = value
        return value

    backend = team.as_("backend")
    first = answer("create", team.create("Schema", acceptance_criteria=["migrates"], key="k"))["task"]["id"]
    second = team.create("API", dependencies=[first], metadata={"ticket": 7})["task"]["id"]
    third = team.create("Docs")["task"]["id"]
    assert answer("join", team.join("backend", can=["python"], model="m", pid=os.getpid()))["agent"]["incarnation"] == 1
    assert answer("settings", team.settings(wip_limit=2))["settings"]["wip_limit"] == 2
    assert answer("whoami", backend.whoami())["agent"]["name"] == "backend"
    assert answer("heartbeat", backend.heartbeat(context=40, doing="reading"))["agent"]["context_percent"] == 40
    assert answer("claim", backend.claim())["task"]["id"] == first
    assert answer("note", backend.note(first, "careful", attempt=1))["task"]["notes"][0]["by"] == "backend"
    assert "migrates" in answer("brief", backend.brief(first))["brief"]
    assert [t["id"] for t in answer("ready", team.ready())["tasks"]] == [third]
    assert [t["id"] for t in answer("blocked", team.blocked())["tasks"]] == [second]
    assert answer("why", team.why(second))["causes"][0]["id"] == first
    assert answer("fail", backend.fail(first, reason="no luck", tried=["once"], output="…"))["task"]["status"] == "pending"
    assert backend.claim(first)["attempt"] == 2
    done = answer("complete", backend.complete(first, result="done", evidence={1: "test"}, attempt=2))
    assert done["unblocked"] == [second]
    backend.claim(second)
    assert answer("release", backend.release(second, reason="not now", attempt=1))["task"]["status"] == "pending"
    assert answer("assign", team.assign(second, "backend", note="yours"))["task"]["assignee"] == "backend"
    assert answer("depend", team.depend(second, on=[third]))["task"]["blocked_by"] == [third]
    assert [t["id"] for t in answer("list", team.list(status="blocked"))["tasks"]] == [second]
    assert answer("show", team.show(first))["task"]["result"] == "done"
    assert answer("doctor", team.doctor())["problems"] == 0
    assert team.doctor(fix=True)["problems"] == 0
    team.delete()
    with pytest.raises(errors.TeamNotFound):
        team.list()

    methods = {name for name, _ in inspect.getmembers(Team, inspect.isfunction) if not name.startswith("_")}
    assert methods - {"as_", "delete"} == set(told)


def test_a_claim_waits_as_long_as_it_is_told_to(team: Team) -> None:
    team.as_("db").claim(team.create("x")["task"]["id"])
    with pytest.raises(errors.NothingReady):
        team.as_("backend").claim(wait=0.05)


def test_settings_take_none_for_nobody(team: Team) -> None:
    team.join("anna", role="lead")
    assert team.settings(lead=None)["settings"]["lead"] is None


def test_what_one_team_object_does_another_sees_at_once(team: Team, home: Path) -> None:
    other = teamtasks.open("payments", home=str(home))
    id = team.create("x")["task"]["id"]
    assert other.show(id)["task"]["title"] == "x"


# refusals


@pytest.mark.parametrize(
    ("act", "code", "exit_code"),
    [
        (lambda t: t.create(" "), "usage", 2),
        (lambda t: t.create("x", metadata={"a": object()}), "usage", 2),
        (lambda t: t.create("x", priority=9), "usage", 2),
        (lambda t: t.show("what"), "usage", 2),
        (lambda t: t.as_("Not A Name"), "usage", 2),
        (lambda t: t.claim(), "usage", 2),
        (lambda t: t.show("99"), "no_task", 3),
        (lambda t: t.as_("ghost").list(), "no_agent", 3),
        (lambda t: t.complete("1"), "not_holder", 4),
        (lambda t: t.depend("1", on=["1"]), "self_dependency", 5),
        (lambda t: t.as_("backend").claim("2"), "blocked", 5),
        (lambda t: t.as_("backend").claim(another=True) and t.as_("db").claim(), "nothing_ready", 6),
    ],
)
def test_a_refusal_is_a_teamtasks_error_that_states_the_facts(team: Team, act: Any, code: str, exit_code: int) -> None:
    team.create("first")
    team.create("second", dependencies=["1"])
    with pytest.raises(teamtasks.TeamtasksError) as caught:
        act(team)
    error = caught.value
    assert (error.code, error.exit_code) == (code, exit_code)
    assert str(error) == error.message != ""
    assert isinstance(error.facts, dict)


def test_every_error_of_ours_is_a_teamtasks_error_with_a_code_of_its_own() -> None:
    ours = [e for _name, e in inspect.getmembers(errors, inspect.isclass) if issubclass(e, Exception)]
    assert all(issubclass(error, teamtasks.TeamtasksError) for error in ours)
    assert all(error.exit_code != 0 for error in ours)


# imports


@pytest.mark.parametrize("heavy", ["json", "re", "typing", "click", "pathlib", "dataclasses", "rich", "jsonschema"])
def test_import_teamtasks_costs_nothing(heavy: str) -> None:
    assert python(f"import sys; before = set(sys.modules); import teamtasks; print({heavy!r} in sys.modules)") == "False"


def test_the_public_names_are_there_when_they_are_asked_for() -> None:
    assert {name for name in teamtasks.__all__ if getattr(teamtasks, name, None) is None} == set()
    with pytest.raises(AttributeError, match="nothing_like_it"):
        teamtasks.nothing_like_it  # noqa: B018
