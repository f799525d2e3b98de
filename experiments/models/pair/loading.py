"""One causal language model of transformers from a folder or by name; every failure is one clear line."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from draftproof.experiments.models.pair.devices import check_space, libraries, quiet_loading, within_memory
from draftproof.experiments.models.pair.tokenizers import TextTokenizer, load_tokenizer
from draftproof.simulator.errors import InvalidInput, cut
from draftproof.simulator.files import parse_json, read_text

#: Seconds to wait for the model hub's first answer.
HUB_TIMEOUT = 5.0
_CAUSAL = re.compile(r"(ForCausalLM|LMHeadModel)$")
#: Implementations of layers that are part of transformers; it would fetch the code of others from the hub.
_BUILTIN_IMPLEMENTATIONS = (None, "eager", "sdpa", "batched_mm", "grouped_mm")
#: Fields of config.json that make transformers read further files or quantised weights.
_OTHER_FILES = ("configuration_files", "transformers_weights", "quantization_config", "compression_config")
#: Fields of config.json that say how many layers there are, and how large other parts are.
_LAYERS = re.compile(r"(num(_hidden|_encoder|_decoder)?|encoder|decoder|n)_layers?")
_SIZES = re.compile(
    r"vocab_size|((moe_|shared_expert_)?intermediate|hidden|ffn_hidden|embedding)_size|d_model|n_embd|n_inner|ffn_dim"
    r"|head_dim|(num_(attention_|key_value_)?|n_|num_kv_|(en|de)coder_attention_)heads?|num_labels"
    r"|num_local_experts|num_experts|n_routed_experts"
)


@dataclass(frozen=True)
class Located:
    """A model that exists. local: whether it can be loaded without the network."""

    role: str
    name: str
    local: bool

    def __str__(self) -> str:
        return f"{self.role} {self.name}"

    @property
    def options(self) -> dict[str, Any]:
        return {"local_files_only": self.local, "trust_remote_code": False}


def locate(role: str, name: str) -> Located:
    """A folder, a model in the local cache, or one on the hub, in this order; raises `InvalidInput`."""
    libraries()
    path = Path(name).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise InvalidInput(f"{role} {name} holds no config.json; give the folder of one saved model")
        return Located(role, str(path), local=True)
    if path.exists():
        raise InvalidInput(f"{role} {name} is a file; give the folder of a saved model")
    from huggingface_hub import constants, try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        cached = try_to_load_from_cache(name, "config.json")
    except HFValidationError:
        raise InvalidInput(
            f"{role} {name} does not exist; give the folder of a saved model, or make one: draftproof model train"
        ) from None
    if isinstance(cached, str):
        return Located(role, name, local=True)
    if constants.HF_HUB_OFFLINE:
        raise InvalidInput(
            f"{role} {name} is no folder and not in the local cache, and HF_HUB_OFFLINE forbids to look elsewhere; "
            "give the folder of a saved model, or make one: draftproof model train"
        )
    _ask_the_hub(role, name)
    return Located(role, name, local=False)


def _ask_the_hub(role: str, name: str) -> None:
    """Check with one request that the hub has the model, so that there are no retries without a network."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    way_out = "give the folder of a saved model, or make one: draftproof model train"
    try:
        HfApi().model_info(name, timeout=HUB_TIMEOUT)
    except GatedRepoError:
        raise InvalidInput(f"{role} {name} needs permission on the model hub; ask for it there, or {way_out}") from None
    except RepositoryNotFoundError:
        raise InvalidInput(f"{role} {name} is no folder and the model hub has no such model; {way_out}") from None
    except Exception:  # whatever the HTTP library raises without a network
        raise InvalidInput(
            f"{role} {name} is no folder, not in the local cache, and the model hub cannot be reached; {way_out}"
        ) from None


def check_files(located: Located) -> None:
    """Raise `InvalidInput` for a model that needs code from a hub, has an adapter, or does not fit its weights."""
    with quiet_loading():
        path = _file_of(located, "config.json")
        what = f"the config.json of {located}"
        fields = parse_json(read_text(path, what), what) if path else None
    if not isinstance(fields, dict):
        raise InvalidInput(f"{located} has no configuration that transformers can read: it holds no fields")
    named = dict(_named(fields))
    for key, value in named.items():
        if _last(key) in _OTHER_FILES and value:
            raise InvalidInput(
                f"{located} has {cut(key)} in its config.json; save the plain model with save_pretrained"
            )
        if "_implementation" in key and not isinstance(value, dict) and value not in _BUILTIN_IMPLEMENTATIONS:
            raise InvalidInput(
                f"{located} has {cut(key)} {cut(repr(value))} in its config.json, code of a hub or of an extension; "
                "take it out, or write 'sdpa'"
            )
    if Path(located.name, "adapter_config.json").exists():
        raise InvalidInput(f"{located} holds an adapter; merge it into its model (merge_and_unload) and save that")
    shapes = _saved_shapes(located)
    largest = max([len(shapes), *(size for shape in shapes for size in shape)])
    for key, value in named.items():
        name = _last(key)
        most = len(shapes) if _LAYERS.fullmatch(name) else largest if _SIZES.fullmatch(name) else None
        if most is not None and isinstance(value, int | float) and not value <= most:
            raise InvalidInput(
                f"{located} does not fit its config.json: {cut(key)} is {cut(value)}, and its weights are "
                f"{len(shapes)} tensors whose largest side is {largest}; save the whole model with save_pretrained"
            )


def _named(fields: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Every field with its name, nested ones as in `text_config.vocab_size`."""
    for key, value in fields.items() if isinstance(fields, dict) else enumerate(fields):
        yield f"{above}{key}", value
        if isinstance(value, dict | list):
            yield from _named(value, f"{above}{key}.")


def _last(name: str) -> str:
    """The last name of a nested field, without positions in lists."""
    return next((part for part in reversed(name.split(".")) if not part.isdigit()), name)


def _file_of(located: Located, name: str) -> str | None:
    """The path of a file of the model, downloaded if necessary; None where there is no such file."""
    from transformers.utils.hub import cached_file

    file: str | None = cached_file(
        located.name,
        name,
        local_files_only=located.local,
        _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
    )
    return file


def _saved_shapes(located: Located) -> list[tuple[int, ...]]:
    """The shapes of all saved weights, from the headers of their files; raises `InvalidInput`."""
    from safetensors import safe_open

    wrong = f"{located} has no weights that can be read"
    shapes: list[tuple[int, ...]] = []
    try:
        names = ["model.safetensors"]
        if _file_of(located, names[0]) is None and (index := _file_of(located, f"{names[0]}.index.json")):
            names = sorted(set(parse_json(read_text(index, "weights"), "weights")["weight_map"].values()))
        for name in names:
            path = _file_of(located, name)
            if path is None:
                raise InvalidInput(f"{wrong}: there is no {cut(name)}; save the whole model with save_pretrained")
            with safe_open(path, framework="pt") as file:
                shapes += [tuple(file.get_slice(key).get_shape()) for key in file.keys()]  # noqa: SIM118
    except InvalidInput:
        raise
    except Exception as error:  # whatever reading a damaged file raises
        raise InvalidInput(f"{wrong}: {_first_line(error)}") from None
    return shapes


def read_config(located: Located) -> Any:
    """The configuration; raises `InvalidInput` unless it is that of a causal language model."""
    _, transformers = libraries()
    check_files(located)
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL

    try:
        with quiet_loading():
            config = transformers.AutoConfig.from_pretrained(located.name, **located.options)
    except Exception as error:  # a field of the wrong type raises whatever its first use raises
        raise InvalidInput(f"{located} has no configuration that transformers can read: {_first_line(error)}") from None
    architectures = getattr(config, "architectures", None) or []
    if not isinstance(architectures, list):
        raise InvalidInput(f"{located} has architectures {cut(architectures)} in its config.json; it must be a list")
    named = [str(name) for name in architectures]
    headless = bool(named) and not any(_CAUSAL.search(name) for name in named)
    if config.model_type not in CAUSAL or getattr(config, "is_encoder_decoder", False) or headless:
        raise InvalidInput(
            f"{located} is no causal language model but {', '.join(named) or config.model_type}; "
            "give one whose architecture ends in ForCausalLM"
        )
    return config


def read_tokenizer(located: Located) -> TextTokenizer | None:
    """The tokenizer of the model; None where it has none that works."""
    _, transformers = libraries()
    with suppress(Exception), quiet_loading():  # tokenizers fail in many ways, and exact commands need none
        tokenizer = load_tokenizer(transformers.AutoTokenizer.from_pretrained(located.name, **located.options))
        tokenizer.decode([*tokenizer.encode("a text"), tokenizer.vocab_size - 1])
        return tokenizer
    return None


def read_model(located: Located, config: Any, device: Any, dtype: Any) -> Any:
    """The model on the device, in evaluation mode; raises `InvalidInput`, also where memory is too small."""
    _, transformers = libraries()
    try:
        needed = weight_bytes(config, dtype)
    except Exception as error:  # such as a number of heads of 0
        raise InvalidInput(f"{located} has no config.json of which a model is made: {_first_line(error)}") from None
    saved = sum(prod(shape) for shape in _saved_shapes(located)) * dtype.itemsize
    if needed > 2 * saved + 2**20:  # only position tables and shared weights are not saved, and they are small
        raise InvalidInput(
            f"{located} does not fit its config.json, which asks for {needed:,} bytes where {saved:,} are saved; "
            "save the whole model with save_pretrained"
        )
    check_space(str(located), needed, device)
    try:
        with within_memory(f"loading {located}", device), quiet_loading():
            model, report = transformers.AutoModelForCausalLM.from_pretrained(
                located.name,
                config=config,
                dtype=dtype,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # reported below, in one line
                use_safetensors=True,  # other formats are pickles
                **located.options,
            )
            model = model.to(device)
    except InvalidInput:
        raise
    except Exception as error:
        raise InvalidInput(f"{located} has no weights that can be read: {_first_line(error)}") from None
    if report["mismatched_keys"]:
        key, saved, wanted = min(report["mismatched_keys"])
        raise InvalidInput(
            f"{located} does not fit its config.json: {key} is saved with shape {tuple(saved)}, not {tuple(wanted)}; "
            "save the whole model with save_pretrained"
        )
    if report["missing_keys"]:
        raise InvalidInput(
            f"{located} lacks weights, among them {min(report['missing_keys'])}; "
            "save the whole model with save_pretrained"
        )
    model.eval().requires_grad_(False)
    _try_out(model, located, device)
    return model


def _try_out(model: Any, located: Located, device: Any) -> None:
    """Raise `InvalidInput` for a model that does not give a row of logits for each of two tokens."""
    torch, _ = libraries()
    size = int(model.config.get_text_config().vocab_size)
    try:
        with within_memory(f"trying {located}", device), torch.no_grad():
            logits = model(torch.tensor([[0, size - 1]], device=device), use_cache=True).logits
            wrong = "logits of shape " + str(tuple(logits.shape)) if logits.shape != (1, 2, size) else None
            wrong = "logits that are no numbers" if wrong is None and bool(logits.isnan().any()) else wrong
    except InvalidInput:
        raise
    except Exception as error:  # a wrong field that no earlier check read raises whatever its use raises
        wrong = f"an error: {_first_line(error)}"
    if wrong is not None:
        raise InvalidInput(f"{located} answers two tokens with {wrong}; save a model that works with save_pretrained")


def weight_bytes(config: Any, dtype: Any) -> int:
    """Bytes of all weights in this precision and of all buffers, counted without making them."""
    torch, transformers = libraries()
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    return int(sum(weights.numel() for weights in model.parameters()) * dtype.itemsize) + int(
        sum(buffer.numel() * buffer.itemsize for buffer in model.buffers())
    )


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return cut(" ".join(lines[:2]), 140) if lines else type(error).__name__
