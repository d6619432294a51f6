"""Data sets on disk: fetched once, converted once to plain arrays, checked before every use.

A prepared data set is a folder of `.npy` files and a `manifest.json` with the hash of each. Nothing
in it is executed: no pickle is read or written.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dlbench import paths
from dlbench.datasets import Arrays, Dataset, Source, _official_files
from dlbench.datasets._checked_arrays import problem_of
from dlbench.datasets._official_files import Progress, file_hash
from dlbench.errors import UserError
from dlbench.whole_files import writing

VERSION = 1
_VERIFY_ROWS = (1024, 256)
_MOST_REPEATED = 0.05
"""Real sets repeat a row here and there; a test split that is the training split repeats all."""


@dataclass(frozen=True)
class PreparedData:
    """A data set that is on disk and whole."""

    name: str
    source: str
    """`real`, `synthetic`, or `sample`: real rows, but not those of the official data."""
    folder: Path
    digest: str
    splits: Mapping[str, Mapping[str, str]]
    divide: Mapping[str, float]
    bytes: int
    repeated: int = 0
    """Test rows that are training rows, too, by content: some official data have a few."""
    checked: bool = True
    """False: as many rows as the official data, but no checksum says that they are those."""

    def shapes(self, split: str) -> dict[str, tuple[int, ...]]:
        """The shape of each array of a split, rows first, from the files' headers."""
        return {name: self.array(split, name).shape for name in self.splits[split]}

    def array(self, split: str, name: str) -> np.ndarray:
        """An array of a split, as it is on disk; what nobody reads of it is not loaded."""
        file = self.folder / self.splits[split][name]
        array: np.ndarray = np.load(file, mmap_mode="r", allow_pickle=False)
        return array

    @cached_property
    def rows(self) -> dict[str, int]:
        """How many each split has."""
        return {split: next(iter(self.shapes(split).values()))[0] for split in self.splits}

    def to_job(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "source": self.source,
            "digest": self.digest,
            "splits": self.splits,
            "divide": dict(self.divide),
        }


def folder_of(dataset: Dataset, source: Source | Literal["proof"]) -> Path:
    name = f"{dataset.name}-{source}"
    if dataset.revision:  # somebody's own: its file may change, and then so do its arrays
        name += f"-{dataset.revision[:12]}"
    return paths.cache() / "data" / name


def is_prepared(dataset: Dataset, source: Source) -> bool:
    return (folder_of(dataset, source) / "manifest.json").is_file()


@dataclass(frozen=True)
class DataOnDisk:
    """What of a data set is on disk, by its manifest; its files are not read."""

    word: str
    """`yes`, `no`, `damaged`, or `sample`: rows that are real, but not the official ones."""
    rows: tuple[int, int] | None = None
    """Of train and test."""
    repeated: int = 0
    """Test rows that are training rows, too."""
    checked: bool = True
    """As in `PreparedData`."""


def what_is_here(dataset: Dataset) -> DataOnDisk:
    if not is_prepared(dataset, "real"):
        return DataOnDisk("no")
    try:
        manifest = json.loads((folder_of(dataset, "real") / "manifest.json").read_text())
        files, splits = manifest["files"], manifest["splits"]
        train, test = (
            int(files[min(splits[split].values())]["shape"][0]) for split in ("train", "test")
        )
        word = "sample" if manifest["source"] == "sample" else "yes"
        repeated, checked = manifest.get("repeated", 0), manifest.get("checked", True)
        return DataOnDisk(word, (train, test), int(repeated), bool(checked))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return DataOnDisk("damaged")


def prepare(
    dataset: Dataset,
    source: Source = "real",
    say: Progress = lambda _: None,
    *,
    again: bool = False,
) -> PreparedData:
    """The data set, fetched and converted if it is not there yet, and verified.

    `again`: also if it is; what is there stays until the new one is whole."""
    folder = folder_of(dataset, source)
    if again or not is_prepared(dataset, source):
        if source == "synthetic":
            arrays, checked = dataset.synthetic(*dataset.rows), True
        else:
            arrays = dataset.convert(_official_files.downloaded(dataset, say))
            checked = all(item.checksum for item in dataset.downloads)
        _write(dataset, source, arrays, folder, checked=checked)
    return verify(dataset, source)


def prepare_proof(dataset: Dataset) -> PreparedData:
    """A small synthetic twin: all that the certificate needs, never downloaded."""
    folder = folder_of(dataset, "proof")
    if not (folder / "manifest.json").is_file():
        make = dataset.proof or dataset.synthetic
        _write(dataset, "synthetic", make(*_VERIFY_ROWS), folder)
    # models that share a graph share its proof: data sets with the same twin have the same name
    return replace(_read(dataset, "synthetic", folder), name="proof")


def prepare_from(dataset: Dataset, files: Path, say: Progress = lambda _: None) -> PreparedData:
    """The data set from files that the user already has, the official ones or in another form."""
    if not files.is_dir():
        raise UserError(f"{files} is not a folder.", "Name the folder that holds the files.")
    arrays, official = None, False
    if dataset.from_folder and not _official_files.has_files(dataset, files):
        arrays = dataset.from_folder(files)
    if arrays is None:
        form, found = _official_files.found(dataset, files, say)
        arrays = form.convert(found)
        official = all(item.checksum for item in form.files)
    _check(dataset, arrays)
    rows = _rows(arrays["train"]), _rows(arrays["test"])
    whole = official or rows == dataset.rows
    if not whole:
        say(
            f"{dataset.name}: {rows[0]:,} and {rows[1]:,} rows where the official data have"
            f" {dataset.rows[0]:,} and {dataset.rows[1]:,}: marked as a sample"
        )
    word: Literal["real", "sample"] = "real" if whole else "sample"
    _write(dataset, word, arrays, folder_of(dataset, "real"), checked=official)
    return verify(dataset, "real")


def verify(dataset: Dataset, source: Source) -> PreparedData:
    """The prepared data set, every file's hash compared with the manifest."""
    return _read(dataset, source, folder_of(dataset, source))


def _read(dataset: Dataset, source: Source, folder: Path) -> PreparedData:
    again = f"`dlbench data fetch {dataset.name} --again` makes it anew."
    try:
        manifest = json.loads((folder / "manifest.json").read_text())
        if manifest["v"] != VERSION:
            raise UserError(f"{dataset.name} was prepared by another version of dlbench.", again)
        for name, entry in manifest["files"].items():
            if file_hash(folder / name, "sha256") != entry["sha256"]:
                raise UserError(f"{name} of data set {dataset.name} has been changed.", again)
        return PreparedData(
            name=dataset.name,
            source=source if source == "synthetic" else manifest["source"],
            folder=folder,
            digest=manifest["digest"],
            splits=manifest["splits"],
            divide=dataset.divide,
            bytes=sum(entry["bytes"] for entry in manifest["files"].values()),
            repeated=int(manifest.get("repeated", 0)),
            checked=bool(manifest.get("checked", True)),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"Data set {dataset.name} on disk is damaged ({error}).", again) from error


def _write(
    dataset: Dataset,
    source: Source | Literal["sample"],
    arrays: Arrays,
    folder: Path,
    *,
    checked: bool = True,
) -> None:
    """Arrays and manifest, whole or not at all. `checked`: the files had the right checksums; what
    else is called real must have the digest of the official arrays, where that is known."""
    _check(dataset, arrays)
    expected = dataset.digest if source == "real" and not checked else ""
    repeated = _repeated_rows(dataset, arrays)
    with writing(folder.parent, "Set DLBENCH_CACHE to a folder that can."):
        folder.parent.mkdir(parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        files: dict[str, dict[str, Any]] = {}
        splits: dict[str, dict[str, str]] = {}
        for split, named in arrays.items():
            for name, values in named.items():
                file = f"{split}-{name}.npy"
                np.save(making / file, np.ascontiguousarray(values), allow_pickle=False)
                splits.setdefault(split, {})[name] = file
                files[file] = {
                    "sha256": file_hash(making / file, "sha256"),
                    "bytes": (making / file).stat().st_size,
                    "shape": list(values.shape),
                    "dtype": str(values.dtype),
                }
        if expected and _digest(files) != expected:
            raise UserError(
                f"What the files hold is not {dataset.name}: as many rows, but other values (digest"
                f" {_digest(files)[:12]} where {expected[:12]} was expected).",
                "They were altered: get another copy.",
            )
        manifest = {
            "v": VERSION,
            "name": dataset.name,
            "source": source,
            "title": dataset.title,
            "licence": dataset.licence,
            "digest": _digest(files),
            "repeated": repeated,
            "checked": checked or bool(expected) or source == "sample",
            "splits": splits,
            "files": files,
        }
        (making / "manifest.json").write_text(json.dumps(manifest, indent=1))
        making.chmod(0o755)
        _put_in_place(making, folder)
    except OSError as error:
        raise UserError(
            f"Data set {dataset.name} can't be written: {error.strerror}.",
            "Free some space or set DLBENCH_CACHE to another disk.",
        ) from error
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _check(dataset: Dataset, arrays: Arrays) -> None:
    if problem := problem_of(arrays):
        raise UserError(f"What the files hold is not {dataset.name}: {problem}.", "Get other ones.")


def _put_in_place(making: Path, folder: Path) -> None:
    """Instead of what was there, which comes back where that fails."""
    before = making.with_name(f"{making.name}-before")
    if folder.exists():
        folder.replace(before)
    try:
        making.replace(folder)
    except OSError:
        if before.exists():
            before.replace(folder)
        raise
    shutil.rmtree(before, ignore_errors=True)


def _repeated_rows(dataset: Dataset, arrays: Arrays) -> int:
    """How many test rows are training rows, too, by content; refused if they are many."""
    seen = {_row_key(arrays["train"], row) for row in range(_rows(arrays["train"]))}
    tested = _rows(arrays["test"])
    repeated = sum(_row_key(arrays["test"], row) in seen for row in range(tested))
    if repeated > _MOST_REPEATED * max(1, tested):
        raise UserError(
            f"{repeated / tested:.0%} of the test rows of data set {dataset.name} are training"
            " rows.",
            "A result on them would say nothing: check the files and how they are converted.",
        )
    return repeated


def _rows(named: Mapping[str, np.ndarray]) -> int:
    return len(next(iter(named.values())))


def _row_key(named: Mapping[str, np.ndarray], row: int) -> bytes:
    key = hashlib.blake2b(digest_size=16)
    for name in sorted(named):
        key.update(named[name][row].tobytes())
    return key.digest()


def _digest(files: Mapping[str, Mapping[str, Any]]) -> str:
    lines = "".join(f"{entry['sha256']} {name}\n" for name, entry in sorted(files.items()))
    return hashlib.sha256(lines.encode()).hexdigest()
