"""What claims say of one instance and draft scheme; each kind of statement is a function of fields in the ledger."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from draftproof.experiments.claims.quantities import QUANTITIES
from draftproof.experiments.claims.runs import ONLY, SCHEMES, checked, corrections
from draftproof.experiments.inputs.schemes import scheme_spec
from draftproof.lp_analysis import optimum
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme

#: The place of the file of the instance in a command.
INSTANCE = "{file}"
#: Longer fractions are shown as decimals.
LONGEST = 40
#: `relation(left, right, margin)`.
RELATIONS: Mapping[str, Callable[[Fraction, Fraction, Fraction], bool]] = MappingProxyType(
    {
        "<=": lambda left, right, margin: left <= right + margin,
        "<": lambda left, right, margin: left < right + margin,
        ">=": lambda left, right, margin: left + margin >= right,
        "=": lambda left, right, margin: abs(left - right) <= margin,
    }
)


#: The words of a command, with `INSTANCE`.
Command: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """The result of a statement on one instance.

    text: the values. commands: show them. applies: whether the statement is about such an instance.
    """

    holds: bool
    text: str = ""
    commands: tuple[Command, ...] = ()
    applies: bool = True


def lossless(
    instance: Instance, scheme: DraftScheme, verifier: str, lossy: bool = False, only: str = "", unlike: str = ""
) -> Outcome:
    """The verifier is lossless; with `lossy`, it is not. unlike: only where its law is not that of this verifier."""
    if not ONLY[only](instance, scheme):
        return Outcome(True, applies=False)
    if unlike and corrections(verifier, instance, scheme) == corrections(unlike, instance, scheme):
        return Outcome(True)
    check = checked(verifier, instance, scheme)
    text = f"{verifier} is lossless" if check.lossless else f"{verifier}: {check.violation}"
    return Outcome(check.lossless is not lossy, text, (("check", verifier, "--world", INSTANCE),))


def same_law(instance: Instance, scheme: DraftScheme, left: str, right: str) -> Outcome:
    """Two verifiers have the same law of the block, entry by entry."""
    text = f"the laws of {left} and {right} differ"
    return Outcome(corrections(left, instance, scheme) == corrections(right, instance, scheme), text)


class _Side(NamedTuple):
    """One side of an order: its values (of strings: at several roots), as text, and the command that shows them."""

    values: tuple[Fraction, ...]
    text: str
    command: Command = ()


def _side(text: str, instance: Instance, scheme: DraftScheme, engine: str, named: bool) -> _Side:
    """`NAME`, `NAME on SCHEME` or a number; a name is a quantity's, a verifier's, `bound` or `gap`.

    named: whether the draft scheme is shown.
    """
    if text[:1].isdecimal():
        return _Side((Fraction(text),), text)
    name, _, made = text.partition(" on ")
    used = SCHEMES[made](scheme) if made else scheme
    values, words = _values(name, instance, used, engine)
    shown = f"{name} on {used}" if named else name
    options = ("--world", INSTANCE, *(("--scheme", scheme_spec(used)) if named else ()))
    return _Side(values, f"{shown} {', '.join(map(short, values))}", (*words, *options) if words else ())


def _values(name: str, instance: Instance, scheme: DraftScheme, engine: str) -> tuple[tuple[Fraction, ...], Command]:
    """The values, and the words of a command that shows them; none where none does."""
    quantity, _, argument = name.partition(":")
    if quantity in QUANTITIES:
        amount = QUANTITIES[quantity](instance, scheme, argument)
        return tuple(map(Fraction, amount if isinstance(amount, list) else [amount])), ()
    if name in ("bound", "gap"):
        bounds = optimum(instance.target, instance.draft, scheme)
        return (bounds.upper if name == "bound" else bounds.gap,), ("bound",)
    value = Fraction(checked(name, instance, scheme, engine).block_efficiency)
    return (value,), ("compare", name, "--arithmetic", "rational")


def short(value: Fraction) -> str:
    """A value in the text of an outcome."""
    return str(value) if len(str(value)) <= LONGEST else f"{float(value):.7f}"


def order(
    instance: Instance,
    scheme: DraftScheme,
    left: str,
    right: str,
    relation: str = "<=",
    margin: str = "0",
    only: str = "",
    engine: str = "auto",
) -> Outcome:
    """`left <= right`, `left < right` or `left = right`, of block efficiencies, certified bounds and other quantities.

    margin: what the right side may be short of, for verifiers that round their own numbers and for certified bounds,
    which are 1e-6 apart at most. engine: of block efficiencies.
    """
    if not ONLY[only](instance, scheme):
        return Outcome(True, applies=False)
    named = " on " in left + right
    one, other = (_side(text, instance, scheme, engine, named) for text in (left, right))
    pairs = zip(one.values, other.values, strict=True) if len(other.values) > 1 else product(one.values, other.values)
    holds = all(RELATIONS[relation](a, b, Fraction(margin)) for a, b in pairs)
    return Outcome(holds, f"{one.text}, {other.text}", _commands(one, other))


def _commands(one: _Side, other: _Side) -> tuple[Command, ...]:
    """The commands of both sides; one for two verifiers on the scheme of the case."""
    shown = tuple(side.command for side in (one, other) if side.command)
    if [command[0] for command in shown] != ["compare", "compare"] or "--scheme" in shown[0]:
        return shown
    return (("compare", shown[0][1], *shown[1][1:]),)


def monotone(instance: Instance, scheme: DraftScheme, term: str, over: str, relation: str = "<=") -> Outcome:
    """The values of a term are in order over the numbers `FIRST..LAST` that stand for its `{}`."""
    first, _, last = over.partition("..")
    terms = [term.replace("{}", str(number)) for number in range(int(first), int(last) + 1)]
    return every(order(instance, scheme, before, after, relation) for before, after in pairwise(terms))


def every(outcomes: Iterable[Outcome]) -> Outcome:
    """Several outcomes as one: the first that fails."""
    seen = []
    for outcome in outcomes:
        if not outcome.holds:
            return outcome
        seen.append(outcome)
    return Outcome(True, applies=any(outcome.applies for outcome in seen))


#: The kinds of statements, as the ledger names them.
STATEMENTS: Mapping[str, Callable[..., Outcome]] = MappingProxyType(
    {"lossless": lossless, "order": order, "same law": same_law, "monotone": monotone}
)
