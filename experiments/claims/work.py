"""Computes the claims of the ledger: each claim has parts, and each part gives one stored row."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

from draftproof.experiments.claims import branches, delayed, drafters, lossy, multipath, noise, tokenizers, trees
from draftproof.experiments.claims.claim import DEEP, Cases, Claim, Exact, Figures, Measured, Open, Outcome, Statement
from draftproof.experiments.grid.rows import strong_id, versions
from draftproof.experiments.grid.run import Task
from draftproof.simulator.errors import DraftproofError, InvalidInput
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme


@cache
def ledger() -> tuple[Claim, ...]:
    """The claims in the order of the page."""
    return (
        *delayed.claims(),
        *multipath.claims(),
        *trees.claims(),
        *lossy.claims(),
        *noise.claims(),
        *branches.claims(),
        *tokenizers.claims(),
        *drafters.claims(),
    )


#: Parts of a claim beside its shapes: the search for a counterexample, the figures, the false and the true variant.
SEARCH, FIGURES, FALSE_VARIANT, TRUE_VARIANT = "search", "figures", "false variant", "true variant"
#: With `--deep` a measurement has this many times the usual instances.
DEEP_MEASUREMENT = 8


@dataclass(frozen=True)
class Part:
    """One row of the ledger. what: the number of a shape, or a part above; deep: whether it is for `--deep`."""

    claim: str
    what: str
    deep: bool = False

    @property
    def strong_id(self) -> str:
        """Hash of the fields."""
        return strong_id(asdict(self))


def claim_named(name: str) -> Claim:
    """The claim of that name; raises `InvalidInput` for any other."""
    from difflib import get_close_matches

    known = {claim.id: claim for claim in ledger()}
    if name not in known:
        close = get_close_matches(name, known, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "draftproof claims lists them"
        raise InvalidInput(f"there is no claim {name!r}; {hint}")
    return known[name]


def parts_of(claim: Claim, deep: bool) -> list[Part]:
    """The parts of a claim; the false variant is the same part with and without `--deep`."""
    if isinstance(claim, Open):
        return []
    if isinstance(claim, Measured):
        return [Part(claim.id, FIGURES, deep), Part(claim.id, FALSE_VARIANT)]
    assert isinstance(claim, Exact)
    if claim.true_variant is not None:
        return [Part(claim.id, SEARCH), Part(claim.id, TRUE_VARIANT, deep), Part(claim.id, FALSE_VARIANT)]
    shapes = range(len(claim.cases.all_shapes(deep)))
    return [*(Part(claim.id, str(number), deep) for number in shapes), Part(claim.id, FALSE_VARIANT)]


def compute(part: Part) -> dict[str, Any]:
    """The row of a part."""
    started = time.perf_counter()
    claim = claim_named(part.claim)
    result = _figures(claim, part) if isinstance(claim, Measured) else _tested(claim, part)
    fields = {"claim": part.claim, "what": part.what, "deep": part.deep, **result, "strong_id": part.strong_id}
    return {**fields, "versions": versions(), "seconds": round(time.perf_counter() - started, 3)}


def _figures(claim: Measured, part: Part) -> dict[str, Any]:
    measure = claim.measure if part.what == FIGURES else claim.false_variant.test
    figures: Figures = measure(DEEP_MEASUREMENT if part.deep else 1)
    return {"instances": figures.instances, "families": list(figures.families), "shapes": [], **_text(figures)}


def _text(figures: Figures) -> dict[str, Any]:
    return {"shown": figures.shown, "text": figures.text}


def _tested(claim: Claim, part: Part) -> dict[str, Any]:
    assert isinstance(claim, Exact)
    variant = {FALSE_VARIANT: claim.false_variant, TRUE_VARIANT: claim.true_variant}.get(part.what)
    test: Statement = claim.test if variant is None else variant.test
    cases = claim.cases if variant is None or variant.cases is None else variant.cases
    if part.what.isdecimal():
        cases = replace(cases, shapes=(cases.all_shapes(part.deep)[int(part.what)],), for_deep=())
    counts, failed = _first_failure(test, cases, part.deep)
    if failed is None:
        return {**counts, "failed": None}
    instance, scheme = failed
    if variant is None and not claim.keep_unshrunk:  # any instance that refutes a variant will do
        from draftproof.simulator.verdicts.search import smallest  # Hypothesis takes a while to import

        instance, scheme = smallest(lambda smaller, tree: _fails(test, smaller, tree), instance, scheme)
    outcome = test.evaluate(instance, scheme)
    about = {"claim": claim.id, "says": claim.words, "found": outcome.text}
    kept = replace(instance, scheme=scheme, about=about).as_dict()
    return {
        **counts,
        "failed": {"text": outcome.text, "commands": [list(words) for words in outcome.commands], "instance": kept},
    }


def _first_failure(
    test: Statement, cases: Cases, deep: bool
) -> tuple[dict[str, Any], tuple[Instance, DraftScheme] | None]:
    """The number of applicable instances with their families and shapes, up to the first failure; and that instance."""
    applicable, families, shapes = 0, dict[str, None](), dict[str, None]()
    failed = None
    for case, instance in _instances(cases, deep):
        outcome = test.evaluate(instance, case[1])
        if outcome.applies:
            applicable += 1
            families[instance.about["family"]] = None
            shapes[f"V = {case[0]}, {case[1]}"] = None
        if not outcome.holds:
            failed = instance, case[1]
            break
    return {"instances": applicable, "families": list(families), "shapes": list(shapes)}, failed


def _instances(cases: Cases, deep: bool) -> Iterator[tuple[tuple[int, DraftScheme], Instance]]:
    for case in cases.all_shapes(deep):
        for instance in cases.instances(case, deep):
            yield case, instance


def _fails(test: Statement, instance: Instance, scheme: DraftScheme) -> bool:
    if not scheme.nodes:  # statements are about schemes that draft something
        return False
    try:
        outcome: Outcome = test.evaluate(instance, scheme)
    except (DraftproofError, AssertionError):  # a verifier may refuse a smaller tree, which refutes nothing
        return False
    return not outcome.holds


def tasks_of(claims: Sequence[Claim], recorded: Mapping[str, Mapping[str, Any]], deep: bool) -> list[Task[Part]]:
    """The tasks of claims. recorded: the seconds of each claim when the page was made, for the expected times."""
    usual = [row["seconds"] for row in recorded.values()]
    mean = sum(usual) / len(usual) if usual else 2.0
    tasks = []
    for claim in claims:
        seconds = recorded[claim.id]["seconds"] if claim.id in recorded else mean
        one = seconds / max(len(parts_of(claim, False)), 1)
        parts = parts_of(claim, deep)
        tasks += [Task((part.strong_id,), part, one * (DEEP if part.deep else 1)) for part in parts]
    return tasks
