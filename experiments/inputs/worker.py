"""Worker processes that run user-defined verifiers and functions; verdicts are computed in the main process.

Such code can change its own process, its modules, rows and coin, but not what the main process judges. A worker gets
draft trees and answers of the coin, and nothing else; see `draftproof.simulator.relay`.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from draftproof.experiments.runtime import ended
from draftproof.simulator.errors import InvalidInput, InvalidVerifier
from draftproof.simulator.files import allowed
from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Verdict
from draftproof.simulator.relay import OtherProcessVerifier, Relay, error_from

#: Bytes of one reply at most.
MOST_REPLY = 2**30
_PROGRAM = (
    "import sys; sys.argv[0] = 'draftproof'; from draftproof.experiments.serving import serve; serve(*sys.argv[1:])"
)

_in_workers = False


def use_workers() -> None:
    """From now on user-defined verifiers and functions run in worker processes."""
    global _in_workers  # noqa: PLW0603 - decided once on the command line
    _in_workers = True


def uses_workers() -> bool:
    """Whether `use_workers` was called."""
    return _in_workers


class WorkerProcess:
    """A worker process, started with the object, and again at the first request after it has ended.

    wanted: the first request, which says what code it loads, see `draftproof.experiments.serving.serve`. about: the
    reply to it.
    """

    def __init__(self, wanted: dict[str, Any]) -> None:
        self._wanted = {**wanted, "max_input": allowed()}
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Any = None
        atexit.register(self.end)
        self.about = self._begin()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply to a request; raises what was raised there, or `InvalidVerifier` where the process has ended."""
        if self._process is None:
            self._begin()
        return self._exchange(request)

    def end(self) -> None:
        """End the process, whatever it is doing."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(OSError):
                self._channel.close()
            ended(process)

    def _begin(self) -> dict[str, Any]:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, str(theirs.fileno()), str(os.getpid())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=sys.__stderr__ if sys.__stderr__ is not None else subprocess.DEVNULL,
                start_new_session=True,
            )
        with ours:
            self._channel = ours.makefile("rwb")
        return self._exchange(self._wanted)

    def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            self._channel.write(json.dumps(request).encode() + b"\n")
            self._channel.flush()
            line = self._channel.readline(MOST_REPLY)
        except OSError:
            line = b""
        except BaseException:  # Ctrl-C: the next request would get the reply to this one
            self.end()
            raise
        try:
            reply = json.loads(line)
        except ValueError:
            raise InvalidVerifier(self._how_it_ended()) from None
        if not isinstance(reply, dict):
            raise InvalidVerifier("the process that ran your code gave no answer that could be read")
        if "fatal" in reply:
            self.end()
            raise InvalidInput(
                f"something raised {reply['fatal']}, before there was a verdict; raise an Exception instead"
            )
        if "error" in reply:
            raise error_from(reply["error"])
        return dict(reply)

    def _how_it_ended(self) -> str:
        process = self._process
        code = None
        with suppress(subprocess.TimeoutExpired):
            code = None if process is None else process.wait(1)
        self.end()
        how = "closed its connection" if code is None else f"was ended with exit code {code}"
        if code is not None and code < 0:
            how = f"was ended by signal {-code} ({signal.Signals(-code).name})"
        return f"no verdict: the process that ran your code {how} before it gave one"


class WorkerVerifier(OtherProcessVerifier):
    """A verifier of a file that runs in a worker process."""

    def __init__(self, spec: str) -> None:
        worker = WorkerProcess({"verifier": spec})
        self._relay = Relay(worker.ask)
        fields = dict(worker.about["card"])
        fields["source"] = None if fields["source"] is None else Source(**fields["source"])
        fields["needs"] = None if fields["needs"] is None else Draws(fields["needs"])
        self.card = Card(**{**fields, "dominates": tuple(fields["dominates"])})

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        [verdict] = self._relay.run((root,), coin, {}, (root,), {})
        return verdict

    def prefetch(self, roots: Sequence[DraftNode]) -> None:
        self._relay.prefetch([((root,), (root,)) for root in roots], {})
