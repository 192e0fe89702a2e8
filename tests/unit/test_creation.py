"""A new task: what is asked for, checked and put in order; and what makes two requests the same one."""

from __future__ import annotations

from typing import Any

import pytest

from teamtasks.domain.creation import Wish, same_request
from teamtasks.domain.errors import InvalidInput, KeyReused
from teamtasks.store import validate
from teamtasks.store.files.tasksfile import TASK_ORDER

from .documents import NOW, task

EVERYTHING: dict[str, Any] = {
    "description": "What and why",
    "acceptance_criteria": ["it runs", "it is fast"],
    "dependencies": ["task-1", "task-2"],
    "priority": 0,
    "size": "small",
    "estimate": 15,
    "group": "api",
    "needs": ["sql", "go"],
    "assignee": "backend",
    "metadata": {"url": "https://example.com", "deep": [1, {"x": None}]},
    "key": "once",
}


def granted(title: str = "Title 1", **wishes: Any) -> Any:
    return Wish(title, **wishes).granted(id="task-1", now=NOW, by="boss")


def test_a_title_is_enough() -> None:
    assert granted() == task(1, created_at=NOW)


def test_everything_that_is_asked_for_is_in_the_task() -> None:
    assert granted("Pay", **EVERYTHING) == task(1, created_at=NOW, title="Pay", **EVERYTHING)


def test_what_is_granted_is_valid_and_in_the_order_on_disk() -> None:
    made = granted(**EVERYTHING)
    validate.check("task", made)
    assert list(made) == [name for name in TASK_ORDER if name in made]


def test_optional_fields_that_are_empty_are_absent() -> None:
    assert granted(needs=[], metadata={}) == task(1, created_at=NOW)


def test_a_title_loses_the_blanks_around_it() -> None:
    assert granted("  Pay\n")["title"] == "Pay"


def test_priority_zero_is_kept() -> None:
    assert granted(priority=0)["priority"] == 0


def test_dependencies_and_needs_are_named_once_in_their_order() -> None:
    made = granted(dependencies=["task-3", "task-2", "task-3"], needs=["sql", "go", "sql"])
    assert (made["dependencies"], made["needs"]) == (["task-3", "task-2"], ["sql", "go"])


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"title": ""}, "the title is empty"),
        ({"title": " \n"}, "the title is empty"),
        ({"title": "x" * 201}, "the title has 201 characters, at most 200 are kept"),
        ({"title": "\ud800"}, "the title is not valid UTF-8 text"),
        ({"description": "x" * 64_001}, "the description has 64,001 characters, at most 64,000 are kept"),
        ({"acceptance_criteria": ["a", " "]}, "an acceptance criterion is empty"),
        ({"acceptance_criteria": ["x" * 2_001]}, "an acceptance criterion has 2,001 characters, at most 2,000 are kept"),
        ({"acceptance_criteria": ["x"] * 51}, "at most 50 acceptance criteria; split the task"),
        ({"priority": 5}, "priority is one of 0, 1, 2, 3, 4, not 5"),
        ({"priority": -1}, "priority is one of 0, 1, 2, 3, 4, not -1"),
        ({"size": "huge"}, "size is one of small, medium, large, not 'huge'"),
        ({"estimate": 0}, "an estimate is 1 to 100,000 minutes, not 0"),
        ({"estimate": 100_001}, "an estimate is 1 to 100,000 minutes, not 100001"),
        (
            {"group": "A b"},
            "'A b' cannot name a group: use 1 to 64 of a-z, 0-9, _ and -, beginning and ending with a letter or digit",
        ),
        (
            {"needs": ["SQL"]},
            "'SQL' cannot name a capability: use 1 to 64 of a-z, 0-9, _ and -, beginning and ending with a letter or digit",
        ),
        ({"key": " "}, "the key is empty"),
        ({"key": "k" * 201}, "the key has 201 characters, at most 200 are kept"),
        ({"metadata": {"a": "\ud800"}}, "the metadata is not valid UTF-8 text"),
    ],
)
def test_what_cannot_be_granted_is_refused(wishes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        granted(**wishes)
    assert refusal.value.message == message


@pytest.mark.parametrize("metadata", [{"a": float("nan")}, {"a": float("inf")}, {"a": {1, 2}}, {"a": b"x"}])
def test_metadata_that_is_no_json_is_refused(metadata: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"^the metadata is not JSON: "):
        granted(metadata=metadata)


@pytest.mark.parametrize("metadata", [{1: "a"}, {"deep": [{None: "a"}]}, {1: "a", "1": "b"}])
def test_names_in_metadata_are_texts(metadata: dict[Any, Any]) -> None:
    """Else ``{1: …, "1": …}`` would be written as one object that has a key twice."""
    with pytest.raises(InvalidInput):
        granted(metadata=metadata)


def test_metadata_is_capped() -> None:
    assert granted(metadata={"a": "x" * 15_992})["metadata"]["a"] == "x" * 15_992
    with pytest.raises(InvalidInput, match=r"^the metadata has 16,001 characters, at most 16,000 are kept$"):
        granted(metadata={"a": "x" * 15_993})


def test_metadata_too_deep_to_be_read_again_is_refused() -> None:
    """What a strict reader would refuse in a hand-edited tasks.json must not get there by our own hand."""
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    with pytest.raises(InvalidInput):
        granted(metadata={"a": deep})


@pytest.mark.parametrize("estimate", [1, 100_000])
def test_an_estimate_may_be_anything_from_a_minute_to_ten_weeks(estimate: int) -> None:
    assert granted(estimate=estimate)["estimate"] == estimate


# the same request


def test_the_same_request_has_the_same_digest_whatever_its_key() -> None:
    digest = Wish("Pay", **EVERYTHING).digest()
    assert Wish("Pay", **{**EVERYTHING, "key": "another"}).digest() == digest
    assert len(digest) == 32


@pytest.mark.parametrize("name", [name for name in EVERYTHING if name != "key"])
def test_a_request_that_differs_in_one_field_has_another_digest(name: str) -> None:
    less = {k: v for k, v in EVERYTHING.items() if k != name}
    assert Wish("Pay", **less).digest() != Wish("Pay", **EVERYTHING).digest()


def test_another_title_is_another_request() -> None:
    assert Wish("Pay").digest() != Wish("Payment").digest()


def test_the_order_in_which_metadata_was_written_does_not_make_another_request() -> None:
    assert Wish("Pay", metadata={"a": 1, "b": 2}).digest() == Wish("Pay", metadata={"b": 2, "a": 1}).digest()


def test_a_key_that_is_used_again_for_the_same_names_the_task_it_created() -> None:
    wish = Wish("Pay", key="once")
    assert same_request("once", {"task": "task-4", "digest": wish.digest()}, wish) == "task-4"


def test_a_key_that_is_used_again_for_something_else_is_refused() -> None:
    with pytest.raises(KeyReused) as refusal:
        same_request("once", {"task": "task-4", "digest": Wish("Pay").digest()}, Wish("Refund", key="once"))
    assert refusal.value.message == "the key 'once' created task-4 with other content"
    assert refusal.value.hint == "teamtasks show task-4, or take another key"
    assert refusal.value.facts == {"key": "once", "task": "task-4"}


def test_a_wish_does_not_change_when_what_it_was_made_of_does() -> None:
    given: dict[str, Any] = {
        "metadata": {"a": 1},
        "dependencies": ["task-1"],
        "acceptance_criteria": ["x"],
        "needs": ["sql"],
    }
    wish = Wish("Pay", **given)
    digest = wish.digest()
    given["metadata"]["b"] = 2
    for name in ("dependencies", "acceptance_criteria", "needs"):
        given[name].append("more")
    assert wish.digest() == digest
