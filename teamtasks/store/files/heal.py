"""What a writer finds, and what it does about it. One table, keyed on what tasks.json is.

    found                                   meaning                            what happens
    what the newest commit published        current                            nothing
    missing, or empty and no save under way deleted, or a crash                publish the newest, with a notice
    an older version of ours                a crash, or an old copy put back   publish the newest, with a notice
    other bytes, valid                      somebody edited it                 merged into a commit "edited outside"
    other bytes, not valid                  a save under way, or a bad edit    wait a second; then refuse, never overwrite
    fine, but no journal                    the private directory was lost     the ledger starts again from the file
    another ledger id                       two teams of one name              refused, with both places

Healing trusts only the journal, and syncs it before anything is published from it. Everything here can be killed and
begun again: it publishes, it never appends twice.
"""

from __future__ import annotations

import os
import time

from teamtasks.domain.errors import InvalidData, TeamNotFound
from teamtasks.domain.names import HIGHEST_BY_HAND
from teamtasks.domain.times import iso
from teamtasks.store.base import Changes
from teamtasks.store.files import disk, edits, journal, layout, publish
from teamtasks.store.files.journal import fingerprint
from teamtasks.store.files.tasksfile import SECTIONS, TasksFile, header_of, render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from teamtasks.store.files.disk import Stamp
    from teamtasks.store.files.journal import State
    from teamtasks.store.files.session import Session

SAVE_UNDER_WAY = 2.0  # seconds: a file younger than this may still be being written
SAVE_WAIT = 1.0


def heal(at: Session) -> None:
    """Leaves the session with a current ``line``, ``file`` and ``stamp``, or raises and leaves the files alone."""
    if at.damage is not None:
        return after_damage(at, at.damage)
    if not at.line:
        return without_journal(at)
    assert at.journal is not None
    os.fsync(at.journal)  # whoever wrote it may have died before it was durable, and so may whoever gave it its name
    os.fsync(at.private)
    if at.line.get("deleted"):
        remove(at)
        raise TeamNotFound(f"no team {at.team!r}: it was deleted", team=at.team)
    died = at.dirty
    state = _state(at)
    rewrite_messages(at)
    disk.remove_whatever(at.public, layout.TASKS_NEW)
    disk.remove_whatever(at.private, layout.JOURNAL_NEW)
    raced = raced_edit(at)
    _heal_tasks(at, state, died)
    if raced is not None:
        _adopt_raced(at, *raced)
    return None


def _state(at: Session) -> State:
    assert at.journal is not None
    try:
        return journal.replay(at.journal)
    except journal.Damaged as damaged:
        if at.raw is None or not at.is_current(at.raw):
            raise at.damaged(damaged.offset) from None
        return restart_journal(at, TasksFile(at.raw), damaged.offset)


def restart_journal(at: Session, file: TasksFile, offset: int) -> State:
    """A new segment from a tasks.json that is known to be the newest. The damaged one is kept as it is."""
    at.notice(f"the journal is damaged at byte {offset}: kept as it is, a new one begins here")
    header = file.header()
    state = journal.State()
    state.documents.update({kind: file.all(kind) for kind in ("team", *SECTIONS)})
    state.ledger, state.counters = header["ledger"], header["counters"]
    state.revision, state.tasks_revision = at.line["rev"], header["revision"]
    state.messages = at.line["messages"][1]
    at.start_segment(state, at.line)
    return state


def after_damage(at: Session, offset: int) -> None:
    """The journal's last line was whole once and is not any more: only a tasks.json that knows more can replace it."""
    assert at.journal is not None
    at.read_tasks()
    _state, last = journal.salvage(at.journal)
    try:
        edit = edits.Edit(edits.path(at), at.team, at.raw or b"")
    except InvalidData:
        raise at.damaged(offset) from None
    if (edit.revision or 0) <= (last["tasks"]["rev"] if last else 0):
        raise at.damaged(offset)
    at.notice(f"the journal is damaged at byte {offset}: kept as it is, a new one begins with {layout.TASKS}")
    at.line = {}
    without_journal(at)


def _heal_tasks(at: Session, state: State, died: bool) -> None:
    if at.raw is None or not at.is_current(at.raw):
        _read_patiently(at)
    raw = at.raw
    if raw is not None and at.is_current(raw):
        at.file = TasksFile(raw)
    elif not raw:
        _publish(at, state, f"tasks.json was {'missing' if raw is None else 'empty'}")
    elif is_ours(at, raw):
        _publish(at, state, "the last writer died in the middle" if died else "tasks.json was an older version")
    else:
        adopt(at, state, raw)


def is_ours(at: Session, raw: bytes) -> bool:
    """Whether these bytes were tasks.json at the revision that they themselves name."""
    return journal.published(at.private, TasksFile(raw).revision(), len(raw), fingerprint(raw))


def _let_a_save_finish(read: Callable[[], tuple[bytes, Stamp] | None]) -> tuple[bytes, Stamp] | None:
    """Editors write in place or truncate first: what is young and not valid may be whole in a moment."""
    deadline = time.monotonic() + SAVE_WAIT
    found = read()
    while found and not _is_json(found[0]) and _is_young(found[1]) and time.monotonic() < deadline:
        time.sleep(0.02)
        found = read()
    return found


def _read_patiently(at: Session) -> None:
    at.raw, at.stamp = _let_a_save_finish(lambda: disk.read(at.public, layout.TASKS)) or (None, None)


def _is_young(stamp: Stamp) -> bool:
    return time.time() - stamp[2] / 1e9 < SAVE_UNDER_WAY


def _is_json(raw: bytes) -> bool:
    from teamtasks.store import strict

    try:
        strict.loads(raw)
    except strict.NotStrict:
        return False
    return True


def _publish(at: Session, state: State, why: str) -> None:
    """tasks.json again, from the journal."""
    data = rendered(at, state)
    if at.is_current(data):
        publish.replace(at, data)
    else:  # an earlier version of teamtasks wrote this revision in another form: say so in the journal
        at.file = TasksFile(data)
        changes = Changes()
        changes.record("republished", {})
        changes.puts["team", at.team] = state.documents["team"][at.team]
        at.commit(changes, state.counters, now=iso(time.time()), by="system")
    at.notice(f"{why}: revision {at.line['rev']} was restored from the journal")


def rendered(at: Session, state: State) -> bytes:
    header = header_of(state.ledger, at.team, state.tasks_revision, state.counters, state.documents["team"][at.team])
    return render(header, state.documents)


def adopt(at: Session, state: State, raw: bytes) -> None:
    """Somebody's edit becomes a commit. Until it is one, the file that they saved is not touched."""
    now = iso(time.time())
    edit, base = edits.read(at, raw, state, now)
    changes, conflicts = edits.as_changes(edit, base, state, now)
    if conflicts:
        kept = at.quarantine(raw)
        at.notice(f"changed both here and in tasks.json: {', '.join(conflicts)}. The ledger's stands; the file is in {kept}")
    at.file = TasksFile(rendered(at, state))
    if changes:
        count = sum(kind == "task" for kind, _id in changes.puts)
        revision = at.commit(changes, edits.counters_above(state.counters, changes), now=now, by="human")
        at.notice(f"tasks.json was edited: {count} task(s) taken over as revision {revision}")
    elif at.raw is None or not at.is_current(at.raw):
        publish.replace(at, at.file.raw)


def raced_edit(at: Session) -> tuple[bytes, Stamp] | None:
    """An edit that raced with our last rename is in the predecessor of tasks.json, which is not what it was."""
    try:
        found = disk.read(at.public, layout.TASKS_PREVIOUS)
        if found is None or at.is_predecessor(found[1]):
            return None
        found = _let_a_save_finish(lambda: disk.read(at.public, layout.TASKS_PREVIOUS))
    except InvalidData:  # not a file: the name is ours, so it goes
        disk.remove_whatever(at.public, layout.TASKS_PREVIOUS)
        return None
    if found and found[0] and not is_ours(at, found[0]) and (at.raw is None or not at.is_current(at.raw)):
        at.quarantine(found[0])  # healing tasks.json may replace the predecessor before we come to it
    at.known = found[1] if found else None
    return found


def _adopt_raced(at: Session, raw: bytes, stamp: Stamp) -> None:
    assert at.journal is not None
    try:
        if raw and not is_ours(at, raw):
            adopt(at, journal.replay(at.journal), raw)
    except InvalidData as error:
        kept = at.quarantine(raw)
        at.notice(f"an edit of tasks.json raced with another command and cannot be used ({error.message}); it is in {kept}")
    if disk.stamp(at.public, layout.TASKS_PREVIOUS) == stamp:  # dealt with, and not saved again since
        disk.remove(at.public, layout.TASKS_PREVIOUS)


def rewrite_messages(at: Session) -> None:
    """Every message at its place. Older segments are asked only if something is wrong, or if all is looked over.

    What no segment knows any more is left blank: it hides neither its neighbours nor that something was there.
    """
    end = at.line["messages"][1]
    if not end:
        return
    found = _messages(at)
    if len(found) > end:
        kept = at.quarantine(found[end:])
        at.notice(f"{layout.MESSAGES} had {len(found) - end} bytes that are not ours: they are in {kept}")
    whole = found[:end] if len(found) >= end else found[: found.rfind(b"\n") + 1]
    right = bytearray(whole.ljust(end, b"\n"))
    for segment in journal.history(at.private):
        before = bytes(right)
        for line in segment:
            start, stop = line["messages"]
            if line["logs"]:
                right[start:stop] = b"".join([journal.message_text(document) for _log, document in line["logs"]])
        if right == before and segment and segment[0]["messages"][0] <= len(found) and not at.thorough:
            break
    if right != found:
        publish.put_messages(at.private, bytes(right), 0)
    publish.sync_messages(at.private, end)


def _messages(at: Session) -> bytes:
    """What is in messages.jsonl; what is there under its name and is no file goes to quarantine."""
    try:
        found = disk.read(at.private, layout.MESSAGES, 1 << 40)
    except InvalidData:
        at.notice(f"{layout.MESSAGES} was not a file: it is in {at.set_aside(at.private, layout.MESSAGES)}")
        return b""
    return found[0] if found else b""


def without_journal(at: Session) -> None:
    """The private directory was lost, or a person wrote tasks.json by hand: the ledger begins with the file."""
    _read_patiently(at)
    if not at.raw:
        raise TeamNotFound(f"no team {at.team!r}", team=at.team)
    now = iso(time.time())
    edit, _base = edits.read(at, at.raw, None, now)
    state = journal.State()
    state.ledger = edit.ledger or os.urandom(16).hex()
    changes, _conflicts = edits.as_changes(edit, state, state, now)
    for (kind, id), document in changes.puts.items():
        assert document is not None  # an edit of nothing removes nothing
        state.documents[kind][id] = document
    state.counters = edits.counters_above(_counters(edit.content.get("counters")), changes)
    state.revision = state.tasks_revision = (edit.revision or 0) + 1
    begin(at, state, [{"event": "adopted"}], by="human", now=now)
    at.notice(f"{edits.path(at)} was adopted: its history begins with revision {state.revision}")


def _counters(found: object) -> dict[str, int]:
    if not isinstance(found, dict):
        return {}
    return {k: v for k, v in found.items() if type(v) is int and 0 <= v <= HIGHEST_BY_HAND}


def begin(at: Session, state: State, events: list[dict[str, object]], *, by: str, now: str) -> None:
    """A ledger's first line and first tasks.json. Messages that are already there stay."""
    data = rendered(at, state)
    state.messages = _messages(at).rfind(b"\n") + 1
    tasks = {"rev": state.revision, "size": len(data), "crc": fingerprint(data)}
    first = {"rev": state.revision, "at": now, "by": by, "tasks": tasks, "id": os.urandom(8).hex()}
    at.dirty = True
    disk.sync_above(layout.private(at.home, at.team))
    at.start_segment(state, first, events)
    at.make_visible(lambda: publish.replace(at, data), data)


def remove(at: Session) -> None:
    """The team's last commit says that it is gone: what is left of it goes too.

    The line that says so stays until everything else is gone for good: after a power loss nothing is found without it.
    """
    for name in os.listdir(at.public):
        if name in (layout.TASKS, layout.TASKS_NEW, layout.TASKS_PREVIOUS) or layout.is_agent_file(name):
            disk.remove_whatever(at.public, name)
    for name in os.listdir(at.private):
        if name not in (layout.LOCK, layout.JOURNAL):
            disk.remove_whatever(at.private, name)
    for directory in (at.public, at.private):
        os.fsync(directory)
    for name in (layout.JOURNAL, layout.LOCK):
        disk.remove_whatever(at.private, name)
    for path in (layout.private(at.home, at.team), layout.public(at.home, at.team)):
        try:
            os.rmdir(path)
        except OSError:  # Claude Code's own list lives in the same directory: it stays
            pass
