"""Answers on stdout: one compact object, ids, plain lines, or (on a terminal) tables. Everything else goes to stderr."""

from __future__ import annotations

import os

from teamtasks import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from teamtasks.cli.call import Call

EXIT_BROKEN_PIPE = 141


def say(call: Call, answer: dict[str, Any]) -> int:
    """Prints the answer and gives the exit code. What was committed stays committed even if nobody can hear of it."""
    if call.json:
        text = json_text(answer)
    elif call.quiet and call.command.quiet:
        text = "\n".join(ids(answer, call.command.quiet))
    else:
        text = in_words(call, answer)
    try:
        write(1, f"{text}\n" if text else "")
    except OSError as error:
        return _unheard(call, error)
    return 1 if answer.get("problems") else 0


def json_text(answer: dict[str, Any]) -> str:
    """One line, in which whatever is not printable is escaped: it may end up on a terminal all the same."""
    text = jsontext.dumps(answer)
    return text if text.isprintable() else "".join([c if c.isprintable() else _escaped(c) for c in text])


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join([f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)])


def in_words(call: Call, answer: dict[str, Any]) -> str:
    """Views are tables on a terminal; everything else is the same plain text everywhere."""
    say = call.command.say
    if call.command.empty and answer.get(call.command.quiet) == []:
        write(2, f"{call.command.empty}\n")
        return ""
    if is_terminal():
        from teamtasks.cli import pretty

        if say in pretty.VIEWS:
            return pretty.render(say, answer, colour=call.config.colour)
    if "brief" in answer:  # it is words already, and the most frequent answer of all
        text = str(answer["brief"])
    else:
        from teamtasks.cli import plain

        text = getattr(plain, say)(answer)
    return f"(dry run, nothing was changed) {text}" if call.dry_run else text


def ids(answer: dict[str, Any], what: str) -> list[str]:
    """``what`` names the part of an answer whose ids are meant."""
    part = answer.get(what, answer.get("name"))
    if isinstance(part, list):
        return [p if isinstance(p, str) else p.get("id") or p["name"] for p in part]
    if isinstance(part, dict):
        return [part.get("id") or part["name"]]
    return [part] if part else []


def is_terminal() -> bool:
    return os.isatty(1)


def write(fd: int, text: str) -> None:
    data = text.encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(fd, data) :]


def _unheard(call: Call, error: OSError) -> int:
    from teamtasks.cli.failures import warn

    if call.committed is not None:
        warn(f"committed as revision {call.committed}, but the answer could not be written: {error.strerror}")
        return 1
    if isinstance(error, BrokenPipeError):  # the reader had enough, as in: teamtasks list | head
        return EXIT_BROKEN_PIPE
    warn(f"the answer could not be written: {error.strerror}")
    return 1
