"""One small trained pair for all tests of models: V = 8, letters, a few seconds."""

import copy
from importlib.util import find_spec

import pytest

from draftproof.experiments.inputs.text import EMBEDDED, read_text

if find_spec("torch") is not None:  # without it the tests of this folder are skipped, and no fixture is asked for
    import torch
    import transformers

    from draftproof.experiments.models.pair.corpus import Corpus
    from draftproof.experiments.models.pair.folder import make_pair
    from draftproof.experiments.models.pair.pair import Pair
    from draftproof.experiments.models.pair.training import Plan, Recipe, Size
    from tests.experiments.models.plain import load_folder


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Models this small are slower on several threads, and sums in one order are the same everywhere."""
    if find_spec("torch") is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tiny_recipe():
    corpus = Corpus(EMBEDDED, read_text(EMBEDDED)[:60_000])
    plan = Plan(steps=100, batch=8, window=64, rate=1e-2)
    target, draft = Size(hidden=32, layers=2, heads=2), Size(hidden=16, layers=1, heads=1)
    return Recipe(corpus, "letters", 8, 0, target, draft, plan, plan)


@pytest.fixture(scope="session")
def tiny_folder(tiny_recipe, tmp_path_factory):
    """The folder of a trained pair."""
    folder = tmp_path_factory.mktemp("models") / "pair"
    make_pair(tiny_recipe, folder, torch.device("cpu"))
    return folder


@pytest.fixture
def models(tiny_folder, tmp_path):
    """The pair as a world, with a short text."""
    (tmp_path / "text.txt").write_text(read_text(EMBEDDED)[:20_000], encoding="utf-8")
    return f"models:target={tiny_folder}/target,draft={tiny_folder}/draft,device=cpu,text={tmp_path}/text.txt"


@pytest.fixture(scope="session")
def tiny_pair(tiny_folder):
    """The pair in float32."""
    return load_folder(tiny_folder, "cpu")


@pytest.fixture(scope="session")
def exact_pair(tiny_folder):
    """The pair in float64: passes in another order differ by rounding alone, far below 1e-10."""
    return load_folder(tiny_folder, "cpu", "float64")


@pytest.fixture(scope="session")
def random_pair():
    """Pairs of tiny untrained models with far from uniform rows; the draft is the target with noise on its weights."""

    def build(vocab=8, dtype=None, family="Llama", attention="sdpa", noise=0.1, device="cpu", fields=None):
        dtype = torch.float32 if dtype is None else dtype
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
        if family in ("Llama", "Qwen2"):
            sizes["num_key_value_heads"] = 2
        if family == "GPT2":
            sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
        sizes |= fields or {}
        ends = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
        named = "Gemma3TextConfig" if family == "Gemma3" else f"{family}Config"
        config = getattr(transformers, named)(vocab_size=vocab, initializer_range=0.3, **sizes, **ends)
        kind = getattr(transformers, f"{family}LMHeadModel" if family == "GPT2" else f"{family}ForCausalLM")
        config._attn_implementation = attention
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(1)
            target = kind(config).eval().requires_grad_(False)
            draft = copy.deepcopy(target)
            for weights in draft.parameters():
                weights.add_(torch.randn_like(weights), alpha=noise)
        return Pair(target.to(device, dtype), draft.to(device, dtype), None, torch.device(device), dtype, vocab)

    return build
