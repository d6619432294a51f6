"""Secrets and names are taken out, harmless text is left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dlbench.sharing.scrub import Scrubber

SUPERUSER = Path("/", "root")
SECRETS = {
    "/home/ann/run.py": "~/run.py",
    f"loading {SUPERUSER}/.cache/x": "loading ~/.cache/x",
    "C:\\Users\\Ann Lee\\x": "~ Lee\\x",
    "password=hunter22": "password=[removed]",
    'api_key: "abc123"': 'api_key: "[removed]"',
    "Authorization: Bearer abc.def-ghi": "Authorization: [removed]",
    "https://ann:pw@mirror/simple": "https://[removed]@mirror/simple",
    "ghp_0123456789abcdef0123456789": "[removed]",
    "the value s3cr3t-v4lue here": "the value [removed] here",
    "user annabel on it": "user user on it",
}


@pytest.mark.parametrize(("text", "clean"), SECRETS.items())
def test_secrets_and_homes_are_taken_out(text: str, clean: str) -> None:
    variables = {"HOME": "/home/ann", "DEPLOY_TOKEN": "s3cr3t-v4lue", "USER": "annabel"}
    scrubber = Scrubber(variables)
    assert scrubber.text(text) == clean
    line = json.dumps({"a": [text]}).encode() + b"\n"
    assert json.loads(scrubber.file("x.jsonl", line)) == {"a": [clean]}


@pytest.mark.parametrize(
    "text",
    [f"CXX=/opt/toolset{SUPERUSER}/usr/bin/c++", '"passed": true', "tokens: 512", "author=x",
     "step 3 of 500", "/homework/x"],
)  # fmt: skip
def test_harmless_text_is_left_alone(text: str) -> None:
    assert Scrubber({"HOME": str(SUPERUSER), "USER": ""}).text(text) == text
