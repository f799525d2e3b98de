"""`draftproof check` without an instance and a scheme: the standard check."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from rich.console import Console
from rich.text import Text

from draftproof.experiments.cli.check.views import standard_result
from draftproof.experiments.cli.witnesses import save_witness, show_witness, witness_fields
from draftproof.experiments.inputs.verifiers import NamedVerifier, Planned, Settings
from draftproof.experiments.result import Result
from draftproof.experiments.shared.progress import (
    bar,
    named_errors,
    quiet,
    remark,
)
from draftproof.simulator.errors import DraftproofError, Fails, InvalidInput, NoFunction, TooLarge
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.lossless import Check, Judge, choose_engine
from draftproof.simulator.verdicts.standard import (
    Standard,
    judge_of,
    schemes_of,
    standard_check,
    standard_jobs,
)
from draftproof.simulator.verdicts.witness import Witness


def check_standard(
    named: NamedVerifier,
    settings: Settings,
    seconds: float,
    witness_file: str | None,
    scheme: DraftScheme | None = None,
) -> Result:
    """Check, and find the smallest witness. scheme: the only one checked, if given.

    Raises `TooLarge` if the time ends before all instances that a verdict needs are checked.
    """
    only = "" if scheme is None else f" on {scheme}"
    remark(f"standard check of {named.label}{only}: up to {seconds:g} s, or until it is refuted")
    deadline = time.monotonic() + seconds
    with named_errors(f"{named.label}{only}"):
        jobs = standard_jobs(scheme, schemes_of(named.verifier.card))
    with bar("instances", len(jobs)) as tick, named_errors(f"{named.label}{only}"):
        planned = isinstance(named.verifier, Planned)
        judge = _judge(named, settings)
        try:
            out_of_time = lambda: time.monotonic() > deadline  # noqa: E731
            result = standard_check(
                named.verifier, judge, out_of_time, tick, facts=not planned, scheme=scheme, jobs=jobs
            )
        except KeyboardInterrupt:
            remark("interrupted before there was a verdict")
            raise
    if result.failed is None and not result.lossless:
        raise TooLarge(
            f"{named.label}: no verdict; {result.instances:,} instances passed in {seconds:g} s, {result.left:,} more "
            "are needed for one; give it more seconds, or name a world and a scheme"
        )
    witness = None if result.failed is None else _witness(named, result)
    return standard_result(named, settings, result, witness, witness_file)


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
            out_of_time = partial(_is_past, started + seconds * number / len(schemes))
            try:
                result = standard_check(named.verifier, late=out_of_time, facts=False, scheme=scheme)
            except Fails as failure:
                row["lossless"], row["reason"] = False, str(failure)
                console.print(
                    Text(f"{label}: ").append("REFUTED", "bold red").append(f", it fails: {failure}", "default")
                )
                break
            except DraftproofError as error:  # too many trees, trees it is not for, or no exact numbers
                row["reason"] = str(error)
                continue
            row["instances"] += result.instances
            row["lossless"] = result.failed is None
            if result.failed is not None:
                witness = _witness(named, result)
                console.print(Text(f"{label}: ").append("REFUTED", "bold red").append(f" on {scheme}", "default"))
                file = save_witness(witness, None)
                show_witness(console, witness, file, named.spec, saved=file is not None)
                row["witness"] = witness_fields(witness, file)
                break
        if row["lossless"]:
            console.print(f"{label}: lossless on {row['instances']:,} small instances, exactly", soft_wrap=True)
        elif row["lossless"] is None:
            console.print(f"{label}: not checked exactly: {row['reason']}", soft_wrap=True)
        rows.append(row)
    return rows


def _is_past(deadline: float) -> bool:
    return time.monotonic() > deadline


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


def _witness(named: NamedVerifier, result: Standard) -> Witness:
    """The smallest witness found, or the unshrunk one; raises `NoFunction` if the balance holds in a second run."""
    assert result.failed is not None
    instance, verdict = result.failed
    unshrunk = Witness.of(instance, verdict, shrunk=False)
    if isinstance(named.verifier, Planned):
        return unshrunk
    from draftproof.simulator.verdicts.search import shrink  # Hypothesis takes a while to import

    remark("refuted; shrinking the witness (Ctrl-C keeps the unshrunk one)")
    try:
        with quiet():
            return shrink(named.verifier, instance, verdict.scheme)
    except NoFunction as error:
        raise NoFunction(f"{named.label}: {error}") from error
    except (DraftproofError, KeyboardInterrupt):
        return unshrunk
