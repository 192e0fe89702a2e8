"""A store that keeps every word of the contract and none of the habits that people take for granted.

It stands in front of another store, which it knows by the contract only.

- ``fn`` runs first in the past, on the ledger as it was some commits ago; whatever it says is thrown away.
- Then it runs twice on the present, without a lock; only the last run counts, and only if everything it read is still so.
- Between its run and its commit, somebody else may commit: ``store.rivals`` are called there, one at a time.
- A scan in a transaction gives heads and nothing more, as they were some commits ago.
- A scan of a view gives summaries and nothing more.
- Ids that a thrown-away run was given are lost.
- A document that ``fn`` changes in place is noticed, and so is a ``fn`` that uses the store behind its transaction's back.

A use case that decides on a scan alone, or that leaves something behind when it runs, goes wrong here.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from teamtasks.domain.documents import Head, Summary
from teamtasks.store.base import Changes

if TYPE_CHECKING:
    from collections.abc import Callable

LAG = 2  # commits by which scans, and the first run, are behind
PATIENCE = 100  # conflicts in a row after which the test itself is at fault


class Conflict(Exception):
    """Something that a transaction has read is not so any more."""


class HostileStore:
    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.team, self.place = inner.team, inner.place
        self._views: list[Any] = [inner.read()]
        self._caught_up = 0
        self._lock = threading.RLock()
        self._inside = threading.local()
        self._given: dict[str, int] = {}
        self.rivals: list[Callable[[], object]] = []
        self.runs = 0

    def catch_up(self) -> None:
        """Scans see everything that has been committed until now."""
        self._caught_up = len(self._views) - 1

    def transact(self, fn: Any, *, by: str, rehearse: bool = False) -> Any:
        self.read()
        self._run(fn, self._tx(LAG))
        for _again in range(PATIENCE):
            self._run(fn, self._tx(0))
            tx = self._tx(0)
            value, error = self._run(fn, tx)
            self._let_a_rival_in()
            try:
                return value, self._commit(tx, error, by, rehearse)
            except Conflict:
                continue
        raise AssertionError(f"{PATIENCE} conflicts in a row")

    def _tx(self, lag: int) -> HostileTx:
        with self._lock:
            self.runs += 1
            at = max(0, len(self._views) - 1 - lag)
            return HostileTx(self._views[at], self._views[max(0, at - LAG, min(at, self._caught_up))], self._next_number)

    def _run(self, fn: Callable[[Any], object], tx: HostileTx) -> tuple[Any, Exception | None]:
        self._inside.fn = True
        try:
            return fn(tx), None
        except Exception as error:
            return None, error
        finally:
            self._inside.fn = False

    def _let_a_rival_in(self) -> None:
        if self.rivals:
            rival, *later = self.rivals
            self.rivals = []
            rival()
            self.rivals = later

    def _commit(self, tx: HostileTx, error: Exception | None, by: str, rehearse: bool) -> int:
        def commit(real: Any) -> None:
            tx.check_still_so(real)
            if error is not None:
                raise error
            tx.check_nothing_was_changed_in_place()
            tx.hand_over(real)

        with self._lock:
            _none, revision = self._inner.transact(commit, by=by, rehearse=rehearse)
            if revision > self._views[-1].revision:
                self._views.append(self._inner.read())
            return int(revision)

    def _next_number(self, kind: str) -> int:
        with self._lock:
            self._given[kind] = self._given.get(kind, 0) + 1
            return self._given[kind]

    def read(self) -> Any:
        return HostileView(self.__getattr__("read")())

    def __getattr__(self, name: str) -> Any:
        assert not getattr(self._inside, "fn", False), "a function may use nothing but its transaction"
        return getattr(self._inner, name)


class HostileView:
    def __init__(self, view: Any) -> None:
        self._view = view
        self.revision, self.now = view.revision, view.now
        self.get, self.all = view.get, view.all

    def scan(self, kind: str, *, unfinished: bool = False) -> Any:
        return [_only(kind, Summary, document) for document in self._view.scan(kind, unfinished=unfinished)]


class HostileTx:
    def __init__(self, view: Any, scanned: Any, next_number: Callable[[str], int]) -> None:
        self._view, self._scanned, self._next_number = view, scanned, next_number
        self._whole: set[str] = set()
        self._changes = Changes()
        self.now = view.now

    def get(self, kind: str, id: str) -> Any:
        if (kind, id) in self._changes.puts:
            return self._changes.puts[kind, id]
        if (kind, id) not in self._changes.read:
            self._changes.read[kind, id] = self._view.get(kind, id)
        return self._changes.read[kind, id]

    def all(self, kind: str) -> dict[str, Any]:
        self._whole.add(kind)
        own = [id for of, id in self._changes.puts if of == kind]
        found = {id: self.get(kind, id) for id in [*self._view.all(kind), *own]}
        return {id: document for id, document in found.items() if document is not None}

    def scan(self, kind: str, *, unfinished: bool = False) -> Any:
        return [_only(kind, Head, document) for document in self._scanned.scan(kind, unfinished=unfinished)]

    def put(self, kind: str, id: str, document: Any) -> None:
        self._changes.put(kind, id, document)

    def append(self, log: str, document: Any) -> None:
        self._changes.append(log, document)

    def record(self, event: str, **facts: object) -> None:
        self._changes.record(event, facts)

    def next_id(self, kind: str) -> str:
        return f"{kind}-{self._next_number(kind)}"

    def check_still_so(self, real: Any) -> None:
        same = all(real.get(kind, id) == self._view.get(kind, id) for kind, id in self._changes.read)
        if not same or any(set(real.all(kind)) != set(self._view.all(kind)) for kind in self._whole):
            raise Conflict

    def check_nothing_was_changed_in_place(self) -> None:
        for (kind, id), document in self._changes.read.items():
            assert document == self._view.get(kind, id), f"{kind} {id} was changed in place"

    def hand_over(self, real: Any) -> None:
        for (kind, id), document in self._changes.puts.items():
            real.put(kind, id, document)
        for log, document in self._changes.appended:
            real.append(log, document)
        for event in self._changes.events:
            real.record(**event)


def _only(kind: str, form: Any, document: dict[str, Any]) -> dict[str, Any]:
    return {name: document[name] for name in form.__annotations__ if name in document} if kind == "task" else document
