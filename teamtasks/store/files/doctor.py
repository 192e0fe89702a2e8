"""A look at everything: what the hot path never needs to check, and how to mend what it refuses to touch."""

from __future__ import annotations

import os
import stat

from teamtasks.domain import adoption
from teamtasks.domain.errors import ForeignLedger, InvalidData, NewerFormat
from teamtasks.domain.names import did_you_mean
from teamtasks.store import validate
from teamtasks.store.files import disk, heal, journal, layout, publish
from teamtasks.store.files.publish import EditedMeanwhile
from teamtasks.store.files.session import Session
from teamtasks.store.files.tasksfile import HEADER, SECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from teamtasks.store.files.store import FileStore

    Finding = dict[str, Any]

NETWORK = ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "afs", "ceph")


def examine(store: FileStore, *, fix: bool) -> list[Finding]:
    """``severity``: problem (something to do), fixed, or info."""
    findings: list[Finding] = []

    def say(severity: str, message: str, hint: str | None = None) -> None:
        findings.append({"severity": severity, "message": message, **({"hint": hint} if hint else {})})

    with Session(store.home, store.team, timeout=store.lock_timeout, notice=lambda text: say("fixed", text)) as at:
        try:
            _settle(at, say, fix=fix)
        except EditedMeanwhile:
            say("problem", "tasks.json is being edited right now", "teamtasks doctor")
        except (NewerFormat, ForeignLedger) as error:  # nothing here is broken: it is not for us to write
            say("problem", error.message, error.hint)
        except InvalidData as error:
            if fix:
                raise
            say("problem", error.message, "teamtasks doctor --fix")
        else:
            with at.reported:
                _check_history(at, say)
                _check_documents(at, say)
                _check_places(store, say)
    return findings


def _settle(at: Session, say: Any, *, fix: bool) -> None:
    try:
        at.thorough = True
        at.settle()
    except (NewerFormat, ForeignLedger):
        raise
    except InvalidData as error:
        if not fix:
            raise
        with at.reported:
            say("fixed", _restored(at, error))


def _restored(at: Session, why: InvalidData) -> str:
    """The last good version takes the place of a broken file, which goes to quarantine."""
    state, last = journal.salvage(at.journal) if at.journal is not None else (journal.State(), None)
    if last is None:
        raise InvalidData(
            f"{why.message}; and nothing in the journal is whole, from which it could be restored",
            hint="mend the file, put another tasks.json in its place, or delete the team",
            **why.facts,
        )
    at.line = last
    data = heal.rendered(at, state)
    kept = ""
    heal.raced_edit(at)  # to quarantine, if there is one
    heal.rewrite_messages(at)
    publish.write_beside(at, data)  # before anything is moved: a full disk fails here
    if disk.stamp(at.public, layout.TASKS) is not None:
        kept = f"; what was there is in {at.set_aside(at.public, layout.TASKS)}"
    at.raw = at.stamp = None
    publish.replace(at, data)
    tasks = {"rev": state.tasks_revision, "size": len(data), "crc": journal.fingerprint(data)}
    at.start_segment(state, {**last, "tasks": tasks})
    return f"{why.message}: revision {state.revision} was restored{kept}"


def _check_history(at: Session, say: Any) -> None:
    """A replay gives what tasks.json shows; what older segments cannot tell any more is said."""
    lines = sum(len(segment) for segment in journal.history(at.private))
    for name in journal.segments(at.private):
        offset = journal.damage(at.private, name)
        if offset is not None:
            say("info", f"{name} is damaged at byte {offset}: what comes after it there is not on record")
    assert at.journal is not None
    if heal.rendered(at, journal.replay(at.journal)) != at.file.raw:
        say("problem", "tasks.json and the journal do not agree", "teamtasks doctor --fix")
    say("info", f"revision {at.line['rev']}, {lines} commits on record, {len(at.file.raw):,} bytes")


def _check_documents(at: Session, say: Any) -> None:
    tasks = at.file.all("task")
    for kind in ("team", *SECTIONS):
        known = [*validate.load(kind).get("properties", {}), *HEADER]
        for id, document in at.file.all(kind).items():
            for wrong in validate.report(kind, document):
                say("problem", f"{kind} {id}: {'.'.join(map(str, wrong.path))} {wrong.why}")
            for field in document:
                if field not in known:
                    meant = did_you_mean(field, known)
                    say(
                        "info",
                        f"{kind} {id} has a field {field!r} that teamtasks does not know"
                        + (f"; did you mean {meant}?" if meant else ""),
                    )
    wrong_rule = adoption.contradiction(tasks, ())
    if wrong_rule is not None:
        say("problem", f"{wrong_rule[0]} {wrong_rule[2]}")


def _check_places(store: FileStore, say: Any) -> None:
    for path in (layout.public(store.home, store.team), layout.private(store.home, store.team)):
        mode = stat.S_IMODE(os.stat(path).st_mode)
        if mode & 0o077:
            say("info", f"{path} can be read by others (mode {mode:o})", f"chmod 700 {path}")
        kind = _file_system(path)
        if kind in NETWORK:
            say(
                "problem",
                f"{path} is on a network file system ({kind}), whose locks may not hold",
                "keep teams on a local disk",
            )


def _file_system(path: str) -> str:
    best, kind = "", ""
    try:
        with open("/proc/self/mounts", encoding="utf-8") as mounts:
            for line in mounts:
                _device, where, type, *_ = line.split(" ")
                if path.startswith(where) and len(where) >= len(best):
                    best, kind = where, type
    except OSError:
        return ""
    return kind
