"""How often the interval of a sampled prediction holds the truth, counted over repetitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.models.pair.devices import libraries
from experiments.models.pair.pair import Pair
from experiments.models.pair.warp import Warp
from experiments.models.predicted.prediction import predict
from experiments.models.predicted.sampled import SampledPrediction, predict_sampled
from experiments.models.predicted.tables import continued_rows, root_case
from simulator.errors import InvalidInput
from simulator.protocol import Context, DraftScheme, Progress, Verifier

#: How often an interval shall hold the truth; the probability of a wrong alarm about that; the normal quantile.
LEVEL, SIGNIFICANT, NORMAL = 0.95, 0.025, 1.959964


@dataclass(frozen=True)
class Setting:
    """What is predicted again and again: `trees` trees after each root."""

    name: str
    pair: Pair
    verifier: Verifier
    scheme: DraftScheme
    warp: Warp
    roots: tuple[Context, ...]
    trees: int

    def predicted(self, seed: Sequence[int], trees: int | None = None) -> SampledPrediction:
        """One prediction, from this seed."""
        generator = np.random.default_rng(list(seed))
        given = self.pair, self.verifier, self.scheme, self.warp, self.roots
        return predict_sampled(*given, trees or self.trees, generator)


@dataclass(frozen=True)
class Truth:
    """The block efficiency that intervals shall hold, and its standard error where it is itself an estimate."""

    mean: float
    error: float = 0.0
    how: str = "exact"


def by_tables(setting: Setting) -> Truth:
    """By the exact law on the tables of the pair, root by root; raises `TooLarge`."""
    cases = [root_case(setting.pair, setting.warp, root, setting.scheme.depth) for root in setting.roots]
    return Truth(predict(setting.verifier, cases, setting.scheme).mean, how="exact tables")


def by_products(setting: Setting) -> Truth:
    """Of `naive` on one path of two tokens: `1 + sum_y a(y) (1 + sum_z a(z|y))` with `a = min(p, q)`, over all `V`.

    Raises `InvalidInput` for another tree or verifier.
    """
    if setting.scheme.depth != 2 or setting.scheme.as_dict().get("K") != 1 or setting.verifier.card.name != "naive":
        raise InvalidInput(
            f"{setting.verifier.card.name} on {setting.scheme} has no such sum; take naive, one path of 2"
        )
    means = []
    for root in setting.roots:
        first = _overlap(setting, root, np.zeros((1, 0), dtype=np.int64))[0]
        after = _overlap(setting, root, np.arange(setting.pair.vocab_size)[:, None]).sum(axis=1)
        means.append(1 + float((first * (1 + after)).sum()))
    return Truth(float(np.mean(means)), how="a sum over all V^2 paths")


def _overlap(setting: Setting, root: Context, contexts: Any) -> Any:
    p, q = (continued_rows(setting.pair, which, setting.warp, root, contexts) for which in ("target", "draft"))
    return np.minimum(p, q)


def by_trees(trees: int, seed: int = 10**6) -> Callable[[Setting], Truth]:
    """By one long run of so many trees a root, with the error that it has."""

    def found(setting: Setting) -> Truth:
        run = setting.predicted([seed], trees)
        return Truth(run.mean, run.error, f"{trees * len(setting.roots):,} other trees")

    return found


#: Which intervals are counted: that of a prediction, Student's, the normal one, and half of Student's, which cannot do.
INTERVALS = ("interval", "student", "normal", "half")


@dataclass(frozen=True)
class Coverage:
    """How many of `repetitions` intervals of each kind hold the truth, and how wide they are, mean."""

    repetitions: int
    hits: dict[str, int]
    widths: dict[str, float]

    def share(self, kind: str = "interval") -> tuple[float, float]:
        """An interval of 95 % for the probability that one holds the truth (Clopper and Pearson, exact)."""
        return exact_interval(self.hits[kind], self.repetitions)

    def covers(self, kind: str = "interval") -> bool:
        """Whether the counts are no evidence that fewer than 95 % hold the truth.

        So few hits, or fewer, then have a probability above `SIGNIFICANT` where 95 % do.
        """
        from scipy.stats import binom

        return bool(binom.cdf(self.hits[kind], self.repetitions, LEVEL) > SIGNIFICANT)


def exact_interval(hits: int, repetitions: int, level: float = 0.95) -> tuple[float, float]:
    """Clopper and Pearson's interval for a probability of which `hits` of `repetitions` came true."""
    from scipy.stats import beta

    tail = (1 - level) / 2
    low = float(beta.ppf(tail, hits, repetitions - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - tail, hits + 1, repetitions - hits)) if hits < repetitions else 1.0
    return low, high


def coverage(
    setting: Setting, truth: Truth, repetitions: int, seed: int = 0, progress: Progress | None = None
) -> Coverage:
    """Predict `repetitions` times, each from trees of its own, and count."""
    hits, widths = dict.fromkeys(INTERVALS, 0), dict.fromkeys(INTERVALS, 0.0)
    for number in range(repetitions):
        for kind, (low, high) in intervals(setting.predicted([seed, number])).items():
            # A truth with an error of its own may stand off by that as well.
            hits[kind] += low - 2 * truth.error <= truth.mean <= high + 2 * truth.error
            widths[kind] += (high - low) / repetitions
        if progress:
            progress(1)
    return Coverage(repetitions, hits, widths)


def intervals(found: SampledPrediction) -> dict[str, tuple[float, float]]:
    """Those of `INTERVALS` for one prediction."""
    low, high = found.student(LEVEL)
    quarter, normal = (high - low) / 4, NORMAL * found.error
    return {
        "interval": found.interval(LEVEL),
        "student": (low, high),
        "normal": (found.mean - normal, found.mean + normal),
        "half": (low + quarter, high - quarter),
    }


def made_pair(vocab: int, seed: int = 0, noise: float = 0.05, spread: float = 0.3) -> Pair:
    """Two small untrained models with uneven rows, float32 on the CPU; the draft is the target with noisy weights.

    spread: of the initial weights; the larger, the more uneven the rows.
    """
    import copy

    torch, transformers = libraries()
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    ends = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
    config = transformers.LlamaConfig(vocab_size=vocab, initializer_range=spread, **sizes, **ends)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        target = transformers.LlamaForCausalLM(config).eval().requires_grad_(False)
        draft = copy.deepcopy(target)
        for weights in draft.parameters():
            weights.add_(torch.randn_like(weights), alpha=noise)
    return Pair(target, draft, None, torch.device("cpu"), torch.float32, vocab)
