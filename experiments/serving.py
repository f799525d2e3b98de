"""The program of a worker process: it loads user-defined code and answers requests for runs of it."""

import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from draftproof.experiments.runtime import supervised
from draftproof.simulator.protocol import Card


def serve(channel: str, parent: str) -> None:
    """Load the code that the first request names, and answer the other requests until the connection ends.

    The first request is `{"verifier": SPEC}` or `{"audit": [SPEC, ARGUMENTS, OPTIONS]}`, each with `max_input`.
    """
    number = supervised(channel, parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.set_int_max_str_digits(0)
    with suppress(OSError), socket.socket(fileno=number) as connection, connection.makefile("rwb") as stream:
        answer: Callable[[Mapping[str, Any]], dict[str, Any]] = _loaded
        for line in stream:
            request = json.loads(line)
            try:
                reply = answer(request)
                if answer is _loaded:
                    answer = reply.pop("answer")
            except BaseException as error:
                reply = _failed(error)
            stream.write(json.dumps(reply).encode() + b"\n")
            stream.flush()
    os._exit(0)


def _failed(error: BaseException) -> dict[str, Any]:
    from draftproof.simulator.errors import DraftproofError
    from draftproof.simulator.files import cut
    from draftproof.simulator.relay import error_fields

    if isinstance(error, DraftproofError):
        return {"error": error_fields(error)}
    return {"fatal": cut(f"{type(error).__name__}: {error}")}


def _card_fields(card: Card) -> dict[str, Any]:
    """A card as JSON."""
    return {**asdict(card), "needs": None if card.needs is None else card.needs.value}


def _loaded(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The reply to the first request, and in `answer` the function that answers the others."""
    from draftproof.simulator import files
    from draftproof.simulator.relay import Runner

    files.allow(wanted["max_input"])
    if "verifier" in wanted:
        from draftproof.experiments.inputs.verifiers import find_verifier
        from draftproof.simulator.laws.enumeration import guarded

        verifier = find_verifier(wanted["verifier"]).verifier
        runner = Runner(lambda settings: lambda roots, coin, told: [guarded(verifier, roots[0])(coin)])
        return {"card": _card_fields(verifier.card), "answer": runner.reply}

    from draftproof.experiments.cli.audit.plan import load_audit
    from draftproof.simulator.audit.audited import Log

    spec, arguments, options = wanted["audit"]
    audited = load_audit(spec, arguments, **options).audited
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)  # as `one_thread` does where the function is in the same process

    def variant(settings: Mapping[str, Any]) -> Any:
        changes = {key: settings[key] for key in ("boundary", "fresh", "wide", "fill")}

        def run(roots: Any, coin: Any, told: dict[str, Any]) -> Any:
            try:
                return made.verify_all(roots, coin)
            finally:
                told.update(made.log.as_fields())

        made = replace(audited, **changes, log=Log())
        return run

    return {
        "name": audited.name, "adapter": audited.adapter, "notes": list(audited.notes),
        "answer": Runner(variant, audited.sampled).reply, "guards": list(audited.guards), "sorts": audited.sorts,
    }  # fmt: skip
