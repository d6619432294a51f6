"""The files that ship with the report, and the page's script joined of its modules."""

from __future__ import annotations

import posixpath
import re
from functools import cache
from importlib import resources

_IMPORT = re.compile(r'^import \{[^}]*\} from "(\.{1,2}/[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


@cache
def asset(name: str) -> str:
    """A file of the folder `assets`."""
    return resources.files("dlbench.report").joinpath("assets", *name.split("/")).read_text("utf-8")


@cache
def script() -> str:
    """The modules that `start.js` needs as one script, each after those that it imports.

    All names of the modules share one scope, so no two modules may declare the same name.
    """
    modules: dict[str, str] = {}

    def add(name: str) -> None:
        text = asset(name)
        for imported in _IMPORT.findall(text):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), imported))
            if path not in modules:
                add(path)
        modules[name] = _EXPORT.sub("", _IMPORT.sub("", text)).strip()

    add("start.js")
    return '(function () {\n"use strict";\n\n' + "\n\n".join(modules.values()) + "\n})();"
