"""Claims and verdicts for machines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from dlbench.studies.claims import Claim, Study, sentence
from dlbench.studies.judging import JudgedClaim, JudgedStudy, Verdict, could_show, published_words
from dlbench.studies.quantities import QUANTITIES


def claim_json(study: Study, claim: Claim) -> dict[str, Any]:
    could, why = could_show(study, claim)
    return {
        "id": claim.id,
        "study": claim.study,
        "place": claim.place,
        "type": claim.type.value,
        "claim": sentence(study, claim, QUANTITIES[claim.metric].words),
        "said": claim.said,
        "device": claim.device,
        "workloads": list(claim.workloads),
        "metric": claim.metric,
        "first": list(claim.first),
        "relation": claim.relation,
        "second": list(claim.second),
        "over": claim.over,
        "smallest_effect": claim.smallest,
        "significant": claim.significant,
        "values": {"/".join(filter(None, key)): value for key, value in claim.values.items()},
        "published": list(published_words(study, claim)),
        "runs": study.runs,
        "contradiction_in_the_paper": claim.differs or None,
        "needs": claim.needs or None,
        "design_could_show": could,
        "design": why,
    }


def judged_json(judged: JudgedStudy) -> dict[str, Any]:
    return {
        "v": 1,
        "study": judged.study.name,
        "alpha": judged.alpha,
        "judged_together": {as_.value: n for as_, n in judged.families.items()},
        "stand_ins": list(judged.study.stand_ins),
        "summary": list(judged.summary),
        "claims": [_judged_claim(judged.study, one) for one in judged.claims],
    }


def _judged_claim(study: Study, one: JudgedClaim) -> dict[str, Any]:
    verdicts = {
        f"as_{as_.value}": None if verdict is None else _verdict(verdict)
        for as_, verdict in one.verdicts.items()
    }
    gap = {"put_back": list(one.put_back), "gap": one.gap or None}
    return {**claim_json(study, one.claim), **verdicts, **gap}


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "verdict": verdict.word.value,
        "at_this_scale": verdict.here.value if verdict.here is not None else None,
        "p_holm": verdict.p,
        "measured": list(verdict.measured),
        "difference": verdict.difference or None,
        "tau": asdict(verdict.tau) if verdict.tau is not None else None,
        "takes": list(verdict.takes),
        "beside": list(verdict.beside),
        "trials": [row["id"] for group in verdict.groups for row in group.rows],
    }
