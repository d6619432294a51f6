"""The report as one HTML file: everything inside, nothing fetched, nothing trusted.

All text goes through Jinja's escaping or is set as text by the page's script; data stands in JSON
elements that no parser of markup can read otherwise. The page's policy lets run only the two
scripts and the style sheet whose hashes it names, and lets nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import time
from datetime import datetime
from typing import Any

from dlbench import __version__
from dlbench.report import beside_numbers, records
from dlbench.report.answer import answer
from dlbench.report.asset_files import asset, script
from dlbench.report.charts.lead import lead
from dlbench.report.colours import contender_colours
from dlbench.report.material import Material
from dlbench.report.matrix import matrices, parts
from dlbench.report.pairs import Comparisons, comparisons
from dlbench.report.presets import presets
from dlbench.report.sections import sections
from dlbench.report.study import study_part
from dlbench.report.tables import inert, packed


def html(material: Material) -> str:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(asset),
    )
    style = environment.get_template("report.css.j2").render()
    library, own = asset("vendor/echarts.js"), script()
    failures, more = records.failures(material)
    compared = comparisons(material)
    return environment.get_template("report.html.j2").render(
        policy=_policy(style, library, own),
        style=style,
        library=library,
        script=own,
        page=inert(_page(material, compared)),
        metrics=[inert(metric) for metric in compared.metrics],
        trials=inert({"columns": packed(records.trial_table(material))}),
        answer=answer(material),
        lead=lead(material),
        sections=list(sections(material)),
        matrices=[(matrix, parts(matrix)) for matrix in matrices(material)],
        baseline_note=compared.note,
        failures=failures,
        more_failures=more,
        certificates=material.certificates,
        machines=records.machines(material),
        cautions=beside_numbers.cautions_of(material),
        error_rate=material.error_rate(material.tested),
        groups=records.group_records(material),
        campaign_commands=records.campaign_commands(material),
        notes=list(material.about.notes),
        study=study_part(material),
        suite=material.about.suite,
        cases=[case.label for case in material.cases],
        contenders=len(material.contenders),
        started=_day(material),
        made=time.strftime("%Y-%m-%d"),
        version=__version__,
    )


def _page(material: Material, compared: Comparisons) -> dict[str, Any]:
    """What the page's script knows from the start."""
    colours = contender_colours(material.contenders)
    return {
        "cases": [
            {"name": case.label, "around": beside_numbers.of_case(material, case)}
            for case in material.cases
        ],
        "contenders": [
            {"name": name, "framework": framework, "colours": [colour.light, colour.dark]}
            for (name, framework), colour in zip(
                material.contenders.items(), colours.values(), strict=True
            )
        ],
        "presets": presets(material),
        "groups": compared.groups,
        "baselines": compared.baselines,
    }


def _policy(style: str, *scripts: str) -> str:
    allowed = " ".join(_hash(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)};"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _day(material: Material) -> str:
    first = material.results.trials()["started"].min()
    return f"{first:%Y-%m-%d}" if isinstance(first, datetime) else ""
