"""The quick check and jsonschema's full report say the same of every document, and the schemas are what they claim to be."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from teamtasks.domain.errors import InvalidData
from teamtasks.store import validate
from teamtasks.store.files.tasksfile import HEADER, SECTIONS, TASK_ORDER

from .documents import BEFORE, KINDS, PROPERTY, agent, held, pulse, task, valid

VALIDATORS = {kind: Draft7Validator(validate.load(kind)) for kind in KINDS}
SCHEMAS = sorted(path.stem for path in Path(validate.PLACE).glob("*.json"))


def passes(kind: str, document: Any) -> bool:
    try:
        validate.check(kind, document)
    except validate.Mismatch:
        return False
    return True


def reported(kind: str, document: Any) -> bool:
    return next(validate.report(kind, document), None) is not None


def conforms(kind: str, document: Any) -> bool:
    return VALIDATORS[kind].is_valid(document)


# the two agree

JUNK: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    5,
    51,
    101,
    1_001,
    100_001,
    2.5,
    1e-300,
    "",
    " ",
    "x",
    "x" * 81,
    "x" * 201,
    "x" * 501,
    "x" * 2_001,
    "x" * 64_001,
    "pending",
    "in-progress",
    "task-0",
    "task-01",
    "task-7",
    "human",
    "backend_2",
    "Backend",
    "2026-13-01T00:00:00Z",
    "2026-01-01T00:00:00+00:00",
    BEFORE,
    [],
    {},
    ["task-1", "task-1"],
    ["a", "b"],
    [1],
    [None],
    ["x"] * 51,
    [{}] * 21,
    {"a": 1},
    {"wip_limit": 0},
    {"incarnation": 1, "attempt": 1, "at": BEFORE},
]


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, each in inner for path in paths(each, (*at, key)))]


@st.composite
def spoilt(draw: st.DrawFn, kind: str) -> Any:
    """A valid document with one thing done to it: a value replaced, dropped, doubled, or something added."""
    document = copy.deepcopy(draw(valid(kind)))
    path = draw(st.sampled_from(paths(document)))
    junk = draw(st.sampled_from(JUNK))
    if not path:
        return {**document, "x-more": junk} if draw(st.booleans()) else junk
    holder = document
    for step in path[:-1]:
        holder = holder[step]
    act = draw(st.sampled_from(["replace", "drop", "double", "add"]))
    if act == "drop":
        del holder[path[-1]]
    elif act == "double" and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[path[-1]]))
    elif act == "add" and isinstance(holder, dict):
        holder["x-more"] = junk
    else:
        holder[path[-1]] = junk
    return document


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_schema_allows_passes_the_quick_check(kind: str) -> None:
    @PROPERTY
    @given(valid(kind))
    def holds(document: Any) -> None:
        assert conforms(kind, document)
        validate.check(kind, document)

    holds()


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_spoilt_document_the_quick_check_and_jsonschema_think_the_same(kind: str) -> None:
    @PROPERTY
    @given(spoilt(kind))
    def holds(document: Any) -> None:
        assert passes(kind, document) == conforms(kind, document)

    holds()


@pytest.mark.parametrize(
    ("kind", "document"),
    [
        ("task", task(priority=2.0)),
        ("task", task(attempts=0.0)),
        ("agent", agent(incarnation=1.0)),
        ("pulse", pulse(context_percent=50.0)),
    ],
)
def test_they_think_the_same_of_a_whole_number_written_with_a_fraction(kind: str, document: Any) -> None:
    assert passes(kind, document) == (not reported(kind, document))


@pytest.mark.parametrize("format", [True, 1.0])
def test_they_think_the_same_of_a_format_that_only_equals_one(format: Any) -> None:
    assert passes("pulse", pulse(format=format)) == (not reported("pulse", pulse(format=format)))


@pytest.mark.parametrize(
    ("kind", "document"),
    [
        ("task", task(assignee="backend\n")),
        ("task", task(dependencies=["task-1\n"])),
        ("task", task(created_at=BEFORE + "\n")),
        ("task", task(group="api\n")),
        ("agent", agent(capabilities=["sql\n"])),
        ("pulse", pulse(agent="backend\n")),
    ],
)
def test_a_line_end_behind_a_name_an_id_or_a_time_is_refused_by_both(kind: str, document: Any) -> None:
    """To Python's ``re`` a ``$`` matches before a last line end: a pattern must not rely on it."""
    assert not passes(kind, document)
    assert reported(kind, document)


# patterns

SPOILERS = ["\n", "A", " ", "_", "_1", "-", "0", "é", "٣", "²", "ſ", ".", "Z", "\x00", "/"]


@pytest.mark.parametrize("pattern", validate.PATTERNS)
def test_every_pattern_that_is_written_out_is_its_regular_expression_by_full_match(pattern: str) -> None:
    good = st.from_regex(pattern, fullmatch=True)
    bad = st.builds(
        lambda text, place, wrong, cut: text[: place % (len(text) + 1)] + wrong + text[place % (len(text) + 1) + cut :],
        good,
        st.integers(0, 70),
        st.sampled_from(SPOILERS),
        st.integers(0, 2),
    )
    reserved = st.sampled_from(["all", "lead", "human", "system", "nobody", "a_1", "lead_1", "", "a" * 64, "a" * 65])

    @PROPERTY
    @given(good | bad | reserved | st.text(max_size=40) | st.text("a0_-", max_size=70))
    def holds(text: str) -> None:
        assert bool(validate.PATTERNS[pattern](text)) == bool(re.fullmatch(pattern, text))
        if not text.endswith("\n"):
            assert bool(validate.PATTERNS[pattern](text)) == bool(re.search(pattern, text))

    holds()


def test_every_pattern_of_the_schemas_is_written_out() -> None:
    used = {
        pattern
        for name in SCHEMAS
        if name != "answers"
        for pattern in re.findall(r'"pattern": "([^"]+)"', Path(validate.PLACE, f"{name}.json").read_text())
    }
    assert used == set(validate.PATTERNS)


# what is wrong, and where


@pytest.mark.parametrize(
    ("kind", "document", "path", "why"),
    [
        ("task", {**task(), "status": "done"}, ("status",), "must be one of pending, in_progress, completed, not 'done'"),
        ("task", {**task(), "priority": 5}, ("priority",), "must be at most 4"),
        ("task", {**task(), "priority": -1}, ("priority",), "must be at least 0"),
        ("task", {**task(), "priority": True}, ("priority",), "must be integer, not True"),
        ("task", {**task(), "assignee": 7}, ("assignee",), "must be string or null, not 7"),
        ("task", {**task(), "assignee": "A"}, ("assignee",), "is not of the right form: 'A'"),
        ("task", {**task(), "title": ""}, ("title",), "must have at least 1 character(s)"),
        ("key", {"task": "task-1", "digest": "abc"}, ("digest",), "must have at least 32 character(s)"),
        ("task", {**task(), "title": "x" * 201}, ("title",), "must have at most 200 characters"),
        ("task", {**task(), "dependencies": ["task-1", "task-1"]}, ("dependencies",), "must not repeat itself"),
        ("task", {**task(), "dependencies": ["task-1", 2]}, ("dependencies", 1), "must be string, not 2"),
        ("task", {**task(), "acceptance_criteria": ["x"] * 51}, ("acceptance_criteria",), "must have at most 50 entries"),
        ("task", held(claim={"incarnation": 1, "attempt": 1}), ("claim",), "has no 'at'"),
        ("task", [], (), "must be object, not []"),
        ("pulse", pulse(format=2), ("format",), "must be 1"),
        (
            "pulse",
            pulse(clock={"boot": "b", "monotonic": "x" * 200}),
            ("clock", "monotonic"),
            f"must be number, not '{'x' * 118}…",
        ),
    ],
)
def test_the_first_thing_that_is_wrong_is_named_with_its_path(kind: str, document: Any, path: Any, why: str) -> None:
    with pytest.raises(validate.Mismatch) as wrong:
        validate.check(kind, document)
    assert (wrong.value.path, wrong.value.why) == (path, why)


def test_a_report_tells_everything_that_is_wrong_the_outermost_first() -> None:
    broken = {**held(claim={"incarnation": 0, "attempt": 1, "at": BEFORE}), "priority": 9, "group": "A"}
    del broken["title"]
    told = [wrong.path for wrong in validate.report("task", broken)]
    assert told[0] == ()
    assert set(told) == {(), ("priority",), ("group",), ("claim", "incarnation")}
    assert told[-1] == ("claim", "incarnation")


def test_before_it_is_written_a_broken_document_is_refused_with_the_schema_to_look_at() -> None:
    with pytest.raises(InvalidData) as refusal:
        validate.check_document("task", "task-1", held(claim={"incarnation": 1, "attempt": 0, "at": BEFORE}))
    assert refusal.value.message == "task task-1 would not be valid: claim.attempt must be at least 1"
    assert refusal.value.hint == "teamtasks schema task"
    assert refusal.value.facts == {"kind": "task", "id": "task-1"}


def test_before_it_is_written_a_task_is_what_its_place_says() -> None:
    with pytest.raises(InvalidData, match=r"^task task-2 would say of itself that it is task-1$"):
        validate.check_document("task", "task-2", task(1))


@pytest.mark.parametrize("value", [float("nan"), "\ud800", {1, 2}])
def test_what_cannot_be_written_is_refused_before_it_is(value: Any) -> None:
    with pytest.raises(InvalidData, match=r"^task task-1 cannot be written as JSON: "):
        validate.check_document("task", "task-1", task(1, metadata={"a": value}))


def test_a_good_document_may_be_written() -> None:
    validate.check_document("task", "task-1", task(1, metadata={"a": [1, 2.5, None, "é"]}, unknown={"kept": True}))


# the schemas


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_is_valid_draft_07_and_named_by_its_file(name: str) -> None:
    schema = json.loads(Path(validate.PLACE, f"{name}.json").read_text())
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert (schema["$id"], schema["title"]) == (f"{name}.json", name)
    Draft7Validator.check_schema(schema)


UNDERSTOOD = {
    "$schema", "$id", "$ref", "title", "description", "definitions", "type", "const", "enum", "required", "properties",
    "additionalProperties", "propertyNames", "items", "uniqueItems", "maxItems", "minimum", "maximum", "minLength",
    "maxLength", "pattern",
}  # fmt: skip


def words(schema: Any) -> set[str]:
    """Every keyword that a schema uses."""
    found = set(schema)
    for name in ("properties", "definitions"):
        for inner in schema.get(name, {}).values():
            found |= words(inner)
    for name in ("items", "additionalProperties", "propertyNames"):
        if isinstance(schema.get(name), dict):
            found |= words(schema[name])
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_the_schemas_use_only_what_the_quick_check_understands(kind: str) -> None:
    assert words(validate.load(kind)) <= UNDERSTOOD


def test_the_order_on_disk_names_every_field_of_a_task_once() -> None:
    assert sorted(TASK_ORDER) == sorted(validate.load("task")["properties"])


def test_the_schema_of_the_whole_file_names_its_header_the_team_and_its_sections() -> None:
    whole = validate.load("tasks")
    expected = {*HEADER, *validate.load("team")["properties"], *SECTIONS.values()}
    assert set(whole["properties"]) == set(whole["required"]) == expected


def test_what_is_the_same_in_several_schemas_is_said_with_the_same_words() -> None:
    seen: dict[str, str] = {}
    for name in SCHEMAS:
        for definition, said in validate.load(name).get("definitions", {}).items():
            if name != "answers":
                assert seen.setdefault(definition, json.dumps(said)) == json.dumps(said)
