"""Packs a campaign into one file: a zip with a checksum for every member, without secrets.

`campaigns.archive_file` opens it again.
"""

from __future__ import annotations

import hashlib
import io
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from dlbench.campaigns.archive_file import SUMS
from dlbench.campaigns.array_file import open_array
from dlbench.campaigns.certificate_file import certificate_names, read_certificates
from dlbench.campaigns.plain_files import ARRAYS, RESULT, TEXTS, read_file
from dlbench.campaigns.sources import CampaignSource, open_source
from dlbench.campaigns.trial_file import read_trial
from dlbench.errors import UserError
from dlbench.sharing.scrub import Scrubber
from dlbench.whole_files import whole_file, writing

_CHUNK = 1 << 20
_LEVEL = 4
"""Of compression: a third quicker than the usual 6, for a thirtieth more bytes."""
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_archive(campaign: Path, path: Path) -> int:
    """Pack a campaign, scrubbed; returns how many files it holds. Equal campaigns, equal bytes."""
    if path.exists():
        raise UserError(f"{path} exists already.", "Choose another name with -o.")
    source = open_source(campaign)
    scrubber = Scrubber()
    sums = []
    with (
        writing(path, "Choose another path with -o."),
        whole_file(path) as made,
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, file in _members(source):
            with file:
                digest = _pack(archive, name, file, scrubber)
            sums.append(f"{digest}  {name}\n")
        archive.writestr(_info(SUMS), "".join(sums))
    return len(sums)


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    return info


def _members(source: CampaignSource) -> Iterator[tuple[str, IO[bytes]]]:
    """What is packed, in a fixed order. Attempts and a framework's own saves are left out.

    What others would refuse is refused here."""
    read_certificates(source.folder)
    names = ["campaign.json", "plan.jsonl"]
    names += [f"certificates/{name}" for name in certificate_names(source.folder)]
    names += [f"trials/{p.id}/{name}" for p in source.planned for name in (*TEXTS, RESULT)]
    for planned in source.planned:
        read_trial(planned.folder)
    for name in names:
        content = read_file(source.folder / name)
        if content is not None:
            yield name, io.BytesIO(content)
    for planned in source.planned:
        for name in ARRAYS:
            array = open_array(planned.folder, name)
            if array is not None:
                yield f"trials/{planned.id}/{name}", array


def _pack(archive: zipfile.ZipFile, name: str, file: IO[bytes], scrubber: Scrubber) -> str:
    """Add a file to the archive; returns its checksum."""
    if not name.endswith(".npz"):
        content = scrubber.file(name, file.read())
        archive.writestr(_info(name), content, compresslevel=_LEVEL)
        return hashlib.sha256(content).hexdigest()
    digest = hashlib.sha256()  # numbers only, and many
    with archive.open(_info(name), "w", force_zip64=True) as member:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            member.write(chunk)
    return digest.hexdigest()
