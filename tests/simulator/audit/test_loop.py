"""Whole generation loops: what an earlier block leaves behind, with functions and with models of transformers."""

import pytest

from draftproof.simulator.audit import CATALOGUE, Evidence, FunctionFailed, default_cases, diagnose, make_audit
from draftproof.simulator.audit.interfaces.loop import PROMPT
from draftproof.simulator.errors import InvalidVerifier
from tests.quick import quick


def judged(function, names=None, **options):
    audit = make_audit(function, "loop", **options)
    cases = default_cases(audit.audited.interface, None, names)
    return audit, {case.name: audit.judge(case.instance, case.scheme) for case in cases}


QUICK = ["context", "zeros", "equal", "longer"]


@pytest.mark.heavy
@pytest.mark.parametrize(
    "name", quick(["right", "varying", "without_bonus", "remembering", "early"], ("right", "early"))
)
def test_lossless_loops(planted, name):
    _, found = judged(planted("loops", name), None if name == "varying" else QUICK)
    assert {case for case, finding in found.items() if not finding.lossless} == set()
    assert len(found) == (8 if name == "varying" else len(QUICK))


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "depth"), [("state", 1), ("leftover", 1), ("same_coin", 1), ("stale", 1), ("recent", 2)]
)
def test_bugs_of_a_later_block_are_refuted_where_they_begin(planted, name, depth):
    audit, found = judged(planted("loops", name), QUICK)
    refuted = [finding for finding in found.values() if not finding.lossless]
    assert min(len(finding.first.context) for finding in refuted) == depth
    assert found["equal"].lossless is (name in ("leftover", "stale", "state"))
    named = {each.name for each in diagnose(Evidence(audit, refuted[0], list(found.values())))}
    expected = {"same_coin": "coin reuse", "state": None}.get(name, "row off by one")
    assert named - {"first token exact"} == ({expected} if expected else set())


@pytest.mark.parametrize(("name", "words"), [("only_new", "return both in one"), ("short", "was asked for 3")])
def test_what_is_no_such_text_fails(planted, name, words):
    with pytest.raises(FunctionFailed, match=words):
        judged(planted("loops", name), ["context"])


def test_models_name_texts_that_are_none():
    def foreign(target, draft, prompt, new_tokens):
        return target([9])

    def unprompted(target, draft, prompt, new_tokens):
        return target([0, 0, 1])

    for function, words in ((foreign, "9 is no token"), (unprompted, "does not begin with the prompt")):
        with pytest.raises(InvalidVerifier, match=words):
            judged(function, ["context"])


CACHED = """
import torch
from transformers.cache_utils import DynamicCache

def loop(target, draft, prompt, new_tokens, crop):
    text, cache = prompt, DynamicCache(config=target.config)
    p = target(text, past_key_values=cache).logits[:, -1].softmax(-1)
    while text.shape[1] < prompt.shape[1] + new_tokens:
        q = draft(text).logits[:, -1].softmax(-1)
        drafted = torch.multinomial(q, 1)
        after = target(drafted, past_key_values=cache).logits[:, -1].softmax(-1)
        token = drafted.item()
        if torch.rand((), dtype=p.dtype) * q[0, token] < p[0, token]:
            text, p = torch.cat([text, drafted], 1), after
            continue
        if crop:
            cache.crop(-1)
        rest = (p - q).clamp(min=0)
        token = torch.multinomial(rest / rest.sum(), 1)
        text = torch.cat([text, token], 1)
        p = target(token, past_key_values=cache).logits[:, -1].softmax(-1)
    return text

def right(target, draft, prompt, new_tokens):
    return loop(target, draft, prompt, new_tokens, True)

def wrong(target, draft, prompt, new_tokens):
    return loop(target, draft, prompt, new_tokens, False)

def assisted(target, draft, prompt, new_tokens):
    draft.generation_config.num_assistant_tokens = 1
    draft.generation_config.num_assistant_tokens_schedule = "constant"
    draft.generation_config.assistant_confidence_threshold = 0
    return target.generate(prompt, assistant_model=draft, do_sample=True, top_k=0, max_new_tokens=new_tokens)

def heated(target, draft, prompt, new_tokens):
    draft.generation_config.num_assistant_tokens = 1
    draft.generation_config.num_assistant_tokens_schedule = "constant"
    draft.generation_config.assistant_confidence_threshold = 0
    return target.generate(
        prompt, assistant_model=draft, do_sample=True, top_k=0, temperature=0.5, max_new_tokens=new_tokens
    )

def masked(target, draft, prompt, new_tokens):
    # Two branches in one pass, each of which sees the prompt and itself.
    n = prompt.shape[1]
    both = torch.tensor([[*prompt[0].tolist(), 0, 1]])
    mask = torch.zeros(1, 1, n + 2, n + 2, dtype=torch.float64).masked_fill(
        torch.ones(n + 2, n + 2).triu(1).bool(), float("-inf")
    )
    mask[0, 0, n + 1, n] = float("-inf")
    places = torch.tensor([[*range(n), n, n]])
    rows = target(both, attention_mask=mask, position_ids=places).logits[0].softmax(-1)
    first = int(torch.multinomial(rows[n - 1], 1))
    return [*prompt[0].tolist(), first, int(torch.multinomial(rows[n + first], 1))]
"""


@pytest.fixture
def cached(tmp_path):
    pytest.importorskip("transformers")
    from draftproof.simulator.symbolic import load

    path = tmp_path / "cached.py"
    path.write_text(CACHED)
    return lambda name: load(path, name)


@pytest.mark.parametrize(("name", "lossless"), [("wrong", False), ("right", True)])
@pytest.mark.heavy
def test_a_cache_that_is_not_cropped_shows_in_the_second_block(cached, name, lossless):
    audit, found = judged(cached(name), ["context"], library="torch")
    assert found["context"].lossless is lossless
    if not lossless:
        assert len(found["context"].first.context) == 1
        [shifted] = [entry for entry in CATALOGUE if entry.name == "row off by one"]
        assert shifted.test(Evidence(audit, found["context"], list(found.values())))


def test_a_tree_mask_is_followed(cached):
    audit = make_audit(cached("masked"), "loop", library="torch")
    [case] = default_cases(audit.audited.interface, None, ["context"])
    from draftproof.simulator.audit.interfaces import SelfDrafted

    assert audit.judge(case.instance, SelfDrafted(1)).lossless


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "lossless"), [("assisted", True), ("heated", False)])
def test_assisted_generation_of_transformers_as_it_is(cached, name, lossless):
    from draftproof.simulator.audit.interfaces import SelfDrafted

    audit = make_audit(cached(name), "loop", library="torch")
    [case] = default_cases(audit.audited.interface, None, ["context"])
    assert audit.judge(case.instance, SelfDrafted(1)).lossless is lossless


def test_the_prompt_is_a_text_of_every_vocabulary():
    assert set(PROMPT) == {0, 1}
