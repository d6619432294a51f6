"""Official files: downloaded, or found in a folder that the user names; checked in both cases."""

from __future__ import annotations

import hashlib
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import IO

from dlbench import paths
from dlbench.datasets import Dataset, Download, Packaging
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
    return any(len(_present(folder, form)) == len(form.files) for form in _forms(dataset))


def found(dataset: Dataset, folder: Path, say: Progress) -> tuple[Packaging, dict[str, Path]]:
    """The first form of the data set whose files are all in the folder, and these files."""
    forms = _forms(dataset)
    if not forms:
        raise UserError(f"Data set {dataset.name} needs no files.", "Leave out --from.")
    nearest, files = forms[0], _present(folder, forms[0])
    for form in forms:
        own = _present(folder, form)
        if len(own) == len(form.files):
            nearest, files = form, own
            break
        if len(own) > len(files):
            nearest, files = form, own
    missing = [item for item in nearest.files if item.name not in files]
    wrong = {item: problem for item in nearest.files
             if item.name in files and (problem := _problem(files[item.name], item))}  # fmt: skip
    problems = [f"{item.name} is not the official file: it {wrong[item]}." for item in wrong]
    if missing:
        problems.insert(0, f"{folder} has no file {listing([item.name for item in missing])}.")
    if problems:
        places = [item.urls[0] for item in (*missing, *wrong) if item.urls]
        remedies = [f"Get {listing(places)}."] if places else []
        others = "; ".join(_words(form) for form in forms if form is not nearest)
        remedies += [f"Other forms that can be read: {others}."] if missing and others else []
        raise UserError(" ".join(problems), " ".join(remedies) or "Get another copy.")
    for item in nearest.files:
        if item.checksum:
            say(f"{item.name}: checksum right")
    return nearest, files


def _words(form: Packaging) -> str:
    names = ", ".join(item.name for item in form.files[:2])
    return f"{form.title} ({names}{', …' if len(form.files) > 2 else ''})"


def _present(folder: Path, form: Packaging) -> dict[str, Path]:
    return {item.name: path for item in form.files if (path := _find(folder, item.name))}


def _find(folder: Path, name: str) -> Path | None:
    """The file of this name, with or without the folders in front of it."""
    return next((p for p in (folder / name, folder / Path(name).name) if p.is_file()), None)


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
