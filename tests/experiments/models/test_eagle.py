"""Heads on the target's features: its rows in the loop, alone and in batches; how it is trained, kept and refused."""

import dataclasses
import json

import pytest
import torch

from draftproof import generate_with, make_draft
from draftproof.experiments.models.expect.tables import continued_rows
from draftproof.experiments.models.loop.choosing import Chooser
from draftproof.experiments.models.loop.head_reading import HeadReading
from draftproof.experiments.models.loop.loop import Loop, State
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.experiments.models.pair.head import new_head
from draftproof.experiments.models.pair.head_kinds import HEADS
from draftproof.experiments.models.pair.head_training import OWN_OUTPUTS, blocks, outputs_of_passes
from draftproof.experiments.models.pair.pair import load_pair
from draftproof.simulator.drafts import Delayed, SpecBlock
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make
from tests.experiments.models.drawn import drafted_rows_off
from tests.experiments.models.laws import ROOT


@pytest.fixture(
    scope="module", params=["eagle", *(pytest.param(kind, marks=pytest.mark.heavy) for kind in [*HEADS][1:])]
)
def pair(random_pair, request):
    """A target with a head that was never trained: its rows are far from the target's, and from uniform."""
    made = random_pair(vocab=3, dtype=torch.float64)
    sizes = {"places": 2} if request.param == "specblock" else {}
    return dataclasses.replace(
        made, draft=new_head(made.target, 0, request.param, **sizes).eval().requires_grad_(False)
    )


@torch.inference_mode()
def test_several_levels_may_be_asked_for_at_once(pair):
    loop = Loop(pair, Sampling())
    states = [loop.start(ROOT), loop.start(ROOT[:1])]
    together = State.joined(states)
    wanted = [[(), (1,), (1, 0), (2,)], [(), (0,)]]
    found = loop.begin(together).reading.read(wanted)
    for sequence, (root, contexts) in enumerate(zip((ROOT, ROOT[:1]), wanted, strict=True)):
        for place, context in enumerate(contexts):
            alone = pair.draft.continued(torch.tensor([root]), torch.tensor([context], dtype=torch.long))
            # What is left of rounding: passes of other shapes sum in another order.
            assert found[sequence, place].tolist() == pytest.approx(alone[0].tolist(), abs=1e-9)


def test_features_of_the_wrong_place_are_noticed(pair, monkeypatch):
    """A planted bug: the features of the accepted tokens come one too early."""
    honest = HeadReading.features_after
    monkeypatch.setattr(
        HeadReading, "features_after", lambda self, found: honest(self, [each.roll(1, 0) for each in found])
    )
    assert drafted_rows_off(pair, Delayed(3, 1, 2))[0] > 1e-3


def test_a_text_is_the_same_alone_and_in_a_batch_and_greedy_text_is_that_of_generate(pair):
    prompts, mask = torch.tensor([[0, 0, 2, 1], [1, 1, 0, 1]]), torch.tensor([[0, 1, 1, 1], [1] * 4])
    asked = {"draft": pair.draft, "max_new_tokens": 16, "pad_token_id": 0}
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


@pytest.mark.heavy
@pytest.mark.parametrize("kind", HEADS)
def test_a_head_is_trained_saved_and_found_in_the_folder_of_its_pair(
    draftproof, tiny_folder, tmp_path, tiny_recipe, kind
):
    (tmp_path / "text.txt").write_text(tiny_recipe.corpus.text, encoding="utf-8")
    world = f"models:target={tiny_folder}/target,text=text.txt,device=cpu"
    given = ("model", "train", "--kind", kind, "--world", world, "--steps")
    for steps in (2, 60):
        ran = draftproof(*given, steps, "--out", steps)
        assert ran.code == 0, ran.err
    pair = load_pair(f"{tiny_folder}/target", f"{kind}:{tmp_path / '60'}", "cpu")
    worse = load_pair(f"{tiny_folder}/target", f"{kind}:{tmp_path / '2'}", "cpu")
    held_out = pair.encode(tiny_recipe.corpus.held_out[:300])
    roots = [held_out[place : place + 16] for place in range(0, 240, 16)]

    def distance(drafting, depth):
        contexts = [list(root[:depth]) for root in roots]
        rows = [
            [continued_rows(drafting, which, Sampling(), root, [after]) for which in ("target", "draft")]
            for root, after in zip(roots, contexts, strict=True)
        ]
        return float(sum(abs(p - q).sum() for p, q in rows)) / len(roots)

    assert distance(pair, 0) < 0.8 * distance(worse, 0)
    assert distance(pair, 5) < distance(worse, 5)
    same, other, none = (draftproof(*given, 2, "--out", where) for where in ("2", "60", tiny_folder))
    assert (same.code, other.code, none.code) == (0, 2, 2)
    assert "not trained again" in same.out
    assert "holds a head with steps 60, not 2; choose another folder" in other.err
    assert "is there and holds no head" in none.err
    another = next(each for each in HEADS if each != kind)
    with pytest.raises(
        InvalidInput, match=f"holds no {another} head; make one: draftproof model train --kind {another}"
    ):
        make_draft(f"{another}:{tmp_path / '2'}", pair.target)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--kind", "medusa"], "unknown kind 'medusa'; choose pair, eagle, eagle3, griffin, specblock, selector"),
        (["--places", "2"], "places belongs to kind specblock; leave it out"),
        (["--K", "2"], "K belongs to kind selector; leave it out"),
        (["--recipe", "deep"], "recipe belongs to kind pair; leave it out"),
        (["--kind", "pair"], "world belongs to kind eagle or eagle3 or griffin or specblock or selector; leave it out"),
    ],
)
def test_a_head_that_there_is_not_is_not_trained(draftproof, tiny_folder, more, words):
    ran = draftproof("model", "train", "--kind", "eagle", "--world", f"models:{tiny_folder}", *more)
    assert words in ran.err


def test_a_head_that_fetches_code_or_lacks_weights_is_refused(pair, tmp_path):
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "head"
    pair.draft.save_pretrained(folder)
    weights, config = folder / "model.safetensors", folder / "config.json"
    kind = pair.draft.config.kind
    assert make_draft(f"{kind}:{folder}", pair.target).config.hidden_size == 32
    written = config.read_text()
    config.write_text(json.dumps({**json.loads(written), "attn_implementation": "someone/kernel"}))
    with pytest.raises(InvalidInput, match=r"^head .* has attn_implementation 'someone/kernel' in its config\.json"):
        make_draft(f"{kind}:{folder}", pair.target)
    config.write_text(written)
    kept = load_file(weights)
    del kept["joined.weight"]
    save_file(kept, weights, {"format": "pt"})
    with pytest.raises(InvalidInput, match=f"holds no {kind} head"):
        make_draft(f"{kind}:{folder}", pair.target)


def test_what_a_head_cannot_do_is_refused(pair, tiny_folder, random_pair):
    for spec, words in (
        ("eagle", "say where the head is, eagle:FOLDER"),
        (
            f"eagle:{tiny_folder}",
            "holds no eagle head; make one: draftproof model train --kind eagle --world models:target=PATH --out",
        ),
    ):
        with pytest.raises(InvalidInput, match=words):
            make_draft(spec, pair.target)
    with pytest.raises(InvalidInput, match="the head is for width 32 and 3 tokens, the target has 32 and 8"):
        pair.draft.of(random_pair(vocab=8).target)
    loop, chooser = Loop(pair, Sampling()), Chooser((Delayed(1, 0, 1),), lambda start: 0, (1.0, 1.0))
    with pytest.raises(InvalidInput, match="a head reads the target's features"):
        loop.step(loop.start(ROOT), make("block"), chooser, coin_for("numpy", 0))


def test_the_rows_of_training_are_those_of_trees(pair):
    """In every pass over its own outputs, and in both blocks, whose rows do not see the tokens since their start."""
    windows = torch.tensor([[0, 2, 1, 1, 0, 2, 2, 0], [1, 0, 0, 2, 1, 1, 2, 0]])
    head = pair.draft
    with torch.no_grad(), head.watching() as seen:
        pair.target(windows, use_cache=False)
        features = head.taken(seen[0])
        if head.places > 1:
            starts = torch.tensor([1, 3])
            tokens, first, second = blocks(head, windows, features, starts)
            found = [(first, 0), (second, head.places)]
            cases = [
                (logits[:, number, place], start + 1, below + place)
                for logits, below in found
                for number, start in enumerate(starts.tolist())
                for place in range(head.places)
            ]
            cases += [(tokens[:, at], at + 1, 0) for at in range(8)]
        else:
            passes = enumerate(outputs_of_passes(head, windows, features, OWN_OUTPUTS["griffin"]))
            cases = [(each.logits[:, at], at + 1 - below, below) for below, each in passes for at in range(below, 8)]
    for logits, root, length in cases:
        for text, row in zip(windows, logits, strict=True):
            alone = head.continued(text[None, :root], text[None, root : root + length])
            # What is left of rounding: passes of other shapes sum in another order.
            assert row.tolist() == pytest.approx(alone[0].tolist(), abs=1e-9)


def test_a_block_is_one_pass_whatever_is_drafted_in_it(random_pair):
    made = random_pair(vocab=3)
    for places, depth in ((1, 4), (2, 4), (3, 4), (4, 4), (4, 5)):
        pair = dataclasses.replace(
            made, draft=new_head(made.target, 0, "specblock", places=places).eval().requires_grad_(False)
        )
        for scheme, verifier in ((Delayed(2, 0, depth), "traversal"), (SpecBlock(places, 2, 6), "nss")):
            loop, way = Loop(pair, Sampling()), (make(verifier), scheme)
            drafted = loop.drafted(loop.start(ROOT), way[1], coin_for("numpy", 0))
            deepest = max(map(len, drafted.rows[0].known))
            assert drafted.passes == [deepest // places + 1]
            rows = {context: row.tobytes() for context, row in drafted.rows[0].known.items()}
            blocks_of = {(context[: len(context) - len(context) % places], len(context)) for context in rows}
            assert len(set(rows.values())) == len(blocks_of)


def test_a_place_of_a_block_that_reads_another_token_is_noticed(random_pair, monkeypatch):
    """A planted bug: the tokens of a block inherit another state than that of the place that predicted them."""
    made = random_pair(vocab=3, dtype=torch.float64)
    pair = dataclasses.replace(made, draft=new_head(made.target, 0, "specblock", places=2).eval().requires_grad_(False))
    test_the_rows_of_training_are_those_of_trees(pair)
    assert drafted_rows_off(pair, Delayed(3, 1, 2))[0] <= 1e-9
    honest = HeadReading._of
    monkeypatch.setattr(HeadReading, "_of", lambda self, at, c: (honest(self, at, c)[0], honest(self, at, c)[1] + 1))
    assert drafted_rows_off(pair, Delayed(3, 1, 2))[0] > 1e-3
