"""The entries of a large JSON file one by one: the whole would not fit into memory."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import IO, Any

from dlbench.datasets._reading import wrong

_BLOCK = 1 << 20
_MOST_ENTRY = 64 << 20
_SPACE = " \t\r\n"


def entries(file: IO[bytes], name: str) -> Iterator[dict[str, Any]]:
    """Of a list of objects, or of a table {"columns": […], "data": [[…], …]}."""
    stream = _Stream(file, name)
    if stream.next_sign() == "[":
        for entry in stream.items():
            if not isinstance(entry, dict):
                raise wrong(name, "holds something that is not an entry with names")
            yield entry
        return
    columns: list[str] | None = None
    stream.take("{")
    while stream.next_sign() != "}":
        key = stream.value()
        stream.take(":")
        if key == "data":
            if columns is None:
                raise wrong(name, "names its columns behind its data, or not at all")
            for row in stream.items():
                if not isinstance(row, list) or len(row) != len(columns):
                    raise wrong(name, f"has a row that does not have {len(columns)} columns")
                yield dict(zip(columns, row, strict=True))
            return
        value = stream.value()
        if key == "columns" and isinstance(value, list):
            columns = [str(column) for column in value]
        if stream.next_sign() == ",":
            stream.take(",")
    raise wrong(name, "holds no data")


class _Stream:
    """JSON that is read in blocks; what has been decoded is forgotten."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name
        self._text, self._place, self._ended = "", 0, False
        self._decode = codecs.getincrementaldecoder("utf-8")()
        self._json = json.JSONDecoder()

    def next_sign(self) -> str:
        """The next character that is not a space; it stays."""
        while True:
            while self._place < len(self._text) and self._text[self._place] in _SPACE:
                self._place += 1
            if self._place < len(self._text):
                return self._text[self._place]
            if not self._more():
                raise wrong(self._name, "is truncated: it ends in the middle")

    def take(self, sign: str) -> None:
        if self.next_sign() != sign:
            raise wrong(self._name, f"is not JSON of the right form: {sign!r} was expected")
        self._place += 1

    def value(self) -> Any:
        self.next_sign()
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._place)
                if end < len(self._text) or self._ended:  # a number may go on in the next block
                    self._place = end
                    return value
            except (json.JSONDecodeError, RecursionError) as error:
                if self._ended or isinstance(error, RecursionError):
                    raise wrong(self._name, f"is truncated or not JSON ({error})") from error
            if len(self._text) - self._place > _MOST_ENTRY:
                raise wrong(self._name, f"has an entry of more than {_MOST_ENTRY:,} characters")
            self._more()

    def items(self) -> Iterator[Any]:
        self.take("[")
        if self.next_sign() == "]":
            return
        while True:
            yield self.value()
            if self.next_sign() == "]":
                return
            self.take(",")

    def _more(self) -> bool:
        block = self._file.read(_BLOCK)
        self._ended = not block
        try:
            text = self._decode.decode(block, final=self._ended)
        except UnicodeDecodeError as error:
            raise wrong(self._name, "is not a text in UTF-8") from error
        self._text, self._place = self._text[self._place :] + text, 0
        return bool(block)
