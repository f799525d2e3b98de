"""`draftproof gallery --versions`: functions of a package in several of its versions."""

import io
import os
import re
import zipfile
from pathlib import Path

import pytest
from rich.console import Console

from draftproof.experiments.cli.gallery import versions
from draftproof.experiments.cli.gallery.work import Outcome

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "ci.md"
#: A stand-in for a package with a function that an entry names, and what its versions take away from the residual.
SOURCE = """
import torch

def _speculative_sampling(candidate_input_ids, candidate_logits, candidate_length, new_logits):
    p, q = new_logits.softmax(-1)[0], candidate_logits.softmax(-1)[0]
    for i, token in enumerate(candidate_input_ids[0].tolist()):
        if torch.rand((), dtype=p.dtype) * q[i, token] >= p[i, token]:
            last = torch.multinomial((p[i] - {taken}).clamp(min=0), 1)
            return torch.cat([candidate_input_ids[0, :i], last])[None], i
    return torch.cat([candidate_input_ids[0], torch.multinomial(p[-1], 1)])[None], candidate_length
"""


def outcome(verdict, place=""):
    return Outcome("f", "", verdict, 3, 1 if place else 0, 0.0, place, "", "2026-01-01")


def wheel(folder, number, taken):
    named = f"transformers-{number}"
    files = {
        "transformers/__init__.py": "",
        "transformers/generation/__init__.py": "",
        "transformers/generation/utils.py": SOURCE.format(taken=taken),
        f"{named}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: transformers\nVersion: {number}\n",
        f"{named}.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{named}.dist-info/RECORD"] = "".join(f"{name},,\n" for name in files)
    with zipfile.ZipFile(folder / f"{named}-py3-none-any.whl", "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)


@pytest.mark.heavy
def test_the_version_that_broke_a_function_is_named(draftproof, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    for number, taken in (("7.0", "q[i]"), ("7.1", "0 * q[i]"), ("7.2", "q[i]")):
        wheel(tmp_path, number, taken)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    given = ("gallery", "transformers-sampling", "--versions", "transformers==7.0,7.1,7.2,7.9", "--json", "-")
    ran = draftproof(*given)
    assert ran.code == 1
    cells = {number: row["transformers-sampling"] for number, row in ran.json["versions"].items()}
    assert [cells[number]["verdict"] for number in ("7.0", "7.1", "7.2")] == ["lossless", "lossy", "lossless"]
    assert [cells[number]["source"] for number in ("7.0", "7.1")] == ["transformers 7.0", "transformers 7.1"]
    assert "not installed: No matching distribution found for transformers==7.9" in cells["7.9"]["reason"]
    broken, mended = ran.json["changes"]
    assert broken.startswith("transformers-sampling is broken in 7.1, against 7.0: lossy: delayed(K=1, L1=0, L2=2)")
    assert mended.startswith("transformers-sampling is mended in 7.2, against 7.1: lossless")


def test_changes_are_against_the_last_version_that_was_judged():
    cells = {
        "1": {"f": outcome("lossless"), "g": outcome("lossy", "there")},
        "2": {"f": "not judged: why", "g": outcome("lossy", "there")},
        "3": {"f": outcome("lossy", "here"), "g": outcome("lossless up to float32 rounding")},
    }
    assert versions.changes(cells) == [
        "f is broken in 3, against 1: lossy: here",
        "g is mended in 3, against 2: lossless up to float32 rounding",
    ]
    console = Console(file=io.StringIO(), width=120)
    versions.show(console, cells)
    printed = console.file.getvalue()
    assert "not judged: why" in printed
    assert "lossy, 3 instances, 1 refuted" in printed


@pytest.mark.parametrize(
    ("cells", "code"),
    [
        (["lossless", "lossless up to float32 rounding"], 0),
        (["lossless", "lossy"], 1),
        (["lossless", None], 2),
        (["fails: it raised", None], 1),
    ],
)
def test_nothing_but_lossless_functions_exit_zero(cells, code):
    row = {str(n): outcome(cell) if cell else "not judged: why" for n, cell in enumerate(cells)}
    assert versions.exit_code({"1": row}) == code


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--versions", "transformers"), "write PACKAGE==VERSION,VERSION"),
        (("--versions", "transformers==5.0.0; rm"), "write PACKAGE==VERSION,VERSION"),
        (("--versions", "numpy==2.0"), "no entry is a function of numpy; choose transformers"),
        (("vllm-kernels", "--versions", "transformers==5.0.0"), "vllm-kernels is no function of transformers"),
        (("--versions", "transformers==5.0.0", "--record"), "leave out --checkout and --record"),
    ],
)
def test_what_cannot_be_compared_is_one_line(draftproof, arguments, words):
    ran = draftproof("gallery", *arguments)
    assert ran.code == 2
    assert words in ran.err


def test_the_jobs_of_the_page_are_yaml():
    yaml = pytest.importorskip("yaml")
    jobs = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)]
    assert len(jobs) == 2
    for job in jobs:
        assert job["name"]
        [audit] = job["jobs"].values()
        assert all("uses" in step or "run" in step for step in audit["steps"])
        assert any("draftproof" in step.get("run", "") for step in audit["steps"])
