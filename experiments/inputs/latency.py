"""The time of a block of branches below a trunk, from times of passes that the user measured, and the speed-up.

`T(K, L1, L2) = (L1 + 1) t_q(1) + (L2 - 1) t_q(K) + t_p(L1 + K L2)`, and `L1 t_q(1) + t_p(L1)` without branches:
`t_q(k)` is the time of one draft pass over `k` tokens, `t_p(n)` that of a target pass over `n` drafted tokens. A level
is drafted by one pass over the level before it, and before the branches begin that is one token: the root, or the last
of the trunk. Any unit of time will do.
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from draftproof.simulator.drafts import Delayed, Stratified
from draftproof.simulator.errors import InvalidInput, cut
from draftproof.simulator.files import parse_json, read_text
from draftproof.simulator.protocol import DraftScheme

_KEYS = ("draft", "branch", "target", "node")
#: The largest time that is accepted, so that sums of times stay finite.
LONGEST = 1e100


def block_time(K: int, L1: int, L2: int, draft: Callable[[int], float], target: Callable[[int], float]) -> float:
    """`T` of the module docstring. draft, target: `t_q` and `t_p`, called only for passes that a block has."""
    single = L1 + (1 if L2 else 0)
    several = max(L2 - 1, 0)
    drafting = (single * draft(1) if single else 0) + (several * draft(K) if several else 0)
    return drafting + target(L1 + K * L2)


@dataclass(frozen=True)
class TimeModel:
    """Times of passes, linear between the given points.

    draft: by number of tokens that the draft model reads at once. target: by number of drafted tokens. open_ended:
    whether the last slope goes on beyond the last point; otherwise times beyond it are unknown.
    """

    draft: Mapping[int, float]
    target: Mapping[int, float]
    open_ended: bool

    def text(self, path: str) -> str:
        """The content of a file that `--cost FILE` reads. path: of that file, for errors.

        Raises `InvalidInput` for an open-ended model, which has no file format, and for one that `--cost` would refuse.
        """
        if self.open_ended:
            raise InvalidInput("open-ended times have no file format; give the short form to cost as it is")
        if 1 not in self.draft or not self.target.get(0):
            raise InvalidInput(
                f"no times for {path}: a target pass without drafts must take more than 0; measure again"
            )
        points = {"draft": self.draft, "target": self.target}
        fields = {name: {str(size): times[size] for size in sorted(times)} for name, times in points.items()}
        return json.dumps(fields, indent=2) + "\n"

    def exact(self) -> TimeModel:
        """The same times as fractions, the simplest ones near the floats, so that 0.1 is a tenth."""
        pair = (self.draft, self.target)
        simple = [{size: Fraction(time).limit_denominator(10**9) for size, time in points.items()} for points in pair]
        return TimeModel(simple[0], simple[1], self.open_ended)  # type: ignore[arg-type]

    def check(self, schemes: Sequence[DraftScheme]) -> None:
        """Raises `InvalidInput` for a scheme of which the model does not know the time."""
        for scheme in schemes:
            if not isinstance(scheme, (Delayed, Stratified)):
                raise InvalidInput(f"cost is the time of branches below a trunk (K, L1, L2), not of {scheme}")
            if not self.time(scheme.as_dict()) > 1e-100:
                raise InvalidInput(f"cost gives {scheme} no time at all; times must be above 0")

    def time(self, fields: Mapping[str, Any]) -> float:
        """`T` of a delayed tree. fields: K, L1 and L2."""
        return block_time(
            K=fields["K"],
            L1=fields["L1"],
            L2=fields["L2"],
            draft=lambda tokens: self._at(self.draft, tokens, "draft"),
            target=lambda nodes: self._at(self.target, nodes, "target"),
        )

    def row_fields(self, row: Mapping[str, Any]) -> dict[str, float]:
        """`time`, `tokens_per_time` and `speedup` (over one token for each target pass) of a row."""
        time = self.time(row)
        rate = row.get("steady_state_float") or row["block_efficiency_float"]
        return {
            "time": time,
            "tokens_per_time": rate / time,
            "speedup": rate * self._at(self.target, 0, "target") / time,
        }

    def _at(self, points: Mapping[int, float], size: int, name: str) -> float:
        known = sorted(points)
        right = bisect_left(known, size)
        if right < len(known) and known[right] == size:
            return points[size]
        if right == len(known) and self.open_ended:
            right -= 1
        if not 0 < right < len(known):
            raise InvalidInput(
                f"cost has {name} times from {known[0]} to {known[-1]} only; add one for {size} or use smaller shapes"
            )
        low, high = known[right - 1], known[right]
        return points[low] + (points[high] - points[low]) * (size - low) / (high - low)


def time_model(spec: str) -> TimeModel:
    """`draft=1,branch=0.1,target=10,node=0.05`, or a JSON file of measured times; raises `InvalidInput`.

    In the short form `t_q(k) = draft + branch (k - 1)` and `t_p(n) = target + node n`; branch and node default to 0.
    The file: `{"draft": {"1": 1.0, "4": 1.3}, "target": {"0": 10, "8": 10.5, "64": 14}}`.
    """
    if "=" in spec and (len(spec) > 250 or not os.path.exists(spec)):
        return _short_form(spec)
    try:
        fields = parse_json(read_text(spec, "cost"), f"cost {cut(spec)}")
    except InvalidInput as error:
        raise InvalidInput(
            f"cost {cut(repr(spec))} is neither a JSON file nor draft=1,branch=0.1,target=10,node=0.05: {error}"
        ) from None
    if not isinstance(fields, dict) or set(fields) != {"draft", "target"}:
        raise InvalidInput(f"cost {spec} must be an object with draft and target")
    draft, target = (_points(fields[name], f"cost {spec}: {name}") for name in ("draft", "target"))
    if 1 not in draft or not target.get(0):
        raise InvalidInput(f"cost {spec} needs draft 1 (one branch) and target 0 (no drafted tokens, more than 0)")
    return TimeModel(draft, target, open_ended=False)


def _short_form(spec: str) -> TimeModel:
    given: dict[str, float] = {}
    for assignment in spec.split(","):
        match = re.fullmatch(r"\s*(\w+)\s*=\s*(\d+(?:\.\d*)?|\.\d+)\s*", assignment)
        if not match or match[1] not in _KEYS or match[1] in given:
            raise InvalidInput(
                f"cost {spec!r}: {assignment!r} is no time; write {', '.join(f'{key}=1' for key in _KEYS)}"
            )
        given[match[1]] = float(match[2])
    if "draft" not in given or not given.get("target"):
        raise InvalidInput(f"cost {spec!r} needs draft= and target= (more than 0)")
    draft, target = given["draft"], given["target"]
    return TimeModel(
        {1: draft, 2: draft + given.get("branch", 0.0)},
        {0: target, 1: target + given.get("node", 0.0)},
        open_ended=True,
    )


def _points(values: Any, where: str) -> dict[int, float]:
    good = isinstance(values, dict) and bool(values)
    if good:
        good = all(
            key.isdecimal() and type(value) in (int, float) and 0 <= value < LONGEST for key, value in values.items()
        )
    if not good:
        raise InvalidInput(f'{where} must map whole numbers to times, as in {{"1": 1.0, "4": 1.3}}')
    return {int(key): float(value) for key, value in values.items()}
