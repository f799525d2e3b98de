"""Bad input: exit 2 and one line on stderr that names the culprit; stdout stays empty and nothing is written."""

import json
from pathlib import Path

import pytest

ROWS = {"": ["1/3", "2/3"], "0": ["1/2", "1/2"], "1": ["1", "0"]}
GOOD = {"vocab_size": 2, "depth": 1, "target": ROWS, "draft": {"": ["1/2", "1/2"]}}
STRATIFIED = {"name": "stratified", "K": 2, "L1": 0, "L2": 1, "order": "descending"}


def changed(**fields: object) -> dict:
    return {**GOOD, **fields}


#: (what the file holds, what the message must name)
INSTANCES = {
    "no JSON": ("{", "line 1"),
    "a list": ("[]", "must be an object"),
    "no vocab_size": (json.dumps({k: v for k, v in GOOD.items() if k != "vocab_size"}), "'vocab_size'"),
    "no draft": (json.dumps({k: v for k, v in GOOD.items() if k != "draft"}), "'draft'"),
    "unknown key": (json.dumps(changed(verifier="x")), "'verifier'"),
    "vocab_size text": (json.dumps(changed(vocab_size="2")), "'2'"),
    "vocab_size zero": (json.dumps(changed(vocab_size=0)), "0"),
    "negative depth": (json.dumps(changed(depth=-1)), "-1"),
    "too large": (json.dumps(changed(vocab_size=100, depth=6)), "make it smaller"),
    "row sum": (json.dumps(changed(target={**ROWS, "0": ["1/2", "1/3"]})), "5/6"),
    "negative entry": (json.dumps(changed(target={**ROWS, "0": ["3/2", "-1/2"]})), "-1/2"),
    "missing context": (json.dumps(changed(target={"": ["1/3", "2/3"], "0": ["1/2", "1/2"]})), "'1'"),
    "context too deep": (json.dumps(changed(target={**ROWS, "0,0": ["1/2", "1/2"]})), "'0,0'"),
    "token too large": (json.dumps(changed(target={**ROWS, "2": ["1/2", "1/2"]})), "'2'"),
    "short row": (json.dumps(changed(target={**ROWS, "0": ["1"]})), "2 probabilities"),
    "no mass": (json.dumps(changed(draft={"": ["0", "0"]}, scheme=STRATIFIED)), "draft row () sums to 0"),
    "not a number": (json.dumps(changed(target={**ROWS, "0": ["a", "1"]})), "'a'"),
    "division by zero": (json.dumps(changed(target={**ROWS, "0": ["1/0", "1"]})), "'1/0'"),
    "not a number but NaN": (json.dumps(changed(target={**ROWS, "0": [float("nan"), 1]})), "nan"),
    "rounded decimals": (json.dumps(changed(target={**ROWS, "0": [0.333, 0.666]})), "999/1000"),
    "rows as a list": (json.dumps(changed(target=[["1/3", "2/3"]])), "must be an object"),
    "key twice": (json.dumps(GOOD).replace('"1": [', '"0": ['), "stands twice"),
    "scheme unknown": (json.dumps(changed(scheme={"name": "beam"})), "beam"),
    "scheme with text": (json.dumps(changed(scheme={"name": "delayed", "K": "2", "L1": 0, "L2": 1})), "whole number"),
    "too shallow": (json.dumps({**GOOD, "scheme": {"name": "delayed", "K": 2, "L1": 0, "L2": 3}}), "depth 1"),
}

#: (arguments, what the message must name)
FLAGS = [
    ("check blok", "did you mean 'block'"), ("check", "VERIFIER"), ("check block --K 0", "K = 0"),
    ("check block --K x", "K 'x'"), ("check block --L1 -1", "L1 '-1'"), ("check block --K 2 --L2 0", "L2 = 0"),
    ("check block --scheme stratified:K=0", "K = 0"), ("bound --scheme systematic --K 0", "K = 0"),
    ("check block --scheme rsd_s:K=0", "K = 0"), ("compare block --scheme stratified:order=up", "order = 'up'"),
    ("bound --scheme systematic:order=1", "order = '1'"), ("check block --scheme stratified:L2=0", "L2 = 0"),
    ("check block --scheme beam", "beam"), ("check block --world family:nope", "nope"),
    ("check block --world family:perturbed,z=1", "'z'"), ("check block --world family:perturbed,s=-1", "-1"),
    ("check block --world family:perturbed,s=1e400", "1e400 is too large"),
    ("check block --world file:.", "instance file .: it is no regular file"), ("check mine.py:", "write mine.py:NAME"),
    ("check block --world family:dirichlet,alpha=0", "alpha"),
    ("check block --world family:marginals,alpha=0", "marginals: alpha"),
    ("check block --world family:dirichlet,vocab=1", "at least 2"),
    ("check block --world family:dirichlet,denominator=2", "denominator 2"),
    ("check block --world family:dirichlet,seeds=-1", "-1 is no whole number"),
    ("check block --arithmetic float32", "float32"), ("check typical --engine structured", "structured"),
    ("check block --backend tpu", "tpu"), ("check block --K 1 --backend torch", "--arithmetic float64"),
    ("check nss --K 2 --max-memory 0", "memory"), ("check block --engine gpu", "gpu"),
    ("check block --world family:dirichlet,seeds=3..2", "seeds=3..2"),
    ("check block --world text:topics,seeds=0..1", "seeds"), ("check block --world grid:denominator=0", "denominator"),
    ("check block --world grid:denominator=3,vocab=4 --L2 3", "grid"),
    ("check block --world grid:denominator=3,vocab=4 --L2 3 --engine enumerate", "--max-runs"),
    ("check block --world none.json", "none.json"), ("check block --world text:none.txt", "none.txt"),
    ("check block --world text:topics,vocab=4000", "4000"),
    ("check block --world text:topics,draft_order=4", "draft order 4"),
    ("check block --world text:topics,root=x", "'x'"), ("check block --world text:topics,root=xyz,roots=2", "roots"),
    ("check block --world family:dirichlet,target_order=2", "target_order"),
    ("check block --world family:dirichlet,vocab=4 --K 4 --L2 12", "the deepest that fit have depth 9"),
    ("check traversal --K 4 --L2 4 --engine enumerate", "the nearest shape that fits is"),
    ("check traversal --K 6 --L2 6 --arithmetic float64", "the nearest shape that fits is delayed(K=5"),
    ("check block --world text:topics,vocab=27 --L2 12", "does not collapse"), ("check ensemble:w=2", "w = 2"),
    ("check ensemble:w=x", "'x'"), ("check block:w=1", "'w'"), ("check none.py:Mine", "none.py"),
    ("check block -o none/a.json", "none/a.json"), ("check block --witness none/a.json", "none/a.json"),
    ("check block --frob", "--frob"), ("compare block --K 3..1", "'3..1'"), ("compare block --L1 a", "L1 'a'"),
    ("compare block --budget 99", "99"), ("compare blok", "blok"), ("compare block --plot none/a.png", "none/a.png"),
    ("compare block --jobs 0", "jobs 0"), ("check block --K 1000000 --L2 1", "1000000"),
    ("check block --L2 1000000000", "1000000000"), ("compare block --L1 0..1000000000", "1000000000"),
    ("check block --world grid:denominator=3 --L2 22", "grid"),
    ("check block --world grid:equal,denominator=2", "equal"),
    ("check block --world family:dirichlet,denominator=99999999999999999999", "99999999999999999999"),
    ("check block --world text:topics,target_order=1000000000", "1000000000"),
    ("check ensemble:w=1e-99999999", "1e-99999999"), ("check ensemble:w=1,w=0", "twice"),
    ("check block --scheme topology:tree=3-0", "tree"), ("check block --scheme delayed:tree=1-0", "tree"),
    ("check block --scheme adaptive --K 2", "K = 2"), ("check block --scheme adaptive:confidence=2", "confidence"),
    ("check gbv --scheme without_replacement --K 3", "i.i.d."), ("compare block -o a.csv --plot a.csv", "a.csv"),
    ("check blok --world conformance", "blok"),
    ("check block --world conformance:count=1", "instances=8"), ("frob", "frob"),
]  # fmt: skip


def assert_refused(ran, named: str) -> None:
    assert ran.code == 2, ran.err
    assert named in ran.err
    last = ran.err.strip().splitlines()
    assert [line for line in last if line.startswith("draftproof: ")] == last[-1:]
    assert len(last) <= 2  # at most the cost estimate before it
    assert "Traceback" not in ran.err
    assert ran.err == ran.err.replace("\x1b", "")  # no bar, no colour where stderr is no terminal


@pytest.mark.parametrize("what", INSTANCES)
def test_malformed_instance(draftproof, tmp_path, what):
    content, named = INSTANCES[what]
    Path("bad.json").write_text(content)
    ran = draftproof("check", "block", "--world", "bad.json", *(() if what == "too shallow" else ("--L2", 1)))
    assert_refused(ran, named)
    assert ran.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["bad.json"]


def test_the_instance_that_the_malformed_ones_are_made_from_is_good(draftproof):
    Path("good.json").write_text(json.dumps(GOOD))
    assert draftproof("check", "block", "--world", "good.json").code == 0


@pytest.mark.parametrize(("arguments", "named"), FLAGS, ids=[arguments for arguments, _ in FLAGS])
def test_bad_flags(draftproof, tmp_path, arguments, named):
    assert_refused(draftproof(*arguments.split()), named)
    assert list(tmp_path.iterdir()) == []


def test_a_text_that_is_not_utf8(draftproof):
    Path("latin.txt").write_bytes(b"caf\xe9 " * 100)
    assert_refused(draftproof("check", "block", "--world", "text:latin.txt"), "UTF-8")


def test_a_file_without_a_verifier(draftproof):
    Path("mine.py").write_text("x = 1\n")
    assert_refused(draftproof("check", "mine.py:x"), "no verifier")
    Path("broken.py").write_text("import nothing_of_that_name\n")
    assert_refused(draftproof("check", "broken.py:x"), "nothing_of_that_name")


def test_a_resume_file_that_holds_something_else_is_left_alone(draftproof):
    Path("notes.txt").write_text("my notes\nmore notes\nand more\n")
    assert_refused(
        draftproof("compare", "nss", "--world", "family:dirichlet,vocab=2", "--resume", "notes.txt"), "notes.txt"
    )
    assert Path("notes.txt").read_text() == "my notes\nmore notes\nand more\n"
