"""`draftproof check` without an instance and a scheme: the standard check."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from draftproof.experiments.cli.check.views import STANDARD, Found, result_of, words
from draftproof.experiments.cli.check.work import failing, find_witness
from draftproof.experiments.inputs.verifiers import NamedVerifier, Planned, Settings
from draftproof.experiments.shared.progress import bar, named_errors, remark
from draftproof.simulator.errors import DraftproofError, Fails, InvalidInput, TooLarge
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.lossless import Check, Judge, choose_engine
from draftproof.simulator.verdicts.standard import Standard, judge_of, schemes_of, standard_check, standard_jobs


def on_standard_set(named: NamedVerifier, scheme: DraftScheme | None, settings: Settings, seconds: float) -> Found:
    """What one verifier shows on the standard set; unfinished after Ctrl-C. scheme: the only one checked, if given.

    Raises `TooLarge` if the time ends before all instances that a verdict needs are checked.
    """
    only = named.label if scheme is None else f"{named.label} on {scheme}"
    remark(f"standard check of {only}: up to {seconds:g} s, or until it is refuted")
    deadline, passed, planned = time.monotonic() + seconds, 0.0, isinstance(named.verifier, Planned)
    with named_errors(only):
        jobs = standard_jobs(scheme, schemes_of(named.verifier.card))
    with bar("instances", len(jobs)) as tick, named_errors(only):

        def count(steps: float) -> None:
            nonlocal passed
            passed += steps
            tick(steps)

        late = lambda: time.monotonic() > deadline  # noqa: E731
        try:
            judge = _judge(named, settings)
            result = standard_check(named.verifier, judge, late, count, facts=not planned, scheme=scheme, jobs=jobs)
        except KeyboardInterrupt:
            done = f"UNFINISHED, no verdict: {passed:,.0f} of {len(jobs):,} instances, no violation on these"
            row = {"scheme": None if scheme is None else str(scheme), "world": STANDARD, "verdict": done}
            return Found(named, "unfinished", row | {"instances": int(passed), "arithmetic": settings.arithmetic})
        except Fails as failure:
            return failing(named, settings, failure)
    if result.failed is None and not result.lossless:
        raise TooLarge(
            f"{named.label}: no verdict; {result.instances:,} instances passed in {seconds:g} s, {result.left:,} more "
            "are needed for one; give it more seconds, or name a world and a scheme"
        )
    return found_of(named, settings.arithmetic, result)


def found_of(named: NamedVerifier, arithmetic: str, result: Standard) -> Found:
    """What a standard check shows, with the smallest witness; it has no block efficiency, as shapes differ in it."""
    failed = None if result.failed is None else result.failed[1]
    status = "refuted" if failed is not None else "assumed" if result.assumed else "lossless"
    row = {
        "scheme": None if failed is None else str(failed.scheme),
        "verdict": words(status, arithmetic),
        "world": STANDARD,
        "covered": result.words if failed is None else None,
        "not_covered": "; ".join(result.missing) if failed is None else None,
        "instances": result.instances,
        "arithmetic": arithmetic,
        "engine": "standard" if failed is None else failed.engine,
        "max_deviation": 0 if failed is None else failed.max_deviation,
        "total_variation": 0 if failed is None else failed.total_variation,
        "lossless": result.lossless,
        "assumed": result.assumed,
        "source": [{"standard": True}],
    }
    if result.failed is not None:
        instance, verdict = result.failed
        case = Case("an instance", instance.target, instance.draft)
        return Found(named, status, row, witness=find_witness(named, verdict.scheme, case, verdict))
    covered = [
        {"vocab_size": size, "scheme": str(scheme), "instances": count}
        for (size, scheme), count in result.covered.items()
    ]
    return Found(named, status, row, covered=covered)


def _judge(named: NamedVerifier, settings: Settings) -> Judge:
    planned = isinstance(named.verifier, Planned)
    if settings.engine == "auto" and settings.device is None and not planned:
        return judge_of(named.verifier, settings.arithmetic)
    evaluator = settings.evaluator(named)

    def judge(instance: Instance, scheme: DraftScheme) -> Check:
        if not planned:
            try:
                choose_engine(named.verifier, scheme, settings.engine)
            except InvalidInput as error:
                raise InvalidInput(f"{error}, or name one scheme, as delayed:K=2,L2=2") from None
        return evaluator.check(instance.target, instance.draft, scheme)

    return judge


#: Seconds of the exact check of a verifier before real models run with it.
QUICK = 10.0


def exact_checks(
    console: Console, own: Mapping[str, NamedVerifier], schemes: Sequence[DraftScheme], seconds: float = QUICK
) -> list[dict[str, Any]]:
    """Check user-defined verifiers on small instances of these schemes; a refuted one gets a witness.

    own: the verifiers by label. In a row `lossless` is None if no scheme could be checked exactly, with the reason.
    """
    rows = []
    for label, named in own.items():
        remark(f"exact check of {named.label} on small instances, up to {seconds:g} s")
        row: dict[str, Any] = {"verifier": label, "instances": 0, "lossless": None, "reason": None, "witness": None}
        started = time.monotonic()
        for number, scheme in enumerate(schemes, 1):
            end = started + seconds * number / len(schemes)
            late = lambda end=end: time.monotonic() > end  # noqa: E731
            try:
                result = standard_check(named.verifier, late=late, facts=False, scheme=scheme)
            except Fails as failure:
                row |= {"lossless": False, "reason": str(failure)}
                console.print(f"{label}: REFUTED, it fails: {failure}", soft_wrap=True)
                break
            except DraftproofError as error:  # too many trees, trees it is not for, or no exact numbers
                row["reason"] = str(error)
                continue
            row["instances"] += result.instances
            row["lossless"] = result.failed is None
            if result.failed is not None:
                console.print(f"{label}: REFUTED on {scheme}", soft_wrap=True)
                shown = result_of(iter([found_of(named, "rational", result)]), None)
                shown.save()
                shown.show(console)
                row["witness"] = shown.tables[1].fields()[0]
                break
        if row["lossless"]:
            console.print(f"{label}: lossless on {row['instances']:,} small instances, exactly", soft_wrap=True)
        elif row["lossless"] is None:
            console.print(f"{label}: not checked exactly: {row['reason']}", soft_wrap=True)
        rows.append(row)
    return rows
