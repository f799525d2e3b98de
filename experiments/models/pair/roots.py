"""Root contexts, the tokens before a draft tree: from a text or from a file of prompts, for every command.

A text gives evenly spaced slices of its held-out end, each after the special tokens with which the tokenizer begins a
text. A file of prompts gives one root a prompt: all of it, or its last tokens; chats in the tokenizer's template.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from draftproof.experiments.grid.groups import ALL, NONE
from draftproof.experiments.models.pair.corpus import sample
from draftproof.experiments.models.pair.devices import check_fits, max_positions
from draftproof.experiments.models.pair.pair import Pair
from draftproof.experiments.shared.progress import bar
from draftproof.simulator.errors import InvalidInput, cut
from draftproof.simulator.files import parse_json, read_text
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.protocol import Context
from draftproof.simulator.sampling_coin import SamplingCoin

#: Tokens of a root of a text, and of those that a selector learns on.
CONTEXT_TOKENS, LENGTHS = 16, (8, 16, 32, 48)
#: The default number of prompts: all of a file, at most this number.
PROMPTS = 16
#: Whether the token for the beginning of a text stands first: as the tokenizer says, or not.
BOS = ("auto", "yes", "no")
#: The fields that a line of a file of prompts may have, one of them.
KINDS = ("text", "prompt", "messages")


@dataclass(frozen=True)
class Roots:
    """Contexts of equal weight. origin: where they come from, as `roots of FILE` or `of 20 prompts of FILE`.

    names, groups: for each context, those of its prompt; empty for contexts of a text. lines: those of the file that
    were taken, where they are not all.
    """

    contexts: tuple[Context, ...]
    origin: str
    names: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()

    def __str__(self) -> str:
        counts = Counter(self.groups)
        named = ", ".join(f"{group or NONE} {count}" for group, count in counts.items())
        different = len(set(self.contexts))
        repeated = f", {different} different" if self.names and different < len(self.contexts) else ""
        which = f": lines {', '.join(map(str, self.lines))}" if self.lines else ""
        return f"{len(self.contexts)} {self.origin}" + (f" ({named})" if len(counts) > 1 else "") + repeated + which


@dataclass(frozen=True)
class Prompt:
    """One line of a file. content: a text, or the messages of a chat."""

    line: int
    content: str | list[Any]
    group: str


@dataclass(frozen=True)
class Prompts:
    """A file of prompts; digest: hash of its content."""

    path: str
    digest: str
    prompts: tuple[Prompt, ...]

    def roots(self, pair: Pair, count: int | None, most: int | None) -> Roots:
        """The roots of `count` prompts, evenly spaced within each group; None: of all, up to `PROMPTS`.

        most: how many of the last tokens are taken; None: all. Raises `InvalidInput` for a prompt that is no root.
        """
        total = len(self.prompts)
        if count is not None and count > total:
            raise InvalidInput(f"roots {count}: {cut(self.path)} has {total} prompts; give at most {total}")
        count = min(total, PROMPTS) if count is None else count
        groups = list(dict.fromkeys(prompt.group for prompt in self.prompts))
        in_groups = sorted(self.prompts, key=lambda prompt: groups.index(prompt.group))
        taken = [in_groups[place * total // count] for place in range(count)]
        taken.sort(key=lambda prompt: prompt.line)
        origin = f"prompts of {self.path}" if count == total else f"of {total} prompts of {self.path}"
        contexts = tuple(self.context(pair, prompt, most) for prompt in taken)
        return Roots(
            contexts,
            origin,
            tuple(f"line {prompt.line}" for prompt in taken),
            tuple(prompt.group for prompt in taken),
            tuple(prompt.line for prompt in taken) if count < total else (),
        )

    def context(self, pair: Pair, prompt: Prompt, most: int | None) -> Context:
        """The tokens of one prompt; raises `InvalidInput` that names its line."""
        where = f"{cut(self.path)}, line {prompt.line}"
        try:
            return context_of(pair, prompt.content, most)
        except InvalidInput as error:
            raise InvalidInput(f"{where}: {error}") from None


def read_prompts(path: str) -> Prompts:
    """The prompts of a JSONL file; raises `InvalidInput` that names file and line."""
    text, prompts = read_text(path, "prompts").removeprefix("\ufeff"), []
    for number, line in enumerate(text.split("\n"), start=1):
        where = f"{cut(path)}, line {number}"
        if line.strip():
            try:
                fields = parse_json(line, where)
            except InvalidInput as error:
                raise InvalidInput(str(error).removesuffix(" at line 1")) from None
            prompts.append(_prompt(fields, where, number))
    if not prompts:
        raise InvalidInput(f'{cut(path)} has no prompt; write lines like {{"text": ".."}}')
    return Prompts(str(path), hashlib.sha256(text.encode()).hexdigest()[:16], tuple(prompts))


def _prompt(fields: Any, where: str, number: int) -> Prompt:
    given = [name for name in KINDS if isinstance(fields, dict) and name in fields]
    if len(given) != 1:
        what = f"both {given[0]} and {given[1]}" if given else "no text, prompt or messages"
        raise InvalidInput(f'{where} has {what}; write {{"text": ".."}}, {{"prompt": ".."}} or {{"messages": [..]}}')
    content, group = fields[given[0]], fields.get("group", "")
    if given == ["messages"]:
        if not isinstance(content, list) or not content or not all(isinstance(message, dict) for message in content):
            raise InvalidInput(f'{where}: messages are a list like [{{"role": "user", "content": ".."}}]')
    elif not isinstance(content, str):
        raise InvalidInput(f"{where}: {given[0]} is {cut(repr(content))}, no text")
    if isinstance(group, bool) or not isinstance(group, (str, int)):
        raise InvalidInput(f"{where}: group is {cut(repr(group))}; give a name")
    if group == ALL:
        raise InvalidInput(f"{where}: group is {ALL!r}, which stands for all prompts; give another name")
    return Prompt(number, content, str(group))


def context_of(pair: Pair, content: str | Sequence[Any], most: int | None = None) -> Context:
    """A text or the messages of a chat as a root: the first tokens of every text, then its last `most` tokens.

    Raises `InvalidInput` for one without a token, a chat without a template, and for what the models cannot read.
    """
    if isinstance(content, str):
        begins, tokens = pair.begins, pair.encode(content)
    else:
        begins, tokens = pair.encode_chat(content)
    if not tokens:
        raise InvalidInput("the text has no token; give at least one character")
    if wrong := [token for token in tokens if not 0 <= token < pair.vocab_size]:
        raise InvalidInput(f"token {wrong[0]} of the tokenizer is none of the {pair.vocab_size} of the models")
    context = (*begins, *(tokens if most is None else tokens[-most:]))
    for which in ("target", "draft"):
        limit = max_positions(pair.model(which))
        if limit is not None and len(context) >= limit:
            raise InvalidInput(
                f"{len(context)} tokens, and the {which} reads {limit} at most; context=N keeps the last N"
            )
    return context


def with_bos(pair: Pair, bos: str) -> Pair:
    """The pair whose texts begin as `bos` says; raises `InvalidInput` where the tokenizer has no such token."""
    token = None if pair.tokenizer is None else pair.tokenizer.bos
    if bos == "yes" and (token is None or token >= pair.vocab_size):
        raise InvalidInput(f"bos=yes: {pair.names[0]} has no token for the beginning of a text; leave it out")
    return replace(pair, bos=bos)


def roots_of(
    tokens: Sequence[int], count: int, lengths: Sequence[int] = (CONTEXT_TOKENS,), begins: Context = ()
) -> list[Context]:
    """`count` contexts of these lengths in turn, evenly spaced over a text; raises `InvalidInput` for a short one.

    begins: tokens before each, as models have them before every text.
    """
    if len(tokens) < count * min(lengths):
        raise InvalidInput(
            f"{len(tokens)} tokens of held-out text give no {count} roots of {min(lengths)}; give a longer text, or "
            "fewer roots"
        )
    spacing = len(tokens) // count
    return [
        (*begins, *map(int, tokens[place * spacing :][: min(lengths[place % len(lengths)], spacing)]))
        for place in range(count)
    ]


def continued_roots(pair: Pair, prompts: Roots, count: int, seed: int, sampling: Sampling) -> Roots:
    """At least `count` contexts, equally many for each prompt, which the target continues to several lengths.

    Prompts come in random order, so that groups mix. Raises `InvalidInput` where texts would be too long.
    """
    per_prompt = -(-count // len(prompts.contexts))
    longest = max(LENGTHS[-1], per_prompt)
    places = [place * longest // per_prompt for place in range(per_prompt)]
    check_fits(
        pair.target,
        "target",
        max(map(len, prompts.contexts)) + longest,
        way_out="context=N keeps the last N tokens of a prompt",
    )
    contexts, names, groups = list[Context](), list[str](), list[str]()
    with bar("texts after prompts", len(prompts.contexts)) as tick:
        for number in np.random.default_rng(seed).permutation(len(prompts.contexts)):
            coin = SamplingCoin(np.random.default_rng(seed + int(number)))
            written = sample(pair.target, prompts.contexts[number], places[-1], coin, sampling.of_logits)
            contexts += [(*prompts.contexts[number], *written[:place]) for place in places]
            names += [prompts.names[number]] * per_prompt
            groups += [prompts.groups[number]] * per_prompt
            tick(1)
    origin = f"contexts behind {len(prompts.contexts)} {prompts.origin}"
    return Roots(tuple(contexts), origin, tuple(names), tuple(groups))
