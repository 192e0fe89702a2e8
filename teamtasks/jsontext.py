"""JSON text, compact and fast to start: the C half of the standard ``json`` module without its Python half.

Importing ``json`` pulls in ``re`` and ``enum`` and costs half of a bare interpreter's start. Everything that agents call
all day reads and writes JSON with the two functions here; ``store/strict.py`` is for text that we did not write.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

try:
    from _json import encode_basestring, make_encoder, make_scanner
except ImportError:  # another implementation of Python: the slow start is better than none
    from json import JSONDecoder, JSONEncoder

    def loads(text: str) -> Any:
        return JSONDecoder().decode(text)

    def dumps(value: object) -> str:
        return JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode(value)

else:

    class _Dialect:
        strict = True
        object_hook = None
        object_pairs_hook = None
        parse_float = float
        parse_int = int
        memo: dict[str, str] = {}  # noqa: RUF012  (the C scanner asks for it)

        @staticmethod
        def parse_constant(name: str) -> object:
            raise ValueError(f"{name} is not JSON")

    def _refuse(value: object) -> object:
        raise TypeError(f"{type(value).__name__} is not JSON")

    _scan = make_scanner(_Dialect)  # type: ignore[arg-type]
    _encode = make_encoder(None, _refuse, encode_basestring, None, ":", ",", False, False, False)

    def loads(text: str) -> Any:
        """The value of ``text``, which begins with it. Raises ValueError for anything else."""
        try:
            value, _end = _scan(text, 0)
        except (StopIteration, SystemError):
            # SystemError: the C scanner wants to raise JSONDecodeError, but up to Python 3.12 does not import it by itself.
            raise ValueError("not JSON") from None
        return value

    def dumps(value: object) -> str:
        """``value`` on one line, without spaces, non-ASCII characters as they are. NaN and infinities are refused."""
        if type(value) is str:
            return encode_basestring(value)
        return "".join(_encode(value, 0))
