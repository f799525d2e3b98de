"""`draftproof check` without an instance and a scheme: the standard check."""

import time
from fractions import Fraction

from draftproof.experiments.cli.check.views import STANDARD, checked_row, words
from draftproof.experiments.cli.check.work import failing, find_witness
from draftproof.experiments.grid.store import Row
from draftproof.experiments.inputs.verifiers import NamedVerifier, Planned, Settings
from draftproof.experiments.shared.output import number_fields
from draftproof.experiments.shared.progress import bar, named_errors, remark
from draftproof.simulator.errors import Fails, InvalidInput, TooLarge
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.lossless import Check, Judge, choose_engine
from draftproof.simulator.verdicts.standard import Standard, judge_of, schemes_of, standard_check, standard_jobs


def on_standard_set(about: tuple[NamedVerifier, DraftScheme | None], settings: Settings, seconds: float) -> Row:
    """The row of one verifier on the standard set; it has no block efficiency, as shapes differ in it.

    about: with the only scheme that is checked, if there is one. Raises `TooLarge` if the time ends before all
    instances that a verdict needs are checked.
    """
    named, scheme = about
    only = named.label if scheme is None else f"{named.label} on {scheme}"
    remark(f"standard check of {only}: up to {seconds:g} s, or until it is refuted")
    passed, planned = 0.0, isinstance(named.verifier, Planned)
    with named_errors(only):
        jobs = standard_jobs(scheme, schemes_of(named.verifier.card))
    deadline = time.monotonic() + seconds
    with bar("instances", len(jobs), even=False) as tick, named_errors(only):

        def count(steps: float) -> None:
            nonlocal passed
            passed += steps
            tick(steps)

        late = lambda: time.monotonic() > deadline  # noqa: E731
        try:
            judge = _judge(named, settings)
            result = standard_check(named.verifier, judge, late, count, facts=not planned, scheme=scheme, jobs=jobs)
        except KeyboardInterrupt:
            remark(f"{only}: no verdict, {passed:,.0f} of {len(jobs):,} instances, no violation on these")
            raise
        except Fails as failure:
            return failing(named, settings, failure)
    if result.failed is None and not result.lossless:
        raise TooLarge(
            f"{named.label}: no verdict; {result.instances:,} instances passed in {seconds:g} s, {result.left:,} more "
            "are needed for one; give it more seconds, or name a world and a scheme"
        )
    return _row(named, settings.arithmetic, result)


def _row(named: NamedVerifier, arithmetic: str, result: Standard) -> Row:
    """The row, with the smallest witness."""
    failed = None if result.failed is None else result.failed[1]
    status = "refuted" if failed is not None else "assumed" if result.assumed else "lossless"
    fields = {
        "scheme": None if failed is None else str(failed.scheme),
        "verdict": words(status, arithmetic),
        "world": STANDARD,
        "covered_by": result.words if failed is None else None,
        "not_covered": "; ".join(result.missing) if failed is None else None,
        "instances": result.instances,
        "arithmetic": arithmetic,
        "engine": "standard" if failed is None else failed.engine,
        **number_fields("max_deviation", Fraction(0) if failed is None else failed.max_deviation),
        **number_fields("total_variation", Fraction(0) if failed is None else failed.total_variation),
        "lossless": result.lossless,
        "assumed": result.assumed,
        "source": [{"standard": True}],
    }
    if result.failed is not None:
        instance, verdict = result.failed
        case = Case("an instance", instance.target, instance.draft)
        return checked_row(named, status, fields, find_witness(named, verdict.scheme, case, verdict))
    covered = [
        {"vocab_size": size, "scheme": str(scheme), "instances": count}
        for (size, scheme), count in result.covered.items()
    ]
    return checked_row(named, status, fields, covered=covered)


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
