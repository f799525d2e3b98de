"""`draftproof check` where neither an instance nor a scheme is named: the standard check, and its verdict in words."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from rich.console import Console
from rich.text import Text

from draftproof.experiments.cli.witnesses import save_witness, show_witness, witness_fields
from draftproof.experiments.grid.rows import versions
from draftproof.experiments.inputs.verifiers import NamedVerifier, Planned, Settings
from draftproof.experiments.shared.output import EXACT, number_fields, short, write_json
from draftproof.experiments.shared.progress import (
    INTERRUPTED,
    NOT_PROVED,
    bar,
    console_for,
    named_errors,
    quiet,
    remark,
)
from draftproof.simulator.errors import DraftproofError, InvalidInput, NoFunction, TooLarge
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.lossless import ASSUMED, Check, Judge, choose_engine
from draftproof.simulator.verdicts.standard import (
    Standard,
    judge_of,
    standard_check,
    standard_jobs,
)
from draftproof.simulator.verdicts.witness import Witness


def check_standard(
    named: NamedVerifier,
    settings: Settings,
    seconds: float,
    witness_file: str | None,
    json_target: str | None,
    scheme: DraftScheme | None = None,
) -> int:
    """Check, show the verdict and write what was asked for; the exit code. scheme: the only one, if given.

    Raises `TooLarge` if the time ends before all instances that a verdict needs are checked.
    """
    only = "" if scheme is None else f" on {scheme}"
    remark(f"standard check of {named.label}{only}: up to {seconds:g} s, until refuted")
    ended = time.monotonic() + seconds
    with named_errors(f"{named.label}{only}"):
        jobs = standard_jobs(scheme)
    with bar("instances", len(jobs)) as tick, named_errors(f"{named.label}{only}"):
        planned = isinstance(named.verifier, Planned)
        judge = _judge(named, settings)
        try:
            out_of_time = lambda: time.monotonic() > ended  # noqa: E731
            found = standard_check(
                named.verifier, judge, out_of_time, tick, facts=not planned, scheme=scheme, jobs=jobs
            )
        except KeyboardInterrupt:
            remark("interrupted before there was a verdict")
            return INTERRUPTED
    if found.failed is None and not found.lossless:
        raise TooLarge(
            f"{named.label}: no verdict, {found.instances:,} instances held in {seconds:g} s and {found.left:,} more "
            "belong to the core of the standard check; give it more --seconds, or name an instance and a scheme"
        )
    witness = None if found.failed is None else _witness(named, found)
    console = console_for(json_target)
    _show(console, named, settings, found)
    fields = {**_fields(named, settings, found), "witness": None}
    if witness is not None:
        file = save_witness(witness, witness_file)
        show_witness(console, witness, file, named.spec, saved=file is not None)
        fields["witness"] = witness_fields(witness, file)
    write_json(json_target, fields)
    return (NOT_PROVED if found.assumed else 0) if found.lossless else 1


#: Seconds of the exact check of a verifier before real models run with it.
QUICK = 10.0


def exact_checks(
    console: Console, own: Mapping[str, NamedVerifier], schemes: Sequence[DraftScheme], seconds: float = QUICK
) -> list[dict[str, Any]]:
    """Verifiers of files on small instances of these schemes, before anything else runs: refuted ones with a witness.

    own: by the names in tables. lossless: None where none of the schemes could be checked exactly, with the reason.
    """
    rows = []
    for label, named in own.items():
        remark(f"exact check of {named.label} on small instances, up to {seconds:g} s")
        row: dict[str, Any] = {"verifier": label, "instances": 0, "lossless": None, "reason": None, "witness": None}
        started = time.monotonic()
        for place, scheme in enumerate(schemes, 1):
            late = partial(_over, started + seconds * place / len(schemes))
            try:
                found = standard_check(named.verifier, late=late, facts=False, scheme=scheme)
            except DraftproofError as error:  # its trees are too many or not for it, or it cannot take fractions
                row["reason"] = str(error)
                continue
            row["instances"] += found.instances
            row["lossless"] = found.failed is None
            if found.failed is not None:
                witness = _witness(named, found)
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


def _over(ends: float) -> bool:
    return time.monotonic() > ends


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
                raise InvalidInput(f"{error}, or name one shape, as --K 2 --L2 2") from None
        return evaluator.check(instance.target, instance.draft, scheme)

    return judge


def _show(console: Console, named: NamedVerifier, settings: Settings, found: Standard) -> None:
    exact = settings.arithmetic == "rational"
    verdict = Text(f"{named.label}: ")
    if found.failed is None:
        said = "LOSSLESS" if exact else "LOSSLESS up to rounding (float64 proves nothing)"
        proved = exact and not found.assumed
        words = (f"LOSSLESS {ASSUMED}", "bold yellow") if found.assumed else (said, "bold green")
        console.print(verdict.append(*words))
        console.print(f"  {'proved' if proved else 'checked'} on {found.words}", soft_wrap=True)
        console.print(f"  not covered: {'; '.join(found.missing)}", soft_wrap=True)
        return
    place = found.failed[1]
    console.print(verdict.append("REFUTED", "bold red").append(f" on {place.scheme}", "default"))
    console.print(f"  instance {found.instances:,} of the standard check, {settings.arithmetic}, engine {place.engine}")
    variation = "not computed" if place.total_variation is None else short(place.total_variation, EXACT)
    console.print(f"  max deviation {short(place.max_deviation, EXACT)}, total variation {variation}")


def _fields(named: NamedVerifier, settings: Settings, found: Standard) -> dict[str, Any]:
    """The fields that programs read; without block efficiencies, as the instances have no common mean."""
    failed = None if found.failed is None else found.failed[1]
    return {
        "verifier": named.label,
        "scheme": None if failed is None else failed.scheme.as_dict(),
        "arithmetic": settings.arithmetic,
        "engine": "standard",
        "instances": found.instances,
        "source": {"standard": True},
        "versions": versions(),
        "lossless": found.lossless,
        "assumed": found.assumed,
        **number_fields("max_deviation", 0 if failed is None else failed.max_deviation),
        **number_fields("total_variation", 0 if failed is None else failed.total_variation),
        "covered": [
            {"V": size, "scheme": scheme.as_dict(), "instances": count}
            for (size, scheme), count in found.covered.items()
        ],
        "not_covered": found.missing,
    }


def _witness(named: NamedVerifier, found: Standard) -> Witness:
    """The smallest witness that is found, or the unshrunk one; raises `NoFunction` if it holds now."""
    assert found.failed is not None
    instance, verdict = found.failed
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
