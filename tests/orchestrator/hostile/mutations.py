"""Turns a file that dlbench wrote into one that somebody else may have written.

Every function draws from a `random.Random`, so that a seed makes an input again, and Hypothesis can
draw in its place.
"""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable
from typing import Any

HOSTILE_TEXT = (
    "", " ", "\ud800", "\x1b]0;title\x07\x1b[2J", "\x9b31m", "\r", "\x00", "\u202e", "\u2028",
    "é漢🙂", "=1+1", "@SUM(A1)", "+1", "-1", "＝1", "../../outside", "/etc/passwd", "a/b", "..",
    "x" * 300, "x" * 20_000, "nan", "Infinity", "</script><b>", "{{1}}", "%s%n", "[/red]", "²",
    "1_000", "ok", "cpu",
)  # fmt: skip
HOSTILE_NUMBERS = (
    0, -1, 1, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**400, -(10**400), 10**4000, 0.0,
    -0.0, 0.5, -0.5, 1e-300, 1e100, 1e101, 1e308, -1e308, float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
HOSTILE_RAW = (
    b"9" * 5000, b"1e999", b"-1e999", b"NaN", b"-Infinity", b'"\\ud800"', b'"\xff"', b"\x00",
    b"[" * 700 + b"]" * 700, b"[" * 100_000, b'{"a":' * 700 + b"1" + b"}" * 700, b"\xef\xbb\xbf",
    b"\xff\xfe{\x00}\x00", b"tru", b"'a'", b'"', b"{}", b"[]", b"null", b"",
)  # fmt: skip
"""What stands in a file, as bytes: also what `json.dumps` does not write."""


def hostile_value(draw: random.Random) -> Any:
    """Any JSON that no honest program writes in a given place."""
    kind = draw.randrange(8)
    if kind < 2:
        return draw.choice(HOSTILE_TEXT)
    if kind < 5:
        return draw.choice(HOSTILE_NUMBERS)
    if kind == 5:
        return draw.choice([None, True, False, [], {}, [[]], {"": {}}])
    if kind == 6:
        return [hostile_value(draw) for _ in range(draw.randrange(4))]
    return {draw.choice(HOSTILE_TEXT): hostile_value(draw) for _ in range(draw.randrange(3))}


def mutated_value(content: Any, draw: random.Random) -> Any:
    """The same JSON with something changed somewhere in it."""
    if isinstance(content, dict) and content and draw.random() < 0.85:
        key = draw.choice(list(content))
        changed = dict(content)
        kind = draw.randrange(10)
        if kind == 0:
            del changed[key]
        elif kind == 1:
            changed[draw.choice(HOSTILE_TEXT)] = changed.pop(key)
        elif kind == 2:
            changed[draw.choice(HOSTILE_TEXT)] = hostile_value(draw)
        else:
            changed[key] = mutated_value(content[key], draw)
        return changed
    if isinstance(content, list) and content and draw.random() < 0.85:
        place = draw.randrange(len(content))
        changed_list = list(content)
        kind = draw.randrange(10)
        if kind == 0:
            del changed_list[place]
        elif kind == 1:
            changed_list.insert(place, hostile_value(draw))
        elif kind == 2:
            changed_list = changed_list * 50
        else:
            changed_list[place] = mutated_value(content[place], draw)
        return changed_list
    return hostile_value(draw)


def mutated_json(content: bytes, draw: random.Random) -> bytes:
    """A JSON file, changed in its values or in its bytes."""
    if draw.random() < 0.2:
        return mutated_bytes(content, draw)
    changed = json.loads(content)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        changed = mutated_value(changed, draw)
    return json.dumps(changed).encode()


def mutated_lines(content: bytes, draw: random.Random) -> bytes:
    """A file of JSON lines: one of them changed, or taken out, or twice, or the bytes of all."""
    if draw.random() < 0.15:
        return mutated_bytes(content, draw)
    lines = content.splitlines()
    place = draw.randrange(len(lines))
    kind = draw.randrange(8)
    if kind == 0:
        del lines[place]
    elif kind == 1:
        lines.insert(place, draw.choice([lines[place], *HOSTILE_RAW]))
    elif kind == 2:
        draw.shuffle(lines)
    else:
        lines[place] = mutated_json(lines[place], draw)
    return b"\n".join(lines) + draw.choice([b"\n", b"", b"\n\n", b"\r\n"])


def mutated_bytes(content: bytes, draw: random.Random) -> bytes:
    """The bytes, some of them changed, taken out, or put in."""
    changed = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(changed) + 1)
        kind = draw.randrange(5)
        if kind == 0:
            del changed[place:]
        elif kind == 1:
            changed[place : place + draw.randint(1, 20)] = b""
        elif kind == 2:
            changed[place:place] = draw.choice(HOSTILE_RAW)
        elif changed:
            changed[place % len(changed)] = draw.randrange(256)
    return bytes(changed)


def mutated_toml(content: bytes, draw: random.Random) -> bytes:
    """A TOML file with another value or key, or other bytes."""
    if draw.random() < 0.2:
        return mutated_bytes(content, draw)
    lines = content.decode().splitlines()
    place = draw.randrange(len(lines))
    key = lines[place].split("=")[0].strip()
    value = _toml(hostile_value(draw))
    if draw.random() < 0.3:
        value = draw.choice(['["numpy"]', "2", "7", '"1h"', '"real"', '["cpu"]', '["matched"]'])
    if draw.random() < 0.1:
        key = "".join(draw.choices(string.ascii_lowercase, k=5))
    if draw.random() < 0.05:
        value = "[" * 700 + "]" * 700
    lines[place] = f"{key} = {value}"
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return '""' if value is None else json.dumps(value)


Mutation = Callable[[bytes, random.Random], bytes]
