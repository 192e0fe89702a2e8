"""The text of tasks.json: splicing one line gives the very bytes that writing everything anew would give."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamtasks.store.files.tasksfile import HEADER, TasksFile, header_of, in_order, render

from .documents import AGENT_NAMES, BEFORE, HEAVY, TEXTS, TRAPS, agent, by_id, done, held, task

TEAM = {"created_at": BEFORE, "lead": None, "topology": "mesh", "settings": {"wip_limit": 1}}
EMPTY: dict[str, dict[str, Any]] = {"agent": {}, "key": {}, "task": {}}
HEAD = ("id", "status", "assignee", "priority", "dependencies", "needs", "group")
SUMMARY = (*HEAD, "title", "attempts", "claim", "size", "estimate")


def header(revision: int = 1, counters: Any = None, team: Any = None) -> Any:
    return header_of("l1", "payments", revision, counters or {"task": 0}, team or TEAM)


def file_of(documents: Any) -> TasksFile:
    return TasksFile(render(header(), {**EMPTY, **documents}))


# documents whose texts look like the structure around them

TITLES = TEXTS.map(lambda text: text or "x")


@st.composite
def trap_tasks(draw: st.DrawFn, id: str) -> Any:
    made = draw(st.sampled_from([task, held, done]))(1)
    fields = {
        "id": id,
        "title": draw(TITLES),
        "description": draw(TEXTS),
        "acceptance_criteria": draw(st.lists(TITLES, max_size=2)),
        "metadata": draw(st.dictionaries(TEXTS, TEXTS, max_size=2)),
        "needs": draw(st.lists(AGENT_NAMES, max_size=2)),
        "notes": [{"at": BEFORE, "by": "db", "text": draw(TITLES)}],
        "unknown": draw(TEXTS),
    }
    kept = draw(st.sets(st.sampled_from(["metadata", "needs", "notes", "unknown"])))
    return {**made, **{k: v for k, v in fields.items() if k in kept or k in made}}


PLACES = (
    st.tuples(st.just("task"), st.integers(1, 12).map("task-{}".format))
    | st.tuples(st.just("agent"), AGENT_NAMES | st.sampled_from(["agents", "keys", "tasks"]))
    | st.tuples(st.just("key"), TITLES | st.sampled_from(["agents", "keys", "tasks"]))
    | st.just(("team", "payments"))
)


@st.composite
def puts(draw: st.DrawFn, *, removing: bool) -> Any:
    """A commit's worth of documents, new ones and others in place of old ones; None removes."""
    chosen: dict[tuple[str, str], Any] = {}
    for kind, id in draw(st.lists(PLACES, min_size=1, max_size=5, unique=True)):
        documents = {
            "task": trap_tasks(id),
            "agent": st.builds(lambda text: agent(model=text), TITLES),
            "key": st.just({"task": "task-1", "digest": "d" * 32}),
            "team": st.builds(lambda text: {**TEAM, "purpose": text}, TEXTS),
        }[kind]
        chosen[kind, id] = None if removing and kind != "team" and draw(st.booleans()) else draw(documents)
    return chosen


@st.composite
def histories(draw: st.DrawFn) -> Any:
    return [draw(puts(removing=draw(st.booleans()))) for _ in range(draw(st.integers(1, 4)))]


def replayed(history: list[Any]) -> tuple[Any, Any]:
    """The documents after all commits, and the team's own, by the plainest means."""
    documents: Any = {kind: {} for kind in EMPTY}
    team = TEAM
    for commit in history:
        for (kind, id), document in commit.items():
            if kind == "team":
                team = document
            elif document is None:
                documents[kind].pop(id, None)
            else:
                documents[kind][id] = document
    return documents, team


def spliced(history: list[Any]) -> TasksFile:
    file = file_of({})
    for revision, commit in enumerate(history, 2):
        file = TasksFile(file.with_puts(commit, revision, {"task": revision}))
    return file


@HEAVY
@given(histories())
def test_splicing_commit_after_commit_gives_the_bytes_that_writing_everything_anew_gives(history: list[Any]) -> None:
    documents, team = replayed(history)
    revision = len(history) + 1
    assert spliced(history).raw == render(header(revision, {"task": revision}, team), documents)


@HEAVY
@given(histories())
def test_the_file_is_json_with_one_document_on_a_line(history: list[Any]) -> None:
    documents, team = replayed(history)
    raw = spliced(history).raw
    whole = json.loads(raw)
    assert {name: whole[name] for name in team} == team
    assert whole["tasks"] == list(documents["task"].values())
    assert (whole["agents"], whole["keys"]) == (documents["agent"], documents["key"])
    assert raw.count(b"\n") == 1 + 2 * 3 + sum(map(len, documents.values()))


@HEAVY
@given(histories())
def test_each_document_and_all_documents_are_what_json_reads(history: list[Any]) -> None:
    documents, team = replayed(history)
    file = spliced(history)
    for kind, of_kind in documents.items():
        assert file.all(kind) == of_kind
        assert list(file.all(kind)) == list(of_kind)
        assert len(file.lines(kind)) == len(of_kind)
        for id, document in of_kind.items():
            assert file.get(kind, id) == document
        assert file.get(kind, "task-99") is None
    assert file.all("team") == {"payments": team}
    assert file.get("team", "payments") == team
    assert set(file.header()) == {*HEADER, *team}


@HEAVY
@given(histories(), st.booleans(), st.booleans())
def test_heads_are_the_first_fields_of_the_documents(history: list[Any], unfinished: bool, summaries: bool) -> None:
    documents, _team = replayed(history)
    fields = SUMMARY if summaries else HEAD
    wanted = [t for t in documents["task"].values() if not (unfinished and t["status"] == "completed")]
    expected = [{name: t[name] for name in fields if name in t} for t in wanted]
    assert spliced(history).heads(unfinished=unfinished, summaries=summaries) == expected


# by example


def test_a_file_in_full() -> None:
    documents = {
        "agent": {"db": agent()},
        "key": {'a "key"\n': {"task": "task-1"}},
        "task": by_id(task(1, title="é"), done(2)),
    }
    assert render(header(7, {"task": 2}), documents).decode() == (
        '{"format":1,"ledger":"l1","team":"payments","revision":7,"counters":{"task":2},'
        '"created_at":"2026-03-29T09:52:00Z","lead":null,"topology":"mesh","settings":{"wip_limit":1},\n'
        '"agents":{\n'
        '"db":{"role":"teammate","capabilities":[],"incarnation":1,"joined_at":"2026-03-29T09:52:00Z","holds":[]}\n'
        "},\n"
        '"keys":{\n'
        '"a \\"key\\"\\n":{"task":"task-1"}\n'
        "},\n"
        '"tasks":[\n'
        '{"id":"task-1","status":"pending","assignee":null,"priority":2,"dependencies":[],"title":"é","attempts":0,'
        '"description":"","acceptance_criteria":[],"created_at":"2026-03-29T09:52:00Z","created_by":"boss","completed_at":null},\n'
        '{"id":"task-2","status":"completed","assignee":"backend","priority":2,"dependencies":[],'
        '"title":"Title 2","attempts":1,"description":"","acceptance_criteria":[],'
        '"created_at":"2026-03-29T09:52:00Z","created_by":"boss",'
        '"completed_at":"2026-03-29T09:52:00Z","completed_by":"backend"}\n'
        "]}\n"
    )


def test_an_empty_file_in_full() -> None:
    assert file_of({}).raw.decode().partition(",\n")[2] == '"agents":{\n},\n"keys":{\n},\n"tasks":[\n]}\n'
    assert file_of({}).heads(unfinished=False, summaries=False) == []


def test_a_change_replaces_only_its_line_and_the_first() -> None:
    before = file_of({"task": by_id(task(1), task(2), task(3))})
    after = before.with_puts({("task", "task-2"): task(2, title="New")}, 2, {"task": 3})
    changed = [(a, b) for a, b in zip(before.raw.split(b"\n"), after.split(b"\n"), strict=True) if a != b]
    assert len(changed) == 2
    assert b'"title":"New"' in changed[1][1]


def test_fields_come_in_the_order_that_scans_rely_on_and_unknown_ones_last() -> None:
    shuffled = {"unknown": 1, "description": "", "title": "t", "status": "pending", "id": "task-1"}
    assert list(in_order(shuffled)) == ["id", "status", "title", "description", "unknown"]
    assert in_order(shuffled) == shuffled


def test_one_id_is_not_found_in_another() -> None:
    file = file_of({"task": by_id(task(11), task(1), task(111)), "agent": {"ab": agent(model="m"), "b": agent()}})
    assert file.get("task", "task-1") == task(1)
    assert file.get("task", "task-2") is None
    assert file.get("agent", "b") == agent()
    assert file.get("agent", "a") is None


@pytest.mark.parametrize("text", TRAPS)
def test_a_text_that_looks_like_structure_is_a_text(text: str) -> None:
    tricky = by_id(task(2, title=text, description=text, notes=[{"at": BEFORE, "by": text, "text": text}]), task(1))
    file = file_of({"task": tricky, "key": {text: {"task": "task-1"}}})
    assert file.all("task") == tricky
    assert file.get("task", "task-1") == task(1)
    assert file.get("key", text) == {"task": "task-1"}
    assert [head["id"] for head in file.heads(unfinished=True, summaries=True)] == ["task-2", "task-1"]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(file_of({}).raw, 1, id="ours"),
        pytest.param(render(header(42), EMPTY), 42, id="ours-42"),
        (b'{"format":1,"revision":7,\n"tasks":[]}', 7),
        (b'{"format":1,\n"revision":7}', 0),
        (b'{"revision":"7",\n', 0),
        (b'{"revision":true,\n', 0),
        (b"", 0),
        (b"{", 0),
        (b'{"revision":7', 0),
        (b"[1,\n2]", 0),
        (b'\xff{"revision":7,\n', 0),
        pytest.param(b"[" * 100_000 + b",\n", 0, id="deep"),
    ],
)
def test_a_file_ours_or_not_says_which_revision_it_is_or_none(raw: bytes, expected: int) -> None:
    revision = TasksFile(raw).revision()
    assert (revision, type(revision)) == (expected, int)


def test_another_team_is_not_in_this_file() -> None:
    assert file_of({}).get("team", "refunds") is None
