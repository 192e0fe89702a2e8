"""What is documented works: every example runs, every option is explained, the README says what really happens."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.world import TEAMTASKS
from proofs.scenes import BEFORE, make_team
from teamtasks.cli.table import BY_NAME, COMMANDS, options, words

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
REFERENCE = ROOT / "docs" / "reference.md"


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("examples") / "home"
    make_team(home)
    return home


@pytest.fixture
def world(made_once, cli, tmp_path):
    shutil.copytree(made_once, cli.home)
    (tmp_path / "api.md").write_text("What the API must do.\n")
    return cli


def run(cli, line: str, place: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """A line as a shell runs it, with what it says on stdout and stderr in one text, as a reader sees it."""
    environ = {**cli.environ(**env), "PATH": f"{os.path.dirname(TEAMTASKS)}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-c", line],
        env=environ,
        cwd=place,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("example", [text for command in COMMANDS if command.name != "demo" for text in command.examples])
def test_every_example_in_the_help_runs(world, tmp_path, example):
    if past := BEFORE.get(example):
        assert run(world, past, tmp_path).returncode == 0
    done = run(world, example, tmp_path)
    assert done.returncode == 0, done.stdout


def test_the_examples_that_need_a_past_are_still_examples():
    assert set(BEFORE) <= {text for command in COMMANDS for text in command.examples}


# --help


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_help_explains_a_command_with_its_words_its_options_and_examples(cli, command):
    told = cli(command.name, "--help", COLUMNS="80").out
    flowing = " ".join(told.split())
    assert told.startswith(f"Usage: teamtasks {command.name} ")
    assert command.help in flowing
    for param in options(command):
        for flag in param.flags:
            assert re.search(rf"(^|\s){re.escape(flag)}[\s,]", told), flag
        assert param.help in flowing, param.name
        assert not param.choices or "|".join(param.choices) in flowing
    for param in words(command):
        assert param.metavar in told.splitlines()[0]
        assert param.help in flowing, param.name
    explained, _, shown = told.partition("\nExamples:\n")
    assert shown.splitlines() == [f"  {example}" for example in command.examples]
    assert shown
    assert max(len(line) for line in explained.splitlines()) <= 80


def test_help_is_the_same_for_h_and_help_and_needs_no_team(cli):
    assert cli("list", "-h").out == cli("list", "--help").out
    assert cli("-h").out == cli("--help").out
    assert not cli.home.exists()


def test_the_help_of_teamtasks_lists_every_command_with_what_it_does(cli):
    told = cli("--help", COLUMNS="80").out
    for command in COMMANDS:
        assert f" {command.name} {command.help}" in " ".join(told.split())
    assert max(len(line) for line in told.splitlines()) <= 80


def test_the_help_of_claim_says_what_its_exit_codes_mean(cli):
    assert "Exits with 6 when nothing is ready now, and with 10 when the plan is finished." in cli("claim", "--help").out


# README.md and docs


def blocks(text: str) -> list[list[str]]:
    """The lines of each block that is marked as sh or console and speaks of teamtasks."""
    found = [block.splitlines() for block in re.findall(r"^```(?:sh|console)\n(.*?)^```$", text, re.M | re.S)]
    return [lines for lines in found if any(re.match(r"(\$ )?teamtasks\b", line) for line in lines)]


def steps(lines: list[str]) -> list[tuple[str, list[str] | None]]:
    """Each command with the lines that it prints; None where a block shows no output at all."""
    shows = any(line.startswith("$ ") for line in lines)
    found: list[tuple[str, list[str] | None]] = []
    for line in lines:
        if line.startswith("$ ") or (not shows and line.startswith("teamtasks")):
            found.append((line.removeprefix("$ "), [] if shows else None))
        elif shows and found:
            found[-1][1].append(line)
    return found


def test_the_readme_shows_real_commands_with_what_they_really_print(cli, tmp_path):
    """All blocks of the README are one session, played in a home of its own; times and places are replaced."""
    told = [step for block in blocks(README.read_text()) for step in steps(block)]
    assert len(told) >= 10, "the README shows no session of teamtasks yet"
    for line, expected in told:
        done = run(cli, line, tmp_path, TEAMTASKS_HOME="", HOME=str(tmp_path))
        printed = done.stdout.replace(str(tmp_path), "~").splitlines()
        if expected is None:
            assert done.returncode == 0, done.stdout
        else:
            assert printed == expected, line


def test_the_readme_names_every_command(cli):
    text = README.read_text()
    assert [name for name in BY_NAME if f"`{name}`" not in text] == []


def test_the_readme_and_the_errors_agree_on_exit_codes():
    from teamtasks.domain import errors

    codes = {kind.exit_code for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)}
    table = README.read_text()
    assert [code for code in sorted(codes) if not re.search(rf"\| {code} \|", table)] == []


def test_the_readme_names_every_variable_that_is_read():
    from teamtasks import config

    text = README.read_text()
    assert [name for name in re.findall(r'get\("(\w+)"\)', Path(config.__file__).read_text()) if name not in text] == []


def test_the_python_of_the_readme_runs(cli, tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.M | re.S)
    assert blocks
    cli("init", "payments")
    cli("create", "Payment API")
    for block in blocks:
        subprocess.run([sys.executable, "-c", block], env=cli.environ(), cwd=tmp_path, check=True, timeout=30)
    assert cli("list", "--status", "completed", "-q").out == "task-1\n"


def test_the_reference_is_what_the_command_table_says():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "reference", "--check"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_the_reference_has_every_command_option_and_example():
    text = REFERENCE.read_text()
    for command in COMMANDS:
        assert f"### {command.name}" in text
        assert all(example in text for example in command.examples)
        assert all(f"`{flag}`" in text for param in options(command) for flag in param.flags)


def test_documents_link_to_files_that_exist():
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        for place in re.findall(r"`((?:docs|scripts|tests|teamtasks)/[\w/.-]+)`", path.read_text()):
            assert (ROOT / place).exists(), f"{path.name} speaks of {place}"


def test_every_example_begins_with_teamtasks():
    assert all(shlex.split(text)[0] == "teamtasks" for command in COMMANDS for text in command.examples)
