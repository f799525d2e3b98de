"""A program that goes wrong after some right answers: `faulty.py FAULT [AFTER]`."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

fault, after = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
if fault == "child":
    sleeper = subprocess.Popen(["sh", "-c", "sleep 600; touch survived"])
    Path("child.pid").write_text(f"{sleeper.pid}")


def answer(asked):
    p = asked["p"]
    return {"id": asked["id"], "tokens": [random.choices(range(len(p[0])), p[0])[0]]}


for number, line in enumerate(sys.stdin):
    right = answer(json.loads(line))
    if number >= after:
        match fault:
            case "crash":
                sys.exit(3)
            case "segfault":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "killed" if not Path("killed").exists():
                Path("killed").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            case "killed in a line":
                print(json.dumps(right)[:14], end="", flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
            case "silent" | "child":
                time.sleep(600)
            case "malformed":
                print("Loading model..")
            case "no tokens":
                right.pop("tokens")
            case "out of order":
                right["id"] += 1
            case "twice":
                print(json.dumps(right))
            case "closed":
                os.close(1)
                time.sleep(600)
            case "endless":
                while True:
                    sys.stdout.write("x" * 2**16)
            case "foreign token":
                right["tokens"] = [99]
            case "text":
                right["tokens"] = "ab"
    print(json.dumps(right), flush=True)
