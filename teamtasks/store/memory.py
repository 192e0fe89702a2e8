"""A ledger in memory, for tests and for trying things out. The shortest fulfilment of the contract in ``base``."""

from __future__ import annotations

import time
from threading import RLock

from teamtasks import jsontext
from teamtasks.domain.agents import beat as next_beat
from teamtasks.domain.errors import TeamNotFound
from teamtasks.domain.times import iso
from teamtasks.store.base import KINDS, LOGS, Changes
from teamtasks.store.validate import check_document, check_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from teamtasks.domain.documents import Document, Pulse
    from teamtasks.store.base import Result, Tx, View

    Documents = dict[str, dict[str, str]]
    Logs = dict[str, list[str]]


class MemoryView:
    """One revision. Documents are kept as text, so that nobody can change one by accident."""

    def __init__(self, documents: Documents, revision: int, now: str) -> None:
        self._documents = documents
        self.revision = revision
        self.now = now

    def get(self, kind: str, id: str) -> Any:
        text = self._documents[kind].get(id)
        return None if text is None else jsontext.loads(text)

    def scan(self, kind: str, *, unfinished: bool = False) -> Iterable[Any]:
        for document in self.all(kind).values():
            if not unfinished or document.get("status") != "completed":
                yield document

    def all(self, kind: str) -> dict[str, Any]:
        return {id: jsontext.loads(text) for id, text in self._documents[kind].items()}


class MemoryTx(MemoryView):
    def __init__(self, documents: Documents, revision: int, now: str, counters: dict[str, int]) -> None:
        super().__init__(documents, revision, now)
        self.changes = Changes()
        self.counters = dict(counters)

    def get(self, kind: str, id: str) -> Any:
        if (kind, id) in self.changes.puts:
            return self.changes.puts[kind, id]
        return self.changes.read.setdefault((kind, id), super().get(kind, id))

    def all(self, kind: str) -> dict[str, Any]:
        found = {}
        for id in [*self._documents[kind], *(i for k, i in self.changes.puts if k == kind)]:
            document = self.get(kind, id)
            if document is not None:
                found[id] = document
        return found

    def scan(self, kind: str, *, unfinished: bool = False) -> Iterable[Any]:
        return list(MemoryView(self._documents, self.revision, self.now).scan(kind, unfinished=unfinished))

    def put(self, kind: str, id: str, document: Any) -> None:
        self.changes.put(kind, id, document)

    def append(self, log: str, document: Any) -> None:
        self.changes.append(log, document)

    def record(self, event: str, **facts: object) -> None:
        self.changes.record(event, facts)

    def next_id(self, kind: str) -> str:
        self.counters[kind] = self.counters.get(kind, 0) + 1
        return f"{kind}-{self.counters[kind]}"


class _Board:
    """Everything at one revision. Commits put a new one in its place, so readers never wait and never see half of one."""

    __slots__ = ("counters", "deleted", "documents", "logs", "revision")

    def __init__(
        self,
        documents: Documents,
        logs: Logs,
        counters: dict[str, int],
        revision: int,
        *,
        deleted: bool = False,
    ) -> None:
        self.documents, self.logs, self.counters = documents, logs, counters
        self.revision, self.deleted = revision, deleted


class MemoryStore:
    place = "memory"

    def __init__(self, team: str, document: Document, *, clock: Callable[[], float] = time.time) -> None:
        self.team = team
        self.committed: int | None = None
        self.history: list[Document] = []
        documents: Documents = {kind: {} for kind in KINDS}
        documents["team"][team] = jsontext.dumps(document)
        self._board = _Board(documents, {log: [] for log in LOGS}, {}, 1)
        self._pulses: dict[tuple[str, int], Pulse] = {}
        self._clock = clock
        self._lock = RLock()

    def transact(self, fn: Callable[[Tx], Result], *, by: str, rehearse: bool = False) -> tuple[Result, int]:
        with self._lock:
            board = self._living()
            tx = MemoryTx(board.documents, board.revision, iso(self._clock()), board.counters)
            value = fn(tx)
            if tx.changes:
                self._commit(board, tx, by, rehearse)
            return value, self._board.revision

    def _commit(self, board: _Board, tx: MemoryTx, by: str, rehearse: bool) -> None:
        changes = tx.changes
        documents = {kind: dict(of_kind) for kind, of_kind in board.documents.items()}
        logs = {log: list(entries) for log, entries in board.logs.items()}
        for (kind, id), document in changes.puts.items():
            if document is None:
                documents[kind].pop(id, None)
            else:
                check_document(kind, id, document)
                documents[kind][id] = jsontext.dumps(document)
        for log, document in changes.appended:
            check_json(log, document)
            logs[log].append(jsontext.dumps(document))
        if rehearse:
            return
        self._board = _Board(documents, logs, tx.counters, board.revision + 1)
        self.committed = board.revision + 1
        self.history.append({"rev": board.revision + 1, "at": tx.now, "by": by, "events": changes.events})

    def read(self) -> View:
        board = self._living()
        return MemoryView(board.documents, board.revision, iso(self._clock()))

    def beat(self, agent: str, incarnation: int, fresh: Document, *, acted: bool) -> None:
        self._living()
        now = iso(self._clock())
        pulse: Any = {
            "format": 1,
            "agent": agent,
            "incarnation": incarnation,
            "started_at": now,
            "last_beat": now,
            "last_action": now,
            "clock": {"boot": "memory", "monotonic": time.monotonic()},
            **fresh,
        }
        merged = next_beat(self._pulses.get((agent, incarnation)), pulse, acted=acted)
        self._pulses[agent, incarnation] = {k: v for k, v in merged.items() if v is not None}  # type: ignore[assignment]

    def life(self, agent: str) -> int | None:
        return max([n for name, n in list(self._pulses) if name == agent], default=None)

    def pulses(self) -> dict[tuple[str, int], Pulse]:
        return {life: jsontext.loads(jsontext.dumps(pulse)) for life, pulse in list(self._pulses.items())}

    def tail(self, log: str, after: int) -> tuple[list[Document], int]:
        entries = self._board.logs[log]
        return [jsontext.loads(text) for text in entries[after:]], len(entries)

    def wait(self, revision: int, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self._board.revision <= revision and time.monotonic() < deadline:
            time.sleep(0.001)
        return self._board.revision > revision

    def delete(self, *, by: str) -> None:
        """The last commit; nothing is left after it."""
        with self._lock:
            board = self._living()
            nothing: Documents = {kind: {} for kind in KINDS}
            self._board = _Board(nothing, {log: [] for log in LOGS}, {}, board.revision + 1, deleted=True)
            self._pulses.clear()

    def check(self, *, fix: bool) -> list[Document]:
        self._living()
        return []

    def _living(self) -> _Board:
        if self._board.deleted:
            raise TeamNotFound(f"the team {self.team} was deleted", team=self.team)
        return self._board
