"""The statistics: sums of squares by hand and by simulation, and an e-process that does not grow under the truth."""

from fractions import Fraction
from itertools import product
from math import exp, inf, log

import numpy as np
import pytest

from draftproof.experiments.models.expect.expected import Expected, joint, predict
from draftproof.experiments.models.loop.loop import Block
from draftproof.experiments.models.loop.sequential import (
    Counts,
    RowsAfter,
    distance_and_power,
    engine_law,
    log_e_value,
    smallest_detected,
)
from draftproof.experiments.models.validate.cells import Agreement, ChiSquare, compare, pearson, table_chi_square
from draftproof.simulator import BlockLaw, Card, Coin, Delayed, DraftNode, TableProcess, Verdict, block_law
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.processes import context_at
from draftproof.verifiers import make


def tables(size: int, depth: int, seed: int, apart: float = 1.0) -> Case:
    generator = np.random.default_rng(seed)
    target, other = ([generator.dirichlet(np.ones(size), size**d) for d in range(depth + 1)] for _ in range(2))
    draft = [(1 - apart) * p + apart * q for p, q in zip(target, other, strict=True)]
    return Case("root", TableProcess(target, "target"), TableProcess(draft, "draft"))


def drawn(law: BlockLaw, count: int, generator: np.random.Generator) -> list[Block]:
    """Blocks drawn from a law, without any verifier."""
    masses = np.concatenate([np.asarray(each, dtype=float).ravel() for each in law.correction])
    names = [
        Block(context_at(context, depth, law.vocab_size), token)
        for depth in range(law.depth + 1)
        for context in range(law.vocab_size**depth)
        for token in range(law.vocab_size)
    ]
    return [names[index] for index in generator.choice(len(masses), size=count, p=masses / masses.sum())]


def test_pearson_by_hand() -> None:
    found = pearson(np.array([30.0, 50.0, 20.0]), np.array([25.0, 50.0, 25.0]))
    assert found == ChiSquare(1 + 0 + 1, 2)
    assert found.p_value == pytest.approx(exp(-1))  # the tail of two degrees of freedom is exp(-x/2)


def test_rare_outcomes_count_together() -> None:
    found = pearson(np.array([80.0, 8.0, 12.0]), np.array([80.0, 9.0, 11.0]))
    assert found.freedom == 1  # 9 alone is too few, so the 11 joins it
    assert found.statistic == 0
    assert pearson(np.array([95.0, 5.0]), np.array([97.0, 3.0])) == ChiSquare(0, 0)


def test_what_cannot_happen_and_does_is_refuted() -> None:
    assert pearson(np.array([100.0, 0.0]), np.array([100.0, 0.0])) == ChiSquare(0, 0)
    assert pearson(np.array([99.0, 1.0]), np.array([100.0, 0.0])).p_value < 1e-100


def test_a_sum_of_squares_leaves_out_what_cannot_vary() -> None:
    cells = [Agreement(2.0, 2.2, 0.1, 100, ChiSquare(0, 0)), Agreement(3.0, 3.0, 0.0, 100, ChiSquare(0, 0))]
    assert table_chi_square(cells).freedom == 1
    assert table_chi_square(cells).statistic == pytest.approx(4)
    assert abs(Agreement(3.0, 2.9, 0.0, 100, ChiSquare(0, 0)).z) > 1e6  # a law without variance was broken


def test_comparisons_with_the_true_law_are_chi_square() -> None:
    pairs, scheme, generator = [tables(3, 2, 0), tables(3, 2, 1)], Delayed(2, 0, 2), np.random.default_rng(0)
    prediction = predict(make("traversal"), pairs, scheme)
    cells = [compare(prediction, [drawn(law, 400, generator) for law in prediction.laws]) for _ in range(300)]
    z = np.array([cell.z for cell in cells])
    # 300 draws of a standard normal: 4 standard errors of their mean and of their variance
    assert abs(z.mean()) < 4 / np.sqrt(300)
    assert abs(z.var() - 1) < 4 * np.sqrt(2 / 300)
    freedom = cells[0].outcomes.freedom
    assert freedom > 10
    statistics = np.array([cell.outcomes.statistic for cell in cells])
    assert abs(statistics.mean() - freedom) < 4 * np.sqrt(2 * freedom / 300)
    assert all(cell.agrees(300) for cell in cells)


def test_the_same_efficiency_with_other_tokens_is_seen_in_the_outcomes() -> None:
    pair, scheme = tables(3, 2, 0, apart=0.6), Delayed(1, 0, 2)
    claim = predict(make("naive"), [pair], scheme)
    lie = predict(make("naive_from_target"), [pair], scheme)
    assert lie.mean == pytest.approx(claim.mean, abs=1e-12)
    found = compare(claim, [drawn(lie.laws[0], 4000, np.random.default_rng(0))])
    assert abs(found.z) < 4
    assert found.outcomes.p_value < 1e-6
    assert not found.agrees(1)


def test_blocks_needed_are_the_least_for_a_standard_error() -> None:
    prediction = Expected.of_laws([block_law(make("naive"), *_processes(tables(3, 2, 0)), Delayed(1, 0, 2), "float64")])
    needed = int(np.ceil(prediction.variance / 0.02**2))
    assert prediction.standard_error(needed) <= 0.02 < prediction.standard_error(needed - 1)


def _processes(pair: Case) -> tuple[TableProcess, TableProcess]:
    return pair.target, pair.draft


@pytest.mark.parametrize("length", [1, 2])
def test_the_e_process_is_a_martingale_under_the_target(length: int) -> None:
    rows = RowsAfter.of(tables(2, length, 3), length)
    law = joint(rows.target)
    texts = list(product(range(2), repeat=length))
    expected = 0.0
    for runs in product(range(len(texts)), repeat=3):
        seen = Counts.of(np.array([texts[run] for run in runs]), 2)
        expected += float(np.prod(law[list(runs)])) * exp(log_e_value([seen], [rows]))
    assert expected == pytest.approx(1, abs=1e-9)  # logarithms of factorials of 3,000 lose four digits


def test_the_e_value_does_not_depend_on_the_order_or_on_the_portions() -> None:
    rows = RowsAfter.of(tables(3, 2, 0), 2)
    texts = np.random.default_rng(0).integers(0, 3, (40, 2))
    whole = log_e_value([Counts.of(texts, 3)], [rows])
    parts = Counts.of(texts[::-1][:15], 3) + Counts.of(texts[::-1][15:], 3)
    assert log_e_value([parts], [rows]) == whole
    assert log_e_value([Counts.of(texts[:0], 3)], [rows]) == 0


def test_a_token_that_the_target_never_gives_makes_the_e_value_infinite() -> None:
    rows = RowsAfter((np.array([[0.5, 0.5, 0.0]]),), (np.array([[0.5, 0.25, 0.25]]),))
    assert log_e_value([Counts.of(np.array([[2]]), 3)], [rows]) == inf
    assert log_e_value([Counts.of(np.array([[1]] * 50), 3)], [rows]) < inf


def test_drafts_taken_for_targets_are_refuted_and_the_target_is_not() -> None:
    pair = tables(4, 3, 0, apart=0.3)
    rows, generator = RowsAfter.of(pair, 3), np.random.default_rng(0)
    for law, refuted in ((joint(rows.target), False), (joint(rows.draft), True)):
        seen = Counts.of_outcomes(generator.multinomial(2000, law), 4, 3)
        assert (log_e_value([seen], [rows]) > log(1e4)) == refuted


@pytest.mark.parametrize("towards", ["draft", pytest.param("uniform", marks=pytest.mark.heavy)])
def test_the_stated_power_is_had_and_grows_with_the_runs(towards: str) -> None:
    rows = [RowsAfter.of(tables(3, 2, seed), 2) for seed in (0, 1)]
    few, many = (smallest_detected(rows, towards, runs, 1e-3, np.random.default_rng(0)) for runs in (200, 3200))
    assert few.share >= 0.9
    assert many.share >= 0.9
    assert few.distance / many.distance == pytest.approx(4, rel=0.4)  # distance falls as one over the root of the runs
    generator, found = np.random.default_rng(7), 0
    for _ in range(100):
        laws = [joint(each.shifted(many.leaning, towards)) for each in rows]
        seen = [Counts.of_outcomes(generator.multinomial(3200, law), 3, 2) for law in laws]
        found += log_e_value(seen, rows) >= log(1e3)
    assert found >= 78  # four standard errors below 90 of 100


def test_what_cannot_be_found_is_said() -> None:
    rows = [RowsAfter.of(tables(3, 2, 0, apart=0.01), 2)]
    found = smallest_detected(rows, "draft", 20, 1e-3, np.random.default_rng(0))
    assert (found.leaning, found.share < 0.9) == (1.0, True)


class Engine:
    """Token-by-token verification of one draft, or of two of one token, with a bug of engines; rows `p`, `q`."""

    def __init__(self, bug: str, q: list[Fraction]) -> None:
        self.card, self.bug, self.q = Card(name=f"engine_{bug}", title="", source=None, needs=None), bug, q

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        node = root
        while node.children:
            judge = list(node.target)
            for token in node.children:
                if coin.flip(min(Fraction(1), judge[token] / self.q[token])):
                    node = node.child(token)
                    break
                judge = [max(mass - other, Fraction(0)) for mass, other in zip(judge, self.q, strict=True)]
                if self.bug != "residual":
                    judge = [mass / sum(judge) for mass in judge]
            else:
                rest = node.target if self.bug == "correction" else [mass / sum(judge) for mass in judge]
                return Verdict(node.context, coin.choose(rest))
        return Verdict(node.context, coin.choose(self.q if self.bug == "bonus" else node.target))


def texts_of(law: BlockLaw, length: int) -> np.ndarray:
    """The law of texts of blocks with this law, whatever came before; shape `(V**length,)`."""
    words = {
        (*np.unravel_index(row, (law.vocab_size,) * depth), token) if depth else (token,): float(mass)
        for depth, masses in enumerate(law.correction)
        for row, masses_of_row in enumerate(np.asarray(masses).reshape(-1, law.vocab_size))
        for token, mass in enumerate(masses_of_row)
    }

    def text(wanted: tuple[int, ...]) -> float:
        whole = sum(mass for word, mass in words.items() if word[: len(wanted)] == wanted)
        begun = {word: mass for word, mass in words.items() if word == wanted[: len(word)] != wanted}
        return whole + sum(mass * text(wanted[len(word) :]) for word, mass in begun.items())

    return np.array([text(each) for each in product(range(law.vocab_size), repeat=length)])


@pytest.mark.parametrize(
    ("bug", "depth", "branches"),
    [("correction", 2, 1), ("bonus", 2, 1), ("bonus", 1, 1), ("residual", 1, 2), ("correction", 1, 2), ("none", 1, 2)],
)
def test_the_law_of_a_bug_is_that_of_an_engine_with_it(bug: str, depth: int, branches: int) -> None:
    p, q = ([Fraction(mass, 10) for mass in row] for row in ((6, 3, 1), (1, 2, 7)))
    target, draft = (TableProcess([[row] * 3**here for here in range(depth + 1)]) for row in (p, q))
    played = block_law(Engine(bug, q), target, draft, Delayed(branches, 0, depth))
    tables = [tuple(np.array([[float(mass) for mass in row]] * 3**here) for here in range(3)) for row in (p, q)]
    found = engine_law(RowsAfter(*tables), depth, branches, bug)
    assert found == pytest.approx(texts_of(played, 3), abs=1e-12)
    assert (abs(found - joint(tables[0])).max() < 1e-12) == (bug == "none")


def test_corrections_from_the_target_are_found_by_the_law_made_for_them() -> None:
    rows = [RowsAfter.of(tables(4, 2, seed, apart=0.6), 3) for seed in (0, 1)]
    laws = [engine_law(each, 2, 1, "correction") for each in rows]
    distance, share = distance_and_power(rows, laws, 400, 1e-3, np.random.default_rng(0), 40)
    assert 0.1 < distance < 0.12
    assert share >= 0.95  # 0.77 by the other laws alone
