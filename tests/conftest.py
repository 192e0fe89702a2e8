"""Shared by all tests: a home of their own, and the real command in a real process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from referencing import Registry, Resource

from teamtasks.store.validate import PLACE

TEAMTASKS = str(Path(sys.executable).parent / "teamtasks")


def _registry() -> Registry:
    files = [json.loads(path.read_text()) for path in Path(PLACE).glob("*.json")]
    return Registry().with_resources([(schema["$id"], Resource.from_contents(schema)) for schema in files])


REGISTRY = _registry()


def validator(reference: str) -> Draft7Validator:
    """A validator of one of our schemas, by reference: ``task.json`` or ``answers.json#/definitions/claim``."""
    return Draft7Validator({"$ref": reference}, registry=REGISTRY)


class Result:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def __repr__(self) -> str:
        return f"exit {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"


class Cli:
    """Runs the installed ``teamtasks``. Every --json answer is checked against schemas/answers.json on the way."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def environ(self, **more: str) -> dict[str, str]:
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("TEAMTASKS_", "CLAUDE"))}
        return {**keep, "TEAMTASKS_HOME": str(self.home), "XDG_STATE_HOME": str(self.home / "state"), **more}

    def __call__(self, *args: str, stdin: str | bytes | None = None, code: int | None = 0, **env: str) -> Result:
        """``code`` is the exit code that must come out; None takes any."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [TEAMTASKS, *args], input=data, capture_output=True, env=self.environ(**env), check=False, timeout=60
        )
        result = Result(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Traceback" not in result.err, result
        assert code is None or result.code == code, result
        if "--json" in args:
            self._check(args, result)
        return result

    def _check(self, args: tuple[str, ...], result: Result) -> None:
        from teamtasks.cli.table import BY_NAME

        name = "error" if "error" in result.json else next(a for a in args if a in BY_NAME)
        validator(f"answers.json#/definitions/{name}").validate(result.json)

    def popen(self, *args: str, **env: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([TEAMTASKS, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environ(**env))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def cli(home: Path) -> Cli:
    return Cli(home)


@pytest.fixture
def team(cli: Cli) -> Cli:
    """A team called payments, with nothing in it."""
    cli("init", "payments")
    return cli


@pytest.fixture
def public(home: Path) -> Path:
    return home / "tasks" / "payments"


@pytest.fixture
def private(home: Path) -> Path:
    return home / "teamtasks" / "payments"
