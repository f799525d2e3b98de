"""Where looking one block ahead is not enough: the smallest world, found by search from the smallest up.

`python -m experiments.studies.greedy_gap`
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from experiments.policies.gap import LENGTHS, SHORT_SIGHTED, Gap, count, smallest_gap
from experiments.shared.output import check_files, number_fields, write_json, write_whole
from experiments.shared.progress import bar, remark
from simulator.errors import InvalidInput
from verifiers import make

#: Denominators that are gone through.
LARGEST = 6


def described(gap: Gap, short: str) -> str:
    """The world, what each policy does in it and what it is worth."""
    p, q = gap.rows[:2], gap.rows[2:]
    lines = [f"p(.|{token}) = ({', '.join(map(str, row))})" for token, row in enumerate(p)]
    lines += [f"q(.|{token}) = ({', '.join(map(str, row))})" for token, row in enumerate(q)]
    lines.append(f"a target pass takes {gap.target_time}, a draft pass 1")
    for name, choice in gap.choices.items():
        lengths = ", ".join(f"{LENGTHS[action]} after {token}" for token, action in enumerate(choice))
        lines.append(f"{name:8} drafts {lengths}: {gap.rates[name]} = {float(gap.rates[name]):.6f} tokens per time")
    lost = 1 - gap.rates[short] / gap.rates["best"]
    lines.append(f"{short} loses {lost} = {float(lost):.3%} of the best")
    return "\n".join(lines)


def fields(gap: Gap, short: str) -> dict[str, Any]:
    """The same for programs."""
    rates = {name: number_fields("rate", rate) for name, rate in gap.rates.items()}
    choices = {name: [LENGTHS[action] for action in choice] for name, choice in gap.choices.items()}
    world = {"rows": [[str(x) for x in row] for row in gap.rows], "target_time": gap.target_time}
    return {"policy": short, **world, "rates": rates, "lengths": choices}


def main(
    verifier: Annotated[str, typer.Argument(help="The verifier of every action.")] = "naive",
    largest: Annotated[int, typer.Option(min=1, max=12, help="The last denominator tried.")] = LARGEST,
    positive: Annotated[bool, typer.Option("--positive", help="Only rows without zeros.")] = False,
    witness_file: Annotated[str | None, typer.Option("--witness", help="Instance file of the first world.")] = None,
    json_target: Annotated[str | None, typer.Option("--json", help="JSON to a file, or - for stdout.")] = None,
) -> int:
    """The smallest world in which the best action for each block is not the best policy."""
    from experiments.shared.consoles import console_for

    check_files((), {"--witness": witness_file, "--json": json_target})
    console = console_for(json_target)
    denominators = range(1, largest + 1)
    worlds = count(denominators, positive) * len(SHORT_SIGHTED)
    remark(f"at most {worlds:,} worlds, some milliseconds each")
    with bar("worlds", worlds) as tick:
        found = {short: smallest_gap(make(verifier), short, denominators, positive, tick) for short in SHORT_SIGHTED}
    for short, gap in found.items():
        if gap is None:
            console.print(f"{short}: no gap with multiples of 1/1 to 1/{largest}; try --largest {largest + 1}")
        else:
            console.print(described(gap, short) + "\n")
    known = {short: gap for short, gap in found.items() if gap is not None}
    write_json(json_target, {"gaps": [fields(gap, short) for short, gap in known.items()]})
    if witness_file:
        if not known:
            raise InvalidInput("there is no world to write; raise --largest")
        write_whole(witness_file, next(iter(known.values())).instance.dumps())
    return 0


if __name__ == "__main__":
    from experiments.cli import run_command

    run_command(main)
