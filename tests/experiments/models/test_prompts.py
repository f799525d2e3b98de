"""Roots from prompts: texts and chats of a file, each behind what its tokenizer begins a text with, in all commands."""

import json
from dataclasses import replace
from pathlib import Path
from statistics import stdev

import numpy as np
import pytest
import torch

from draftproof.experiments.grid.groups import mean_by_group
from draftproof.experiments.inputs.latency import time_model
from draftproof.experiments.inputs.text import EMBEDDED, read_text
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.experiments.models.expect.expected import predict
from draftproof.experiments.models.expect.problem import pair_problem
from draftproof.experiments.models.measure.setting import setting
from draftproof.experiments.models.measure.verifiers import measured_verifiers
from draftproof.experiments.models.pair.corpus import Corpus
from draftproof.experiments.models.pair.opened import Opened, PairRequest, load_wanted
from draftproof.experiments.models.pair.roots import LENGTHS, PROMPTS, read_prompts, roots_of, with_bos
from draftproof.experiments.models.pair.tokenizers import TextTokenizer
from draftproof.experiments.models.selector import fitting, training
from draftproof.experiments.models.selector.rivals import Labelled, gain_interval
from draftproof.experiments.models.validate import policy
from draftproof.experiments.models.validate.cells import Effort, measure
from draftproof.experiments.models.validate.views import by_group
from draftproof.experiments.result import Column
from draftproof.simulator import Delayed, InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from tests.experiments.models.plain import BEGIN, plain_pair, saved

COST = "draft=1,target=3"
CORPUS = Corpus(EMBEDDED, read_text(EMBEDDED)[:20_000])


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def pair(random_pair):
    return plain_pair(random_pair)


@pytest.fixture(scope="module")
def models(pair, tmp_path_factory):
    return saved(pair, tmp_path_factory.mktemp("plain"))


def world(models, **more):
    return "--world", "models:" + ",".join(f"{key}={value}" for key, value in {**models, **more}.items())


def file_of(*lines, name="prompts.jsonl"):
    Path(name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return name


def contexts(pair, *lines, count=None, context=None):
    opened = Opened(pair, CORPUS, prompts=read_prompts(file_of(*lines)), context=context)
    return opened.roots(count, 1).contexts


def test_a_prompt_is_a_root_behind_what_the_tokenizer_begins_a_text_with(pair):
    first, second = (tuple(pair.encode(text)) for text in ("the state", "an entry"))
    lines = ({"text": "the state", "id": 7}, {"prompt": "an entry"})
    assert contexts(pair, *lines) == ((BEGIN, *first), (BEGIN, *second))
    assert contexts(with_bos(pair, "no"), *lines) == (first, second)
    assert contexts(pair, *lines, context=3) == ((BEGIN, *first[-3:]), (BEGIN, *second[-3:]))
    silent = replace(pair, tokenizer=TextTokenizer(unbegun(pair)))
    assert contexts(silent, *lines) == (first, second)
    assert contexts(with_bos(silent, "yes"), *lines) == ((BEGIN, *first), (BEGIN, *second))


def unbegun(pair):
    """The tokenizer, which puts nothing before a text but knows the token for it."""
    from tokenizers.processors import TemplateProcessing

    assert pair.tokenizer is not None
    base = pair.tokenizer.base.__class__(tokenizer_object=pair.tokenizer.base.backend_tokenizer, bos_token="<s>")
    base.backend_tokenizer.post_processor = TemplateProcessing(single="$A", special_tokens=[])
    return base


def test_a_chat_is_written_by_the_template(pair):
    chat = [{"role": "user", "content": "in"}, {"role": "assistant", "content": "on"}]
    asked, answered = (tuple(pair.encode(text)) for text in ("inet", "ineon"))
    assert contexts(pair, {"messages": chat[:1]}) == ((BEGIN, *asked),)
    assert contexts(pair, {"messages": chat}) == ((BEGIN, *answered),)  # what is written goes on with the answer
    assert contexts(with_bos(pair, "no"), {"messages": chat[:1]}) == (asked,)
    assert contexts(pair, {"messages": chat[:1]}, context=2) == ((BEGIN, *asked[-2:]),)


def test_fewer_prompts_are_spaced_evenly_within_groups_in_the_order_of_the_file(pair):
    lines = [{"text": "t" * (1 + number), "group": "code" if number % 2 else "chat"} for number in range(20)]
    found = Opened(pair, CORPUS, prompts=read_prompts(file_of(*lines))).roots(4, 1)
    assert [len(each) - 1 for each in found.contexts] == [1, 2, 11, 12]
    assert found.groups == ("chat", "code", "chat", "code")
    assert str(found) == "4 of 20 prompts of prompts.jsonl (chat 2, code 2): lines 1, 2, 11, 12"
    assert len(contexts(pair, *lines)) == PROMPTS
    every = Opened(pair, CORPUS, prompts=read_prompts(file_of(*lines[:3]))).roots(None, 1)
    assert str(every) == "3 prompts of prompts.jsonl (chat 2, code 1)"
    mixed = Opened(pair, CORPUS, prompts=read_prompts(file_of({"text": "t"}, lines[1]))).roots(None, 1)
    assert str(mixed) == "2 prompts of prompts.jsonl ((no group) 1, code 1)"
    alike = Opened(pair, CORPUS, prompts=read_prompts(file_of(*[{"text": "t"}] * 3, {"text": "e"}))).roots(None, 1)
    assert str(alike) == "4 prompts of prompts.jsonl, 2 different"
    with pytest.raises(InvalidInput, match=r"roots 21: prompts.jsonl has 20 prompts; give at most 20"):
        contexts(pair, *lines, count=21)


def test_roots_of_a_text_are_of_the_length_that_is_said(pair):
    found = Opened(pair, CORPUS, context=5).roots(None, 3)
    assert [len(each) for each in found.contexts] == [6, 6, 6]
    assert found.contexts[0] == (BEGIN, *pair.encode(CORPUS.held_out)[:5])


def test_roots_are_prefixes_that_the_models_see_in_use(pair):
    opened, plain = Opened(pair, CORPUS), pair.encode(CORPUS.held_out)
    roots = opened.roots(2, 2).contexts
    assert roots == ((BEGIN, *plain[:16]), (BEGIN, *plain[len(plain) // 2 :][:16]))
    problem = pair_problem(opened, Sampling(), count=2)
    assert problem.contexts == roots
    assert "<s>" not in problem.words[0]
    assert "2 roots of Python's documentation (pydoc_data.topics)" in str(problem)
    given = pair_problem(opened, Sampling(), root=pair.decode(plain[:3]))
    assert given.contexts == ((BEGIN, *plain[:3]),)
    assert [root[0] for root in roots_of(plain, 4, LENGTHS, pair.begins)] == [BEGIN] * 4
    assert list(map(len, roots_of(plain, 4, LENGTHS, pair.begins))) == [9, 17, 33, 49]


GOOD = '{"text": "the"}'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "p.jsonl has no prompt"),
        ("\n \n", "p.jsonl has no prompt"),
        (f"{GOOD}\n\nthe state\n", "p.jsonl, line 3 is not JSON: Expecting value\n"),
        (f'{GOOD}\n{{"texts": "the"}}', "p.jsonl, line 2 has no text, prompt or messages"),
        ("[1]", "p.jsonl, line 1 has no text, prompt or messages"),
        ('{"text": "a", "prompt": "b"}', "p.jsonl, line 1 has both text and prompt"),
        ('{"text": 7}', "p.jsonl, line 1: text is 7, no text"),
        ('{"messages": "hello"}', "p.jsonl, line 1: messages are a list like"),
        ('{"messages": []}', "p.jsonl, line 1: messages are a list like"),
        ('{"text": "a", "group": null}', "p.jsonl, line 1: group is None; give a name"),
        ('{"text": "a", "group": "all"}', "p.jsonl, line 1: group is 'all', which stands for all prompts"),
        (f'{GOOD}\n{{"text": ""}}', "p.jsonl, line 2: the text has no token"),
        (f'{GOOD}\n{{"messages": [{{"role": "system", "content": "a"}}]}}', "line 2: the chat template does not take"),
        ('{"text": "<s>the"}', ""),
        (f"\ufeff{GOOD}", ""),  # as some editors begin a file
    ],
)
def test_bad_prompts_are_refused_in_a_line_with_file_and_line(draftproof, models, content, said):
    Path("p.jsonl").write_text(content, encoding="utf-8")
    ran = draftproof("compare", "naive", *world(models, prompts="p.jsonl", vocab=5), "--K", 1, "--L2", 1)
    assert ran.code == (2 if said else 0)
    if said:
        assert said in ran.err.replace("draftproof: ", "")
        assert len(ran.err.strip().splitlines()) == 1


def test_what_cannot_stand_before_a_tree_is_refused(random_pair, pair):
    mute = plain_pair(random_pair, None)
    chat = {"messages": [{"role": "user", "content": "in"}]}
    with pytest.raises(InvalidInput, match=r"prompts.jsonl, line 2: messages need a chat template"):
        contexts(mute, {"text": "the"}, chat)
    short = plain_pair(random_pair, family="GPT2")
    with pytest.raises(InvalidInput, match=r"line 1: 71 tokens, and the target reads 64 at most; context"):
        contexts(short, {"text": "t" * 70})
    assert len(contexts(short, {"text": "t" * 70}, context=10)[0]) == 11
    with pytest.raises(InvalidInput, match=r"line 1: token 8 of the tokenizer is none of the 8 of the models"):
        contexts(replace(pair, vocab_size=8), {"text": "the<s>"})
    with pytest.raises(InvalidInput, match=r"bos=yes: target has no token for the beginning of a text"):
        with_bos(replace(pair, vocab_size=8), "yes")
    with pytest.raises(InvalidInput, match=r"bos maybe: choose auto, yes, no"):
        PairRequest("pair", bos="maybe")


@pytest.mark.parametrize(
    ("keys", "options", "said"),
    [
        ({"prompts": "none.jsonl"}, (), "cannot read prompts none.jsonl: No such file or directory"),
        ({"prompts": "p.jsonl", "root": "the"}, (), "root gives one context, prompts a file of them"),
        ({"prompts": "p.jsonl"}, ("--resume", "p.jsonl"), "p.jsonl is also p.jsonl; give every file its own name"),
    ],
)
def test_options_that_contradict_are_refused(draftproof, models, keys, options, said):
    file_of({"text": "the"}, name="p.jsonl")
    ran = draftproof("compare", "naive", *world(models, vocab=5, **keys), *options)
    assert (ran.code, said in ran.err) == (2, True)


def test_a_pair_that_is_loaded_has_prompts_and_beginning(models):
    path = file_of({"text": "the state"})
    opened = load_wanted(
        PairRequest(None, str(models["target"]), str(models["draft"]), prompts=path, bos="no", context=4)
    )
    assert opened.roots(None, 9).contexts == (tuple(opened.pair.encode("tate")),)
    assert opened.pair.begins == ()


GROUPS = [{"text": "the state" + "e" * number, "group": "code" if number % 3 else "chat"} for number in range(6)]


def test_block_efficiency_and_its_bound_are_told_by_group_of_prompts(draftproof, models):
    there = (*world(models, prompts=file_of(*GROUPS), vocab=9), "--K", 1, "--L2", 1)
    compared = draftproof("compare", "naive", *there, "--no-optimum", "-o", "compared.json")
    bounded = draftproof("bound", *there, "-o", "bounded.json")
    assert (compared.code, bounded.code) == (0, 0)
    found = json.loads(Path("compared.json").read_text())
    bound = json.loads(Path("bounded.json").read_text())
    assert [root["root"] for root in found["roots"]] == [f"line {number}" for number in range(1, 7)]
    values = [root["block_efficiency_float"] for root in found["roots"]]
    groups = {each["group"]: each for each in found["groups"]}
    assert {name: each["prompts"] for name, each in groups.items()} == {"all": 6, "chat": 2, "code": 4}
    code = [values[number] for number in (1, 2, 4, 5)]
    assert groups["code"]["mean"] == pytest.approx(sum(code) / 4)
    half = 3.182446 * stdev(code) / 2  # Student's t with 3 degrees of freedom
    assert groups["code"]["high"] - groups["code"]["mean"] == pytest.approx(half, rel=1e-6)
    assert (groups["chat"]["low"], groups["chat"]["high"]) == (None, None)
    assert "95 % over prompts, where a group has at least 4" in compared.out
    assert "chat" in compared.out
    # naive is the best there is on single tokens of one path
    upper = [each["mean"] for each in bound["groups"] if each["bound"] == "at most"]
    assert upper == pytest.approx([each["mean"] for each in found["groups"]])
    assert "by group of prompts" in bounded.out


def test_a_cell_of_validate_is_told_by_group_of_prompts(pair):
    where = setting(pair, Sampling(), Opened(pair, CORPUS, prompts=read_prompts(file_of(*GROUPS))).roots(None, 1), 0)
    (each,) = measured_verifiers([find_verifier("naive")])
    scheme = Delayed(1, 0, 1)
    row = measure(("0" * 24, each, scheme), where, Effort(blocks=60))
    by_root = row["by_root"]
    assert np.mean(by_root["predicted"]) == pytest.approx(row["predicted"])
    assert np.mean(by_root["measured"]) == pytest.approx(row["measured"])
    for root, table, mean in zip(where.roots, where.contexts.cases(1), by_root["predicted"], strict=True):
        p, q = (pair.rows(which, [root])[0].numpy() for which in ("target", "draft"))
        assert mean == pytest.approx(1 + np.minimum(p, q).sum(), abs=1e-6)
        assert predict(each.predicted.verifier, [table], scheme).mean == pytest.approx(mean)
    [table], _ = by_group(where, [row], Column("shape"))
    shown = [each for each in table.records() if each["what"] == "measured"]
    assert [(each["group"], each["prompts"]) for each in shown] == [("all", 6), ("chat", 2), ("code", 4)]
    assert shown[1]["mean"] == pytest.approx(np.mean([by_root["measured"][number] for number in (0, 3)]))


def test_policies_of_models_that_others_trained_are_those_of_their_prompts(draftproof, models):
    Path("own.py").write_text("def mine(known, actions):\n    return actions[known.context[-1] % len(actions)]\n")
    shapes = ("--K", "1..2", "--L1", 0, "--L2", 1, "--cost", "draft=1,target=3", "--arithmetic", "rational")
    there = world(models, prompts=file_of(*GROUPS))
    given = (*there, *shapes, "greedy", "own.py:mine")
    ran = draftproof("compare", "specinfer", *given, "--no-optimum", "--jobs", 1, "-o", "c.json")
    assert ran.code == 0
    compared = json.loads(Path("c.json").read_text())
    greedy, _ = compared["policies"]
    laws = [
        [root["block_efficiency_float"] for root in compared["roots"] if root["shape"] == row["shape"]]
        for row in compared["rows"]
    ]
    times = [row["time"] for row in compared["rows"]]
    rate = greedy["tokens_per_time_float"]
    best = [max((0, 1), key=lambda action: laws[action][root] - rate * times[action]) for root in range(6)]
    weights = [root["weight_float"] for root in compared["roots"][:6]]
    tokens = sum(weight * laws[action][root] for root, (weight, action) in enumerate(zip(weights, best, strict=True)))
    assert tokens / sum(w * times[a] for w, a in zip(weights, best, strict=True)) == pytest.approx(rate)


def test_the_interval_of_a_ratio_is_that_of_a_mean_where_all_weigh_alike():
    values = [1.0, 2.0, 4.0, 3.0]
    (mean,) = mean_by_group([""] * 4, values)
    (ratio,) = mean_by_group([""] * 4, values, [2.0] * 4)
    assert [ratio[name] for name in ("mean", "low", "high")] == pytest.approx(
        [mean[n] / 2 for n in ("mean", "low", "high")]
    )
    (even,) = mean_by_group([""] * 4, values, values)
    assert (even["mean"], even["low"], even["high"]) == pytest.approx((1.0, 1.0, 1.0))


@pytest.mark.heavy
def test_selectors_learn_on_contexts_behind_prompts_and_are_judged_by_prompt(draftproof, models, monkeypatch):
    monkeypatch.setattr(training, "GRID", (fitting.Hyperparameters(1.0, 0.3, 0.2, 1e-3, 0.1),))
    monkeypatch.setattr(fitting, "EPOCHS", 3)
    lines = [{"text": "the state" + "e" * number, "group": "code" if number % 2 else "chat"} for number in range(10)]
    models = world(models, device="cpu", prompts=file_of(*lines), roots=18)
    few = ["--out", "kept", "--K", "1..2", "--L1", "0", "--L2", "1", "--cost", "draft=1,target=3"]
    given = ("model", "train", "--kind", "selector", *models, *few)
    ran = draftproof(*given, "-o", "s.json")
    assert ran.code == 0, ran.err
    found = json.loads(Path("s.json").read_text())
    [about] = found["about"]
    assert about["roots"] == {"training": 12, "validating": 4, "held_out": 4}  # two behind each of 10 prompts
    assert about["prompts"] == "prompts.jsonl"
    assert "4 held-out contexts behind 10 prompts of prompts.jsonl" in " ".join(ran.out.split())
    for row in found["rows"]:
        groups = {each["group"]: each for each in row["groups"]}
        assert groups["all"]["mean"] == pytest.approx(row["tokens_per_time"])
        assert groups["all"]["prompts"] == 2
    file_of(*lines[:4])
    ran = draftproof(*given)
    assert (ran.code, "4 prompts cannot be shared out; give at least 5" in ran.err) == (2, True)


def test_contexts_behind_prompts_go_on_as_the_target_writes(pair):
    opened = Opened(pair, CORPUS, prompts=read_prompts(file_of(*GROUPS[:4])))
    prompts = opened.roots(None, 1)
    greedy = opened.many_roots(7, 0, Sampling(0.0))
    assert len(greedy.contexts) == 8
    for number, context in enumerate(greedy.contexts):
        at = prompts.names.index(greedy.names[number])
        start = prompts.contexts[at]
        assert greedy.groups[number] == prompts.groups[at]
        assert len(context) == len(start) + (0, 24)[number % 2]
        assert context[: len(start)] == start
        for length in range(len(start), len(context), 5):
            assert int(pair.rows("target", [context[:length]])[0].argmax()) == context[length]
    assert {*greedy.names} == {*prompts.names}
    assert opened.many_roots(7, 1, Sampling(0.0)).names != greedy.names


def test_an_interval_draws_all_contexts_of_a_prompt_together():
    count, behind = 8, 25
    gains = np.repeat([0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0], behind)
    tokens = np.stack([np.ones(count * behind), 1 + gains], 1)
    inputs, prompt = torch.zeros(count * behind, 1), np.repeat(np.arange(count), behind)
    zeros = np.zeros(count * behind, dtype=int)
    together = Labelled(inputs, tokens, np.ones(2), zeros, prompt)
    apart = replace(together, prompt=np.arange(count * behind))
    choice = zeros + 1
    low, high = gain_interval(together, choice, zeros, 0)
    assert (low, high) == pytest.approx((0.125, 0.875))  # quantiles of a binomial of 8 at 1/2
    low, high = gain_interval(apart, choice, zeros, 0)
    assert high - low == pytest.approx(2 * 1.96 * 0.5 / np.sqrt(count * behind), rel=0.1)
    few = replace(together, prompt=np.minimum(prompt, 2))
    assert gain_interval(few, choice, zeros, 0) == (low, high)


def test_blocks_of_a_policy_are_told_by_group_of_prompts(pair):
    where = setting(pair, Sampling(), Opened(pair, CORPUS, prompts=read_prompts(file_of(*GROUPS))).roots(None, 1), 0)
    actions = (Delayed(1, 0, 1), Delayed(2, 0, 1))
    run = policy.PolicyRun(where, find_verifier("specinfer"), actions, lambda _: 0, time_model(COST))
    made, _ = run.texts(run.position, 2, where.coin(0))
    found = policy.predicted_and_measured(run, [made])
    assert np.mean(found["by_root"]["measured"]) == pytest.approx(found["measured"])
    tokens = [block.depth + 1 for _, block in made]
    assert found["by_root"]["measured"] == pytest.approx([np.mean(tokens[at : at + 2]) for at in range(0, 12, 2)])
    assert np.mean(found["by_root"]["predicted"]) == pytest.approx(found["predicted"])
