"""Words behind options: what they mean, and what is refused."""

from __future__ import annotations

import pytest

from dlbench.errors import UserError
from dlbench.planning.option_values import duration, size


def test_words_for_times_and_sizes() -> None:
    assert [duration(text) for text in ("90", "90s", "15m", "24h", "2d")] == [
        90, 90, 900, 86400, 172800,
    ]  # fmt: skip
    assert [size(text) for text in ("512m", "4g", "4GiB", "8192k")] == [
        512 << 20, 4 << 30, 4 << 30, 8 << 20,
    ]  # fmt: skip
    for text in ("4", "5m", "2000t"):  # "4" is more likely a forgotten unit than four bytes
        with pytest.raises(UserError, match="not an amount of memory"):
            size(text)
