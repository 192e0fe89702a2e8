"""From argv to an exit code: read, serve, say. The five hops of docs/architecture.md begin and end here."""

from __future__ import annotations

import sys

from teamtasks.cli import argv as quick
from teamtasks.cli import output
from teamtasks.cli.call import Call
from teamtasks.domain.errors import TeamtasksError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from teamtasks.cli.table import Command


def main(words: list[str]) -> int:
    try:
        read = quick.read(words)
        if read is not None:
            return run(*read)
        from teamtasks.cli import clicks

        return clicks.main(words, run)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return _unforeseen(error, None)


def _unforeseen(error: Exception, committed: int | None) -> int:
    from teamtasks.cli import failures

    return failures.unforeseen(error, committed)


def run(command: Command, values: dict[str, Any]) -> int:
    call = Call(command, values)
    try:
        answer = load(command.serve)(call)
        if call.dry_run:
            answer["dry_run"] = True
        return output.say(call, answer)
    except TeamtasksError as error:
        from teamtasks.cli import failures

        return failures.refused(error, call)
    except Exception as error:
        return _unforeseen(error, call.committed)


def load(name: str) -> Callable[..., Any]:
    """``module:function`` below teamtasks.cli."""
    module, _, function = name.partition(":")
    path = f"teamtasks.cli.{module}"
    __import__(path)
    found: Callable[..., Any] = getattr(sys.modules[path], function)
    return found
