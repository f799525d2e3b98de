"""`layer_transport` whichever branch its solver selects: what is proved for every vocabulary size, and what is not."""

import inspect
from functools import partial

import pytest

pytest.importorskip("z3")

from draftproof.experiments.cli.prove import selected
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import DraftproofError
from draftproof.simulator.theorems.any_vocabulary.selection import AnySelection
from draftproof.verifiers import layer_transport
from draftproof.verifiers._layers import Step

PAIR = Delayed(2, 0, 1)
KEPT = "mean / laws[place][token]"


def proved(scheme, depths=None, made=None):
    verifier = layer_transport.LayerTransport()
    theorem = AnySelection(scheme, verifier, made or partial(selected.AnySelected, verifier))
    return all(theorem.step(depth).proved for depth in depths or theorem.depths)


@pytest.mark.heavy
@pytest.mark.parametrize("scheme", [PAIR, Delayed(2, 1, 1)], ids=str)
def test_it_is_lossless_whatever_is_selected(scheme):
    assert proved(scheme)


def test_a_path_has_nothing_to_select():
    assert proved(Delayed(1, 0, 1))


def changed(monkeypatch, old, new):
    """Step 3 with other text."""
    source = inspect.getsource(layer_transport.scored_by)
    assert source.count(old) == 1
    names = dict(vars(layer_transport))
    exec(compile(source.replace(old, new), layer_transport.__file__, "exec"), names)
    monkeypatch.setattr(selected, "scored_by", names["scored_by"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (KEPT, "mean"),
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


class Looks(selected.AnySelected):
    """Looks at the law that its branches are drawn from."""

    def _step(self, layer):
        for scored in layer:
            if scored.node.children and scored.node.draft[scored.node.children[0]] > 0:
                return Step()
        return super()._step(layer)


def test_the_law_of_branches_that_are_selected_cannot_be_looked_at():
    with pytest.raises(DraftproofError, match="a row took part in what is not linear"):
        proved(PAIR, [0], partial(Looks, layer_transport.LayerTransport()))
