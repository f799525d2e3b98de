"""The rule of `sorted_rows.py`."""


def accept(coin, ratio):
    return float(coin) < ratio
