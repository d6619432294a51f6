"""`dlbench claims [STUDY]`: what published studies claim; `dlbench judge [DIR]`: is it so?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli import completion
from dlbench.cli.console import Json
from dlbench.cli.options import CampaignFolder, Only, Study

if TYPE_CHECKING:
    from dlbench.studies import claims as published

Kind = Annotated[
    str | None,
    typer.Option(
        "--type",
        metavar="TYPE",
        help="Only such claims: direction, ranking, 'no difference', magnitude or association.",
    ),
]


def claims(
    study: Annotated[
        str | None,
        typer.Argument(metavar="STUDY", help="none: all", autocompletion=completion.studies),
    ] = None,
    kind: Kind = None,
    json: Json = False,
) -> None:
    """List what published studies claim. Say whether their design could have shown it.

    \b
    dlbench claims
    dlbench claims elshawi2021 --type direction
    """
    from dlbench.cli.claims_text import print_claims
    from dlbench.cli.console import print_json
    from dlbench.studies import reading
    from dlbench.studies.as_json import claim_json

    chosen = reading.studies() if study is None else (reading.find(study),)
    listed = [(one, _of_kind(one, kind)) for one in chosen]
    if json:
        print_json([claim_json(one, claim) for one, these in listed for claim in these])
        return
    print_claims(listed)


def judge(
    folder: CampaignFolder = None,
    study: Study = None,
    claim: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="Only this claim, chosen before the results were seen. Repeatable.",
        ),
    ] = None,
    kind: Kind = None,
    alpha: Annotated[
        float,
        typer.Option(help="The chance of any wrong verdict among the claims of the study."),
    ] = 0.05,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Also the claims on which nothing was measured.")
    ] = False,
    only: Only = None,
    json: Json = False,
) -> None:
    """Judge a published study's claims by a campaign's trials.

    A claim is supported, contradicted, or cannot be told; then it is said what that would take.

    The exit code is 0 if every claim that was asked about is supported, 1 if any is
    contradicted, 3 if none is and some cannot be told. 2 is for mistakes in the command.

    \b
    dlbench judge
    dlbench judge results/2026-11-16_0312-elshawi2021 --type ranking
    dlbench judge results/mine --study sohail2022 --claim sohail2022-02
    """
    from pathlib import Path

    import dlbench
    from dlbench.analysis.error_rate import check_alpha
    from dlbench.analysis.selection import only as only_these
    from dlbench.campaigns.campaign_list import newest
    from dlbench.cli.claims_text import print_judged
    from dlbench.cli.console import print_json
    from dlbench.errors import check_known
    from dlbench.studies import reading
    from dlbench.studies.as_json import judged_json
    from dlbench.studies.judging import judge as judged_by

    check_alpha(alpha)
    place = Path(folder or newest())
    results = only_these(dlbench.open(place), only)
    chosen = reading.of_campaign(results, study)
    these = _of_kind(chosen, kind)
    if claim:
        known = {one.id: one for one in these}
        for name in claim:
            check_known("claim", name, known, f"dlbench claims {chosen.name}")
        these = [known[name] for name in dict.fromkeys(claim)]
    judged = judged_by(chosen, results, results.share(alpha), these)
    if json:
        print_json({**judged_json(judged), "exit_code": judged.exit_code})
    else:
        print_judged(judged, verbose)
    if judged.exit_code:
        raise typer.Exit(judged.exit_code)


def _of_kind(study: published.Study, kind: str | None) -> list[published.Claim]:
    from dlbench.errors import unknown
    from dlbench.studies.claims import Type

    known = [each.value for each in Type]
    if kind is not None and kind not in known:
        raise unknown("type of claim", kind, known)
    return [claim for claim in study.claims if kind in (None, claim.type.value)]
