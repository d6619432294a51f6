"""`dlbench export DIR --format F -o PATH`: results for other programs and other people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dlbench.cli.console import Json


def export(
    campaigns: Annotated[list[Path], typer.Argument(help="Campaign folders or archives.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="A new folder; a file for an archive.")],
    format: Annotated[str, typer.Option(help="csv, parquet, json, mlflow or archive.")] = "parquet",
    json: Json = False,
) -> None:
    """Write a campaign's tables, or pack it into one file.

    An archive is one file with checksums that show, compare and report open directly. Secrets,
    home paths and names of people and machines are taken out of everything that is written.

    \b
    dlbench export results/2026-11-16_0312-quick --format csv -o tables
    dlbench export results/2026-11-16_0312-quick --format archive -o quick.dlbench
    dlbench export results/2026-11-16_0312-quick --format mlflow -o mlruns
    """
    from dataclasses import asdict

    from dlbench.cli.console import print_json
    from dlbench.sharing.export import export as write

    written = write(campaigns, format, out)
    if json:
        print_json({"v": 1, **asdict(written)})
        return
    counted = ", ".join(f"{count:,} {name}" for name, count in written.rows.items())
    typer.echo(f"{written.path}: {counted}")
    if format == "mlflow":
        typer.echo(
            "Show them with: MLFLOW_ALLOW_FILE_STORE=true mlflow ui --backend-store-uri"
            f" {written.path}"
        )
