"""The Materials Project: formation energies, as Matbench packs them."""

from dlbench.datasets import Download
from dlbench.datasets._materials import materials

_FILE = "matbench_mp_e_form.json.gz"

DATASET = materials(
    "materials-project",
    "The Materials Project (A. Jain et al., 2013; Matbench's mp_e_form)",
    (107_528, 13_276),
    Download(
        _FILE,
        (f"https://ml.materialsproject.org/projects/{_FILE}",),
        0,
        "sha256:dedcb1d4ba2e3e50dbdd45ba5bc647a00e9c2bcf8f8bf556dc8e92caa39eb21f",
    ),
    prefixes=("matbench_mp", "mp"),
    notes="132,752 materials of 2019; gupta2023 states 89,181",
)
