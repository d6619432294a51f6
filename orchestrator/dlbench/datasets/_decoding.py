"""Decodes people's images with Pillow: how large one is, is looked up before it is decoded."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from dlbench.datasets._reading import wrong
from dlbench.errors import UserError


def pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise UserError(
            "Images are decoded with Pillow, which is not installed.",
            "Install it with `pip install pillow` (or dlbench with `pip install dlbench[images]`).",
        ) from error
    return Image


@contextmanager
def opened_image(file: Path | IO[bytes], name: str, library: Any, most: int) -> Iterator[Any]:
    """The image, of which nothing but the header is read; it has at most so many pixels."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", library.DecompressionBombWarning)
            with library.open(file, formats=("JPEG", "PNG")) as image:
                width, height = image.size
                if not 0 < width * height <= most:
                    raise wrong(name, f"has {width:,} x {height:,} pixels, which is too many")
                yield image
    except UserError:
        raise
    except (library.DecompressionBombError, library.DecompressionBombWarning) as error:
        raise wrong(name, f"has too many pixels ({error})") from error
    except Exception as error:  # what a decoder raises on a damaged file, nobody lists
        raise wrong(name, f"is not an image that can be decoded ({error})") from error
