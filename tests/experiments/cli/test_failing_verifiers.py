"""A verifier that fails on a legal instance is refuted there, and the verifiers beside it go on."""

import pytest

import draftproof

SOURCE = '''
from draftproof import Card, Verdict


class Target:
    """Lossless: draws from the target."""

    card = Card("target", "Target", None)

    def verify(self, root, coin):
        return Verdict((), coin.choose(root.target))


class Empty(Target):
    card = Card("empty", "No token is left to draw", None)

    def verify(self, root, coin):
        if root.children and (root.target == root.draft).all():
            coin.choose(root.target - root.draft)
        return super().verify(root, coin)


class Negative(Target):
    card = Card("negative", "The residual is not cut at 0", None)

    def verify(self, root, coin):
        return Verdict((), coin.choose(root.target - root.draft if root.children else root.target))


class Unlimited(Target):
    card = Card("unlimited", "p / q without min", None)

    def verify(self, root, coin):
        if root.children:
            coin.flip(root.target[root.children[0]] / root.draft[root.children[0]])
        return super().verify(root, coin)


class Outside(Target):
    card = Card("outside", "A token outside the vocabulary", None)

    def verify(self, root, coin):
        return Verdict((), len(root.target))


class Floats(Target):
    card = Card("floats", "Weights that are no exact numbers", None)

    def verify(self, root, coin):
        return Verdict((), coin.choose([0.0] * len(root.target)))


class Divides(Target):
    card = Card("divides", "Raises", None)

    def verify(self, root, coin):
        return Verdict((), coin.choose(root.target / root.draft))


class Flips(Target):
    def verify(self, root, coin):
        return Verdict((), int(coin.flip(0.5)))


class Draft(Target):
    card = Card("theirs", "Draws from the draft", None)

    def verify(self, root, coin):
        return Verdict((), coin.choose(root.draft))
'''
WORDS = {
    "Empty": "weights [0, 0]; they must be >= 0, not all 0 (theirs.py line 19, in verify: ",
    "Negative": "they must be >= 0, not all 0 (theirs.py line 27, in verify: ",
    "Unlimited": "it must lie in [0, 1] (theirs.py line 35, in verify: ",
    "Outside": "is no token; tokens are 0..1 (theirs.py line 42, verify)",
}
PAIR = ["1/2", "1/2"], ["1/3", "2/3"]


@pytest.fixture
def run(draftproof):
    return lambda command: draftproof(*command.split())


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "theirs.py").write_text(SOURCE)
    names: dict = {}
    exec(compile(SOURCE, "theirs.py", "exec"), names)
    return names


@pytest.mark.parametrize("name", WORDS)
def test_check_refutes_it_with_instance_scheme_and_line(run, theirs, name):
    ran = run(f"check theirs.py:{name} --witness witness.json --json")
    assert ran.code == 1
    assert WORDS[name] in ran.row["fails"]
    assert not ran.row["lossless"]
    assert ran.witness["vocab_size"] == 2
    again = run(f"check theirs.py:{name} --world witness.json")
    assert again.code == 1
    assert "REFUTED, it fails" in again.out
    assert WORDS[name].partition(" (")[0] in again.out


@pytest.mark.parametrize(
    ("name", "says"),
    [("Floats", "0.0"), ("Divides", "ZeroDivisionError: fmpq division by zero (theirs.py line 57"), ("Flips", "0.5")],
)
def test_what_exact_numbers_do_not_have_is_bad_input(run, theirs, name, says):
    ran = run(f"check theirs.py:{name}")
    assert (ran.code, says in ran.err) == (2, True), ran.err


def test_verifiers_of_a_file_are_checked_as_ours_are(run, theirs):
    assert run("check theirs.py:Target --K 2").code == 0
    refuted = run("check theirs.py:Draft --K 2 --json")
    assert (refuted.code, refuted.row["verifier"]) == (1, "theirs")


def test_in_compare_and_in_checks_of_several_the_others_go_on(run, theirs):
    ran = run("compare theirs.py:Unlimited theirs.py:Target --K 1 --L2 1 --no-optimum --resume rows.db -o a.csv")
    assert ran.code == 0
    assert "REFUTED, no row: unlimited on delayed(K=1, L1=0, L2=1)" in ran.out
    assert "to rounding" in ran.out
    assert "fails on legal rows" in run("report rows.db").out
    assert run("compare theirs.py:Outside --K 1 --L2 1 -o b.csv -o c.md").code == 0
    ran = run("check theirs.py:Outside theirs.py:Target --world conformance:instances=1 --scheme delayed --json")
    assert [row["lossless"] for row in ran.json["rows"]] == [False, True]
    assert WORDS["Outside"] in ran.json["rows"][0]["fails"]


@pytest.mark.parametrize("name", WORDS)
def test_python_says_the_same(theirs, name):
    failing = theirs[name]()
    pair = ([*PAIR[0]], [*PAIR[1]]) if name != "Empty" else (PAIR[0], PAIR[0])
    found = draftproof.check(failing, pair, "delayed:K=1,L1=0,L2=1")
    assert found.verdict == 1
    assert WORDS[name].partition(" (")[0].partition("weights")[0] in found.row["fails"]
    with pytest.raises(AssertionError, match=rf"{name.lower()} fails: .*theirs.py line"):
        draftproof.assert_lossless(failing)
    with pytest.raises(AssertionError, match=rf"{name.lower()} fails: .*theirs.py line"):
        draftproof.assert_lossless(failing, *pair, "delayed:K=1,L1=0,L2=1")
    rows = draftproof.compare([failing, "naive"], pair, "delayed:K=1,L1=0,L2=1").rows
    assert [row["lossless"] for row in rows] == [True, False]
    assert "theirs.py line" in rows[1]["error"]
