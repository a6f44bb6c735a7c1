"""The text that monitoring systems read."""

import math

import pytest

from workstead import metrics
from workstead.metrics import Family, Histogram, Sample


@pytest.mark.covers("K18")
def test_a_histogram_counts_into_buckets_that_hold_the_smaller_ones() -> None:
    """A bound belongs to its bucket; the last bucket is the count."""
    found = Histogram(bounds=(0.1, 1.0))
    for value in (0.05, 0.1, 0.5, 7):
        found.add(value)
    shown = {(one.end, dict(one.labels).get("le")): one.value for one in found.samples({"door": "api"})}
    assert shown.pop(("_sum", None)) == pytest.approx(7.65)
    assert shown == {("_bucket", "0.1"): 2, ("_bucket", "1"): 3, ("_bucket", "+Inf"): 4, ("_count", None): 4}
    assert all(("door", "api") in one.labels for one in found.samples({"door": "api"}))


@pytest.mark.covers("K18")
def test_what_a_label_holds_cannot_become_another_line() -> None:
    """Quotes, backslashes and line ends are escaped, as the format demands."""
    hostile = 'a"} 1\nevil{x="\\'
    samples = (Sample(value=0.5, labels=(("code", hostile),)),)
    said = metrics.text([Family(name="one_total", kind="counter", help="Lines\nand \\ signs.", samples=samples)])
    assert said.splitlines() == [
        "# HELP one_total Lines\\nand \\\\ signs.",
        "# TYPE one_total counter",
        'one_total{code="a\\"} 1\\nevil{x=\\"\\\\"} 0.5',
    ]


def test_whole_numbers_are_written_without_a_point() -> None:
    said = metrics.text([Family(name="n", kind="gauge", help="N.", samples=(Sample(value=3.0), Sample(value=math.pi)))])
    assert said.splitlines()[2:] == ["n 3", f"n {math.pi!r}"]
