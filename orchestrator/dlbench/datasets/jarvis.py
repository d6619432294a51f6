"""JARVIS-DFT: formation energies, as matminer packs them."""

from dlbench.datasets import Download
from dlbench.datasets._materials import materials

_PLACE = "https://ndownloader.figshare.com/files/"

DATASET = materials(
    "jarvis",
    "JARVIS-DFT, 3D materials (K. Choudhary et al., 2018; matminer's jarvis_dft_3d)",
    (20_998, 2_592),
    Download(
        "jarvis_dft_3d.json.gz",
        (f"{_PLACE}13376507",),
        0,
        "sha256:3d0fc1315b74cf84071f16aa25bb93434dafbc83867beb75872064ac245bd747",
    ),
    others=(
        Download("jdft_3d-12-12-2022.json.zip", (f"{_PLACE}38521619",)),
        Download("jdft_3d-8-18-2021.json.zip", (f"{_PLACE}29204826",)),
    ),
    notes="25,923 materials of 2018 (75,993 in 2022); gupta2023 states 19,994 (Table III: 28,171)",
)
