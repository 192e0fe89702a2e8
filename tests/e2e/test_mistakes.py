"""Each mistake that a user can make: its exit code, a message with the facts and the next command, and no change.

The table below is the specification: a mistake a row, made in the middle of the story of conftest.py.
"""

# ruff: noqa: E501  (a row a mistake)

from __future__ import annotations

import fcntl
import re
import shlex
import shutil
import subprocess
import sys
import time
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import pytest

from e2e.world import TEAMTASKS, age, cli_at, files, ledger
from teamtasks.cli import clicks

if TYPE_CHECKING:
    from pathlib import Path


class Mistake(NamedTuple):
    call: str
    exit: int
    error: str
    says: tuple[str, ...]
    hint: str
    env: dict[str, str] = {}  # noqa: RUF012  (never changed)


MISTAKES = {
    # 2: the words of the call are off
    "an unknown command": Mistake("lsit", 2, "usage", ("no command 'lsit'", "Did you mean list?"), "teamtasks --help"),
    "a command like no other": Mistake("xyzzy", 2, "usage", ("no command 'xyzzy'",), "teamtasks --help"),
    "an unknown option": Mistake("list --statsu x", 2, "usage", ("--statsu", "--status"), "teamtasks list --help"),
    "an option without its value": Mistake("list --status", 2, "usage", ("--status", "requires an argument"), "teamtasks list --help"),
    "a word too many": Mistake("show 2 3", 2, "usage", ("unexpected extra argument", "3"), "teamtasks show --help"),
    "a word too few": Mistake("show", 2, "usage", ("Missing argument", "ID"), "teamtasks show --help"),
    "an option that is required": Mistake("--as db fail 2", 2, "usage", ("Missing option '--reason'",), "teamtasks fail --help"),
    "a number that is none": Mistake("create x --priority high", 2, "usage", ("--priority", "'high'"), "teamtasks create --help"),
    "a negative number": Mistake("--as db complete 2 --attempt -1", 2, "usage", ("--attempt", "'-1'"), "teamtasks complete --help"),
    "a choice that is none": Mistake("create x --size huge", 2, "usage", ("'huge'", "small", "medium", "large"), "teamtasks create --help"),
    "a value for a flag": Mistake("list --json=yes", 2, "usage", ("--json", "does not take a value"), "teamtasks list --help"),
    "a priority out of range": Mistake("create x --priority 5", 2, "usage", ("priority", "0, 1, 2, 3, 4", "5"), "teamtasks create --help"),
    "a status that is none": Mistake("list --status done", 2, "usage", ("pending", "completed", "'done'"), "teamtasks list --help"),
    "an estimate without sense": Mistake("create x --estimate soon", 2, "usage", ("--estimate", "15m", "'soon'"), "teamtasks create --help"),
    "an estimate of nothing": Mistake("create x --estimate 0m", 2, "usage", ("--estimate", "'0m'"), "teamtasks create --help"),
    "a timeout without sense": Mistake("--as db claim --wait --timeout x", 2, "usage", ("--timeout", "'x'"), "teamtasks claim --help"),
    "a timeout without waiting": Mistake("--as db claim --timeout 5m", 2, "usage", ("--timeout", "--wait"), "teamtasks --as db claim --wait --timeout "),
    "an empty title": Mistake("create ' '", 2, "usage", ("the title is empty",), "teamtasks create --help"),
    "stdin for two options": Mistake("--as db fail 2 --attempt 2 --reason - --output -", 2, "usage", ("stdin", "--reason", "--output"), "teamtasks fail --help"),
    "a title too long": Mistake(f"create {'x' * 201}", 2, "usage", ("title", "201", "200"), "put the rest into a file"),
    "an empty note": Mistake("note 2 ''", 2, "usage", ("the note is empty",), "teamtasks note --help"),
    "an empty reason": Mistake("--as db fail 2 --attempt 2 --reason ''", 2, "usage", ("the reason is empty",), "teamtasks fail --help"),
    "an empty criterion": Mistake("create x --accept ''", 2, "usage", ("acceptance criterion is empty",), "teamtasks create --help"),
    "metadata without a value": Mistake("create x --meta url", 2, "usage", ("--meta", "KEY=VALUE", "'url'"), "teamtasks create --help"),
    "evidence without a number": Mistake("--as db complete 2 --attempt 2 --evidence tests", 2, "usage", ("--evidence", "N=TEXT", "'tests'"), "teamtasks complete --help"),
    "evidence for no criterion": Mistake("--as db complete 2 --attempt 2 --evidence 3=tests", 2, "usage", ("task-2 has 2 acceptance criteria", "3"), "teamtasks --as db show task-2"),
    "no task id": Mistake("show two", 2, "usage", ("'two' is not a task id",), "ids look like task-2"),
    "a task id of zero": Mistake("show 0", 2, "usage", ("'0' is not a task id",), "ids look like task-2"),
    "a negative task id": Mistake("show -- -2", 2, "usage", ("'-2' is not a task id",), "ids look like task-2"),
    "an assignment to nobody in particular": Mistake("assign 2", 2, "usage", ("agent", "--nobody"), "teamtasks assign --help"),
    "an assignment to somebody and nobody": Mistake("assign 2 db --nobody", 2, "usage", ("agent", "--nobody"), "teamtasks assign --help"),
    "a dependency on nothing": Mistake("depend 4", 2, "usage", ("depends on",), "teamtasks depend 4 --on ID"),
    "a dependency that is not there": Mistake("depend 4 --off 1", 2, "usage", ("task-4 does not depend on task-1",), "teamtasks show task-4"),
    "a setting that is none": Mistake("settings wiplimit=2", 2, "usage", ("no setting 'wiplimit'", "Did you mean wip_limit?", "lead, topology, wip_limit"), "teamtasks settings --help"),
    "a setting without a value": Mistake("settings wip_limit", 2, "usage", ("KEY=VALUE", "'wip_limit'"), "teamtasks settings --help"),
    "a limit out of range": Mistake("settings wip_limit=0", 2, "usage", ("wip_limit", "1 to 1000", "'0'"), "teamtasks settings --help"),
    "a topology that is none": Mistake("settings topology=ring", 2, "usage", ("mesh or hub", "'ring'"), "teamtasks settings --help"),
    "a hub without a lead": Mistake("init hub1 --topology hub", 2, "usage", ("a hub needs a lead",), "add --lead NAME"),
    "a hub that loses its lead": Mistake("settings topology=hub lead=none", 2, "usage", ("a hub needs a lead",), "teamtasks settings"),
    "a second lead": Mistake("join otto --role lead", 2, "usage", ("anna leads this team",), "teamtasks join otto, then: teamtasks settings lead=otto"),
    "a process that is not there": Mistake("join otto --pid 999999999", 2, "usage", ("no process 999999999",), "--pid $$"),
    "a context above 100": Mistake("--as db heartbeat --context 101", 2, "usage", ("0 to 100", "101"), "teamtasks heartbeat --help"),
    "a heartbeat of nobody": Mistake("heartbeat", 2, "usage", ("needs an agent",), "teamtasks --as NAME heartbeat"),
    "a claim of nobody": Mistake("claim", 2, "usage", ("needs a name",), "teamtasks --as NAME claim"),
    "an output file that is not there": Mistake("--as db fail 2 --attempt 2 --reason x --output /nowhere/run.log", 2, "usage", ("/nowhere/run.log", "No such file"), "teamtasks fail --help"),
    "an attempt that has not been": Mistake("--as db complete 2 --attempt 7", 2, "usage", ("task-2 has no attempt 7",), "teamtasks "),
    "an attempt that is no number, in the environment": Mistake("--as db complete 2", 2, "usage", ("TEAMTASKS_ATTEMPT", "'two'"), "teamtasks complete --help", {"TEAMTASKS_ATTEMPT": "two"}),
    "a lock timeout that is no number, in the environment": Mistake("note 2 x", 2, "usage", ("TEAMTASKS_LOCK_TIMEOUT", "'long'"), "teamtasks note --help", {"TEAMTASKS_LOCK_TIMEOUT": "long"}),
    # 2: names
    "a team's name with a capital": Mistake("init Payments", 2, "usage", ("'Payments' cannot name a team", "a-z, 0-9, _ and -"), "teamtasks init --help"),
    "a team's name that is a path": Mistake("init ../x", 2, "usage", ("'../x' cannot name a team",), "teamtasks init --help"),
    "a team's name that ends a line": Mistake("init 'x\n'", 2, "usage", ("cannot name a team",), "teamtasks init --help"),
    "a team's name that is empty": Mistake("init ''", 2, "usage", ("'' cannot name a team",), "teamtasks init --help"),
    "a team's name that is too long": Mistake(f"init {'x' * 65}", 2, "usage", ("cannot name a team", "1 to 64"), "teamtasks init --help"),
    "a team's name that looks like another": Mistake("init раyments", 2, "usage", ("cannot name a team",), "teamtasks init --help"),
    "a team's name that is reserved": Mistake("init all", 2, "usage", ("'all' is reserved",), "teamtasks init --help"),
    "an agent's name that is reserved": Mistake("join human", 2, "usage", ("'human' is reserved",), "teamtasks join --help"),
    "an agent's name that is a life": Mistake("join db_3", 2, "usage", ("'db_3'", "'db'"), "teamtasks join "),
    "an agent's name with a blank": Mistake("--as 'd b' list", 2, "usage", ("'d b' cannot name an agent",), "teamtasks list --help"),
    "a lead's name with a blank": Mistake("init billing --lead 'an na'", 2, "usage", ("'an na' cannot name an agent",), "teamtasks init --help"),
    "a capability's name with a blank": Mistake("join otto --can 'go fish'", 2, "usage", ("'go fish' cannot name a capability",), "teamtasks join --help"),
    "a group's name with a capital": Mistake("create x --group API", 2, "usage", ("'API' cannot name a group",), "teamtasks create --help"),
    "a team's name in the environment": Mistake("list", 2, "usage", ("'../x' cannot name a team",), "teamtasks list --help", {"TEAMTASKS_TEAM": "../x"}),
    # 3: not found
    "an unknown task": Mistake("show 99", 3, "no_task", ("no task task-99", "the newest of 8 is task-8", "task-8"), "teamtasks list"),
    "an unknown task to note": Mistake("note 99 x", 3, "no_task", ("no task task-99",), "teamtasks list"),
    "an unknown task to claim": Mistake("--as backend claim 99", 3, "no_task", ("no task task-99",), "teamtasks --as backend list"),
    "an unknown task to wait for": Mistake("create x --after 99", 3, "no_task", ("no task task-99",), "teamtasks list"),
    "an unknown task to depend on": Mistake("depend 4 --on 99", 3, "no_task", ("no task task-99",), "teamtasks list"),
    "an unknown agent": Mistake("--as bakend list", 3, "no_agent", ("no agent 'bakend'", "Did you mean backend?", "anna, backend, db"), "say backend"),
    "an agent like no other": Mistake("--as zoe note 2 x", 3, "no_agent", ("no agent 'zoe'", "anna, backend, db"), "teamtasks join zoe"),
    "an agent in the environment": Mistake("whoami", 3, "no_agent", ("no agent 'bakend'", "Did you mean backend?"), "say backend", {"TEAMTASKS_AGENT": "bakend"}),
    "an unknown agent to assign to": Mistake("assign 3 bakend", 3, "no_agent", ("no agent 'bakend'", "Did you mean backend?"), "say backend"),
    "an unknown agent to create for": Mistake("create x --assign bakend", 3, "no_agent", ("Did you mean backend?",), "say backend"),
    "an unknown agent to lead": Mistake("settings lead=ana", 3, "no_agent", ("no agent 'ana'", "Did you mean anna?"), "say anna"),
    "an agent to filter by": Mistake("list --assignee bakend", 3, "no_agent", ("no agent 'bakend'", "Did you mean backend?"), "say backend"),
    "a life before the first": Mistake("--as db_0 heartbeat", 2, "usage", ("db_0",), "teamtasks "),
    "a stranger deleting": Mistake("--as zoe delete payments --yes", 3, "no_agent", ("no agent 'zoe'",), "teamtasks join zoe"),
    "a life that has not been": Mistake("--as db_7 list", 3, "no_agent", ("db", "db_7"), "teamtasks join db"),
    "an unknown team": Mistake("-t payment list", 3, "no_team", ("no team 'payment'", "Did you mean payments?", "teams: payments", "/tasks"), "teamtasks -t payments list"),
    "an unknown team to delete": Mistake("delete payment --yes", 3, "no_team", ("no team 'payment'", "Did you mean payments?"), "teamtasks "),
    "a team in the environment": Mistake("list", 3, "no_team", ("no team 'billing'", "teams: payments"), "teamtasks init billing", {"TEAMTASKS_TEAM": "billing"}),
    "an unknown schema": Mistake("schema tsak", 3, "no_schema", ("no schema 'tsak'", "Did you mean task?", "agent, answers"), "teamtasks schema"),
    # 1: something else is wrong
    "a team that is there already": Mistake("init payments", 1, "team_exists", ("payments",), "teamtasks -t payments list"),
    "the same key for something else": Mistake("create Other --key fuzz", 1, "key_reused", ("'fuzz'", "task-8", "other content"), "teamtasks show task-8"),
    "deleting without saying yes": Mistake("delete payments", 1, "confirm", ("payments", "history"), "teamtasks delete payments --yes"),
    # 4: held by another, or late
    "claiming what another holds": Mistake("--as backend claim 2", 4, "claimed", ("task-2 is held by db (attempt 2, ",), "teamtasks --as backend ready"),
    "claiming what is done": Mistake("--as backend claim 1", 4, "completed", ("task-1 was completed by db",), "teamtasks --as backend show task-1"),
    "claiming what is reserved": Mistake("--as otto claim 7", 4, "assigned", ("task-7 is reserved for backend",), "teamtasks --as otto claim"),
    "claiming what one cannot do": Mistake("--as backend claim 8", 4, "capability", ("task-8 needs rust", "backend"), "teamtasks join backend --can python --can rust"),
    "claiming a second task": Mistake("--as db claim --another", 4, "wip_limit", ("db holds task-2", "limit is 1"), "teamtasks --as db whoami"),
    "completing what another holds": Mistake("--as backend complete 2 --attempt 2", 4, "not_holder", ("backend does not hold task-2", "db"), "teamtasks --as backend show task-2"),
    "completing what nobody holds": Mistake("--as db complete 3", 4, "not_holder", ("db does not hold task-3", "pending"), "teamtasks --as db claim task-3"),
    "failing what another holds": Mistake("--as backend fail 2 --attempt 2 --reason x", 4, "not_holder", ("backend does not hold task-2",), "teamtasks --as backend show task-2"),
    "releasing what another holds": Mistake("--as backend release 2 --attempt 2 --reason x", 4, "not_holder", ("backend does not hold task-2",), "teamtasks --as backend show task-2"),
    "a lead completing without force": Mistake("--as anna complete 2", 4, "not_holder", ("anna does not hold task-2", "db"), "add --force"),
    "a human completing without force": Mistake("complete 2", 4, "not_holder", ("human does not hold task-2", "db"), "add --force"),
    "completing without the attempt": Mistake("--as db complete 2", 4, "attempt_required", ("task-2 is at attempt 2",), "add --attempt"),
    "failing without the attempt": Mistake("--as db fail 2 --reason x", 4, "attempt_required", ("task-2 is at attempt 2",), "add --attempt"),
    "noting without the attempt": Mistake("--as db note 2 x", 4, "attempt_required", ("task-2 is at attempt 2",), "add --attempt"),
    "noting with an attempt that has ended": Mistake("--as backend note 2 x --attempt 1", 4, "late", ("backend's attempt 1 on task-2 has ended", "db"), "stop work on it"),
    "taking work away without force": Mistake("assign 2 backend", 4, "not_allowed", ("task-2 is in progress", "db's attempt 2"), "teamtasks assign task-2 backend --force"),
    "a teammate using force": Mistake("--as backend assign 2 backend --force", 4, "not_allowed", ("backend is a teammate", "lead"), ""),
    "a teammate completing by force": Mistake("--as backend complete 2 --force", 4, "not_allowed", ("backend is a teammate",), ""),
    "assigning what is done": Mistake("assign 1 backend", 4, "completed", ("task-1 was completed by db",), "teamtasks show task-1"),
    "completing twice by force": Mistake("complete 1 --force", 4, "completed", ("task-1", "completed"), "teamtasks show task-1"),
    "making running work wait": Mistake("depend 2 --on 3", 4, "refused", ("task-2 is in_progress", "task-3"), "teamtasks show task-2"),
    # 5: blocked, or a cycle
    "claiming what is blocked": Mistake("--as backend claim 4", 5, "blocked", ("task-4 cannot start", "task-2(db, ", "task-3"), "teamtasks --as backend why task-4"),
    "completing what is blocked by force": Mistake("complete 4 --force", 5, "blocked", ("task-4 cannot start", "task-2(db, "), "teamtasks why task-4"),
    "a cycle of two": Mistake("depend 3 --on 4", 5, "cycle", ("task-3 → task-4 → task-3",), "teamtasks why task-4"),
    "a cycle of three": Mistake("depend 3 --on 5", 5, "cycle", ("task-3 → task-5 → task-4 → task-3",), "teamtasks why task-5"),
    "a dependency on itself": Mistake("depend 4 --on 4", 5, "self_dependency", ("task-4 cannot depend on itself",), ""),
    # 6: nothing ready now
    "claiming when others work": Mistake("--as otto claim", 6, "nothing_ready", ("nothing is ready for otto", "1 in progress", "1 reserved", "3 blocked"), "teamtasks --as otto claim --wait"),
}  # fmt: skip


@pytest.fixture(scope="module")
def made(request: pytest.FixtureRequest, told_once: Path, tmp_path_factory: pytest.TempPathFactory):
    """Makes a mistake, in words or in JSON, in a story that all of them share: none of them may change it."""
    story = cli_at(tmp_path_factory.mktemp("mistakes") / "home", request)
    shutil.copytree(told_once, story.home)
    before = ledger(story.home)

    @cache
    def make(name: str, *how: str):
        mistake = MISTAKES[name]
        answer = story(*how, *shlex.split(mistake.call), code=None, stdin="", **mistake.env)
        if ledger(story.home) != before:
            shutil.rmtree(story.home)
            shutil.copytree(told_once, story.home)  # for the next one
            pytest.fail(f"it changed the ledger: {answer}")
        return answer

    return make


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_on_stderr_with_its_code_and_the_facts_and_changes_nothing(made, name):
    mistake, answer = MISTAKES[name], made(name)
    assert (answer.code, answer.out) == (mistake.exit, "")
    assert answer.err.startswith(f"error[{mistake.error}]: ")
    assert answer.err.count("\n") == 1
    for words in mistake.says:
        assert words.casefold() in answer.err.casefold()


@pytest.mark.parametrize("name", MISTAKES)
def test_with_json_a_mistake_is_an_object_on_stdout_with_the_same_code_and_facts(made, name):
    mistake, answer = MISTAKES[name], made(name, "--json")
    error = answer.json["error"]
    assert (answer.code, answer.err, error["code"]) == (mistake.exit, "", mistake.error)
    assert isinstance(error["facts"], dict)
    for words in mistake.says:
        assert words.casefold() in error["message"].casefold() + (error["hint"] or "").casefold()


@pytest.mark.parametrize("name", MISTAKES)
def test_every_mistake_has_a_next_step_in_words_and_in_json(made, name):
    hint = made(name, "--json").json["error"]["hint"]
    assert hint
    assert hint.casefold().startswith(MISTAKES[name].hint.casefold())
    assert hint[1:] in made(name).err


@pytest.mark.parametrize("name", MISTAKES)
def test_the_sentence_ends_before_the_hint_begins(made, name):
    message, found, _hint = made(name).err.partition(" Try: ")
    if found:
        assert message[-1] in ".?!"


@pytest.mark.parametrize("name", [name for name, m in MISTAKES.items() if m.hint.startswith("teamtasks ")])
def test_a_hint_is_a_call_that_teamtasks_understands(made, name):
    """Its options and words are right; whatever stands in capitals or angle brackets is for the user to fill in."""
    hint = made(name, "--json").json["error"]["hint"]
    for command in re.split(r",? or (?:[a-z ]+: )?|,? then:? (?=teamtasks)", hint):
        if command.startswith("teamtasks ") and not re.search(r"[A-Z]{2}|<", command):
            call = shlex.split(command)[1:]
            assert understood(call), command


def understood(call: list[str]) -> bool:
    """Whether click arrives at a command with these words, or at its help."""
    arrived: list[str] = []
    code = clicks.main(call, lambda command, _values: arrived.append(command.name) or 0)
    return bool(arrived) or (call[-1] == "--help" and code == 0)


@pytest.mark.parametrize("name", [name for name, m in MISTAKES.items() if any("Did you mean" in says for says in m.says)])
def test_a_hint_takes_up_what_was_probably_meant(made, name):
    error = made(name, "--json").json["error"]
    typed, meant = re.search(r"'(\w+)'.* Did you mean (\w+)\?", error["message"]).groups()
    hint = (error["hint"] or "").replace(";", " ").split()
    assert typed not in hint or (meant in hint and hint.index(meant) < hint.index(typed))


def test_every_exit_code_of_a_refusal_is_in_the_table():
    assert {m.exit for m in MISTAKES.values()} == {1, 2, 3, 4, 5, 6}  # 7, 8, 10 and 130 have tests of their own


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("claiming what another holds", {"task": "task-2", "holder": "db", "attempt": 2}),
        ("claiming what is blocked", {"task": "task-4", "blocked_by": ["task-2", "task-3"]}),
        ("claiming what one cannot do", {"task": "task-8", "missing": ["rust"]}),
        ("claiming what is reserved", {"task": "task-7", "assignee": "backend"}),
        ("claiming a second task", {"agent": "db", "holds": ["task-2"], "limit": 1}),
        ("claiming when others work", {"running": ["task-2"], "reserved": ["task-7"], "unsuited": ["task-3", "task-8"]}),
        ("completing what another holds", {"task": "task-2", "holder": "db"}),
        ("a cycle of three", {"cycle": ["task-3", "task-5", "task-4", "task-3"]}),
        ("an unknown task", {"task": "task-99", "tasks": 8}),
        ("an unknown agent", {"agent": "bakend", "agents": ["anna", "backend", "db"], "meant": "backend"}),
        ("an unknown team", {"team": "payment", "teams": ["payments"]}),
        ("the same key for something else", {"key": "fuzz", "task": "task-8"}),
        ("a title too long", {"length": 201, "most": 200}),
    ],
)
def test_the_facts_are_there_for_programs(made, name, facts):
    told = made(name, "--json").json["error"]["facts"]
    assert {key: told.get(key) for key in facts} == facts


# order of use


def test_teamtasks_alone_in_an_empty_home_says_what_there_is_and_how_to_begin(cli):
    answer = cli()
    assert answer.out.startswith("Usage: teamtasks ")
    assert answer.out.endswith("\nNo team yet. Begin with: teamtasks init TEAM\n")
    assert answer.err == ""
    assert files(cli.home) == {}


def test_teamtasks_alone_names_the_teams_that_there_are(story):
    assert story().out.endswith("\nTeams here: payments. Begin with: teamtasks list\n")


@pytest.mark.parametrize(
    "call",
    [
        "create x", "assign 1 b", "depend 1 --on 2", "settings", "join b", "whoami", "--as b claim", "brief 1", "note 1 x",
        "--as b complete 1", "--as b fail 1 --reason x", "--as b release 1 --reason x", "--as b heartbeat", "list", "show 1",
        "ready", "blocked", "why 1", "doctor",
    ],
)  # fmt: skip
def test_in_an_empty_home_every_command_says_that_there_is_no_team_where_it_looked_and_how_to_make_one(cli, call):
    answer = cli(*call.split(), code=3)
    assert answer.err == f"error[no_team]: there is no team yet in {cli.home}/tasks. Try: teamtasks init TEAM\n"
    assert not cli.home.exists()


def test_in_an_empty_team_a_task_is_missed_with_the_command_that_makes_one(team):
    answer = team("show", "1", code=3)
    assert "no task task-1 (there are none yet). Try: teamtasks create " in answer.err


@pytest.mark.parametrize("call", ["--as b note 1 x", "--as b complete 1", "--as b heartbeat", "--as b list"])
def test_who_has_not_joined_is_told_to_join(team, call):
    assert "no agent has joined yet). Try: teamtasks join b" in team(*call.split(), code=3).err


def test_claiming_from_an_empty_plan_is_nothing_ready_and_not_a_finished_plan(team):
    answer = team("--as", "b", "claim", code=6)
    assert answer.err == "error[nothing_ready]: there is no task yet. Try: teamtasks --as b claim --wait\n"


def test_a_finished_plan_has_its_own_exit_code(team):
    team("create", "Payment API")
    team("--as", "b", "claim")
    team("--as", "b", "complete", "1")
    before = ledger(team.home)
    answer = team("--as", "b", "claim", code=10)
    assert answer.err.startswith("error[plan_finished]: nothing is left to do")
    assert ledger(team.home) == before
    assert team("--as", "b", "claim", "--json", code=10).json["error"]["code"] == "plan_finished"


def test_with_several_teams_the_question_is_which_one_and_the_hint_keeps_the_rest_of_the_call(story):
    story("init", "billing")
    error = story("list", "--json", code=None).json["error"]
    assert "which team? There are 2: billing, payments" in error["message"]
    assert error["code"] != "error"
    assert "teamtasks -t billing list" in error["hint"]
    assert "TEAMTASKS_TEAM" in error["hint"]


# hints


def test_a_hint_can_be_run_as_it_stands(story):
    story("init", "billing")
    answer = story("-t", "payments", "--as", "backend", "claim", "2", code=4)
    assert answer.err.endswith("Try: teamtasks -t payments --as backend ready\n")


def test_the_hint_for_what_one_cannot_do_keeps_what_one_could_already(story):
    hint = story("--as", "backend", "claim", "8", "--json", code=4).json["error"]["hint"]
    story(*shlex.split(hint)[1:])
    assert story("--as", "backend", "claim", "8", "-q").out == "task-8\n"
    assert story("--as", "backend", "whoami", "--json").json["agent"]["capabilities"] == ["python", "rust"]


def test_waiting_is_not_the_advice_when_nothing_would_ever_come(team):
    team("create", "Fuzzing", "--needs", "rust")
    hint = team("--as", "b", "claim", "--json", code=6).json["error"]["hint"]
    assert hint == "teamtasks join b --can rust"


# too late: the one refusal that records something


def test_a_late_completion_is_refused_and_what_it_brings_is_kept_on_the_task_once(story):
    before = story("show", "2", "--json").json["task"]
    answer = story("--as", "backend", "complete", "2", "--attempt", "1", "--result", "it works", code=4)
    assert answer.err == (
        "error[late]: too late: backend's attempt 1 on task-2 has ended, attempt 2 is in the hands of db; "
        "what you brought is kept on the task. Stop work on it; then: teamtasks --as backend claim\n"
    )
    after = story("show", "2", "--json").json["task"]
    assert after["late_results"].pop()["text"] == "it works"
    assert after == before
    story("--as", "backend", "complete", "2", "--attempt", "1", "--result", "it works", code=4)
    assert len(story("show", "2", "--json").json["task"]["late_results"]) == 2


def test_a_late_release_is_refused_and_changes_nothing(story):
    before = ledger(story.home)
    story("--as", "backend", "release", "2", "--attempt", "1", "--reason", "x", code=4)
    assert ledger(story.home) == before


# what is on disk is broken


@pytest.mark.parametrize(
    ("broken", "line", "column"),
    [
        (lambda text: text.replace('"title":"Billing page"', '"title":"Billing page', 1), None, None),
        (lambda text: "{\n  oops\n}", 2, 3),
        (lambda text: text.replace('"priority":1', '"priority":7', 1), None, None),
        (lambda text: text.replace('"status":"in_progress"', '"status":"doing"', 1), None, None),
        (lambda text: text[: len(text) // 2], None, None),
        (lambda text: "", None, None),
    ],
    ids=["an open string", "not JSON", "a value out of range", "an unknown state", "half of it", "nothing of it"],
)
def test_a_broken_tasks_json_stops_writers_with_line_column_and_path_and_is_never_overwritten(
    story, public, broken, line, column
):
    path = public / "tasks.json"
    path.write_text(broken(path.read_text()))
    age(path)
    before = ledger(story.home)
    if not path.read_text():
        assert "note: " in story("note", "2", "x").err  # an empty file is a deleted one: it comes back
        return
    answer = story("note", "2", "x", code=8)
    assert answer.err.startswith("error[invalid_data]: ")
    assert str(path) in answer.err
    assert re.search(rf"line {line or '[0-9]+'}, column {column or '[0-9]+'}", answer.err)
    assert "teamtasks doctor --fix" in answer.err
    assert ledger(story.home) == before
    error = story("note", "2", "x", "--json", code=8).json["error"]
    assert (error["code"], error["facts"]["path"]) == ("invalid_data", str(path))
    assert isinstance(error["facts"]["line"], int)
    assert isinstance(error["facts"]["column"], int)


def test_the_line_and_column_are_where_the_mistake_is(story, public):
    path = public / "tasks.json"
    lines = path.read_text().split("\n")
    number = next(n for n, line in enumerate(lines) if '"title":"Billing page"' in line)
    lines[number] = lines[number].replace('"priority":2', '"priority":nine')
    path.write_text("\n".join(lines))
    age(path)
    facts = story("note", "2", "x", "--json", code=8).json["error"]["facts"]
    assert (facts["line"], facts["column"]) == (number + 1, lines[number].index("nine") + 1)


def test_readers_show_the_last_good_version_of_a_broken_tasks_json_and_say_so(story, public):
    good = story("list").out
    (public / "tasks.json").write_text("{ oops")
    age(public / "tasks.json")
    answer = story("list")
    assert re.sub(r"\d+s", "", answer.out) == re.sub(r"\d+s", "", good)
    assert answer.err.startswith("note: ")
    assert str(public / "tasks.json") in answer.err
    assert "doctor --fix" in answer.err
    assert (public / "tasks.json").read_text() == "{ oops"


def test_a_newer_format_is_refused_with_the_advice_to_upgrade(story, public):
    path = public / "tasks.json"
    path.write_text(path.read_text().replace('"format":1', '"format":99', 1))
    age(path)
    answer = story("note", "2", "x", code=8)
    assert answer.err.startswith("error[newer_format]: ")
    assert "99" in answer.err
    assert "upgrade" in answer.err.casefold()


# somebody else holds the ledger


def test_a_held_lock_is_waited_for_and_then_reported_with_who_holds_it(story, private):
    who = "pid 4242, teamtasks plan, since 2026-01-01T00:00:00Z"
    with (private / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(who)
        lock.flush()
        before = ledger(story.home)
        waited, gave_up = story("note", "3", "x", code=7, TEAMTASKS_LOCK_TIMEOUT="1.3").err.splitlines()
        assert waited.startswith("note: ")
        assert gave_up.startswith("error[lock_timeout]: ")
        assert who in waited
        assert who in gave_up
        error = story("note", "3", "x", "--json", code=7, TEAMTASKS_LOCK_TIMEOUT="0").json["error"]
        assert (error["code"], bool(error["hint"])) == ("lock_timeout", True)
        assert ledger(story.home) == before
        assert story("list").out.startswith("task-1 ")  # readers need no lock
        lock.truncate(0)
    story("note", "3", "the next one gets it")


def test_an_interrupted_wait_ends_with_130_and_no_traceback(story):
    waiting = story.popen("--as", "otto", "claim", "--wait")
    time.sleep(0.5)
    waiting.send_signal(2)
    _out, err = waiting.communicate(timeout=10)
    assert waiting.returncode == 130
    assert b"Traceback" not in err


# control characters


@pytest.mark.parametrize(
    "call",
    [
        ["show", "\x1b[2J"], ["--as", "\x1b]52;c;x\x07", "list"], ["-t", "\u202e", "list"], ["\x9b31m"], ["list", "--\x1b[31m"],
        ["create", "x", "--priority", "\x1b[31m"], ["create", "x", "--size", "\x1b[31m"], ["create", "x", "--meta", "\x1b[31m"],
        ["settings", "\x1b[31m=1"], ["schema", "\x1b[31m"], ["init", "\u200bx"], ["create", "x", "--estimate", "\x1b[31m"],
        ["--as", "db", "fail", "2", "--reason", "x", "--output", "/\x1b[31m"], ["show", "1", "\x1b[31m"],
    ],
)  # fmt: skip
def test_control_characters_in_the_words_of_a_call_are_shown_and_not_obeyed(story, call):
    for words in (call, [*call, "--json"]):
        answer = story(*words, code=None)
        assert answer.code in (2, 3)
        assert all(c.isprintable() or c == "\n" for c in answer.out + answer.err)


def test_bytes_that_are_no_text_are_a_mistake_like_any_other(story):
    for call in (
        ["create", b"\xff\xfe"],
        ["note", "2", b"\xed\xa0\x80"],
        ["show", b"\x80"],
        ["--as", b"\xff", "list"],
        [b"\xff"],
    ):
        before = ledger(story.home)
        done = subprocess.run([TEAMTASKS, *call], capture_output=True, env=story.environ(), check=False, timeout=20)
        assert done.returncode == 2
        assert done.stderr.decode().startswith("error[usage]: ")
        assert ledger(story.home) == before


def test_input_that_is_no_text_is_a_mistake_like_any_other(story):
    answer = story("create", "x", "-d", "-", stdin=b"\xff\xfe", code=2)
    assert "not UTF-8" in answer.err


def test_a_mistake_with_a_closed_stderr_still_has_its_exit_code(story):
    done = subprocess.run(["sh", "-c", f"{TEAMTASKS} show 99 2>&-"], env=story.environ(), capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"", b"")


def test_a_home_that_cannot_be_written_is_a_clear_error(story, tmp_path):
    (tmp_path / "file").write_text("")
    answer = story("init", "x", code=9, TEAMTASKS_HOME=str(tmp_path / "file"))
    assert answer.err.startswith("error[store_unavailable]: ")
    assert str(tmp_path / "file") in answer.err


# our own mistakes


def test_a_bug_has_an_exit_code_of_its_own_and_a_log_that_tells_the_rest(story):
    """A command whose use case is broken, in a process of its own."""
    broken = "import sys; from teamtasks.app import views; views.show = None; from teamtasks.cli.main import main; "
    done = subprocess.run(
        [sys.executable, "-P", "-c", broken + "sys.exit(main(['show', '2']))"],
        env=story.environ(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (70, "", 1)
    assert done.stderr.startswith("error[bug]: TypeError: ")
    assert "This is a bug in teamtasks; nothing was changed." in done.stderr
    (log,) = (story.home / "state").rglob("*.log")
    assert str(log) in done.stderr
    assert "Traceback" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0
