"""What a store promises. A new store implements this page and passes the suite in ``tests/contract``.

**Documents.** A ledger is a set of documents: plain JSON objects, each known by a *kind* and an *id*. The kinds are in
``KINDS``. Beside them there are *logs*: documents that are only ever added, each with an id and a place in an order.

**A transaction.** Every change goes through ``transact(fn, by=…)``. The store calls ``fn(tx)``, and afterwards either
everything that ``fn`` put is the ledger, under the next revision, or nothing is. ``fn`` depends only on what it reads
through ``tx``, has no side effects, and may be called more than once: a store that locks calls it once, a store that is
optimistic calls it again when somebody else was faster.

- ``tx.get(kind, id)`` gives the document or None. It is tracked: the commit happens only if it is still so.
- ``tx.put(kind, id, document)`` comes after a ``get`` of the same id; ``None`` removes the document.
- ``tx.scan(kind, unfinished=…)`` gives the heads of all documents (of a task at least the fields of ``Head``); unfinished
  leaves the completed ones out. It is not tracked and may be old: use it to find candidates. What a decision rests on is
  read again with ``get``; an order among candidates is therefore best effort.
- ``tx.all(kind)`` gives every document, whole, tracked as a whole, as if each had been read with ``get``. For rare commands.
- A rule over a set (how many tasks an agent holds) also gets and puts the one document that all who compete for it share
  (the agent's).
- ``tx.append(log, document)`` adds to a log. It needs no read.
- ``tx.now`` and ``tx.next_id(kind)`` are the only sources of time and ids. No two commits get the same id; gaps may be.
- ``tx.record(event, …)`` says in the history what was done, in the past tense.

**What comes out.** ``transact`` returns ``fn``'s value and the revision at which it holds. If ``fn`` raises, nothing has
changed and the error is passed on. A refusal that must record something is therefore not raised by ``fn``, but returned
and raised by the caller. If ``fn`` puts nothing, nothing is written; its answer is given only if what it read is current.
With ``rehearse`` everything happens but the commit.

**Readers.** ``read()`` gives a view of one revision, at least as new as the newest commit that was acknowledged before
the call. A view never blocks writers and never sees half of a commit.

**Failures.** When ``transact`` returns, the commit survives the death of the process and of the machine. When it raises
``StoreUnavailable`` or ``LockTimeout``, nothing has changed. When it raises ``OutcomeUnknown``, the commit either happened
whole or not at all, and the next reader sees which. A process that dies in between leaves the old ledger or the new one;
the next command needs nothing from it.

**Deleting** a team is a last commit: it wakes whoever waits, and from then on everything says ``TeamNotFound``.

**Signs of life** are not commits: ``beat`` overwrites an agent's own small record, without lock or history, and may be
lost in a crash. What is not said again stays; None takes a field away.

**Notices.** A store that healed something, or waits for somebody, says so through the ``notice`` callback it was opened
with: one line of text for a person.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Protocol, TypeVar

    from teamtasks.domain.documents import Document, Head, Pulse

    Result = TypeVar("Result")
    Notice = Callable[[str], None]

KINDS = ("team", "agent", "key", "task")
"""team: one document, its id is the team's name. agent: by name. key: by idempotency key. task: by id."""

LOGS = ("messages",)


class Changes:
    """What ``fn`` asked for. Shared by the stores so that the rules about puts are the same everywhere."""

    __slots__ = ("appended", "events", "puts", "read")

    def __init__(self) -> None:
        self.read: dict[tuple[str, str], Document | None] = {}
        self.puts: dict[tuple[str, str], Document | None] = {}
        self.appended: list[tuple[str, Document]] = []
        self.events: list[Document] = []

    def __bool__(self) -> bool:
        return bool(self.puts or self.appended)

    def put(self, kind: str, id: str, document: Any) -> None:
        if kind not in KINDS:
            raise ValueError(f"no such kind: {kind}")
        if kind == "team" and document is None:
            raise ValueError("a ledger without its team is none: delete the store instead")
        if (kind, id) not in self.read:
            raise ValueError(f"put of {kind} {id} without a get: what was it decided on?")
        if document == self.read[kind, id]:
            self.puts.pop((kind, id), None)
        else:
            self.puts[kind, id] = document

    def append(self, log: str, document: Any) -> None:
        if log not in LOGS:
            raise ValueError(f"no such log: {log}")
        self.appended.append((log, document))

    def record(self, event: str, facts: Document) -> None:
        self.events.append({"event": event, **facts})


if TYPE_CHECKING:

    class Reader(Protocol):
        """One revision of a ledger."""

        @property
        def now(self) -> str: ...
        def get(self, kind: str, id: str) -> Any: ...
        def scan(self, kind: str, *, unfinished: bool = False) -> Iterable[Any]: ...
        def all(self, kind: str) -> dict[str, Any]: ...

    class View(Reader, Protocol):
        """A reader for people and programs: its scan gives at least the fields of ``Summary``."""

        @property
        def revision(self) -> int: ...

    class Tx(Reader, Protocol):
        def scan(self, kind: str, *, unfinished: bool = False) -> Iterable[Head]: ...
        def put(self, kind: str, id: str, document: Any) -> None: ...
        def append(self, log: str, document: Any) -> None: ...
        def next_id(self, kind: str) -> str: ...
        def record(self, event: str, **facts: object) -> None: ...

    class Store(Protocol):
        @property
        def team(self) -> str: ...
        @property
        def place(self) -> str: ...
        @property
        def committed(self) -> int | None: ...  # the last revision that this very object made
        def transact(self, fn: Callable[[Tx], Result], *, by: str, rehearse: bool = False) -> tuple[Result, int]: ...
        def read(self) -> View: ...
        def beat(self, agent: str, incarnation: int, fresh: Document, *, acted: bool) -> None: ...
        def life(self, agent: str) -> int | None: ...
        def pulses(self) -> dict[tuple[str, int], Pulse]: ...
        def tail(self, log: str, after: int) -> tuple[list[Document], int]: ...
        def wait(self, revision: int, seconds: float) -> bool: ...
        def delete(self, *, by: str) -> None: ...
        def check(self, *, fix: bool) -> list[Document]: ...


class Rehearsal:
    """A store that does everything but commit: what ``--dry-run`` runs on."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def transact(self, fn: Callable[[Tx], Result], *, by: str, rehearse: bool = True) -> tuple[Result, int]:
        return self._store.transact(fn, by=by, rehearse=True)

    def beat(self, agent: str, incarnation: int, fresh: Document, *, acted: bool) -> None:
        pass

    def delete(self, *, by: str) -> None:
        self._store.read()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
