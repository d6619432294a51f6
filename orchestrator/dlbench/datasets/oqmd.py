"""The Open Quantum Materials Database: of each composition the lowest formation energy."""

from dlbench.datasets import Download
from dlbench.datasets._materials import materials

_PLACE = "https://ndownloader.figshare.com/files/"

DATASET = materials(
    "oqmd",
    "The Open Quantum Materials Database (J. Saal et al., 2013; as JARVIS-Tools packs it)",
    (279_559, 34_513),
    Download("all_oqmd.json.zip", (f"{_PLACE}26790182",)),
    others=(Download("CFID_OQMD_460k.json.zip", (f"{_PLACE}24981170",)),),
    lowest=True,
    notes="345,134 compositions as gupta2023 states (its Table III 345,220); how many the file"
    " gives depends on its date. No checksum is published: the digest says which one was used",
)
