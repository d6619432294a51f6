"""The report as one HTML file: everything inside, nothing fetched, nothing trusted.

All text goes through Jinja's escaping or is set as text by the page's script; data stands in JSON
elements that no parser of markup can read otherwise. The page's policy lets run only the two
scripts and the style sheet whose hashes it names, and lets nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import time
from functools import cache
from importlib import resources

from dlbench import __version__
from dlbench.host.machine import cautions
from dlbench.report import records
from dlbench.report.answer import answer
from dlbench.report.charts import lead
from dlbench.report.material import Material
from dlbench.report.matrix import matrices
from dlbench.report.sections import sections
from dlbench.report.tables import inert


def html(material: Material) -> str:
    """The whole page."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(asset),
    )
    style, library, script = asset("report.css"), asset("vendor/echarts.js"), asset("report.js")
    failures, more = records.failures(material)
    frameworks = {group.contender: group.framework for group in material.groups}
    page = {
        "workloads": list(material.places),
        "frameworks": list(material.frameworks),
        "contenders": [[name, frameworks[name]] for name in material.contenders],
    }
    return environment.get_template("report.html.j2").render(
        policy=_policy(style, library, script),
        style=style,
        library=library,
        script=script,
        page=inert(page),
        answer=answer(material),
        lead=lead(material),
        sections=list(sections(material)),
        matrices=matrices(material),
        failures=failures,
        more_failures=more,
        certificates=records.faults(material.certificates),
        machines=records.machines(material),
        cautions=cautions(material.frames.machines()),
        commands=records.commands(material),
        asked=records.asked(material),
        notes=[str(note) for note in material.about.get("notes", ())],
        suite=str(material.about.get("suite", "")),
        frameworks=material.frameworks,
        workloads=material.places,
        started=_day(material),
        made=time.strftime("%Y-%m-%d"),
        version=__version__,
    )


@cache
def asset(name: str) -> str:
    """A file that ships with the report."""
    return resources.files("dlbench.report").joinpath("assets", *name.split("/")).read_text("utf-8")


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
    return min((r.started for r in material.results if r.started), default="")[:10]
