"""One writer's turn: from the lock to the lock. ``docs/reliability.md`` tells the same story with its reasons.

    enter     lock; check that directory, lock and journal are still what their paths name; sign the lock
    settle    read the journal's last line and tasks.json; if anything is not as that line says: heal
    commit    write the new tasks.json beside the old; look once more; append one line and sync it: committed; publish
    leave     clear the signature, unlock

After the line is synced nothing may fail the command: a failed publication leaves the signature, and the next turn heals.
"""

from __future__ import annotations

import os
import sys
from time import time

from teamtasks.domain.errors import InvalidData, OutcomeUnknown, StoreUnavailable, TeamNotFound
from teamtasks.domain.times import iso
from teamtasks.store.files import disk, journal, layout, lock, publish
from teamtasks.store.files.journal import fingerprint
from teamtasks.store.files.publish import EditedMeanwhile
from teamtasks.store.files.tasksfile import TasksFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from teamtasks.store.base import Changes
    from teamtasks.store.files.disk import Stamp
    from teamtasks.store.files.journal import Line

COARSE = 20_000_000  # nanoseconds: the coarsest clock that file systems stamp files with, and some more
ROTATE_AT = 8 * 1024 * 1024  # bytes of a segment beyond four times the ledger itself


class Session:
    """Holds the lock while it lives. ``line``, ``file`` and ``stamp`` are the ledger as it is now."""

    def __init__(self, home: str, team: str, *, timeout: float, notice: Callable[[str], None], create: bool = False) -> None:
        self.home, self.team, self.create = home, team, create
        self.timeout, self.notice = timeout, notice
        self.public = self.private = self.lock = -1
        self.journal: int | None = None
        self.journal_size = 0
        self.dirty = False  # somebody, perhaps we, left work half done: the signature stays in the lock
        self.unshown = False  # committed, but tasks.json could not be written
        self.damage: int | None = None  # where the journal is not whole
        self.reported = disk.Reported(layout.private(home, team))
        self.thorough = False  # look everything over, whatever it looks like
        self.line: Line = {}
        self.file = TasksFile(b"")
        self.stamp: Stamp | None = None
        self.raw: bytes | None = None
        self.beside: Stamp | None = None  # of the next tasks.json, which is still under another name
        self.known: Stamp | None = None  # a predecessor whose content healing has in hand

    def __enter__(self) -> Session:
        try:
            with self.reported:
                self.enter()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.leave()

    def enter(self) -> None:
        while True:
            try:
                self._open()
                if self._still_there():
                    break
            except FileNotFoundError:  # deleted while we opened it: look again
                pass
            self.close()
        self.dirty = bool(lock.holder(self.lock))
        lock.sign(self.lock, f"pid {os.getpid()}, {_command()}, since {iso(time())}\n")

    def _open(self) -> None:
        self.public = self._directory(layout.public(self.home, self.team))
        self.private = self._directory(layout.private(self.home, self.team))
        patience = lock.Patience(self.timeout, self._waiting)
        self.lock = lock.acquire(self.private, patience)
        self.journal = journal.open_journal(self.private)
        if self.journal is not None:
            # A second lock on what matters most: it holds even if somebody deletes the lock file under us.
            lock.take(self.journal, patience)

    def _directory(self, path: str) -> int:
        """Opened, and made again if only one of the two was deleted (Claude Code tidies up the public one)."""
        try:
            return disk.open_directory(path, create=self.create)
        except FileNotFoundError:
            if not layout.is_team(self.home, self.team):
                raise TeamNotFound(f"no team {self.team!r}", team=self.team) from None
            return disk.open_directory(path, create=True)

    def _still_there(self) -> bool:
        """False after an ``rm -rf`` that raced with us: two writers would each hold a lock of their own."""
        return (
            disk.names_same(self.public, layout.public(self.home, self.team))
            and disk.names_same(self.private, layout.private(self.home, self.team))
            and (self.journal is None or disk.names_same(self.journal, layout.JOURNAL, self.private))
        )

    def look_again(self) -> None:
        """After an interference from outside: even the public directory may be another, or gone."""
        with self.reported:
            while not disk.names_same(self.public, layout.public(self.home, self.team)):
                try:
                    found = self._directory(layout.public(self.home, self.team))
                except FileNotFoundError:  # deleted once more
                    continue
                os.close(self.public)
                self.public = found

    def settle(self) -> None:
        """Brings ``line``, ``file`` and ``stamp`` to what the journal says, healing whatever is not so."""
        with self.reported:
            if self.read_journal() and not self.line.get("deleted"):
                self.read_tasks()
                if not self.dirty and not self.thorough and self.damage is None and self.as_published():
                    return
            from teamtasks.store.files import heal

            heal.heal(self)
            self.dirty = self.unshown

    def read_journal(self) -> bool:
        """The last line; False if there is none. A torn tail is cut off: nobody was told of it."""
        self.damage = None
        if self.journal is None:
            return False
        try:
            tail = journal.tail(self.journal)
        except journal.Damaged as damaged:
            self.damage, self.line = damaged.offset, {}
            return True
        self.line, self.journal_size = tail.line or {}, tail.end
        if tail.size > tail.end:
            if self._was_acknowledged(tail):
                self.damage = tail.end
            else:
                self.dirty = True
                os.ftruncate(self.journal, tail.end)
                os.fsync(self.journal)
        return tail.line is not None

    def _was_acknowledged(self, tail: journal.Tail) -> bool:
        """Whether what stands behind the last whole line was a commit once, and not one that was never finished.

        It was, if it looks complete and nobody died over it; or if tasks.json, which is published after it, has it.
        """
        if tail.complete and not self.dirty and self.line["boot"] == disk.boot_id():
            return True
        self.read_tasks()
        return TasksFile(self.raw or b"").revision() > int(self.line["rev"])

    def read_tasks(self) -> None:
        found = disk.read(self.public, layout.TASKS)
        self.raw, self.stamp = found if found is not None else (None, None)

    def as_published(self) -> bool:
        """Whether tasks.json, its predecessor, the messages and the boot are what the last line says."""
        line, raw = self.line, self.raw
        if raw is None or not line or line["boot"] != disk.boot_id() or not self.is_current(raw):
            return False
        if line["messages"][1] and (disk.stamp(self.private, layout.MESSAGES) or (0, 0))[1] != line["messages"][1]:
            return False
        if not self.is_predecessor(disk.stamp(self.public, layout.TASKS_PREVIOUS)):
            return False
        self.file = TasksFile(raw)
        return True

    def is_predecessor(self, stamp: Stamp | None) -> bool:
        """Whether .tasks.json.prev is still what the last commit replaced. None: there is none, so nothing is hidden there.

        File times are coarse on many systems: of two writes within a few milliseconds the stamp shows only one. Where the
        file was that young when it was replaced, its bytes are compared too.
        """
        before = self.line.get("before")
        if stamp is None or not before:
            return True
        if list(stamp) != before[:3]:
            return False
        if self.stamp is None or self.stamp[2] - stamp[2] > COARSE:
            return True
        found = disk.read(self.public, layout.TASKS_PREVIOUS)
        return found is None or fingerprint(found[0]) == before[3]

    def is_current(self, raw: bytes) -> bool:
        tasks = self.line["tasks"] if self.line else {"size": -1}
        return len(raw) == tasks["size"] and fingerprint(raw) == tasks["crc"]

    def commit(self, changes: Changes, counters: dict[str, int], *, now: str, by: str, **marks: Any) -> int:
        """Makes the changes durable, then visible. Returns the new revision."""
        with self.reported:
            return self._commit(changes, counters, now=now, by=by, **marks)

    def _commit(self, changes: Changes, counters: dict[str, int], *, now: str, by: str, **marks: Any) -> int:
        header = self.file.header()
        if header["format"] > layout.FORMAT:
            raise journal.newer_format(layout.TASKS, header["format"])
        if self.journal_size > ROTATE_AT + 4 * len(self.file.raw):
            self._rotate()
        revision: int = self.line["rev"] + 1
        tasks, before, data = self.line["tasks"], self.line.get("before"), None
        if changes.puts or counters != header["counters"]:
            data = self.file.with_puts(changes.puts, revision, counters)
            tasks = {"rev": revision, "size": len(data), "crc": fingerprint(data)}
            before = [*self.stamp, self._crc()] if self.stamp else None
            publish.write_beside(self, data)
        messages = b"".join([journal.message_text(document) for _log, document in changes.appended])
        start = self.line["messages"][1]
        line = self._line(revision, changes, counters, now=now, by=by)
        line.update(tasks=tasks, messages=[start, start + len(messages)])
        if before:
            line["before"] = before
        line.update(marks, boot=disk.boot_id(), id=os.urandom(8).hex())
        self._append(line, data is not None)
        self.make_visible(lambda: publish.publish(self, data, messages), data)
        return revision

    def make_visible(self, shown: Callable[[], None], data: bytes | None) -> None:
        """What follows a commit, which stands whatever happens: the next writer finds our signature and does it again."""
        try:
            shown()
        except EditedMeanwhile:
            raise
        except Exception as error:
            self.notice(f"committed as revision {self.line['rev']}, but not everything could be published: {error}")
            self.unshown = True
            if data is not None:
                self.file = TasksFile(data)
        self.dirty = self.unshown

    def _crc(self) -> str:
        """Of the tasks.json that is about to be replaced; nearly always known already."""
        raw = self.raw or b""
        known: dict[str, Any] = self.line["tasks"]
        return str(known["crc"]) if raw is self.file.raw and len(raw) == known["size"] else fingerprint(raw)

    def _append(self, line: Line, beside: bool) -> None:
        """The commit itself. From here until everything is published the signature must stay in the lock."""
        assert self.journal is not None
        self.dirty = True
        try:
            if not self.is_undisturbed() or os.fstat(self.journal).st_size != self.journal_size:
                raise EditedMeanwhile
            self.journal_size = journal.append(self.journal, line, self.journal_size)
        except OutcomeUnknown:
            raise
        except (EditedMeanwhile, StoreUnavailable):
            if beside:
                disk.discard(self.public, layout.TASKS_NEW)
            self.dirty = self.unshown
            raise
        self.line = line

    def _line(self, revision: int, changes: Changes, counters: dict[str, int], *, now: str, by: str) -> Line:
        docs = [[kind, id, document] for (kind, id), document in changes.puts.items()]
        logs = [[log, document] for log, document in changes.appended]
        return {
            "rev": revision, "at": now, "by": by, "events": changes.events, "docs": docs, "logs": logs, "counters": counters
        }  # fmt: skip

    def is_undisturbed(self) -> bool:
        """Whether nobody saved tasks.json since we looked, not even into the version that was replaced last."""
        previous = disk.stamp(self.public, layout.TASKS_PREVIOUS)
        return disk.stamp(self.public, layout.TASKS) == self.stamp and (
            previous == self.known or self.is_predecessor(previous)
        )

    def _rotate(self) -> None:
        """The next segment begins with the whole ledger; the commit that follows is its second line."""
        assert self.journal is not None
        try:
            self.start_segment(journal.replay(self.journal), self.line)
        except journal.Damaged as damaged:
            from teamtasks.store.files import heal

            heal.restart_journal(self, self.file, damaged.offset)

    def start_segment(self, state: journal.State, last: Line, events: Sequence[Line] = ()) -> None:
        """A journal whose first line is the whole ledger as of ``last``; messages before it are durable from here on."""
        docs = [[kind, id, d] for kind, documents in state.documents.items() for id, d in documents.items()]
        snapshot = {**last, "docs": docs, "logs": [], "events": list(events), "counters": state.counters}
        snapshot.update(snapshot=True, format=layout.FORMAT, ledger=state.ledger, boot=disk.boot_id())
        snapshot["messages"] = [state.messages, state.messages]
        snapshot.pop("crc", None)
        if state.messages:
            publish.sync_messages(self.private, state.messages)
        journal.start_segment(self.private, snapshot)
        try:
            if self.journal is not None:
                lock.release(self.journal)
            self.journal = journal.open_journal(self.private)
            assert self.journal is not None
            lock.take(self.journal, lock.Patience(self.timeout, self._waiting))
            self.journal_size = os.fstat(self.journal).st_size
        except OSError as error:
            raise journal.begun(error) from error
        self.line = snapshot

    def quarantine(self, data: bytes) -> str:
        """A copy of a tasks.json that we are about to replace, for a person to look at. Returns its path."""
        directory, name = self._quarantine()
        try:
            disk.write_new(directory, name, data)
            return disk.path_of(directory, name)
        finally:
            os.close(directory)

    def set_aside(self, place: int, name: str) -> str:
        """Moves whatever has this name in one of our directories into quarantine, without looking into it."""
        directory, kept = self._quarantine()
        try:
            os.rename(name, kept, src_dir_fd=place, dst_dir_fd=directory)
            return disk.path_of(directory, kept)
        finally:
            os.close(directory)

    def _quarantine(self) -> tuple[int, str]:
        path = os.path.join(layout.private(self.home, self.team), layout.QUARANTINE)
        when = iso(time()).replace(":", "").replace("-", "")
        return disk.open_directory(path, create=True), f"{when}-{os.urandom(8).hex()}-{layout.TASKS}"

    def damaged(self, offset: int) -> InvalidData:
        path = os.path.join(layout.private(self.home, self.team), layout.JOURNAL)
        return InvalidData(
            f"{path} is damaged at byte {offset}; nothing was changed",
            hint="teamtasks doctor --fix starts a new journal from what is intact and keeps the old one",
            path=path,
            offset=offset,
        )

    def leave(self) -> None:
        """Unlocks. A signature that stays tells the next writer to look everything over."""
        try:
            if self.lock >= 0 and not self.dirty:
                lock.clear(self.lock)
        except OSError:  # the commit stands; the next writer will look everything over, which is harmless
            pass
        self.close()

    def close(self) -> None:
        for locked in (self.journal, self.lock):
            if locked is not None and locked >= 0:
                lock.release(locked)
        for directory in (self.private, self.public):
            if directory >= 0:
                disk.close(directory)
        self.public = self.private = self.lock = -1
        self.journal = None

    def _waiting(self, holder: str) -> None:
        self.notice(f"waiting for another writer ({holder})")


def _command() -> str:
    words = sys.argv[1:3] if sys.argv else []
    return " ".join(["teamtasks", *words])[:120].replace("\n", " ")
