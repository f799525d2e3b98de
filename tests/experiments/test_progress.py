"""Progress where no bar can be drawn."""

import threading
import time

from draftproof.experiments.shared import progress


def test_a_stream_that_is_no_terminal_gets_lines_that_say_how_long_the_rest_takes(capsys, monkeypatch):
    with progress.bar("rows", 4) as tick:
        tick(1)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "FIRST_LINE", 0.01)
    monkeypatch.setattr(progress, "LINE_PERIOD", 0.01)
    said = threading.Event()
    monkeypatch.setattr(progress, "remark", lambda text: (lines.append(text), said.set()))
    lines: list[str] = []
    with progress.bar("rows", 4) as tick:
        tick(3)
        assert said.wait(20)
    assert lines[-1] == "rows: 3 of 4 after 0 s, under a second to go"
    time.sleep(0.05)  # a line on its way
    count = len(lines)
    time.sleep(0.05)
    assert len(lines) == count


def test_lines_and_bars_end_with_a_detail(monkeypatch):
    monkeypatch.setattr(progress, "FIRST_LINE", 0.01)
    said, lines = threading.Event(), []
    monkeypatch.setattr(progress, "remark", lambda text: (lines.append(text), said.set()))
    with progress.bar("rows", 4, detail=lambda: "7 runs"):
        assert said.wait(20)
    assert lines[0] == "rows: 0 of 4 after 0 s, 7 runs"
    column = progress._Detail(lambda: "8 runs")
    assert column.render(None).plain == "8 runs"


def test_lines_read_the_true_clock_while_an_audit_replaces_it(monkeypatch):
    monkeypatch.setattr(progress, "FIRST_LINE", 0.01)
    said = threading.Event()
    monkeypatch.setattr(progress, "remark", lambda text: said.set())
    with progress.bar("rows", 4), monkeypatch.context() as audit:
        audit.setattr(time, "monotonic", None)
        assert said.wait(20)
