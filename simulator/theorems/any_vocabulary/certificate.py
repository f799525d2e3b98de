"""A theorem for every vocabulary size as plain data: every sum with all its parts, so that others can add them up.

`functions`: the text of every rational function; everything else names one by its place there. `steps`: for each length
of the named context its cases. A case has its conditions, `where`, and its `sum`. A sum has one of these:

- `leaf`: the drafted tokens by context, and for each verifier the probability of every verdict on that tree;
- `named`: tokens that have a name: the `chance` of drafting one, and the sum `after` it;
- `new`: for each class its tokens without a name: a name `token` with the variables `p` and `q` for any one of them,
  the `chance` of drafting it, the `cases` that follow, whose sums all equal `common`, the `linear` coefficients
  `(a, b)` of `chance * common = a p + b q`, and the `rest` `(P, Q)`, the sums of the class without its named tokens.

A leaf of a theorem about losslessness counts `D(c) p(y|c) - D(c, y) - e(c, y)` for the named context `c` and token `y`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.any_vocabulary.cases import Case
from draftproof.simulator.theorems.any_vocabulary.sums import Draft, New
from draftproof.simulator.theorems.any_vocabulary.theorem import Step, Theorem
from draftproof.simulator.theorems.any_vocabulary.tokens import Context
from draftproof.simulator.theorems.certificate.formulas import condition_text

FORMAT = "draftproof theorem for every vocabulary 1"


class _Writer:
    def __init__(self) -> None:
        self.functions: dict[str, int] = {}

    def function(self, ratio: Ratio) -> int:
        return self.functions.setdefault(ratio.key, len(self.functions))

    def case(self, case: Case, draft: Draft, known: Mapping[int, int]) -> dict[str, Any]:
        where = [(atom, mask) for atom, mask in case.region if known.get(atom) != mask]
        conditions = [condition_text(str(case.ring.atoms[atom]), mask) for atom, mask in where]
        return {"where": conditions, "sum": self.sum(draft, case)}

    def sum(self, draft: Draft, case: Case) -> dict[str, Any]:
        fields: dict[str, Any] = {"value": self.function(draft.value)}
        if draft.leaf is not None:
            fields["leaf"] = {
                "drafted": [[_names(context), _names(tokens)] for context, tokens in draft.leaf.drafted.items()],
                "verdicts": [
                    [[_names(accepted), repr(token), self.function(mass)] for (accepted, token), mass in each.items()]
                    for each in draft.leaf.masses
                ],
            }
            return fields
        fields["named"] = [
            {"token": repr(token), "chance": self.function(chance), "after": self.sum(after, case)}
            for token, chance, after in draft.named
        ]
        fields["new"] = [self.new(new, case) for new in draft.new]
        return fields

    def new(self, new: New, case: Case) -> dict[str, Any]:
        p, q = (ratio.key for ratio in new.variables)
        return {
            "token": repr(new.token),
            "p": p,
            "q": q,
            "chance": self.function(new.chance),
            "cases": [self.case(each, draft, case.region.masks) for each, draft in new.cases],
            "common": self.function(new.common),
            "linear": [self.function(part) for part in new.linear],
            "rest": [self.function(part) for part in new.rest],
        }


def _names(context: Iterable[Any]) -> list[str]:
    return [repr(token) for token in context]


def certificate_of(theorem: Theorem, steps: Iterable[Step], about: Mapping[str, Any]) -> dict[str, Any]:
    """The certificate of a theorem that was proved. about: which theorem it is."""
    writer, plain = _Writer(), []
    for step in steps:
        cases = [writer.case(case, draft, {}) for case, draft in step.cases]
        context: Context = step.context
        token = None if step.token is None else [repr(step.token), *(r.key for r in step.variables)]
        plain.append({"context": _names(context), "token": token, "cases": cases})
    return {"format": FORMAT, **about, "kind": theorem.kind, "functions": list(writer.functions), "steps": plain}
