"""One suite, every store. And what the hostile one does must really happen, or it proves nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from every_store import new_store
from hostile_store import LAG, HostileStore
from store_suite import StoreContract, new_task, put, task

from teamtasks.domain.documents import Head, Summary
from teamtasks.domain.errors import LockTimeout, TaskNotFound
from teamtasks.store.files import layout
from teamtasks.store.files.store import FileStore


def journal(store: FileStore) -> list[dict[str, Any]]:
    path = Path(layout.private(store.home, store.team), layout.JOURNAL)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class TestMemoryStore(StoreContract):
    def open(self, place: Path) -> Any:
        return new_store("memory", place)

    def history(self, store: Any) -> list[dict[str, Any]]:
        return list(store.history)


class TestFileStore(StoreContract):
    def open(self, place: Path) -> Any:
        return new_store("files", place)

    def again(self, store: Any) -> Any:
        return FileStore(store.home, store.team)

    def history(self, store: Any) -> list[dict[str, Any]]:
        return journal(store)

    def test_a_writer_that_waits_too_long_changes_nothing(self, store: Any) -> None:
        impatient = FileStore(store.home, store.team, lock_timeout=0.05)

        def body(tx: Any) -> None:
            with pytest.raises(LockTimeout, match=f"pid {os.getpid()}"):
                put(impatient, ("task", "task-1", task("task-1")))

        _value, revision = store.transact(body, by="human")
        assert (revision, store.read().all("task")) == (1, {})
        assert put(impatient, ("task", "task-1", task("task-1"))) == 2

    def test_what_was_healed_is_said_in_one_line(self, store: Any) -> None:
        put(store, ("task", "task-1", task("task-1")))
        Path(store.place, layout.TASKS).unlink()
        said: list[str] = []
        view = FileStore(store.home, store.team, notice=said.append).read()
        assert view.get("task", "task-1") == task("task-1")
        assert len(said) == 1
        assert "tasks.json" in said[0]
        assert "\n" not in said[0]


class TestHostileStore(StoreContract):
    def open(self, place: Path) -> Any:
        return new_store("hostile", place)

    def history(self, store: Any) -> list[dict[str, Any]]:
        return list(store.history)

    def settle(self, store: Any) -> None:
        store.catch_up()

    def race(self, store: Any, fn: Any, rival: Any) -> Any:
        store.rivals.append(rival)
        outcome = store.transact(fn, by="human")
        assert not store.rivals
        return outcome


@pytest.fixture
def hostile() -> HostileStore:
    store = new_store("hostile", Path())
    assert isinstance(store, HostileStore)
    return store


def test_the_hostile_store_runs_a_function_in_the_past_first(hostile: HostileStore) -> None:
    for priority in range(LAG + 1):
        put(hostile, ("task", "task-1", task("task-1", priority=priority)))
    seen = []
    hostile.transact(lambda tx: seen.append(tx.get("task", "task-1")["priority"]), by="human")
    assert seen == [0, LAG, LAG]


def test_the_hostile_store_runs_a_function_again_after_a_conflict(hostile: HostileStore) -> None:
    put(hostile, ("task", "task-1", task("task-1", priority=0)))
    hostile.rivals = [lambda n=n: put(hostile, ("task", "task-1", task("task-1", priority=n))) for n in (1, 3)]
    hostile.runs = 0
    assert hostile.transact(lambda tx: tx.get("task", "task-1")["priority"], by="human") == (3, 4)
    assert hostile.runs >= 5


def test_the_hostile_store_does_not_pass_on_a_refusal_that_is_no_longer_true(hostile: HostileStore) -> None:
    def find(tx: Any) -> str:
        if tx.get("task", "task-1") is None:
            raise TaskNotFound("no task-1")
        return "found"

    hostile.rivals = [lambda: put(hostile, ("task", "task-1", task("task-1")))]
    assert hostile.transact(find, by="human") == ("found", 2)


def test_the_scans_of_the_hostile_store_are_old_and_give_heads_only(hostile: HostileStore) -> None:
    ids = [new_task(hostile) for _ in range(LAG + 1)]
    assert [h["id"] for h in hostile.transact(lambda tx: tx.scan("task"), by="human")[0]] == ids[:1]
    hostile.catch_up()
    heads = hostile.transact(lambda tx: tx.scan("task"), by="human")[0]
    assert [h["id"] for h in heads] == ids
    assert all(set(head) <= set(Head.__annotations__) for head in heads)
    assert all(set(head) <= set(Summary.__annotations__) for head in hostile.read().scan("task"))


def test_on_the_hostile_store_a_decision_on_a_scan_alone_goes_wrong(hostile: HostileStore) -> None:
    def only_if_there_is_none(tx: Any) -> None:
        if not list(tx.scan("task")):
            id = tx.next_id("task")
            tx.get("task", id)
            tx.put("task", id, task(id))

    hostile.transact(only_if_there_is_none, by="human")
    hostile.transact(only_if_there_is_none, by="human")
    assert len(hostile.read().all("task")) == 2


def test_on_the_hostile_store_a_document_that_is_changed_in_place_is_noticed(hostile: HostileStore) -> None:
    put(hostile, ("task", "task-1", task("task-1")))

    def careless(tx: Any) -> None:
        found = tx.get("task", "task-1")
        found["priority"] = 0
        tx.put("task", "task-1", found)

    with pytest.raises(AssertionError, match="changed in place"):
        hostile.transact(careless, by="human")


@pytest.mark.parametrize("use", ["read", "beat", "transact"])
def test_on_the_hostile_store_a_function_that_uses_the_store_itself_is_noticed(hostile: HostileStore, use: str) -> None:
    uses: dict[str, Any] = {
        "read": hostile.read,
        "beat": lambda: hostile.beat("backend", 1, {}, acted=True),
        "transact": lambda: put(hostile, ("task", "task-1", task("task-1"))),
    }
    with pytest.raises(AssertionError, match="nothing but its transaction"):
        hostile.transact(lambda tx: uses[use](), by="human")
    assert hostile.read().revision == 1
