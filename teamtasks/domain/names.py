"""Names and ids: what is allowed, what is meant, what was probably meant."""

from __future__ import annotations

from teamtasks.domain.errors import InvalidInput

RESERVED = ("all", "lead", "human", "system", "nobody")
HUMAN = "human"

_EDGE = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_MIDDLE = _EDGE | frozenset("_-")


def is_name(text: str) -> bool:
    """``[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?`` by full match."""
    return 0 < len(text) <= 64 and text[0] in _EDGE and text[-1] in _EDGE and _MIDDLE.issuperset(text)


def is_agent_name(text: str) -> bool:
    """A name that is not reserved and cannot be read as ``name_<incarnation>``."""
    return is_name(text) and text not in RESERVED and split_incarnation(text)[1] is None


def is_task_id(text: str) -> bool:
    """``task-<n>`` with n from 1, no leading zeros, below a billion."""
    digits = text[5:]
    return text.startswith("task-") and digits.isascii() and digits.isdigit() and digits[0] != "0" and len(digits) <= 9


def split_incarnation(text: str) -> tuple[str, int | None]:
    """``backend_2`` is the second incarnation of ``backend``; ``backend`` is whichever lives now."""
    name, underscore, digits = text.rpartition("_")
    if underscore and name and digits.isascii() and digits.isdigit():
        return name, int(digits[:9])
    return text, None


HIGHEST_BY_HAND = 99_999_999
"""Numbers of tasks that people choose: nine digits are kept, and there must be room for the next ones."""


def task_number(task_id: str) -> int:
    return int(task_id[5:])


def task_id(text: str) -> str:
    """Forgiving: ``2``, ``#2``, ``task-2``, ``Task 2`` are all ``task-2``."""
    bare = text.strip().lower().replace(" ", "-").removeprefix("#").removeprefix("task-")
    digits = bare.lstrip("0")
    if bare.isascii() and bare.isdigit() and 0 < len(digits) <= 9:
        return f"task-{digits}"
    raise InvalidInput(f"{text!r} is not a task id", hint="ids look like task-2, or just 2", value=text)


def check_team_name(name: str) -> str:
    if not is_name(name) or name in RESERVED:
        raise InvalidInput(_bad_name("team", name), value=name)
    return name


def check_agent_name(name: str) -> str:
    if is_name(name) and name not in RESERVED and split_incarnation(name)[1] is not None:
        raise InvalidInput(
            f"an agent's name does not end in _<number>: {name!r} would be an incarnation of {split_incarnation(name)[0]!r}",
            value=name,
        )
    if not is_agent_name(name):
        raise InvalidInput(_bad_name("agent", name), value=name)
    return name


def check_label(what: str, text: str) -> str:
    """Groups and capabilities are names too: they are matched, so they must not differ by a blank or a capital."""
    if not is_name(text):
        raise InvalidInput(_bad_name(what, text), value=text)
    return text


def _bad_name(what: str, name: str) -> str:
    if name in RESERVED:
        return f"{name!r} is reserved and cannot name {'an agent' if what == 'agent' else 'a ' + what}"
    article = "an" if what[0] in "aeiou" else "a"
    allowed = "1 to 64 of a-z, 0-9, _ and -, beginning and ending with a letter or digit"
    return f"{name!r} cannot name {article} {what}: use {allowed}"


def did_you_mean(word: str, known: list[str]) -> str | None:
    """The closest of ``known``, if it is close. Only called when something has already gone wrong."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, known, 1, 0.6)), None)
