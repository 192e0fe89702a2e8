"""The one place for time as text: ISO 8601 in UTC with ``Z``, durations such as ``15m``, ages such as ``8m``.

Pure: the current time is always an argument. Written without ``datetime`` and ``re``, which the hot path cannot afford.
"""

from __future__ import annotations

from time import gmtime

from teamtasks.domain.errors import InvalidInput

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def iso(epoch: float) -> str:
    t = gmtime(epoch)
    return f"{t.tm_year:04d}-{t.tm_mon:02d}-{t.tm_mday:02d}T{t.tm_hour:02d}:{t.tm_min:02d}:{t.tm_sec:02d}Z"


def is_iso(text: str) -> bool:
    """Whether ``text`` has the form ``2026-03-29T10:00:00Z``, a fraction of a second allowed."""
    if not (20 <= len(text) <= 30 and text.isascii() and text[-1] == "Z" and text[10] == "T"):
        return False
    if not (text[4] == text[7] == "-" and text[13] == text[16] == ":"):
        return False
    fraction = text[19:-1]
    if fraction and (fraction[0] != "." or not fraction[1:].isdigit()):
        return False
    parts = (text[0:4], text[5:7], text[8:10], text[11:13], text[14:16], text[17:19])
    if not all(p.isdigit() for p in parts):
        return False
    _year, month, day, hour, minute, second = map(int, parts)
    return 1 <= month <= 12 and 1 <= day <= 31 and hour <= 23 and minute <= 59 and second <= 60


def epoch(text: str) -> int:
    """Seconds since 1970 of a time that ``is_iso``; the fraction is cut off."""
    year, month, day = int(text[0:4]), int(text[5:7]), int(text[8:10])
    # Days from civil: years begin in March, so that the leap day is the last of its year.
    y = year - (month <= 2)
    era = y // 400
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    days = era * 146097 + (y - era * 400) * 365 + (y - era * 400) // 4 - (y - era * 400) // 100 + day_of_year - 719468
    return days * 86400 + int(text[11:13]) * 3600 + int(text[14:16]) * 60 + int(text[17:19])


def seconds_between(earlier: str, later: str) -> int:
    return max(0, epoch(later) - epoch(earlier))


def age(seconds: float) -> str:
    """The few characters a reader needs: 20s, 8m, 3h, 2d."""
    s = int(seconds)
    for unit, size in (("d", 2 * 86400), ("h", 2 * 3600), ("m", 60)):
        if s >= size:
            return f"{s // _UNITS[unit]}{unit}"
    return f"{max(0, s)}s"


def duration(text: str, *, what: str = "a duration") -> int:
    """Seconds of ``90s``, ``15m``, ``1h30m``, ``2d``; a bare number is minutes."""
    word = text.strip().lower()
    if word.isascii() and word.isdigit():
        word += "m"
    total, digits = 0, ""
    for char in word:
        if char.isascii() and char.isdigit() and len(digits) < 9:
            digits += char
        elif char in _UNITS and digits:
            total, digits = total + int(digits) * _UNITS[char], ""
        else:
            total = 0
            break
    if not digits and total > 366 * 86400:
        raise InvalidInput(f"{what} is at most a year, not {text!r}", value=text)
    if digits or not total:
        raise InvalidInput(f"{what} must look like 15m, 90s or 1h30m, not {text!r}", value=text)
    return total
