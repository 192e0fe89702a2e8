"""The import budget: what agents call all day starts on the light standard library and on few modules of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import teamtasks

ROOT = Path(teamtasks.__file__).parent.parent
HEAVY = {
    "json", "re", "typing", "enum", "dataclasses", "pathlib", "click", "rich", "jsonschema", "filelock", "platformdirs",
    "datetime", "signal", "threading", "hashlib", "subprocess", "logging", "argparse", "contextlib", "functools",
    "collections", "random", "secrets", "tempfile", "shutil", "inspect", "traceback", "asyncio", "socket",
}  # fmt: skip

# The most modules of ours that each verb may load: what it loads now and two more.
MOST = {
    "claim": 41,
    "complete": 41,
    "fail": 41,
    "release": 41,
    "note": 41,
    "heartbeat": 37,
    "ready": 39,
    "list": 39,
    "show": 40,
}
CALLS = {
    "claim": "--as backend claim",
    "complete": "--as db complete 2 --attempt 2 --result works --evidence 1=tests",
    "fail": "--as db fail 2 --attempt 2 --reason 401 --tried header",
    "release": "--as db release 2 --attempt 2 --reason later",
    "note": "--as db note 2 --attempt 2 worth-knowing",
    "heartbeat": "--as db heartbeat --context 65 --doing tests",
    "ready": "--as backend ready",
    "list": "list --status pending",
    "show": "show 2",
}
# Without site: what an installation's .pth files import is not ours. The modules are told on stderr, after the answer.
MAIN = """
import sys
sys.path.insert(0, {root!r})
bare = set(sys.modules)
from teamtasks.cli.main import main
code = main(sys.argv[1:])
print(code, *sorted(set(sys.modules) - bare), file=sys.stderr)
"""


@pytest.fixture
def settled(story):
    """The story's files were copied, which the first commit looks into; from then on everything is as usual."""
    story("note", "8", "is this urgent?")
    return story


def loaded(cli, call: str, code: int = 0) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-S", "-c", MAIN.format(root=str(ROOT)), *call.split()],
        env=cli.environ(),
        capture_output=True,
        text=True,
        check=True,
    )
    ended, *modules = done.stderr.splitlines()[-1].split()
    assert int(ended) == code, done
    return set(modules)


@pytest.mark.parametrize("how", ["", "--json", "-q"])
@pytest.mark.parametrize("name", CALLS)
def test_a_frequent_verb_imports_nothing_heavy(settled, name, how):
    assert HEAVY & loaded(settled, f"{CALLS[name]} {how}") == set()


@pytest.mark.parametrize("name", CALLS)
def test_a_frequent_verb_loads_few_modules_of_ours(settled, name):
    ours = {module for module in loaded(settled, CALLS[name]) if module.startswith("teamtasks")}
    assert len(ours) <= MOST[name], sorted(ours)


def test_a_dry_run_of_a_claim_is_as_light_as_the_claim(settled):
    assert HEAVY & loaded(settled, "--as backend claim --dry-run") == set()


@pytest.mark.parametrize(
    ("call", "code"), [("--as backend claim 2", 4), ("--as otto claim", 6), ("--as db complete 2", 4), ("show 99", 3)]
)
def test_an_expected_refusal_is_as_light(settled, call, code):
    assert HEAVY & loaded(settled, call, code) == set()


def test_the_measure_sees_what_is_heavy(settled):
    """A setting is changed rarely and may cost more; a measure that cannot see that sees nothing."""
    assert {"json", "re", "enum"} <= loaded(settled, "create x --meta a=1")


def test_the_installed_command_takes_the_same_way():
    """The script that the wheel installs begins with our main, not with a launcher that imports re."""
    script = ROOT / "scripts" / "teamtasks"
    code = [line for line in script.read_text().splitlines() if line and not line.startswith("#")]
    assert code == ["from teamtasks.__main__ import main", "main()"]
