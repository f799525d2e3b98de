"""The audit of one function: its exact law on an instance, and whether that is the target's.

`V` is the vocabulary size, `L` the depth of the drafts.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.audit.batches import batch_law, requests_of
from draftproof.simulator.audit.failures import FunctionFailed
from draftproof.simulator.audit.followed import Audited
from draftproof.simulator.audit.interfaces import SelfDrafted
from draftproof.simulator.coins import outcomes
from draftproof.simulator.errors import InvalidInput, InvalidVerifier, NoFunction
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.laws.guarded import guarded_law
from draftproof.simulator.laws.law import BlockLaw, Violation
from draftproof.simulator.laws.metrics import Metrics
from draftproof.simulator.laws.trials import TWO_LAWS, EnumerationSize, Runs, assert_function, estimate_size
from draftproof.simulator.progress import Progress
from draftproof.simulator.protocol import DraftNode, DraftScheme, Verdict
from draftproof.simulator.sampling_coin import SamplingCoin
from draftproof.simulator.symbolic import Settings
from draftproof.simulator.symbolic.decide.memory import CONTENTS
from draftproof.simulator.tables import TableProcess, context_at
from draftproof.simulator.verdicts.lossless import Check

_NOTHING = Sampling()
#: The largest bias that is lossless, unless another is asked for.
TOLERANCE = 1e-6
#: Runs of a function that fails, to see whether it ever returns a block.
RETURNS = 16
#: Runs on a draft tree that are counted for an estimate, before others are sampled.
TRIED = 50
#: Runs on a draft tree that are compared in search of state; functions have fewer, some loops more. State that shows
#: only later is found where it changes the law while that is enumerated.
MOST_AUDITED_RUNS = 500


@dataclass(frozen=True)
class Finding:
    """The result of an audit on one instance.

    instance: the exact rows, before the function's own processing. check, law, target: for a batch of its request with
    the largest bias, number `row`. tolerance: the largest bias that is lossless. dependence: total variation between
    the joint law of a batch and the product of its requests' laws, None without a batch. efficiencies: E[tau + 1] of
    every request.
    """

    instance: Instance
    scheme: DraftScheme
    check: Check
    law: BlockLaw
    target: TableProcess
    tolerance: float
    row: int | None = None
    dependence: Fraction | float | None = None
    efficiencies: tuple[Any, ...] = ()

    @property
    def block_efficiency(self) -> Any:
        """E[tau + 1], in a batch the mean over all requests."""
        return sum(self.efficiencies) / len(self.efficiencies)

    @property
    def bias(self) -> Fraction | float:
        """The total variation between the first `L + 1` tokens and the target's; or `dependence`, if that is larger."""
        variation = self.check.total_variation
        assert variation is not None  # the whole law is stored
        return max(variation, self.dependence or 0)

    @property
    def lossless(self) -> bool:
        """Whether the bias is at most the tolerance."""
        return self.bias <= self.tolerance

    @property
    def first(self) -> Violation | None:
        """The first imbalance: at the smallest depth that has one, the largest there; None if there is none.

        Where many small ones make the bias, the largest of all.
        """
        violations = [self.at_depth(depth) for depth in range(self.law.depth + 1)]
        return next((place for place in violations if place is not None), self.check.violation)

    def at_depth(self, depth: int) -> Violation | None:
        """The largest imbalance after contexts of this length; None if there is none."""
        gaps = self.law.balance(self.target)[depth]
        row, token = np.unravel_index(int(np.argmax(abs(gaps))), gaps.shape)
        if not float(abs(gaps[row, token])) > self.tolerance:
            return None
        expected = self.law.reach[depth][row] * self.target.tables[depth][row, token]
        context = context_at(int(row), depth, self.target.vocab_size)
        return Violation(context, int(token), as_python(expected), as_python(expected - gaps[row, token]))


@dataclass(frozen=True)
class Audit:
    """One function and the settings under which it is judged.

    processing: what the function does to rows itself; its law must be the target processed likewise. batch: requests
    in one call. tolerance: the largest bias that is lossless; less than the rounding of its rows always is.
    """

    audited: Audited
    processing: Sampling = _NOTHING
    batch: int = 1
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        if not 0 <= self.tolerance < 1:
            raise InvalidInput(f"a tolerance of {self.tolerance}: give the largest bias that is lossless, such as 1e-6")
        if self.processing.why_irrational is not None and self.audited.rows.kind.arithmetic.exact:
            raise InvalidInput(
                f"processing {self.processing}: {self.processing.why_irrational}; use arithmetic float64"
            )
        if self.batch < 1 or (self.batch > 1) != self.audited.batched:
            raise InvalidInput(f"a batch of {self.batch} requests; give 2 or more for a function that takes batches")
        if self.batch > 1 and not self.processing.is_identity:
            raise InvalidInput("processed rows are for one request a call; leave out the batch")

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.audited.name

    def under(self, settings: Settings) -> Audit:
        """The same audit with the function followed under other settings."""
        return replace(self, audited=replace(self.audited, settings=settings))

    def judge(
        self, instance: Instance, scheme: DraftScheme, progress: Progress | None = None, first: Runs | None = None
    ) -> Finding:
        """The exact law on an exact instance, and the balance; raises as `guarded_law` does.

        first: what `check_state` returned; raises `NoFunction` where the runs are others. Raises `FunctionFailed` where
        the law depends on memory that nothing was written to.
        """
        results = [self._attempt(instance, scheme, progress, first)]
        if self.audited.log.memory:
            results += [
                self.under(replace(self.audited.settings, content=content))._attempt(instance, scheme)
                for content in CONTENTS[1:]
            ]
        result = results[0]
        if not all(_alike(result, other, self.audited.rows.kind.tolerance) for other in results[1:]):
            places = ", ".join(self.audited.log.memory)
            raise FunctionFailed(
                f"its result depends on numbers that were never set: with others it has another law ({places})"
            )
        if isinstance(result, FunctionFailed):
            raise result
        return result

    def _attempt(
        self, instance: Instance, scheme: DraftScheme, progress: Progress | None = None, first: Runs | None = None
    ) -> Finding | FunctionFailed:
        try:
            return self._judged(instance, scheme, progress, first)
        except FunctionFailed as error:
            return error

    def explained(self, instance: Instance, scheme: DraftScheme, failure: FunctionFailed) -> FunctionFailed:
        """The failure; where memory that nothing was written to may be its cause, with the places."""
        if not self.audited.log.memory or not isinstance(failure.__cause__, InvalidVerifier):
            return failure
        places = ", ".join(self.audited.log.memory)
        return FunctionFailed(f"{failure.what}; it depends on numbers that were never set ({places})")

    def _judged(
        self, instance: Instance, scheme: DraftScheme, progress: Progress | None = None, first: Runs | None = None
    ) -> Finding:
        if self.batch > 1:
            return self._judge_batch(instance, scheme, progress)
        expected = self.expected_instance(instance, scheme)
        noted: Runs = []

        def note(verdict: Verdict, mass: Any) -> None:
            if len(noted) < len(first or ()):
                noted.append((verdict.accepted, verdict.correction, mass))

        law = guarded_law(self.verifier(instance, scheme), expected.target, expected.draft, scheme, progress, note)
        if first is not None and noted != first:
            raise NoFunction(TWO_LAWS)
        check = self._check(law, expected, scheme)
        own = (check.block_efficiency,)
        return Finding(instance, scheme, check, law, expected.target, self.allowed, efficiencies=own)

    def requests(self, instance: Instance, scheme: DraftScheme) -> Sequence[tuple[Instance, DraftScheme]]:
        """Instance and scheme of every request of a batch."""
        return requests_of(instance, scheme, self.batch)

    def by_request(self, case: Case) -> list[Case]:
        """A case for every request."""
        return [
            replace(case, target=own.target, draft=own.draft, draft_scheme=shape)
            for own, shape in self.requests(case.instance, case.scheme)
        ]

    def trees(self, instance: Instance, scheme: DraftScheme) -> int:
        """The number of draft trees, of combinations of them for a batch, that `judge` enumerates."""
        return int(np.prod([shape.count(own.draft) for own, shape in self.expected_requests(instance, scheme)]))

    def size(self, instance: Instance, scheme: DraftScheme, seed: int = 0) -> EnumerationSize:
        """About how many calls of the function `judge` makes, from one draft tree, and how many were made for it.

        Raises `InvalidVerifier`.
        """
        if self.batch == 1:
            expected, generator = self.expected_instance(instance, scheme), np.random.default_rng(seed)
            verifier = self.verifier(instance, scheme)
            return estimate_size(verifier, expected.target, expected.draft, scheme, generator, 1, TRIED)
        roots = self._first_roots(instance, scheme)
        calls = sum(1 for _ in outcomes(partial(self.audited.verify_all, roots), self.arithmetic))
        return EnumerationSize(self.trees(instance, scheme), calls, calls)

    def checking_runs(self, size: EnumerationSize, samples: int) -> float:
        """About how many calls `check_state` makes."""
        samples = min(samples, size.trees) if self.batch == 1 else 1
        rounds = 3 if samples > 1 else 1 if size.trees == 1 and self.batch == 1 else 2
        return samples * (rounds * min(size.runs_per_tree, MOST_AUDITED_RUNS) + 2)

    def check_state(self, instance: Instance, scheme: DraftScheme, samples: int = 3) -> Runs | None:
        """Raise `InvalidVerifier` for a function that gives another law when it is called again, see `assert_function`.

        The law of a batch is compared as a whole. A single tree is enumerated once, up to `MOST_AUDITED_RUNS`, and its
        runs are returned: those of `judge` must be the same. None for several trees.
        """
        if self.batch == 1:
            expected, trees = self.expected_instance(instance, scheme), self.trees(instance, scheme)
            given = self.verifier(instance, scheme), expected.target, expected.draft, scheme
            samples = min(samples, trees)  # a further sample would be a tree seen before
            runs = assert_function(*given, np.random.default_rng(0), samples, MOST_AUDITED_RUNS, again=trees > 1)
            return runs[0] if trees == 1 else None
        run = partial(self.audited.verify_all, self._first_roots(instance, scheme))
        first, second = ([(str(result), mass) for result, mass in outcomes(run, self.arithmetic)] for _ in range(2))
        if first != second:
            raise InvalidVerifier(
                "it gave two laws on one batch: it must be a function of its arguments, without state"
            )
        return None

    @property
    def arithmetic(self) -> Any:
        return self.audited.rows.kind.arithmetic

    @property
    def allowed(self) -> float:
        """The largest bias that is lossless."""
        return max(self.tolerance, self.audited.rows.kind.tolerance)

    def expected_instance(self, instance: Instance, scheme: DraftScheme) -> Instance:
        """The processed instance in the arithmetic of the law: drafts come from its `q`, the law must be its `p`."""
        if instance.draft.told is not None and not self.processing.is_identity:
            raise InvalidInput("the function processes rows itself, and is told another q; leave one of them out")
        return self.processed(instance).converted(self.arithmetic, scheme.depth)

    def expected_requests(self, instance: Instance, scheme: DraftScheme) -> list[tuple[Instance, DraftScheme]]:
        """`expected_instance` of every request, with its scheme."""
        return [(self.expected_instance(own, shape), shape) for own, shape in self.requests(instance, scheme)]

    def processed(self, instance: Instance) -> Instance:
        """The instance with the rows that the function makes of it; penalties and n-grams count the prompt of a loop.

        Raises `InvalidInput` where masks leave no token.
        """
        return self.processing.instance(instance, self.audited.interface.prompt(self._ends(instance)))

    def _ends(self, instance: Instance) -> int | None:
        """The token that ends a text, where there is one."""
        return None if self.processing.eos is None else self.processing.masks(instance.vocab_size).eos

    def legal(self, cases: Sequence[Case]) -> list[Case]:
        """The cases on which masks leave a token; raises `InvalidInput` where there is none."""
        left = []
        for case in cases:
            try:
                self.processed(case.instance)
                left.append(case)
            except InvalidInput as error:
                reason = error
        if not left:
            raise reason
        return left

    def returns(self, instance: Instance, scheme: DraftScheme) -> bool:
        """Whether one of `RETURNS` runs with sampled coins on the first draft trees returns blocks of these."""
        verifier, roots = self.verifier(instance, scheme), self._first_roots(instance, scheme)
        for seed in range(RETURNS):
            with suppress(InvalidVerifier):
                verifier.verify_all(roots, SamplingCoin(np.random.default_rng(seed)))
                return True
        return False

    def verifier(self, instance: Instance, scheme: DraftScheme) -> Audited:
        """The function as a verifier for trees of the processed instance; raises `InvalidInput` for a wrong scheme."""
        if isinstance(scheme, SelfDrafted) != self.audited.interface.drafts:
            raise InvalidInput(f"the interface {self.audited.interface.name} does not go with the scheme {scheme}")
        if self.processing.is_identity:
            return self.audited
        raw = instance.converted(self.arithmetic, scheme.depth)
        return replace(self.audited, raw=raw, ends=self._ends(instance))

    def _first_roots(self, instance: Instance, scheme: DraftScheme) -> tuple[DraftNode, ...]:
        """The roots of the first draft trees of a batch."""
        expected = self.expected_requests(instance, scheme)
        drawn = outcomes(lambda coin: [shape.draw(entry.draft, coin) for entry, shape in expected], self.arithmetic)
        trees, _ = next(drawn)
        return tuple(
            tree.root(element.target, element.draft) for tree, (element, _) in zip(trees, expected, strict=True)
        )

    def _check(self, law: BlockLaw, expected: Instance, scheme: DraftScheme) -> Check:
        metrics = Metrics.of(law, expected.target)
        return Check(self.name, scheme, self.arithmetic.name, "enumerate", metrics, self.allowed)

    def _judge_batch(self, instance: Instance, scheme: DraftScheme, progress: Progress | None) -> Finding:
        requests = self.expected_requests(instance, scheme)
        batch = batch_law(self.audited.verify_all, requests, self.arithmetic, progress)
        checks = [
            self._check(law, expected, shape) for law, (expected, shape) in zip(batch.rows, requests, strict=True)
        ]
        worst = max(range(self.batch), key=lambda row: checks[row].total_variation or 0)
        return Finding(
            instance,
            scheme,
            checks[worst],
            batch.rows[worst],
            requests[worst][0].target,
            self.allowed,
            worst,
            batch.dependence([expected.target for expected, _ in requests]),
            tuple(check.block_efficiency for check in checks),
        )


def _alike(result: Finding | FunctionFailed, other: Finding | FunctionFailed, rounding: float) -> bool:
    """Whether the laws are the same up to the rounding of rows, or both fail alike."""
    if isinstance(result, FunctionFailed) or isinstance(other, FunctionFailed):
        return str(result) == str(other) if type(result) is type(other) else False
    pairs = zip(result.law.correction, other.law.correction, strict=True)
    gaps: list[Any] = [as_python(abs(one - two).max()) for one, two in pairs]
    gaps.append(abs((result.dependence or 0) - (other.dependence or 0)))
    return not max(gaps) > rounding
