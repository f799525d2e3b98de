"""`draftproof batch`: the table, what programs read, cuts of one's own, bad input in one line."""

from fractions import Fraction

import pytest

from draftproof.experiments.inputs.cuts import ALL_CUTS, USUAL

SMALL = ("--vocab", "2", "--denominator", "20", "--K", "1", "--L2", "1", "--budget", "1")
OWN = """
def first(drafts, budget):
    return [[0], []]

class Unlikely:
    def __init__(self, at):
        self.at = at

    def __call__(self, drafts, budget):
        kept = [[0] if d.rows[0][d.tokens[0]] < self.at else [] for d in drafts]
        return [kept[0], kept[1] if not kept[0] else []]
"""


def test_every_usual_cut_has_a_row_and_the_lossy_one_says_where(draftproof):
    ran = draftproof("batch", *SMALL, "--json", "-")
    assert ran.code == 1
    rows = {row["cut"]: row for row in ran.json["rows"]}
    assert tuple(rows) == USUAL
    best = Fraction(rows["optimum"]["tokens"])
    for name, row in rows.items():
        assert row["lossless"] is not row["peeks"] is (name == "greedy:by=token")
        assert sum(map(Fraction, row["tokens_by_request"])) == Fraction(row["tokens"])
        assert not row["lossless"] or Fraction(row["tokens"]) <= best
    assert rows["greedy:by=token"]["violation"].startswith("request 2: after context (), token 0 must have mass 4/5;")
    printed = draftproof("batch", *SMALL).out
    assert "greedy:by=token is lossy: request 2" in printed
    assert "greedy:by=token peeks: request " in printed


def test_the_list_has_every_cut(draftproof):
    listed = draftproof("list", "--json", "-").json["cuts"]
    assert [cut["name"] for cut in listed] == list(ALL_CUTS)
    assert all(cut["description"].endswith(".") for cut in listed)


def test_several_batches_have_the_mean_of_each(draftproof):
    means = draftproof("batch", "greedy", "optimum", *SMALL, "--batches", 3, "--json", "-").json["rows"]
    single = [
        draftproof("batch", "greedy", "optimum", *SMALL, "--seed", seed, "--json", "-").json["rows"]
        for seed in (0, 2, 4)
    ]
    for number, row in enumerate(means):
        tokens = [Fraction(rows[number]["tokens"]) for rows in single]
        best = [max(Fraction(line["tokens"]) for line in rows) for rows in single]
        assert (row["batches"], Fraction(row["tokens"])) == (3, sum(tokens) / 3)
        assert row["share"] == float(sum(tokens) / sum(best))
        assert row["least_share"] == float(min(one / most for one, most in zip(tokens, best, strict=True)))


def test_cuts_of_files_and_of_several_sources(draftproof, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OWN)
    ran = draftproof("batch", "mine.py:first", "mine.py:Unlikely:at=1/2", *SMALL, "--json", "-")
    assert (ran.code, [row["lossless"] for row in ran.json["rows"]]) == (1, [True, False])
    text = draftproof("batch", "equal", "--text", "topics", *SMALL, "--requests", 3, "--verifier", "block")
    assert (text.code, "3 requests, 1 slot, block on delayed(K=1, L1=0, L2=1)" in text.out) == (0, True)
    sampled = draftproof("batch", "equal", "--text", "topics", *SMALL, "--roots", 3, "--sampling", "temperature=.5").out
    assert "order-1 draft, temperature 0.5" in " ".join(sampled.split())
    assert draftproof("batch", "mine.py:OWN", *SMALL).code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--budget", -1), "a budget of -1 slots is none"),
        (
            ("--vocab", 5000),
            "2 requests of 2 drafted tokens at V = 5000 have 625,000,000,000,000 drafts together; take",
        ),
        (("--requests", 9), "9 requests of 2 drafted tokens at V = 3 have 387,420,489 drafts together"),
        (("--pair", "nowhere"), "batches are of a family, a text or an instance file"),
        (
            ("--batches", 2, "--text", "topics"),
            "--batches 2 is for families, whose seeds go on; leave it out with --text",
        ),
        (("gready",), f"unknown cut 'gready'; known: {', '.join(ALL_CUTS)}, or FILE.py:NAME"),
        (("greedy:by=luck",), "by=luck is unknown; choose row, acceptance, token, updated"),
        (("threshold:by=updated",), "by=updated is unknown; choose row, acceptance, token"),
        (("greedy:at=1",), "cut greedy has no parameter 'at'; its parameters: by"),
        (("throughput:pad=1/2",), "1/2 is no whole number"),
        (("throughput:slot=-1",), "a time of -1 a slot in steps of 1 is none"),
        (("optimum:at=1",), "cut optimum is computed for the batch; it takes no parameters"),
        (("--verifier", "optimum"), "optimum is planned for one tree, and a cut keeps many"),
        (("--scheme", "top_k"), "batches are of delayed trees, not of top_k"),
        (("--text", "topics", "--roots", 2, "--requests", 3, "--vocab", 2), "gives 2 requests, not 3; raise --roots"),
    ],
)
def test_bad_input_is_one_line(draftproof, arguments, message):
    ran = draftproof("batch", *arguments)
    assert ran.code == 2
    assert message in " ".join(ran.err.split())
