"""Reads one annotation of the VOC challenge: the boxes, classes and flags of an image, from XML.

It may come from anybody: no document type, so no entities; a limited size and depth. Boxes are
given in pixels that are counted from 1 and belong to the box, (xmin, ymin, xmax, ymax). Here they
are edges, (y1, x1, y2, x2) = (ymin - 1, xmin - 1, ymax, xmax), which is exact.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from xml.parsers import expat

from dlbench.datasets._problems import Problems
from dlbench.plain_json import printable

CLASSES = (
    "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow",
    "diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train",
    "tvmonitor",
)  # fmt: skip
"""Class 1 is the first; 0 means that there is no box."""
MOST_BYTES = 1_000_000
_DEEPEST = 16
MOST_OBJECTS = 1000
_NUMBER = re.compile(r"[+-]?\d{1,9}(\.\d{0,40})?([eE][+-]?\d{1,2})?", re.ASCII)
_SIZE = re.compile(r"[1-9]\d{0,5}", re.ASCII)
_OBJECT = ("annotation", "object")
_EDGES = ("ymin", "xmin", "ymax", "xmax")


@dataclass(frozen=True)
class AnnotatedObject:
    label: int
    box: tuple[float, float, float, float]
    difficult: bool


@dataclass(frozen=True)
class Annotation:
    height: int
    width: int
    objects: tuple[AnnotatedObject, ...]


@dataclass(frozen=True)
class _Field:
    text: str
    line: int

    def __str__(self) -> str:
        return repr(printable(self.text, 60))


class _BadDocument(Exception):
    """The document holds what no annotation holds."""


def read_annotation(content: bytes, name: str, problems: Problems) -> Annotation | None:
    """The annotation; None if it has problems, each added with its line."""
    if len(content) > MOST_BYTES:
        problems.add(name, f"has more than {MOST_BYTES:,} bytes")
        return None
    before = problems.count
    document = _Document()
    try:
        document.parser.Parse(content, True)
    except expat.ExpatError as error:
        problems.add(f"{name} line {error.lineno}", f"is not XML ({expat.ErrorString(error.code)})")
        return None
    except (_BadDocument, ValueError, LookupError) as error:  # the last two: an odd encoding
        problems.add(f"{name} line {document.parser.CurrentLineNumber}", str(error))
        return None
    for line, path in document.repeated:
        problems.add(f"{name} line {line}", f"has <{path}> a second time")
    size = _size(document.fields, name, problems)
    objects = [_object(line, fields, size, name, problems) for line, fields in document.objects]
    if size is None or problems.count > before:
        return None
    return Annotation(*size, tuple(one for one in objects if one))


class _Document:
    """The texts of the elements that count, with the lines where they begin."""

    def __init__(self) -> None:
        self.fields: dict[str, _Field] = {}
        self.objects: list[tuple[int, dict[str, _Field]]] = []
        self.repeated: list[tuple[int, str]] = []
        self._stack: list[str] = []
        self._text: list[str] = []
        self._line = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text.append
        self.parser.StartDoctypeDeclHandler = self._refuse_document_type
        self.parser.EntityDeclHandler = self._refuse_document_type

    def _refuse_document_type(self, *_what: object) -> None:
        raise _BadDocument("has a document type (<!DOCTYPE>), which no annotation needs")

    def _start(self, tag: str, _attributes: dict[str, str]) -> None:
        if not self._stack and tag != "annotation":
            raise _BadDocument(f"begins with <{tag}> where <annotation> was expected")
        self._stack.append(tag)
        if len(self._stack) > _DEEPEST:
            raise _BadDocument(f"has elements more than {_DEEPEST} levels deep")
        self._text.clear()
        self._line = self.parser.CurrentLineNumber
        if tuple(self._stack) == _OBJECT:
            if len(self.objects) == MOST_OBJECTS:
                raise _BadDocument(f"has more than {MOST_OBJECTS:,} objects")
            self.objects.append((self._line, {}))

    def _end(self, _tag: str) -> None:
        within = tuple(self._stack[:2]) == _OBJECT
        path = "/".join(self._stack[2 if within else 1 :])
        fields = self.objects[-1][1] if within else self.fields
        if path and path in fields and path in _ONCE:
            self.repeated.append((self._line, path))
        fields.setdefault(path, _Field("".join(self._text).strip(), self._line))
        self._text.clear()
        self._stack.pop()


_ONCE = {"name", "difficult", "size/width", "size/height"} | {f"bndbox/{edge}" for edge in _EDGES}


def _size(fields: dict[str, _Field], name: str, problems: Problems) -> tuple[int, int] | None:
    """(height, width) of the image."""
    sides = []
    for side in ("height", "width"):
        field = fields.get(f"size/{side}")
        if field is None:
            problems.add(name, f"does not say the image's {side}")
        elif not _SIZE.fullmatch(field.text):
            problems.add(f"{name} line {field.line}", f"{side} {field} is not a size")
        else:
            sides.append(int(field.text))
    return (sides[0], sides[1]) if len(sides) == 2 else None


def _object(
    line: int,
    fields: dict[str, _Field],
    size: tuple[int, int] | None,
    name: str,
    problems: Problems,
) -> AnnotatedObject | None:
    before = problems.count
    label = fields.get("name", _Field("", line))
    if label.text not in CLASSES:
        words = f"unknown class {label}" if label.text else "an object without a class"
        problems.add(f"{name} line {label.line}", words)
    difficult = fields.get("difficult", _Field("0", line))
    if difficult.text not in ("0", "1"):
        words = f"difficult is {difficult}, which is neither 0 nor 1"
        problems.add(f"{name} line {difficult.line}", words)
    edges = []
    for edge in _EDGES:
        field = fields.get(f"bndbox/{edge}")
        if field is None:
            problems.add(f"{name} line {line}", f"a box without {edge}")
        elif not (_NUMBER.fullmatch(field.text) and math.isfinite(float(field.text))):
            words = f"{edge} {field} is not a number"
            problems.add(f"{name} line {field.line}", words)
        else:
            edges.append(float(field.text))
    if len(edges) == 4 and size is not None:
        box = (edges[0] - 1, edges[1] - 1, edges[2], edges[3])
        at = fields["bndbox/ymin"].line
        if words := box_problem(box, size, narrowest=1.0):
            problems.add(f"{name} line {at}", words)
        elif problems.count == before:
            return AnnotatedObject(
                CLASSES.index(label.text) + 1, cut_off(box, size), difficult.text == "1"
            )
    return None


def box_problem(
    box: tuple[float, float, float, float], size: tuple[int, int], narrowest: float = 0.0
) -> str:
    """What is wrong with a box in an image of this (height, width); empty: nothing.

    Some coordinates of the official files are fractions: less than a pixel over the edge is right.
    """
    y1, x1, y2, x2 = box
    if y2 - y1 <= narrowest or x2 - x1 <= narrowest:
        return f"a box without {'height' if y2 - y1 <= narrowest else 'width'} {_words(box)}"
    if min(y1, x1) <= -1 or y2 >= size[0] + 1 or x2 >= size[1] + 1:
        return f"a box that is not inside the image of {size[1]} x {size[0]} pixels {_words(box)}"
    return ""


def cut_off(
    box: tuple[float, float, float, float], size: tuple[int, int]
) -> tuple[float, float, float, float]:
    """The box within the image's edges."""
    y1, x1, y2, x2 = box
    return max(y1, 0.0), max(x1, 0.0), min(y2, float(size[0])), min(x2, float(size[1]))


def _words(box: tuple[float, float, float, float]) -> str:
    y1, x1, y2, x2 = (f"{edge:g}" for edge in box)
    return f"(rows {y1} to {y2}, columns {x1} to {x2})"
