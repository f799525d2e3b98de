"""How many tokens a model can read."""

from __future__ import annotations

from typing import Any

from draftproof.simulator.errors import InvalidInput


def room_of(model: Any) -> int | None:
    """The most tokens that the model can read; None where positions have no end, as rotary ones."""
    config = model.config.get_text_config(decoder=True)
    if getattr(config, "rope_parameters", None) or getattr(config, "rope_theta", None):
        return None
    most = getattr(config, "max_position_embeddings", None)
    return int(most) if most else None


def check_room(
    model: Any,
    which: str,
    tokens: int,
    asked: str = "",
    way_out: str = "give a shorter root, a smaller tree or a model with more positions",
) -> None:
    """Raise `InvalidInput` for more tokens than the model that is called `which` has positions.

    asked, way_out: the end of the message: what asks for them, and what can be done.
    """
    room = room_of(model)
    if room is not None and tokens > room:
        asked = asked or f", and {tokens} are asked for"
        raise InvalidInput(f"the {which} reads {room} tokens at most{asked}; {way_out}")
