"""How tokens are drawn from rows: penalty, masks, temperature, top-k, top-p, min-p, typical mass, rounding to bits.

A draft may then forget what it drafted (`draftproof.simulator.instances.marginals`).

The order and the rules are those of the logits processors of transformers; a given probability `p` has the logit
`log p`. Equal probabilities: top-k keeps all that equal the last one kept, min-p and the typical mass treat them alike,
top-p keeps the larger token number first. So does transformers, whose sort is stable up to 16 tokens.

Exact rows stay exact. All steps but three are rational maps: a temperature `T` (`p ** (1/T)`) where `1/T` is no whole
number, and a penalty that is no whole number, are powers in float64, taken as the fractions they are and normalised
exactly; which tokens are typical is decided by logarithms in float64. `V` is the vocabulary size.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import Any

import numpy as np
from flint import fmpq

from draftproof.simulator.arithmetic import FLOAT64, RATIONAL, arithmetic_of, parse_fraction, to_fmpq
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.marginals import remembering
from draftproof.simulator.instances.masks import LETTERS, Grammar, Masks
from draftproof.simulator.instances.processes import (
    MarkovProcess,
    TableProcess,
    rationalise,
    tabulate,
    telling,
    told_of,
)
from draftproof.simulator.protocol import Context, TokenProcess, Vector
from draftproof.simulator.vectors import is_tensor

#: How the settings are written.
EXAMPLE = "temperature=.7,top_k=50,top_p=.9,min_p=.05,typical_p=.95,repetition_penalty=1.2,bits=4,ties=first"
#: How masks are written; a regular expression comes last.
MASKS = "no_repeat_ngram_size=3,eos=2,min_new_tokens=1,stop_strings=01|11,table=01-!/1-0,regex=(01|1)*"
#: How the memory of a draft is written.
MEMORY = "memory=0"
#: Whose sampling it is: the target's, the draft's, or that of the `q` that verifiers are given.
_ROLES = ("target", "draft", "told")
#: Temperatures below it are powers in float64 even where `1/T` is whole.
COLDEST = 0.01


@dataclass(frozen=True)
class Sampling:
    """What is done to rows before a token is drawn; what is left out changes nothing.

    temperature: at least 0; 0 is greedy, the lowest token where several are most probable. top_k: keeps the k most
    probable tokens. top_p: keeps the most probable tokens until they have this mass. min_p: drops tokens below this
    share of the most probable one. typical_p: keeps the tokens with information closest to the entropy until they have
    this mass. repetition_penalty: divides positive logits of tokens in the text so far, multiplies negative ones.
    bits: probabilities in multiples of `2**-bits`, rounded down, the rest going to the most probable token. ties:
    whether top-p keeps the `last` or the `first` of equal tokens. The others are masks, with tokens written as letters,
    words of `stop_strings` between `|`; see `Masks` and `Grammar`. memory: of a draft, how many of the last drafted
    tokens a row depends on, besides the root and its depth; 0: the marginals. Raises `InvalidInput` for values out of
    range.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    typical_p: float | None = None
    repetition_penalty: float | None = None
    bits: int | None = None
    ties: str = "last"
    no_repeat_ngram_size: int | None = None
    eos: str | None = None
    min_new_tokens: int = 0
    stop_strings: str = ""
    table: str | None = None
    regex: str | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        if not (isfinite(self.temperature) and self.temperature >= 0):
            raise InvalidInput(f"temperature {self.temperature} must be a number of at least 0 (0 is greedy)")
        if self.top_k is not None and self.top_k < 1:
            raise InvalidInput(f"top_k {self.top_k} must be at least 1; leave it out to keep all tokens")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise InvalidInput(f"top_p {self.top_p} must be above 0 and at most 1; leave it out to keep all tokens")
        if self.min_p is not None and not 0 <= self.min_p <= 1:
            raise InvalidInput(f"min_p {self.min_p} must be at least 0 and at most 1; leave it out to keep all tokens")
        if self.typical_p is not None and not 0 < self.typical_p < 1:
            raise InvalidInput(f"typical_p {self.typical_p} must be above 0 and below 1; leave it out to keep all")
        penalty = self.repetition_penalty
        if penalty is not None and not (isfinite(penalty) and penalty > 0):
            raise InvalidInput(f"repetition_penalty {penalty} must be a number above 0; 1 changes nothing")
        if self.bits is not None and not 1 <= self.bits <= 40:
            raise InvalidInput(f"bits {self.bits} must be 1 to 40")
        if self.ties not in ("first", "last"):
            raise InvalidInput(f"ties {self.ties!r}: choose last (as transformers) or first")
        if self.memory is not None and self.memory < 0:
            raise InvalidInput(f"memory {self.memory} must be at least 0 tokens; leave it out to keep all")
        self._check_masks()

    def _check_masks(self) -> None:
        if self.no_repeat_ngram_size is not None and self.no_repeat_ngram_size < 1:
            raise InvalidInput(f"no_repeat_ngram_size {self.no_repeat_ngram_size} must be at least 1")
        if self.min_new_tokens < 0:
            raise InvalidInput(f"min_new_tokens {self.min_new_tokens} must be at least 0")
        if self.eos is None and (self.min_new_tokens or self.stop_strings):
            raise InvalidInput("min_new_tokens and stop_strings need the token that ends a text; add eos=TOKEN")
        if self.table is not None and self.regex is not None:
            raise InvalidInput("table and regex both give a grammar; leave one of them out")
        if self.table is not None:
            _assert_texts(Grammar.of_table(self.table), f"table {self.table}", self.eos is None)
        if self.regex is not None:
            _assert_texts(Grammar.of_letters(self.regex), f"regex {self.regex!r}", self.eos is None)

    @classmethod
    def parse(cls, text: str, flag: str = "sampling") -> Sampling:
        """`temperature=.7,top_p=.9` and the like, each at most once; raises `InvalidInput` with the flag."""
        given: dict[str, Any] = {}
        found = re.search(r"(?:^|,)\s*regex=", text)  # its commas are its own
        if found:
            given["regex"] = text[found.end() :]
        for part in filter(None, text[: found.start() if found else None].split(",")):
            name, _, value = part.partition("=")
            name = name.strip()
            value = value if name in ("eos", "stop_strings") else value.strip()
            if name in given:
                raise InvalidInput(f"{flag} {text!r} has {name} twice; leave one of them out")
            if name not in _KINDS:
                close = get_close_matches(name, _KINDS, n=1)
                known = f"write {EXAMPLE}, of drafts {MEMORY}, or masks as {MASKS}, each at most once"
                raise InvalidInput(f"{flag} {part.strip()!r}: {f'did you mean {close[0]}=..?' if close else known}")
            try:
                given[name] = _KINDS[name](value)
            except (ValueError, OverflowError, InvalidInput):
                example = re.search(rf"\b{name}=[^,]+", f"{EXAMPLE},{MEMORY},{MASKS}")
                assert example is not None
                raise InvalidInput(
                    f"{flag} {part.strip()!r}: {value!r} is no number of that kind; "
                    f"write {example[0]}, with a comma between two settings"
                ) from None
        try:
            return cls(**given)
        except InvalidInput as error:
            raise InvalidInput(f"{flag} {text}: {error}") from None

    @property
    def is_identity(self) -> bool:
        """Whether every row stays as it is."""
        return not self.settings.keys() - {"ties"}

    def of(self, role: str) -> Sampling:
        """The sampling of a role: here one for both models."""
        return self

    @property
    def masked(self) -> bool:
        """Whether which tokens are allowed depends on the tokens before them."""
        return any(each is not None for each in (self.no_repeat_ngram_size, self.eos, self.table, self.regex))

    @property
    def depends_on_text(self) -> bool:
        """Whether rows depend on the whole text."""
        return self.masked or self.repetition_penalty is not None

    def masks(self, vocab_size: int, text: Context = (), names: Sequence[str] = LETTERS) -> Masks:
        """Its masks; names: of the tokens. Raises `InvalidInput` for what does not fit these."""
        names = tuple(names[:vocab_size])
        named = self.regex is not None or self.eos is not None
        if named and len(names) < vocab_size:
            raise InvalidInput(
                f"regex and eos name tokens by the letters {''.join(names)}, too few for V = {vocab_size}"
            )
        single = all(len(name) == 1 for name in names)
        shown = (
            f"the letters {''.join(names)!r}"
            if single
            else f"{', '.join(map(repr, names[:8]))}{', ..' if len(names) > 8 else ''}"
        )
        if self.eos is not None and names.count(self.eos) != 1:
            if single and len(self.eos) > 1 and {*self.eos} <= {*names}:
                raise InvalidInput(f"eos {self.eos!r} must be one of {shown}")
            raise InvalidInput(f"eos {self.eos!r}: tokens are {shown}")
        words = tuple(self.stop_strings.split("|")) if self.stop_strings else ()
        for word in words:
            if not word or (single and not {*word} <= {*names}):
                raise InvalidInput(f"stop_strings {word!r}: tokens are {shown}")
        end = None if self.eos is None else names.index(self.eos)
        grammar = _grammar(self.table, self.regex, names, vocab_size, end, shown)
        return Masks(vocab_size, grammar, end, self.min_new_tokens, words, self.no_repeat_ngram_size, text, names)

    @property
    def told_apart(self) -> bool:
        """Whether verifiers are told other rows of the draft than those that tokens are drawn from."""
        return self.of("told") != self.of("draft")

    @property
    def greedy(self) -> bool:
        """Whether every row has all its mass on one token."""
        return self.temperature == 0

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that are given, as plain data."""
        return {each.name: value for each in fields(Sampling) if (value := getattr(self, each.name)) != each.default}

    @property
    def text(self) -> str:
        """The settings as `parse` reads them."""
        return ",".join(f"{name}={value}" for name, value in self.settings.items())

    def as_dict(self) -> dict[str, Any]:
        """The settings as rows hold them: temperature, top_k and top_p always."""
        return {"temperature": self.temperature, "top_k": self.top_k, "top_p": self.top_p, **self.settings}

    @property
    def why_irrational(self) -> str | None:
        """Why the map is not rational, in words; None where it is."""
        if self.greedy:
            return None
        if self.repetition_penalty is not None and self.repetition_penalty != int(self.repetition_penalty):
            return f"p^{self.repetition_penalty:g} is irrational"
        if _root_of(self.temperature) is None:
            return f"p^(1/{self.temperature:g}) is irrational"
        return None

    def __str__(self) -> str:
        numbers = {name: value for name, value in self.settings.items() if name != "ties"} or {"temperature": 1}
        said = [
            f"{name.replace('_', '-')} {value if isinstance(value, str) else format(value, 'g')}"
            for name, value in numbers.items()
        ]
        return ", ".join(said + ["the first of equal tokens kept"] * (self.ties == "first"))

    def rows(self, rows: Any, seen: Any = None) -> Any:
        """The rows that tokens are drawn from, for exact or float64 rows of shape `(n, V)`; masks are not applied.

        seen: which tokens are in the text so far, of the same shape, where there is a repetition penalty; None where it
        is applied already.
        """
        if self.is_identity:
            return rows
        self.assert_row_wise()
        if seen is not None:
            rows = self._penalised(rows, seen)
        if self.greedy:
            return _one_hot(rows)
        if self.temperature != 1:
            root = _root_of(self.temperature)
            rows = _power(rows / _largest(rows, 1), 1 / self.temperature if root is None else root)
        return self._kept(_normalised(rows))

    def of_logits(self, logits: Any, dtype: Any = None, texts: Any = None, allowed: Any = None) -> Any:
        """The rows that torch logits of shape `(.., V)` become, on the same device; they sum to 1 up to rounding.

        dtype: a torch precision, float64 by default. texts: the tokens before each row, shape `(.., length)`, for a
        repetition penalty. allowed: what masks allow, booleans of shape `(.., V)`, at least one in each row. Raises
        `InvalidInput` where one of these is needed and not given.
        """
        self.assert_row_wise()
        if self.masked and allowed is None:
            raise InvalidInput(f"masks ({self}) are not applied here, where rows are not asked for text by text")
        scores = logits.double() if dtype is None else logits.to(dtype)
        if self.repetition_penalty is not None:
            if texts is None:
                raise InvalidInput("repetition_penalty needs the whole text, which is not kept here; leave it out")
            penalised = scores.gather(-1, texts)
            penalty = self.repetition_penalty
            scores = scores.scatter(-1, texts, (penalised * penalty).where(penalised < 0, penalised / penalty))
        if allowed is not None:
            scores = scores.masked_fill(~allowed, -float("inf"))
        if self.greedy:
            return scores.new_zeros(scores.shape).scatter_(-1, scores.argmax(dim=-1, keepdim=True), 1.0)
        # The largest becomes 0 first: divided by a temperature close to 0 it would be infinite, and no row at all.
        scores = (scores - scores.amax(dim=-1, keepdim=True)) / self.temperature
        return self._kept(scores.softmax(dim=-1))

    def process(
        self,
        given: TokenProcess,
        text: Context = (),
        denominator: int | None = None,
        depth: int | None = None,
        letters: Sequence[str] = LETTERS,
    ) -> TokenProcess:
        """A process with its rows sampled so; with a penalty or masks they depend on all tokens since `text`.

        text: the tokens before the root, which count for penalties and n-grams. denominator: what rows are rounded to
        where the map is not rational. depth: makes tables of a process with a penalty or masks, to that depth.
        letters: what tokens are called in masks.
        """
        if self.is_identity:
            return given
        if self.memory is not None:
            drawn = replace(self, memory=None).process(given, text, denominator, depth, letters)
            return self.remembered(drawn, given.depth if depth is None and isinstance(given, TableProcess) else depth)
        if self.depends_on_text:
            made = _SampledProcess(self, given, text, denominator, letters)
            return made if depth is None else tabulate(made, depth, arithmetic_of(given.row(())), made.name)
        if isinstance(given, MarkovProcess):
            return MarkovProcess(self._rounded_rows(given.states, denominator), given.root, given.name)
        if isinstance(given, TableProcess):
            return TableProcess([self._rounded_rows(table, denominator) for table in given.tables], given.name)
        return _SampledProcess(self, given, text, denominator)

    def remembered(self, drawn: TokenProcess, depth: int | None) -> TokenProcess:
        """A draft whose rows are sampled, with the memory, as tables to this depth; see `remembering`."""
        if self.memory is None:
            return drawn
        if depth is None:
            raise InvalidInput(
                f"memory {self.memory} sums over all paths of a draft; give a list of tables, [d] of shape (V**d, V)"
            )
        return remembering(drawn, self.memory, depth, getattr(drawn, "name", "draft"))

    def assert_row_wise(self) -> None:
        """Raise `InvalidInput` where a row depends on others."""
        if self.memory is not None:
            raise InvalidInput(
                f"memory={self.memory} sums over all paths of a draft, and rows are computed one by one here; it is "
                "for drafts whose tables fit"
            )

    def instance(self, raw: Instance, text: Context = ()) -> Instance:
        """Both processes of an instance, sampled so; text: as in `process`."""
        if self.is_identity:
            return raw
        target, draft = (self.process(side, text, depth=side.depth) for side in (raw.target, raw.draft))
        assert isinstance(target, TableProcess)
        assert isinstance(draft, TableProcess)
        return Instance(target, draft, raw.scheme)

    def _penalised(self, rows: Any, seen: Any) -> Any:
        """Rows that do not sum to 1, where there is a penalty; seen: as in `rows`."""
        penalty = self.repetition_penalty
        return rows if penalty is None else np.where(seen, _power(rows, penalty), rows)

    def _rounded_rows(self, rows: Any, denominator: int | None) -> Any:
        made = self.rows(rows)
        if denominator is None or self.why_irrational is None or self.bits is not None:  # bits round already
            return made
        return rationalise(made, denominator, arithmetic_of(rows))

    def _kept(self, rows: Any) -> Any:
        """The steps after the temperature; each conditions on the tokens that it keeps."""
        if self.top_k is not None and self.top_k < rows.shape[-1]:
            rows = _conditioned(rows, rows >= _largest(rows, self.top_k))
        if self.top_p is not None and self.top_p < 1:
            rows = _conditioned(rows, self._nucleus(rows, self.top_p))
        if self.min_p is not None:
            rows = _conditioned(rows, rows >= _number(self.min_p, rows) * _largest(rows, 1))
        if self.typical_p is not None:
            rows = _conditioned(rows, _typical(rows, self.typical_p))
        return rows if self.bits is None else _quantised(rows, self.bits)

    def _nucleus(self, rows: Any, top_p: float) -> Any:
        """The tokens that top-p keeps: all but those that have, with the less probable ones, at most mass `1 - p`."""
        order = _ascending(rows) if self.ties == "last" else _flipped(_ascending(-rows))
        kept = _gathered(rows, order).cumsum(-1) > 1 - _number(top_p, rows)
        kept[..., -1] = True
        return _placed(kept, order)


@dataclass(frozen=True)
class Samplings(Sampling):
    """The sampling of the target, that of the draft, and that of the `q` which verifiers are given.

    draft: None for that of the target. told: that of the draft rows which verifiers are given as `q`; None for the rows
    that tokens are drawn from. With others no verifier is lossless in general.
    """

    draft: Sampling | None = None
    told: Sampling | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory is not None:
            raise InvalidInput(f"memory={self.memory} is for drafts; give it in the sampling of the draft")

    @classmethod
    def of_options(
        cls, sampling: str | None, draft: str | None = None, told: str | None = None, prefix: str = ""
    ) -> Samplings:
        """From the text of options. told: "sampled" (as the draft), "draft" (not sampled), "target", or as `sampling`.

        prefix: before the names of options in errors. Raises `InvalidInput`, also for `told` without effect.
        """
        made = cls.of_target(Sampling.parse(sampling or "", f"{prefix}sampling"), draft, told, prefix)
        return made.telling(told, prefix)

    @classmethod
    def of_target(
        cls, target: Sampling, draft: str | None = None, told: str | None = None, prefix: str = ""
    ) -> Samplings:
        """As `of_options` with the sampling of the target; `told` may be without effect."""
        own = target if draft is None else Sampling.parse(draft, _flag("draft-sampling", prefix))
        words = {None: own, "sampled": own, "draft": Sampling(), "target": target}
        if told not in words and "=" not in (told or ""):
            raise InvalidInput(
                f"{prefix}told {told!r}: choose sampled, draft or target, or write it as {prefix}sampling"
            )
        shown = words[told] if told in words else Sampling.parse(told or "", f"{prefix}told")
        return cls(**target.settings, draft=None if own == target else own, told=None if shown == own else shown)

    def telling(self, told: str | None, prefix: str = "") -> Samplings:
        """These; raises `InvalidInput` where verifiers were to be told another q and it is the one drawn from."""
        if self.told is None and told not in (None, "sampled"):
            raise InvalidInput(
                f"{prefix}told {told} is the q that tokens are drawn from; leave it out, or sample the draft "
                f"otherwise, as {_flag('draft-sampling', prefix)} top_k=1"
            )
        return self

    def of(self, role: str) -> Sampling:
        """The sampling of the target, of the draft, or of the `q` that verifiers are given (`told`)."""
        target = Sampling(**self.settings)
        draft = self.draft or target
        return {"target": target, "draft": draft, "told": self.told or draft}[role]

    @property
    def is_identity(self) -> bool:
        """Whether all rows stay as they are, those for verifiers, too."""
        return self.of("target").is_identity and self.of("draft").is_identity and self.told is None

    @property
    def _differing(self) -> dict[str, Sampling]:
        return {name: value for name, value in (("draft", self.draft), ("told", self.told)) if value is not None}

    def as_dict(self) -> dict[str, Any]:
        return {**super().as_dict(), **{f"{name}_sampling": value.text for name, value in self._differing.items()}}

    @property
    def source(self) -> dict[str, Any]:
        """What it adds to the fields that define an instance."""
        own = {"sampling": self.settings} if self.settings else {}
        return {**own, **{f"{name}_sampling": value.settings for name, value in self._differing.items()}}

    def __str__(self) -> str:
        target = super().__str__()
        if not self._differing:
            return target
        told = "" if self.told is None else f", told q at {self.told}"
        return f"target at {target}, draft at {self.of('draft')}{told}"

    def cases(
        self, cases: Sequence[Case], depth: int, denominator: int | None, letters: Sequence[str] = LETTERS
    ) -> list[Case]:
        """Cases sampled so, for trees of this depth; denominator, letters: as in `Sampling.process`."""
        if self.is_identity:
            return list(cases)
        shared: dict[Any, MarkovProcess] = {}

        def made(sampling: Sampling, process: TokenProcess, text: Context, most: int) -> TokenProcess:
            if not isinstance(process, MarkovProcess) or sampling.depends_on_text or sampling.memory is not None:
                return sampling.process(process, text, denominator, most, letters)
            key = sampling, id(process.states)  # roots of one text share their tables
            if key not in shared:
                first = sampling.process(process, text, denominator)
                assert isinstance(first, MarkovProcess)
                shared[key] = first
            return shared[key].starting_at(process.root)

        def sampled(case: Case) -> Case:
            text, above = getattr(case.target, "root", ()), max(depth - 1, 0)
            shown = told_of(case.draft) or (None if self.told is None else case.draft)
            told = None if shown is None else made(self.of("told"), shown, text, above)
            target, draft = (
                made(self.of("target"), case.target, text, depth),
                made(self.of("draft"), case.draft, text, above),
            )
            return replace(case, target=target, draft=draft if told is None else telling(draft, told))

        return list(map(sampled, cases))

    def description(self, rounding: str) -> str:
        """The text, with the powers that are not rational; rounding: the text about rounded rows."""
        why = ", ".join(dict.fromkeys(each for role in _ROLES if (each := self.of(role).why_irrational)))
        return f"{self}" + (f" ({why}: powers in float64{rounding})" if why else "")


class _SampledProcess:
    """A process whose rows are sampled, given the tokens so far, when they are needed; rows are kept."""

    def __init__(
        self,
        sampling: Sampling,
        given: TokenProcess,
        text: Context,
        denominator: int | None,
        letters: Sequence[str] = LETTERS,
    ) -> None:
        self.vocab_size, self.name = given.vocab_size, getattr(given, "name", "process")
        self._sampling, self._given, self._text, self._denominator = sampling, given, text, denominator
        self._masks = sampling.masks(given.vocab_size, text, letters) if sampling.masked else None
        self._known: dict[Context, Vector] = {}

    def row(self, context: Context) -> Vector:
        if context not in self._known:
            row = self._given.row(context)
            seen = np.zeros(row.shape, dtype=bool)
            seen[[*self._text, *context]] = True
            row = self._masked(self._sampling._penalised(row[None], seen)[0], context)
            self._known[context] = self._sampling._rounded_rows(row[None], self._denominator)[0]
        return self._known[context]

    def _masked(self, row: Vector, context: Context) -> Vector:
        if self._masks is None:
            return row
        try:
            return masked_row(row, self._masks, context)
        except InvalidInput as error:
            if all(self.row(context[:place])[token] for place, token in enumerate(context)):
                raise InvalidInput(f"{self.name}: {error}") from None
            return row  # the context is never drawn


@lru_cache(maxsize=16)
def _grammar(
    table: str | None, regex: str | None, names: tuple[str, ...], vocab_size: int, eos: int | None, shown: str
) -> Grammar | None:
    """The grammar of a table or regular expression over these tokens; shown: the tokens in words."""
    if table is None and regex is None:
        return None
    said = f"regex {regex!r}" if table is None else f"table {table}"
    made = Grammar.of_regex(regex or "", names) if table is None else Grammar.of_table(table)
    if (size := len(made.moves[0])) != vocab_size:
        raise InvalidInput(f"{said} has {size} tokens to each state, V is {vocab_size}")
    try:
        kept = made.without(eos)
    except InvalidInput as error:
        shown = shown.removeprefix("the letters ")
        ends = "" if eos is None else f"; none of its texts may have the eos {names[eos]!r}, which follows them"
        comma = "; what follows regex= is all of the expression: other settings come before it"
        raise InvalidInput(
            f"{said}: {error} of these tokens, {shown}{ends}{comma if ',' in (regex or '') else ''}"
        ) from None
    if eos is None and {*kept.moves[0]} == {None}:
        shown = shown.removeprefix("the letters ")
        raise InvalidInput(f"{said}: the grammar accepts only the empty text of these tokens, {shown}")
    return kept


def _assert_texts(grammar: Grammar, said: str, endless: bool) -> None:
    """Raise `InvalidInput` for a grammar that no tokens can obey, before models are read; endless: without `eos`."""
    comma = "; what follows regex= is all of the expression: other settings come before it" if "," in said else ""
    try:
        kept = grammar.without(None)
    except InvalidInput as error:
        raise InvalidInput(f"{said}: {error}{comma}") from None
    if endless and {*kept.moves[0]} <= {None}:
        raise InvalidInput(f"{said}: the grammar accepts only the empty text{comma}")


def masked_row(row: Vector, masks: Masks, context: Context) -> Vector:
    """A row given the tokens that are allowed after a context; one alone has all mass, whatever the row gives it.

    Raises `InvalidInput` where the allowed tokens have no mass.
    """
    allowed = masks.allowed(context)
    if allowed is None:
        return row
    kept = np.array(allowed)
    if kept.sum() == 1:
        return arithmetic_of(row).vector(kept.astype(int))
    if (row * kept).any():
        return _conditioned(row, kept)
    raise dead_end(context, masks.names, np.flatnonzero(kept).tolist())


def dead_end(context: Context, names: Sequence[str], without_mass: Sequence[int] = ()) -> InvalidInput:
    """The error that no token can follow a context; names: of the tokens in masks."""
    after = ", ".join(repr(names[token]) for token in context) or "the root"
    why = "the masks allow none; add eos=TOKEN, which ends a text, or use a shallower tree"
    if without_mass:
        allowed = ", ".join(repr(names[token]) for token in without_mass)
        why = f"the masks allow {allowed}, which have no mass; use a finer denominator"
    return InvalidInput(f"no token can follow {after}: {why}")


def _flag(name: str, prefix: str) -> str:
    """An option, or without a prefix the argument of Python."""
    return f"{prefix}{name}" if prefix else name.replace("-", "_")


_KINDS: dict[str, Any] = {
    "temperature": lambda text: float(parse_fraction(text)),
    "top_k": int,
    "top_p": lambda text: float(parse_fraction(text)),
    "min_p": lambda text: float(parse_fraction(text)),
    "typical_p": lambda text: float(parse_fraction(text)),
    "repetition_penalty": lambda text: float(parse_fraction(text)),
    "bits": int,
    "ties": str.strip,
    "no_repeat_ngram_size": int,
    "eos": str,
    "min_new_tokens": int,
    "stop_strings": str,
    "table": str.strip,
    "regex": str,
    "memory": int,
}


def _root_of(temperature: float) -> int | None:
    """The whole number `1/T`, None where it is none, or so large that powers would have thousands of digits."""
    whole = round(1 / temperature) if temperature >= COLDEST else 0
    return whole if whole and 1 / whole == temperature else None


def _number(value: float, rows: Any) -> Any:
    """A setting as a number of the rows' kind: exactly what was written, a decimal or a small fraction."""
    if rows.dtype != object:
        return value
    near = Fraction(value).limit_denominator(1000)
    return to_fmpq(near if float(near) == value else Fraction(repr(value)))


def _power(rows: Any, exponent: float) -> Any:
    """Powers; of exact rows exact for whole exponents, else the fractions that float64 gives."""
    if rows.dtype != object:
        return rows**exponent
    if exponent == int(exponent):
        return rows ** int(exponent)
    powers = FLOAT64.vector(rows) ** exponent
    return RATIONAL.vector([[fmpq(*value.as_integer_ratio()) for value in row] for row in powers.tolist()])


def _normalised(rows: Any) -> Any:
    return rows / (rows.sum(-1, keepdim=True) if is_tensor(rows) else rows.sum(axis=-1, keepdims=True))


def _conditioned(rows: Any, kept: Any) -> Any:
    """The rows given the tokens that are kept."""
    return _normalised(rows * kept)


def _one_hot(rows: Any) -> Any:
    eye = np.eye(rows.shape[-1], dtype=int)[rows.argmax(axis=-1)]
    return arithmetic_of(rows).vector(eye)


def _largest(rows: Any, count: int) -> Any:
    """The `count`-th largest entry of each row, shape `(.., 1)`."""
    if is_tensor(rows):
        return rows.topk(count, dim=-1).values[..., -1:]
    return np.sort(rows, axis=-1)[..., -count][..., None]


def _typical(rows: Any, mass: float) -> Any:
    """The tokens whose information is closest to the entropy, until they have this mass; all that are as close."""
    floats = FLOAT64.vector(rows) if rows.dtype == object else rows
    with np.errstate(divide="ignore", invalid="ignore"):
        information = -(floats.log() if is_tensor(rows) else np.log(floats))
        entropy = (
            (information * floats).nansum(-1, keepdim=True)
            if is_tensor(rows)
            else np.nansum(information * floats, axis=-1, keepdims=True)
        )
    away = abs(information - entropy)
    order = _ascending(away)
    near = _gathered(away, order)
    last = (_gathered(rows, order).cumsum(-1) < _number(mass, rows)).sum(-1)
    edge = _gathered(near, last.clip(max=rows.shape[-1] - 1)[..., None])
    kept = near <= edge
    kept[..., 0] = True
    return _placed(kept, order)


def _quantised(rows: Any, bits: int) -> Any:
    """Multiples of `2**-bits`, rounded down, the rest on the most probable token."""
    if not is_tensor(rows):
        return rationalise(rows, 2**bits, arithmetic_of(rows))
    units = (rows * 2**bits).floor()
    top = rows.argmax(dim=-1, keepdim=True)
    return units.scatter_add(-1, top, 2**bits - units.sum(-1, keepdim=True)) / 2**bits


def _ascending(rows: Any) -> Any:
    """The tokens of each row from the least to the most probable, equal ones by number."""
    return rows.argsort(dim=-1, stable=True) if is_tensor(rows) else np.argsort(rows, axis=-1, kind="stable")


def _flipped(order: Any) -> Any:
    return order.flip(-1) if is_tensor(order) else order[..., ::-1]


def _gathered(rows: Any, order: Any) -> Any:
    return rows.gather(-1, order) if is_tensor(rows) else np.take_along_axis(rows, order, axis=-1)


def _placed(values: Any, order: Any) -> Any:
    """Values by rank back in the order of tokens."""
    if is_tensor(values):
        return values.clone().scatter_(-1, order, values)
    placed = np.empty_like(values)
    np.put_along_axis(placed, order, values, axis=-1)
    return placed
