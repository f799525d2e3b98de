"""The report in a real browser: it opens without errors, sorts, filters, and fits the window of a telephone."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.experiments.commands.test_sweep import SMALL

if not (find_spec("selenium") and shutil.which("chromium") and shutil.which("chromedriver")):
    pytest.skip("selenium, Chromium or its driver is not installed", allow_module_level=True)


@pytest.fixture
def browser():
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    with TemporaryDirectory() as profile:  # not below tmp_path, whose names are too long for the sockets of Chromium
        for word in ("headless", "no-sandbox", "disable-gpu", "hide-scrollbars", f"user-data-dir={profile}"):
            options.add_argument(f"--{word}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options, webdriver.ChromeService(str(shutil.which("chromedriver"))))
        size = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        try:
            yield driver
        finally:
            driver.quit()


@pytest.fixture
def report(browser, draftproof, tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    assert draftproof("sweep", "small.toml", "--jobs", 1).code == 0
    assert draftproof("report", "sweep.db", "-o", "report.html").code == 0
    browser.get(Path("report.html").resolve().as_uri())
    return browser


def column(browser, table, place):
    """The values of a column of the rows that are shown."""
    return browser.execute_script(
        "return [...document.getElementById(arguments[0]).tBodies[0].rows].filter(row => !row.hidden)"
        ".map(row => row.cells[arguments[1]].dataset.value ?? row.cells[arguments[1]].textContent)",
        table,
        place,
    )


def test_it_opens_without_errors_and_every_figure_is_drawn(report):
    assert report.get_log("browser") == []
    figures = report.find_elements("css selector", "svg")
    assert len(figures) >= 2
    assert all(figure.size["width"] > 100 and figure.size["height"] > 50 for figure in figures)
    assert report.find_element("css selector", "ul.findings li").is_displayed()


def test_a_click_sorts_and_another_turns_it_round(report):
    heading = next(
        button
        for button in report.find_elements("css selector", "#schemes th button")
        if button.text == "mean tokens a block"
    )
    before = [float(value) for value in column(report, "schemes", 4)]
    heading.click()
    up = [float(value) for value in column(report, "schemes", 4)]
    heading.click()
    down = [float(value) for value in column(report, "schemes", 4)]
    assert up == sorted(before) != before
    assert down == up[::-1]
    assert heading.find_element("xpath", "..").get_attribute("aria-sort") == "descending"


def test_words_filter(report):
    every = column(report, "pairs", 0)
    report.find_element("css selector", "input[data-table=pairs]").send_keys("naive block")
    some = column(report, "pairs", 0)
    assert 0 < len(some) < len(every)
    texts = report.execute_script(
        "return [...document.getElementById('pairs').tBodies[0].rows].filter(r => !r.hidden).map(r => r.textContent)"
    )
    assert all("naive" in text and "block" in text for text in texts)


def test_figures_say_their_numbers_on_hover_and_have_no_scripts(report):
    titles = report.execute_script("return [...document.querySelectorAll('svg .dots > title')].map(t => t.textContent)")
    assert any(text.startswith("block: ") for text in titles)
    bars = report.execute_script("return [...document.querySelectorAll('svg .bar > title')].map(t => t.textContent)")
    assert any(text.startswith("naive: ") and "of the optimum" in text for text in bars)
    assert report.find_elements("css selector", "svg script") == []
    legends = report.execute_script(
        "return [...document.querySelectorAll('svg')].every(svg => { const all = svg.getBoundingClientRect();"
        "return [...svg.querySelectorAll('text')].every(t => t.getBoundingClientRect().bottom <= all.bottom + 1) })"
    )
    assert legends  # nothing is cut off below


@pytest.mark.parametrize("dark", [False, True])
def test_figures_have_the_colours_of_the_page(report, dark):
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    report.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    body, words = report.execute_script(
        "return [getComputedStyle(document.body).color,"
        "[...document.querySelectorAll('svg text')].map(t => getComputedStyle(t).fill)]"
    )
    assert set(words) == {body}


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_window(report, width):
    report.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    inner, whole = report.execute_script("return [window.innerWidth, document.documentElement.scrollWidth]")
    assert whole <= inner == width
    tallest = "return Math.max(...[...document.querySelectorAll('#pairs tr, #order tr')].map(r => r.offsetHeight))"
    assert report.execute_script(tallest) < 250  # commands are not pressed into a column of letters
