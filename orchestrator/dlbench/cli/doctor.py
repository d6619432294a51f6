"""`dlbench doctor`: what works on this machine, what does not, what to do."""

from __future__ import annotations

from dataclasses import asdict

import typer

from dlbench.cli.console import Json


def doctor(json: Json = False) -> None:
    """Check Docker, GPUs, interpreters, disk and the load here.

    \b
    dlbench doctor
    """
    from rich.text import Text

    from dlbench.cli.console import folded, print_json, say, stdout, width
    from dlbench.host.diagnosis import diagnose

    findings = diagnose()
    if json:
        print_json([asdict(finding) for finding in findings])
    else:
        marks = {"good": ("ok", "green"), "fair": ("note", "yellow"), "bad": ("no", "red")}
        console = stdout()
        for finding in findings:
            mark, colour = marks[finding.state]
            line = Text(folded(f"{mark:<4} {finding.topic}: {finding.text}", 5, width()))
            line.stylize(colour, 0, len(mark))
            console.print(line, soft_wrap=True)
            if finding.remedy:
                say(f"       {finding.remedy}", indent=7)
    raise typer.Exit(1 if any(finding.state == "bad" for finding in findings) else 0)
