"""One revision of a ledger in files: for readers, and for the function that a transaction runs."""

from __future__ import annotations

import time

from teamtasks.domain.times import iso
from teamtasks.store.base import Changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from teamtasks.store.files.tasksfile import TasksFile


class FileView:
    """One revision of the ledger, as tasks.json showed it."""

    def __init__(self, file: TasksFile, revision: int) -> None:
        self._file = file
        self.revision = revision
        self.now = iso(time.time())

    def get(self, kind: str, id: str) -> Any:
        return self._file.get(kind, id)

    def scan(self, kind: str, *, unfinished: bool = False) -> Iterable[Any]:
        if kind == "task":
            return self._file.heads(unfinished=unfinished, summaries=True)
        return self._file.all(kind).values()

    def all(self, kind: str) -> dict[str, Any]:
        return self._file.all(kind)


class FileTx(FileView):
    def __init__(self, file: TasksFile, revision: int) -> None:
        super().__init__(file, revision)
        self.changes = Changes()
        self.counters: dict[str, int] = file.header()["counters"]
        self._appended = 0

    def get(self, kind: str, id: str) -> Any:
        if (kind, id) in self.changes.puts:
            return self.changes.puts[kind, id]
        if (kind, id) not in self.changes.read:
            self.changes.read[kind, id] = super().get(kind, id)
        return self.changes.read[kind, id]

    def scan(self, kind: str, *, unfinished: bool = False) -> Iterable[Any]:
        if kind == "task":
            return self._file.heads(unfinished=unfinished, summaries=False)
        return super().scan(kind, unfinished=unfinished)

    def all(self, kind: str) -> dict[str, Any]:
        found = super().all(kind)
        for id, document in found.items():
            self.changes.read.setdefault((kind, id), document)
        for (of, id), document in self.changes.puts.items():
            if of == kind:
                found[id] = document
        return {id: document for id, document in found.items() if document is not None}

    def put(self, kind: str, id: str, document: Any) -> None:
        self.changes.put(kind, id, document)

    def append(self, log: str, document: Any) -> None:
        self.changes.append(log, document)

    def record(self, event: str, **facts: object) -> None:
        self.changes.record(event, facts)

    def next_id(self, kind: str) -> str:
        if kind == "message":  # named after the revision, so that a message alone need not touch tasks.json
            self._appended += 1
            return f"msg-{self.revision + 1}-{self._appended}"
        number = self.counters[kind] = self.counters.get(kind, 0) + 1
        return f"{kind}-{number}"
