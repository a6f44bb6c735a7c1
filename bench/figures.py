"""A figure: what a benchmark measured, as a ratio against something measured in the same run."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of a benchmark.

    what: the work, in words. ours, other: the two measurements, in `unit`. beside: the peer or floor that
    `other` is. target: the bound of the ratio ours / other, in words; empty when there is none.
    """

    what: str
    ours: float
    other: float
    unit: str
    beside: str
    target: str = ""

    @property
    def ratio(self) -> float:
        """Ours as a multiple of the other."""
        return self.ours / self.other

    def line(self) -> str:
        """The figure as it is printed."""
        told = f"{self.what}: {self.ratio:.2f} x {self.beside}"
        measured = f"{self.ours:.4g} {self.unit} against {self.other:.4g} {self.unit}"
        return f"{told} ({measured}){f', target {self.target}' if self.target else ''}"
