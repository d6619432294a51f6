"""Official files: downloaded, or found in a folder that the user names; checked in both cases."""

from __future__ import annotations

import hashlib
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException
from pathlib import Path
from typing import IO

from dlbench import paths
from dlbench.datasets import Dataset, Download, Packaging
from dlbench.datasets._folders import Inside
from dlbench.errors import UserError
from dlbench.statistics.words import listing

Progress = Callable[[str], None]
_BLOCK = 1 << 20
_TIMEOUT_S = 60.0
_SAY_EVERY_S = 5.0


def downloaded(dataset: Dataset, say: Progress) -> dict[str, Path]:
    """The official files by name; what has arrived before is used, or continued."""
    return {item.name: _downloaded(dataset, item, say) for item in dataset.downloads}


def _downloaded(dataset: Dataset, item: Download, say: Progress) -> Path:
    target = paths.cache() / "downloads" / item.name
    if target.is_file() and not _problem(target, item):
        return target
    problems = []
    for url in item.urls:
        try:
            _fetch(url, target, item, say)
            return target
        except (OSError, HTTPException, ValueError) as error:  # the next mirror is tried
            problems.append(f"{url}: {_short(error)}")
    raise UserError(
        f"{item.name} of data set {dataset.name} can't be downloaded ({'; '.join(problems)}).",
        f"Get the files elsewhere and run `dlbench data fetch {dataset.name} --from DIR`,"
        " or use `--data synthetic`.",
    )


def _fetch(url: str, target: Path, item: Download, say: Progress) -> None:
    """Into `target`, whole and right or not at all; what arrived stays beside it as `.part`."""
    part = target.with_name(f"{target.name}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    here = part.stat().st_size if part.is_file() else 0
    if item.bytes and here >= item.bytes:  # whole but never checked, or of another file
        here = 0
    request = urllib.request.Request(url, headers={"User-Agent": "dlbench"})
    if here:
        request.add_header("Range", f"bytes={here}-")
    try:
        answer = urllib.request.urlopen(request, timeout=_TIMEOUT_S)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not here:  # there is nothing left to continue
            raise
        part.unlink()
        return _fetch(url, target, item, say)
    with answer:
        continued = here and getattr(answer, "status", 200) == 206
        with part.open("ab" if continued else "wb") as file:
            _copy(answer, file, item, here if continued else 0, say)
    if problem := _problem(part, item):
        part.unlink()
        raise ValueError(f"what arrived {problem}")
    part.replace(target)
    return None


def _copy(source: IO[bytes], file: IO[bytes], item: Download, done: int, say: Progress) -> None:
    size = f" of {item.bytes / 1e6:,.1f} MB" if item.bytes else " MB"
    said = time.monotonic()
    say(f"{item.name}: {done / 1e6:,.1f}{size}")
    while block := source.read(_BLOCK):
        done += len(block)
        if item.bytes and done > item.bytes:
            raise ValueError(f"it sends more than the {item.bytes:,} bytes that were expected")
        file.write(block)
        if time.monotonic() - said >= _SAY_EVERY_S:
            say(f"{item.name}: {done / 1e6:,.1f}{size}")
            said = time.monotonic()
    if item.bytes and done < item.bytes:
        raise ValueError(f"the connection ended after {done:,} of {item.bytes:,} bytes")


def _forms(dataset: Dataset) -> list[Packaging]:
    official = Packaging("the official files", dataset.downloads, dataset.convert)
    return [form for form in (official, *dataset.packagings) if form.files]


def has_files(dataset: Dataset, folder: Path) -> bool:
    """Whether all files of some form of the data set are in the folder."""
    inside = Inside(folder)
    return any(len(_present(inside, form)) == len(form.files) for form in _forms(dataset))


def found(dataset: Dataset, folder: Path, say: Progress) -> tuple[Packaging, dict[str, Path]]:
    """The first form of the data set whose files are all in the folder and right, and these."""
    forms = _forms(dataset)
    if not forms:
        raise UserError(f"Data set {dataset.name} needs no files.", "Leave out --from.")
    inside = Inside(folder)
    present = [(form, _present(inside, form)) for form in forms]
    nearest = [(form, files) for form, files in present if len(files) == len(form.files)]
    nearest = nearest or [max(present, key=lambda item: len(item[1]))]
    for form, files in nearest:
        if len(files) == len(form.files) and not any(map(_wrong, form.files, files.values())):
            for item in form.files:
                if item.checksum:
                    say(f"{item.name}: checksum right")
            return form, {name: path for name, (path,) in files.items()}
    raise _refusal(folder, *nearest[0], forms)


def _refusal(
    folder: Path, form: Packaging, files: Mapping[str, list[Path]], forms: list[Packaging]
) -> UserError:
    """What is missing of this form in the folder, or wrong with it."""
    missing = [item for item in form.files if item.name not in files]
    wrong = {item: problem for item in form.files
             if item.name in files and (problem := _wrong(item, files[item.name]))}  # fmt: skip
    problems = [f"{item.name} {wrong[item]}." for item in wrong]
    if missing:
        names = listing([item.name for item in missing])
        problems.insert(0, f"{folder} has no file {names}, nor have the folders in it.")
    places = [item.urls[0] for item in (*missing, *wrong) if item.urls]
    remedies = [f"Get {listing(places)}."] if places else []
    others = "; ".join(_words(other) for other in forms if other is not form)
    remedies += [f"Other forms that can be read: {others}."] if missing and others else []
    return UserError(" ".join(problems), " ".join(remedies) or "Get another copy.")


def _words(form: Packaging) -> str:
    names = ", ".join(item.name for item in form.files[:2])
    return f"{form.title} ({names}{', …' if len(form.files) > 2 else ''})"


def _present(inside: Inside, form: Packaging) -> dict[str, list[Path]]:
    """Where each file of the form lies, of those that are there."""
    return {item.name: places for item in form.files if (places := _places(inside, item))}


def _places(inside: Inside, item: Download) -> list[Path]:
    """Of several equally deep ones those that are right, if that can be seen.

    What has no checksum is read as it is or packed with gzip."""
    places = inside.named(item.name)
    if not places and item.packed:
        places = inside.named(f"{item.name}.gz")
    right = [path for path in places if item.checksum and not _problem(path, item)]
    return right[:1] or places


def _wrong(item: Download, places: list[Path]) -> str:
    """What is wrong with what was found of a file, as the end of a sentence that names it."""
    if len(places) > 1:
        return f"is there {len(places)} times: {listing([str(path) for path in places])}"
    problem = _problem(places[0], item)
    return f"is not the official file: it {problem}" if problem else ""


def _problem(path: Path, item: Download) -> str:
    """What is wrong with the file, as the end of a sentence; empty: nothing that can be seen."""
    size = path.stat().st_size
    if item.bytes and size != item.bytes:
        return f"has {size:,} bytes where {item.bytes:,} were expected"
    kind, _, wanted = item.checksum.partition(":")
    if wanted and (own := file_hash(path, kind)) != wanted:
        return f"has the {kind} {own} where {wanted} was expected"
    return ""


def file_hash(path: Path, kind: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


def _short(error: Exception) -> str:
    text = str(error).split("\n")[0] or type(error).__name__
    return text if len(text) < 240 else text[:237] + "…"
