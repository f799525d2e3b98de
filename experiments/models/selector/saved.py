"""A selector in the folder of its pair: `selector-VERIFIER.json`, and the file of weights that it names.

The name of the weights has their hash, and they are written before the JSON file. So a run that is interrupted leaves
either the older selector or the new one, complete.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from draftproof.experiments.inputs.latency import TimeModel
from draftproof.experiments.models.selector.features import SCALARS
from draftproof.experiments.models.selector.network import SelectorNetwork
from draftproof.experiments.shared.output import write_whole
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.files import cut, parse_json, read_bytes, read_text

FORMAT = "draftproof selector 1"


#: What reading damaged files may raise.
_DAMAGED = (InvalidInput, OSError, ValueError, KeyError, TypeError, RuntimeError, AttributeError, OverflowError)


@dataclass(frozen=True)
class Saved:
    """A selector. actions: by output of the network. times: of passes, as in training. fields: all fields of its file.

    settings: the samplings that it was trained for; base: the best static action of each.
    """

    network: SelectorNetwork
    actions: tuple[Delayed, ...]
    times: TimeModel
    settings: tuple[dict[str, Any], ...]
    base: tuple[int, ...]
    fields: dict[str, Any]


def selector_path(folder: str | Path, verifier: str) -> Path:
    """The JSON file of the selector of a verifier."""
    return Path(folder) / f"selector-{verifier}.json"


def save_selector(folder: str | Path, network: SelectorNetwork, fields: Mapping[str, Any]) -> Path:
    """Write both files and remove the replaced weights; raises `InvalidInput` for a folder that cannot be written.

    fields: `verifier`, `pair`, `vocab_size`, `widths`, `outputs`, `actions`, `times`, `settings`, `base`, and any
    other fields.
    """
    from safetensors.torch import save

    path = selector_path(folder, str(fields["verifier"]))
    weights = save({name: values.contiguous() for name, values in network.state_dict().items()})
    digest = hashlib.sha256(weights).hexdigest()
    name = f"{path.stem}-{digest[:12]}.safetensors"
    write_whole(path.with_name(name), weights)
    whole = {"format": FORMAT, **fields, "scalars": list(SCALARS), "weights": name, "weights_sha256": digest}
    older = _weights_of(path)
    write_whole(path, json.dumps(whole, indent=2) + "\n")
    if older not in (None, name):
        with suppress(OSError):
            path.with_name(str(older)).unlink()
    return path


def _weights_of(path: Path) -> str | None:
    """The file of weights that a selector names; None where there is none."""
    try:
        return Path(str(dict(parse_json(read_text(path, "selector"), "selector"))["weights"])).name
    except (InvalidInput, OSError, ValueError, KeyError, TypeError):
        return None


def load_selector(
    path: Path,
    verifier: str,
    pair: str,
    vocab_size: int,
    widths: tuple[int, int],
    actions: Sequence[Delayed] | None = None,
) -> Saved:
    """The selector of a file, for this verifier and this pair (its digest, its `V`, its hidden widths).

    actions: those to choose from, where they are asked for. Raises `InvalidInput` for a missing or damaged file, and
    for a selector of another verifier, vocabulary, pair or list of actions.
    """
    trained = (path.parent / "pair.json").exists() or not path.parent.exists()
    where = f"--pair {path.parent}" if trained else f"--target .. --draft .. --out {path.parent}"
    command = f"draftproof model train --kind selector {verifier} {where}"
    if not path.exists():
        raise InvalidInput(f"no selector {cut(path)}; make one: {command}")
    damaged = InvalidInput(f"{cut(path)} is damaged or no selector; make it again: {command}")
    try:
        fields = dict(parse_json(read_text(path, "selector"), "selector"))
        if fields["format"] != FORMAT or fields["scalars"] != list(SCALARS):
            raise damaged
        stored = tuple(Delayed(*map(int, action)) for action in fields["actions"])
        times = _times(fields["times"])
        times.check(stored)
        settings = tuple(dict(each) for each in fields["settings"])
        base = tuple(stored.index(Delayed(*map(int, action))) for action in fields["base"])
        if not settings or len(base) != len(settings) or 1 not in times.draft or 0 not in times.target:
            raise damaged
        trained_for = str(fields["verifier"]), int(fields["vocab_size"]), str(fields["pair"])
        sizes = tuple(fields["widths"]), fields["outputs"]
    except _DAMAGED:
        raise damaged from None
    _check(path, trained_for, (verifier, vocab_size, pair), command)
    if sizes != (widths, len(stored)):  # before a network of such a size is made
        raise InvalidInput(
            f"{cut(path)} lists {len(stored)} actions for hidden states of {cut(str(list(sizes[0])), 16)}, and its "
            f"network has {cut(str(sizes[1]), 8)} outputs, the pair {list(widths)}; make it again: {command}"
        )
    if actions is not None and set(actions) != set(stored):
        other = next(iter(set(actions) ^ set(stored)))
        raise InvalidInput(
            f"{cut(path)} chooses among {len(stored)} actions, not the {len(set(actions))} asked for: {other} is in "
            "one list only; give the ranges that it was trained for, or train a selector for these"
        )
    try:
        return Saved(_network(path, widths, len(stored), fields), stored, times, settings, base, fields)
    except _DAMAGED:
        raise damaged from None


def _check(path: Path, trained_for: tuple[str, int, str], wanted: tuple[str, int, str], command: str) -> None:
    for what, stored, asked in zip(("the verifier", "V =", "the pair"), trained_for, wanted, strict=True):
        if stored != asked:
            raise InvalidInput(
                f"{cut(path)} is a selector for {what} {cut(str(stored), 24)}, not {asked}; make one: {command}"
            )


def _network(path: Path, widths: tuple[int, int], outputs: int, fields: dict[str, Any]) -> SelectorNetwork:
    """The network with its weights; raises one of `_DAMAGED` for damaged files."""
    from safetensors.torch import load

    weights = read_bytes(path.parent / Path(str(fields["weights"])).name, "weights")
    if hashlib.sha256(weights).hexdigest() != fields["weights_sha256"]:
        raise ValueError
    network = SelectorNetwork(widths, outputs)
    network.load_state_dict(load(weights))
    network.eval()
    return network


def times_fields(times: TimeModel) -> dict[str, Any]:
    """Times as plain data."""
    points = {name: {str(at): float(time) for at, time in getattr(times, name).items()} for name in ("draft", "target")}
    return {**points, "open_ended": times.open_ended}


def _times(fields: dict[str, Any]) -> TimeModel:
    draft, target = ({int(at): float(time) for at, time in fields[name].items()} for name in ("draft", "target"))
    return TimeModel(draft, target, bool(fields["open_ended"]))
