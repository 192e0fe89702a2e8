"""Reads the usual calls from the command table without click, which costs twice a bare interpreter's start.

Whatever is not usual (help, an unknown word, a missing or bad value) is handed over: the answer is None, and click, built
from the same table, reads it again and explains. A property test shows that both read the same argv alike.
"""

from __future__ import annotations

from teamtasks.cli.table import BY_NAME, COMMON, Param, options, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from teamtasks.cli.table import Command

    Values = dict[str, Any]


def read(argv: list[str]) -> tuple[Command, Values] | None:
    """The command and its values, the common ones among them; None for anything unusual."""
    values: Values = {}
    flags = {flag: param for param in COMMON for flag in param.flags}
    place = 0
    while place < len(argv) and argv[place].startswith("-"):
        taken = _option(argv, place, flags, values)
        if not taken:
            return None
        place += taken
    command = BY_NAME.get(argv[place]) if place < len(argv) else None
    if command is None:
        return None
    flags = {flag: param for param in options(command) for flag in param.flags}
    found: list[str] = []
    place += 1
    while place < len(argv):
        text = argv[place]
        if text == "--":
            found += argv[place + 1 :]
            break
        taken = _option(argv, place, flags, values) if text.startswith("-") and text != "-" else 0
        if not taken:
            if text.startswith("-") and text != "-":
                return None
            found.append(text)
        place += taken or 1
    return (command, values) if _place_words(command, found, values) and _complete(command, values) else None


def _option(argv: list[str], place: int, flags: dict[str, Param], values: Values) -> int:
    """How many words an option takes; 0 if it is not one that we know."""
    name, equals, value = argv[place].partition("=") if argv[place].startswith("--") else (argv[place], "", "")
    param = flags.get(name)
    if param is None:
        return 0
    if param.kind == "flag":
        values[param.name] = True
        return 0 if equals else 1
    if not equals:
        if place + 1 >= len(argv):
            return 0
        value = argv[place + 1]
    if not _keep(param, value, values):
        return 0
    return 1 if equals else 2


def _keep(param: Param, text: str, values: Values) -> bool:
    if param.kind == "int":
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            return False
        values[param.name] = int(text)
    elif param.kind == "many":
        values[param.name] = (*values.get(param.name, ()), text)
    elif param.kind == "choice" and text not in param.choices:
        return False
    else:
        values[param.name] = text
    return True


def _place_words(command: Command, found: list[str], values: Values) -> bool:
    for param in words(command):
        if param.kind == "rest":
            values[param.name] = tuple(found)
            found = []
        elif found:
            values[param.name] = found.pop(0)
        elif param.required:
            return False
    return not found


def _complete(command: Command, values: Values) -> bool:
    return all(param.name in values for param in command.params if param.required)
