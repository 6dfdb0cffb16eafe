"""Policies: rules over columns that say what a candidate is and why; the first rule that holds decides.

Columns that a rule may read: `labelled` (the pair is a known positive), `grade` (null without a label), `by`
(labelled by the corpus or reviewed by a person; null without a label),
`logit` (null without a teacher score), `judgement` (logits), `probability` (calibrated; null where the
teacher has no calibrated scale) and `lowest_positive` (the least judgement among the query's positives).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tasks.denoise.settings import Denoising

POSITIVES = ("positive", "promoted")
UNUSED = "; used for nothing: this query has no positive to learn from"
NEEDS_PROBABILITY = ("drop", "promote", "promote_all", "soften")


@dataclass(frozen=True)
class Rule:
    """What holds, what follows from it, and the sentence for people.

    Attributes:
        when: Boolean expression; null counts as false.
        verdict: positive, promoted, negative, approved, ambiguous or unscored.
        reason: Text expression with the numbers in it.
        weight: 1 where the pair belongs to its query's training list, 0 where it is used for nothing.
    """

    when: pl.Expr
    verdict: str
    reason: pl.Expr
    weight: float


def rules(settings: Denoising) -> list[Rule]:
    """List a policy's rules in order: first those of every policy, then its own."""
    of_policy = {
        "keep": _keep,
        "drop": _drop,
        "promote": _promote,
        "promote_all": _promote_all,
        "margin": _margin,
        "soften": _soften,
        "calibrated": _calibrated,
    }
    return [*_common(), *of_policy[settings.policy](settings)]


def judge(frame: pl.DataFrame, rules: Sequence[Rule]) -> pl.DataFrame:
    """Add `verdict, reason, weight` to every row by the first rule that holds.

    A query without a positive in its list is used for nothing: a list of negatives alone would teach that everything
    is wrong.

    Raises:
        ValueError: No rule holds for a row.
    """
    number = pl.lit(None, pl.Int32)
    for place, rule in reversed(list(enumerate(rules))):
        number = pl.when(rule.when).then(pl.lit(place, pl.Int32)).otherwise(number)
    decided = frame.with_columns(_rule=number)
    if decided["_rule"].null_count():
        raise ValueError(f"no rule decides pair {decided.filter(pl.col('_rule').is_null()).row(0, named=True)}")
    texts = pl.coalesce(*(pl.when(pl.col("_rule") == place).then(rule.reason) for place, rule in enumerate(rules)))
    judged = decided.with_columns(
        verdict=_lookup(rules, "verdict", pl.String),
        reason=texts,
        weight=_lookup(rules, "weight", pl.Float32),
    ).drop("_rule")
    positive = (pl.col("weight") > 0) & pl.col("verdict").is_in(POSITIVES)
    idle = ~positive.any().over("query_hash")
    return judged.with_columns(
        reason=pl.when(idle).then(pl.concat_str("reason", pl.lit(UNUSED))).otherwise("reason"),
        weight=pl.when(idle).then(pl.lit(0.0, pl.Float32)).otherwise("weight"),
    )


def _lookup(rules: Sequence[Rule], field: str, kind: type[pl.DataType]) -> pl.Expr:
    values = [getattr(rule, field) for rule in rules]
    return pl.col("_rule").replace_strict(list(range(len(rules))), values, return_dtype=kind)


def _common() -> list[Rule]:
    unscored = pl.col("logit").is_null()
    graded = (pl.col("by"), pl.col("grade"))
    return [
        Rule(unscored & ~pl.col("labelled"), "unscored", pl.lit("the teacher has not scored this pair"), 0.0),
        Rule(unscored, "positive", pl.format("{}, grade {}; not scored", *graded), 0.0),
        Rule(
            pl.col("labelled"),
            "positive",
            pl.format("{}, grade {}; the teacher gives logit {}", *graded, _shown("logit", 2)),
            1.0,
        ),
        Rule(pl.col("grade") == 0, "negative", pl.format("{} not relevant (grade 0)", pl.col("by")), 1.0),
    ]


def _keep(settings: Denoising) -> list[Rule]:
    return [Rule(pl.lit(True), "negative", pl.lit("kept as mined, whatever the teacher says"), 1.0)]


def _drop(settings: Denoising) -> list[Rule]:
    low, high = settings.drop_below, settings.approve
    probability = pl.col("probability")
    return [
        Rule(probability < low, "negative", pl.format("probability {} is below {}", _p(), pl.lit(low)), 1.0),
        Rule(probability >= high, "approved", pl.format("probability {} reaches {}", _p(), pl.lit(high)), 0.0),
        Rule(
            probability.is_not_null(),
            "ambiguous",
            pl.format("probability {} lies between {} and {}", _p(), pl.lit(low), pl.lit(high)),
            0.0,
        ),
    ]


def _promote(settings: Denoising) -> list[Rule]:
    """RocketQA's augmentation: a query that nobody labelled gets its best candidate as positive, or is not used."""
    high = settings.promote_above
    unlabelled = ~pl.col("labelled").any().over("query_hash")
    open_ = ~pl.col("labelled") & pl.col("grade").is_null()  # what a person found not relevant stands in nobody's way
    eligible = open_ & (pl.col("rank") <= settings.promote_depth) & pl.col("probability").is_not_null()
    order = pl.struct(-pl.when(eligible).then(pl.col("probability")).fill_null(-1.0), "rank", "passage_hash")
    new = unlabelled & eligible & (order.rank("ordinal").over("query_hash") == 1) & (pl.col("probability") > high)
    reason = pl.format(
        "probability {} is above {}, the best of ranks 1 to {}; nobody labelled this query",
        *(_p(), pl.lit(high), pl.lit(settings.promote_depth)),
    )
    return [Rule(new, "promoted", reason, 1.0), *_drop(settings)]


def _promote_all(settings: Denoising) -> list[Rule]:
    """SimLM: the teacher's approval makes a positive."""
    probability, high = pl.col("probability"), settings.approve
    return [
        Rule(probability >= high, "promoted", pl.format("probability {} reaches {}", _p(), pl.lit(high)), 1.0),
        Rule(probability.is_not_null(), "negative", pl.format("probability {} is below {}", _p(), pl.lit(high)), 1.0),
    ]


def _calibrated(settings: Denoising) -> list[Rule]:
    """Approve of what scores like the known positives, whatever the teacher's scale."""
    threshold = pl.when(pl.col("labelled")).then(pl.col("judgement")).quantile(settings.quantile, "linear")
    judgement, share = pl.col("judgement"), pl.lit(f"{1 - settings.quantile:.0%}")
    shown = (_shown("judgement", 2), threshold.round(2), share)
    return [
        Rule(
            judgement >= threshold,
            "approved",
            pl.format("judgement {} reaches {}, as {} of the positives do", *shown),
            0.0,
        ),
        Rule(
            judgement.is_not_null(),
            "negative",
            pl.format("judgement {} is below {}, which {} of the positives reach", *shown),
            1.0,
        ),
    ]


def _margin(settings: Denoising) -> list[Rule]:
    judgement, lowest = pl.col("judgement"), pl.col("lowest_positive")
    shown = (_shown("judgement", 2), pl.lit(settings.margin), _shown("lowest_positive", 2))
    inside = pl.format("judgement {} is less than {} below the lowest positive's {}", *shown)
    likely = pl.format("probability {} reaches {}, and ", _p(), pl.lit(settings.approve))
    return [
        Rule(
            judgement <= lowest - settings.margin,
            "negative",
            pl.format("judgement {} is at least {} below the lowest positive's {}", *shown),
            1.0,
        ),
        Rule(lowest.is_null(), "ambiguous", pl.lit("no positive of this query is scored: there is no margin"), 0.0),
        Rule(pl.col("probability") >= settings.approve, "approved", likely + inside, 0.0),
        Rule(judgement.is_not_null(), "ambiguous", inside, 0.0),
    ]


def _soften(settings: Denoising) -> list[Rule]:
    high = settings.approve
    return [
        Rule(
            pl.col("probability") >= high,
            "approved",
            pl.format("probability {} reaches {}: stays in the list, never a hard negative", _p(), pl.lit(high)),
            1.0,
        ),
        Rule(
            pl.col("probability").is_not_null(),
            "negative",
            pl.format("probability {} is below {}", _p(), pl.lit(high)),
            1.0,
        ),
    ]


def _p() -> pl.Expr:
    return _shown("probability", 3)


def _shown(name: str, digits: int) -> pl.Expr:
    return pl.col(name).cast(pl.Float64).round(digits)
