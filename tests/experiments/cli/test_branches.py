"""Rules made for i.i.d. siblings, on branches that are none: what needs less is lossless, the others get a witness."""

import json

import pytest

from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.instances.instance import Instance
from draftproof.verifiers import make

#: Rules that take the siblings for i.i.d. ones, and one that reads the law of each where these depend on one another.
WRONG = [*((name, "stratified") for name in ("khisti", "spectr", "gbv_tree")), ("specinfer", "systematic")]
#: Their smallest witnesses: p and q at the root, the token whose mass is wrong, its mass and what the block gives it.
WITNESSES = {
    ("khisti", "stratified"): (["1/2", "1/2"], ["1/3", "2/3"], (0, "1/2", "7/12")),
    ("specinfer", "systematic"): (
        ["1/3", "0", "2/3"],
        ["0", "1/2", "1/2"],
        (0, "1/3", "1/6"),
    ),
}


@pytest.mark.heavy
@pytest.mark.parametrize("named", WRONG, ids="-".join)
def test_a_rule_that_takes_branches_for_iid_ones_is_refuted_with_a_small_witness(draftproof, named):
    name, scheme = named
    assert scheme not in lossless_for(make(name).card)
    ran = draftproof("check", name, "--scheme", f"{scheme}:K=2,L1=0,L2=1", "--json")
    assert ran.code == 1
    witness = ran.witness
    assert witness["shrunk"] is True
    assert witness["vocab_size"] <= 3
    assert Instance.load(witness["file"]).scheme.K == 2


@pytest.mark.parametrize("named", WITNESSES, ids="-".join)
def test_the_witness_says_which_token_has_the_wrong_mass(draftproof, tmp_path, named):
    (p, q, found), (name, scheme) = WITNESSES[named], named
    rows = {"": p, **{str(token): p for token in range(len(p))}}
    fields = {"vocab_size": len(p), "depth": 1, "target": rows, "draft": {"": q}}
    for drawn, code in ((f"{scheme}:K=2,L1=0,L2=1", 1), ("delayed:K=2,L1=0,L2=1", 0)):
        (tmp_path / "rows.json").write_text(json.dumps(fields))
        ran = draftproof("check", name, "--world", str(tmp_path / "rows.json"), "--scheme", drawn, "--json")
        assert ran.code == code
        assert code == 0 or tuple(ran.witness[field] for field in ("token", "expected", "found")) == found


@pytest.mark.parametrize(
    ("name", "scheme"), [("traversal", "stratified"), ("optimal_transport", "stratified"), ("block", "systematic")]
)
def test_what_reads_the_law_of_each_branch_or_one_path_only_is_lossless(draftproof, name, scheme):
    assert scheme in lossless_for(make(name).card)
    assert draftproof("check", name, "--scheme", f"{scheme}:K=2,L1=0,L2=1").code == 0
