"""Sampling: the rows are those of transformers' logits processors, and exact where the map is rational."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import log

import numpy as np
import pytest
from flint import fmpq

from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.tables import TableProcess

torch = pytest.importorskip("torch")
processors = pytest.importorskip("transformers.generation.logits_process")

ROW = RATIONAL.vector([["1/8", "4/8", "1/8", "2/8"]])
#: What lies so close to the edge of a set of tokens is kept or not by rounding.
EDGE = 1e-9


def by_transformers(sampling, logits, seen):
    """The processors in the order in which `generate` makes them; seen: token numbers."""
    steps = processors.LogitsProcessorList()
    if sampling.repetition_penalty is not None:
        steps.append(processors.RepetitionPenaltyLogitsProcessor(sampling.repetition_penalty))
    if sampling.temperature != 1:
        steps.append(processors.TemperatureLogitsWarper(sampling.temperature))
    for name, step in (
        ("top_k", processors.TopKLogitsWarper),
        ("top_p", processors.TopPLogitsWarper),
        ("min_p", processors.MinPLogitsWarper),
        ("typical_p", processors.TypicalLogitsWarper),
    ):
        if getattr(sampling, name) is not None:
            steps.append(step(getattr(sampling, name)))
    return steps(torch.tensor([seen], dtype=torch.long), logits[None].clone())[0].softmax(-1).numpy()


def rounding_decides(sampling, row, seen):
    """Whether a setting that differs by `EDGE` treats a token otherwise at some step, or powers of two numbers tie."""
    powers = Sampling(sampling.temperature, repetition_penalty=sampling.repetition_penalty).rows(row, seen)[0]
    known = sorted(zip(map(float, powers), map(float, row[0]), seen[0].tolist(), strict=True))
    if any(b[0] - a[0] < EDGE and a[1:] != b[1:] and b[0] > 0 for a, b in pairwise(known)):
        return True
    steps = ("top_p", "min_p", "typical_p")
    for number, name in enumerate(steps):
        value, so_far = getattr(sampling, name), replace(sampling, **dict.fromkeys(steps[number + 1 :]))
        for other in (max(value - EDGE, 0), min(value + EDGE, 1)) if value is not None else ():
            there = replace(so_far, **{name: other}).rows(row, seen) > 0
            if (there != (so_far.rows(row, seen) > 0)).any():
                return True
    if sampling.typical_p is None:
        return False
    p = [float(value) for value in replace(sampling, typical_p=None).rows(row, seen)[0] if value]
    entropy = -sum(value * log(value) for value in p)
    away = sorted((abs(-log(value) - entropy), value) for value in p)
    return any(b[0] - a[0] < EDGE < abs(b[1] - a[1]) for a, b in pairwise(away))


def random_case(random):
    """A row of few different numbers, so that many are equal, some 0; settings, and the tokens of the text so far."""
    size = int(random.integers(2, 13))
    weights = random.integers(0, random.choice([2, 3, 5, 9]), size=size)
    weights[random.integers(size)] += random.choice([1, 1, 3, 100])
    row = RATIONAL.vector([[Fraction(int(weight), int(weights.sum())) for weight in weights]])

    def some(*values):
        return values[random.integers(len(values))] if random.random() < 0.4 else None

    temperature = some(0.5, 0.25, 0.7, 1.3, 2.0)
    sampling = Sampling(
        1.0 if temperature is None else temperature,
        some(1, 2, 3, 5, 20),
        some(0.001, 0.3, 0.5, 0.9, 0.95),
        some(0.0, 0.05, 0.3, 0.5, 1.0),
        some(0.01, 0.2, 0.6, 0.95),
        some(0.5, 1.2, 2.0),
    )
    return row, sampling, random.integers(size, size=random.integers(1, 4))


def assert_equal_to_transformers(cases, seed):
    random, drawn, compared, single, tied = np.random.default_rng(seed), 0, 0, 0, 0
    while compared < cases:
        row, sampling, text = random_case(random)
        drawn += 1
        seen = np.zeros(row.shape, dtype=bool)
        seen[0, text] = True
        if rounding_decides(sampling, row, seen):
            continue
        with np.errstate(divide="ignore"):
            logits = torch.from_numpy(np.log(FLOAT64.vector(row[0])))
        theirs = by_transformers(sampling, logits, text.tolist())
        exact = sampling.rows(row, seen)[0]
        assert sum(exact) == 1
        found = {
            "rational": FLOAT64.vector(exact),
            "float64": sampling.rows(FLOAT64.vector(row), seen)[0],
            "logits": sampling.of_logits(logits[None], texts=torch.from_numpy(text[None])).numpy()[0],
        }
        for name, ours in found.items():
            assert ((ours > 0) == (theirs > 0)).all(), (name, row, sampling)
            assert abs(ours - theirs).max() < 1e-12, (name, row, sampling)  # powers and softmaxes in float64
        compared += 1
        single += int((theirs > 0).sum() == 1 and len(set(row[0])) > 1)
        left, before = exact[exact != 0], row[0][row[0] != 0]
        tied += len(set(left)) < len(left) and len(left) < len(before)
    assert compared > 0.6 * drawn  # the others are at an edge
    assert min(single, tied) > cases / 100


def test_rows_are_those_of_transformers_ties_and_single_tokens_included():
    assert_equal_to_transformers(300, seed=1)


@pytest.mark.heavy
def test_ten_thousand_rows_are_those_of_transformers():
    assert_equal_to_transformers(10_000, seed=2)


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("temperature=1/2", ["1/22", "8/11", "1/22", "2/11"]),
        ("temperature=0", [0, 1, 0, 0]),
        ("top_k=2", [0, "2/3", 0, "1/3"]),
        ("top_k=3", ["1/8", "1/2", "1/8", "1/4"]),  # both that equal the third
        ("top_p=.5", [0, 1, 0, 0]),
        ("top_p=.75", [0, "2/3", 0, "1/3"]),
        ("top_p=.8", [0, "4/7", "1/7", "2/7"]),  # of two equal tokens the last
        ("top_p=.8,ties=first", ["1/7", "4/7", 0, "2/7"]),
        ("min_p=1/2", [0, "2/3", 0, "1/3"]),
        ("typical_p=.2", [0, 0, 0, 1]),
        ("bits=2", [0, "3/4", 0, "1/4"]),
        ("temperature=.5,top_p=.9,bits=1", [0, 1, 0, 0]),
    ],
)
def test_rational_maps_are_exact(text, row):
    sampling = Sampling.parse(text)
    assert sampling.rows(ROW).tolist() == [RATIONAL.vector(row).tolist()]
    assert sampling.why_irrational is None
    assert sampling.rows(FLOAT64.vector(ROW))[0] == pytest.approx([float(Fraction(value)) for value in row], abs=1e-15)


def test_a_penalty_is_a_power_of_what_was_in_the_text():
    seen = np.array([[False, True, False, False]])
    assert Sampling(repetition_penalty=2.0).rows(ROW, seen).tolist() == [
        [fmpq(1, 6), fmpq(1, 3), fmpq(1, 6), fmpq(1, 3)]
    ]
    assert Sampling(repetition_penalty=2.0, temperature=0).rows(ROW, seen).tolist() == [[0, 1, 0, 0]]


def test_a_penalty_comes_before_masks_as_in_transformers():
    sampling, text = Sampling.parse("repetition_penalty=2,no_repeat_ngram_size=2"), (1, 0, 1)
    row = sampling.process(TableProcess([ROW]), text).row(())
    assert row.tolist() == RATIONAL.vector([0, "2/5", "1/5", "2/5"]).tolist()
    logits, tokens = torch.from_numpy(FLOAT64.vector(ROW)).log(), torch.tensor([text])
    logits = processors.RepetitionPenaltyLogitsProcessor(2.0)(tokens, logits)
    theirs = processors.NoRepeatNGramLogitsProcessor(2)(tokens, logits).softmax(-1)[0].numpy()
    assert FLOAT64.vector(row) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("top_p=0", "sampling top_p=0: top_p 0.0 must be above 0"),
        ("temperature=-1", "temperature -1.0 must be a number of at least 0"),
        ("temperature=nan", "'nan' is no number of that kind; write temperature=.7, with a comma between two"),
        ("top_k=5 top_p=.9", "'5 top_p=.9' is no number of that kind; write top_k=50, with a comma between two"),
        ("min_new_tokens", "'' is no number of that kind; write min_new_tokens=1, with a comma"),
        ("repetition_penalty=0", "repetition_penalty 0.0 must be a number above 0"),
        ("bits=0", "bits 0 must be 1 to 40"),
        ("ties=both", "ties 'both': choose last"),
        ("warmth=1", "sampling 'warmth=1': write temperature=.7"),
        ("top_p=.9, topk=5", r"^sampling 'topk=5': did you mean top_k=\.\.\?$"),
        ("top_k=1,top_k=2", "'top_k=1,top_k=2' has top_k twice"),
    ],
)
def test_bad_values_are_refused_by_name(text, words):
    with pytest.raises(InvalidInput, match=words):
        Sampling.parse(text)


def test_settings_are_written_as_they_are_read():
    sampling = Sampling.parse("temperature=.7,top_k=5,top_p=.9,min_p=.1,typical_p=.5,repetition_penalty=2,bits=4")
    assert Sampling.parse(sampling.text) == sampling
    assert str(sampling).startswith(
        "temperature 0.7, top-k 5, top-p 0.9, min-p 0.1, typical-p 0.5, repetition-penalty 2"
    )
    assert Sampling().as_dict() == {"temperature": 1.0, "top_k": None, "top_p": None}
