"""What each step of a run computes and leaves, from the corpus and the settings alone."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tasks.baseline.settings import StudentSettings
from tasks.evaluate.amount import ranked_amount
from tasks.evaluate.measures import MEASURES
from tasks.evaluate.settings import Evaluation
from tasks.mine.amount import mined_amount
from tasks.mine.settings import Mining
from tasks.plan import sizes
from tasks.plan.data import Data
from tasks.plan.line import Unit
from tasks.teach.amount import readers, taught_amount
from tasks.teach.settings import Teach
from tasks.train.amount import look_amount

STEP = 0.35  # seconds of Prefect, the warehouse and its snapshot around every step
SAME = 0.8  # share of a list that the list of a student trained a round further has as well

if TYPE_CHECKING:
    from models.fitting import Plan

Amount = dict[str, Any]


class Amounts:
    """Amounts by step, as the fields of a `Line`."""

    def __init__(self, data: Data, student: StudentSettings, mining: Mining, evaluation: Evaluation) -> None:
        from models.locate import locate
        from models.size import size_of

        self.data, self.model, self.evaluation = data, size_of(locate(student.model)), evaluation
        self.passages, self.queries = data.passages.height, data.queries.height
        self.mining = mining
        self.mined = mined_amount(data.passages, data.queries, data.labels, mining)
        self.ranked = ranked_amount(data.labels, self.passages, evaluation)
        self.looked = look_amount(data.passages, data.labels)

    def ingest(self) -> Amount:
        """Read, check, write, load: as long as reading took just now, and again for the warehouse."""
        grows = 3 * self.data.text_bytes + 200 * (self.passages + self.queries)
        return amount({"second": 2 * self.data.seconds}, self.data.file_bytes, grows)

    def bm25(self) -> Amount:
        """Index and search."""
        costs: dict[Unit, float] = {"bm25 ranking": self.ranked.queries, "ranking": self.ranked.queries}
        return amount(costs, *self._measured(self.ranked.rows))

    def chance(self) -> Amount:
        """Formulas."""
        return amount({}, *self._measured(0))

    def encode(self) -> Amount:
        """Vectors of every text."""
        return self.encode_other(self.data)

    def encode_other(self, other: Data) -> Amount:
        """Vectors of every text of another corpus."""
        passages, queries = other.passages.height, other.queries.height
        costs: dict[Unit, float] = {"load": 1, "passage": passages, "query": queries}
        size = (passages + queries) * self.model.dimension * sizes.VECTOR
        return {**amount(costs, size), "passages": passages, "queries": queries}

    def evaluate(self) -> Amount:
        """Rank and measure dev and test."""
        return amount({"ranking": self.ranked.queries}, *self._measured(self.ranked.rows))

    def train(self, unit: Unit, plan: "Plan") -> Amount:
        """Optimiser steps, and looks at dev."""
        texts = {name: plan.looks * count for name, count in self.looked.items()}
        costs: dict[Unit, float] = {
            "load": 1,
            unit: plan.steps,
            "passage": texts["passages"],
            "query": texts["queries"],
            "ranking": texts["queries"],
        }
        assumed = [f"all {plan.steps} steps; patience may end them sooner"] if plan.patience else []
        return {**amount(costs, self.model.bytes), "steps": plan.steps, "assumed": assumed}

    def mine(self) -> Amount:
        """Search for the train queries."""
        rows = self.mined.candidates
        size = rows * sizes.CANDIDATE + self.mined.pairs * sizes.PAIR
        miners = len(self.mining.miners)  # `earlier` counts as one: none in the first round, one in the second
        searches = miners * self.mined.queries
        at_most = [f"all candidates that {miners} miners may find; filters, and miners that agree, leave fewer"]
        assumed = at_most if self.mining.leaves_fewer else []
        return {**amount({"ranking": searches}, size, rows * sizes.STORED_CANDIDATE), "assumed": assumed}

    def teach(self, settings: Teach) -> Amount:
        """Steps of every fold, and looks at dev."""
        taught = taught_amount(self.data.labels, self.passages, settings, self.evaluation.rerank_depth)
        costs: dict[Unit, float] = {
            "load": settings.folds,
            "pointwise step": taught.pointwise,
            "listwise step": taught.listwise,
            "reading": taught.looked_pairs,
        }
        used = {unit: count for unit, count in costs.items() if count}
        return {**amount(used, settings.folds * self.model.bytes), "steps": taught.pointwise + taught.listwise}

    def score(self, pairs: int, new: int, folds: int, taught_on: bool) -> Amount:
        """Readings of what is new; gathering of all."""
        costs: dict[Unit, float] = {"load": max(folds, 1), "reading": new * readers(folds, taught_on)} if new else {}
        size = pairs * sizes.GATHERED + new * sizes.COMPUTED
        return {**amount(costs, size, new * sizes.STORED_SCORE), "pairs": new, "reused": pairs - new}

    def calibrate(self, weights: int) -> Amount:
        """Measure every blend on dev."""
        return amount({"ranking": weights * self.looked["queries"]})

    def denoise(self) -> Amount:
        """A verdict for every mined pair."""
        return amount({}, self.mined.pairs * sizes.VERDICT, self.mined.pairs * sizes.STORED_VERDICT)

    def promote(self) -> Amount:
        """A comparison on dev."""
        return amount({})

    def export(self) -> Amount:
        """The winner's folder, and the check that it gives the same vectors."""
        return amount({"load": 2}, self.model.bytes)

    def again(self, pairs: int, known: int) -> int:
        """How many pairs of a list are scored already, where an earlier student's list was: those that are known to be,
        and a share of the others.
        """
        return known + round(SAME * (pairs - known))

    def _measured(self, rows: int) -> tuple[float, float]:
        values = self.ranked.queries * len(MEASURES)
        return rows * sizes.RANKED + values * sizes.MEASURED, values * sizes.STORED_MEASURE


def amount(costs: Mapping[Unit, float], artifact: float = 0, warehouse: float = 0) -> Amount:
    """Fields of a `Line`."""
    seconds = {**costs, "second": costs.get("second", 0.0) + STEP}
    grows = round(warehouse * sizes.SNAPSHOT)
    return {"costs": seconds, "artifact_bytes": round(artifact), "warehouse_bytes": grows}
