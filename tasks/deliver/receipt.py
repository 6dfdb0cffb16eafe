"""What a scoring of pairs came to, for the person who asked for it."""

from pathlib import Path

from pydantic import Field

from tasks.artifacts import Artifact
from tasks.record import warehouse_of
from tasks.refs import Run, TeacherRef
from tasks.settings import Settings
from warehouse.lookup import loaded_scores


class Receipt(Settings):
    """What was asked, what was there, what it cost and where it is."""

    run: int = Field(description="Key in runs.")
    teacher: TeacherRef
    rows: int = Field(description="Rows of the file.")
    pairs: int = Field(description="Distinct pairs of texts in it.")
    new: int = Field(description="Pairs whose scores this run brought into the warehouse; the others were there.")
    tokens: int = Field(description="Tokens that the teacher read for them.")
    seconds: float = Field(description="Seconds of computing them.")
    truncated: int = Field(description="Distinct pairs whose passage was cut.")
    out: Path | None = Field(description="The file that was written.")

    @property
    def reused(self) -> int:
        """Pairs whose scores were there."""
        return self.pairs - self.new

    @property
    def sentence(self) -> str:
        """All of it in a sentence."""
        distinct = f" ({self.pairs:,} distinct)" if self.pairs != self.rows else ""
        return (
            f"{self.rows:,} pairs{distinct}: {self.new:,} new ({self.tokens:,} tokens, {self.seconds:.1f} s), "
            f"{self.reused:,} reused; the passage was cut in {self.truncated:,} ({self.truncated / self.pairs:.1%})."
        )

    @property
    def question(self) -> str:
        """SQL that shows this teacher's scores, highest first."""
        return (
            "SELECT q.text AS query, p.text AS passage, s.logit FROM teacher_scores AS s "
            "JOIN models AS m ON m.model_id = s.teacher_id JOIN queries AS q USING (query_key) "
            f"JOIN passages AS p USING (passage_key) WHERE m.fingerprint = '{self.teacher.fingerprint}' "
            "ORDER BY s.logit DESC LIMIT 20"
        )


def receipt_of(run: Run, pairs: Artifact, scored: Artifact, teacher: TeacherRef, out: Path | None) -> Receipt:
    """Sum up what a run did for a file of pairs."""
    new, tokens, seconds = loaded_scores(
        warehouse_of(run.where), run.id, teacher.fingerprint, pairs.file("pairs.parquet")
    )
    facts = scored.facts
    return Receipt(
        run=run.id,
        teacher=teacher,
        rows=pairs.facts["rows"],
        pairs=facts["pairs"],
        new=new,
        tokens=tokens,
        seconds=seconds,
        truncated=facts["truncated"],
        out=out,
    )
