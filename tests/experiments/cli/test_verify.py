"""`draftproof verify`: the kind is read in the file, and what it is about too; nothing that it names is executed."""

import json
from pathlib import Path

import pytest

pytest.importorskip("z3")

STEP = ("--K", 1, "--L2", 1)
WORLD = ("--world", "family:dirichlet,vocab=2")
MINE = """
from pathlib import Path
from draftproof.verifiers import make
from draftproof.simulator import Card

Path("executed").touch()


class Mine:
    card = Card(name="mine", title="", source=None)

    def verify(self, root, coin):
        return make("naive").verify(root, coin)
"""


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("command", "format_of", "shown"),
    [
        (("prove", "naive", *STEP), "draftproof theorem 2", "naive: LOSSLESS for every p and q with full support"),
        (("prove", "ensemble:w=1", *STEP, "--zeros"), "draftproof theorem 2", "ensemble:w=1: LOSSLESS for every p"),
        (("prove", "khisti", "--free", "solver", "--L2", 1), "draftproof theorem 2", "khisti: LOSSLESS for every p"),
        (("prove", "block", "--equals", "naive", *STEP), "draftproof theorem 2", "block has the block efficiency of"),
        (("prove", "block", "--dominates", "naive", *STEP), "draftproof theorem 2", "block never falls below naive"),
        (("prove", "naive", "--vocab", "any", *STEP), "draftproof theorem for every vocabulary 5", "and every V"),
        (("bound", *WORLD, *STEP), "draftproof bound 1", "some lossless verifier has the block efficiency attained"),
        (("bound", *WORLD, "--bias", "0,.1", *STEP), "draftproof frontier 1", "bias 0.1: some verifier has"),
    ],
)
def test_the_kind_is_read_in_the_file(draftproof, command, format_of, shown):
    assert draftproof(*command, "--certificate", "c.json").code == 0
    ran = draftproof("verify", "c.json")
    assert (ran.code, ran.out.split()[:3]) == (0, ["c.json", "verdict", "VALID"])
    assert shown in ran.out
    ran = draftproof("verify", "c.json", "--json")
    assert (ran.row["format"], ran.row["valid"]) == (format_of, True)


def test_code_of_a_file_is_executed_only_where_the_command_names_it(draftproof):
    Path("mine.py").write_text(MINE)
    assert draftproof("prove", "mine.py:Mine", *STEP, "--certificate", "c.json").code == 0
    Path("executed").unlink()
    ran = draftproof("verify", "c.json")
    assert (ran.code, ran.out) == (2, "")
    assert "add mine.py:Mine" in ran.err
    fields = json.loads(Path("c.json").read_text())
    Path("d.json").write_text(json.dumps({**fields, "verifier": {"name": "mine.py:Mine"}}))
    assert draftproof("verify", "d.json").code == 2
    assert not Path("executed").exists()
    assert draftproof("verify", "c.json", "mine.py:Mine").code == 0
    Path("mine.py").write_text(MINE + "\n# changed\n")
    assert "is now" in draftproof("verify", "c.json", "mine.py:Mine").err


THEOREM, RELATION = ("prove", "naive", *STEP), ("prove", "block", "--dominates", "naive", *STEP)
EVERY_SIZE, CURVE = ("prove", "naive", "--vocab", "any", *STEP), ("bound", *WORLD, "--bias", "0,.1", *STEP)
TOP_K = ("bound", "--world", "family:perturbed,s=1", "--scheme", "top_k:K=2,L1=0,L2=2")
LONG_RUN = ("bound", "--world", "text:topics,vocab=2,target_order=2", "--K", 2, "--L2", 2, "--long-run")


def another_order(fields):
    first = fields["plan"]["orders"][0][0]
    first[:2] = first[1::-1]


#: Of a certificate the new fields, or what changes it: then it is about nothing that can be checked, or rejected.
NOTHING = [
    *((THEOREM, {"format": each}) for each in ("draftproof theorem for every vocabulary 4", None)),
    *((THEOREM, {"vocab_size": each}) for each in (2.0, -1, 3)),
    *((THEOREM, {"free": each}) for each in ("w", ["w"])),
    *((THEOREM, {"scheme": {"name": "delayed", **each}}) for each in ({"K": 1}, {"K": 10**6, "L1": 0, "L2": 1})),
    *((THEOREM, {"verifier": each}) for each in ("naive", {"name": "nss", "w": "1"}, {"name": "none"}, {"w": "1"})),
    *((THEOREM, {"answers": each}) for each in ([[1] * 4], ["1"], [[[]]], {}, [["1e9999999"]], [["9" * 5000]])),
    (THEOREM, {"zeros": 1}), (THEOREM, {"scheme": {"file": "mine.py:Scheme"}}),
    (RELATION, {"kind": "is"}), (RELATION, {"other": None}),
    (TOP_K, lambda fields: fields["instance"].update(scheme={"name": "specinfer_config", "widths": [60, 60]})),
]  # fmt: skip
REJECTED = [
    (THEOREM, lambda fields: fields["answers"].append(None)),
    (RELATION, {"verifier": {"name": "nss"}}),
    (RELATION, lambda fields: fields.update(json.loads(json.dumps(fields).replace('"equal"', '"surely"', 1)))),
    (EVERY_SIZE, lambda fields: fields["polynomials"][0][0].__setitem__(0, 7)),
    (TOP_K, another_order),
    (CURVE, lambda fields: fields["points"][1].update(bias="1/100")),
    (LONG_RUN, lambda fields: fields.update(upper=fields["lower"])),
]
TEXTS: dict[tuple, str] = {}


@pytest.mark.parametrize(
    ("code", "command", "change"),
    [(code, *each) for code, table in ((2, NOTHING), (1, REJECTED)) for each in table],
    ids=lambda value: "made" if callable(value) else str(value)[:40],
)
def test_a_certificate_that_was_changed_is_refused_in_one_line_or_rejected(draftproof, code, command, change):
    if command not in TEXTS:
        assert draftproof(*command, "--certificate", "c.json").code == 0
        TEXTS[command] = Path("c.json").read_text()
    fields = json.loads(TEXTS[command])
    if callable(change):
        change(fields)
    else:
        fields |= change
    Path("c.json").write_text(json.dumps(fields))
    ran = draftproof("verify", "c.json")
    assert ran.code == code
    if code == 1:
        assert "REJECTED" in ran.out
    else:
        assert (ran.out, len(ran.err.strip().splitlines())) == ("", 1)


@pytest.mark.heavy
@pytest.mark.parametrize("verifier", ["ensemble:w=1/2", "typical", "threshold"])
def test_the_certificate_of_another_verifier_does_not_make_a_lossy_one_lossless(draftproof, verifier):
    from draftproof.experiments.inputs.verifiers import find_verifier

    for options in ((), ("--vocab", "any")):
        assert draftproof("prove", "naive", *STEP, *options, "--certificate", "c.json").code == 0
        fields = {**json.loads(Path("c.json").read_text()), "verifier": find_verifier(verifier).identity}
        Path("c.json").write_text(json.dumps(fields))
        ran = draftproof("verify", "c.json")
        assert ran.code in (1, 2)
        assert "VALID" not in ran.out


def test_options_of_the_other_kinds_are_refused(draftproof):
    assert draftproof("prove", "naive", *STEP, "--certificate", "c.json").code == 0
    assert draftproof("bound", *WORLD, *STEP, "--certificate", "b.json").code == 0
    Path("i.json").write_text(json.dumps(json.loads(Path("b.json").read_text())["instance"]))
    assert "leave the instance out" in draftproof("verify", "c.json", "--instance", "i.json").err
    assert "leave block out" in draftproof("verify", "b.json", "block").err
