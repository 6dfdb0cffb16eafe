"""Plots as SVG to stand in a page: drawn by matplotlib, in the colours of the page's style sheet."""

import re
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (4.4, 2.6)  # inches of 100 pixels
LINE = 11  # points from one line of text to the next
SVG = "http://www.w3.org/2000/svg"
SPACES = {"": SVG, "xlink": "http://www.w3.org/1999/xlink"}  # the prefix that HTML knows
# What a colour's name stands for where no style sheet says otherwise: on white.
INKS = {
    "ink": "#1b1f24",
    "soft": "#57606a",
    "rule": "#d0d7de",
    "c1": "#0550ae",
    "c2": "#bc4c00",
    "c3": "#1a7f37",
    "c4": "#8250df",
    "c5": "#a40e26",
}
LOOK: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "remine", "font.family": "sans-serif", "font.size": 8.5}

Span = tuple[float, float]


class Plot:
    """A plot of fixed proportions that scales with the page.

    Args:
        title: Its name, read out by screen readers.
        alt: What it shows, in a sentence with the figures that matter.
        x: Smallest and largest value on the horizontal axis.
        y: The same of the vertical one.
        names: What the axes measure, horizontal first; an axis without a name has no numbers either.
        places: Values of the horizontal axis that are marked, on a scale of even steps by factor.
    """

    def __init__(
        self, title: str, alt: str, x: Span, y: Span, names: tuple[str, str], places: Sequence[float] = ()
    ) -> None:
        from matplotlib.figure import Figure

        self.title, self.alt, self.limits = title, alt, 0
        self.figure = Figure(figsize=SIZE, layout="constrained", facecolor="none")
        self.axes: Axes = self.figure.add_subplot(facecolor="none", xlim=_opened(x), ylim=_opened(y))
        if places:
            self.axes.set_xscale("log")
            self.axes.set_xticks(places, [f"{place:g}" for place in places])
            self.axes.minorticks_off()
        self._frame(names)

    def line(self, points: Sequence[tuple[float, float]], colour: str, dots: bool = False, name: str = "") -> None:
        """A line through points, with a dot on each where they are few; its name stands in the legend."""
        look: dict[str, Any] = {"marker": "o", "markersize": 4} if dots else {}
        self.axes.plot(*zip(*points, strict=True), color=INKS[colour], linewidth=1.5, label=name, **look)

    def mark(self, places: Sequence[float], names: Sequence[str]) -> None:
        """Name places of the horizontal axis."""
        self.axes.set_xticks(places, names, color=INKS["ink"], parse_math=False)

    def legend(self) -> "Plot":
        """Name the lines beneath the plot."""
        self.figure.legend(loc="outside lower center", ncols=4, frameon=False, labelcolor=INKS["ink"], handlelength=1.5)
        return self

    def level(self, value: float, name: str, below: bool = False) -> None:
        """A dashed line across, named above or below its right end."""
        self.axes.axhline(value, color=INKS["soft"], linestyle="--", linewidth=0.8)
        self._say((1, value), name, (-2, -3 if below else 3), ("right", "top" if below else "bottom"), "yaxis")

    def limit(self, value: float, name: str) -> None:
        """A dashed line from top to bottom, named at its top, on the side where there is room, below earlier names."""
        self.axes.axvline(value, color=INKS["soft"], linestyle="--", linewidth=0.8)
        is_left = value < sum(self.axes.get_xlim()) / 2
        side = (3, "left") if is_left else (-3, "right")
        self._say((value, 1), name, (side[0], -2 - LINE * self.limits), (side[1], "top"), "xaxis")
        self.limits += 1

    def bar(self, x: Span, y: Span, colour: str) -> None:
        """A bar between two values on each axis."""
        if y[1] > y[0]:
            self.axes.bar(x[0], y[1] - y[0], 0.9 * (x[1] - x[0]), y[0], align="edge", color=INKS[colour])

    def text(self, x: float, y: float, text: str, anchor: str = "left") -> None:
        """A text beside a point: to its right, or (anchor "right") ending to its left."""
        self._say((x, y), text, (5 if anchor == "left" else -5, 0), (anchor, "center"))

    def markup(self) -> str:
        """The drawing as text for a page; what it holds is escaped."""
        from matplotlib import rc_context

        whole = BytesIO()
        with rc_context(LOOK):
            self.figure.savefig(whole, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
        for prefix, space in SPACES.items():
            ElementTree.register_namespace(prefix, space)
        root = ElementTree.fromstring(whole.getvalue())
        for name in ("width", "height"):
            del root.attrib[name]
        for group in root.iter(f"{{{SVG}}}g"):
            group.attrib.pop("id", None)  # a page has many drawings, and every id once
        root.attrib.update({"role": "img", "aria-label": self.alt})
        for number, (tag, said) in enumerate((("title", self.title), ("desc", self.alt))):
            spoken = ElementTree.Element(f"{{{SVG}}}{tag}")
            spoken.text = said
            root.insert(number, spoken)
        return _themed(ElementTree.tostring(root, encoding="unicode"))

    def _frame(self, names: tuple[str, str]) -> None:
        axes = self.axes
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0, labelcolor=INKS["ink"])
        for axis, name in zip((axes.xaxis, axes.yaxis), names, strict=True):
            axis.set_label_text(name, color=INKS["ink"])
            if not name:
                axis.set_ticks([])
        if names[1]:
            axes.grid(axis="y", color=INKS["rule"], linewidth=0.8)
            axes.set_axisbelow(True)

    def _say(self, at: Span, text: str, away: Span, align: tuple[str, str], along: str = "") -> None:
        """A text some points away from a place, which is in the data's units, along an axis in shares of the other."""
        place: Any = getattr(self.axes, f"get_{along}_transform")() if along else "data"
        self.axes.annotate(
            text,
            at,
            away,
            xycoords=place,
            textcoords="offset points",
            ha=align[0],
            va=align[1],
            color=INKS["ink"],
            parse_math=False,
        )


def _themed(markup: str) -> str:
    """Let a page's style sheet set the colours; without one they stay."""
    for name, ink in INKS.items():
        markup = re.sub(rf"(?<=: ){ink}\b", f"var(--{name}, {ink})", markup)
    return markup


def _opened(span: Span) -> Span:
    """A span with room in it, where both ends are the same."""
    low, high = span
    return (low, high) if high > low else (low - 0.5, low + 0.5)
