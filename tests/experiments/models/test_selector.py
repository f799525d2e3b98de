"""The selector: labels equal laws, the loss is what it says, training comes out the same, one line for bad input."""

import json
import shutil
from itertools import product
from math import ceil
from pathlib import Path

import numpy as np
import pytest
import torch

from draftproof.experiments.inputs.latency import time_model
from draftproof.experiments.inputs.text import EMBEDDED, read_text
from draftproof.experiments.models.expect import expected
from draftproof.experiments.models.expect.contexts import Contexts
from draftproof.experiments.models.expect.expected import predict
from draftproof.experiments.models.expect.tables import pair_tables
from draftproof.experiments.models.pair.pair import pair_digest
from draftproof.experiments.models.selector import file, fitting, rivals, training
from draftproof.experiments.models.selector.features import SCALARS, block_starts, network_inputs, numbers
from draftproof.experiments.models.selector.fitting import Hyperparameters, loss
from draftproof.experiments.models.selector.network import SelectorNetwork
from draftproof.experiments.models.selector.rivals import Labelled, entropy_rule, oracle, quantiles
from draftproof.simulator import Delayed
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.policies.policy import Known
from draftproof.verifiers import make

ROOT, COST = (0, 1, 0), "draft=1,branch=.1,target=6"
SHAPES = tuple(
    Delayed(*shape) for shape in ((1, 0, 0), (1, 0, 3), (2, 0, 1), (3, 0, 2), (2, 1, 1), (2, 1, 2), (2, 2, 1))
)


def laws(pair, verifier, actions, root):
    found = []
    for scheme in actions:
        law = predict(make(verifier), [Case("", *pair_tables(pair, Sampling(), root, max(scheme.depth, 1)))], scheme)
        found.append(law.mean)
    return found


@pytest.mark.one_in(3)
@pytest.mark.parametrize("verifier", ["specinfer", "nss", "traversal", "path_transport", "block", "layer_transport"])
def test_exact_labels_are_the_laws_on_whole_tables(exact_pair, verifier):
    found = expected.labels(make(verifier), SHAPES, Contexts(exact_pair, Sampling(), [ROOT]), None, 0)
    assert np.array(found) == pytest.approx(np.array(laws(exact_pair, verifier, SHAPES, ROOT)), abs=1e-12)


def test_sampled_labels_are_near_the_laws(random_pair):
    verifier, pair = "traversal", random_pair(vocab=2, dtype=torch.float64)
    actions = tuple(Delayed(*shape) for shape in ((1, 0, 0), (1, 0, 2), (2, 0, 1), (2, 0, 2), (3, 1, 1)))
    found = expected.labels(make(verifier), actions, Contexts(pair, Sampling(), [ROOT]), 300, 0)
    assert found[0] == 1
    # tau is at most 2: a mean over 300 trees is rarely 4 standard errors off, at most 4 / sqrt(300)
    assert found == pytest.approx(laws(pair, verifier, actions, ROOT), abs=0.23)
    assert found == expected.labels(make(verifier), actions, Contexts(pair, Sampling(), [ROOT]), 300, 0)


def test_the_loss_is_that_of_the_paper():
    generator = np.random.default_rng(0)
    logits, tokens = generator.normal(size=(7, 3)), generator.uniform(1, 4, size=(7, 3))
    times, base = np.array([3.0, 4.0, 6.0]), np.array([0, 1, 2, 0, 1, 2, 0])
    policy = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    ratio = (policy * tokens).sum(1) / (policy * times).sum(1) / (tokens[np.arange(7), base] / times[base])
    worst = np.sort(np.maximum(1 - ratio, 0) ** 2)[::-1][: ceil(0.3 * 7)]
    assert (ratio < 1).any()
    given = [torch.tensor(each) for each in (logits, tokens, times, base)]
    assert float(loss(*given, 0.7, 0.3)) == pytest.approx(-np.log(ratio).mean() + 0.7 * worst.mean())
    assert float(loss(*given, 0.0, 0.3)) == pytest.approx(-np.log(ratio).mean())


def test_the_oracle_is_the_best_of_all_choices():
    generator = np.random.default_rng(1)
    for _ in range(20):
        tokens, times = generator.uniform(1, 4, size=(4, 3)), generator.uniform(2, 6, size=3)
        rates = [rivals.rate(tokens, times, np.array(each)) for each in product(range(3), repeat=4)]
        assert rivals.rate(tokens, times, oracle(tokens, times)) == pytest.approx(max(rates), rel=1e-14)


def test_numbers_are_entropies_and_divergences_of_the_rows():
    p, q, root = (np.array(row) for row in ([0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.7, 0.2, 0.1]))
    given = numbers(Known((4, 2), root, p, q, 1, 10), Sampling(0.5))
    assert len(given) == len(SCALARS)
    wanted = [*(-(row * np.log(row)).sum() for row in (root, p, q)), (p * np.log(p / q)).sum()]
    wanted += [(q * np.log(q / p)).sum(), abs(p - q).sum(), 2, 0.5, 1, 1, 10]
    assert given == pytest.approx(wanted, rel=1e-12)
    assert numbers(Known((4,), np.array([1.0, 0.0])), Sampling()) == [0.0] * 6 + [1.0, 1.0, 1.0, 0.0, 0.0]
    far = numbers(Known((0,), np.array([1.0, 0.0]), np.array([0.5, 0.5]), np.array([1.0, 0.0])), Sampling())
    assert (far[0], far[3]) == (0.0, 50.0)


def test_ranges_of_entropy_are_equally_likely():
    numbers = np.array([3.0, 1.0, 2.0, 4.0])
    assert quantiles(numbers, 2).tolist() == [3.0]
    assert quantiles(numbers, 4).tolist() == [2.0, 3.0, 4.0]
    worth = np.array([[0, 1], [1, 0], [1, 0], [0, 1.0]])
    assert entropy_rule(numbers, worth, np.array([0.5, 2.5, 9.0])).tolist() == [0, 0, 1]
    assert entropy_rule(numbers, worth, numbers).tolist() == worth.argmax(1).tolist()  # a bound is in the range above


def made_up(count, seed):
    """The better of two actions hangs on the sign of one number."""
    generator = np.random.default_rng(seed)
    numbers = torch.tensor(generator.normal(size=(count, len(SCALARS)))).float()
    numbers[:, -1] = 3.0  # one that never changes
    good = (numbers[:, 0] > 0).numpy()
    tokens = np.where(good[:, None], [1.0, 2.0], [2.0, 1.5])
    inputs = torch.cat([torch.zeros(count, 12), numbers], 1)
    return Labelled(inputs, tokens, np.ones(2), np.zeros(count, dtype=int), np.arange(count))


@pytest.mark.heavy
def test_what_can_be_learnt_is_learnt(monkeypatch):
    monkeypatch.setattr(fitting, "EPOCHS", 40)
    seen, other, new = made_up(192, 0), made_up(64, 1), made_up(200, 2)
    base = rivals.best_static(seen)
    found = fitting.fit(Hyperparameters(1.0, 0.3, 0.0, 1e-3, 0.5), seen, other, base, (4, 4), 3)
    best = rivals.gain_over(base, new, oracle(new.tokens, new.times))
    assert rivals.gain_over(base, new, found.network.choices(new.inputs)) > 0.7 * best > 0.1


@pytest.fixture
def folder(tiny_folder, tmp_path):
    (tmp_path / "text.txt").write_text(read_text(EMBEDDED)[:60_000], encoding="utf-8")
    return Path(shutil.copytree(tiny_folder, tmp_path / "pair"))


@pytest.fixture
def trained(folder, draftproof, monkeypatch):
    monkeypatch.setattr(training, "GRID", (Hyperparameters(1.0, 0.3, 0.2, 1e-3, 0.1),))
    monkeypatch.setattr(fitting, "EPOCHS", 10)
    world = f"models:{folder},text={folder.parent}/text.txt,device=cpu,roots="
    given = ("model", "train", "--kind", "selector", "--cost", COST, "--K", "1..2", "--L1", 0)
    return lambda *more, roots=20: draftproof(*given, "--world", f"{world}{roots}", *more)


@pytest.mark.heavy
def test_a_selector_is_made_and_its_labels_are_kept(trained, folder, tiny_pair, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(training, "search", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert trained("--resume", "rows").code == 130
    assert not file.selector_path(folder, "specinfer").exists()
    with monkeypatch.context() as patched:  # every label is there: none is computed again
        patched.setattr(training, "label_row", lambda *_: pytest.fail("a label was computed again"))
        ran = trained("--resume", "rows", "-o", "a.json")
    assert ran.code == 0, ran.err
    found = json.loads(Path("a.json").read_text())
    rates = {row["policy"]: row["tokens_per_time"] for row in found["rows"]}
    assert list(rates) == ["static", "entropy", "selector", "oracle"]
    assert all(rates["oracle"] >= rate * (1 - 1e-12) for rate in rates.values())
    use = file.Use("specinfer", pair_digest(tiny_pair), 8, (32, 16), Sampling())
    held = file.load_selector(
        file.selector_path(folder, "specinfer"), use, [Delayed(*each) for each in found["about"][0]["actions"]]
    )
    starts = block_starts(tiny_pair, [ROOT, (3,)], Sampling(), time_model(COST))
    inputs = network_inputs(starts, Sampling(), (32, 16))
    assert inputs[1, : 32 + 16].eq(0).all()  # nothing comes before a text of one token
    before = held.network.choices(inputs)
    assert trained("--resume", "rows").code == 0
    again = file.load_selector(file.selector_path(folder, "specinfer"), use)
    assert all(
        torch.equal(a, b)
        for a, b in zip(held.network.state_dict().values(), again.network.state_dict().values(), strict=True)
    )
    assert (again.network.choices(inputs) == before).all()
    assert [path.name for path in folder.glob("selector-*")] == ["selector-specinfer.safetensors"]


@pytest.mark.heavy
def test_labels_are_what_is_asked_for_and_noisy_ones_say_so(trained):
    ran = trained("--no-exact", "--trees", 2, "-o", "a.json")
    assert ran.code == 0, ran.err
    assert "by noisy labels, so its value and regret are biased upwards" in ran.out
    assert json.loads(Path("a.json").read_text())["about"][0]["labels"] == "mean over 2 trees"
    ran = trained("traversal", "--exact", "-o", "a.json")
    assert ran.code == 0, ran.err
    assert "which no policy exceeds" in ran.out
    assert json.loads(Path("a.json").read_text())["about"][0]["labels"] == "exact"


def test_bad_selectors_are_one_line(folder):
    network, actions = SelectorNetwork((32, 16), 2), [Delayed(1, 0, 1), Delayed(2, 0, 1)]
    fields = {"verifier": "naive", "pair": "one", "vocab_size": 8}
    fields |= {"actions": [[1, 0, 1], [2, 0, 1]], "times": file.times_fields(time_model(COST))}
    fields |= {"settings": [Sampling().as_dict()], "base": [[2, 0, 1]]}
    path = file.save_selector(folder, network, fields)
    use = file.Use("naive", "one", 8, (32, 16), Sampling())
    assert file.load_selector(path, use, actions).actions == tuple(actions)

    def refused(path=path, given=None, **other):
        with pytest.raises(file.InvalidInput) as error:
            file.load_selector(path, use._replace(**other), given)
        said = str(error.value)
        assert "\n" not in said
        assert str(path)[:10] in said
        return said

    assert "for the pair one, not two" in refused(pair="two")
    assert "for V = 8, not 27" in refused(vocab_size=27)
    assert "for the verifier naive, not block" in refused(verifier="block")
    assert "was trained for temperature=1.0, not for temperature 0.5" in refused(sampling=Sampling(0.5))
    assert "delayed(K=1, L1=0, L2=5) is in one list only" in refused(given=[*actions, Delayed(1, 0, 5)])
    assert "no selector" in refused(path.with_name("selector-block.safetensors"), verifier="block")
    assert "damaged" in refused(widths=(16, 16))
    whole = path.read_bytes()
    assert file.load_selector(path, use).base == 1
    flipped = whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:]
    for hurt in (whole[:-3], b"\0" + whole[1:], b"", b"[]", flipped):
        path.write_bytes(hurt)
        assert "damaged" in refused()
    wrong = [{key: value for key, value in fields.items() if key != name} for name in ("settings", "base", "times")]
    wrong += [{**fields, "base": other} for other in ([], [[9, 9, 9]], 5)] + [{**fields, "settings": 5}]
    wrong.append({**fields, "actions": [[2, 0, 1]]})  # for a network of two outputs
    for points in ({"draft": {"1": 1}, "target": {"0": 1}}, {"draft": {"2": 1}, "target": {"0": 1, "2": 1}}):
        wrong.append({**fields, "times": {**points, "open_ended": True}})
    for given in wrong:
        file.save_selector(folder, network, given)
        assert "damaged" in refused()


def test_what_cannot_be_trained_is_one_line(trained, draftproof):
    for given, said in (
        (("naive_from_target",), "naive_from_target is no verifier of the list that is declared lossless"),
        (("--K", 1, "--L2", 0), "no action drafts anything"),
    ):
        ran = trained(*given)
        assert ran.code == 2
        assert said in ran.err
    for roots, said in ((4, "4 roots cannot be shared out"), (100_000, "give a longer text, or fewer roots")):
        assert said in trained(roots=roots).err
    assert draftproof("model", "train", "--kind", "selector", "--world", "models:nowhere").code == 2
