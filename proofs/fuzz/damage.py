"""What is done to one file. A change is data, so that it can be kept and done again: ``[how, argument, …]``.

Places in a file are fractions of its length and lines are counted modulo their number, so that a change that was kept
still means something in a ledger whose bytes are a little different.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from proofs.ledgers import LONG_AGO
from teamtasks.store.files import journal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_HOLE = "\ue000hole\ue000"
_SECTIONS = ("agents", "keys", "tasks")


def damage(path: Path, change: list[Any], read: Callable[[str], bytes]) -> None:
    """Does it. ``read`` gives the bytes of another of the team's files, by name."""
    how, *arguments = change
    if how in PLANTS:
        _clear(path)
        PLANTS[how](path, *arguments)
        return
    before = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    after = read(arguments[0]) if how == "copy" else BYTES[how](before, *arguments) if how in BYTES else None
    if after is None:
        after = splice(before, *arguments, read)
    _clear(path) if path.is_symlink() or path.is_dir() else None
    path.write_bytes(after)


def age(path: Path) -> None:
    """No save is under way in it."""
    if path.is_file() and not path.is_symlink():
        then = time.time() - LONG_AGO
        os.utime(path, (then, then))


def _clear(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


# Something that is not a file.


def _symlink(path: Path, to: str) -> None:
    """To a victim beside the home, to nothing, or to itself."""
    victim = path.parents[3] / "victim"
    if to == "file":
        victim.write_text("precious")
    path.symlink_to(path if to == "itself" else victim)


def _large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(100 << 20)


def _unreadable(path: Path) -> None:
    path.write_bytes(b"{}")
    path.chmod(0)


PLANTS: dict[str, Callable[..., None]] = {
    "missing": lambda _path: None,
    "fifo": lambda path: os.mkfifo(path),
    "directory": lambda path: path.mkdir(),
    "symlink": _symlink,
    "large": _large,
    "unreadable": _unreadable,
}

# Bytes.


def _at(data: bytes, fraction: float) -> int:
    return min(int(fraction * len(data)), len(data))


def flip(data: bytes, at: float, bit: int) -> bytes:
    place = min(_at(data, at), len(data) - 1)
    return data[:place] + bytes([data[place] ^ (1 << bit)]) + data[place + 1 :] if data else data


def cut(data: bytes, at: float) -> bytes:
    return data[: _at(data, at)]


def cut_line(data: bytes, line: int, at: float) -> bytes:
    """Up to that line and a fraction of it: 0 ends before it, 1 after it but for the line end."""
    lines = data.splitlines(keepends=True)
    n = line % max(1, len(lines))
    return b"".join(lines[:n]) + (cut(lines[n][:-1], at) if lines else b"")


def drop_line(data: bytes, line: int) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join([text for n, text in enumerate(lines) if n != line % len(lines)])


def double_line(data: bytes, line: int) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join([text * (1 + (n == line % len(lines))) for n, text in enumerate(lines)])


def swap_lines(data: bytes, one: int, other: int) -> bytes:
    lines = data.splitlines(keepends=True)
    if lines:
        one, other = one % len(lines), other % len(lines)
        lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def block(data: bytes, at: float, size: int, times: int) -> bytes:
    """A block stands there so many times: 0 takes it away, 2 doubles it; -1 makes it zeros."""
    place = _at(data, at)
    middle = data[place : place + size]
    return data[:place] + (bytes(len(middle)) if times < 0 else middle * times) + data[place + size :]


def insert(data: bytes, at: float, text: str) -> bytes:
    place = _at(data, at)
    return data[:place] + text.encode("latin-1") + data[place:]


def splice(data: bytes, at: float, size: int, name: str, from_at: float, read: Callable[[str], bytes]) -> bytes:
    """A piece of another file over what is here."""
    place, other = _at(data, at), read(name)
    start = _at(other, from_at)
    return data[:place] + other[start : start + size] + data[place + size :]


# JSON.


def ours(document: dict[str, Any]) -> str:
    """A document on each line, as tasks.json has them."""
    if not isinstance(document.get("tasks"), list):
        return json.dumps(document, ensure_ascii=False)
    head = json.dumps({k: v for k, v in document.items() if k not in _SECTIONS}, ensure_ascii=False)[:-1] + ",\n"
    parts = []
    for name in _SECTIONS[:2]:
        entries = document.get(name, {})
        inner = json.dumps(entries, ensure_ascii=False) if not isinstance(entries, dict) else None
        lines = (
            ",\n".join(f"{json.dumps(k)}:{json.dumps(v, ensure_ascii=False)}" for k, v in (entries or {}).items())
            if not inner
            else ""
        )
        parts.append(f'"{name}":{inner or "{" + chr(10) + lines + (chr(10) if lines else "") + "}"},\n')
    tasks = ",\n".join(json.dumps(task, ensure_ascii=False) for task in document["tasks"])
    return head + "".join(parts) + '"tasks":[\n' + tasks + ("\n" if tasks else "") + "]}\n"


def edit(data: bytes, path: list[Any], raw: str, style: str = "ours") -> bytes:
    """Raw JSON text, or what looks like it, in place of the value at ``path``; an empty text takes it away."""
    try:
        document = json.loads(data)
    except ValueError:
        return data
    if not isinstance(document, dict):
        return data
    _put(document, path, _HOLE if raw else None)
    text = json.dumps(document, indent=1, ensure_ascii=False) if style == "indented" else ours(document)
    return text.replace(json.dumps(_HOLE, ensure_ascii=False), raw).encode("utf-8", "surrogatepass")


def _put(node: Any, path: list[Any], value: Any) -> None:
    for step in path[:-1]:
        node = _inner(node, step)
        if node is None:
            return
    last = path[-1] if path else None
    if isinstance(node, list) and isinstance(last, int) and node:
        node[last % len(node)] = value
        if value is None:
            node.pop(last % len(node))
    elif isinstance(node, list) and value is not None:
        node.append(value)
    elif isinstance(node, dict) and isinstance(last, str):
        node[last] = value
        if value is None:
            del node[last]


def _inner(node: Any, step: Any) -> Any:
    if isinstance(node, list) and isinstance(step, int) and node:
        return node[step % len(node)]
    return node.get(step) if isinstance(node, dict) else None


def seal(data: bytes, line: int, path: list[Any], raw: str) -> bytes:
    """A line of the journal with another value in it, and a crc that is right."""
    lines = data.splitlines()
    n = line % len(lines)
    content = json.loads(edit(lines[n], path, raw))
    content.pop("crc", None)
    return b"".join([journal.encode(content) if k == n else text + b"\n" for k, text in enumerate(lines)])


BYTES: dict[str, Callable[..., bytes]] = {
    "flip": flip,
    "cut": cut,
    "cut_line": cut_line,
    "drop_line": drop_line,
    "double_line": double_line,
    "swap_lines": swap_lines,
    "block": block,
    "insert": insert,
    "edit": edit,
    "seal": seal,
    "bytes": lambda _data, text: text.encode("latin-1"),
    "repeat": lambda _data, text, times, end="": (text * times + end * times).encode("latin-1"),
    "utf16": lambda data: data.decode("utf-8", "replace").encode("utf-16"),
    "bom": lambda data: b"\xef\xbb\xbf" + data,
}
