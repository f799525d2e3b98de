"""Lossy verifiers that try to be called lossless; each is named after what it does to the process that runs it."""

import atexit
import fractions
import gc
import os
import re
import signal
import sys
import threading
import time

from draftproof.simulator import Card
from draftproof.verifiers import make


class Lossy:
    card = Card(name="mine", title="mine", source=None)

    def verify(self, root, coin):
        self.attack(root, coin)
        return make("naive_from_target").verify(root, coin)

    def attack(self, root, coin):
        pass


class ReadsTheEnvironment(Lossy):
    """Ends with a number that stands in the environment of this process or of the one above it."""

    def attack(self, root, coin):
        for process in ("self", os.getppid()):
            with open(f"/proc/{process}/environ") as file:
                for number in re.findall(r"DRAFTPROOF\w*=[\d,]*?(\d+)\0", file.read()):
                    os._exit(int(number))


class PatchesFractions(Lossy):
    def attack(self, root, coin):
        for name in ("__eq__", "__le__", "__ge__"):
            setattr(fractions.Fraction, name, lambda self, other: True)
        for name in ("__lt__", "__gt__", "__ne__"):
            setattr(fractions.Fraction, name, lambda self, other: False)
        fractions.Fraction.__abs__ = fractions.Fraction.__sub__ = lambda self, *other: fractions.Fraction(0)


class PatchesTheJudge(Lossy):
    def attack(self, root, coin):
        from draftproof.simulator.laws.law import BlockLaw
        from draftproof.simulator.verdicts import lossless

        lossless.Check.lossless = True
        BlockLaw.balance = lambda self, target: [table * 0 for table in target.tables]
        for name, module in list(sys.modules.items()):
            if name.startswith(("draftproof.simulator.", "draftproof.experiments.")) and hasattr(module, "Check"):
                module.Check.lossless = True


class WritesRows(Lossy):
    """Makes the target a point mass on token 0, wherever it can reach it."""

    def attack(self, root, coin):
        row = root.target
        while row is not None:
            try:
                row.setflags(write=True)
                row[..., :] = row * 0
                row[..., 0] = row[..., 0] + 1
            except ValueError:
                pass
            row = row.base


class WalksTheCoin(Lossy):
    """Makes every answer of the enumerator weigh nothing but the last one."""

    def attack(self, root, coin):
        enumerator = getattr(coin.flip, "__self__", None)
        if enumerator is not None:
            for branching in enumerator._script:
                branching.answers[:] = branching.answers[:1]


class WalksTheHeap(Lossy):
    """Overwrites every table of a target, and every tolerance."""

    def attack(self, root, coin):
        from draftproof.simulator.arithmetic import Arithmetic
        from draftproof.simulator.instances.processes import TableProcess
        from draftproof.simulator.verdicts.lossless import Check, Evaluator

        Evaluator.check = lambda self, target, draft, scheme, progress=None: Check("mine", scheme, "float64", "none", 0)
        for each in gc.get_objects():
            if isinstance(each, Arithmetic):
                object.__setattr__(each, "tolerance", 2)
            if isinstance(each, TableProcess) and each.name == "target":
                each.tables = [table * 0 for table in each.tables]


class Exits(Lossy):
    def attack(self, root, coin):
        sys.exit(0)


class Ends(Lossy):
    def attack(self, root, coin):
        os._exit(0)


class EndsLast(Lossy):
    def attack(self, root, coin):
        atexit.register(os._exit, 0)


class EndsInAThread(Lossy):
    def attack(self, root, coin):
        threading.Thread(target=os._exit, args=(0,)).start()
        threading.Event().wait(5)


class ClosesFiles(Lossy):
    def attack(self, root, coin):
        os.closerange(0, 256)


class WritesEverywhere(Lossy):
    """A verdict of its own, and nonsense, into every open file."""

    def attack(self, root, coin):
        for number in range(3, 256):
            try:
                os.write(number, b'{"exit": 0}\n{"runs": 1}\n[0]\n')
            except OSError:
                continue


class EndsAsRefuted(Lossy):
    def attack(self, root, coin):
        os._exit(1)


class Dies(Lossy):
    def attack(self, root, coin):
        os.kill(os.getpid(), 9)


class Raises(Lossy):
    def attack(self, root, coin):
        raise GeneratorExit("of mine")


class Interrupts(Lossy):
    def attack(self, root, coin):
        raise KeyboardInterrupt


class Redirects(Lossy):
    def attack(self, root, coin):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class Swallows(Lossy):
    """Never ends, whatever it is told."""

    def attack(self, root, coin):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        print("at work", file=sys.stderr, flush=True)
        while True:
            try:  # noqa: SIM105
                time.sleep(600)
            except:  # noqa: E722
                pass


class Lingers(Lossy):
    """Leaves a thread that works for ten minutes after everything is done."""

    def attack(self, root, coin):
        threading.Thread(target=time.sleep, args=(600,)).start()
