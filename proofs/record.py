"""A real command's operations on a disk, read from strace with every byte.

Calls that only look (``LOOKING``) are not traced. Of all others those that name something below the home are turned into
operations; one that is not known here is an error, because a change that goes unseen would make the proof worthless. For
the same reason the recording is compared with what the command has really left, byte by byte.
"""

from __future__ import annotations

import os
import re
import subprocess
from itertools import count
from typing import TYPE_CHECKING

from proofs.operations import ROOT, Entry, File, Mode, Op, State, Sync, Truncate, Write
from proofs.stage import scan

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOOKING = (
    "read", "pread64", "readv", "preadv", "preadv2", "stat", "lstat", "fstat", "newfstatat", "statx", "statfs", "fstatfs",
    "access", "faccessat", "faccessat2", "getdents", "getdents64", "readlink", "readlinkat", "getcwd", "brk", "mprotect",
    "munmap", "rt_sigaction", "rt_sigprocmask", "futex", "poll", "select", "flock",
)  # fmt: skip
CARRYING = ("write", "writev", "sendto", "sendmsg")  # what they carry may name a path, but it is not what they change
UMASK = 0o022
LONGEST = 1 << 26  # bytes of one write

_CALL = re.compile(r"^(\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+)(?:<.*>)?( E\w+ .*)?(?: \(.*\))?$")
_DESCRIPTOR = re.compile(r"^(-?\d+|AT_FDCWD)(?:<(.*)>)?$")


_NEW = count(1 << 48)  # numbers of inodes that a recording has seen made: no real one is as high


class CannotRecord(Exception):
    """The recording would not be true."""


class Recording:
    """``ops`` in their order; ``answered`` of them came before the command said that it is done (None: it never did)."""

    def __init__(self, home: Path, start: State) -> None:
        self.home, self.start = str(home), start
        self.ops: list[Op] = []
        self.answered: int | None = None
        self.code = 0
        self.out = self.err = ""
        self.live = State(dict(start.names), dict(start.files))
        self._open: dict[int, list[int]] = {}  # descriptor: inode, offset; a third number if it appends
        self._process: str | None = None

    def run(self, command: list[str], stdin: str, environ: dict[str, str]) -> Recording:
        log = f"{self.home}.trace"
        strace = ["strace", "-f", "-y", "-xx", "-s", str(LONGEST), "-o", log, f"--trace=!{','.join(LOOKING)}"]
        done = subprocess.run(
            [*strace, *command], env=environ, input=stdin, text=True, capture_output=True, timeout=60, check=False,
            umask=UMASK, cwd=os.path.dirname(self.home),
        )  # fmt: skip
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        with open(log, encoding="ascii", errors="replace") as trace:
            for process, call in _calls(trace):
                self._take(process, call)
        os.unlink(log)
        if self.code != 0:
            self.answered = None
        elif self.answered is None:
            self.answered = len(self.ops)
        self._compare()
        return self

    def _compare(self) -> None:
        """What the recording comes to is what is there: names, links, bytes and modes."""
        real, mine = scan(self.home), self.live
        there, here = real.paths(), mine.paths()
        if there.keys() != here.keys():
            raise CannotRecord(f"the recording misses or makes up names: {sorted(there.keys() ^ here.keys())}")
        for path, inode in there.items():
            if real.files[inode].digest != mine.files[here[path]].digest:
                raise CannotRecord(f"the recording of {path} is not what is there")
        if len({*zip(there.values(), here.values(), strict=True)}) != len({*there.values()}):
            raise CannotRecord("the recording does not know which names are one file")

    def _take(self, process: str, call: str) -> None:
        match = _CALL.match(call)
        if match is None:
            if self._names_home(call) and not call.startswith(("execve(", "exit")):
                raise CannotRecord(f"what is this? {call[:200]}")
            return
        name, arguments, result, error = match.groups()
        if name == "write" and arguments.startswith("1<") and self.answered is None and int(result, 0) > 0:
            self.answered = len(self.ops)
        if error or not self._names_home(arguments.partition(", ")[0] if name in CARRYING else arguments):
            if name == "close":  # of something else that has a number which we may have seen
                self._open.pop(int(_DESCRIPTOR.match(arguments)[1]), None)  # type: ignore[index]
            return
        if name == "execve":
            return
        if self._process not in (None, process):
            raise CannotRecord("more than one process changes files")
        self._process = process
        handler = getattr(self, f"_{name}", None)
        if handler is None:
            raise CannotRecord(f"a call that is not known here: {call[:200]}")
        handler(int(result, 0), *arguments.split(", "))

    def _names_home(self, call: str) -> bool:
        return re.search(re.escape(_hex(self.home)) + r'(?:\\x2f|["<>])', call) is not None

    # What each call does. The arguments are as strace writes them.

    def _openat(self, result: int, directory: str, path: str, flags: str, mode: str = "0") -> None:
        where = self._name(directory, path)
        inode = self._inode(where) if where else ROOT
        if inode is None:
            inode = self._new("create", where, File(mode=int(mode, 8) & ~UMASK))
        elif "O_TRUNC" in flags and self.live.files[inode].data:
            self._do(Truncate(inode, 0))
        self._open[result] = [inode, 0, *([1] if "O_APPEND" in flags else [])]

    def _close(self, _result: int, descriptor: str) -> None:
        self._open.pop(_number(descriptor), None)

    def _lseek(self, result: int, descriptor: str, *_where: str) -> None:
        self._open[_number(descriptor)][1] = result

    def _write(self, result: int, descriptor: str, data: str, _count: str) -> None:
        opened = self._open[_number(descriptor)]
        if len(opened) == 3:
            opened[1] = len(self.live.files[opened[0]].data)
        self._do(Write(opened[0], opened[1], _bytes(data)[:result]))
        opened[1] += result

    def _pwrite64(self, result: int, descriptor: str, data: str, _count: str, offset: str) -> None:
        self._do(Write(self._open[_number(descriptor)][0], int(offset), _bytes(data)[:result]))

    def _ftruncate(self, _result: int, descriptor: str, size: str) -> None:
        self._do(Truncate(self._open[_number(descriptor)][0], int(size)))

    def _fchmod(self, _result: int, descriptor: str, mode: str) -> None:
        self._do(Mode(self._open[_number(descriptor)][0], int(mode, 8)))

    def _chmod(self, _result: int, path: str, mode: str) -> None:
        self._fchmodat(0, "AT_FDCWD", path, mode)

    def _fchmodat(self, _result: int, directory: str, path: str, mode: str, *_flags: str) -> None:
        self._do(Mode(self._there(self._name(directory, path)), int(mode, 8)))

    def _chown(self, _result: int, _path: str, user: str, group: str) -> None:
        if (int(user), int(group)) != (os.geteuid(), os.getegid()):
            raise CannotRecord("a file is given to another user")

    _fchown = _chown

    def _fsync(self, _result: int, descriptor: str) -> None:
        self._do(Sync(self._open[_number(descriptor)][0]))

    def _fdatasync(self, _result: int, descriptor: str) -> None:
        self._do(Sync(self._open[_number(descriptor)][0], data_only=True))

    def _mkdir(self, _result: int, path: str, mode: str) -> None:
        self._mkdirat(0, "AT_FDCWD", path, mode)

    def _mkdirat(self, _result: int, directory: str, path: str, mode: str) -> None:
        self._new("mkdir", self._name(directory, path), File(mode=int(mode, 8) & ~UMASK, directory=True))

    def _rename(self, _result: int, old: str, new: str) -> None:
        self._renameat(0, "AT_FDCWD", old, "AT_FDCWD", new)

    def _renameat(self, _result: int, old_in: str, old: str, new_in: str, new: str) -> None:
        source = self._name(old_in, old)
        self._do(Entry("rename", self._there(source), source, self._name(new_in, new)))

    def _link(self, _result: int, old: str, new: str) -> None:
        self._linkat(0, "AT_FDCWD", old, "AT_FDCWD", new)

    def _linkat(self, _result: int, old_in: str, old: str, new_in: str, new: str, *_flags: str) -> None:
        source = self._name(old_in, old)
        self._do(Entry("link", self._there(source), source, self._name(new_in, new)))

    def _unlink(self, _result: int, path: str) -> None:
        self._unlinkat(0, "AT_FDCWD", path, "0")

    def _rmdir(self, _result: int, path: str) -> None:
        self._unlinkat(0, "AT_FDCWD", path, "AT_REMOVEDIR")

    def _unlinkat(self, _result: int, directory: str, path: str, flags: str) -> None:
        name = self._name(directory, path)
        self._do(Entry("rmdir" if flags == "AT_REMOVEDIR" else "unlink", self._there(name), name))

    def _mmap(self, _result: int, _where: str, _length: str, protection: str, flags: str, *_rest: str) -> None:
        if "PROT_WRITE" in protection and "MAP_SHARED" in flags:
            raise CannotRecord("a file is changed through memory")

    def _fcntl(self, result: int, descriptor: str, what: str, *_rest: str) -> None:
        if what.startswith("F_DUPFD"):
            self._open[result] = self._open[_number(descriptor)]

    def _ioctl(self, _result: int, _descriptor: str, what: str, *_rest: str) -> None:
        if what != "TCGETS":
            raise CannotRecord(f"ioctl {what}")

    # What they have in common.

    def _do(self, op: Op) -> None:
        self.ops.append(op)
        self.live = self.live.after([op])

    def _new(self, verb: str, name: tuple[int, str] | None, made: File) -> int:
        inode = next(_NEW)
        self._do(Entry(verb, inode, target=name, made=made))
        return inode

    def _name(self, directory: str, path: str) -> tuple[int, str] | None:
        """The directory's inode and the name in it; None is the home itself."""
        text = _bytes(path).decode()
        if not text.startswith("/"):
            text = f"{_place(directory)}/{text}"
        inner = os.path.relpath(text, self.home)
        if inner == ".":
            return None
        parent, name = os.path.split(inner)
        known = self.live.paths()
        if parent and parent not in known:
            raise CannotRecord(f"{text} is in no directory that is known here")
        return (known[parent] if parent else ROOT), name

    def _inode(self, name: tuple[int, str] | None) -> int | None:
        return self.live.names.get(name) if name else ROOT

    def _there(self, name: tuple[int, str] | None) -> int:
        inode = self._inode(name)
        if inode is None:
            raise CannotRecord(f"{name} is not there")
        return inode


def _calls(trace: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Process and call, those in two pieces put together."""
    begun: dict[str, str] = {}
    for line in trace:
        process, _, call = line.rstrip("\n").partition(" ")
        call = call.strip()
        if call.endswith(" <unfinished ...>"):
            begun[process] = call.removesuffix(" <unfinished ...>")
        elif call.startswith("<... "):
            yield process, begun.pop(process) + call.partition(" resumed>")[2]
        elif not call.startswith(("+++", "---")):
            yield process, call


def _hex(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


def _bytes(argument: str) -> bytes:
    if not (argument.startswith('"') and argument.endswith('"')):
        raise CannotRecord(f"not all bytes are known: {argument[:80]}…")
    return bytes.fromhex(argument[1:-1].replace("\\x", ""))


def _number(descriptor: str) -> int:
    return int(descriptor.partition("<")[0])


def _place(descriptor: str) -> str:
    """The path that strace gives with a descriptor."""
    return _bytes(f'"{descriptor.partition("<")[2][:-1]}"').decode()
