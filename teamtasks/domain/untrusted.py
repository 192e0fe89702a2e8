"""Text that somebody else wrote, on its way to a terminal or into a prompt. The only place that escapes it.

Titles, results and messages come from agents, and agents repeat what they read. On a terminal a control character can
hide text or run a command; in a prompt a closing tag can pretend that what follows comes from us.
"""

from __future__ import annotations

# Letters and marks to Unicode, nothing to the eye: fillers, joiners and the variation selectors that can carry hidden bytes.
_INVISIBLE = frozenset(
    map(
        chr,
        [0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2800, 0x3164, 0xFFA0, *range(0xE0100, 0xE01F0)],
    )
)


def one_line(text: str, most: int = 0) -> str:
    """For a place that has one line: nothing but visible characters, cut to ``most`` of them if given."""
    shown = text[: most + 1] if most else text
    if not _is_visible(shown):
        shown = "".join([c if _is_visible(c) else _escaped(c) for c in shown])
    return shown[: most - 1].rstrip() + "…" if most and len(shown) > most else shown


def block(text: str) -> str:
    """For a place that has many lines: line ends and tabs stay, every other control character is shown, not obeyed."""
    if _is_visible(text):
        return text
    kept = text.replace("\r\n", "\n")
    return "".join([c if c in "\n\t" or _is_visible(c) else _escaped(c) for c in kept])


def _is_visible(text: str) -> bool:
    return text.isprintable() and (text.isascii() or _INVISIBLE.isdisjoint(text))


def fenced(tag: str, text: str, **attributes: str | int) -> str:
    """``text`` between tags that it cannot close: if it contains the closing tag, another tag is taken.

    The text itself is not changed but for control characters, so code and markup in it survive.
    """
    body = block(text)
    folded = body.casefold()
    name, n = tag, 1
    while f"</{name}" in folded or f"<{name}" in folded:
        n += 1
        name = f"{tag}-{n}"
    facts = "".join([f' {key}="{_attribute(str(value))}"' for key, value in attributes.items()])
    return f"<{name}{facts}>\n{body}\n</{name}>"


def _attribute(text: str) -> str:
    return one_line(text).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")


def _escaped(char: str) -> str:
    if char == "\n":
        return "\\n"
    if char == "\xa0":
        return " "
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
