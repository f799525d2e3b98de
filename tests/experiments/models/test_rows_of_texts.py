"""Sampling of each model, with penalties and masks that look at the text: in the loop, predicted, in transformers."""

import numpy as np
import pytest
import torch
from transformers.generation.logits_process import LogitsProcessorList, RepetitionPenaltyLogitsProcessor

from draftproof.experiments.models.expect.contexts import Contexts
from draftproof.experiments.models.expect.expected import VALIDATE_BUDGET, Budget, expected, max_deviation
from draftproof.experiments.models.expect.tables import pair_tables
from draftproof.experiments.models.loop.loop import Loop, many_blocks
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.experiments.models.validate.agreement import compare
from draftproof.simulator import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling, Samplings
from draftproof.verifiers import make
from tests.experiments.models.drawn import Recorder, plain_text, text_after

ROOT, SCHEME, ONE_LAYER = [1, 2, 0, 2], Delayed(2, 1, 1), Delayed(2, 0, 1)
PENALTY = "repetition_penalty=1.7,temperature=.8"
MASKS = "no_repeat_ngram_size=2,eos=3,min_new_tokens=1,stop_strings=12"
TEXTS = {
    "penalty": (PENALTY, None),
    "masks": (MASKS, None),
    "masked target": (MASKS, ""),
    "masked draft": (PENALTY, MASKS),
    "grammar": ("top_p=.95,table=0012/1--2/2222", "table=0000"),
    "apart": ("top_p=.9", "temperature=.5"),
}


def seen_in_loop(pair, sampling, blocks=12):
    """The texts of some blocks, with the rows before each token that the loop has used."""
    loop, verifier, coin = Loop(pair, sampling), Recorder("traversal"), coin_for("numpy", 5)
    state, text, found = loop.start(ROOT, 100), list(ROOT), []
    for _ in range(blocks):
        [block], state = loop.step(state, verifier, SCHEME, coin)
        nodes = {node.context: node for node in verifier.trees[-1]}
        for depth, token in enumerate(block.tokens):
            before = block.accepted[:depth]
            found.append((list(text), nodes[before].target, nodes[before].draft))
            text.append(token)
        assert state.texts[0].tokens == tuple(text)
    return found


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", TEXTS)
def test_rows_of_the_loop_are_those_of_whole_texts(random_pair, name):
    pair, sampling = random_pair(vocab=4, dtype=torch.float64, noise=0.5), Samplings.of_options(*TEXTS[name])
    compared = 0
    for text, p, q in seen_in_loop(pair, sampling):
        for role, row in (("target", p), ("draft", q)):
            if row is not None:
                expected = pair.rows(role, [text], sampling, root=len(ROOT))[0].numpy()
                assert np.allclose(row, expected, atol=1e-12)
                compared += 1
    assert compared > 20


def test_penalised_rows_are_those_of_transformers(random_pair):
    pair, sampling = random_pair(vocab=8, dtype=torch.float64), Sampling.parse("repetition_penalty=1.7,top_p=.9")
    steps = LogitsProcessorList([RepetitionPenaltyLogitsProcessor(1.7)])
    for text, p, _ in seen_in_loop(pair, sampling):
        scores = steps(torch.tensor([text]), pair.logits("target", [text]))
        assert np.allclose(p, Sampling(top_p=0.9).of_logits(scores)[0].numpy(), atol=1e-12)


TOLD = {
    "q before the temperature": ("top_p=.9", "temperature=.5", "draft"),
    "q before top-k": ("", "top_k=2", "draft"),
    "q before its masks": ("", "table=01-1/1--1", "draft"),
    "q with masks": ("", "", "no_repeat_ngram_size=2"),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", [*TEXTS, *TOLD])
def test_blocks_are_as_predicted_and_lossless_unless_another_q_is_told(random_pair, name):
    pair, given = random_pair(vocab=4, dtype=torch.float64, noise=0.5), {**TEXTS, **TOLD}[name]
    sampling, verifier = Samplings.of_options(*given), make("naive" if name in TOLD else "traversal")
    contexts = Contexts(pair, sampling, [tuple(ROOT)])
    prediction = expected(verifier, SCHEME, contexts, VALIDATE_BUDGET, np.random.default_rng(0))
    deviation = max_deviation(prediction, contexts.cases(2))[0]
    assert deviation > 1e-3 if name in TOLD else deviation < 1e-12
    blocks = many_blocks(Loop(pair, sampling), verifier, SCHEME, ROOT, 1_500, coin_for("numpy", 1))
    assert compare(prediction, [blocks]).agrees(len(TEXTS) + len(TOLD))


def test_a_masked_text_obeys_its_masks_and_is_what_the_target_alone_writes(random_pair):
    pair = random_pair(vocab=4, dtype=torch.float64, noise=0.5)
    for masks in ("no_repeat_ngram_size=3", "table=01-1/-10-"):
        sampling = Sampling.parse(f"temperature=0,{masks}")
        alone = plain_text(pair, ROOT, sampling, coin_for("numpy", 0), 20)
        loop, way = Loop(pair, sampling), (make("traversal"), Delayed(2, 1, 2))
        ours = text_after(loop, *way, ROOT, coin_for("numpy", 0), 20)
        assert ours == alone
        state = sampling.masks(4, tuple(ROOT))
        for place, token in enumerate(ours):
            allowed = state.allowed(ours[:place])
            assert allowed is not None
            assert allowed[token]


def test_a_context_without_a_next_token_is_refused_where_the_target_may_write_it(random_pair):
    pair = random_pair(vocab=4, dtype=torch.float64)
    loop, way = Loop(pair, Samplings.of_options("table=1111/----!", "")), (make("naive"), Delayed(1, 0, 1))
    with pytest.raises(InvalidInput, match=r"no token can follow '.': the masks allow none; add eos=TOKEN"):
        loop.step(loop.start(ROOT), *way, coin_for("numpy", 0))
    likeliest = int(pair.rows("target", [ROOT]).argmax())
    moves = "".join("0" if token == likeliest else "1" for token in range(4))
    never = Samplings.of_options(f"top_k=1,table={moves}/----!", "")
    blocks = many_blocks(Loop(pair, never), *way, ROOT, 50, coin_for("numpy", 0))
    assert {block.tokens[0] for block in blocks} == {likeliest}


@pytest.mark.parametrize("name", ["specinfer", "traversal", "gbv"])
def test_where_tables_are_too_large_means_are_of_trees_with_what_verifiers_are_told(random_pair, name):
    pair, verifier = random_pair(vocab=4, dtype=torch.float64), make(name)
    told = Samplings.of_options("top_p=.9", "top_k=2", "draft")
    exact, other = (
        expected(
            verifier, ONE_LAYER, Contexts(pair, sampling, [tuple(ROOT)]), Budget(10_000, 2), np.random.default_rng(0)
        ).mean
        for sampling in (told, Samplings.of_options("top_p=.9", "top_k=2"))
    )
    found = expected(verifier, ONE_LAYER, Contexts(pair, told, [tuple(ROOT)]), Budget(0, 600), np.random.default_rng(0))
    assert not found.exact
    # four standard errors; the means of verifiers that are told the truth are further away
    assert abs(found.mean - exact) < 4 * found.error < abs(exact - other)


def test_marginals_of_a_draft_are_sums_over_its_paths_and_only_tables_have_them(random_pair):
    pair, sampling = random_pair(vocab=3), Samplings.of_options("temperature=1.3", "temperature=.8,memory=0")
    plain = Samplings.of_options("temperature=1.3", "temperature=.8")
    (target, draft), (same, whole) = (pair_tables(pair, each, ROOT, 2) for each in (sampling, plain))
    assert np.array_equal(target.tables[2], same.tables[2])
    marginal = whole.row(()) @ whole.tables[1]
    assert draft.tables[1] == pytest.approx(np.tile(marginal, (3, 1)), abs=1e-12)  # sums of three products
    with pytest.raises(InvalidInput, match="memory=0 sums over all paths"):
        Loop(pair, sampling)
