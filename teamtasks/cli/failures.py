"""The one place that turns errors into words and exit codes."""

from __future__ import annotations

import os

from teamtasks.cli import output
from teamtasks.domain.untrusted import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from teamtasks.cli.call import Call
    from teamtasks.domain.errors import TeamtasksError

EXIT_USAGE = 2
EXIT_UNAVAILABLE = 9
EXIT_BUG = 70


def refused(error: TeamtasksError, call: Call) -> int:
    """``error[claimed]: task-2 is held by backend (attempt 2, 4m). Try: teamtasks ready``"""
    hint = call.dressed(error.hint) if error.hint else f"teamtasks {call.command.name} --help"
    if call.json:
        told = {"code": error.code, "message": error.message, "facts": error.facts, "hint": hint}
        _write(1, output.json_text({"error": told}))
    else:
        _write(2, sentence(error.code, error.message, hint))
    return error.exit_code


def sentence(code: str, message: str, hint: str | None) -> str:
    text = f"error[{code}]: {one_line(message)}"
    if not hint:
        return text
    text = text if text[-1] in ".?!" else text + "."
    if hint.startswith("teamtasks "):
        return f"{text} Try: {one_line(hint)}"
    return f"{text} {hint[0].upper()}{one_line(hint[1:])}"


def usage(message: str, hint: str | None, *, json: bool) -> int:
    if json:
        _write(1, output.json_text({"error": {"code": "usage", "message": message, "facts": {}, "hint": hint}}))
    else:
        _write(2, sentence("usage", message, hint))
    return EXIT_USAGE


def warn(text: str) -> None:
    _write(2, f"warning: {one_line(text)}")


def unforeseen(error: Exception, committed: int | None) -> int:
    """Too little memory, or a bug of ours. Whatever it is: what was committed before it stands, and that is said."""
    done = "nothing was changed" if committed is None else f"committed as revision {committed}"
    if isinstance(error, MemoryError):
        _write(2, sentence("memory", f"not enough memory; {done}", "free some, or raise the limit (ulimit -v)"))
        return EXIT_UNAVAILABLE
    what = f"{type(error).__name__}: {one_line(str(error))}"
    _write(2, f"error[bug]: {what}. This is a bug in teamtasks; {done}. {_details(error)}")
    return EXIT_BUG


def _details(error: Exception) -> str:
    """Where the log is; if there can be none, what would be in it."""
    try:
        import traceback

        trace = "".join(traceback.format_exception(error))
    except Exception:
        return "There is nothing more to tell"
    try:
        return f"The details are in {_log(trace)}"
    except Exception:
        return trace


def _log(trace: str) -> str:
    from time import time

    from platformdirs import user_log_dir

    from teamtasks import __version__
    from teamtasks.domain.times import iso

    place = user_log_dir("teamtasks", ensure_exists=True)
    now = iso(time())
    path = os.path.join(place, f"bug-{now.replace(':', '')}-{os.getpid()}.log")
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"teamtasks {__version__} {now}\n{trace}")
    return path


def _write(fd: int, text: str) -> None:
    try:
        output.write(fd, text + "\n")
    except OSError:
        pass
