"""`layer_transport` whichever branch its solver selects: what is proved for every vocabulary size, and what is not."""

import contextlib
import inspect
from dataclasses import replace

import pytest

pytest.importorskip("z3")

from draftproof.experiments.cli.prove.selected import any_selected
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.theorems.any_vocabulary.layers import hypotheses
from draftproof.simulator.theorems.any_vocabulary.selection import AnySelection
from draftproof.simulator.theorems.proof.watch import NotFollowed
from draftproof.verifiers import _layers, layer_transport

PAIR = Delayed(2, 0, 1)
KEPT = "mean / laws[place][token]"


def proved(scheme, depths=None):
    theorem = AnySelection(scheme, any_selected)
    return all(theorem.step(depth).proved for depth in depths or theorem.depths)


@pytest.mark.heavy
@pytest.mark.parametrize(("scheme", "depths"), [(PAIR, None), (Delayed(2, 1, 1), [0])], ids=str)
def test_it_is_lossless_whatever_is_selected(scheme, depths):
    assert proved(scheme, depths)


def test_a_path_has_nothing_to_select():
    assert proved(Delayed(1, 0, 1))


def changed(monkeypatch, old, new):
    """Step 3 with other text."""
    source = inspect.getsource(layer_transport.scored_by)
    assert source.count(old) == 1
    names = dict(vars(layer_transport))
    exec(compile(source.replace(old, new), layer_transport.__file__, "exec"), names)
    monkeypatch.setattr(layer_transport, "scored_by", names["scored_by"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (KEPT, "mean"),
        ("weight, total)", "weight, 1)"),
        ("weight, total)", "weight * weight, total)"),
        ("if mean > 0:", "if mean > 0 and token is sorted(each for _, each in weights)[0]:"),
        pytest.param("weight, total)", "weight / 2, total)", marks=pytest.mark.heavy),
        pytest.param(KEPT, "mean / mean", marks=pytest.mark.heavy),
        pytest.param("minimum(*pair) for pair", "pair[1] for pair", marks=pytest.mark.heavy),
        pytest.param("mean.__getitem__ for fork", "(mean / 2).__getitem__ for fork", marks=pytest.mark.heavy),
        pytest.param("if mean > 0:", "if mean > 0 and len(weights) < 2:", marks=pytest.mark.heavy),
        pytest.param("if mean > 0:", "if mean > 0 and token is [*weights][0][1]:", marks=pytest.mark.heavy),
        pytest.param("if mean > 0:", "if mean > 0 and weight < 1:", marks=pytest.mark.heavy),
    ],
)
def test_another_step_3_is_not_proved(monkeypatch, old, new):
    changed(monkeypatch, old, new)
    assert not proved(PAIR)


#: Other code in place of a step, or of what is done with its verdict, as if it were of the library.
LOOKS = """
def step(self, layer):
    return Step() if layer[0].node.draft[layer[0].node.children[0]] > 0 else original(self, layer)
"""
FORGETS = """
def step(self, layer):
    return original(self, [replace(scored, score=1) for scored in layer])
"""
MIDDLE = """
def step(self, layer):
    node, chances = layer[0].node, self.paths.chances
    first, second, third = node.children
    scores = {}
    if len({*node.children}) == 3 and sorted(node.children)[1] is third and (second,) in chances:
        scores[(second,)] = node.target.run.evaluated(chances[(second,)])
    return Step(scores, {(): lambda part: node.target * 0})
"""
BETWEEN = """
def _verdict(chosen, step, coin):
    verdict = original(chosen, step, coin)
    drafted, token = sorted(set(chosen.node.children)), verdict.correction
    if len(drafted) == 2 and drafted[0] < token < drafted[1]:
        return Verdict(verdict.accepted, drafted[0])
    return verdict
"""


def replaced(monkeypatch, where, name, text):
    names = {**vars(_layers), "original": getattr(where, name), "replace": replace}
    exec(compile(text, _layers.__file__, "exec"), names)
    monkeypatch.setattr(where, name, names[name])


@pytest.mark.parametrize(
    ("where", "name", "text", "why"),
    [
        (layer_transport.LayerTransport, "step", LOOKS, "a row took part in what is not linear"),
        (_layers, "_verdict", BETWEEN, "a token was used as a number"),
    ],
    ids=["the law of branches that are selected is looked at", "tokens that are not drafted are sorted"],
)
def test_it_is_refused(monkeypatch, where, name, text, why):
    replaced(monkeypatch, where, name, text)
    with pytest.raises(NotFollowed, match=why):
        proved(PAIR, [0])


def of_every_length(branches):
    return all(proof().proved for *_, proof in hypotheses(AnySelection(Delayed(branches, 0, 1), any_selected)))


def test_a_path_of_any_length():
    assert of_every_length(1)


def deeper(condition):
    """Another correction where two more layers are drafted below the node, if something else holds, too."""
    below = f"means is not None and node.children and {condition} and node.child(node.children[0]).children"
    return _layers, "_verdict", "    return", f"    if {below}:\n        rest = node.target\n    return"


@pytest.mark.parametrize(
    ("where", "name", "old", "new"),
    [
        (_layers, "_accepted", "scored.score - total_mean", "1 - total_mean"),
        (_layers, "_accepted", "1 - sum(scored.score for scored in layer)", "1"),
        (_layers, "_accepted", "scored.score if means is None", "1 if means is None"),
        (_layers, "_verdict", "chosen.score * node.target", "node.target"),
        (_layers, "_verdict", "node.target if means is None", "node.draft if means is None and node.children"),
        (_layers, "_below", "scores[context])", "1)"),
        (_layers, "sweep", "layers.pop(), steps.pop()", "layers.pop(), steps.pop(); steps = steps[:1]"),
        deeper("total_mean(means, node.target) > 0"),
        deeper("chosen.score < 1"),
        deeper("not rest[node.children[0]] > 0"),
        deeper("2 * total_mean(means, node.target) > chosen.score"),
        (layer_transport, "_single", "score * node.target, law)", "node.target, law)"),
        (layer_transport, "_single", "child_weight(score", "child_weight(1"),
    ],
)
def test_other_code_is_not_proved_for_every_length(monkeypatch, where, name, old, new):
    source = inspect.getsource(getattr(where, name))
    assert source.count(old) == 1
    names = dict(vars(where))
    exec(compile(source.replace(old, new), where.__file__, "exec"), names)
    for module in {where, layer_transport}:
        if hasattr(module, name):
            monkeypatch.setattr(module, name, names[name])
    with contextlib.suppress(NotFollowed):
        assert not of_every_length(1)


@pytest.mark.heavy
def test_a_step_that_forgets_the_score_is_not_proved(monkeypatch):
    replaced(monkeypatch, layer_transport.LayerTransport, "step", FORGETS)
    assert not proved(Delayed(2, 1, 1), [0])


@pytest.mark.heavy
def test_three_tokens_are_sorted_in_every_order(monkeypatch):
    replaced(monkeypatch, layer_transport.LayerTransport, "step", MIDDLE)
    assert not proved(Delayed(3, 0, 1), [0])
