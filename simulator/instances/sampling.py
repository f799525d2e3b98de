"""How tokens are drawn from rows: penalty, masks, temperature, top-k, top-p, min-p, typical mass, rounding to bits.

A draft may then forget what it drafted (`draftproof.simulator.instances.processes.remembering`).

The rules of a row are in `row_maps`, masks in `masks`; here is how they are written and who is sampled how. `V` is the
vocabulary size.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import arithmetic_of, parse_fraction
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.masks import LETTERS, MaskRules, masked_row
from draftproof.simulator.instances.processes import MarkovProcess, rationalise, remembering, tabulate, telling, told_of
from draftproof.simulator.instances.row_maps import RowRules
from draftproof.simulator.protocol import Context, TokenProcess, Vector
from draftproof.simulator.tables import TableProcess

#: How the settings are written.
EXAMPLE = "temperature=.7,top_k=50,top_p=.9,min_p=.05,typical_p=.95,repetition_penalty=1.2,bits=4,ties=first"
#: How masks are written; a regular expression comes last.
MASKS = "no_repeat_ngram_size=3,eos=2,min_new_tokens=1,stop_strings=01|11,table=01-!/1-0,regex=(01|1)*"
#: How the memory of a draft is written.
MEMORY = "memory=0"
#: Whose sampling it is: the target's, the draft's, or that of the `q` that verifiers are given.
_ROLES = ("target", "draft", "told")


@dataclass(frozen=True)
class Sampling(MaskRules, RowRules):
    """What is done to rows before a token is drawn; what is left out changes nothing. See `RowRules` and `MaskRules`.

    memory: of a draft, how many of the last drafted tokens a row depends on, besides the root and its depth; 0: the
    marginals. Raises `InvalidInput` for values out of range.
    """

    memory: int | None = None

    def __post_init__(self) -> None:
        self._check_rows()
        if self.memory is not None and self.memory < 0:
            raise InvalidInput(f"memory {self.memory} must be at least 0 tokens; leave it out to keep all")
        self._check_masks()

    @classmethod
    def parse(cls, text: str, flag: str = "sampling") -> Sampling:
        """`temperature=.7,top_p=.9` and the like, each at most once; raises `InvalidInput` with the flag."""
        given: dict[str, Any] = {}
        grammar = re.search(r"(?:^|,)\s*regex=", text)  # its commas are its own
        if grammar:
            given["regex"] = text[grammar.end() :]
        for part in filter(None, text[: grammar.start() if grammar else None].split(",")):
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
    def depends_on_text(self) -> bool:
        """Whether rows depend on the whole text."""
        return self.masked or self.repetition_penalty is not None

    @property
    def tells_another_q(self) -> bool:
        """Whether verifiers are told other rows of the draft than those that tokens are drawn from."""
        return self.of("told") != self.of("draft")

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that are given, as plain data."""
        return {
            setting.name: value
            for setting in fields(Sampling)
            if (value := getattr(self, setting.name)) != setting.default
        }

    @property
    def text(self) -> str:
        """The settings as `parse` reads them."""
        return ",".join(f"{name}={value}" for name, value in self.settings.items())

    def as_dict(self) -> dict[str, Any]:
        """The settings as rows hold them: temperature, top_k and top_p always."""
        return {"temperature": self.temperature, "top_k": self.top_k, "top_p": self.top_p, **self.settings}

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
        return self._mapped(rows, seen)

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

    def _rounded_rows(self, rows: Any, denominator: int | None) -> Any:
        made = self.rows(rows)
        if denominator is None or self.why_irrational is None or self.bits is not None:  # bits round already
            return made
        return rationalise(made, denominator, arithmetic_of(rows))

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
        why = ", ".join(dict.fromkeys(reason for role in _ROLES if (reason := self.of(role).why_irrational)))
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


def _flag(name: str, prefix: str) -> str:
    """An option, or without a prefix the argument of Python."""
    return f"{prefix}{name}" if prefix else name.replace("-", "_")


def _decimal(text: str) -> float:
    return float(parse_fraction(text))


_KINDS: dict[str, Any] = {
    **dict.fromkeys(("temperature", "top_p", "min_p", "typical_p", "repetition_penalty"), _decimal),
    "top_k": int,
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
