"""What is offered for a Python that is not here: nothing that does not exist, in a stated order."""

from __future__ import annotations

import pytest

from dlbench.environments import interpreters


@pytest.mark.parametrize(("python", "fetchable"), [("3.6", False), ("3.7", False), ("3.11", True)])
def test_uv_is_offered_where_it_has_that_python(python: str, fetchable: bool) -> None:
    text = interpreters.offers(python)
    assert (f"uv python install {python}" in text) is fetchable
    places = [text.index(way) for way in ("--engine docker", "pyenv install", "conda-forge")]
    assert places == sorted(places)
    assert "Not tried by dlbench: `conda" in text
    assert interpreters.override(python) in text
