"""Takes secrets and the names of people and machines out of what leaves this machine.

Nothing here knows what a trial printed; so whatever looks like a secret goes, by its form or by the
name before it, and every value that this machine's environment keeps under a secret's name.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

REMOVED = "[removed]"

_NAME = (
    r"(?:password|passwd|passphrase|pass|secret|token|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|credentials?|authorization|auth)(?![a-z])"
)
_NAMED = re.compile(
    rf"""(?i)({_NAME}[\w.-]*["']?\s*[=:]\s*["']?)((?:bearer|basic)\s+)?[^\s"',;&]{{3,}}"""
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_LOGIN = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@\"']+@")
_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)
_FORMS = re.compile(
    r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_[A-Za-z0-9]{20,}"
    r"|sk-[\w-]{16,}|AKIA[A-Z0-9]{12,}|xox[abpr]-[\w-]{10,}|pypi-[\w-]{20,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
)
_HOMES = re.compile(
    r"(?<![\w/.-])(?:(?:/home/|/Users/|[A-Za-z]:\\+Users\\+)[^/\\\s\"':;,]+|/root(?=[/\s\"':;,]|$))"
)
_SECRET_VARIABLE = re.compile(rf"(?i){_NAME}")
_HINTS = (
    "pass", "secret", "token", "key", "credential", "auth", "bearer", "basic", "://", "ghp_",
    "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "hf_", "sk-", "akia", "xox", "pypi-",
    "eyj", "home", "users", "/root",
)  # fmt: skip
"""None of the forms above occurs without one of these: to search for them costs little."""
_SHORTEST = 6
"""Shorter values are words that occur by chance."""


class Scrubber:
    """What is to be replaced on this machine; made once, used on everything that leaves."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        variables = os.environ if environment is None else environment
        secret = {
            value: REMOVED
            for name, value in variables.items()
            if _SECRET_VARIABLE.search(name) and len(value) >= _SHORTEST
        }
        home = variables.get("HOME") or str(Path.home())
        home = home.rstrip("/")
        host = socket.gethostname()
        names = {host: "host"} if len(host) >= _SHORTEST and "local" not in host else {}
        user = _user(variables)
        if user and len(user) >= _SHORTEST:
            names[user] = "user"
        self._literal = sorted(secret.items(), key=lambda pair: -len(pair[0]))
        self._names = [
            (name, re.compile(rf"(?<!\w){re.escape(name)}(?!\w)"), word)
            for name, word in names.items()
        ]
        if len(home) > 1:
            own = re.compile(rf"(?<![\w/.-]){re.escape(home)}(?![\w.-])")
            self._names.insert(0, (home, own, "~"))

    def text(self, text: str) -> str:
        """The text without what must not leave."""
        for value, word in self._literal:
            text = text.replace(value, word)
        for name, alone, word in self._names:
            if name in text:  # found much sooner than what stands around it
                text = alone.sub(word, text)
        small = text.lower()
        if not any(hint in small for hint in _HINTS):
            return text
        text = _KEY.sub(REMOVED, text)
        text = _LOGIN.sub(rf"\1{REMOVED}@", text)
        text = _NAMED.sub(rf"\1{REMOVED}", text)
        text = _BEARER.sub(rf"\1 {REMOVED}", text)
        text = _FORMS.sub(REMOVED, text)
        return _HOMES.sub("~", text)

    def json(self, content: Any) -> Any:
        """Every string in it, keys too; a value under a secret's name goes whole."""
        if isinstance(content, str):
            return self.text(content)
        if isinstance(content, list):
            return [self.json(item) for item in content]
        if isinstance(content, dict):
            return {
                self.text(key): REMOVED
                if isinstance(value, str) and value and _SECRET_VARIABLE.search(key)
                else self.json(value)
                for key, value in content.items()
            }
        return content

    def file(self, name: str, content: bytes) -> bytes:
        """A file of a campaign, of the kind that its name says; as it is if nothing is in it."""
        text = content.decode(errors="replace")
        if name.endswith(".jsonl"):
            lines = text.split("\n") if self._suspect(text) else []
            clean = "\n".join(self._line(x) if self._suspect(x) else x for x in lines)
        elif name.endswith(".json"):
            clean = self._line(text, indent=1) if self._suspect(text) else ""
        else:
            clean = self.text(text)
        return clean.encode() if clean else content

    def _suspect(self, json_text: str) -> bool:
        """Whether it is worth parsing. A backslash may hide anything, the rest has a hint."""
        small = json_text.lower()
        return (
            "\\" in json_text
            or any(hint in small for hint in _HINTS)
            or any(value in json_text for value, _ in self._literal)
            or any(name in json_text for name, _, _ in self._names)
        )

    def _line(self, line: str, indent: int | None = None) -> str:
        try:
            content = json.loads(line)
        except (ValueError, RecursionError):
            return self.text(line)
        clean = self.json(content)
        if clean == content:
            return line
        return json.dumps(clean, indent=indent, separators=None if indent else (",", ":"))


def _user(variables: Mapping[str, str]) -> str:
    named = variables.get("USER") or variables.get("LOGNAME")
    if named is not None:
        return named
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
