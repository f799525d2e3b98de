"""The ledger: the claims of `claims.toml`, each with the test that decides it and a variant that the test must refute.

A test is a statement about every instance of its cases (`statements`), or a measurement (`figures`). A field of a test
that is a list where the statement takes one name stands for each of its entries; `all` has several statements.
"""

import inspect
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from draftproof.experiments.claims.figures import MEASUREMENTS, Figures
from draftproof.experiments.claims.runs import ONLY
from draftproof.experiments.claims.statements import RELATIONS, STATEMENTS, Outcome, every
from draftproof.experiments.inputs.schemes import find_scheme
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.cases import SizedScheme, case_instances
from draftproof.verifiers.bibliography import BIBLIOGRAPHY

#: The folder of claims, and the instances in it that refute claims.
CLAIMS = Path(__file__).parent
INSTANCES = CLAIMS / "instances"
HOLDS, REFUTED, MEASURED, OPEN = "holds", "refuted", "measured", "cannot be decided here"
#: Fields of a claim that are not those of its test.
CARD = ("id", "paper", "statement", "status", "cases", "count", "false", "true", "note", "unshrunk")


@dataclass(frozen=True)
class Test:
    """A kind of statement or measurement with its fields; kind "": no test.

    shapes: vocabulary sizes and schemes of a statement. count: of random instances for each. says: what a variant says.
    """

    kind: str
    fields: Mapping[str, Any]
    shapes: tuple[SizedScheme, ...] = ()
    count: int = 4
    says: str = ""

    def instances(self) -> Iterator[tuple[SizedScheme, Instance]]:
        """Every corner case and random instance, with its size and scheme."""
        for shape in self.shapes:
            for instance in case_instances(shape, self.count):
                yield shape, instance

    def evaluate(self, instance: Instance, scheme: DraftScheme) -> Outcome:
        """Whether the statement holds on an instance."""
        return every(STATEMENTS[kind](instance, scheme, **fields) for kind, fields in self.statements())

    def figures(self) -> Figures:
        """The measurement."""
        return MEASUREMENTS[self.kind](**self.fields)

    def statements(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The statements with one name in each field."""
        for part in self.fields.get("all", [{"test": self.kind, **self.fields}]):
            lists = {key: part[key] for key in ("verifier", "left", "right") if isinstance(part.get(key), list)}
            single = {key: value for key, value in part.items() if key != "test" and key not in lists}
            for chosen in product(*lists.values()):
                yield part["test"], {**single, **dict(zip(lists, chosen, strict=True))}

    def check_fields(self) -> None:
        """Raise `TypeError`, `KeyError` or `ValueError` for a kind, field or relation that does not exist."""
        if self.kind in MEASUREMENTS:
            inspect.signature(MEASUREMENTS[self.kind]).bind(**self.fields)
        elif self.kind:
            for kind, fields in self.statements():
                inspect.signature(STATEMENTS[kind]).bind(None, None, **fields)
                for key, known in (("relation", RELATIONS), ("only", ONLY)):
                    if fields.get(key, next(iter(known))) not in known:
                        raise ValueError(f"{key} {fields[key]!r} is none of {', '.join(map(repr, known))}")


@dataclass(frozen=True)
class Claim:
    """A claim of a paper. id: its name; paper: key and place; status: the one that earlier runs have found.

    false: what the test must refute; true: of a refuted claim, what the test must not refute. note: what the verdict
    means, or what is missing to decide the claim. unshrunk: whether the refuting instance is not shrunk.
    """

    id: str
    paper: str
    statement: str
    status: str
    test: Test
    false: Test
    true: Test | None = None
    note: str = ""
    unshrunk: bool = False

    @property
    def key(self) -> str:
        """The paper's key in the bibliography."""
        return self.paper.partition(",")[0]


@cache
def _read() -> dict[str, Any]:
    return tomllib.loads((CLAIMS / "claims.toml").read_text(encoding="utf-8"))


@cache
def papers() -> Mapping[str, str]:
    """Papers by key: those of the verifiers' bibliography and those that claims alone cite."""
    return {**BIBLIOGRAPHY, **_read()["papers"]}


@cache
def ledger() -> tuple[Claim, ...]:
    """The claims in the order of the page; raises `InvalidInput` for an entry that is no claim."""
    return tuple(map(claim_of, _read()["claim"]))


def _shape(text: str) -> SizedScheme:
    """`V=2 delayed:K=2,L1=0,L2=1`."""
    size, _, scheme = text.removeprefix("V=").partition(" ")
    return int(size), find_scheme(scheme)


def claim_of(entry: Mapping[str, Any]) -> Claim:
    """The claim of an entry of the ledger."""
    try:
        tests = [_test(entry, entry.get(variant, {})) for variant in ("", "false", "true")]
        claim = Claim(
            entry["id"], entry["paper"], entry["statement"], entry.get("status", HOLDS), tests[0], tests[1],
            tests[2] if "true" in entry else None, entry.get("note", ""), entry.get("unshrunk", False),
        )  # fmt: skip
        for test in tests:
            test.check_fields()
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"claims.toml, claim {entry.get('id')}: {error}") from error
    return claim


def _test(entry: Mapping[str, Any], variant: Mapping[str, Any]) -> Test:
    """The test of a claim, with the fields that a variant changes; a variant with a test of its own has all fields."""
    shared = ("cases", "count") if {"test", "all"} & set(variant) else set(entry) - set(CARD) | {"cases", "count"}
    fields = {**{key: entry[key] for key in entry if key in shared}, **variant}
    says, names, count = fields.pop("says", ""), fields.pop("cases", []), fields.pop("count", 4)
    kind = fields.pop("test", "all" if "all" in fields else "")
    cases = [_read()["cases"][name] for name in ([names] if isinstance(names, str) else names)]
    return Test(kind, fields, tuple(_shape(text) for case in cases for text in case["shapes"]), count, says)


def claim_named(name: str) -> Claim:
    """The claim of that name; raises `InvalidInput` for any other."""
    from difflib import get_close_matches

    known = {claim.id: claim for claim in ledger()}
    if name not in known:
        close = get_close_matches(name, known, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "their names are in experiments/claims/claims.toml"
        raise InvalidInput(f"there is no claim {name!r}; {hint}")
    return known[name]
