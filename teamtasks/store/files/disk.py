"""The few system calls that the store makes, always relative to an open directory and never through a symlink."""

from __future__ import annotations

import errno
import os
import stat

from teamtasks.domain.errors import InvalidData, StoreUnavailable

FILE_MODE = 0o600
DIRECTORY_MODE = 0o700
LARGEST = 64 * 1024 * 1024  # bytes of any one document file: far above 10,000 tasks, far below what stops a machine

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Stamp = tuple[int, int, int]  # inode, size, modification time: what changes when somebody writes to a file or replaces it


def open_directory(path: str, *, create: bool = False) -> int:
    """A descriptor of the directory itself: what is later done through it cannot be led elsewhere."""
    if create:
        _make_directory(path)
    try:
        fd = os.open(path, _DIRECTORY)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise InvalidData(f"{path} is not a directory of its own (a symlink or a file)", path=path) from None
        raise
    try:
        _keep_others_out(fd, path)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _keep_others_out(fd: int, path: str) -> None:
    """Whoever owns a directory, or may write to it, can replace whatever is in it: that is us, and nobody else."""
    found = os.fstat(fd)
    if found.st_uid != os.geteuid() != 0:
        raise InvalidData(
            f"{path} belongs to another user (uid {found.st_uid}), who could change whatever is kept there",
            hint="move it away, or keep teams somewhere else: TEAMTASKS_HOME=…",
            path=path,
            uid=found.st_uid,
        )
    if found.st_mode & 0o022:
        os.fchmod(fd, stat.S_IMODE(found.st_mode) & ~0o022)


def _make_directory(path: str) -> None:
    """With its parents, each of them durable: a team that was reported as made is still there after a power loss."""
    parent = os.path.dirname(path)
    try:
        os.mkdir(path, DIRECTORY_MODE)
    except FileExistsError:
        pass
    except FileNotFoundError:
        _make_directory(parent)
        _make_directory(path)
    else:
        os.chmod(path, DIRECTORY_MODE)  # a umask may have taken even our own rights
        if os.geteuid() == 0:
            above = os.stat(parent)
            os.chown(path, above.st_uid, above.st_gid)
        sync_directory(parent)


def sync_above(path: str) -> None:
    """The names of a team's directory, of ours and of the home: whoever made them may have died before they were durable."""
    for _level in range(3):
        path = os.path.dirname(path)
        try:
            sync_directory(path)
        except PermissionError:  # what we may not read we have not made
            return


def sync_directory(path: str | int) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) if isinstance(path, str) else path
    try:
        os.fsync(fd)
    finally:
        if fd is not path:
            os.close(fd)


def read(directory: int, name: str, most: int = LARGEST) -> tuple[bytes, Stamp] | None:
    """Bytes and stamp of a regular file; None if there is none."""
    fd = open_regular(directory, name, os.O_RDONLY)
    if fd is None:
        return None
    try:
        found = os.fstat(fd)
        if found.st_size > most:
            raise InvalidData(
                f"{path_of(directory, name)} has {found.st_size:,} bytes; at most {most:,} are read",
                path=path_of(directory, name),
            )
        return read_from(fd, found.st_size), (found.st_ino, found.st_size, found.st_mtime_ns)
    finally:
        os.close(fd)


def read_from(fd: int, size: int) -> bytes:
    """The rest of an open file, about ``size`` bytes."""
    parts = [os.read(fd, size + 1)]
    if len(parts[0]) != size:  # shorter than asked for, or it has grown since its size was seen
        while parts[-1]:
            parts.append(os.read(fd, 1 << 20))
    return b"".join(parts) if len(parts) > 1 else parts[0]


def open_regular(directory: int, name: str, flags: int) -> int | None:
    """A descriptor of a regular file; None if there is none. Anything else is refused, and never waited for."""
    try:
        fd = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, FILE_MODE, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise _not_a_file(directory, name) from None
        error.filename = path_of(directory, name)
        raise
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        os.close(fd)
        raise _not_a_file(directory, name)
    if flags & os.O_CREAT and found.st_size == 0:
        make_private(directory, fd, found)
    return fd


def make_private(directory: int, fd: int, found: os.stat_result) -> None:
    """0600, whatever the umask made of it; and, if root is at work in a user's home, the user's."""
    if stat.S_IMODE(found.st_mode) != FILE_MODE:
        os.fchmod(fd, FILE_MODE)
    if os.geteuid() == 0:
        owner = os.fstat(directory)
        if owner.st_uid != found.st_uid:
            os.fchown(fd, owner.st_uid, owner.st_gid)


def stamp(directory: int, name: str) -> Stamp | None:
    try:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns)


def write_new(directory: int, name: str, data: bytes) -> Stamp:
    """A new file under a fixed name, synced. What a dead writer left there goes; what somebody planted is not followed."""
    try:
        fd = os.open(name, _NEW, FILE_MODE, dir_fd=directory)
    except FileExistsError:
        remove_whatever(directory, name)
        fd = os.open(name, _NEW, FILE_MODE, dir_fd=directory)
    try:
        write_all(fd, data)
        os.fsync(fd)
        found = os.fstat(fd)
        make_private(directory, fd, found)
        return (found.st_ino, found.st_size, found.st_mtime_ns)
    except BaseException:
        discard(directory, name)
        raise
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes) -> None:
    """One write for what fits into one; a short write goes on."""
    written = os.write(fd, data)
    while written < len(data):
        written += os.write(fd, memoryview(data)[written:])


def remove(directory: int, name: str) -> bool:
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        return False
    return True


def remove_whatever(directory: int, name: str) -> None:
    """A file, a link (not what it points to) or a directory with all that is in it; nothing, if there is nothing."""
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        pass
    except (IsADirectoryError, PermissionError):
        inner = os.open(name, _DIRECTORY, dir_fd=directory)
        try:
            for each in os.listdir(inner):
                remove_whatever(inner, each)
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=directory)


def discard(directory: int, name: str) -> None:
    """Removes what is no longer needed, on the way out of a failure that matters more than a second one."""
    try:
        os.unlink(name, dir_fd=directory)
    except OSError:
        pass


def rename(directory: int, old: str, new: str) -> None:
    os.rename(old, new, src_dir_fd=directory, dst_dir_fd=directory)


def link(directory: int, old: str, new: str) -> None:
    os.link(old, new, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)


def close(fd: int) -> None:
    """Where nothing depends on it any more: a failure could not be mended, and must not hide what was done."""
    try:
        os.close(fd)
    except OSError:
        pass


def names_same(fd: int, path: str, directory: int | None = None) -> bool:
    """Whether ``path`` still names what ``fd`` has open."""
    try:
        there = os.stat(path, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return False
    here = os.fstat(fd)
    return (here.st_ino, here.st_dev) == (there.st_ino, there.st_dev)


def boot_id() -> str:
    """Another value after each start of the machine: what was not synced before may be gone."""
    try:
        fd = os.open("/proc/sys/kernel/random/boot_id", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return "unknown"
    try:
        return os.read(fd, 64).decode().strip()
    finally:
        os.close(fd)


class Reported:
    """A context in which whatever the operating system refuses becomes an error that a user can act on."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, OSError):
            raise refused("the ledger cannot be used", error, self.path) from error


_ROOM = "make room, then repeat the command"
_FILES = "close programs or raise the limit of open files (ulimit -n), then repeat the command"
_NEXT = {
    errno.ENOSPC: _ROOM, errno.EDQUOT: _ROOM, errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EMFILE: _FILES, errno.ENFILE: _FILES, errno.ENOMEM: "free some memory, then repeat the command",
    errno.EIO: "look at the disk, then repeat the command",
}  # fmt: skip


def refused(what: str, error: OSError, place: str) -> StoreUnavailable:
    """The operating system's no, in a user's words: what could not be done, why, and what to do about it."""
    named = str(error.filename or "")
    path = named if os.path.isabs(named) else place
    return StoreUnavailable(
        f"{what}: {error.strerror or error}",
        hint=_NEXT.get(error.errno or 0, f"check that you can read and write {path}"),
        errno=error.errno,
        path=path,
    )


def path_of(directory: int, name: str) -> str:
    """For messages to people only."""
    try:
        return os.path.join(os.readlink(f"/proc/self/fd/{directory}"), name)
    except OSError:
        return name


def _not_a_file(directory: int, name: str) -> InvalidData:
    path = path_of(directory, name)
    return InvalidData(f"{path} is not a regular file", hint="look at it, then remove it", path=path)
