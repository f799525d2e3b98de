"""Two models as others have them, with a token that begins every text, saved by `save_pretrained` alone."""

import random
from typing import Any

WORDS = {
    "who": ["a fox", "the hen", "my cat", "one dog"],
    "does": ["saw", "met", "fed", "left"],
    "where": ["at noon", "by the lake", "in the barn", "near home"],
}


def made_text(sentences, seed=0):
    """Short sentences with a grammar that a small model learns in seconds."""
    draw = random.Random(seed)
    who, does, where = WORDS.values()
    return "".join(
        f"{draw.choice(who)} {draw.choice(does)} {draw.choice(who)} {draw.choice(where)}. " for _ in range(sentences)
    )


def save_models(folder, steps=60, vocab=None, kinds=("Llama", "Llama"), positions=(2048, 2048)):
    """`target`, `draft` and `text.txt` in this folder.

    vocab: of byte pairs, None for letters. kinds: Llama or GPT2, of both. Neither `draftproof model train` nor its
    tokenizers take part.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    text = made_text(2_000)
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    size = 0 if vocab is None else vocab
    tokenizer.train_from_iterator(
        [text], trainers.BpeTrainer(vocab_size=size, special_tokens=["<s>", "<unk>"], show_progress=False)
    )
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    ids = torch.tensor(tokenizer.encode(text, add_special_tokens=False).ids)
    saved = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", unk_token="<unk>")
    with torch.random.fork_rng(devices=[]):
        roles = (("target", 48, 3), ("draft", 24, 1))
        for (name, hidden, layers), kind, most in zip(roles, kinds, positions, strict=True):
            torch.manual_seed(0)
            shared = {"vocab_size": tokenizer.get_vocab_size(), "bos_token_id": 0}
            shared |= {"eos_token_id": None, "pad_token_id": None}
            model: Any
            if kind == "GPT2":
                model = GPT2LMHeadModel(GPT2Config(n_embd=hidden, n_layer=layers, n_head=2, n_positions=most, **shared))
            else:
                sizes = {"hidden_size": hidden, "intermediate_size": 2 * hidden, "num_hidden_layers": layers}
                config = LlamaConfig(**sizes, num_attention_heads=2, max_position_embeddings=most, **shared)
                model = LlamaForCausalLM(config)
            fitted = torch.optim.AdamW(model.parameters(), lr=5e-3)
            for _ in range(steps):
                starts = torch.randint(len(ids) - 32, (16,))
                rows = torch.stack([torch.cat([ids.new_zeros(1), ids[at : at + 32]]) for at in starts])
                model(rows, labels=rows).loss.backward()
                fitted.step()
                fitted.zero_grad()
            model.save_pretrained(folder / name)
            saved.save_pretrained(folder / name)
    (folder / "text.txt").write_text(made_text(400, seed=1), encoding="utf-8")
    return folder / "target", folder / "draft", folder / "text.txt"
