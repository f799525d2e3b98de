"""Groups of options of the commands that run real models, and the objects made of their values."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from draftproof.experiments.grid.store import check_store
from draftproof.experiments.inputs.grammar import parse_range
from draftproof.experiments.inputs.options import (
    Beginning,
    ContextLength,
    Draft,
    DraftSampling,
    JsonTarget,
    PairFolder,
    PromptFile,
    Resume,
    Sampling,
    Target,
    Told,
)
from draftproof.experiments.inputs.schemes import find_scheme
from draftproof.experiments.inputs.text import EMBEDDED, text_files
from draftproof.experiments.shared.output import check_files
from draftproof.simulator.drafts import SCHEMES, Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import DraftScheme

if TYPE_CHECKING:
    from draftproof.experiments.models.pair.opened import PairRequest
    from draftproof.simulator.instances.sampling import Samplings

_PAIR: Any = {"rich_help_panel": "Pair of models"}
_SHAPE: Any = {"rich_help_panel": "Scheme"}
_OUT: Any = {"rich_help_panel": "Output"}

Vectors = Annotated[str, typer.Option(help="What verifiers compute with: numpy, or torch on the device.")]
Clock = Annotated[
    str,
    typer.Option(help="wall, or processor: time of this process only, for models on one thread of a CPU."),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of training and of every run.")]

Device = Annotated[str, typer.Option(help="auto, cpu or cuda.", **_PAIR)]
Dtype = Annotated[str, typer.Option(help="float32, bfloat16, float16 or float64.", **_PAIR)]
Vocab = Annotated[
    int | None, typer.Option("--vocab", help="Vocabulary size of a pair that is trained (default 8).", **_PAIR)
]
Tokenizer = Annotated[str, typer.Option(help="Tokenizer of a pair that is trained: letters or bpe.", **_PAIR)]
TextName = Annotated[str, typer.Option("--text", help=f"A UTF-8 file, or {EMBEDDED} (embedded).", **_PAIR)]
BranchRange = Annotated[str | None, typer.Option("--K", help="Branches of delayed trees, as 2 or 1..4.", **_SHAPE)]
Schemes = Annotated[
    list[str] | None,
    typer.Option("--scheme", metavar="SPEC", help=f"{', '.join(SCHEMES)}, or FILE.py:NAME; may be repeated.", **_SHAPE),
]
TrunkRange = Annotated[str | None, typer.Option("--L1", help="Trunk lengths.", **_SHAPE)]
LengthRange = Annotated[str | None, typer.Option("--L2", help="Branch lengths.", **_SHAPE)]
Markdown = Annotated[str | None, typer.Option("--markdown", help="Write the table to this Markdown file.", **_OUT)]
Plot = Annotated[str | None, typer.Option("--plot", help="Draw the table into this PNG file.", **_OUT)]
Times = Annotated[
    str | None,
    typer.Option("--times", help="Write the measured times of passes to this file, for `compare --cost FILE`.", **_OUT),
]


@dataclass(frozen=True)
class PairOptions:
    """Which models to use. Without any of these options a small pair is trained and deleted afterwards."""

    folder: PairFolder = None
    target: Target = None
    draft: Draft = None
    device: Device = "auto"
    dtype: Dtype = "float32"
    vocab: Vocab = None
    tokenizer: Tokenizer = "letters"
    text: TextName = EMBEDDED
    prompts: PromptFile = None
    bos: Beginning = "auto"
    context: ContextLength = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The files that the command reads, for `check_files`."""
        return (*text_files(self.text), *([] if self.prompts is None else [self.prompts]))

    def wanted(self, seed: int, quick: bool = False) -> PairRequest:
        """These options as the argument of `open_pair`; raises `InvalidInput` where they contradict each other."""
        from draftproof.experiments.models.pair.opened import PairRequest

        return PairRequest(**dataclasses.asdict(self), seed=seed, quick=quick)


@dataclass(frozen=True)
class SamplingOptions:
    """How tokens are sampled from both models; `draft_sampling` is for the draft where it differs."""

    sampling: Sampling = None
    draft_sampling: DraftSampling = None
    told: Told = None

    def samplings(self) -> Samplings:
        """These options as the loop takes them; raises `InvalidInput` for values outside their ranges."""
        from draftproof.simulator.instances.sampling import Samplings

        return Samplings.of_options(self.sampling, self.draft_sampling, self.told, "--")


@dataclass(frozen=True)
class ShapeOptions:
    """Ranges of K, L1 and L2 of delayed trees."""

    K: BranchRange = None
    L1: TrunkRange = None
    L2: LengthRange = None

    def shapes(self, default: tuple[Delayed, ...]) -> tuple[Delayed, ...]:
        """The valid shapes of the ranges, or `default` where no range is given; raises `InvalidInput`."""
        given = {"--K": self.K, "--L1": self.L1, "--L2": self.L2}
        if not any(given.values()):
            return default
        defaults = ("2", "0", "2")
        K, L1, L2 = (parse_range(given[flag] or usual, flag) for flag, usual in zip(given, defaults, strict=True))
        shapes = [Delayed(k, l1, l2) for k in K for l1 in L1 for l2 in L2 if l2 or k == 1]
        if not shapes:
            raise InvalidInput("no shape in the ranges is valid (L2 = 0 needs K = 1); widen --K, --L1 or --L2")
        return tuple(shapes)


@dataclass(frozen=True)
class SchemeOptions(ShapeOptions):
    """Ranges of shapes of delayed trees, and other draft schemes."""

    scheme: Schemes = None

    def schemes(self, default: tuple[Delayed, ...]) -> tuple[DraftScheme, ...]:
        """The shapes of the ranges and the schemes, or `default` where neither is given; raises `InvalidInput`."""
        given = [find_scheme(spec) for spec in dict.fromkeys(self.scheme or ())]
        return (*self.shapes(() if given else default), *given)


@dataclass(frozen=True)
class FileOptions:
    """The files that results are written to."""

    resume: Resume = None
    json_target: JsonTarget = None
    markdown: Markdown = None
    plot: Plot = None
    times: Times = None

    def given(self) -> dict[str, str | None]:
        """The files of tables, by flag. The file of `--json` is not among them: every command has that one."""
        return {"--resume": self.resume, "--markdown": self.markdown, "--plot": self.plot, "--times": self.times}

    def check(self, inputs: Sequence[str]) -> None:
        """Raises `InvalidInput`, before any work, where a file cannot be written or `--resume` is no store of rows."""
        check_files(inputs, {**self.given(), "--json": self.json_target})
        if self.resume is not None:
            check_store(self.resume)
