"""The file store: the contract of ``store/base.py``, kept with a journal, a lock and two renames."""

from __future__ import annotations

import os
import time
from zlib import crc32

from teamtasks import jsontext
from teamtasks.domain.errors import InvalidData, LockTimeout, StoreUnavailable, TeamExists, TeamNotFound, TeamtasksError
from teamtasks.domain.times import iso
from teamtasks.store.base import Changes
from teamtasks.store.files import disk, journal, layout
from teamtasks.store.files.publish import EditedMeanwhile
from teamtasks.store.files.session import Session
from teamtasks.store.files.tasksfile import TasksFile
from teamtasks.store.files.view import FileTx, FileView
from teamtasks.store.validate import check_document, check_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from teamtasks.domain.documents import Document, Pulse
    from teamtasks.store.base import Notice, Result, Tx, View
    from teamtasks.store.files.journal import Line

RACES = 50  # edits that may come between before a writer gives up
LOOKS = 5  # times a reader looks again before it asks for the lock
PAUSE = 0.0005  # seconds between two commits of one process: without it others starve
POLL = 0.05


class FileStore:
    """A team under ``home``. Opening it reads nothing: a missing team is reported by the first use."""

    def __init__(self, home: str, team: str, *, lock_timeout: float = 30.0, notice: Notice = lambda _text: None) -> None:
        self.home, self.team = home, team
        self.lock_timeout, self.notice = lock_timeout, notice
        self.committed: int | None = None
        self._released = -1.0

    @property
    def place(self) -> str:
        return layout.public(self.home, self.team)

    def _turn(self, *, create: bool = False) -> Session:
        # A loop of commits would take the lock again before a waiter has woken up.
        if time.monotonic() - self._released < PAUSE:
            time.sleep(PAUSE)
        return Session(self.home, self.team, timeout=self.lock_timeout, notice=self.notice, create=create)

    def create(self, document: Document, *, by: str, more: Iterable[tuple[str, str, Document]] = ()) -> int:
        """A new ledger: its first line is its first snapshot."""
        from teamtasks.store.files import heal

        with self._turn(create=True) as at, at.reported:
            if at.read_journal() or disk.stamp(at.public, layout.TASKS) is not None:
                raise TeamExists(
                    f"there is a team {self.team!r} already", hint=f"teamtasks -t {self.team} list", team=self.team
                )
            state = journal.State()
            state.ledger = os.urandom(16).hex()
            state.revision = state.tasks_revision = 1
            for kind, id, each in [("team", self.team, document), *more]:
                check_document(kind, id, each)
                state.documents[kind][id] = each
            try:
                heal.begin(at, state, [{"event": "team_created"}], by=by, now=iso(time.time()))
            except EditedMeanwhile:
                raise TeamExists(f"somebody has just made a team {self.team!r}", team=self.team) from None
        self.committed = 1
        return 1

    def transact(self, fn: Callable[[Tx], Result], *, by: str, rehearse: bool = False) -> tuple[Result, int]:
        try:
            with self._turn() as at:
                return self._undisturbed(at, lambda: self._run(at, fn, by, rehearse))
        finally:
            self._released = time.monotonic()

    def _undisturbed(self, at: Session, work: Callable[[], Result]) -> Result:
        """Settles and works; begins again when somebody saved tasks.json in between."""
        for race in range(RACES):
            try:
                at.settle()
                return work()
            except EditedMeanwhile:
                at.look_again()
                time.sleep(race * PAUSE)  # whoever is at it needs a moment, and so do we
        raise StoreUnavailable(f"{layout.TASKS} is being written by another program all the time")

    def _run(self, at: Session, fn: Callable[[Tx], Result], by: str, rehearse: bool) -> tuple[Result, int]:
        tx = FileTx(at.file, at.line["rev"])
        value = fn(tx)
        if not tx.changes:
            return value, tx.revision
        for (kind, id), document in tx.changes.puts.items():
            if document is not None:
                check_document(kind, id, document)
        for log, document in tx.changes.appended:
            check_json(log, document)
        if rehearse:
            return value, tx.revision
        self.committed = at.commit(tx.changes, tx.counters, now=tx.now, by=by)
        return value, self.committed

    def read(self) -> View:
        """Without a lock where the files agree, which is nearly always; else through the lock; else from the journal."""
        for _look in range(LOOKS):
            with disk.Reported(self.place):
                line, raw = self._peek()
            if line is None or line.get("deleted"):
                break
            if raw is not None and len(raw) == line["tasks"]["size"] and f"{crc32(raw):08x}" == line["tasks"]["crc"]:
                return FileView(TasksFile(raw), line["rev"])
            time.sleep(0.001)
        return self._read_through_the_lock()

    def _peek(self) -> tuple[Line | None, bytes | None]:
        """The journal's last line first, then tasks.json: what is read second is at least as new."""
        line = self._last_line()
        if line is None:
            return None, None
        try:
            public = disk.open_directory(layout.public(self.home, self.team))
        except FileNotFoundError:
            return line, None
        try:
            found = disk.read(public, layout.TASKS)
        except InvalidData:
            return line, None
        finally:
            os.close(public)
        return line, found[0] if found else None

    def _last_line(self) -> Line | None:
        """Of the journal as it is; None if it is not there, or damaged."""
        private = fd = None
        try:
            private = disk.open_directory(layout.private(self.home, self.team))
            fd = journal.open_journal(private, os.O_RDONLY)
            return None if fd is None else journal.tail(fd).line
        except (FileNotFoundError, journal.Damaged):
            return None
        finally:
            for open_fd in (fd, private):
                if open_fd is not None:
                    os.close(open_fd)

    def _read_through_the_lock(self) -> View:
        try:
            with self._turn() as at:
                at.settle()
                return FileView(at.file, at.line["rev"])
        except (InvalidData, LockTimeout, EditedMeanwhile, StoreUnavailable) as error:
            return self._last_good(error)

    def _last_good(self, why: Exception) -> View:
        """The newest commit, from the journal alone: for a broken edit, a read-only disk, a stopped writer."""
        from teamtasks.store.files import heal

        at = Session(self.home, self.team, timeout=0, notice=self.notice)
        try:
            at.private = disk.open_directory(layout.private(self.home, self.team))
            at.journal = journal.open_journal(at.private, os.O_RDONLY)
            if at.journal is None:
                raise why
            state = journal.replay(at.journal)
        except (OSError, journal.Damaged):
            raise why from None
        finally:
            at.close()
        if not state.revision:
            raise why
        reason = f"{why.message}. {why.hint or ''}" if isinstance(why, TeamtasksError) else str(why)
        self.notice(f"showing revision {state.revision}, the last good one: {reason}")
        return FileView(TasksFile(heal.rendered(at, state)), state.revision)

    def beat(self, agent: str, incarnation: int, fresh: Document, *, acted: bool) -> None:
        from teamtasks.store.files import pulse

        with disk.Reported(self.place):
            try:
                public = disk.open_directory(self.place)
            except FileNotFoundError:
                if layout.is_team(self.home, self.team):
                    raise
                raise TeamNotFound(f"no team {self.team!r}", team=self.team) from None
            try:
                pulse.write(public, agent, incarnation, fresh, acted=acted)
            finally:
                os.close(public)

    def life(self, agent: str) -> int | None:
        """The newest incarnation that has a file of its own."""
        try:
            names = os.listdir(self.place)
        except OSError:
            return None
        start = f"agent_{agent}_"
        numbers = [n[len(start) : -5] for n in names if n.startswith(start) and n.endswith(".json")]
        return max([int(n) for n in numbers if n.isdigit()], default=None)

    def pulses(self) -> dict[tuple[str, int], Pulse]:
        from teamtasks.store.files import pulse

        try:
            public = disk.open_directory(self.place)
        except OSError:
            return {}
        try:
            return pulse.read_all(public)
        finally:
            os.close(public)

    def tail(self, log: str, after: int) -> tuple[list[Document], int]:
        """What was committed to a log after a place in it, and the place to ask from next time."""
        line = self._last_line()
        end = line["messages"][1] if line else 0
        if after >= end:
            return [], end
        found = self._entries(log, after, end)
        if found is None:  # committed, but not yet published, or damaged: a turn with the lock puts that right
            with self._turn() as at:
                at.thorough = True
                at.settle()
            found = self._entries(log, after, end)
        if found is None:
            raise InvalidData(f"the {log} from byte {after} on are damaged", hint="teamtasks doctor")
        return found, end

    def _entries(self, log: str, start: int, end: int) -> list[Document] | None:
        """What is between two places of a log; None if it is not all there, or not readable."""
        private = fd = None
        with disk.Reported(layout.private(self.home, self.team)):
            try:
                private = disk.open_directory(layout.private(self.home, self.team))
                fd = disk.open_regular(private, f"{log}.jsonl", os.O_RDONLY)
                data = b"" if fd is None else os.pread(fd, end - start, start)
                if len(data) < end - start or not data.endswith(b"\n"):
                    return None
                return [jsontext.loads(text.decode()) for text in data.split(b"\n") if text]
            except (InvalidData, ValueError):
                return None
            finally:
                for open_fd in (fd, private):
                    if open_fd is not None:
                        os.close(open_fd)

    def wait(self, revision: int, seconds: float) -> bool:
        """True as soon as there is a newer revision; looks at the journal every 50 ms."""
        deadline = time.monotonic() + seconds
        while True:
            line = self._last_line()
            if line is None or line["rev"] > revision:
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(POLL, left))

    def delete(self, *, by: str) -> None:
        """The last commit says so; then everything of ours goes. Claude Code's own files in the directory stay."""
        from teamtasks.store.files import heal

        changes = Changes()
        changes.record("team_deleted", {})
        with self._turn() as at, at.reported:

            def last_commit() -> int:
                return at.commit(changes, at.file.header()["counters"], now=iso(time.time()), by=by, deleted=True)

            self.committed = self._undisturbed(at, last_commit)
            at.make_visible(lambda: heal.remove(at), None)

    def check(self, *, fix: bool) -> list[Document]:
        from teamtasks.store.files import doctor

        return doctor.examine(self, fix=fix)
