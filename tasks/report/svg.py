"""One helper for inline SVG plots: axes, lines, bars and dots; colours come from the page's style sheet."""

import math
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

WIDTH, HEIGHT = 440.0, 260.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 16.0, 12.0, 40.0

Span = tuple[float, float]


class Plot:
    """A plot of fixed proportions that scales with the page.

    Args:
        title: Its name, read out by screen readers.
        alt: What it shows, in a sentence with the figures that matter.
        x: Smallest and largest value on the horizontal axis.
        y: The same of the vertical one.
        names: What the axes measure, horizontal first; an axis without a name has no numbers either.
    """

    def __init__(self, title: str, alt: str, x: Span, y: Span, names: tuple[str, str]) -> None:
        self.x_span, self.y_span = _opened(x), _opened(y)
        self.root = Element("svg", {"viewBox": f"0 0 {WIDTH:g} {HEIGHT:g}", "role": "img", "aria-label": alt})
        SubElement(self.root, "title").text = title
        SubElement(self.root, "desc").text = alt
        self._axes(names)

    def x(self, value: float) -> float:
        """Where a value stands from the left."""
        low, high = self.x_span
        return LEFT + (min(max(value, low), high) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Where a value stands from the top."""
        low, high = self.y_span
        return HEIGHT - BOTTOM - (min(max(value, low), high) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    def line(self, points: Sequence[tuple[float, float]], colour: str, dots: bool = False) -> None:
        """A line through points, with a dot on each where they are few."""
        placed = [(self.x(x), self.y(y)) for x, y in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        SubElement(self.root, "polyline", {"points": path, "class": f"line {colour}"})
        for x, y in placed if dots else ():
            SubElement(self.root, "circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "3", "class": f"fill {colour}"})

    def level(self, value: float, name: str, below: bool = False) -> None:
        """A dashed line across, named above or below its right end."""
        y = self.y(value)
        self._dashed(LEFT, y, WIDTH - RIGHT, y)
        self.text(WIDTH - RIGHT, y + (13 if below else -4), name, "end")

    def limit(self, value: float, name: str) -> None:
        """A dashed line from top to bottom, named at its top, on the side where there is room."""
        x = self.x(value)
        self._dashed(x, TOP, x, HEIGHT - BOTTOM)
        is_left = x < WIDTH / 2
        self.text(x + (4 if is_left else -4), TOP + 9, name, "start" if is_left else "end")

    def bar(self, x: Span, y: Span, colour: str) -> None:
        """A bar between two values on each axis."""
        left, right, top, bottom = self.x(x[0]), self.x(x[1]), self.y(y[1]), self.y(y[0])
        if bottom > top:
            size = {"width": f"{max(right - left - 1, 1):.1f}", "height": f"{bottom - top:.1f}"}
            SubElement(self.root, "rect", {"x": f"{left:.1f}", "y": f"{top:.1f}", **size, "class": f"fill {colour}"})

    def text(self, x: float, y: float, text: str, anchor: str = "start") -> None:
        """A text at a place of the drawing."""
        SubElement(self.root, "text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}).text = text

    def markup(self) -> str:
        """The drawing as text for a page; what it holds is escaped."""
        return tostring(self.root, encoding="unicode")

    def _axes(self, names: tuple[str, str]) -> None:
        floor = HEIGHT - BOTTOM
        for value in ticks(*self.y_span) if names[1] else ():
            y = self.y(value)
            SubElement(
                self.root,
                "line",
                {"x1": f"{LEFT:g}", "x2": f"{WIDTH - RIGHT:g}", "y1": f"{y:.1f}", "y2": f"{y:.1f}", "class": "grid"},
            )
            self.text(LEFT - 6, y + 4, f"{value:g}", "end")
        for value in ticks(*self.x_span, most=9) if names[0] else ():
            self.text(self.x(value), floor + 15, f"{value:g}", "middle")
        self.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, names[0], "middle")
        turned = {"transform": f"translate(12 {(TOP + floor) / 2:g}) rotate(-90)", "text-anchor": "middle"}
        SubElement(self.root, "text", turned).text = names[1]

    def _dashed(self, x1: float, y1: float, x2: float, y2: float) -> None:
        ends = {"x1": f"{x1:.1f}", "y1": f"{y1:.1f}", "x2": f"{x2:.1f}", "y2": f"{y2:.1f}"}
        SubElement(self.root, "line", {**ends, "class": "dashed"})


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from low to high: steps of 1, 2 or 5 times a power of ten, at most `most` of them."""
    rough = (high - low) / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 10) for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _opened(span: Span) -> Span:
    """A span with room in it, where both ends are the same."""
    low, high = span
    return (low, high) if high > low else (low - 0.5, low + 0.5)
