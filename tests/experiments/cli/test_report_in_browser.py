"""The report in a real browser: it opens without errors, sorts, filters, copies, and fits a phone and print."""

import shutil
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

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
        window(driver, 1280)
        try:
            yield driver
        finally:
            driver.quit()


@pytest.fixture
def report(browser, draftproof, tmp_path):
    names = ("nss", "block", "khisti", "naive_tree", "naive", "specinfer", "spectr", "traversal", "layer_transport")
    shapes = ("--K", "1..3", "--L1", "0..2", "--L2", "1..2", "--max-nodes", 4)
    given = (*names, "gbv", "threshold", "--world", "text:topics,vocab=3,roots=1", *shapes)
    assert draftproof("compare", *given, "--resume", "rows.db").code == 0
    assert draftproof("report", "rows.db", "-o", "report.html").code == 0
    browser.get(Path("report.html").resolve().as_uri())
    return browser


def column(browser, table, place):
    """The texts of a column of the rows that are shown."""
    return browser.execute_script(
        "return [...document.getElementById(arguments[0]).tBodies[0].rows].filter(row => !row.hidden)"
        ".map(row => row.cells[arguments[1]].textContent)",
        table,
        place,
    )


def window(browser, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def test_it_opens_without_errors_with_sentences_picture_and_marks(report):
    assert report.get_log("browser") == []
    assert all(each.is_displayed() for each in report.find_elements("css selector", ".findings p"))
    [picture] = [each for each in report.find_elements("css selector", "svg") if each.is_displayed()]
    assert picture.size["width"] > 600
    assert len(column(report, "verifiers", 0)) == 10


def test_a_click_sorts_and_another_turns_it_round(report):
    heading = report.find_element("css selector", "#verifiers th:nth-child(6) button")
    before = [float(value) for value in column(report, "verifiers", 5)]
    heading.click()
    up = [float(value) for value in column(report, "verifiers", 5)]
    heading.click()
    down = [float(value) for value in column(report, "verifiers", 5)]
    assert up == sorted(before) != before
    assert down == up[::-1]
    assert heading.find_element("xpath", "..").get_attribute("aria-sort") == "descending"


def test_words_filter(report):
    report.execute_script("document.querySelectorAll('details').forEach(each => each.open = true)")
    every = column(report, "pairs", 0)
    report.find_element("css selector", "input[data-table=pairs]").send_keys("traversal block")
    some = list(zip(column(report, "pairs", 0), column(report, "pairs", 1), strict=True))
    assert 0 < len(some) < len(every)
    assert all("traversal" in names and any("block" in name for name in names) for names in some)


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_window(report, width):
    window(report, width)
    report.execute_script("document.querySelectorAll('details').forEach(each => each.open = true)")
    inner, whole = report.execute_script("return [window.innerWidth, document.documentElement.scrollWidth]")
    assert whole <= inner == width
