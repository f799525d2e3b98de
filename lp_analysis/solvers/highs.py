"""HiGHS models that are solved repeatedly, each time from the last basis."""

from typing import Any

import highspy
import numpy as np

#: Feasibility tolerance of rows and of reduced costs.
ACCURACY = 1e-10
INFINITY = float(highspy.kHighsInf)

#: The entries of an empty column or row.
EMPTY = (np.array([], dtype=np.int32), np.array([]))


def warm_model() -> Any:
    """An empty, silent model on one thread; rows and columns may join it between solves."""
    model: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in (("output_flag", False), ("threads", 1)):
        model.setOptionValue(name, value)
    for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
        model.setOptionValue(name, ACCURACY)
    return model
