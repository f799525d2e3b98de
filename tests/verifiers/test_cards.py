"""Every field of a card has a test that would expose a lie; losslessness is tested by conformance."""

import importlib
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from draftproof import simulator, verifiers
from draftproof.simulator import (
    CallableProcess,
    Coin,
    Delayed,
    DraftNode,
    InvalidInput,
    SamplingCoin,
    Verdict,
    Verifier,
)
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import SpecHub, Stratified, lossless_for
from draftproof.simulator.drafts.delayed import SHAPES
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.laws.guarded import verdicts
from draftproof.simulator.verdicts.cases import conformance_instances, corner_instances
from draftproof.simulator.verdicts.lossless import block_law
from draftproof.verifiers import REGISTRY, STANDALONE, make
from draftproof.verifiers.bibliography import BIBLIOGRAPHY

NAMES = list(REGISTRY)
#: `optimum` has no defaults: what needs a verifier, not its card, is tested in `test_optimum_verifier.py`.
FOLDER = Path(str(verifiers.__file__)).parent


def module_of(name: str) -> str:
    """Its file: what has a known bug, and what its authors call lossy, stand in folders of their own."""
    kind = REGISTRY[name] if isinstance(REGISTRY[name], type) else type(REGISTRY[name])
    return str(kind.__module__)


def docstring(name: str) -> str:
    return str(importlib.import_module(module_of(name)).__doc__)


def test_every_algorithm_file_has_its_entry() -> None:
    files = {path.stem: path for path in FOLDER.rglob("*.py") if not path.stem.startswith("_")}
    del files["bibliography"], files["strings"]  # rules of two tokenizers have a table of their own
    algorithms = {name for name, path in files.items() if "card: ClassVar[Card]" in path.read_text("utf-8")}
    assert algorithms == set(files) == set(REGISTRY)


@pytest.mark.parametrize("name", NAMES)
def test_source_is_in_the_bibliography_and_cited_by_the_docstring(name: str) -> None:
    card = REGISTRY[name].card
    if card.source is None:
        assert card.status in ("new", "declared lossy")
    else:
        assert card.source.key in BIBLIOGRAPHY
        assert card.status == "negative control" or f"[{card.source.key}]" in docstring(name)


def test_every_cited_key_is_in_the_bibliography_and_every_entry_is_cited() -> None:
    rooms = [Path(str(room.__file__)).parent for room in (simulator, verifiers)]
    text = "".join(path.read_text("utf-8") for room in rooms for path in room.rglob("*.py"))
    cited = set(re.findall(r"\[([a-z]+\d{4}[a-z]+)\]", text))
    assert cited == set(BIBLIOGRAPHY)


@pytest.mark.parametrize("name", NAMES)
def test_status_is_told_alike_by_card_docstring_and_source(name: str) -> None:
    card, text = REGISTRY[name].card, docstring(name)
    planted = text.startswith("Negative control: ")
    lossy = text.startswith("Declared lossy: ")
    assert card.control == (card.status == "negative control") == planted
    assert (card.source is not None and card.source.place.endswith("with one bug")) == planted
    assert (not card.control and lossless_for(card) == ()) == (card.status == "declared lossy") == lossy
    if planted or lossy:
        assert card.departs


PAIRED = {name: kind.verified_with for name, kind in simulator.SCHEMES.items() if kind.verified_with}


def test_schemes_from_papers_name_the_verifier_of_their_paper() -> None:
    modules = {
        name: f"{importlib.import_module(kind.__module__).__doc__} {kind.__doc__}"
        for name, kind in simulator.SCHEMES.items()
    }
    from_papers = {name for name, text in modules.items() if re.search(r"\[[a-z]+\d{4}|et al\. ", text)}
    assert set(PAIRED) == from_papers - {"dyspec_pruned", "rheo_own"}
    assert all(f"`{verifier}`" in modules[name] for name, verifier in PAIRED.items())


@pytest.mark.parametrize("scheme", PAIRED)
def test_the_pairing_of_a_paper_exists_and_is_declared_lossless(scheme: str) -> None:
    """What a card declares is proved on its conformance cases; the paper's own pairing is nothing else."""
    assert scheme in lossless_for(REGISTRY[PAIRED[scheme]].card)
    assert REGISTRY[PAIRED[scheme]].card.source is not None


@cache
def efficiencies(name: str, shape: tuple[int, int, int, int]) -> list[Any]:
    """Exact block efficiency on every conformance and corner instance of this shape."""
    instances = [*conformance_instances(shape, 8), *corner_instances(shape)]
    return [
        block_law(make(name), i.target, i.draft, Delayed(*shape[1:]), "rational", engine="enumerate").block_efficiency
        for i in instances
    ]


def dominates(better: str, worse: str) -> bool:
    pairs = [pair for s in SHAPES for pair in zip(efficiencies(better, s), efficiencies(worse, s), strict=True)]
    return all(high >= low for high, low in pairs)


@pytest.mark.one_in(12, first=1)
@pytest.mark.parametrize(
    ("better", "worse"), [(name, other) for name in NAMES for other in REGISTRY[name].card.dominates]
)
def test_declared_domination_holds_exactly(better: str, worse: str) -> None:
    assert dominates(better, worse)


def test_domination_can_be_refused() -> None:
    assert not dominates("naive", "block")


#: SpecHub takes its own pairs only; what it reads shows in test_as_published.py.
ON_ANY_DRAFTS = [name for name in STANDALONE if name != "spechub"]


@pytest.mark.parametrize("name", [name for name in ON_ANY_DRAFTS if make(name).card.reads_draft])
def test_declared_reader_of_the_draft_changes_with_it(name: str) -> None:
    def changes(shape: tuple[int, int, int, int]) -> Iterator[bool]:
        first, second = list(conformance_instances(shape, 2))
        size, K, L1, L2 = shape
        for path in ([0] * (L1 + L2), [1] * (L1 + L2)):
            tree = DraftTree.from_paths(path[:L1], [path[L1:]] * (K - 1) + [[size - 1] * L2])
            laws = [verdicts(make(name), tree, first.target, i.draft, RATIONAL) for i in (first, second)]
            yield laws[0] != laws[1]

    assert any(changed for shape in SHAPES for changed in changes(shape))


class FirstPathOnly:
    """A verifier that is shown one path, whatever was drafted."""

    def __init__(self, verifier: Verifier) -> None:
        self.card = verifier.card
        self._verifier = verifier

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        return self._verifier.verify(_Path(root), coin)


class _Path:
    def __init__(self, node: DraftNode) -> None:
        self._node = node
        self.context, self.target, self.draft, self.children = node.context, node.target, node.draft, node.children[:1]
        self.laws = node.laws[:1]

    def child(self, token: int) -> "_Path":
        return _Path(self._node.child(token))


@pytest.mark.one_in(32)
@pytest.mark.parametrize("name", ON_ANY_DRAFTS)
def test_single_path_is_declared_exactly_when_the_other_paths_do_not_matter(name: str) -> None:
    shape = (3, 2, 0, 2)
    differs = False
    for instance in conformance_instances(shape, 4):
        alone, whole = (
            block_law(verifier, instance.target, instance.draft, Delayed(*shape[1:]), "rational", engine="enumerate")
            for verifier in (FirstPathOnly(make(name)), make(name))
        )
        differs |= [t.tolist() for t in alone.correction] != [t.tolist() for t in whole.correction]
    assert differs == (not make(name).card.single_path)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", STANDALONE)
def test_one_float_call_works_at_the_declared_vocabulary(name: str) -> None:
    size = make(name).card.max_vocab or 32_000
    generator = np.random.default_rng(0)
    row = cache(lambda which, context: generator.dirichlet(np.full(size, 0.1)))
    target, draft = (CallableProcess(size, partial(row, which)) for which in range(2))
    coin = SamplingCoin(generator)
    schemes: list[Any] = [Delayed(3, 1, 2) if name in ON_ANY_DRAFTS else SpecHub(3)]
    schemes += [Stratified(4, 0, 3)] * ("stratified" in lossless_for(make(name).card))
    for scheme in schemes:
        tree = scheme.draw(draft, coin)
        verdict = make(name).verify(tree.root(target, draft), coin)
        assert verdict.accepted in tree
        assert target.row(verdict.accepted)[verdict.correction] > 0 or not lossless_for(make(name).card)


def test_unknown_verifiers_and_parameters_are_refused() -> None:
    with pytest.raises(InvalidInput, match="unknown verifier 'magic'; known: nss, naive, "):
        make("magic")
    with pytest.raises(InvalidInput, match="naive has no parameter 'w'; its parameters: none"):
        make("naive", w=Fraction(1))
    with pytest.raises(InvalidInput, match="ensemble has no parameter 'v'; its parameters: w"):
        make("ensemble", v=Fraction(1))


#: Values tried for a parameter; each verifier refuses those that make no sense for it.
VALUES: tuple[Any, ...] = (
    *(Fraction(0), Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(1)),
    *("lenience", "cascade"),
)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("name", "parameter"), [(name, parameter) for name in STANDALONE for parameter in make(name).card.parameters]
)
def test_declared_parameter_is_taken_explained_and_matters(name: str, parameter: str) -> None:
    assert make(name).card.parameters[parameter]
    laws, scheme, beside = set(), Delayed(2, 0, 1), {}
    if (name, parameter) == ("fly", "h"):  # it matters where a draft after a rejected one is looked at
        scheme, beside = Delayed(1, 0, 2), {"w": Fraction(1)}
    for value in VALUES:
        try:
            verifier = make(name, **{parameter: value, **beside})
        except InvalidInput:
            continue
        for instance in conformance_instances((3, scheme.K, 0, scheme.L2), 3):
            law = block_law(verifier, instance.target, instance.draft, scheme, "rational", engine="enumerate")
            laws.add((instance.digest(), *(as_python(mass) for table in law.correction for mass in table.ravel())))
    assert len(laws) > 3


PARAMETERS = [(name, parameter, Fraction(-1)) for name in STANDALONE for parameter in make(name).card.parameters]


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [*PARAMETERS, *((name, "eps", Fraction(11, 10)) for name in ("budgeted", "budgeted_tree")), ("ensemble", "w", 2)],
)
def test_a_parameter_out_of_its_range_is_refused_by_name(name: str, parameter: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"^{name}: .*\b{parameter} = {value}"):
        make(name, **{parameter: value})
