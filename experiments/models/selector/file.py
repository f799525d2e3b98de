"""A selector in one file, `selector-VERIFIER.safetensors`: its weights, and everything else as metadata in JSON."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from draftproof.experiments.inputs.latency import TimeModel
from draftproof.experiments.models.selector.features import SCALARS
from draftproof.experiments.models.selector.network import SelectorNetwork
from draftproof.experiments.shared.output import write_whole
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput, cut
from draftproof.simulator.files import parse_json, read_bytes
from draftproof.simulator.instances.sampling import Sampling

FORMAT = "draftproof selector 2"
SUFFIX = ".safetensors"


class Use(NamedTuple):
    """What a selector is used with: a verifier, a pair (its digest, its `V`, its hidden widths) and a sampling."""

    verifier: str
    pair: str
    vocab_size: int
    widths: tuple[int, int]
    sampling: Sampling


@dataclass(frozen=True)
class Selector:
    """actions: by output of the network. times: of passes, as in training. base: position of the best static action."""

    network: SelectorNetwork
    actions: tuple[Delayed, ...]
    times: TimeModel
    base: int


def selector_path(folder: str | Path, verifier: str) -> Path:
    """The file of the selector of a verifier."""
    return Path(folder) / f"selector-{verifier}{SUFFIX}"


def save_selector(folder: str | Path, network: SelectorNetwork, fields: Mapping[str, Any]) -> Path:
    """Write the file in one step; raises `InvalidInput` for a folder that cannot be written.

    fields: `verifier`, `pair`, `vocab_size`, `actions`, `times`, `settings` (the samplings it was trained for), `base`
    (the best static action of each), and any other fields.
    """
    from safetensors.torch import save

    path = selector_path(folder, str(fields["verifier"]))
    weights = {name: values.contiguous() for name, values in network.state_dict().items()}
    digest = hashlib.sha256(_header_and_weights(save(weights))[1]).hexdigest()
    whole = {**fields, "scalars": list(SCALARS), "weights_sha256": digest}
    write_whole(path, save(weights, {FORMAT: json.dumps(whole)}))
    return path


def _header_and_weights(content: bytes) -> tuple[bytes, bytes]:
    """The two parts of a file of safetensors: JSON, whose length is in the first 8 bytes, and numbers."""
    end = 8 + int.from_bytes(content[:8], "little")
    return content[8:end], content[end:]


def selector_fields(content: bytes) -> tuple[dict[str, Any], bytes]:
    """All fields in the content of a file, and its weights; raises one of `_DAMAGED` for anything else."""
    header, weights = _header_and_weights(content)
    metadata = parse_json(header.decode(), "selector")["__metadata__"]
    return dict(parse_json(metadata[FORMAT], "selector")), weights


#: What reading a damaged file may raise.
_DAMAGED = (InvalidInput, OSError, ValueError, KeyError, TypeError, RuntimeError, AttributeError, OverflowError)


def load_selector(path: Path, use: Use, actions: Sequence[Delayed] | None = None) -> Selector:
    """The selector of a file for this use. actions: those to choose from, where they are asked for.

    Raises `InvalidInput` for a missing or damaged file, and for a selector that was trained for something else.
    """
    trained = (path.parent / "pair.json").exists() or not path.parent.exists()
    where = f"--world models:{path.parent}"
    if not trained:
        where = f"--world models:target=..,draft=.. --out {path.parent}"
    command = f"draftproof model train --kind selector {use.verifier} {where}"
    if not path.exists():
        raise InvalidInput(f"no selector {cut(path)}; make one: {command}")
    try:
        content = read_bytes(path, "selector")
        fields, weights = selector_fields(content)
        if fields["scalars"] != list(SCALARS) or hashlib.sha256(weights).hexdigest() != fields["weights_sha256"]:
            raise ValueError
        stored = tuple(Delayed(*map(int, action)) for action in fields["actions"])
        times = _times(fields["times"])
        times.check(stored)
        settings = [dict(setting) for setting in fields["settings"]]
        base = [stored.index(Delayed(*map(int, action))) for action in fields["base"]]
        if not settings or len(base) != len(settings) or 1 not in times.draft or 0 not in times.target:
            raise ValueError
        other = _other_use(fields, stored, settings, use, actions, command)
        network = None if other else _network(content, use.widths, len(stored))
    except _DAMAGED:
        raise InvalidInput(f"{cut(path)} is damaged or no selector; make it again: {command}") from None
    if network is None:
        raise InvalidInput(f"{cut(path)} {other}")
    return Selector(network, stored, times, base[settings.index(use.sampling.as_dict())])


def _other_use(
    fields: Mapping[str, Any],
    stored: Sequence[Delayed],
    settings: Sequence[dict[str, Any]],
    use: Use,
    actions: Sequence[Delayed] | None,
    command: str,
) -> str | None:
    """What the selector was trained for instead, in words; None where it is for this use."""
    for what, trained, wanted in (
        ("the verifier", str(fields["verifier"]), use.verifier),
        ("V =", int(fields["vocab_size"]), use.vocab_size),
        ("the pair", str(fields["pair"]), use.pair),
    ):
        if trained != wanted:
            return f"is a selector for {what} {cut(trained, 24)}, not {wanted}; make one: {command}"
    if actions is not None and set(actions) != set(stored):
        odd = next(iter(set(actions) ^ set(stored)))
        return (
            f"chooses among {len(stored)} actions, not the {len(set(actions))} asked for: {odd} is in one list "
            "only; give the ranges that it was trained for, or train a selector for these"
        )
    if use.sampling.as_dict() not in settings:
        known = "; ".join(map(_setting_text, settings))
        return f"was trained for {cut(known)}, not for {use.sampling}; train one for this sampling"
    return None


def _setting_text(setting: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in setting.items() if value is not None)


def _network(content: bytes, widths: tuple[int, int], outputs: int) -> SelectorNetwork:
    """The network with its weights; raises one of `_DAMAGED` where they have other shapes."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    network = SelectorNetwork(widths, outputs)
    try:
        network.load_state_dict(load(content))
    except SafetensorError as error:
        raise ValueError from error
    network.eval()
    return network


def times_fields(times: TimeModel) -> dict[str, Any]:
    """Times as plain data."""
    points = {name: {str(at): float(time) for at, time in getattr(times, name).items()} for name in ("draft", "target")}
    return {**points, "open_ended": times.open_ended}


def _times(fields: dict[str, Any]) -> TimeModel:
    draft, target = ({int(at): float(time) for at, time in fields[name].items()} for name in ("draft", "target"))
    return TimeModel(draft, target, bool(fields["open_ended"]))
