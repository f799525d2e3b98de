"""The device and precision of models, and how many tokens they can read; every failure is one clear line."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from draftproof.experiments.grid.rows import versions
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.lazy import torch_module

DEVICES = ("auto", "cpu", "cuda")
#: Names of the precisions that weights may have.
DTYPES = ("float32", "bfloat16", "float16", "float64")


def libraries() -> tuple[Any, Any]:
    """The modules torch and transformers; raises `InvalidInput` where one is missing."""
    torch = torch_module("running models")
    try:
        import transformers
    except ImportError:
        raise InvalidInput(
            "running models needs transformers, which is not installed: pip install 'draftproof[models]'"
        ) from None
    return torch, transformers


@contextmanager
def quiet_loading() -> Iterator[None]:
    """While the body runs, transformers prints no progress bars and warnings; errors are still raised."""
    _, transformers = libraries()
    log = transformers.utils.logging
    level, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    digits = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(
        sys.int_info.default_max_str_digits
    )  # other code of the project raises the limit; numbers of models are short
    try:
        yield
    finally:
        sys.set_int_max_str_digits(digits)
        log.set_verbosity(level)
        if bars:
            log.enable_progress_bar()


@contextmanager
def generation_settings(model: Any, **settings: Any) -> Iterator[None]:
    """While the body runs, `generate` of the model takes these settings for its own, and warns of nothing."""
    _, transformers = libraries()
    before = model.generation_config
    model.generation_config = transformers.GenerationConfig(**settings)
    try:
        with quiet_loading():  # assisted generation warns of settings that it makes itself
            yield
    finally:
        model.generation_config = before


def choose_device(name: str) -> Any:
    """The torch device; `auto` is CUDA if available. Raises `InvalidInput` for an unknown or unavailable device."""
    torch, _ = libraries()
    if name not in DEVICES:
        raise InvalidInput(f"unknown device {name!r}; choose {', '.join(DEVICES)}")
    present = torch.cuda.is_available()
    if name == "cuda" and not present:
        raise InvalidInput("no CUDA device is at hand; use device cpu, or auto to take CUDA where there is one")
    return torch.device("cuda" if present and name != "cpu" else "cpu")


def choose_dtype(name: str) -> Any:
    """The torch precision of this name; raises `InvalidInput` for an unknown one."""
    torch, _ = libraries()
    if name not in DTYPES:
        raise InvalidInput(f"unknown dtype {name!r}; choose {', '.join(DTYPES)}")
    return getattr(torch, name)


def free_bytes(device: Any) -> int:
    """Free memory of the device, in bytes."""
    torch, _ = libraries()
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            fields = dict(line.split(":", 1) for line in lines)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError):
        return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def check_space(what: str, needed: int, device: Any) -> None:
    """Raises `InvalidInput` where `needed` bytes are more than the device has free."""
    free = free_bytes(device)
    if needed > free:
        raise InvalidInput(
            f"no space on {device.type}: {what} needs {_gibibytes(needed)} and {_gibibytes(free)} is free; "
            "use a smaller model, a lower precision or another device"
        )


@contextmanager
def within_memory(what: str, device: Any) -> Iterator[None]:
    """Turns running out of memory in the body into `InvalidInput`; what: the work, for the message."""
    torch, _ = libraries()
    try:
        yield
    except (torch.cuda.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        raise InvalidInput(
            f"no space on {device.type} while {what}; use a smaller model, a lower precision or another device"
        ) from None


def _is_out_of_memory(error: BaseException) -> bool:
    torch, _ = libraries()
    words = ("out of memory", "not enough memory", "can't allocate memory", "cannot allocate memory")
    return isinstance(error, torch.cuda.OutOfMemoryError | MemoryError) or any(
        phrase in str(error).lower() for phrase in words
    )


def _gibibytes(count: int) -> str:
    return f"{count / 2**30:.3g} GiB"


def model_versions() -> dict[str, str]:
    """Versions of the libraries that can change the outputs of a model."""
    torch, transformers = libraries()
    from tokenizers import __version__ as tokenizers_version

    return {
        **versions(),
        "torch": str(torch.__version__),
        "transformers": str(transformers.__version__),
        "tokenizers": str(tokenizers_version),
    }


def configured_positions(model: Any) -> int | None:
    """The number of tokens that the model is made for, by its configuration; None where it names none."""
    most = getattr(model.config.get_text_config(decoder=True), "max_position_embeddings", None)
    return int(most) if most else None


def max_positions(model: Any) -> int | None:
    """The most tokens that the model can read; None where it can read more than it is made for, as with rotary ones."""
    config = model.config.get_text_config(decoder=True)
    if getattr(config, "rope_parameters", None) or getattr(config, "rope_theta", None):
        return None
    return configured_positions(model)


def check_fits(
    model: Any,
    which: str,
    tokens: int,
    asked: str = "",
    way_out: str = "give a shorter root, a smaller tree or a model with more positions",
) -> None:
    """Raise `InvalidInput` for more tokens than the model has positions.

    which: the model's role, for the message. asked, way_out: the end of the message: why so many, and what to do.
    """
    limit = max_positions(model)
    if limit is not None and tokens > limit:
        asked = asked or f", and {tokens} are asked for"
        raise InvalidInput(f"the {which} reads {limit} tokens at most{asked}; {way_out}")
