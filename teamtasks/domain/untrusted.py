"""Text that somebody else wrote, on its way to a terminal or into a prompt. The only place that escapes it.

Titles, results and messages come from agents, and agents repeat what they read. On a terminal a control character can
hide text or run a command; in a prompt a closing tag can pretend that what follows comes from us.
"""

from __future__ import annotations


def one_line(text: str, most: int = 0) -> str:
    """For a place that has one line: nothing but printable characters, cut to ``most`` characters if given."""
    if most and len(text) > most:
        text = text[: most - 1].rstrip() + "…"
    return text if text.isprintable() else "".join([c if c.isprintable() else _escaped(c) for c in text])


def block(text: str) -> str:
    """For a place that has many lines: line ends and tabs stay, every other control character is shown, not obeyed."""
    if text.isprintable():
        return text
    kept = text.replace("\r\n", "\n")
    return "".join([c if c.isprintable() or c in "\n\t" else _escaped(c) for c in kept])


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
    facts = "".join([f' {key}="{one_line(str(value)).replace(chr(34), chr(39))}"' for key, value in attributes.items()])
    return f"<{name}{facts}>\n{body}\n</{name}>"


def _escaped(char: str) -> str:
    if char == "\n":
        return "\\n"
    if char == "\xa0":
        return " "
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
