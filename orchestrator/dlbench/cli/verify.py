"""`dlbench verify`: certificates, made or looked up."""

from __future__ import annotations

from typing import Annotated

import typer

from dlbench.cli.console import Json


def register(app: typer.Typer) -> None:
    @app.command("verify")
    def verify(
        framework: Annotated[
            list[str] | None, typer.Option(help="A release; none: all. Repeatable.")
        ] = None,
        workload: Annotated[
            list[str] | None, typer.Option(help="A workload; none: all. Repeatable.")
        ] = None,
        engine: Annotated[str, typer.Option(help="auto, docker or process.")] = "auto",
        device: Annotated[str, typer.Option(help="cpu or gpu.")] = "cpu",
        again: Annotated[bool, typer.Option("--again", help="Do not use kept ones.")] = False,
        json: Json = False,
    ) -> None:
        """Prove that releases compute the same model as the NumPy reference.

        \b
        dlbench verify --framework pytorch --workload digits-cnn
        """
        from dlbench.certificates import certify
        from dlbench.cli.console import print_json
        from dlbench.environments.releases import load_releases
        from dlbench.errors import UserError
        from dlbench.plan import find_contender
        from dlbench.prepare import open_workshop
        from dlbench.workloads import find, workloads

        names = framework or [
            f"{release.name}:{variant}"
            for release in load_releases()
            for variant in release.variants
        ]
        contenders = [find_contender(name) for name in names]
        chosen = [find(name) for name in workload] if workload else list(workloads().values())
        workshop = open_workshop(engine)
        done = []
        for release, variant in contenders:
            workshop.check(release, device)
            try:
                environment = workshop.environment(release, device)
            except UserError as error:
                if len(contenders) == 1:
                    raise
                done += [
                    {
                        "release": release.name, "variant": variant, "workload": item.name,
                        "passed": False, "checks": [], "reason": str(error),
                    }
                    for item in chosen
                ]  # fmt: skip
                typer.echo(f"{release.name}: {error}", err=True)
                continue
            for item in chosen:
                certificate = certify(
                    workshop, environment, release, item,
                    device=device, variant=variant, again=again,
                )  # fmt: skip
                done.append(certificate.to_json())
                if not json:
                    passed = "proven equal" if certificate.passed else certificate.first_fault
                    label = f"{release.name}:{variant}  {item.name}"
                    typer.echo(f"{label}: {passed} ({len(certificate.checks)} checks)")
        if json:
            print_json(done)
        raise typer.Exit(0 if all(entry["passed"] for entry in done) else 1)
