"""torch's generators, recorded: seeds of the global one, and `torch.Generator` objects. Needs torch."""

from __future__ import annotations

import weakref
from typing import Any

from draftproof.simulator.lazy import torch_module
from draftproof.simulator.symbolic.knowledge.session import Session, Stream, current, seed_key
from draftproof.simulator.symbolic.where import refusal


def _recording_generator(base: Any) -> Any:
    def make(self: Any, device: Any = "cpu") -> None:
        _recording[self._cdata] = self
        session = current()
        if session is not None:  # an unseeded one always starts from the same numbers
            session.attach(self, ("torch", int(base.initial_seed(self))))

    def manual_seed(self: Any, seed: Any) -> Any:
        session = current()
        key = seed_key("torch", seed)
        base.manual_seed(self, seed)
        if session is not None:
            session.attach(self, key)
        return self

    def seed(self: Any) -> int:
        session = current()
        if session is not None:
            raise refusal("torch.Generator.seed takes a seed from the operating system, which cannot be followed")
        return int(base.seed(self))

    def refused(name: str) -> Any:
        def method(self: Any, *arguments: Any) -> Any:
            if current() is not None:
                raise refusal(f"torch.Generator.{name} cannot be followed")
            return getattr(base, name)(self, *arguments)

        return method

    methods = {name: refused(name) for name in ("get_state", "set_state", "clone_state") if hasattr(base, name)}
    methods |= {"__init__": make, "manual_seed": manual_seed, "seed": seed}
    return type("Generator", (base,), methods | {"__doc__": "A torch generator that an audit can follow."})


def _manual_seed(original: Any) -> Any:
    def function(seed: Any) -> Any:
        session = current()
        if session is None:
            return original(seed)
        session.seed_global("torch", seed_key("torch", seed))
        return torch_module().default_generator

    return function


def _refused(name: str, original: Any) -> Any:
    def function(*arguments: Any, **options: Any) -> Any:
        if current() is not None:
            raise refusal(f"torch.{name} cannot be followed")
        return original(*arguments, **options)

    return function


_made: dict[str, Any] = {}
#: Recording generators by the address of what torch knows them by: an operation sees another Python object.
_recording: Any = weakref.WeakValueDictionary()


def recording_class() -> Any:
    """The class that takes the place of `torch.Generator`."""
    if not _made:
        _made["class"] = _recording_generator(torch_module().Generator)
        _made["base"] = torch_module().Generator
        _made["get_state"] = torch_module().default_generator.get_state
    return _made["class"]


def replacements() -> list[tuple[Any, str, Any]]:
    """(holder, name, what to put there) for torch's seeds and generators."""
    torch = torch_module()
    found: list[tuple[Any, str, Any]] = [(torch, "Generator", recording_class())]
    for holder in (torch, torch.random):
        found.append((holder, "manual_seed", _manual_seed(holder.manual_seed)))
        found += [
            (holder, name, _refused(name, getattr(holder, name))) for name in ("seed", "get_rng_state", "set_rng_state")
        ]
    return found


def swapped(value: Any) -> Any:
    """A recording generator for one made before the call; None for anything else."""
    made = recording_class()
    usual = torch_module().default_generator
    if isinstance(value, _made["base"]) and not isinstance(value, made) and value is not usual:
        return made(device=value.device)
    return None


def stream(session: Session, generator: Any) -> Stream:
    """The numbers of the generator that an operation was given, or of the global one."""
    if generator is None or generator._cdata == torch_module().default_generator._cdata:
        return session.global_stream("torch")
    known = _recording.get(generator._cdata)
    if known is None:
        raise refusal(
            "a torch.Generator that was made before the call is used",
            "load the file with `load`, or make the generator in the function",
        )
    return session.stream_of(known)


def state() -> Any:
    """The true state of torch's global CPU generator."""
    recording_class()
    return bytes(_made["get_state"]().numpy())
