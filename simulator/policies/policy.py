"""The input of a policy, what is known before a block is drafted, and its output, a draft scheme and a verifier.

A policy is any function of `Known`. If each action is lossless, so is the policy: given everything before a block,
whatever the choice, the next tokens have the target's law. A choice that depends on drafted tokens which are then
dropped is not lossless.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from draftproof.simulator.errors import DraftproofError, InvalidInput
from draftproof.simulator.instances.processes import context_index
from draftproof.simulator.protocol import Context, DraftScheme, TokenProcess, Vector, Verifier
from draftproof.simulator.raised import user_lines
from draftproof.simulator.user_code import to_user


@dataclass(frozen=True)
class Action:
    """What one block does: trees of `scheme`, verified by `verifier`."""

    scheme: DraftScheme
    verifier: Verifier

    def __str__(self) -> str:
        return f"{self.verifier.card.name} on {self.scheme}"


@dataclass(frozen=True)
class Known:
    """What is known before a block is drafted. The target at the root is not: its pass comes after drafting.

    context: the tokens before the block, as many as are known. draft_root: `q` at the root, shape `(V,)`.
    target_before, draft_before: `p` and `q` of the last token; None at the beginning of a text.
    draft_time, target_time: what one pass takes now, in any one unit.
    """

    context: Context
    draft_root: Vector
    target_before: Vector | None = None
    draft_before: Vector | None = None
    draft_time: Any = 0
    target_time: Any = 0


_ROWS = ("draft_root", "target_before", "draft_before")
#: A function from what is known to the action.
Policy: TypeAlias = Callable[[Known], Action]


def known_at(
    target: TokenProcess, draft: TokenProcess, context: Context, draft_time: Any = 0, target_time: Any = 0
) -> Known:
    """What is known after `context`, tokens since the root of the processes; the tokens of that root are known, too."""
    before = max((getattr(process, "root", ()) for process in (target, draft)), key=len)
    tokens = (*before, *context)
    p, q = (target.row(context[:-1]), draft.row(context[:-1])) if context else (None, None)
    return Known(tokens, draft.row(context), p, q, draft_time, target_time)


def chosen(policy: Policy, known: Known) -> Action:
    """The action; raises `InvalidInput` for anything else, or where a second call returns another one."""
    action = _called(policy, known)
    if _called(policy, known) != action:
        raise InvalidInput(
            f"policy {name_of(policy)} chose two actions after {known.context}; it must be a function of what is "
            "known, without state or randomness of its own"
        )
    return action


def name_of(policy: Policy) -> str:
    """The `name` of a policy, or that of its function or class."""
    for holder in (policy, type(policy)):
        for key in ("name", "__name__"):
            if isinstance(name := getattr(holder, key, None), str):
                return name
    raise AssertionError


def _called(policy: Policy, known: Known) -> Action:
    try:
        action = policy(replace(known, **{name: to_user(getattr(known, name)) for name in _ROWS}))
    except DraftproofError:
        raise
    except Exception as error:
        raise InvalidInput(f"policy {name_of(policy)} raised {user_lines(error)}") from error
    if not isinstance(action, Action):
        raise InvalidInput(f"policy {name_of(policy)} chose {action!r}; it must be one of the actions it is given")
    return action


#: Names of the numbers that `scalars` returns.
SCALARS = ("H(q root)", "max q root", "H(p before)", "H(q before)", "KL(p|q)", "KL(q|p)", "L1(p, q)")


def scalars(known: Known) -> list[float]:
    """The features `SCALARS` of the rows: entropies and divergences in nats, 0 where rows are not known."""
    root = floats(known.draft_root)
    if known.target_before is None or known.draft_before is None:
        return [entropy(root), float(root.max()), *[0.0] * 5]
    rows = np.array([root, floats(known.target_before), floats(known.draft_before)])
    no_zeros = bool(rows.all())
    logs = np.log(rows if no_zeros else np.maximum(rows, LEAST))
    own = [float(row.dot(log)) for row, log in zip(rows, logs, strict=True)]
    p, q = rows[1], rows[2]
    divergences = [_divergence(own[1], p, q, logs[2], no_zeros), _divergence(own[2], q, p, logs[1], no_zeros)]
    return [0.0 - own[0], float(root.max()), 0.0 - own[1], 0.0 - own[2], *divergences, float(abs(p - q).sum())]


def floats(row: Vector) -> Any:
    """A row as float64."""
    if isinstance(row, np.ndarray) and row.dtype != object:
        return row.astype(np.float64)
    return np.array([float(value) for value in row])


def entropy(row: Any) -> float:
    """In nats."""
    masses = row[row > 0]
    return float(-(masses * np.log(masses)).sum()) + 0.0


#: The value of an infinite divergence; and what stands for a probability of 0 in a logarithm, whose factor is then 0.
FAR, LEAST = 50.0, 5e-324


def _divergence(own: float, p: Any, q: Any, logs: Any, no_zeros: bool) -> float:
    """`sum p log(p/q)`. own: `sum p log p`; logs: those of q; no_zeros: whether no entry is 0."""
    if not no_zeros and (p[q == 0] > 0).any():
        return FAR
    return min(max(own - float(p.dot(logs)), 0.0), FAR)


@dataclass(frozen=True)
class ByState:
    """A table: for each state, the last `window` tokens in base `V`, the position of its action.

    Raises `InvalidInput` for a table of another length.
    """

    actions: tuple[Action, ...]
    choice: tuple[int, ...]
    vocab_size: int
    window: int
    name: str = "table"

    def __post_init__(self) -> None:
        if len(self.choice) != self.vocab_size**self.window:
            raise InvalidInput(
                f"a table of {len(self.choice)} choices does not fit the {self.vocab_size}^{self.window} states of "
                f"{self.window} tokens; give one for each"
            )

    def __call__(self, known: Known) -> Action:
        if len(known.context) < self.window:
            raise InvalidInput(f"policy {self.name} looks at {self.window} tokens and there are {len(known.context)}")
        last = known.context[len(known.context) - self.window :]
        return self.actions[self.choice[context_index(last, self.vocab_size)]]
