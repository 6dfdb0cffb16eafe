"""BM25: words, bigrams for scripts without spaces, stable order, no hits by nothing."""

import math

import numpy as np
import polars as pl
import pytest

from tasks.baseline.bm25 import best, search_bm25, tokenize

PASSAGES = ["Delete a folder and all files in it", "Copy a file", "List all files", "rename the branch", ""]


def frame_of(texts: list[str]) -> pl.DataFrame:
    return pl.DataFrame({"hash": range(100, 100 + len(texts)), "text": texts})


def hits(passages: list[str], query: str, depth: int = 10) -> list[tuple[int, float]]:
    found = search_bm25(frame_of(passages), frame_of([query]), depth, lambda count: None)
    assert found["rank"].to_list() == list(range(1, found.height + 1))
    return list(zip((found["passage_hash"] - 100).to_list(), found["score"].to_list(), strict=True))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Delete ALL files!", ["delete", "all", "files"]),
        ("parse_json(x1)", ["parse", "json", "x1"]),
        ("梵文的研究", ["梵文", "文的", "的研", "研究"]),
        ("水", ["水"]),
        ("用Python3讀檔案", ["用", "python3", "讀檔", "檔案"]),
        ("カタカナ ひらがな", ["カタ", "タカ", "カナ", "ひら", "らが", "がな"]),
        ("ｐｙｔｈｏｎ", ["python"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("café naïve", ["café", "naïve"]),
        ("ที่นี่", ["ที", "ี่", "่น", "นี", "ี่"]),
        ("… — !", []),
        ("", []),
    ],
)
def test_words_and_bigrams(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


def test_a_run_without_spaces_matches_inside_another_run() -> None:
    """Taken as one word, a Chinese question would match nothing, and BM25 would look beaten for free."""
    passages = ["歐洲的梵語研究由德國學者開創", "水是生命之源", "python 讀檔案"]
    assert [row for row, _ in hits(passages, "誰開創了梵語研究？")] == [0]
    assert [row for row, _ in hits(passages, "Python怎麼讀檔案")] == [2]


def test_scores_are_bm25_worked_by_hand() -> None:
    found = dict(hits(["red red car", "red bike ride home", "blue boat"], "red"))
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    for row, frequency, length in ((0, 2, 3), (1, 1, 4)):
        weight = frequency / (frequency + 1.5 * (1 - 0.75 + 0.75 * length / 3))
        assert found[row] == pytest.approx(idf * weight, rel=1e-5)


def test_passages_that_share_no_word_are_not_hits() -> None:
    """Pitfall 17: filling up the list with passages of score 0 would give recall to nothing."""
    assert sorted(row for row, _ in hits(PASSAGES, "all files")) == [0, 2]
    assert hits(PASSAGES, "quantum") == []
    assert hits(PASSAGES, "") == []
    assert hits(["", "!"], "files") == []


def test_equal_scores_keep_the_order_of_rows_at_any_depth() -> None:
    """Pitfall 20: otherwise the list, and what the table says of BM25, changes from run to run."""
    passages = ["same words"] * 7 + ["same words words"]
    full = [row for row, _ in hits(passages, "words", 10)]
    assert full == [7, 0, 1, 2, 3, 4, 5, 6]
    for depth in range(1, 8):
        assert [row for row, _ in hits(passages, "words", depth)] == full[:depth]


def test_best_agrees_with_sorting_everything() -> None:
    rng = np.random.default_rng(0)
    for depth in (1, 7, 60, 500):
        scores = rng.integers(0, 6, 200).astype(np.float32)
        rows, values = best(scores, depth)
        order = [row for row in sorted(range(200), key=lambda row: (-scores[row], row)) if scores[row] > 0][:depth]
        assert rows.tolist() == order
        assert values.tolist() == scores[order].tolist()


def test_every_query_is_ranked_on_its_own() -> None:
    ticks: list[int] = []
    found = search_bm25(frame_of(PASSAGES), frame_of(["copy", "nothing here", "branch"]), 10, ticks.append)
    assert found.select("query_hash", "passage_hash", "rank").rows() == [(100, 101, 1), (102, 103, 1)]
    assert sum(ticks) == 3
