"""The contract of ``teamtasks.store.base``, sentence by sentence, as tests that every store must pass.

A store of your own is tested with a subclass and one factory:

    class TestMyStore(StoreContract):
        def open(self, place):              # a new ledger of the team "payments", with the document TEAM_DOCUMENT
            return MyStore.create(place, "payments", TEAM_DOCUMENT)

The other methods at the top have defaults that are right for a store that lives in this process and locks.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from teamtasks.domain.documents import Head, Summary
from teamtasks.domain.errors import InvalidData, TeamNotFound
from teamtasks.domain.names import is_task_id
from teamtasks.domain.times import is_iso
from teamtasks.store import validate
from teamtasks.store.base import KINDS, Rehearsal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TEAM = "payments"
NOW = "2026-03-29T10:00:00Z"
TEAM_DOCUMENT: dict[str, Any] = {"created_at": NOW, "lead": None, "topology": "mesh", "settings": {"wip_limit": 1}}
LONG = 30.0  # seconds that nothing here ever takes, unless it hangs


class Boom(Exception):
    """What a function raises that changes its mind."""


def task(id: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": id, "status": "pending", "assignee": None, "priority": 2, "dependencies": [], "title": "Some work",
        "attempts": 0, "description": "", "acceptance_criteria": [], "created_at": NOW, "created_by": "human",
        "completed_at": None, **changes,
    }  # fmt: skip


def agent(**changes: Any) -> dict[str, Any]:
    return {"role": "teammate", "capabilities": [], "incarnation": 1, "joined_at": NOW, "holds": [], **changes}


def key(**changes: Any) -> dict[str, Any]:
    return {"task": "task-1", "digest": "0" * 32, **changes}


DOCUMENTS = {
    "team": (TEAM, {**TEAM_DOCUMENT, "settings": {"wip_limit": 7}}),
    "agent": ("backend", agent(capabilities=["python"], model="a model")),
    "key": ("import 2026/03 \"first\", 'ü'\n", key()),
    "task": ("task-1", task("task-1", needs=["python"], group="api", metadata={"ticket": [1, None, {"a": "ü\n\u2028"}]})),
}

INVALID: dict[str, tuple[str, str, Any]] = {
    "no fields": ("task", "task-1", {}),
    "no object": ("task", "task-1", []),
    "a state that is derived": ("task", "task-1", task("task-1", status="blocked")),
    "a number as text": ("task", "task-1", task("task-1", priority="high")),
    "a truth as number": ("task", "task-1", task("task-1", priority=True)),
    "a repeated dependency": ("task", "task-1", task("task-1", dependencies=["task-2", "task-2"])),
    "a reserved name": ("task", "task-1", task("task-1", assignee="human")),
    "no time": ("task", "task-1", task("task-1", created_at="yesterday")),
    "an empty title": ("task", "task-1", task("task-1", title="")),
    "a list for an object": ("task", "task-1", task("task-1", metadata=[])),
    "another's id": ("task", "task-1", task("task-2")),
    "not a number": ("task", "task-1", task("task-1", metadata={"a": float("nan")})),
    "an infinity": ("task", "task-1", task("task-1", metadata={"a": float("inf")})),
    "no json": ("task", "task-1", task("task-1", metadata={"a": object()})),
    "half a character": ("task", "task-1", task("task-1", description="\ud800")),
    "an unknown role": ("agent", "backend", agent(role="boss")),
    "no life": ("agent", "backend", agent(incarnation=0)),
    "no id": ("agent", "backend", agent(holds=["7"])),
    "a key without digest": ("key", "k", {"task": "task-1"}),
    "a short digest": ("key", "k", key(digest="short")),
    "an unknown topology": ("team", TEAM, {**TEAM_DOCUMENT, "topology": "ring"}),
    "a limit of none": ("team", TEAM, {**TEAM_DOCUMENT, "settings": {"wip_limit": 0}}),
}

PROPERTY = settings(
    max_examples=25, deadline=None, database=None,
    # One store serves all examples, and each subclass runs the same test on its own.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)  # fmt: skip
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(st.characters(exclude_categories=("Cs",)), max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def put(store: Any, *documents: tuple[str, str, Any], by: str = "human") -> int:
    """Puts documents in one transaction; the revision."""

    def body(tx: Any) -> None:
        for kind, id, document in documents:
            tx.get(kind, id)
            tx.put(kind, id, document)

    return int(store.transact(body, by=by)[1])


def append(store: Any, *documents: Any) -> int:
    def body(tx: Any) -> None:
        for document in documents:
            tx.append("messages", document)

    return int(store.transact(body, by="human")[1])


def new_task(store: Any, **changes: Any) -> str:
    """A task under the next id; the id."""

    def body(tx: Any) -> str:
        id = str(tx.next_id("task"))
        tx.get("task", id)
        tx.put("task", id, task(id, **changes))
        return id

    return str(store.transact(body, by="human")[0])


def everything(store: Any) -> tuple[int, Any, Any]:
    """Revision, documents and log: what must be the same before and after something that changes nothing."""
    view = store.read()
    return view.revision, {kind: view.all(kind) for kind in KINDS}, store.tail("messages", 0)


def in_threads(*bodies: Callable[[], object], within: float = LONG) -> list[Any]:
    """Runs all at once and gives what each returned; an error of any is raised."""
    results: list[Any] = [None] * len(bodies)
    errors: list[BaseException] = []
    start = threading.Barrier(len(bodies))

    def run(index: int) -> None:
        try:
            start.wait(LONG)
            results[index] = bodies[index]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index,), daemon=True) for index in range(len(bodies))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(within)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]
    return results


@contextmanager
def nervous_threads() -> Iterator[None]:
    """Threads take turns as often as the interpreter can: what can come in between does."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class StoreContract:
    # What a subclass says about its store.

    def open(self, place: Path) -> Any:
        """A new ledger of the team ``TEAM``, with the document ``TEAM_DOCUMENT`` and nothing else."""
        raise NotImplementedError

    def again(self, store: Any) -> Any:
        """The same ledger, opened once more, as another process would."""
        return store

    def history(self, store: Any) -> list[dict[str, Any]]:
        """Every commit so far, oldest first, each with ``rev``, ``at``, ``by`` and ``events``."""
        raise NotImplementedError

    def settle(self, store: Any) -> None:
        """Makes scans show everything that was committed until now, where they would lag behind for ever."""

    def race(self, store: Any, fn: Callable[[Any], Any], rival: Callable[[], object]) -> Any:
        """``transact(fn)`` while a rival commits: after ``fn`` has read and before it ends; where the store locks, after."""
        threads = []

        def disturbed(tx: Any) -> Any:
            value = fn(tx)
            if not threads:
                threads.append(threading.Thread(target=rival, daemon=True))
                threads[0].start()
                threads[0].join(0.05)  # a store that locks makes the rival wait: give it its turn afterwards
            return value

        outcome = store.transact(disturbed, by="human")
        threads[0].join(LONG)
        assert not threads[0].is_alive()
        return outcome

    @pytest.fixture
    def store(self, tmp_path: Path) -> Any:
        return self.open(tmp_path)

    # Documents.

    def test_a_new_ledger_has_its_team_and_nothing_else(self, store: Any) -> None:
        view = store.read()
        assert view.all("team") == {TEAM: TEAM_DOCUMENT}
        assert {kind: view.all(kind) for kind in KINDS if kind != "team"} == {"agent": {}, "key": {}, "task": {}}
        assert view.revision == 1
        assert store.team == TEAM
        assert isinstance(store.place, str)

    def test_the_team_is_known_by_its_own_name_only(self, store: Any) -> None:
        assert store.read().get("team", TEAM) == TEAM_DOCUMENT
        assert store.read().get("team", "another") is None
        assert store.transact(lambda tx: tx.get("team", "another"), by="human")[0] is None

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_document_comes_back_as_it_was_put(self, store: Any, kind: str) -> None:
        id, document = DOCUMENTS[kind]
        put(store, (kind, id, document))
        for opened in (store, self.again(store)):
            assert opened.read().get(kind, id) == document
            assert opened.read().all(kind)[id] == document
            assert opened.transact(lambda tx: tx.get(kind, id), by="human")[0] == document

    @pytest.mark.parametrize("kind", KINDS)
    def test_fields_that_no_schema_names_are_kept(self, store: Any, kind: str) -> None:
        id, document = DOCUMENTS[kind]
        put(store, (kind, id, {**document, "of_our_own": {"deep": [1, 2]}}))
        assert self.again(store).read().get(kind, id)["of_our_own"] == {"deep": [1, 2]}

    @PROPERTY
    @given(data=st.dictionaries(st.text(st.characters(exclude_categories=("Cs",)), max_size=5), json_values, max_size=3))
    def test_any_json_comes_back_as_it_was_put(self, store: Any, data: Any) -> None:
        name = "".join(data)[:200] or "empty"
        put(store, ("task", "task-1", task("task-1", metadata=data)), ("key", name, key()))
        view = self.again(store).read()
        assert view.get("task", "task-1")["metadata"] == data
        assert view.get("key", name) == key()

    def test_what_is_not_there_is_none(self, store: Any) -> None:
        new_task(store)
        for kind, id in (("task", "task-999"), ("agent", "nobody-at-all"), ("key", "no such key")):
            assert store.read().get(kind, id) is None
            assert store.transact(lambda tx, kind=kind, id=id: tx.get(kind, id), by="human")[0] is None

    def test_whoever_changes_a_document_that_was_read_changes_nothing(self, store: Any) -> None:
        put(store, ("task", "task-1", task("task-1")))
        view = store.read()
        for found in (view.get("task", "task-1"), view.all("task")["task-1"], next(iter(view.scan("task")))):
            found["dependencies"].append("task-9")
            found["title"] = "something else"
        assert view.get("task", "task-1") == task("task-1")
        assert store.read().get("task", "task-1") == task("task-1")

    def test_whoever_changes_a_document_after_putting_it_changes_nothing(self, store: Any) -> None:
        document = task("task-1")
        put(store, ("task", "task-1", document))
        document["dependencies"].append("task-9")
        assert store.read().get("task", "task-1") == task("task-1")

    # A transaction.

    def test_everything_that_was_put_is_the_ledger_under_the_next_revision(self, store: Any) -> None:
        before = store.read().revision
        revision = put(store, ("task", "task-1", task("task-1")), ("agent", "backend", agent()), ("key", "k", key()))
        view = self.again(store).read()
        assert revision == before + 1 == view.revision
        assert (view.get("task", "task-1"), view.get("agent", "backend"), view.get("key", "k")) == (
            task("task-1"),
            agent(),
            key(),
        )

    def test_the_value_of_the_function_comes_out(self, store: Any) -> None:
        assert store.transact(lambda tx: ("any", "value"), by="human")[0] == ("any", "value")

    @pytest.mark.parametrize("error", [Boom, KeyError, TeamNotFound, OSError])
    def test_if_the_function_raises_nothing_has_changed_and_the_error_is_passed_on(self, store: Any, error: Any) -> None:
        put(store, ("task", "task-1", task("task-1")))
        before = everything(store)

        def body(tx: Any) -> None:
            tx.get("task", "task-1")
            tx.put("task", "task-1", None)
            tx.get("agent", "backend")
            tx.put("agent", "backend", agent())
            tx.append("messages", {"text": "never sent"})
            tx.record("something_done")
            raise error("changed my mind")

        with pytest.raises(error):
            store.transact(body, by="human")
        assert everything(self.again(store)) == before
        assert put(store, ("agent", "backend", agent())) == before[0] + 1

    def test_an_interrupt_changes_nothing_either(self, store: Any) -> None:
        before = everything(store)

        def body(tx: Any) -> None:
            tx.get("agent", "backend")
            tx.put("agent", "backend", agent())
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            store.transact(body, by="human")
        assert everything(self.again(store)) == before
        assert put(store, ("agent", "backend", agent())) == before[0] + 1

    def test_a_get_sees_the_put_before_it(self, store: Any) -> None:
        def body(tx: Any) -> Any:
            tx.get("task", "task-1")
            tx.put("task", "task-1", task("task-1"))
            put_first = tx.get("task", "task-1")
            tx.put("task", "task-1", task("task-1", title="better"))
            put_again = tx.get("task", "task-1")
            tx.put("task", "task-1", None)
            return put_first, put_again, tx.get("task", "task-1")

        seen, _revision = store.transact(body, by="human")
        assert seen == (task("task-1"), task("task-1", title="better"), None)

    def test_of_several_puts_of_one_document_the_last_one_counts(self, store: Any) -> None:
        put(store, *[("task", "task-1", task("task-1", priority=n)) for n in (0, 1, 3)])
        assert store.read().get("task", "task-1")["priority"] == 3

    @pytest.mark.parametrize("document", [task("task-1"), None])
    def test_a_put_without_a_get_is_refused_and_nothing_changes(self, store: Any, document: Any) -> None:
        before = everything(store)

        def body(tx: Any) -> None:
            tx.get("agent", "backend")
            tx.put("agent", "backend", agent())
            tx.put("task", "task-1", document)

        with pytest.raises(ValueError, match="task-1"):
            store.transact(body, by="human")
        assert everything(store) == before

    def test_a_scan_is_not_a_get(self, store: Any) -> None:
        put(store, ("task", "task-1", task("task-1")))
        self.settle(store)

        def body(tx: Any) -> None:
            list(tx.scan("task"))
            tx.put("task", "task-1", None)

        with pytest.raises(ValueError, match="task-1"):
            store.transact(body, by="human")
        assert store.read().get("task", "task-1") is not None

    def test_a_kind_or_a_log_that_does_not_exist_is_refused(self, store: Any) -> None:
        before = everything(store)
        with pytest.raises(ValueError, match="poem"):
            store.transact(lambda tx: tx.put("poem", "p", {}), by="human")
        with pytest.raises(ValueError, match="poems"):
            store.transact(lambda tx: tx.append("poems", {}), by="human")
        assert everything(store) == before

    @pytest.mark.parametrize("kind", ["agent", "key", "task"])
    def test_a_put_of_none_removes_the_document(self, store: Any, kind: str) -> None:
        id, document = DOCUMENTS[kind]
        put(store, (kind, id, document), ("task", "task-2", task("task-2")))
        revision = put(store, (kind, id, None))
        view = self.again(store).read()
        assert view.revision == revision
        assert view.get(kind, id) is None
        assert id not in view.all(kind)
        assert view.get("task", "task-2") == task("task-2")

    def test_a_removed_document_can_be_put_again(self, store: Any) -> None:
        for document in (task("task-1"), None, task("task-1", title="back")):
            put(store, ("task", "task-1", document))
        assert self.again(store).read().all("task") == {"task-1": task("task-1", title="back")}

    def test_a_ledger_without_its_team_is_refused(self, store: Any) -> None:
        before = everything(store)
        with pytest.raises((InvalidData, ValueError)):
            put(store, ("team", TEAM, None))
        assert everything(self.again(store)) == before

    @pytest.mark.parametrize(
        "steps",
        [
            [],
            [task("task-1")],
            [task("task-1", title="other"), task("task-1")],
            [None, task("task-1")],
        ],
        ids=["nothing", "the same again", "there and back", "removed and back"],
    )
    def test_where_nothing_changed_nothing_is_written(self, store: Any, steps: list[Any]) -> None:
        put(store, ("task", "task-1", task("task-1")))
        before, commits = everything(store), self.history(store)

        def body(tx: Any) -> str:
            tx.get("task", "task-1")
            for document in steps:
                tx.put("task", "task-1", document)
            tx.record("nothing_much")
            return "an answer"

        assert store.transact(body, by="human") == ("an answer", before[0])
        assert everything(self.again(store)) == before
        assert self.history(store) == commits

    def test_the_removal_of_what_is_not_there_writes_nothing(self, store: Any) -> None:
        before = everything(store)
        assert put(store, ("task", "task-9", None)) == before[0]
        assert everything(store) == before

    def test_all_gives_every_document_whole_own_puts_among_them(self, store: Any) -> None:
        put(store, *[("task", f"task-{n}", task(f"task-{n}")) for n in (1, 2, 3)], ("agent", "backend", agent()))

        def body(tx: Any) -> Any:
            for id in ("task-2", "task-3", "task-4"):
                tx.get("task", id)
            tx.put("task", "task-2", task("task-2", title="better"))
            tx.put("task", "task-3", None)
            tx.put("task", "task-4", task("task-4"))
            return tx.all("task"), tx.all("agent"), tx.all("key")

        (tasks, agents, keys), _revision = store.transact(body, by="human")
        assert tasks == {"task-1": task("task-1"), "task-2": task("task-2", title="better"), "task-4": task("task-4")}
        assert (agents, keys) == ({"backend": agent()}, {})

    @pytest.mark.parametrize("status", ["pending", "in_progress", "completed"])
    def test_a_scan_gives_at_least_the_head_of_every_document(self, store: Any, status: str) -> None:
        whole = task("task-1", status=status, assignee="backend", dependencies=["task-2"], needs=["python"], group="api")
        if status == "in_progress":
            whole["claim"] = {"incarnation": 1, "attempt": 1, "at": NOW}
        put(store, ("task", "task-1", whole), ("task", "task-2", task("task-2")), ("agent", "backend", agent()))
        self.settle(store)
        heads, _revision = store.transact(lambda tx: {h["id"]: h for h in tx.scan("task")}, by="human")
        assert set(heads) == {"task-1", "task-2"}
        assert {name: heads["task-1"][name] for name in Head.__annotations__} == {n: whole[n] for n in Head.__annotations__}
        assert len(store.transact(lambda tx: list(tx.scan("agent")), by="human")[0]) == 1

    def test_a_scan_of_the_unfinished_leaves_the_completed_out(self, store: Any) -> None:
        held = {"assignee": "backend", "claim": {"incarnation": 1, "attempt": 1, "at": NOW}}
        put(
            store,
            ("task", "task-1", task("task-1", status="completed", assignee="backend", completed_at=NOW)),
            ("task", "task-2", task("task-2", status="in_progress", **held)),
            ("task", "task-3", task("task-3", title='"status":"completed"', group="completed")),
        )
        self.settle(store)
        found = store.transact(lambda tx: [h["id"] for h in tx.scan("task", unfinished=True)], by="human")[0]
        assert sorted(found) == ["task-2", "task-3"]
        assert sorted(h["id"] for h in store.read().scan("task", unfinished=True)) == ["task-2", "task-3"]
        assert sorted(h["id"] for h in store.read().scan("task")) == ["task-1", "task-2", "task-3"]

    def test_the_time_is_iso_8601_in_utc_and_goes_on(self, store: Any) -> None:
        times = [store.transact(lambda tx: tx.now, by="human")[0] for _ in range(3)] + [store.read().now]
        assert all(map(is_iso, times))
        assert times == sorted(times)

    # Tracked: what a commit rests on is still so when it happens.

    def test_no_update_is_lost(self, store: Any) -> None:
        put(store, ("task", "task-1", task("task-1")))

        def attempt_more(tx: Any) -> None:
            found = tx.get("task", "task-1")
            tx.put("task", "task-1", {**found, "attempts": found["attempts"] + 1})

        def ten_times() -> None:
            for _ in range(10):
                store.transact(attempt_more, by="human")

        with nervous_threads():
            in_threads(*[ten_times] * 4)
        assert store.read().get("task", "task-1")["attempts"] == 40

    def test_a_commit_does_not_rest_on_a_document_that_was_changed_meanwhile(self, store: Any) -> None:
        put(store, ("task", "task-1", task("task-1", title="old")))
        revisions: list[int] = []

        def copy_the_title(tx: Any) -> None:
            tx.get("task", "task-2")
            tx.put("task", "task-2", task("task-2", title=tx.get("task", "task-1")["title"]))

        def rival() -> None:
            revisions.append(put(store, ("task", "task-1", task("task-1", title="new"))))

        _value, revision = self.race(store, copy_the_title, rival)
        assert store.read().get("task", "task-2")["title"] == ("old" if revision < revisions[0] else "new")

    def test_a_commit_does_not_rest_on_the_absence_of_a_document_that_was_put_meanwhile(self, store: Any) -> None:
        winners: list[str] = []

        def take(name: str) -> Any:
            def body(tx: Any) -> str | None:
                if tx.get("key", "the only one") is not None:
                    return None
                tx.put("key", "the only one", key())
                return name

            return body

        mine, _revision = self.race(store, take("me"), lambda: winners.append(store.transact(take("rival"), by="human")[0]))
        assert [mine, *winners].count(None) == 1

    def test_two_who_each_look_at_the_others_document_cannot_both_go_ahead(self, store: Any) -> None:
        put(store, ("agent", "a", agent()), ("agent", "b", agent()))

        def hold_unless(other: str, me: str) -> Any:
            def body(tx: Any) -> None:
                mine = tx.get("agent", me)
                if not tx.get("agent", other)["holds"]:
                    tx.put("agent", me, {**mine, "holds": ["task-1"]})

            return body

        self.race(store, hold_unless("b", "a"), lambda: store.transact(hold_unless("a", "b"), by="human"))
        held = [name for name, found in store.read().all("agent").items() if found["holds"]]
        assert len(held) == 1

    @pytest.mark.parametrize("change", ["added", "changed", "removed"])
    def test_a_commit_that_rests_on_all_documents_notices_any_change(self, store: Any, change: str) -> None:
        put(store, ("task", "task-1", task("task-1", priority=1)), ("task", "task-2", task("task-2", priority=2)))
        rivals = {
            "added": ("task", "task-3", task("task-3", priority=4)),
            "changed": ("task", "task-2", task("task-2", priority=3)),
            "removed": ("task", "task-2", None),
        }
        revisions: list[int] = []

        def add_up(tx: Any) -> None:
            total = sum(found["priority"] for found in tx.all("task").values())
            tx.put("team", TEAM, {**tx.get("team", TEAM), "settings": {"wip_limit": total}})

        _value, revision = self.race(store, add_up, lambda: revisions.append(put(store, rivals[change])))
        after = {"added": 7, "changed": 4, "removed": 1}[change]
        total = store.read().get("team", TEAM)["settings"]["wip_limit"]
        assert total == (3 if revision < revisions[0] else after)

    def test_what_a_transaction_reads_belongs_together_even_if_it_puts_nothing(self, store: Any) -> None:
        def both(title: str) -> int:
            return put(store, *[("task", id, task(id, title=title)) for id in ("task-1", "task-2")])

        both("old")

        def look(tx: Any) -> set[str]:
            return {tx.get("task", id)["title"] for id in ("task-1", "task-2")}

        rival: list[int] = []
        titles, revision = self.race(store, look, lambda: rival.append(both("new")))
        assert titles == ({"old"} if revision < rival[0] else {"new"})

    # Ids and revisions.

    def test_an_id_is_never_given_twice(self, store: Any) -> None:
        ids = [new_task(store) for _ in range(3)]
        with pytest.raises(Boom):
            store.transact(lambda tx: [tx.next_id("task"), tx.next_id("task"), _raise(Boom())], by="human")
        store.transact(lambda tx: tx.next_id("task"), by="human")
        ids += [new_task(self.again(store)) for _ in range(3)]
        put(store, ("task", ids[-1], None))
        ids += [new_task(store), new_task(self.again(store))]
        assert len(set(ids)) == len(ids) == 8
        assert all(map(is_task_id, ids))
        assert sorted(ids, key=lambda id: int(id[5:])) == ids

    def test_ids_of_one_transaction_differ(self, store: Any) -> None:
        def body(tx: Any) -> list[str]:
            ids = [str(tx.next_id("task")) for _ in range(3)]
            for id in ids:
                tx.get("task", id)
                tx.put("task", id, task(id))
            return ids

        ids, _revision = store.transact(body, by="human")
        assert len(set(ids)) == 3
        assert new_task(store) not in ids

    def test_an_id_that_stands_only_in_a_log_is_never_given_again(self, store: Any) -> None:
        def body(tx: Any) -> str:
            id = str(tx.next_id("task"))
            tx.append("messages", {"about": id})
            return id

        first, _revision = store.transact(body, by="human")
        assert new_task(store) != first

    def test_ids_of_messages_are_never_given_twice(self, store: Any) -> None:
        def body(tx: Any) -> list[str]:
            ids = [str(tx.next_id("message")) for _ in range(2)]
            for id in ids:
                tx.append("messages", {"id": id})
            return ids

        ids = [id for _ in range(3) for id in store.transact(body, by="human")[0]]
        assert len(set(ids)) == 6
        assert [m["id"] for m in store.tail("messages", 0)[0]] == ids

    def test_ids_given_at_once_differ(self, store: Any) -> None:
        with nervous_threads():
            found = in_threads(*[lambda: [new_task(store) for _ in range(5)]] * 4)
        ids = [id for some in found for id in some]
        assert len(set(ids)) == 20
        assert set(store.read().all("task")) == set(ids)

    def test_revisions_have_no_gaps(self, store: Any) -> None:
        first = store.read().revision
        revisions = [put(store, ("task", "task-1", task("task-1", priority=n))) for n in (0, 1, 2)]
        with pytest.raises(Boom):
            store.transact(lambda tx: _raise(Boom()), by="human")
        revisions += [append(store, {"text": "hello"}), put(store, ("task", "task-1", None))]
        assert revisions == list(range(first + 1, first + 6))
        assert [commit["rev"] for commit in self.history(store)][-5:] == revisions
        assert store.read().revision == revisions[-1]

    def test_a_store_knows_the_last_revision_that_it_made_itself(self, store: Any) -> None:
        other = self.again(store)
        made = put(store, ("task", "task-1", task("task-1")))
        assert store.committed == made
        put(store, ("task", "task-1", task("task-1")))
        store.transact(lambda tx: tx.get("task", "task-1"), by="human")
        store.transact(lambda tx: tx.append("messages", {}), by="human", rehearse=True)
        with pytest.raises(Boom):
            store.transact(lambda tx: _raise(Boom()), by="human")
        assert store.committed == made
        if other is not store:
            assert other.committed is None

    # What must not be written is not written.

    @pytest.mark.parametrize(("kind", "id", "document"), INVALID.values(), ids=INVALID)
    def test_an_invalid_document_is_refused_before_anything_is_written(
        self, store: Any, kind: str, id: str, document: Any
    ) -> None:
        before, commits = everything(store), self.history(store)

        def body(tx: Any) -> None:
            tx.get("agent", "innocent")
            tx.put("agent", "innocent", agent())
            tx.append("messages", {"text": "innocent"})
            tx.get(kind, id)
            tx.put(kind, id, document)

        for rehearse in (True, False):
            with pytest.raises(InvalidData):
                store.transact(body, by="human", rehearse=rehearse)
        assert everything(self.again(store)) == before
        assert self.history(store) == commits
        assert put(store, ("agent", "innocent", agent())) == before[0] + 1

    # Rehearsal.

    def test_a_rehearsal_gives_the_value_and_changes_nothing(self, store: Any) -> None:
        before, commits = everything(store), self.history(store)

        def body(tx: Any) -> str:
            tx.get("task", "task-1")
            tx.put("task", "task-1", task("task-1"))
            tx.append("messages", {"text": "never sent"})
            tx.record("task_created")
            return str(tx.get("task", "task-1")["title"])

        assert store.transact(body, by="human", rehearse=True) == ("Some work", before[0])
        assert Rehearsal(store).transact(body, by="human") == ("Some work", before[0])
        assert everything(self.again(store)) == before
        assert self.history(store) == commits
        assert put(store, ("agent", "backend", agent())) == before[0] + 1

    def test_a_rehearsal_refuses_what_would_be_refused(self, store: Any) -> None:
        with pytest.raises(Boom):
            Rehearsal(store).transact(lambda tx: _raise(Boom()), by="human")
        with pytest.raises(InvalidData):
            put(Rehearsal(store), ("task", "task-1", {}))

    def test_a_rehearsed_store_gives_no_sign_of_life_and_is_not_deleted(self, store: Any) -> None:
        rehearsal: Any = Rehearsal(store)
        rehearsal.beat("backend", 1, {}, acted=True)
        rehearsal.delete(by="human")
        assert store.pulses() == {}
        assert store.read().revision == 1
        assert rehearsal.team == TEAM

    # History.

    def test_a_commit_stands_in_the_history_with_who_when_and_what(self, store: Any) -> None:
        def body(tx: Any) -> str:
            tx.get("agent", "backend")
            tx.put("agent", "backend", agent())
            tx.record("agent_joined", agent="backend", incarnation=1)
            tx.record("lead_named", agent="backend")
            return str(tx.now)

        now, revision = store.transact(body, by="backend_1")
        last = self.history(self.again(store))[-1]
        assert (last["rev"], last["by"]) == (revision, "backend_1")
        assert last["at"] >= now
        assert last["events"] == [
            {"event": "agent_joined", "agent": "backend", "incarnation": 1},
            {"event": "lead_named", "agent": "backend"},
        ]

    # Logs.

    def test_a_log_is_empty_at_first(self, store: Any) -> None:
        documents, cursor = store.tail("messages", 0)
        assert documents == []
        assert store.tail("messages", cursor) == ([], cursor)

    def test_what_is_appended_is_read_once_and_in_order(self, store: Any) -> None:
        append(store, {"n": 1}, {"n": 2})
        first, cursor = store.tail("messages", 0)
        append(store, {"n": 3})
        append(store, {"n": 4}, {"n": 5})
        second, end = self.again(store).tail("messages", cursor)
        assert (first, second) == ([{"n": 1}, {"n": 2}], [{"n": 3}, {"n": 4}, {"n": 5}])
        assert store.tail("messages", end) == ([], end)
        assert store.tail("messages", 0) == ([{"n": n} for n in (1, 2, 3, 4, 5)], end)

    def test_an_append_needs_no_read_and_is_a_commit(self, store: Any) -> None:
        before = store.read().revision
        assert append(store, {"text": "hello"}) == before + 1 == store.read().revision

    def test_an_append_and_a_put_happen_together(self, store: Any) -> None:
        def body(tx: Any) -> None:
            tx.get("task", "task-1")
            tx.put("task", "task-1", task("task-1"))
            tx.append("messages", {"about": "task-1"})

        _value, revision = store.transact(body, by="human")
        view = self.again(store).read()
        assert (view.revision, view.get("task", "task-1")) == (revision, task("task-1"))
        assert store.tail("messages", 0)[0] == [{"about": "task-1"}]

    @PROPERTY
    @given(document=st.dictionaries(st.text(st.characters(exclude_categories=("Cs",)), max_size=5), json_values, max_size=3))
    def test_any_json_can_be_appended(self, store: Any, document: Any) -> None:
        _documents, cursor = store.tail("messages", 0)
        append(store, document)
        assert self.again(store).tail("messages", cursor)[0] == [document]

    def test_what_was_appended_never_changes(self, store: Any) -> None:
        message = {"text": "as it was"}
        append(store, message)
        message["text"] = "changed by the sender"
        store.tail("messages", 0)[0][0]["text"] = "changed by a reader"
        assert store.tail("messages", 0)[0] == [{"text": "as it was"}]

    def test_a_message_that_cannot_be_written_is_refused_and_nothing_changes(self, store: Any) -> None:
        before = everything(store)
        for text in (float("nan"), object(), "\ud800"):
            with pytest.raises(InvalidData):
                append(store, {"text": text})
        assert everything(self.again(store)) == before

    def test_a_reader_of_a_log_loses_nothing_and_sees_nothing_twice_while_others_append(self, store: Any) -> None:
        done = threading.Event()
        writers = 3

        def write(name: int) -> None:
            for n in range(15):
                append(store, {"from": name, "n": n}, {"from": name, "n": n, "second": True})

        def read() -> list[Any]:
            found: list[Any] = []
            cursor = 0
            while True:
                last_look = done.is_set()
                documents, cursor = store.tail("messages", cursor)
                found += documents
                if last_look:
                    return found

        def write_all() -> None:
            try:
                in_threads(*[lambda name=name: write(name) for name in range(writers)])
            finally:
                done.set()

        with nervous_threads():
            _none, found = in_threads(write_all, read)
        assert found == store.tail("messages", 0)[0]
        assert len(found) == writers * 30
        for name in range(writers):
            mine = [(m["n"], "second" in m) for m in found if m["from"] == name]
            assert mine == [(n, second) for n in range(15) for second in (False, True)]

    # Readers.

    def test_a_reader_sees_the_newest_commit_that_was_acknowledged(self, store: Any) -> None:
        other = self.again(store)
        for n in range(5):
            revision = put(store, ("task", "task-1", task("task-1", attempts=n)))
            view = other.read()
            assert (view.revision, view.get("task", "task-1")["attempts"]) == (revision, n)

    def test_a_view_never_changes(self, store: Any) -> None:
        put(store, ("task", "task-1", task("task-1")), ("agent", "backend", agent()))
        view = store.read()
        revision = view.revision
        put(store, ("task", "task-1", None), ("task", "task-2", task("task-2")), ("agent", "backend", agent(incarnation=2)))
        assert view.revision == revision
        assert view.get("task", "task-1") == view.all("task")["task-1"] == task("task-1")
        assert view.get("task", "task-2") is None
        assert [head["id"] for head in view.scan("task")] == ["task-1"]
        assert view.all("agent") == {"backend": agent()}

    def test_a_view_scans_at_least_what_a_list_shows(self, store: Any) -> None:
        whole = task(
            "task-1", status="in_progress", assignee="backend", needs=["python"], group="api", size="small", estimate=5,
            claim={"incarnation": 1, "attempt": 1, "at": NOW},
        )  # fmt: skip
        put(store, ("task", "task-1", whole))
        found = next(iter(store.read().scan("task")))
        assert {name: found[name] for name in Summary.__annotations__} == {n: whole[n] for n in Summary.__annotations__}

    def test_nobody_sees_a_commit_before_it_has_happened_nor_waits_for_it(self, store: Any) -> None:
        before = everything(store)
        seen = []

        def body(tx: Any) -> None:
            tx.get("task", "task-1")
            tx.put("task", "task-1", task("task-1"))
            tx.append("messages", {"text": "soon"})
            seen.extend(in_threads(lambda: everything(self.again(store)), within=5))

        store.transact(body, by="human")
        assert seen
        assert all(found == before for found in seen)

    def test_nobody_sees_half_of_a_commit(self, store: Any) -> None:
        """Each commit says in three documents which revision it makes."""
        done = threading.Event()
        first = store.read().revision

        def write() -> None:
            try:
                at, end = first, time.monotonic() + 0.3
                while at < first + 40 or time.monotonic() < end:
                    at += 1
                    put(store, *[("task", id, task(id, attempts=at)) for id in ("task-1", "task-2")],
                        ("agent", "backend", agent(incarnation=at)))  # fmt: skip
            finally:
                done.set()

        def read() -> int:
            views, last = 0, 0
            while not done.is_set():
                view = store.read()
                if view.revision > first:
                    said = {view.get("task", id)["attempts"] for id in ("task-1", "task-2")}
                    said |= {view.all("agent")["backend"]["incarnation"]}
                    assert said == {view.revision}
                assert view.revision >= last
                last, views = view.revision, views + 1
            return views

        with nervous_threads():
            views = in_threads(write, read, read)[1:]
        assert all(views)

    def test_a_reader_does_not_hold_up_a_writer(self, store: Any) -> None:
        views = [store.read() for _ in range(3)]
        heads = [iter(view.scan("task")) for view in views]
        assert in_threads(lambda: put(store, ("task", "task-1", task("task-1")))) == [2]
        assert [list(some) for some in heads] == [[], [], []]

    # Waiting.

    def test_waiting_for_what_has_happened_already_takes_no_time(self, store: Any) -> None:
        before = store.read().revision
        put(store, ("task", "task-1", task("task-1")))
        began = time.monotonic()
        assert store.wait(before, LONG) is True
        assert time.monotonic() - began < LONG / 10

    def test_waiting_ends_at_the_timeout_with_false(self, store: Any) -> None:
        revision = put(store, ("task", "task-1", task("task-1")))
        began = time.monotonic()
        assert store.wait(revision, 0.1) is False
        assert 0.09 < time.monotonic() - began < LONG / 10
        assert store.wait(revision, 0) is False

    @pytest.mark.parametrize("what", ["a put", "a message", "the end of the team"])
    def test_whoever_waits_is_woken_by_a_commit(self, store: Any, what: str) -> None:
        commits: dict[str, Callable[[], object]] = {
            "a put": lambda: put(self.again(store), ("task", "task-1", task("task-1"))),
            "a message": lambda: append(self.again(store), {"text": "hello"}),
            "the end of the team": lambda: self.again(store).delete(by="human"),
        }
        began = time.monotonic()
        woken, _done = in_threads(lambda: store.wait(1, 3.0), commits[what])
        assert woken is True
        assert time.monotonic() - began < 2.0

    def test_what_changes_nothing_wakes_nobody(self, store: Any) -> None:
        def nothing() -> None:
            store.transact(lambda tx: tx.get("team", TEAM), by="human")
            store.beat("backend", 1, {}, acted=True)

        assert in_threads(lambda: store.wait(1, 0.2), nothing)[0] is False

    # Signs of life.

    def test_a_sign_of_life_is_not_a_commit(self, store: Any) -> None:
        before, commits = everything(store), self.history(store)
        store.beat("backend", 1, {"doing": "tests"}, acted=True)
        assert everything(self.again(store)) == before
        assert self.history(store) == commits

    def test_a_sign_of_life_says_who_and_when_and_what_the_agent_says_of_itself(self, store: Any) -> None:
        assert (store.pulses(), store.life("backend")) == ({}, None)
        store.beat("backend", 1, {"doing": "tests", "context_percent": 40, "task": "task-1", "attempt": 1}, acted=True)
        pulse = self.again(store).pulses()["backend", 1]
        assert (pulse["agent"], pulse["incarnation"], pulse["doing"], pulse["context_percent"]) == (
            "backend",
            1,
            "tests",
            40,
        )
        assert pulse["started_at"] <= pulse["last_beat"] == pulse["last_action"]
        validate.check("pulse", pulse)

    def test_what_is_not_said_again_stays_and_none_takes_it_away(self, store: Any) -> None:
        store.beat("backend", 1, {"doing": "tests", "task": "task-1", "attempt": 1}, acted=True)
        store.beat("backend", 1, {"context_percent": 41, "task": None, "attempt": None}, acted=True)
        pulse = store.pulses()["backend", 1]
        assert (pulse["doing"], pulse["context_percent"]) == ("tests", 41)
        assert "task" not in pulse
        assert "attempt" not in pulse
        validate.check("pulse", pulse)

    def test_every_life_of_an_agent_has_signs_of_its_own(self, store: Any) -> None:
        store.beat("backend", 1, {"doing": "first"}, acted=True)
        store.beat("backend", 2, {}, acted=True)
        store.beat("back", 7, {}, acted=True)
        pulses = self.again(store).pulses()
        assert set(pulses) == {("backend", 1), ("backend", 2), ("back", 7)}
        assert "doing" not in pulses["backend", 2]
        assert (store.life("backend"), store.life("back"), store.life("end")) == (2, 7, None)

    def test_only_an_act_moves_the_time_of_the_last_act(self, store: Any) -> None:
        store.beat("backend", 1, {}, acted=True)
        first = store.pulses()["backend", 1]
        while store.read().now <= first["last_beat"]:
            time.sleep(0.01)
        store.beat("backend", 1, {}, acted=False)
        second = store.pulses()["backend", 1]
        assert second["started_at"] == second["last_action"] == first["last_beat"] < second["last_beat"]
        store.beat("backend", 1, {}, acted=True)
        assert store.pulses()["backend", 1]["last_action"] > first["last_action"]

    def test_a_sign_of_life_does_not_wait_for_a_writer(self, store: Any) -> None:
        def body(tx: Any) -> None:
            in_threads(lambda: self.again(store).beat("backend", 1, {}, acted=True), within=5)

        store.transact(body, by="human")
        assert ("backend", 1) in store.pulses()

    def test_signs_of_life_that_were_read_can_be_changed_without_changing_them(self, store: Any) -> None:
        store.beat("backend", 1, {"doing": "tests"}, acted=True)
        store.pulses()["backend", 1]["doing"] = "nothing"
        assert store.pulses()["backend", 1]["doing"] == "tests"

    # The end.

    def test_a_deleted_team_is_not_found_any_more(self, store: Any) -> None:
        put(store, ("task", "task-1", task("task-1")))
        store.beat("backend", 1, {}, acted=True)
        store.delete(by="human")
        uses: list[Callable[[], object]] = [
            store.read,
            lambda: store.transact(lambda tx: None, by="human"),
            lambda: store.transact(lambda tx: None, by="human", rehearse=True),
            lambda: put(store, ("task", "task-2", task("task-2"))),
            lambda: store.beat("backend", 1, {}, acted=True),
            lambda: store.check(fix=False),
            lambda: store.check(fix=True),
            lambda: store.delete(by="human"),
        ]
        for use in uses:
            with pytest.raises(TeamNotFound):
                use()

    def test_nothing_is_left_of_a_deleted_team(self, store: Any) -> None:
        append(store, {"text": "hello"})
        store.beat("backend", 1, {}, acted=True)
        store.delete(by="human")
        looks: list[tuple[Callable[[], object], object]] = [
            (lambda: store.tail("messages", 0)[0], []),
            (store.pulses, {}),
            (lambda: store.life("backend"), None),
        ]
        for look, nothing in looks:
            with suppress(TeamNotFound):
                assert look() == nothing

    def test_a_function_does_not_run_on_a_deleted_team(self, store: Any) -> None:
        store.delete(by="human")
        ran: list[bool] = []
        with pytest.raises(TeamNotFound):
            store.transact(lambda tx: ran.append(True), by="human")
        assert ran == []

    # Health.

    def test_a_healthy_ledger_has_no_problems(self, store: Any) -> None:
        removed = new_task(store)
        append(store, {"text": "hello"})
        put(store, ("agent", "backend", agent()), ("task", removed, None))
        new_task(store)
        assert [found for found in store.check(fix=False) if found["severity"] == "problem"] == []


def _raise(error: Exception) -> None:
    raise error
