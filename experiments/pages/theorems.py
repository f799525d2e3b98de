"""The page of theorems: they are proved, and the page is written.

Rows are stored, so that a stopped run can be resumed; after a change of any source all are proved again. The page names
the commit that proved it and says nothing of later code. Seconds are processor seconds.
"""

import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from draftproof.experiments.cli.prove.any_vocabulary import run as run_every_size
from draftproof.experiments.cli.prove.request import Request
from draftproof.experiments.cli.prove.work import Related, Report, relate_two, run_proof
from draftproof.experiments.grid.rows import strong_id
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.experiments.shared.code import ROOT
from draftproof.experiments.shared.output import write_whole
from draftproof.experiments.shared.progress import remark
from draftproof.simulator.drafts import Adaptive, Delayed, Greedy, TopK, Topology, WithoutReplacement, scheme_from_dict
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.theorems.any_vocabulary.theorem import LOSSLESS
from draftproof.simulator.theorems.proof.relations import DOMINATES, EQUALS
from draftproof.simulator.verdicts.lossless import check

#: In place of a relation: lossless, and what an induction over the depth of draft trees needs.
EVERY_LENGTH = "every length"
#: The most draft trees of a shape.
MOST_TREES = 1_000

PATH, LONG = Delayed(1, 0, 2), Delayed(1, 0, 3)
PAIR, DEEP, TRUNK, TRIPLE = Delayed(2, 0, 1), Delayed(2, 0, 2), Delayed(2, 1, 1), Delayed(3, 0, 2)


@dataclass(frozen=True)
class Claim:
    """One theorem to be tried: `verifier` is lossless, or has the relation `kind` to `other`.

    vocab_size: None for every size. free: names of its free parameters. zeros: whether p and q may have zeros.
    """

    verifier: str
    vocab_size: int | None
    scheme: DraftScheme
    free: tuple[str, ...] = ()
    zeros: bool = False
    kind: str = ""
    other: str = ""

    def fields(self) -> dict[str, Any]:
        """The fields that define it."""
        return {
            "verifier": self.verifier,
            "vocab_size": self.vocab_size,
            "scheme": self.scheme.as_dict(),
            "free": list(self.free),
            "zeros": self.zeros,
            "kind": self.kind,
            "other": self.other,
        }

    def request(self) -> Request:
        """The request of `draftproof prove` for it."""
        size = self.vocab_size or 2
        return Request(find_verifier(self.verifier), size, self.scheme, self.zeros, self.free, MOST_TREES)

    def __str__(self) -> str:
        zeros = ", with zeros" if self.zeros else ""
        return f"{name_of(self.fields())}, V = {self.size}, {self.scheme}{free_in(self.fields())}{zeros}"

    @property
    def size(self) -> str:
        """The vocabulary size as text."""
        return "every" if self.vocab_size is None else str(self.vocab_size)

    @property
    def strong_id(self) -> str:
        """The identity of its row."""
        return strong_id(self.fields())


#: Lossy verifiers, each on a shape where it is refuted.
LOSSY: tuple[tuple[str, DraftScheme], ...] = (
    ("naive_from_target", Delayed(1, 0, 1)),
    ("ensemble", Delayed(1, 0, 1)),
    ("typical", Delayed(1, 0, 1)),
    ("threshold", Delayed(2, 0, 1)),
    ("block_by_weights", Delayed(1, 0, 2)),
    ("hsd_uncapped", Delayed(1, 0, 2)),
    ("traversal_insertion_order", Delayed(3, 0, 2)),
)
SINGLE = ("naive", "block", "tree_monte_carlo")
SEVERAL = ("nss", "naive_tree", "specinfer", "traversal", "gbv")
#: Verifiers on schemes other than delayed trees.
OTHER_SCHEMES: tuple[tuple[str, DraftScheme], ...] = (
    *((name, WithoutReplacement(2, 0, 2)) for name in ("nss", "naive", "naive_tree", "traversal")),
    ("rejection_without_replacement", WithoutReplacement(2, 0, 2)),
    ("nss", TopK(2, 0, 1)),
    ("greedy_multi_draft", Greedy(2, 0, 1)),
    ("traversal", Topology((2, 1, 0, 0))),
    ("block", Adaptive(1, 0, 2)),
)
RELATIONS = (
    (EQUALS, "tree_monte_carlo", "block", PATH),
    (EQUALS, "traversal", "block", PATH),
    (EQUALS, "gbv", "block", PATH),
    (EQUALS, "specinfer", "naive", PATH),
    (EQUALS, "naive_tree", "naive", PATH),
    (DOMINATES, "block", "naive", PATH),
    (DOMINATES, "block", "naive", LONG),
    (DOMINATES, "naive_tree", "naive", DEEP),
    (DOMINATES, "traversal", "block", DEEP),
    (DOMINATES, "traversal", "naive_tree", DEEP),
    (DOMINATES, "traversal", "specinfer", DEEP),
    (DOMINATES, "specinfer", "naive_tree", PAIR),
    (DOMINATES, "gbv", "block", PAIR),
)


def claims() -> Iterator[Claim]:
    """All theorems of the page, small shapes first."""
    yield from small_claims()
    for name, scheme in LOSSY:
        yield Claim(name, 2, scheme)
    yield Claim("ensemble:w=1", 2, PATH)
    yield Claim("ensemble", 2, Delayed(1, 0, 1), ("w",))
    yield Claim("typical:epsilon=1,delta=2", 2, PATH, ("solver",))
    yield Claim("typical:epsilon=1,delta=3", 3, PAIR, ("solver",))
    for kind, one, other, scheme in RELATIONS:
        yield Claim(one, 2, scheme, kind=kind, other=other)
    yield from every_size()
    yield from every_size_relations()
    yield from large_claims()


def every_size() -> Iterator[Claim]:
    """Claims for every vocabulary size."""
    for scheme in (Delayed(1, 0, 1), PATH):
        for name in ("naive", "naive_tree", "specinfer", "block", "hsd", "tree_monte_carlo", "traversal", "block_tree"):
            yield Claim(name, None, scheme)
    for name in ("nss", "ensemble:w=1"):
        yield Claim(name, None, PATH)
    yield Claim("block", None, Adaptive(1, 0, 2))
    yield Claim("block", None, LONG)
    names = ("nss", "naive", "block", "naive_tree", "block_tree", "specinfer")
    for scheme in (PAIR, TRUNK, DEEP):
        for name in names:
            yield Claim(name, None, scheme)
    for name in names:
        yield Claim(name, None, Delayed(3, 0, 1))
    for name in ("rejection_without_replacement", "traversal"):
        yield Claim(name, None, PAIR)
    for scheme in (TRUNK, DEEP):
        yield Claim("traversal", None, scheme)
    for name in ("nss", "naive", "naive_tree", "rejection_without_replacement", "traversal"):
        yield Claim(name, None, WithoutReplacement(2, 0, 1))
    for name in ("nss", "naive", "naive_tree", "rejection_without_replacement"):
        yield Claim(name, None, WithoutReplacement(2, 0, 2))
    for scheme in (Delayed(1, 0, 1), PATH):
        yield Claim("layer_transport", None, scheme)


def every_size_relations() -> Iterator[Claim]:
    """Relations for every vocabulary size, and claims for every length."""
    for kind, one, other in (
        (EQUALS, "hsd", "block"),
        (EQUALS, "tree_monte_carlo", "block"),
        (EQUALS, "traversal", "block"),
        (EQUALS, "specinfer", "naive"),
        (DOMINATES, "block", "naive"),
    ):
        yield Claim(one, None, PATH, kind=kind, other=other)
    for name in ("naive", "block", "naive_tree", "block_tree", "specinfer", "traversal"):
        yield Claim(name, None, PAIR, kind=EVERY_LENGTH)
    for name in ("hsd", "traversal"):
        yield Claim(name, None, Delayed(1, 0, 1), kind=EVERY_LENGTH)


def small_claims() -> Iterator[Claim]:
    """Claims that verifiers are lossless at two tokens."""
    for name in (*SINGLE, *SEVERAL):
        yield Claim(name, 2, PATH)
    for scheme in (PAIR, TRUNK, DEEP):
        for name in SEVERAL:
            yield Claim(name, 2, scheme)
    for name in ("khisti", "spectr", "path_transport", "layer_transport"):
        yield Claim(name, 2, PAIR, ("solver",))
    yield Claim("layer_transport", 2, PAIR, ("weights",))
    yield Claim("layer_transport", 2, TRUNK, ("solver",))
    yield Claim("layer_without_replacement", 2, WithoutReplacement(2, 0, 1), ("solver",))
    yield Claim("layer_greedy", 2, Greedy(2, 0, 1), ("solver",))
    for scheme in (PAIR, TRUNK):
        yield Claim("mixed_order", 2, scheme, ("a",))
    for name, other in OTHER_SCHEMES:
        yield Claim(name, 2, other)
    for name in SINGLE:
        yield Claim(name, 2, PATH, zeros=True)
    for name in ("traversal", "specinfer"):
        yield Claim(name, 2, PAIR, zeros=True)


def large_claims() -> Iterator[Claim]:
    """Claims that take longer: three tokens, three paths, long paths, free numbers in deep trees."""
    for name in SEVERAL:
        yield Claim(name, 3, PAIR)
    for name in ("khisti", "spectr"):
        yield Claim(name, 3, PAIR, ("solver",))
    for name in ("nss", "naive_tree"):
        yield Claim(name, 3, PAIR, zeros=True)
    yield Claim("khisti", 2, DEEP, ("solver",))
    yield Claim("rejection_without_replacement", 3, WithoutReplacement(2, 0, 1))
    yield Claim("block", 2, LONG)
    for name in ("nss", "naive_tree", "specinfer", "traversal"):
        yield Claim(name, 2, TRIPLE)
    for name in ("spectr", "path_transport"):
        yield Claim(name, 2, DEEP, ("solver",))
    yield Claim("naive", 3, PATH)
    yield Claim("block", 3, PATH)
    yield Claim("tree_monte_carlo", 2, LONG)
    yield Claim("mixed_order", 2, DEEP)
    yield Claim("mixed_order", 3, PAIR, ("a",))
    yield Claim("tree_monte_carlo", 2, LONG, kind=EQUALS, other="block")
    yield Claim("block", 3, PATH, kind=DOMINATES, other="naive")
    yield Claim("traversal", 3, PAIR, kind=DOMINATES, other="specinfer")
    for name in ("nss", "naive_tree", "specinfer"):
        yield Claim(name, 3, DEEP)
    yield Claim("layer_greedy", 3, Greedy(2, 0, 1), ("solver",))
    yield Claim("layer_without_replacement", 2, WithoutReplacement(2, 0, 2), ("solver",))
    yield Claim("mixed_order", 2, DEEP, ("a",))
    yield Claim("traversal", 3, DEEP)
    yield Claim("layer_transport", 3, PAIR, ("solver",))
    yield Claim("layer_transport", 2, DEEP, ("solver",))


#: What the page says of free numbers and of closed forms.
NOTES = (
    "`solver` stands for the weights of khisti's tournaments, any allowed rho of spectr, the mixtures of\n"
    "path_transport. In the layer verifiers it is the whole selection: for every set of drafted pairs below a layer,\n"
    "one is selected with arbitrary probabilities (in `layer_transport`, at most one), which covers every race with\n"
    "its weights and blocks; with `weights` the theorem covers the code that sums over races as well. `typical`\n"
    "is lossless if it accepts nothing: with `solver` free its row is about every epsilon and delta at least those\n"
    "named and any `exp(-H)` between the harmonic and the arithmetic mean of p. `ensemble`, at two tokens and one\n"
    "draft, is lossless for w = 1 and no smaller w: where p and q differ, its balance is a product of 1 - w and a\n"
    "factor without w (`pytest tests/experiments/cli/test_prove_parameters.py`).\n",
    "Closed forms are proved equal for all p and q by `pytest tests/simulator/theorems/test_relations.py`, at the two\n"
    "or three tokens and the shapes there: acceptance and branching laws of one node of nss, naive_tree, specinfer\n"
    "and, at two tokens, khisti, acceptance of spectr given rho, the reach of block on one path. They are derived\n"
    "from the steps of each algorithm; whether they equal those in appendices C and D of arXiv 2602.16994 is not\n"
    "checked, as these were not available.\n",
)
PAGE = Path(__file__).parents[2] / "simulator" / "theorems" / "README.md"


def row_of(claim: Claim) -> dict[str, Any]:
    """Prove a claim; returns its row."""
    if claim.vocab_size is None:
        return row_of_every_size(claim)
    request = claim.request()
    start = time.process_time()
    answer = relate_two(request, claim.kind, find_verifier(claim.other)) if claim.kind else run_proof(request)
    fields = answer.as_json()
    shown = {key: fields.get(key) for key in ("verdict", "verdict_cells", "cells", "degree", "same_law", "open_cells")}
    return {
        **claim.fields(),
        **shown,
        "certified": fields.get("certified"),
        "solved": fields.get("solved"),
        "confirmed": confirmed(request, answer),
        "cpu_seconds": round(time.process_time() - start, 1),
        "strong_id": claim.strong_id,
    }


def row_of_every_size(claim: Claim) -> dict[str, Any]:
    """The same for every vocabulary size."""
    other = find_verifier(claim.other) if claim.other else None
    every_length = claim.kind == EVERY_LENGTH
    kind = claim.kind if claim.other else LOSSLESS
    proof = run_every_size(claim.request(), kind, other, every_length=every_length)
    steps = [*proof.steps, *(step for *_, step in proof.hypotheses)]
    return {
        **claim.fields(),
        "verdict": "proved" if proof.all_proved else "open",
        "cases": sum(len(step.cases) for step in steps),
        "runs": sum(step.account.runs for step in steps),
        "equations": sum(step.account.equations for step in steps),
        "questions": sum(step.asked for step in steps),
        "cpu_seconds": round(proof.seconds, 1),
        "strong_id": claim.strong_id,
    }


def confirmed(request: Request, answer: Report | Related) -> str | None:
    """The values that `check` computes at the point of a refutation; None for other answers."""
    if isinstance(answer, Related):
        failed = answer.relation.counterexample
        if failed is None:
            return None
        pair = (request.named.verifier, answer.other.verifier)
        arguments = failed.instance.target, failed.instance.draft, request.scheme
        values = tuple(check(verifier, *arguments, engine="enumerate").block_efficiency for verifier in pair)
        return f"{values[0]} against {values[1]}" if values == failed.values else "not confirmed"
    refutation = answer.proof.refutation
    if refutation is None:
        return None
    at = answer.proof.subject.at(refutation.point[len(refutation.point) - len(answer.proof.shape.parameters) :])
    verdict = check(at, refutation.instance.target, refutation.instance.draft, request.scheme, engine="enumerate")
    same = verdict.violation == refutation.violation
    return f"{refutation.violation.found} for {refutation.violation.expected}" if same else "not confirmed"


def lines(rows: list[dict[str, Any]], commit: str, waiting: Sequence[Claim] = ()) -> Iterator[str]:
    """The lines of the page. commit: what proved the rows. waiting: claims without a row."""
    made_by = "`python -m draftproof.experiments.pages theorems`"
    yield f"# Theorems\n\nMade by {made_by}, with the code of commit {commit}.\n"
    yield (
        "Each line is about **every** target p and draft q at its shape, ties included, with full support or, where\n"
        "it says so, with zeros. `solver` free: for every result of the solver that it calls. Cells: of the\n"
        "verdicts on the draft trees, and of the balances. Where signs alone do not\n"
        "show that a cell is empty, the solver z3 decides it. `open`: not proved and not refuted.\n"
    )
    yield (
        "A proof runs the code of the verifier. Its numbers behave like rationals with + - * /, whole powers and\n"
        "comparisons, also with fractions, decimals and floats, which stand for the exact numbers that they are;\n"
        "every other use of them (conversion to float or text, use as a key) is refused. User-defined code is also\n"
        "refused if it uses what is known to make two runs on one tree and coin differ: other random numbers, time,\n"
        "files, the interpreter, state that an earlier call changed. Code cannot catch such a refusal, and every\n"
        "theorem is compared with enumeration in rationals at random points. All this guards against mistakes, not\n"
        "against code written to break out of Python.\n"
    )
    yield from NOTES
    every = [row for row in rows if row["vocab_size"] is None]
    rows = [row for row in rows if row["vocab_size"] is not None]
    proved = [row for row in every if not row["kind"] and row["verdict"] == "proved"]
    anywhere = [(row["verifier"], row["scheme"], row["free"]) for row in proved]
    yield (
        "\n## Lossless\n\nEvery V: the same is proved for every vocabulary size (see below; for zeros it is not). "
        "Where nothing stands\nit was not tried, did not end, or is refused, such as khisti, spectr and gbv.\n"
    )
    yield (
        "| verifier | V | scheme | free | zeros | verdict | every V | cells of verdicts | of balances | degree | "
        "CPU s |\n|---|---|---|---|---|---|---|---|---|---|---|"
    )
    for row in rows:
        if not row["kind"] and row["verdict"] != "refuted":
            covered = not row["zeros"] and (row["verifier"], row["scheme"], row["free"]) in anywhere
            everywhere = "proved" if covered else ""
            yield (
                f"| {row['verifier']} | {row['vocab_size']} | {scheme_from_dict(row['scheme'])} | "
                f"{', '.join(row['free'])} | {'yes' if row['zeros'] else ''} | {row['verdict']} | {everywhere} | "
                f"{row['verdict_cells']} | {row['cells']} | {row['degree']} | {row['cpu_seconds']} |"
            )
    yield from lines_of_every_size(every)
    yield (
        "\n## Lossy\n\nEach is refuted at a point, and `check` finds there, in rationals, this probability of the next "
        "token for the one that is owed.\n"
    )
    yield "| verifier | V | scheme | free | verdict | found | CPU s |\n|---|---|---|---|---|---|---|"
    for row in rows:
        if not row["kind"] and row["verdict"] == "refuted":
            yield (
                f"| {row['verifier']} | {row['vocab_size']} | {scheme_from_dict(row['scheme'])} | "
                f"{', '.join(row['free'])} | refuted | {row['confirmed']} | {row['cpu_seconds']} |"
            )
    yield "\n## Relations of block efficiency\n"
    yield (
        "On cells `by products` one is shown never to fall below the other by multiplication only, on cells `by z3` by "
        "the solver; on the others both are equal. Refuted: at an instance with these two block efficiencies.\n"
    )
    yield "| | V | scheme | verdict | cells | by products | by z3 | CPU s |"
    yield "|---|---|---|---|---|---|---|---|"
    related = [row for row in rows if row["kind"]]
    for row in related:
        verdict = row["verdict"] + (", same law" if row["same_law"] else "")
        verdict += f", {row['confirmed']}" if row["confirmed"] else ""
        yield (
            f"| {row['verifier']} {row['kind']} {row['other']} | {row['vocab_size']} | "
            f"{scheme_from_dict(row['scheme'])} | {verdict} | {row['cells']} | "
            f"{row['certified']} | {row['solved']} | {row['cpu_seconds']} |"
        )
    yield "\n## Not refuted\n\nRelations proved at every shape of the table; nothing is said about other shapes:\n"
    pairs = dict.fromkeys((row["verifier"], row["kind"], row["other"]) for row in related)
    for pair in pairs:
        verdicts = [row["verdict"] for row in related if (row["verifier"], row["kind"], row["other"]) == pair]
        if set(verdicts) == {"proved"}:
            yield f"- {' '.join(pair)} ({len(verdicts)} shape{'s' if len(verdicts) > 1 else ''})"
    if waiting:
        yield "\n## Waiting\n\nTried too, but not proved by that commit; nothing is said about them:\n"
    for claim in waiting:
        yield f"- {claim}"


def name_of(fields: dict[str, Any]) -> str:
    """The verifiers of a claim or a row, and their relation."""
    return f"{fields['verifier']} {fields['kind']} {fields['other']}".strip()


def free_in(fields: dict[str, Any]) -> str:
    """What is free in a claim or a row, after a comma."""
    return f", {', '.join(fields['free'])} free" if fields["free"] else ""


def lines_of_every_size(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The table of theorems for every vocabulary size."""
    yield (
        "\n## Every vocabulary size\n\n"
        "`prove` with `--vocab any`: for every V >= 2 and every p and q with full support; why one proof\n"
        "covers every size stands in any_vocabulary/README.md. `equals`: the same law of verdicts; `dominates`: every\n"
        "drafted prefix is kept at least as often;\n"
        "`every length`: for any number of layers, too, with up to K branches, by an induction whose hypotheses are\n"
        "proved, but for one that depth.py in any_vocabulary names. Cases: of the named context and\n"
        "token. Runs of the code, pairs of functions shown to be equal, questions to the solver z3.\n"
    )
    yield "| | V | scheme | verdict | cases | runs | functions | questions | CPU s |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        counts = " | ".join(str(row[key]) for key in ("cases", "runs", "equations", "questions", "cpu_seconds"))
        yield f"| {name_of(row)} | every | {scheme_from_dict(row['scheme'])} | {row['verdict']} | {counts} |"


def write(path: str) -> None:
    """Prove the claims that are not in the store at this path, then write the page."""
    file = Store(path)
    for claim in claims():
        if claim.strong_id not in file:
            row = row_of(claim)
            file.add(row)
            remark(f"{row['verdict']}: {claim} ({row['cpu_seconds']} s)")
            write_page(file)
    write_page(file)


def write_page(file: Store) -> None:
    """Write the page from the stored rows."""
    known = {claim.strong_id: claim for claim in claims()}
    rows = [file[key] for key in known if key in file]
    waiting = [claim for key, claim in known.items() if key not in file]
    write_whole(PAGE, "\n".join(lines(rows, commit(), waiting)) + "\n")


def commit() -> str:
    """The commit of the sources, and whether they have changed since."""
    changed = _git("status", "--porcelain", "--", "*.py", "*.npz", "*.json", "*.toml")
    return _git("rev-parse", "--short=8", "HEAD") + ", changed" * bool(changed)


def _git(*words: str) -> str:
    return str(subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout).strip()
