"""Rules made for i.i.d. siblings, on branches that are none: what needs less is lossless, the others get a witness."""

import json

import pytest

#: Their smallest witnesses: p and q at the root, the token whose mass is wrong, its mass and what the block gives it.
WITNESSES = {
    ("khisti", "stratified"): (["1/2", "1/2"], ["1/3", "2/3"], (0, "1/2", "7/12")),
    ("specinfer", "systematic"): (
        ["1/3", "0", "2/3"],
        ["0", "1/2", "1/2"],
        (0, "1/3", "1/6"),
    ),
}


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
