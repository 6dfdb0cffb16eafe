"""What of a run's pairs its teacher has yet to score, and the lines of a plan as they come."""

from flows.recipe import Recipe
from flows.standing import Measured
from tasks.artifacts import Artifact
from tasks.plan.amounts import SAME, Amount, Amounts
from tasks.plan.data import Data
from tasks.plan.found import Lines, is_there
from tasks.plan.line import Line
from tasks.promote.guarding import guard_source
from tasks.refs import TeacherRef
from tasks.where import Where


class Scores:
    """Asks whether pairs are scored, and keeps the lines of all steps.

    Attributes:
        lines: What was found so far.
        teacher: The teacher, where there is one already.
    """

    def __init__(self, recipe: Recipe, where: Where, data: Data) -> None:
        self.recipe, self.where, self.data = recipe, where, data
        self.root, self.corpus = where.artifacts_path, data.artifact
        self.amounts = Amounts(data, recipe.student, recipe.mining, recipe.evaluation)
        source = guard_source(recipe.promotion)
        self.guard = Data.read(where, source) if source else None
        self.lines = Lines()
        self.teacher: TeacherRef | None = None
        self.decides = (recipe.seed, recipe.evaluation.measure)
        self.scored_lists: set[str] = set()
        self.reading: set[tuple[str, str]] = set()
        self.ready: list[TeacherRef] = []

    @property
    def readers(self) -> list[TeacherRef]:
        """The models that read pairs, as far as they are there; an ensemble's are, before it is one."""
        return self.ready or ([self.teacher] if self.teacher else [])

    def score_mined(self, number: int, mined: Artifact, teacher: TeacherRef) -> Artifact:
        """Scores of candidates and positives of the train queries."""
        amounts = self.amounts.mined
        return self._score(number, "train", mined, teacher, (amounts.pairs, amounts.positives))

    def score_ranked(self, number: int, measured: Measured, teacher: TeacherRef) -> Artifact:
        """Scores of what a student ranks first for dev and test."""
        return self._score(number, "dev and test", measured.evaluation, teacher, (self.amounts.ranked.pairs, 0))

    def add(self, artifact: Artifact, number: int, step: str, what: str, amount: Amount) -> Artifact:
        """Write down a step's line; returns its artifact."""
        return self.lines.add(artifact, Line(step=step, round=number, what=what, **amount))

    def _score(self, number: int, what: str, pairs: Artifact, teacher: TeacherRef, counts: tuple[int, int]) -> Artifact:
        """Where the list or the teacher isn't there yet, as many pairs as there will be, and an assumption of how many
        of them an earlier list will have had.

        Args:
            number: Round.
            what: Whose queries.
            pairs: The list.
            teacher: Who scores.
            counts: Pairs, and those of them that every list has.
        """
        from tasks.score.scoring import name_scores

        alone = not self.ready or teacher.fingerprint in {each.fingerprint for each in self.ready}
        readers = [teacher] if alone else self.ready  # of an ensemble, whether or not it is there yet
        count, new, assumed = self._unscored(what, pairs, readers, counts)
        reading = {(pairs.fingerprint, reader.fingerprint) for reader in readers}
        if reading <= self.reading:  # by a line above: the list that settled an ensemble's scales
            new, assumed = 0, []
        self.reading |= reading
        self.scored_lists.add(what)
        folds = 0 if self.recipe.teacher.model else self.recipe.teach.folds
        amount = self.amounts.score(count, new, folds, what == "train")
        artifact, _ = name_scores(self.root, pairs, teacher.fingerprint)
        return self.add(artifact, number, "score", what, {**amount, "assumed": assumed})

    def _unscored(
        self, what: str, pairs: Artifact, readers: list[TeacherRef], counts: tuple[int, int]
    ) -> tuple[int, int, list[str]]:
        """Readings of a list by its readers: all, new ones, and what that assumes."""
        from tasks.score.amount import has_scored, unscored

        count, known = counts
        there = self.teacher is not None or bool(self.ready)
        if there and is_there(pairs):
            each = [unscored(self.where, pairs, reader) for reader in readers]
            return sum(count for count, _ in each), sum(new for _, new in each), []
        if what in self.scored_lists or (there and any(has_scored(self.where, reader) for reader in readers)):
            new = count - self.amounts.again(count, known)
            assumed = [f"{SAME:.0%} of the candidates are in earlier lists, and scored"]
            return len(readers) * count, len(readers) * new, assumed
        return len(readers) * count, len(readers) * count, []
