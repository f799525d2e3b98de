"""The tutorial: its code is run, and the outputs are saved.

The cells run in this process, one after the other, and the outputs that Jupyter would show are saved. A kernel of
Jupyter needs some thirty packages and takes seconds to start.
"""

import ast
import json
from argparse import Namespace
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from draftproof.experiments.shared.output import write_whole

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "tutorial.ipynb"


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs that its code gives."""
    names: dict[str, Any] = {"__name__": "__main__"}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    done = {
        cell["id"]: {**cell, "execution_count": number, "outputs": _outputs("".join(cell["source"]), names, number)}
        for number, cell in enumerate(code, start=1)
    }
    return {**notebook, "cells": [done.get(cell["id"], cell) for cell in notebook["cells"]]}


def _outputs(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """What a cell prints, and the value of its last line if that is an expression."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    value = None
    with redirect_stdout(StringIO()) as printed:
        exec(compile(ast.Module(body, type_ignores=[]), f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append(
            {"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)}
        )
    if value is not None:
        views = {"text/html": value._repr_html_()} if hasattr(value, "_repr_html_") else {}
        data = {kind: text.splitlines(keepends=True) for kind, text in {**views, "text/plain": repr(value)}.items()}
        outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs


def written(notebook: dict[str, Any]) -> str:
    """The text of the file."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def write(_: Namespace) -> int:
    """Run the tutorial and save its outputs; returns 0."""
    write_whole(NOTEBOOK, written(executed(json.loads(NOTEBOOK.read_text(encoding="utf-8")))))
    return 0
