"""Tokenizers, pairs and their files: how texts are cut, and what is refused."""

import json
from fractions import Fraction

import pytest

from draftproof.simulator.errors import DraftproofError
from draftproof.simulator.strings.drafting import Spellings, TextRoot, target_tables
from draftproof.simulator.strings.pair import StringPair
from draftproof.simulator.strings.tokenizers import Tokenizer

SIDE = {"tokens": ["a", "b"], "rows": {"": ["1/2", "1/2"]}}


def test_the_longest_token_is_cut_first_and_given_encodings_win():
    tokenizer = Tokenizer(("a", "b", "ab", "bba"))
    assert tokenizer.shown(tokenizer.encode("abba")) == "ab|b|a"
    given = Tokenizer(tokenizer.tokens, {"abba": tokenizer.numbers(["a", "bba"])})
    assert given.shown(given.encode("abba")) == "a|bba"
    assert given.shown(given.encode("abbab")) == "ab|b|ab"


def test_a_text_is_cut_up_to_where_no_token_fits():
    tokenizer = Tokenizer(("a", "bb"))
    assert tokenizer.encode("abbb") == (0, 1)
    assert tokenizer.encode("b") == tokenizer.encode("") == ()


def test_spellings_of_a_text_are_all_of_them():
    every = Tokenizer(("a", "b", "ab", "bb", "abb"))
    whole = [path for path in every.spellings("abb", 3) if every.decode(path) == "abb"]
    assert sorted(map(every.shown, whole)) == sorted(["ab|b", "abb", "a|bb", "a|b|b"])
    assert all(len(path) <= 2 for path in every.spellings("abb", 2))
    assert len(list(every.spellings("abb", 3))) == len(set(every.spellings("abb", 3)))


def test_a_row_is_that_of_the_longest_ending():
    rows = {"": ["1/2", "1/2"], "a": ["1/3", "2/3"], "b,a": ["1/4", "3/4"]}
    pair = StringPair.from_dict({"target": {"tokens": ["a", "b"], "rows": rows}, "draft": SIDE})
    first = [pair.target.row(context)[0] for context in ((), (1,), (0,), (0, 0), (1, 0), (0, 1, 0), (1, 0, 1))]
    assert [Fraction(str(value)) for value in first] == [Fraction(1, n) for n in (2, 2, 3, 3, 4, 4, 2)]


def test_a_file_gives_the_same_pair_back(tmp_path):
    made = StringPair.random(3, "abc", 5, 6)
    made.save(tmp_path / "pair.json")
    again = StringPair.load(tmp_path / "pair.json")
    assert again.as_dict() == made.as_dict() == StringPair.random(3, "abc", 5, 6).as_dict()
    assert made.as_dict() != StringPair.random(4, "abc", 5, 6).as_dict()
    with_encodings = {**SIDE, "tokens": ["a", "aa"], "encodings": {"aa": ["a", "a"]}}
    assert StringPair.from_dict({"target": with_encodings, "draft": SIDE}).as_dict()["target"] == with_encodings


def test_the_draft_of_a_random_pair_can_have_the_targets_tokens():
    pair = StringPair.random(1, same=True)
    assert pair.target_tokens.tokens == pair.draft_tokens.tokens
    assert pair.target.rows.keys() == pair.draft.rows.keys()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"draft": None}, "draft must be an object with tokens and rows"),
        ({"draf": SIDE}, "a pair: unknown key 'draf'; known: target, draft, letters, about"),
        ({"letters": "a"}, "target: the token 'b' has the letter 'b', which is not one of a; add it to letters"),
        ({"draft": {**SIDE, "tokens": ["a", "a"]}}, "must be two or more, and different"),
        ({"draft": {**SIDE, "tokens": ["a", "b", "c"]}}, "rows of 2 probabilities do not fit 3 tokens"),
        ({"draft": {**SIDE, "tokens": ["cde", "fgh"]}}, "an alphabet of 8 letters is too large; use at most 4"),
        ({"draft": {**SIDE, "rows": {"": ["1/2", "1/3"]}}}, "draft row () sums to 5/6, not 1"),
        ({"draft": {**SIDE, "rows": {"": ["1/2", "1/2"], "c": [1, 0]}}}, "draft: 'c' is no token of it"),
        ({"draft": {**SIDE, "encodings": {"ab": ["b", "a"]}}}, "the tokens given for 'ab' do not spell it"),
    ],
)
def test_what_is_no_pair_is_refused_in_one_line(tmp_path, change, message):
    (tmp_path / "wrong.json").write_text(json.dumps({"target": SIDE, "draft": SIDE, **change}))
    with pytest.raises(DraftproofError) as refused:
        StringPair.load(tmp_path / "wrong.json")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((3, 0), "depth is 0; give at least 1 token"),
        ((8, 2), "4 draft tokens and 8 drafted: 65,536 drafts are more than 50,000; draft fewer tokens"),
    ],
)
def test_drafts_that_are_too_many_are_refused(given, message):
    with pytest.raises(DraftproofError, match=message):
        TextRoot(StringPair.random(0), (), *given)


def test_what_the_tokenizers_cannot_say_to_each_other_is_said():
    third = ["1/3", "1/3", "1/3"]
    pair = {
        "target": {"tokens": ["a", "b", "c"], "rows": {"": third}},
        "draft": {"tokens": ["a", "bb", "d"], "rows": {"": third}},
    }
    assert StringPair.from_dict(pair).remarks == [
        "no draft can be made after b c, which the draft's tokens do not spell",
        "drafts end before d, which the target's tokens do not spell",
        "no draft has the text of c: written as corrections only",
    ]


def test_the_tree_of_a_text_has_all_its_spellings():
    root = TextRoot(StringPair.random(0), (), 2, 2)
    scheme = Spellings(root.proposed_text, root)
    assert sum(root.proposed_text.values()) == 1
    assert scheme.count(target_tables(root)) == len(scheme.texts)
    for text in scheme.texts:
        tree = scheme.draw(None, Always(list(scheme.texts).index(text)))
        assert {path for path in scheme.paths(text) if path in tree} == set(scheme.paths(text))
        assert sum(map(len, tree.children.values())) == len(scheme.paths(text)) - 1 <= scheme.nodes


class Always:
    """A coin with one answer."""

    def __init__(self, answer):
        self.answer = answer

    def choose(self, weights):
        return self.answer
