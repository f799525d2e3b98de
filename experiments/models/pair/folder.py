"""The folder that training writes: models and their record as JSON, written completely or not at all."""

import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from draftproof.experiments.models.pair.corpus import QUALITY, measure, sample
from draftproof.experiments.models.pair.devices import model_versions, quiet_loading
from draftproof.experiments.models.pair.pair import ROLES
from draftproof.experiments.models.pair.tokenizers import TextTokenizer, make_tokenizer
from draftproof.experiments.models.pair.training import Plan, Recipe, Size, grown, new_model, train
from draftproof.experiments.runtime import temporary
from draftproof.experiments.shared.progress import bar, remark
from draftproof.simulator.errors import InvalidInput, cut
from draftproof.simulator.files import parse_json, read_text
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.sampling_coin import SamplingCoin

#: The end of messages about a folder that holds something else.
WAY_OUT = "choose another folder, or remove it first"


def read_record(folder: Path, name: str, what: str, *nested: str, way_out: str = WAY_OUT) -> dict[str, Any] | None:
    """The record in `NAME.json`; None for a new or empty folder; raises `InvalidInput` where it holds anything else.

    what: what the folder should hold, for errors. nested: fields that are mappings themselves.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    try:
        record = dict(parse_json(read_text(folder / f"{name}.json", name), f"{name}.json"))
        for key in nested:
            dict(record[key])
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidInput(f"{folder} is there and holds no {what}; {way_out}") from None
    return record


def check_same(folder: Path, what: str, there: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Raises `InvalidInput` for the first field of the stored record that differs from the one asked for."""
    for key, value in asked.items():
        if there.get(key) != value:
            raise InvalidInput(f"{folder} holds a {what} with {key} {there.get(key)}, not {value}; {WAY_OUT}")


@contextmanager
def saving(what: str) -> Iterator[None]:
    """Turns errors of libraries that write in the body, such as for a full disk, into `InvalidInput`."""
    try:
        with quiet_loading():
            yield
    except Exception as error:
        raise InvalidInput(f"{what} cannot be written: {cut(error, 160)}; make room and run again") from None


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that is renamed to the wanted one when the body ends; raises `InvalidInput`.

    A folder that another run has made meanwhile stays as it is.
    """
    try:
        parent = folder.resolve().parent
        parent.mkdir(parents=True, exist_ok=True)
        with temporary(parent, folder.name, folder=True) as new:
            yield new
            umask = os.umask(0)
            os.umask(umask)
            new.chmod(0o777 & ~umask)
            try:
                os.replace(new, folder.resolve())
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
    except OSError as error:
        raise InvalidInput(f"cannot write {folder}: {error.strerror}; choose a folder that can be written") from None


def made_once(
    folder: Path,
    what: str,
    read: Callable[[Path], dict[str, Any] | None],
    make: Callable[[Path], dict[str, Any]],
) -> tuple[dict[str, Any], bool]:
    """The record of what the folder holds, and whether it was there; else it is made, with its record `WHAT.json`."""
    there = read(folder)
    if there is not None:
        return there, True
    with new_folder(folder) as new:
        record = make(new)
        text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
        (new / f"{what}.json").write_text(text, encoding="utf-8")
    return read(folder) or record, False


#: Characters of the sample, and of the held-out text before it.
SAMPLE, PROMPT = 240, 40


def make_pair(recipe: Recipe, folder: str | Path, device: Any) -> tuple[dict[str, Any], bool]:
    """Train and save the pair, or use the one in the folder; returns its record, and whether it was there before.

    The folder gets `target` and `draft` as `save_pretrained` writes them, each with the tokenizer, and `pair.json`.
    Raises `InvalidInput` where the folder holds anything else or cannot be written.
    """
    path = Path(folder)
    record, there = made_once(path, "pair", recorded, lambda new: _train_both(recipe, new, device))
    check_same(path, "pair", _flat(record["configuration"]), _flat(recipe.configuration))
    return record, there


def _train_both(recipe: Recipe, folder: Path, device: Any) -> dict[str, Any]:
    corpus = recipe.corpus
    tokenizer = make_tokenizer(recipe.tokenizer, recipe.vocab_size, corpus.training)
    training, held_out = (np.array(tokenizer.encode(part)) for part in (corpus.training, corpus.held_out))
    models, losses = {}, {}
    for role, size, plan in _roles(recipe):
        begun = perf_counter()
        models[role], losses[role] = _train_one(role, recipe, size, plan, training, device)
        remark(f"{role}: {plan.steps} steps in {perf_counter() - begun:.0f} s, loss {losses[role]:.3f} bits")
    quality = measure(
        list(models.values()), training, held_out, len(corpus.held_out), recipe.vocab_size, recipe.target_plan.window
    )
    with saving("the pair"):
        for role, model in models.items():
            model.save_pretrained(folder / role)
            tokenizer.save(folder / role)
    return {
        "strong_id": recipe.strong_id,
        "text": corpus.name,
        "text_hash": corpus.digest,
        "configuration": recipe.configuration,
        "versions": model_versions(),
        "device": device.type,
        "characters": {"training": len(corpus.training), "held_out": len(corpus.held_out)},
        "steps": {role: plan.steps for role, _, plan in _roles(recipe)},
        "loss_bits_per_token": losses,
        "parameters": {role: sum(weights.numel() for weights in model.parameters()) for role, model in models.items()},
        "bits_per_character": quality,
        "sample": _sample(models["target"], tokenizer, held_out, quality["tokens_per_character"], recipe.seed),
    }


def _train_one(role: str, recipe: Recipe, size: Size, plan: Plan, tokens: Any, device: Any) -> tuple[Any, float]:
    """The model, and its loss in bits per token."""
    initial = recipe.initial if role == "target" else None
    first = replace(size, layers=initial.layers) if initial else size
    model = new_model(first, recipe.vocab_size, recipe.seed)
    if initial:
        with bar(f"training the {role}'s first {initial.layers} layers", initial.plan.steps) as tick:
            loss = train(model, tokens, initial.plan, recipe.seed, device, tick)
        remark(f"{role} of {initial.layers} layers: {initial.plan.steps} steps, loss {loss:.3f} bits")
        model = grown(model, size.layers)
    with bar(f"training the {role}", plan.steps) as tick:
        return model, train(model, tokens, plan, recipe.seed + bool(initial), device, tick)


def _roles(recipe: Recipe) -> Sequence[tuple[str, Size, Plan]]:
    return ("target", recipe.target, recipe.target_plan), ("draft", recipe.draft, recipe.draft_plan)


def _sample(model: Any, tokenizer: TextTokenizer, held_out: Any, share: float, seed: int) -> dict[str, str]:
    prompt = held_out[: max(1, round(PROMPT * share))]
    coin = SamplingCoin(np.random.default_rng(seed))
    written = sample(model, prompt.tolist(), round(SAMPLE * share), coin, Sampling().of_logits)
    return {"prompt": tokenizer.decode(prompt.tolist()), "text": tokenizer.decode(written)}


def recorded(folder: Path, way_out: str = WAY_OUT) -> dict[str, Any] | None:
    """The record of a trained pair; None for a new or empty folder; raises `InvalidInput` for other files."""
    record = read_record(folder, "pair", "trained pair", "configuration", way_out=way_out)
    if record is not None and not _is_complete(record):
        raise InvalidInput(f"{folder}/pair.json is no record of training (bits_per_character or sample); {way_out}")
    if record is not None and not all((folder / role / "config.json").is_file() for role in ROLES):
        raise InvalidInput(f"{folder} holds only part of a trained pair; {way_out}")
    return record


def _is_complete(record: Mapping[str, Any]) -> bool:
    bits, written = record.get("bits_per_character"), record.get("sample")
    shown = isinstance(bits, dict) and all(isinstance(bits.get(name), (int, float)) for name in QUALITY)
    return shown and isinstance(written, dict) and all(isinstance(written.get(key), str) for key in ("prompt", "text"))


def _flat(configuration: dict[str, Any]) -> dict[str, Any]:
    """Nested fields under one name, as in `target steps`."""
    nested = {
        f"{key} {inner}": value
        for key, fields in configuration.items()
        if isinstance(fields, dict)
        for inner, value in fields.items()
    }
    return {key: value for key, value in configuration.items() if not isinstance(value, dict)} | nested
