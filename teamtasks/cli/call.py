"""One call of one command: its values, who gives it, and the store it is about."""

from __future__ import annotations

import os

from teamtasks.config import Config
from teamtasks.domain.agents import Actor
from teamtasks.domain.errors import InvalidInput
from teamtasks.domain.names import HUMAN
from teamtasks.domain.untrusted import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from teamtasks.cli.table import Command
    from teamtasks.store.base import Store

TEAMLESS = ("init", "delete", "teams", "schema", "demo", "--help")
STDIN_MOST = 16 * 1024 * 1024


class Call:
    def __init__(self, command: Command, values: dict[str, Any]) -> None:
        self.command = command
        self.values = values
        self.json = bool(values.get("json"))
        self.quiet = bool(values.get("quiet"))
        self.dry_run = bool(values.get("dry_run"))
        self._config: Config | None = None
        self._store: Store | None = None
        self._stdin_for: str | None = None

    def get(self, name: str, default: Any = None) -> Any:
        return self.values.get(name, default)

    @property
    def config(self) -> Config:
        if self._config is None:
            self._config = Config()
        return self._config

    @property
    def committed(self) -> int | None:
        """The revision that this call made, if it made one."""
        return self._store.committed if self._store is not None else None

    @property
    def who(self) -> Actor:
        return Actor(self.values.get("agent") or self.config.agent or HUMAN)

    @property
    def attempt(self) -> int | None:
        given: int | None = self.values.get("attempt")
        return given if given is not None else self.config.attempt

    @property
    def store(self) -> Store:
        if self._store is None:
            from teamtasks import bootstrap

            self._store = bootstrap.store(self.config, self.values.get("team"), notice, rehearse=self.dry_run)
        return self._store

    def store_of(self, team: str) -> Store:
        """For commands that name the team themselves."""
        from teamtasks import bootstrap

        self._store = bootstrap.store(self.config, team, notice, rehearse=self.dry_run)
        return self._store

    @property
    def prefix(self) -> str:
        """How to call teamtasks in the same way again, for the commands that a brief prints."""
        team, agent = self.values.get("team"), self.values.get("agent")
        return "teamtasks" + (f" -t {team}" if team else "") + (f" --as {agent}" if agent else "")

    @property
    def team_prefix(self) -> str:
        """The same without the agent: for commands that somebody else will give."""
        team = self.values.get("team")
        return f"teamtasks -t {team}" if team else "teamtasks"

    def dressed(self, hint: str) -> str:
        """A hint whose commands can be run as they stand: for the same team, by the same agent where one is needed."""
        parts = hint.split("teamtasks ")
        return parts[0] + "".join([f"{self._prefix_for(part)} {part}" for part in parts[1:]])

    def _prefix_for(self, words: str) -> str:
        first = words.split(" ", 1)[0].rstrip(",.")
        if first in TEAMLESS or first.startswith("-t"):
            return "teamtasks"
        return self.team_prefix if first in ("--as", "join") else self.prefix

    def use(self, store: Store) -> None:
        """The store that a command has just made."""
        self._store = store

    def text(self, name: str) -> str:
        """A text option; ``-`` is stdin, whose last line end is not part of the text."""
        value: str = self.values.get(name) or ""
        return self._stdin(name).removesuffix("\n").removesuffix("\r") if value == "-" else value

    def file(self, name: str) -> str:
        """The content of the file that an option names; ``-`` is stdin."""
        path = self.values.get(name)
        if not path:
            return ""
        return self._stdin(name) if path == "-" else _file(f"--{name}", path)

    def _stdin(self, name: str) -> str:
        if self._stdin_for is not None:
            raise InvalidInput(f"stdin can be read once: for --{self._stdin_for} or for --{name}")
        self._stdin_for = name
        return _decoded(name, _read_all(0))


def _file(what: str, path: str) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}", path=path) from None
    try:
        return _decoded(what, _read_all(fd), errors="replace")
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}", path=path) from None
    finally:
        os.close(fd)


def _read_all(fd: int) -> bytes:
    parts = []
    while part := os.read(fd, 1 << 16):
        parts.append(part)
        if len(parts) * (1 << 16) > STDIN_MOST:
            raise InvalidInput(f"more than {STDIN_MOST:,} bytes of input")
    return b"".join(parts)


def _decoded(what: str, data: bytes, errors: str = "strict") -> str:
    try:
        return data.decode("utf-8-sig", errors)
    except UnicodeDecodeError:
        raise InvalidInput(f"{what}: the input is not UTF-8") from None


def notice(text: str) -> None:
    """What the store wants a person to know, without mixing it with data."""
    try:
        os.write(2, f"note: {one_line(text)}\n".encode())
    except OSError:
        pass
