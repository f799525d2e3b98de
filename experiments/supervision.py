"""Code of others runs in a process of its own, so that whatever it does to that process is never read as a verdict.

A file named on the command line can end its process with any exit code: `os._exit(0)`, a handler at exit, a thread, a
library that calls `exit`. So the process that runs it says *lossless* and *refuted* with codes drawn at random by
the process that waits for it; the codes of verdicts mean there that something else ended it.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from experiments.shared.lifetime import end_with
from experiments.shared.progress import remark

#: Exit codes that say something about a verifier: lossless, refuted, a proof with gaps.
VERDICTS = (0, 1, 3)
#: How the codes travel: an environment variable, which is removed before any code of others runs.
_VARIABLE = "DRAFTPROOF_VERDICTS"
_FILE = re.compile(r"\.py(:|$)")
_PROGRAM = "import sys; sys.argv[0] = 'draftproof'; from experiments.cli import main; main()"
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def names_code(arguments: Sequence[str]) -> bool:
    """Whether a Python file is named, which will be run, or a module, as only `audit` takes one."""
    return "audit" in arguments or any(_FILE.search(argument) for argument in arguments)


def supervise(arguments: Sequence[str]) -> int:
    """Run the command in another process and wait for it; its exit code, 2 where it ended without a verdict."""
    drawn = random.SystemRandom().sample(range(150, 250), len(VERDICTS))
    variables = {**os.environ, _VARIABLE: ",".join(map(str, (os.getpid(), *drawn)))}
    child = subprocess.Popen([sys.executable, "-P", "-c", _PROGRAM, *arguments], env=variables, start_new_session=True)

    def forward(number: int, frame: Any) -> None:
        child.send_signal(number)

    before = {number: signal.signal(number, forward) for number in _FORWARDED}
    try:
        code = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    verdicts = dict(zip(drawn, VERDICTS, strict=True))
    if code in verdicts:
        return verdicts[code]
    if code in VERDICTS or code < 0:
        how = f"with exit code {code}" if code >= 0 else f"by signal {-code} ({signal.Signals(-code).name})"
        remark(f"draftproof: no verdict: the process that ran your code was ended {how} before it gave one")
        return 2 if code >= 0 else 128 - code
    return code


class Codes:
    """What the codes of verdicts are called towards whoever waits: themselves, unless this process is supervised."""

    def __init__(self) -> None:
        parent, *drawn = map(int, os.environ.pop(_VARIABLE, ",".join(map(str, (0, *VERDICTS)))).split(","))
        self._codes = dict(zip(VERDICTS, drawn, strict=True))
        self.supervised = parent > 0
        if self.supervised:
            end_with(parent)

    def __call__(self, code: int) -> int:
        return self._codes.get(code, code)
