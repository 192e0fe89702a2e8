"""From the journal to the files that everybody reads. Each step can be done again and comes to the same."""

from __future__ import annotations

import os

from teamtasks.domain.errors import StoreUnavailable
from teamtasks.store.files import disk, layout
from teamtasks.store.files.tasksfile import TasksFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from teamtasks.store.files.session import Session


class EditedMeanwhile(Exception):
    """tasks.json, its directory or the journal changed between our look and our commit: begin again with what is there."""


def write_beside(at: Session, data: bytes) -> None:
    """The next tasks.json, synced, under another name: a full disk fails here, before anything has happened."""
    if len(data) > disk.LARGEST:
        raise StoreUnavailable(f"the ledger would have {len(data):,} bytes, at most {disk.LARGEST:,} are kept")
    try:
        at.beside = disk.write_new(at.public, layout.TASKS_NEW, data)
    except FileNotFoundError:  # the directory was deleted under us
        raise EditedMeanwhile from None
    except OSError as error:
        place = layout.public(at.home, at.team)
        raise disk.refused(f"nothing was changed, writing {layout.TASKS_NEW} failed", error, place) from error


def publish(at: Session, data: bytes | None, messages: bytes) -> None:
    """What a commit put becomes visible: messages first, tasks.json last."""
    if messages:
        put_messages(at.private, messages, at.line["messages"][0])
    if data is None:
        return
    _take_the_place(at, data)


def replace(at: Session, data: bytes) -> None:
    """A tasks.json that is not a commit of its own: missing, or an older one, or one that only looks different.

    Whatever was saved there since it was read is not replaced.
    """
    write_beside(at, data)
    if not at.is_undisturbed():
        disk.discard(at.public, layout.TASKS_NEW)
        raise EditedMeanwhile
    at.known = at.stamp
    try:
        _take_the_place(at, data)
    except FileNotFoundError:  # the directory was deleted under us
        raise EditedMeanwhile from None


def _take_the_place(at: Session, data: bytes) -> None:
    """The file beside becomes tasks.json. The old one stays reachable: an edit that raced with the rename is found there.

    Its stamp is known since it was written. Looking again would take what somebody has just saved there for ours.
    """
    disk.remove(at.public, layout.TASKS_PREVIOUS)
    try:
        disk.link(at.public, layout.TASKS, layout.TASKS_PREVIOUS)
    except (FileNotFoundError, PermissionError):  # deleted, or a file system without links
        pass
    disk.rename(at.public, layout.TASKS_NEW, layout.TASKS)
    at.file, at.raw, at.stamp = TasksFile(data), data, at.beside


def put_messages(private: int, messages: bytes, start: int) -> None:
    """At the place that the journal gives, never "append again": so doing it twice is the same as doing it once."""
    fd = _messages(private)
    try:
        os.lseek(fd, start, os.SEEK_SET)
        disk.write_all(fd, messages)
    finally:
        os.close(fd)


def sync_messages(private: int, end: int) -> None:
    """No longer than this, and durable."""
    fd = _messages(private)
    try:
        if os.fstat(fd).st_size > end:
            os.ftruncate(fd, end)
        os.fsync(fd)
    finally:
        os.close(fd)


def _messages(private: int) -> int:
    fd = disk.open_regular(private, layout.MESSAGES, os.O_WRONLY | os.O_CREAT)
    assert fd is not None  # it is made if it is not there
    return fd
