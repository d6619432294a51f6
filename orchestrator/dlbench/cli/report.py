"""`dlbench report DIR`: a campaign as one HTML file, as Markdown, as LaTeX or as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dlbench.cli.console import Json
from dlbench.cli.options import Alpha, AlphaOver, CampaignFolder, Only, Study

_SUFFIXES = {"html": ".html", "markdown": ".md", "latex": ".tex", "svg": ".svg"}


def report(
    folder: CampaignFolder = None,
    only: Only = None,
    format: Annotated[
        str,
        typer.Option(
            metavar="html|markdown|latex|svg",
            help="html, markdown or latex; svg: one picture, training time over the months in"
            " which releases were published.",
        ),
    ] = "html",
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="Where it goes (default: into DIR, or beside the archive); - prints it.",
        ),
    ] = None,
    study: Study = None,
    alpha: Alpha = 0.05,
    alpha_over: AlphaOver = "workload",
    open: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    json: Json = False,
) -> None:
    """Make a report: one HTML file that opens with the answer.

    \b
    dlbench report --open
    dlbench report results/2026-11-16_0312-digits-cnn-jax-numpy --format markdown -o answer.md
    dlbench report quick.dlbench -o quick.html --alpha-over report
    dlbench report results/2026-11-16_0312-history --format svg -o eight-years.svg
    """
    import sys

    from dlbench import report as making
    from dlbench.campaigns.campaign_list import newest
    from dlbench.cli.console import print_json
    from dlbench.errors import check_known
    from dlbench.whole_files import write_whole, writing

    check_known("format", format, _SUFFIXES)
    folder = folder or newest()
    material = making.load(folder, only, alpha, alpha_over, study)
    text = getattr(making, format)(material)
    if out == Path("-"):
        sys.stdout.write(text)
        return
    target = out or _beside(folder, _SUFFIXES[format])
    with writing(target, "Choose another path with -o."):
        write_whole(target, text)
    if json:
        size = target.stat().st_size
        print_json({"file": str(target), "format": format, "bytes": size,
                    "trials": len(material.results.trials())})  # fmt: skip
    else:
        typer.echo(f"{target} ({target.stat().st_size / 1e6:.1f} MB)")
    if open:
        import webbrowser

        webbrowser.open(target.resolve().as_uri())


def _beside(campaign: Path, suffix: str) -> Path:
    """Into the campaign's folder; next to an archive, under its name."""
    return campaign.with_suffix(suffix) if campaign.is_file() else campaign / f"report{suffix}"
