"""A draft scheme from a file, `--scheme FILE.py:NAME`, in every command that takes one."""

import shlex

import pytest

from draftproof.experiments.inputs.schemes import find_schemes
from draftproof.simulator.errors import InvalidInput

SOURCE = '''
class Twice:
    """So many independent tokens."""
    depth = 1
    def __init__(self, k=2):
        self.k = k
    def draw(self, draft, coin):
        return [(coin.choose(draft.row(())),) for _ in range(self.k)]

class Chain:
    """One path of two tokens."""
    depth = 2
    def draw(self, draft, coin):
        first = coin.choose(draft.row(()))
        return [(first, coin.choose(draft.row((first,))))]

class Several:
    depth = 1
    def __init__(self, K, L2):
        self.k = K
    draw = Twice.draw

class Broken:
    depth = 1
    def draw(self, draft, coin):
        return [(coin.choose(draft.rows(())),)]
'''

THEIRS = """
import random

def chain(tokens, q, p):
    for place, token in enumerate(tokens):
        if random.random() * q[place][token] >= p[place][token]:
            rest = [max(a - b, 0) for a, b in zip(p[place], q[place])]
            return place, random.choices(range(len(rest)), weights=rest)[0]
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]

def careless(tokens, q, p):
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]
"""


@pytest.fixture
def run(draftproof, tmp_path):
    """The command in a folder with both files."""
    (tmp_path / "mine.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "theirs.py").write_text(THEIRS, encoding="utf-8")
    return lambda command, *more: draftproof(*shlex.split(command), *more)


@pytest.mark.heavy
def test_check(run):
    own = run("check specinfer --scheme mine.py:Twice:k=3 --world family:dirichlet --json")
    ours = run("check specinfer --K 3 --L2 1 --json")
    assert (own.code, own.row["block_efficiency"]) == (0, ours.row["block_efficiency"])
    assert run("check naive_from_target --scheme mine.py:Twice").code == 1
    many = run("check specinfer --scheme mine.py:Twice --json")
    assert (many.code, many.row["instances"], {row["vocab_size"] for row in many.json["covered"]}) == (0, 55, {2, 3, 4})


@pytest.mark.heavy
def test_audit(run):
    lossless = run("audit theirs.py:chain --interface chain --scheme mine.py:Chain --cases context,zeros --json")
    assert lossless.code == 0
    assert {case["scheme"] for case in lossless.json["cases"]} == {"Chain"}
    refuted = run("audit theirs.py:careless --interface chain --scheme mine.py:Chain --cases context")
    assert refuted.code == 1


@pytest.mark.heavy
def test_prove(run):
    assert run("prove naive --scheme mine.py:Chain --vocab 2").code == 0
    assert run("prove specinfer --scheme mine.py:Twice:k=3 --vocab 2").code == 0
    assert run("prove naive_from_target --scheme mine.py:Chain --vocab 2").code == 1


def test_every_verifier_on_every_scheme(run):
    world = "--world conformance:instances=2"
    ran = run(f"check specinfer naive_from_target {world} --scheme mine.py:Twice:k=3 --scheme top_k --json")
    assert ran.code == 1
    status = {(row["verifier"], row["scheme"]): row["verdict"].partition(" ")[0] for row in ran.json["rows"]}
    assert status == {
        ("specinfer", "mine.py:Twice:k=3"): "LOSSLESS",
        ("specinfer", "top_k"): "REFUTED",
        ("naive_from_target", "mine.py:Twice:k=3"): "REFUTED",
        ("naive_from_target", "top_k"): "REFUTED",
    }
    assert [line["verifier"] for line in ran.json["table"]] == ["specinfer", "naive_from_target"]
    assert ran.json["table"][0]["mine.py:Twice:k=3"].startswith("LOSSLESS on ")
    refuted, shown = ({(row["verifier"], row["scheme"]) for row in ran.json[name]} for name in ("witness", "instance"))
    assert len(refuted) == 3
    assert shown == refuted  # each has its instance
    [row] = run(f"check specinfer {world} --scheme mine.py:Twice --json").json["rows"]
    assert (row["lossless"], row["card"]) == (True, None)  # no card speaks of a scheme of somebody's own


def test_a_scheme_on_which_a_verifier_is_not_defined_does_not_end_the_others(run):
    schemes = "--scheme without_replacement:K=3 --scheme delayed:K=1,L1=0,L2=1"
    ran = run(f"check gbv naive {schemes} --json")
    assert [row["verdict"].partition(" (")[0] for row in ran.json["rows"]][:2] == ["NOT DEFINED", "LOSSLESS"]
    assert "i.i.d." in ran.json["rows"][0]["fails"]


def test_a_scheme_that_is_too_large_for_the_conformance_instances_is_refused(run):
    refused = run("check naive --world conformance --scheme delayed:K=5,L2=3 --max-runs 2000000")
    said = " ".join(refused.err.split())
    assert refused.code == 2
    assert (
        "more than 2,000,000; the nearest shape that fits is delayed(K=3, L1=0, L2=3), or allow more runs (--max-runs)"
        in said
    )
    assert said.count("naive on delayed(K=5, L1=0, L2=3)") == 1


@pytest.mark.parametrize(
    "command",
    [
        "check naive", "compare naive", "bound", "check naive --precision float16", "prove naive",
        "audit theirs.py:chain --interface chain", "check naive --world conformance",
    ],
)  # fmt: skip
def test_what_its_draw_raises_is_told_with_its_line(run, command):
    ran = run(command + " --scheme mine.py:Broken")
    said = " ".join(ran.err.split())
    assert ran.code == 2
    assert "draw raised AttributeError" in said
    assert "mine.py line 26, in draw: `return [(coin.choose(draft.rows(())),)]`" in said


def test_each_of_a_range_of_parameters_has_a_name(run):
    rows = run("check specinfer --scheme mine.py:Several --K 1..2 --L2 1 --json").json["rows"]
    assert [row["scheme"] for row in rows] == ["Several(K=1, L2=1)", "Several(K=2, L2=1)"]
    ran = run("compare specinfer --scheme mine.py:Several --K 1..2 --L2 1 --resume rows.db --json")
    assert [row["scheme"] for row in ran.json["rows"]] == ["Several(K=1, L2=1)", "Several(K=2, L2=1)"]


def test_an_edit_of_a_scheme_is_seen_also_below_a_folder_named_like_a_file(run, tmp_path):
    own = tmp_path / "old.py" / "mine.py"
    own.parent.mkdir()
    seen = []
    for text in (SOURCE, SOURCE.replace("k=2", "k=3")):
        own.write_text(text)
        row = run("compare specinfer --scheme old.py/mine.py:Twice --resume rows.db --json").row
        seen.append((row["block_efficiency"], row["strong_id"]))
    assert len({value for value, _ in seen}) == len({name for _, name in seen}) == 2


def test_objects_that_no_row_can_tell_apart_are_refused_together():
    class Tokens:
        depth = 1

        def __init__(self, count: int) -> None:
            self.count_of = count

        def draw(self, draft, coin):
            return [(coin.choose(draft.row(())),) for _ in range(self.count_of)]

    two = Tokens(2)
    with pytest.raises(InvalidInput, match=r"are both called Tokens; give each a `name` of its own"):
        find_schemes([two, Tokens(3)])
    assert [scheme.scheme for scheme in find_schemes([two, two])] == [two]
