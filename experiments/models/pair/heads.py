"""The heads that `draftproof model train` makes, by kind: an untrained one, and one from its folder."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from draftproof.experiments.models.pair.devices import libraries, quiet_loading
from draftproof.experiments.models.pair.loading import Located, check_files
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.files import parse_json, read_text

#: The class of each kind, in the module of its name.
_CLASSES = {"eagle": "EagleHead", "eagle3": "Eagle3Head", "griffin": "GriffinHead", "specblock": "SpecBlockHead"}


def _class(kind: str) -> Any:
    return getattr(import_module(f"draftproof.experiments.models.pair.{kind}"), _CLASSES[kind])


def new_head(target: Any, seed: int, kind: str = "eagle", **more: int) -> Any:
    """An untrained head for this target, with random weights that depend on its sizes and the seed alone.

    more: further fields of its configuration.
    """
    torch, _ = libraries()
    text, made = target.config.get_text_config(decoder=True), _class(kind)
    sizes = {
        "vocab_size": text.vocab_size,
        "hidden_size": text.hidden_size,
        "num_attention_heads": text.num_attention_heads,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = made(made.config_class(**sizes, **more)).of(target)
    return head.begun() if hasattr(head, "begun") else head


def load_head(folder: str, target: Any, kind: str = "eagle") -> Any:
    """A head that `draftproof model train` saved; raises `InvalidInput` for a folder without one of this kind."""
    way_out = f"make one: draftproof model train --kind {kind} --pair FOLDER --out {folder}"
    none, made = InvalidInput(f"{folder} holds no {kind} head; {way_out}"), _class(kind)
    if not Path(folder, "config.json").is_file():
        raise none
    check_files(Located("head", folder, local=True))
    fields = parse_json(read_text(Path(folder, "config.json"), "config.json"), "config.json")
    if fields.get("model_type") != made.config_class.model_type:
        raise none
    options = {"local_files_only": True, "use_safetensors": True, "output_loading_info": True}
    try:
        with quiet_loading():
            head, report = made.from_pretrained(folder, **options)
    except Exception:  # a field of another kind fails in whatever way its use does
        raise none from None
    if report["missing_keys"]:
        raise none
    head.eval()
    head.requires_grad_(False)
    return head.of(target)
