"""gupta2023: formation enthalpy from element fractions, six perceptrons on three data sets.

FCN-n has n dense layers, FCRN-n also a shortcut around each but the last. The parameter counts are
those of the study. Models that share a graph share its proof.
"""

from __future__ import annotations

from dlbench.planning.recipes import Recipe, adam, loss, metric, recipe, stopping
from dlbench.workloads import Workload
from dlbench.workloads._dense_stack import dense_stack

_DATA = {"oqmd": "oqmd", "mp": "materials-project", "jarvis": "jarvis"}
"""The data set of each prefix."""
_WIDTHS = {
    10: (1024,) * 2 + (512,) * 2 + (256,) * 2 + (128, 64, 32),
    17: (1024,) * 4 + (512,) * 3 + (256,) * 3 + (128,) * 3 + (64,) * 2 + (32,),
    24: (1024,) * 4 + (512,) * 4 + (256,) * 4 + (128,) * 4 + (64,) * 3 + (32,) * 2 + (16,) * 2,
}
_NARROW = {1024: 32, 512: 24, 256: 16, 128: 12, 64: 8, 32: 6, 16: 4}
"""For the certificate: fewer units, and shortcuts of the same two kinds in the same places."""
_ALIASES = {"jarvis-fcrn-10": ("enthalpy-fcrn-10",)}


def _recipe() -> Recipe:
    """MAE as loss and metric, Adam, batch 32; stopped by the data's own validation rows."""
    return recipe(
        batch=32,
        epochs=3000,
        optimizer=adam(1e-4),
        losses=[loss("mean-absolute-error", "enthalpy", "value")],
        metrics=[metric("mean-absolute-error", "enthalpy", "value")],
        stopping=stopping(patience=100, validation=None),
    )


def _workload(prefix: str, kind: str, depth: int) -> Workload:
    model, name = f"{kind}-{depth}", f"{prefix}-{kind}-{depth}"
    widths, shortcuts = _WIDTHS[depth], kind == "fcrn"
    narrow = [_NARROW[width] for width in widths]
    return Workload(
        name=name,
        task="regression",
        dataset=_DATA[prefix],
        graph=dense_stack(model, "fractions", (86,), widths, "enthalpy", shortcuts=shortcuts),
        recipe=_recipe(),
        about=f"Formation enthalpy from element fractions: {depth} dense layers"
        + (" with shortcuts" if shortcuts else ""),
        source="gupta2023, Table II",
        aliases=_ALIASES.get(name, ()),
        proof=dense_stack(
            f"{model}-proof", "fractions", (86,), narrow, "enthalpy", shortcuts=shortcuts
        ),
    )


WORKLOADS = tuple(
    _workload(prefix, kind, depth)
    for prefix in _DATA
    for kind in ("fcn", "fcrn")
    for depth in _WIDTHS
)
