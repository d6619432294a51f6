"""Critical-difference diagrams: mean ranks across workloads, where Friedman's test applies."""

from __future__ import annotations

from dlbench.analysis.metrics import TRAINING
from dlbench.report.material import Material
from dlbench.report.tables import Chart, Columns


def ranks(material: Material) -> tuple[tuple[Chart, ...], list[str]]:
    charts, sentences = [], []
    several = len({group.rows[0]["device"] for group in material.groups}) > 1
    compared = material.on(TRAINING)
    for number, across in enumerate(compared.across if compared else (), 1):
        test = across.friedman
        if not test.enough or len(test.groups) < 2:
            continue
        columns: Columns = {
            "contender": test.groups,
            "framework": [material.contenders.get(name, name) for name in test.groups],
            "mean_rank": test.mean_ranks,
        }
        where = ", ".join(
            value
            for key, value in across.fixed
            if (key == "device" and several) or (key == "setting" and value != "matched")
        )
        sentences.append(f"{where}: {test.sentence}" if where else test.sentence)
        note = (
            f"Mean rank by training time across {test.workloads} workloads; 1 is the fastest."
            " Contenders that a bar joins are not shown to differ: their ranks are nearer than"
            f" the critical difference of {test.critical_difference:.2f}."
        )
        position = {name: i for i, name in enumerate(test.groups)}
        joined = [[position[clique[0]], position[clique[-1]]] for clique in test.cliques]
        title = f"Ranks across workloads ({where})" if where else "Ranks across workloads"
        charts.append(Chart(f"ranks-{number}", "ranks", title, columns, note, {"joined": joined}))
    return tuple(charts), sentences
