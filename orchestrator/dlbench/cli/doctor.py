"""`dlbench doctor`: what works on this machine, what does not, what to do."""

from __future__ import annotations

from dataclasses import asdict

import typer

from dlbench.cli.console import Json


def register(app: typer.Typer) -> None:
    @app.command("doctor")
    def doctor(json: Json = False) -> None:
        """Check Docker, GPUs, interpreters, disk and how quiet this machine is.

        \b
        dlbench doctor
        """
        from dlbench.cli.console import print_json, stdout
        from dlbench.host.diagnosis import diagnose

        findings = diagnose()
        if json:
            print_json([asdict(finding) for finding in findings])
        else:
            marks = {"good": "[green]ok  [/]", "fair": "[yellow]note[/]", "bad": "[red]no  [/]"}
            console = stdout()
            for finding in findings:
                console.print(f"{marks[finding.state]} {finding.topic}: ", end="")
                console.print(finding.text, markup=False)
                if finding.remedy:
                    console.print(f"       {finding.remedy}", markup=False)
        raise typer.Exit(1 if any(finding.state == "bad" for finding in findings) else 0)
