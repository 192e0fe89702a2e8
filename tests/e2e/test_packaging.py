"""What is installed from a wheel works alone: commands, schemas, types, and the demo, in a fresh environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from filelock import FileLock

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


def clean() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith(("TEAMTASKS_", "CLAUDE", "PYTHON"))}


def once(tmp_path_factory: pytest.TempPathFactory, worker_id: str, name: str) -> tuple[Path, FileLock]:
    """A place that all workers of a parallel run share, and the lock under which the first of them fills it."""
    base = tmp_path_factory.getbasetemp()
    place = (base if worker_id == "master" else base.parent) / name
    return place, FileLock(f"{place}.lock")


@pytest.fixture(scope="session")
def worker_id(request: pytest.FixtureRequest) -> str:
    return getattr(request.config, "workerinput", {"workerid": "master"})["workerid"]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    place, lock = once(tmp_path_factory, worker_id, "wheel")
    with lock:
        if not place.exists():
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"]
            subprocess.run([*pip, "-w", str(place), str(ROOT)], check=True, env=clean(), timeout=240)
    (built,) = place.glob("teamtasks-*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The directory of the commands of an environment that has nothing but the wheel and what it depends on."""
    place, lock = once(tmp_path_factory, worker_id, "fresh")
    with lock:
        if not place.exists():
            venv.create(place)
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", place / "bin" / "python"]
            subprocess.run([*pip, "install", "--quiet", str(wheel)], check=True, env=clean(), timeout=240)
    return place / "bin"


def run(installed: Path, home: Path, *words: str) -> str:
    """Away from the sources, so that nothing of them can be used by chance."""
    done = subprocess.run(
        [installed / "teamtasks", *words],
        env={**clean(), "TEAMTASKS_HOME": str(home)},
        cwd=home.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_has_every_schema_the_types_marker_and_the_licence_and_no_tests(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for path in (ROOT / "teamtasks").rglob("*"):
        if path.suffix in (".py", ".json") or path.name == "py.typed":
            assert str(path.relative_to(ROOT)) in names
    assert "teamtasks/py.typed" in names
    assert any(name.endswith("LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests", "docs")) or "__pycache__" in name]


def test_the_sources_of_the_installed_command_are_the_wheels(installed, tmp_path):
    python = [installed / "python", "-c", "import teamtasks; print(teamtasks.__file__)"]
    told = subprocess.run(python, env=clean(), cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert told.startswith(str(installed.parent))


def test_the_installed_command_serves_a_team_from_init_to_complete(installed, tmp_path):
    home = tmp_path / "home"
    run(installed, home, "init", "payments", "--lead", "anna")
    run(installed, home, "create", "Payment API", "--accept", "answers 201")
    assert json.loads(run(installed, home, "--as", "b", "claim", "--json"))["task"]["id"] == "task-1"
    run(installed, home, "--as", "b", "complete", "1", "--result", "works", "--evidence", "1=tests")
    assert run(installed, home, "list") == 'task-1 completed "Payment API" by b\n'
    assert run(installed, home, "doctor").endswith("healthy\n")


def test_the_installed_command_has_its_schemas(installed, tmp_path):
    there = run(installed, tmp_path / "home", "schema").split()
    assert there == sorted(path.stem for path in (ROOT / "teamtasks" / "schemas").glob("*.json"))
    for name in there:
        assert json.loads(run(installed, tmp_path / "home", "schema", name))["$schema"]


def test_help_a_terminal_and_a_hand_edit_find_the_libraries_that_they_need(installed, tmp_path):
    home = tmp_path / "home"
    assert "Examples:" in run(installed, home, "claim", "--help")
    run(installed, home, "init", "payments")
    path = home / "tasks" / "payments" / "tasks.json"
    document = json.loads(path.read_text())
    document["tasks"] = [{"id": "task-1", "title": "Written by hand"}]
    path.write_text(json.dumps(document))
    assert "Written by hand" in run(installed, home, "list")


def test_the_demo_plays_from_the_installed_command(installed, tmp_path):
    told = run(installed, tmp_path / "home", "demo")
    assert "No module named" not in told
    assert "error[bug]" not in told
    assert told.rstrip().endswith("Yours: teamtasks init TEAM")
    assert "exec teamtasks demo" in (ROOT / "scripts" / "demo").read_text()


def test_python_gets_the_same_verbs(installed, tmp_path):
    code = (
        "import teamtasks; team = teamtasks.open('p', create=True); team.create('x'); work = team.as_('b').claim();"
        "print(team.as_('b').complete(work['task']['id'], attempt=work['attempt'])['task']['status'])"
    )
    environ = {**clean(), "TEAMTASKS_HOME": str(tmp_path / "home")}
    python = [installed / "python", "-c", code]
    assert (
        subprocess.run(python, env=environ, cwd=tmp_path, capture_output=True, text=True, check=True).stdout == "completed\n"
    )


def test_the_version_is_one_everywhere(installed, wheel, tmp_path):
    version = run(installed, tmp_path / "home", "--version").split()[1]
    assert wheel.name.startswith(f"teamtasks-{version}-")
