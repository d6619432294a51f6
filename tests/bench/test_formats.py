"""Jobs whose parts are not what they should be are refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import formats


@pytest.mark.parametrize(
    "wrong",
    [
        {"graph": {"nodes": 0.5}},
        {"graph": {"nodes": [3]}},
        {"recipe": {"losses": 7}},
        {"recipe": {"optimizer": ["lr"]}},
        {"recipe": {"optimizer": 0}},
        {"recipe": {"clip": 10**400}},
    ],
)
def test_a_graph_or_recipe_of_other_things_is_refused(wrong: Any, tmp_path: Path) -> None:
    texts = ("id", "framework", "version", "adapter", "variant")
    job = {
        "v": 1, **dict.fromkeys(texts, "x"), "action": "train", "device": "cpu",
        "setting": "matched", "seed": 1, "graph": {}, "recipe": {}, "data": {}, "budget": {},
        "save": False,
    }  # fmt: skip
    file = tmp_path / "job.json"
    file.write_text(json.dumps(job))
    assert formats.read_job(str(file))["recipe"] == {}
    file.write_text(json.dumps({**job, **wrong}))
    with pytest.raises(formats.BadJob, match="not as they should be"):
        formats.read_job(str(file))
