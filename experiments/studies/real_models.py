"""Speed and acceptance on real models: `python -m draftproof.experiments.studies.real_models --resume runs/real.db`.

Verifiers x shapes x temperatures: block efficiency, tokens a second against autoregressive generation, where the time
goes, acceptance and the L1 distance of p and q by depth, each beside what the exact simulator and a latency model
`T(x, a)` fitted on this machine predict. One row a setting; a second run computes only what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import typer

from draftproof.experiments.grid.run import finished
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.options import grouped
from draftproof.experiments.inputs.verifiers import NamedVerifier, chosen_verifiers
from draftproof.experiments.models import options as opt
from draftproof.experiments.shared.output import write_json, write_whole
from draftproof.experiments.shared.progress import INTERRUPTED, console_for, remark
from draftproof.simulator.drafts import Delayed

VERIFIERS = ("naive", "specinfer", "block", "traversal", "path_transport")
#: Single paths, early, late and delayed branches.
SHAPES = tuple(
    Delayed(*shape) for shape in ((1, 0, 2), (1, 0, 4), (2, 0, 2), (2, 1, 2), (2, 2, 2), (4, 2, 1), (4, 0, 2))
)
#: Share of the longest text at which passes are measured.
CONTEXTS = (0.1, 0.4, 0.7, 1.0)


@dataclass(frozen=True)
class Study:
    """The measurements: settings by temperature, verifiers, shapes, and the length of texts."""

    settings: tuple[Any, ...]
    verifiers: tuple[NamedVerifier, ...]
    schemes: tuple[Delayed, ...]
    length: Any

    @property
    def start(self) -> int:
        """Tokens of a root."""
        return len(self.settings[0].roots[0])

    @property
    def contexts(self) -> list[int]:
        """Numbers of remembered tokens at which passes are measured."""
        longest = self.start + self.length.tokens
        return sorted({max(1, round(share * longest)) for share in CONTEXTS})

    @property
    def counts(self) -> list[int]:
        """Numbers of tokens that the target reads at once, where passes are measured."""
        return sorted({1, 2, 4, 8, *(scheme.nodes + 1 for scheme in self.schemes)})


def run(study: Study, kept: Store) -> list[dict[str, Any]]:
    """All rows: the latency model, then for each temperature plain generation and every verifier on every shape."""
    from draftproof.experiments.models.measure import texts as measure

    first = study.settings[0]
    key = measure.latency_key(first, study.contexts, study.counts)
    if key not in kept:
        remark("warming up and measuring passes")
        finished({key: partial(measure.latency_row, first, study.contexts, study.counts)}, kept)
    latency, work = measure.latency_of(kept[key]), {}
    for setting in study.settings:
        plain = measure.plain_key(setting, study.length)
        work[plain] = partial(measure.plain_row, setting, study.length, latency)
        for scheme in study.schemes:
            for named in study.verifiers:
                speculative = measure.speculative_key(setting, named, scheme, study.length)
                work[speculative] = partial(measure.speculative_row, setting, named, scheme, study.length, latency)
    finished(work, kept)
    return [kept[each] for each in (key, *work)]


def choose_study(
    opened: Any,
    chosen: Sequence[NamedVerifier],
    shapes: Sequence[Delayed],
    warps: Sequence[Any],
    roots: int,
    length: Any,
    seed: int,
    vectors: str,
) -> Study:
    """The study of a pair; raises `InvalidInput` for models that cannot be read as trees."""
    from draftproof.experiments.models.loop.setting import setting
    from draftproof.experiments.models.loop.supported import check_pair

    check_pair(opened.pair)
    first = setting(opened.pair, warps[0], opened.roots(roots), seed, vectors)
    settings = tuple(replace(first, warp=warp) for warp in warps)
    return Study(settings, tuple(chosen), tuple(shapes), length)


@grouped(pair=opt.PairOptions, shape=opt.ShapeOptions, files=opt.FileOptions)
def main(
    chosen: Annotated[list[str] | None, typer.Argument(metavar="[VERIFIER]...", help="Default: five of them.")] = None,
    *,
    sampling: opt.Samplings = None,
    vectors: opt.Vectors = "numpy",
    seed: opt.Seed = 0,
    roots: Annotated[int, typer.Option(min=1, help="Texts: root contexts that are continued.")] = 4,
    tokens: Annotated[int, typer.Option(min=4, help="Tokens of each text.")] = 150,
    pair: opt.PairOptions,
    shape: opt.ShapeOptions,
    files: opt.FileOptions,
) -> int:
    """Block efficiency, tokens a second, time split and acceptance by depth on real models, predicted and measured."""
    files.check(pair.text)
    from draftproof.experiments.models.measure.texts import Length, latency_of
    from draftproof.experiments.models.pair.opened import open_pair
    from draftproof.experiments.models.pair.warp import parse_warp
    from draftproof.experiments.studies import real_models_views as views

    named, shapes = chosen_verifiers(chosen or list(VERIFIERS)), shape.shapes(SHAPES)
    warps = [parse_warp(text) for text in sampling or ("temperature=.5", "temperature=1")]
    console, kept = console_for(files.json_target), Store(files.resume)
    try:
        with open_pair(pair.wanted(seed)) as opened:
            study = choose_study(opened, named, shapes, warps, roots, Length(tokens), seed, vectors)
            rows = run(study, kept)
    except KeyboardInterrupt:
        where = f"; rows so far are kept in {files.resume}" if files.resume else "; --resume FILE would keep rows"
        remark(f"interrupted{where}")
        return INTERRUPTED
    views.show(console, rows)
    if files.times:
        latency_of(rows[0]).times(study.start + tokens // 2).save(files.times)
        console.print(f"times: {files.times}, for draftproof compare --cost", soft_wrap=True)
    write_json(files.json_target, {"rows": rows})
    if files.markdown:
        write_whole(files.markdown, views.markdown(rows))
    if files.plot:
        write_whole(files.plot, views.figure(rows))
        console.print(f"picture: {files.plot}")
    return 0


if __name__ == "__main__":
    from draftproof.experiments.cli import run_command

    run_command(main)
