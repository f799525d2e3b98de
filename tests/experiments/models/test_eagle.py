"""A head on the target's features: its rows in the loop, alone and in batches; how it is trained, kept and refused."""

import dataclasses
import json
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from draftproof import generate_with, make_draft
from draftproof.experiments.cli import program
from draftproof.experiments.inputs.latency import TimeModel
from draftproof.experiments.models.expect.tables import continued_rows
from draftproof.experiments.models.loop.loop import Loop, State, many_blocks, many_texts
from draftproof.experiments.models.loop.reading import FeatureReading
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.experiments.models.pair.eagle import new_head
from draftproof.experiments.models.pair.pair import Pair, load_folder
from draftproof.experiments.models.selector.deciding import deciding
from draftproof.experiments.models.validate.checks import caches
from draftproof.simulator import TableProcess, block_law
from draftproof.simulator.drafts import Delayed, DySpec
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.processes import context_index
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.protocol import Context, DraftScheme
from draftproof.verifiers import make
from tests.experiments.models.drawn import CASES
from tests.experiments.models.laws import ROOT, SIZE, agrees, law_of_texts
from tests.quick import quick

WARM = Sampling(temperature=1.3)


@pytest.fixture(scope="module")
def pair(random_pair: Callable[..., Pair]) -> Pair:
    """A target with a head that was never trained: its rows are far from the target's, and from uniform."""
    made = random_pair(vocab=3, dtype=torch.float64)
    return dataclasses.replace(made, draft=new_head(made.target, 0).eval().requires_grad_(False))


def law(pair: Pair, verifier: str, scheme: DraftScheme) -> dict[tuple[Any, int], float]:
    """Of the block after the root, by tables that know where the tree begins."""
    tables = [
        TableProcess(
            [
                continued_rows(pair, which, WARM, ROOT, list(product(range(SIZE), repeat=length)) if length else [[]])
                for length in range(deepest + 1)
            ],
            which,
        )
        for which, deepest in (("target", scheme.depth), ("draft", scheme.depth - 1))
    ]
    found = block_law(make(verifier), *tables, scheme, "float64")
    return {
        (context, token): float(found.correction[depth][context_index(context, SIZE), token])
        for depth in range(scheme.depth + 1)
        for context in product(range(SIZE), repeat=depth)
        for token in range(SIZE)
    }


@pytest.mark.parametrize("name", quick(CASES, ("delayed", "dyspec")))
def test_blocks_of_every_scheme_have_the_exact_law(pair: Pair, name: str) -> None:
    scheme, verifier = CASES[name]
    blocks = many_blocks(Loop(pair, make(verifier), scheme, WARM), ROOT, 1500, coin_for("numpy", 0))
    counts = Counter((block.accepted, block.correction) for block in blocks)
    assert agrees(counts, law(pair, verifier, scheme))


@pytest.mark.parametrize("honest", [pytest.param(True, marks=pytest.mark.heavy), False])
def test_texts_of_several_blocks_have_the_law_of_the_target_unless_rows_are_not_those_drafted_from(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, honest: bool
) -> None:
    drafted = Loop.drafted

    def told(loop: Loop, *given: Any) -> Any:
        found = drafted(loop, *given)
        for rows in found.rows:
            rows.known.update({context: row[::-1] for context, row in rows.known.items()})
        return found

    if not honest:
        monkeypatch.setattr(Loop, "drafted", told)
    loop = Loop(pair, make("traversal"), Delayed(2, 0, 2), WARM)
    texts = many_texts(loop, ROOT, 1500, 3, coin_for("numpy", 1))
    assert agrees(Counter(tuple(text) for text in texts.tolist()), law_of_texts(pair, 3, WARM)) is honest


@pytest.mark.parametrize("scheme", [Delayed(3, 1, 2), DySpec(4), Delayed(1, 0, 0)])
def test_rows_after_many_blocks_are_those_of_a_fresh_start(pair: Pair, scheme: DraftScheme) -> None:
    loop = Loop(pair, make("traversal"), scheme, Sampling())
    state, text = loop.start(ROOT), list(ROOT)
    for seed in range(6):
        for context, row in loop.drafted(state, coin_for("numpy", seed)).rows[0].known.items():
            expected = continued_rows(pair, "draft", Sampling(), text, [context])[0]
            # What is left of rounding: passes of other shapes sum in another order.
            assert row == pytest.approx(expected, abs=1e-9)
        (block,), state = loop.step(state, coin_for("numpy", seed))
        text += block.tokens
    assert len(text) >= len(ROOT) + 6
    if scheme.depth:
        assert caches(loop, ROOT, 8, 0).passed


def test_several_levels_may_be_asked_for_at_once(pair: Pair) -> None:
    loop = Loop(pair, make("block"), Delayed(1, 0, 1), Sampling())
    states = [loop.start(ROOT), loop.start(ROOT[:1])]
    together = State.joined(states)
    wanted: list[list[Context]] = [[(), (1,), (1, 0), (2,)], [(), (0,)]]
    found = FeatureReading(pair.draft, together.draft, together.waiting, together.features).read(wanted)
    for sequence, (root, contexts) in enumerate(zip((ROOT, ROOT[:1]), wanted, strict=True)):
        for place, context in enumerate(contexts):
            alone = pair.draft.continued(torch.tensor([root]), torch.tensor([context], dtype=torch.long))
            # What is left of rounding: passes of other shapes sum in another order.
            assert found[sequence, place].tolist() == pytest.approx(alone[0].tolist(), abs=1e-9)


def test_features_of_the_wrong_place_are_noticed(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: the features of the accepted tokens come one too early."""
    honest = FeatureReading.features_after
    monkeypatch.setattr(
        FeatureReading, "features_after", lambda self, found: honest(self, [each.roll(1, 0) for each in found])
    )
    with pytest.raises(AssertionError):
        test_rows_after_many_blocks_are_those_of_a_fresh_start(pair, Delayed(3, 1, 2))


def test_a_text_is_the_same_alone_and_in_a_batch_and_greedy_text_is_that_of_generate(pair: Pair) -> None:
    prompts, mask = torch.tensor([[0, 0, 2, 1], [1, 1, 0, 1]]), torch.tensor([[0, 1, 1, 1], [1] * 4])
    asked = {"assistant_model": pair.draft, "max_new_tokens": 16, "pad_token_id": 0}
    ours = generate_with("traversal", Delayed(2, 1, 2), seed=5)
    both = pair.target.generate(prompts, attention_mask=mask, custom_generate=ours, do_sample=True, **asked)
    alone = pair.target.generate(
        prompts[:1, 1:], attention_mask=mask[:1, 1:], custom_generate=ours, do_sample=True, **asked
    )
    assert both[0, 4:].tolist() == alone[0, 3:].tolist()
    greedy = pair.target.generate(prompts[1:], attention_mask=mask[1:], custom_generate=ours, do_sample=False, **asked)
    plain = {"do_sample": False, "max_new_tokens": 16, "pad_token_id": 0}
    expected = pair.target.generate(prompts[1:], attention_mask=mask[1:], **plain)
    assert torch.equal(greedy, expected)


def test_a_head_is_trained_saved_and_found_in_the_folder_of_its_pair(
    tiny_folder: Path, tmp_path: Path, tiny_recipe: Any
) -> None:
    text = tmp_path / "text.txt"
    text.write_text(tiny_recipe.corpus.text, encoding="utf-8")
    arguments = ["train-head", "--target", str(tiny_folder / "target"), "--out", str(tmp_path / "head")]
    more = ["--text", str(text), "--device", "cpu", "--steps"]
    few, many = (
        CliRunner().invoke(program(["train-head"]), [*arguments[:-1], str(tmp_path / n), *more, n]) for n in ("2", "60")
    )
    assert few.exit_code == many.exit_code == 0, few.output + many.output
    pair = load_folder(tiny_folder, "cpu", draft=f"eagle:{tmp_path / '60'}")
    worse = load_folder(tiny_folder, "cpu", draft=f"eagle:{tmp_path / '2'}")
    held_out = pair.encode(tiny_recipe.corpus.held_out[:300])
    roots = [held_out[place : place + 16] for place in range(0, 240, 16)]

    def distance(drafting: Pair) -> float:
        rows = [
            [continued_rows(drafting, which, Sampling(), root, [[]]) for which in ("target", "draft")] for root in roots
        ]
        return float(sum(abs(p - q).sum() for p, q in rows)) / len(roots)

    assert distance(pair) < 0.8 * distance(worse)
    same, other, none = (
        CliRunner().invoke(program(["train-head"]), [*arguments[:-1], str(where), *more, "2"])
        for where in (tmp_path / "2", tmp_path / "60", tiny_folder)
    )
    assert same.exit_code == 0
    assert "not trained again" in same.output
    assert "holds a head with steps 60, not 2; choose another --out" in str(other.exception)
    assert "is there and holds no head" in str(none.exception)


def test_a_head_that_fetches_code_or_lacks_weights_is_refused(pair: Pair, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "head"
    pair.draft.save_pretrained(folder)
    weights, config = folder / "model.safetensors", folder / "config.json"
    assert make_draft(f"eagle:{folder}", pair.target).config.hidden_size == 32
    written = config.read_text()
    config.write_text(json.dumps({**json.loads(written), "attn_implementation": "someone/kernel"}))
    with pytest.raises(InvalidInput, match=r"^head .* has attn_implementation 'someone/kernel' in its config\.json"):
        make_draft(f"eagle:{folder}", pair.target)
    config.write_text(written)
    kept = load_file(weights)
    del kept["joined.weight"]
    save_file(kept, weights, {"format": "pt"})
    with pytest.raises(InvalidInput, match="holds no head"):
        make_draft(f"eagle:{folder}", pair.target)


def test_what_a_head_cannot_do_is_refused(pair: Pair, tiny_folder: Path, random_pair: Callable[..., Pair]) -> None:
    for spec, words in (
        ("eagle", "say where the head is, eagle:FOLDER"),
        (f"eagle:{tiny_folder}", "holds no head; make one: draftproof train-head --pair FOLDER --out"),
    ):
        with pytest.raises(InvalidInput, match=words):
            make_draft(spec, pair.target)
    with pytest.raises(InvalidInput, match="the head is for width 32 and 3 tokens, the target has 32 and 8"):
        pair.draft.of(random_pair(vocab=8).target)
    times = TimeModel({1: 1.0}, {0: 1.0}, open_ended=False)
    with (
        pytest.raises(InvalidInput, match="an EAGLE head reads the target's features"),
        deciding(pair, make("block"), [Delayed(1, 0, 1)], lambda view: 0, Sampling(), times),
    ):
        pass
