"""Each command as its users call it: in plain words, with --json, with -q, and rehearsed with --dry-run."""

from __future__ import annotations

import json
import os
import time

import pytest

from e2e.world import age, files, ledger
from teamtasks.cli.table import BY_NAME

# One call of every command that makes sense in the middle of the story.
CALLS = {
    "init": ["init", "billing", "--lead", "otto", "--topology", "hub"],
    "create": ["create", "Changelog", "--after", "2", "--accept", "lists every change"],
    "assign": ["assign", "3", "backend", "--note", "react can be learned"],
    "depend": ["depend", "7", "--on", "3"],
    "settings": ["settings", "wip_limit=2"],
    "join": ["join", "frontend", "--can", "react"],
    "whoami": ["--as", "db", "whoami"],
    "claim": ["--as", "backend", "claim"],
    "brief": ["brief", "2"],
    "note": ["note", "2", "the key expires at noon"],
    "complete": ["--as", "db", "complete", "2", "--attempt", "2", "--result", "POST /pay works"],
    "fail": ["--as", "db", "fail", "2", "--attempt", "2", "--reason", "401 again"],
    "release": ["--as", "db", "release", "2", "--attempt", "2", "--reason", "the review comes first"],
    "heartbeat": ["--as", "db", "heartbeat", "--context", "65"],
    "list": ["list"],
    "show": ["show", "2"],
    "ready": ["ready"],
    "blocked": ["blocked"],
    "why": ["why", "5"],
    "teams": ["teams"],
    "delete": ["delete", "payments", "--yes"],
    "doctor": ["doctor"],
    "schema": ["schema", "task"],
    "demo": ["demo"],
}
OFTEN = [name for name in CALLS if name != "demo"]  # which is a long story, told once below
CHANGES = [name for name, command in BY_NAME.items() if command.changes]
IDS = {
    "init": "billing",
    "create": "task-9",
    "assign": "task-3",
    "depend": "task-7",
    "join": "frontend",
    "whoami": "db",
    "claim": "task-7",
    "brief": "task-2",
    "note": "task-2",
    "complete": "task-2",
    "fail": "task-2",
    "release": "task-2",
    "heartbeat": "db",
    "list": "task-1 task-2 task-3 task-4 task-5 task-6 task-7 task-8",
    "show": "task-2",
    "ready": "task-3 task-7 task-8",
    "blocked": "task-4 task-5 task-6",
    "why": "task-2 task-3",
    "teams": "payments",
    "delete": "payments",
}


def test_these_tests_know_every_command():
    assert set(CALLS) == set(BY_NAME)
    assert set(IDS) == {name for name, command in BY_NAME.items() if command.quiet} - {"schema"}


@pytest.mark.parametrize("name", OFTEN)
def test_plain_answers_are_lines_without_escape_sequences_and_stderr_stays_empty(story, name):
    answer = story(*CALLS[name])
    assert answer.out.endswith("\n")
    assert "\x1b" not in answer.out
    assert answer.err == ""


@pytest.mark.parametrize("name", OFTEN)
def test_json_is_one_compact_object_on_one_line_and_as_the_schema_says(story, name):
    answer = story(*CALLS[name], "--json")
    assert answer.out.count("\n") == 1
    assert answer.out == json.dumps(answer.json, ensure_ascii=False, separators=(",", ":")) + "\n"
    assert answer.err == ""


@pytest.mark.parametrize("name", IDS)
def test_quiet_answers_are_ids_and_nothing_else(story, name):
    assert story(*CALLS[name], "-q").out.split("\n") == [*IDS[name].split(), ""]


@pytest.mark.parametrize("name", CHANGES)
def test_a_dry_run_changes_nothing_says_so_and_promises_what_then_really_happens(story, name):
    before, recorded = files(story.home), ledger(story.home)
    rehearsed = story(*CALLS[name], "--dry-run")
    assert files(story.home) == before
    assert rehearsed.out.startswith("(dry run, nothing was changed) ")
    promised = rehearsed.out.removeprefix("(dry run, nothing was changed) ").replace("would be deleted", "deleted")
    assert story(*CALLS[name]).out == promised
    assert ledger(story.home) != recorded


@pytest.mark.parametrize("name", sorted(set(OFTEN) - set(CHANGES)))
def test_looking_changes_nothing(story, name):
    before = ledger(story.home)
    story(*CALLS[name])
    assert ledger(story.home) == before


def test_a_dry_run_of_init_leaves_no_directory_behind(cli):
    assert cli("init", "payments", "--dry-run").code == 0
    assert files(cli.home) == {}
    assert not (cli.home / "tasks" / "payments").exists()
    assert not (cli.home / "teamtasks" / "payments").exists()


def test_a_dry_run_is_refused_like_the_real_thing(story):
    assert story("depend", "2", "--on", "4", "--dry-run", code=5).err == story("depend", "2", "--on", "4", code=5).err


def test_a_rehearsed_json_answer_says_that_it_is_one(story):
    assert story("create", "Changelog", "--dry-run", "--json").json["dry_run"] is True
    assert "dry_run" not in story("create", "Changelog", "--json").json


# init, teams, delete, settings


def test_init_says_where_the_team_is(cli):
    answer = cli("init", "payments", "--lead", "anna")
    assert answer.out == f"team payments (mesh, led by anna) in {cli.home}/tasks/payments\n"
    assert cli("--as", "anna", "whoami").out == "anna_1, lead of team payments\n"


def test_teams_lists_them_by_name_with_what_is_in_them(story):
    story("init", "billing")
    assert story("teams").out == (
        "billing revision 1, 0 agents, 0 completed, 0 in progress, 0 pending\n"
        "payments revision 18, 3 agents, 1 completed, 1 in progress, 6 pending\n"
    )


def test_one_broken_team_does_not_hide_the_others(story):
    story("init", "billing")
    (story.home / "teamtasks" / "billing" / "journal.jsonl").write_text("{}\n" * 3)
    (story.home / "tasks" / "billing" / "tasks.json").unlink()
    first, second = story("teams", code=None).out.splitlines()
    assert first.startswith("billing cannot be read: ")
    assert second.startswith("payments revision 18")


def test_no_team_at_all_is_no_error_but_advice(cli):
    answer = cli("teams")
    assert (answer.out, answer.err) == ("", "no team yet; a new one: teamtasks init TEAM\n")
    assert cli("teams", "--json").json["teams"] == []


def test_delete_removes_a_team_for_good_and_its_name_can_be_used_again(story):
    assert story("delete", "payments", "--yes").out == "team payments deleted\n"
    assert story("teams", "-q").out == ""
    assert ledger(story.home) == {}
    story("list", code=3)
    story("init", "payments")
    assert story("list").out == ""


def test_settings_are_lines_of_key_and_value_and_several_change_at_once(story):
    assert story("settings").out == "lead=anna\ntopology=mesh\nwip_limit=1\n"
    assert story("settings", "wip_limit=3", "lead=db").out == "lead=db\ntopology=mesh\nwip_limit=3\n"
    assert story("settings", "--json").json["settings"] == {"lead": "db", "topology": "mesh", "wip_limit": 3}


def test_settings_change_all_or_nothing(story):
    story("settings", "wip_limit=3", "lead=nemo", code=3)
    assert story("settings").out == "lead=anna\ntopology=mesh\nwip_limit=1\n"


def test_the_last_lead_is_a_teammate_when_another_leads(story):
    story("settings", "lead=db")
    assert story("--as", "anna", "whoami").out == "anna_1, teammate of team payments\n"
    assert story("--as", "db", "whoami").out.startswith("db_1, lead of team payments")


# create, assign, depend


def test_create_keeps_everything_that_was_said(story):
    story(
        "create", "Changelog", "-d", "Keep it short.", "--accept", "one", "--accept", "two", "--after", "2", "--after", "3",
        "--priority", "0", "--size", "small", "--estimate", "1h30m", "--group", "docs", "--needs", "python", "--needs", "go",
        "--assign", "backend", "--meta", "a=1", "--meta", 'b={"c":[true]}', "--meta", "d=plain", "--key", "changes-1",
    )  # fmt: skip
    task = story("show", "9", "--json").json["task"]
    told = {
        "title": "Changelog", "description": "Keep it short.", "acceptance_criteria": ["one", "two"], "priority": 0,
        "dependencies": ["task-2", "task-3"], "size": "small", "estimate": 90, "group": "docs", "needs": ["python", "go"],
        "assignee": "backend", "metadata": {"a": 1, "b": {"c": [True]}, "d": "plain"}, "key": "changes-1", "attempts": 0,
        "status": "pending", "created_by": "human", "completed_at": None, "ready": False, "blocked_by": ["task-2", "task-3"],
    }  # fmt: skip
    assert {field: task[field] for field in told} == told
    assert task["created_at"].endswith("Z")


def test_a_description_of_a_dash_is_read_from_stdin(team):
    team("create", "Payment API", "-d", "-", stdin="first line\nsecond line\n")
    assert team("show", "1", "--json").json["task"]["description"].splitlines() == ["first line", "second line"]


def test_the_same_key_and_content_create_nothing_twice(story):
    before = ledger(story.home)
    assert story("create", "Fuzzing", "--needs", "rust", "--key", "fuzz").out == 'task-8 exists "Fuzzing"\n'
    assert ledger(story.home) == before
    assert story("create", "Fuzzing", "--needs", "rust", "--key", "fuzz", "--json").json["created"] is False


def test_a_task_that_was_assigned_is_claimed_first_by_that_agent_and_by_nobody_else(story):
    assert story("assign", "3", "backend").out == "task-3 pending for backend\n"
    story("--as", "db", "claim", "7", code=4)
    story("assign", "3", "--nobody")
    assert story("show", "3", "--json").json["task"]["assignee"] is None
    assert story("--as", "backend", "claim", "-q").out == "task-7\n"


def test_a_note_given_with_an_assignment_stands_in_the_next_brief(story):
    story("assign", "7", "backend", "--note", "the old docs are in /attic")
    assert "- human: the old docs are in /attic" in story("--as", "backend", "claim").out


def test_work_in_progress_is_taken_away_by_force_and_its_attempt_is_on_record(story):
    assert story("assign", "2", "backend", "--force").out == "task-2 pending for backend, taken from db\n"
    failure = story("show", "2", "--json").json["task"]["failures"][-1]
    assert (failure["attempt"], failure["agent"], failure["kind"]) == (2, "db", "reassigned")
    story("--as", "db", "complete", "2", "--attempt", "2", code=4)


def test_depend_adds_and_removes_what_a_task_waits_for(story):
    assert story("depend", "7", "--on", "2", "--on", "3").out == "task-7 pending blocked-by task-2,task-3\n"
    assert story("depend", "7", "--off", "3").out == "task-7 pending blocked-by task-2\n"
    assert story("depend", "7", "--off", "task-2", "--on", "1").out == "task-7 pending ready\n"


# join, whoami, heartbeat


def test_joining_again_begins_the_next_life_and_keeps_what_is_not_said_again(story):
    assert story("join", "db").out == "db_2 joined as teammate, can sql, holds task-2\n"
    assert story("join", "db", "--json").json["agent"]["model"] == "small-1"


def test_joining_with_a_process_records_which_process_it_is(team, public):
    team("join", "backend", "--pid", str(os.getpid()))
    process = json.loads((public / "agent_backend_1.json").read_text())["process"]
    assert process["pid"] == os.getpid()
    assert process["started"]


def test_the_first_lead_to_join_leads_the_team(team):
    assert team("join", "anna", "--role", "lead").out == "anna_1 joined as lead\n"
    assert team("settings").out.startswith("lead=anna\n")


def test_whoami_says_team_agent_and_what_is_held(story):
    assert story("whoami").out == f"human in team payments ({story.home}/tasks/payments)\n"
    assert story("--as", "db", "whoami").out == (
        'db_1, teammate of team payments, can sql\nholds task-2 "Payment API" attempt 2\n'
    )
    assert story("whoami", TEAMTASKS_AGENT="db_1").out.startswith("db_1, teammate of team payments")


def test_whoami_tells_a_replaced_life_that_it_was_replaced(story):
    story("join", "db")
    told = story("--as", "db_1", "whoami", code=None)
    assert "replaced by db_2" in told.out + told.err


def test_a_heartbeat_is_written_to_the_agents_own_file_and_not_to_the_ledger(story, public):
    before = ledger(story.home)
    told = story("--as", "db", "heartbeat", "--context", "65", "--doing", "writing tests")
    assert told.out == "db_1 alive context 65%\n"
    assert ledger(story.home) == before
    pulse = json.loads((public / "agent_db_1.json").read_text())
    assert (pulse["context_percent"], pulse["doing"]) == (65, "writing tests")


# claim, brief, note, complete, fail, release


def test_claim_gives_the_best_task_assigned_first_then_priority_then_what_unblocks_most_then_oldest(team):
    for words in (["old"], ["unblocks"], ["waits", "--after", "2"], ["urgent", "--priority", "0"]):
        team("create", *words)
    team("join", "backend")
    team("create", "mine", "--assign", "backend", "--priority", "4")
    order = []
    for _ in range(5):
        order.append(team("--as", "backend", "claim", "--json").json["task"]["title"])
        team("--as", "backend", "complete", str(["", "old", "unblocks", "waits", "urgent", "mine"].index(order[-1])))
    assert order == ["mine", "urgent", "unblocks", "old", "waits"]


def test_an_agent_that_claims_again_is_given_the_same_task_and_attempt(story):
    first = story("--as", "backend", "claim", "--json").json
    again = story("--as", "backend", "claim", "--json").json
    assert (again["task"], again["attempt"], again["again"]) == (first["task"], 1, True)
    assert again["revision"] == first["revision"]


def test_the_next_life_takes_over_what_the_last_one_held_as_the_next_attempt(story):
    story("join", "db")
    taken = story("--as", "db_2", "claim", "--json").json
    assert (taken["task"]["id"], taken["attempt"]) == ("task-2", 3)
    story("--as", "db_1", "complete", "2", "--attempt", "2", code=4)


def test_another_takes_one_more_within_the_teams_limit(team):
    for title in ("one", "two", "three"):
        team("create", title)
    team("settings", "wip_limit=2")
    assert team("--as", "b", "claim", "-q").out == "task-1\n"
    assert team("--as", "b", "claim", "--another", "-q").out == "task-2\n"
    team("--as", "b", "claim", "--another", code=4)


def test_of_many_that_claim_at_once_each_gets_another_task_and_the_rest_are_told(team):
    for number in range(5):
        team("create", f"Task {number}")
    claims = [team.popen("--as", f"agent{number}x", "claim", "-q") for number in range(9)]
    answers = [(claim.communicate(timeout=30)[0].decode().strip(), claim.returncode) for claim in claims]
    assert sorted(answers) == [("", 6)] * 4 + [(f"task-{number}", 0) for number in range(1, 6)]


def test_claim_by_an_unknown_name_joins_it(story):
    story("create", "Changelog")
    assert story("--as", "newcomer", "claim", "-q").out == "task-9\n"
    assert story("--as", "newcomer", "whoami").out.startswith("newcomer_1, teammate of team payments")


def test_claim_wait_gets_the_task_as_soon_as_it_is_ready(story):
    waiting = story.popen("--as", "db2", "claim", "--wait", "--timeout", "20s", "-q")
    time.sleep(0.3)
    story("create", "Changelog")
    began = time.monotonic()
    assert waiting.communicate(timeout=20)[0] == b"task-9\n"
    assert time.monotonic() - began < 2


def test_claim_wait_gives_up_after_its_timeout_with_the_code_for_nothing_ready(story):
    began = time.monotonic()
    story("--as", "newcomer", "claim", "--wait", "--timeout", "1s", code=6)
    assert 0.9 < time.monotonic() - began < 5


def test_claim_wait_waits_for_the_first_task_of_an_empty_plan(team):
    waiting = team.popen("--as", "backend", "claim", "--wait", "--timeout", "20s", "-q")
    time.sleep(0.3)
    team("create", "Payment API")
    assert (waiting.communicate(timeout=20)[0], waiting.returncode) == (b"task-1\n", 0)


def test_claim_wait_ends_at_once_when_the_plan_is_finished(team):
    team("create", "Payment API")
    team("--as", "b", "claim")
    team("--as", "b", "complete", "1")
    began = time.monotonic()
    team("--as", "b", "claim", "--wait", "--timeout", "20s", code=10)
    assert time.monotonic() - began < 5


def test_the_commands_in_a_brief_run_as_they_stand(team):
    team("create", "Payment API", "--accept", "answers 201")
    lines = team("-t", "payments", "--as", "b", "claim").out.splitlines()
    commands = [line.strip().split() for line in lines if line.startswith("  teamtasks ")]
    assert [words[5] for words in commands] == ["complete", "fail", "release"]
    fail = [word if word != "TEXT" else "401" for word in commands[1][1:]]
    team(*fail)
    lines = team("-t", "payments", "--as", "b", "claim").out.splitlines()
    complete = next(line.split() for line in lines if " complete " in line)
    team(*[{"TEXT": "works", "N=TEXT": "1=tests"}.get(word, word) for word in complete[1:]])
    assert team("show", "1", "--json").json["task"]["evidence"] == [{"criterion": 1, "text": "tests"}]


def test_notes_come_from_anybody_and_from_stdin(story):
    assert story("note", "3", "one").out == "task-3 noted\n"
    story("--as", "backend", "note", "3", "-", stdin="two")
    assert [(n["by"], n["text"]) for n in story("show", "3", "--json").json["task"]["notes"]] == [
        ("human", "one"), ("backend", "two"),
    ]  # fmt: skip


def test_a_text_from_stdin_ends_where_its_last_line_ends(story):
    story("note", "3", "-", stdin="one\n")
    story("--as", "db", "fail", "2", "--attempt", "2", "--reason", "-", stdin="two\nlines\n")
    assert story("show", "3", "--json").json["task"]["notes"][-1]["text"] == "one"
    assert story("show", "2", "--json").json["task"]["failures"][-1]["reason"] == "two\nlines"


def test_complete_keeps_result_and_evidence_and_says_what_is_ready_now(story):
    done = story(
        "--as", "db", "complete", "2", "--attempt", "2", "--result", "-", "--evidence", "2=idempotency key", "--evidence",
        "1=tests/test_pay.py", stdin="POST /pay works",
    )  # fmt: skip
    assert done.out == "task-2 completed, now ready: task-6\n"
    task = story("show", "2", "--json").json["task"]
    assert (task["status"], task["completed_by"], task["result"]) == ("completed", "db", "POST /pay works")
    assert [(e["criterion"], e["text"]) for e in task["evidence"]] == [(1, "tests/test_pay.py"), (2, "idempotency key")]


def test_the_attempt_may_come_from_the_environment(story):
    story("--as", "db", "complete", "2", TEAMTASKS_ATTEMPT="2")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["complete", "2", "--attempt", "2"], "task-2 completed (already)\n"),
        (["fail", "2", "--attempt", "2", "--reason", "x"], "task-2 pending (already), attempt 2 failed; "),
        (["release", "2", "--attempt", "2", "--reason", "x"], "task-2 pending (already), attempt 2 released\n"),
    ],
)
def test_saying_it_again_counts_once_and_is_told_so(story, words, said):
    story("--as", "db", *words)
    before = ledger(story.home)
    assert story("--as", "db", *words).out.startswith(said)
    assert ledger(story.home) == before


def test_fail_sends_the_task_back_with_everything_that_was_learned(story, tmp_path):
    log = tmp_path / "run.log"
    log.write_text("x" * 9_000 + "\nHTTP 401\n")
    answer = story(
        "--as",
        "db",
        "fail",
        "2",
        "--attempt",
        "2",
        "--reason",
        "401 again",
        "--tried",
        "a",
        "--tried",
        "b",
        "--output",
        str(log),
    )
    assert answer.out == "task-2 pending, attempt 2 failed; the next brief says what was tried\n"
    task = story("show", "2", "--json").json["task"]
    failure = task["failures"][-1]
    assert (task["status"], task["assignee"], task["attempts"]) == ("pending", None, 2)
    assert (failure["agent"], failure["reason"], failure["tried"]) == ("db", "401 again", ["a", "b"])
    assert failure["output"].endswith("HTTP 401\n")
    assert len(failure["output"]) < 8_200
    assert "- attempt 2: db failed: 401 again\n  tried: a\n  tried: b\n" in story("--as", "backend", "claim", "2").out


def test_release_gives_it_back_without_blame(story):
    answer = story("--as", "db", "release", "2", "--attempt", "2", "--reason", "the review comes first")
    assert answer.out == "task-2 pending, attempt 2 released\n"
    assert story("show", "2", "--json").json["task"]["failures"][-1]["kind"] == "released"


@pytest.mark.parametrize("who", ["human", "anna"])
def test_the_lead_and_the_human_may_end_anybodys_work_by_force(story, who):
    story("--as", who, "complete", "2", "--force", "--result", "decided")
    task = story("show", "2", "--json").json["task"]
    assert (task["status"], task["completed_by"]) == ("completed", who)


# list, show, ready, blocked, why


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (["--status", "pending"], [3, 4, 5, 6, 7, 8]),
        (["--status", "in_progress"], [2]),
        (["--status", "in-progress"], [2]),
        (["--status", "completed"], [1]),
        (["--status", "ready"], [3, 7, 8]),
        (["--status", "blocked"], [4, 5, 6]),
        (["--ready"], [3, 7, 8]),
        (["--blocked"], [4, 5, 6]),
        (["--assignee", "backend"], [7]),
        (["--assignee", "db"], [1, 2]),
        (["--group", "api"], [2]),
        (["--assignee", "db", "--status", "completed"], [1]),
    ],
)
def test_list_shows_what_matches_every_filter(story, words, ids):
    assert story("list", *words, "-q").out.split() == [f"task-{id}" for id in ids]


def test_list_says_on_stderr_when_nothing_matches(story):
    answer = story("list", "--group", "nobody")
    assert (answer.out, answer.err.count("\n")) == ("", 1)
    assert "no task to show" in answer.err


def test_ready_shows_an_agent_only_what_it_may_claim(story):
    assert story("ready", "-q").out.split() == ["task-3", "task-7", "task-8"]
    assert story("--as", "backend", "ready", "-q").out.split() == ["task-7"]
    story("join", "frontend", "--can", "react")
    assert story("--as", "frontend", "ready", "-q").out.split() == ["task-3"]


def test_ids_are_forgiving(story):
    told = {story("show", id, "-q").out for id in ("2", "task-2", "#2", "Task 2", "TASK-2", "02")}
    assert told == {"task-2\n"}


# doctor, schema, demo, --version


def test_doctor_finds_a_good_ledger_healthy(story):
    assert story("doctor").out.splitlines()[-1] == "healthy"


def test_doctor_fix_restores_the_last_good_version_and_keeps_the_broken_file(story, public):
    good = (public / "tasks.json").read_bytes()
    (public / "tasks.json").write_bytes(good[:-200] + b"oops")
    age(public / "tasks.json")
    assert story("doctor", code=1).out.splitlines()[-1] == "1 problem(s)"
    assert "fixed: " in story("doctor", "--fix").out
    assert (public / "tasks.json").read_bytes() == good
    kept = [data for place, data in files(story.home).items() if "quarantine" in place]
    assert kept == [good[:-200] + b"oops"]
    assert story("doctor").out.splitlines()[-1] == "healthy"


def test_schema_lists_the_schemas_and_prints_one(cli):
    names = cli("schema", "-q").out.split()
    assert names == cli("schema").out.split()
    assert {"task", "agent", "team", "tasks", "answers"} <= set(names)
    assert cli("schema", "task", "-q").out
    assert json.loads(cli("schema", "task").out)["properties"]["status"]["enum"] == ["pending", "in_progress", "completed"]


def test_demo_needs_no_team_and_tells_its_story_in_a_directory_of_its_own(cli):
    told = cli("demo")
    assert files(cli.home) == {}
    assert (told.err, "error[bug]" in told.out, "\x1b" in told.out) == ("", False, False)
    assert told.out.count("\n$ teamtasks ") == cli("demo", "--json").json["commands"]


def test_version_is_a_line(cli):
    name, version = cli("--version").out.split()
    assert name == "teamtasks"
    assert version[0].isdigit()


# which team, which agent


def test_the_team_is_named_by_option_by_environment_or_is_the_only_one(story):
    assert story("whoami", "--json").json["team"] == "payments"
    story("init", "billing")
    assert story("-t", "billing", "whoami", "--json").json["team"] == "billing"
    assert story("whoami", "--json", TEAMTASKS_TEAM="billing").json["team"] == "billing"
    assert story("--team=payments", "whoami", "--json", TEAMTASKS_TEAM="billing").json["team"] == "payments"


def test_common_options_stand_before_or_after_the_command(story):
    assert story("--as", "db", "whoami").out == story("whoami", "--as", "db").out
    assert story("-q", "list").out == story("list", "-q").out


def test_claude_config_dir_and_the_home_directory_are_where_teams_live_otherwise(cli, tmp_path):
    cli("init", "one", TEAMTASKS_HOME="", CLAUDE_CONFIG_DIR=str(tmp_path / "config"))
    cli("init", "two", TEAMTASKS_HOME="", HOME=str(tmp_path))
    assert (tmp_path / "config" / "tasks" / "one" / "tasks.json").exists()
    assert (tmp_path / ".claude" / "tasks" / "two" / "tasks.json").exists()
