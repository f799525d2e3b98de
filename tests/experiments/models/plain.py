"""Two models as others save them: random ones, a tokenizer with a token before every text and a chat template."""

from dataclasses import replace

from transformers import PreTrainedTokenizerFast

from draftproof.experiments.inputs.text import EMBEDDED, read_text
from draftproof.experiments.models.pair.pair import load_pair
from draftproof.experiments.models.pair.tokenizers import TextTokenizer, make_tokenizer

LETTERS, BEGIN = 8, 8
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message.role == 'system' %}{{ raise_exception('no system here') }}{% endif %}{{ message.content }}e"
    "{% endfor %}{% if add_generation_prompt %}t{% endif %}"
)


def plain_tokenizer(template=TEMPLATE):
    """Eight letters, then the token for the beginning, which stands before every text."""
    from tokenizers.processors import TemplateProcessing

    core = make_tokenizer("letters", LETTERS, read_text(EMBEDDED)[:20_000]).base.backend_tokenizer
    base = PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<s>", chat_template=template)
    base.backend_tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", BEGIN)])
    return TextTokenizer(base)


def plain_pair(random_pair, template=TEMPLATE, **given):
    return replace(random_pair(vocab=LETTERS + 1, **given), tokenizer=plain_tokenizer(template))


def load_folder(folder, *settings):
    """The pair of a folder."""
    return load_pair(f"{folder}/target", f"{folder}/draft", *settings)


def saved(pair, folder):
    """The keys of a world that names it."""
    assert pair.tokenizer is not None
    for role in ("target", "draft"):
        pair.model(role).save_pretrained(folder / role)
        pair.tokenizer.save(folder / role)
    return {"target": folder / "target", "draft": folder / "draft"}
