"""The input of a policy, what is known before a block is drafted, and its output, a draft scheme and a verifier.

A policy is any function of `Known`. If each action is lossless, so is the policy: given everything before a block,
whatever the choice, the next tokens have the target's law. A choice that depends on drafted tokens which are then
dropped is not lossless.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from draftproof.simulator.errors import DraftproofError, InvalidInput
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
    target_before, draft_before: `p` and `q` of the last token; None at the beginning of a text, and where only a root
    is known.
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


def known_at(target: TokenProcess, draft: TokenProcess) -> Known:
    """What is known at the root of these processes: its tokens and the draft's row, not the rows before it."""
    return Known(max((getattr(process, "root", ()) for process in (target, draft)), key=len), draft.row(()))


def chosen(policy: Policy, known: Known, name: str) -> Action:
    """The action; raises `InvalidInput` for anything else, or where a second call returns another one."""
    action = _called(policy, known, name)
    if _called(policy, known, name) != action:
        raise InvalidInput(
            f"policy {name} chose two actions after {known.context}; it must be a function of what is known, without "
            "state or randomness of its own"
        )
    return action


def _called(policy: Policy, known: Known, name: str) -> Action:
    try:
        action = policy(replace(known, **{row: to_user(getattr(known, row)) for row in _ROWS}))
    except DraftproofError:
        raise
    except Exception as error:
        raise InvalidInput(f"policy {name} raised {user_lines(error)}") from error
    if not isinstance(action, Action):
        raise InvalidInput(f"policy {name} chose {action!r}; it must be one of the actions it is given")
    return action
