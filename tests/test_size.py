"""A student's size, read from its files: of every architecture, without loading weights."""

from pathlib import Path

from training import FP32

from models.size import dimension_of, size_of
from models.student import Student


def test_vectors_are_as_long_as_the_student_makes_them(tiny_student: Path, tmp_path: Path) -> None:
    """DistilBERT calls its width `dim`, several ways of pooling stand side by side, a Dense layer shortens."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer
    from transformers import AutoTokenizer, DistilBertConfig, DistilBertModel

    config = DistilBertConfig(vocab_size=500, dim=32, n_layers=1, n_heads=2, hidden_dim=64)
    DistilBertModel(config).save_pretrained(tmp_path / "encoder")
    AutoTokenizer.from_pretrained(tiny_student).save_pretrained(tmp_path / "encoder")
    folders = [tiny_student, tmp_path / "encoder"]
    for number, more in enumerate(([], [Dense(64, 24)])):
        modules = [Transformer(str(tmp_path / "encoder")), Pooling(32, ("cls", "mean")), *more]
        folders.append(tmp_path / f"student-{number}")
        SentenceTransformer(modules=modules, device="cpu").save_pretrained(str(folders[-1]))
    assert [dimension_of(folder) for folder in folders] == [32, 32, 64, 24]
    assert [Student.load(folder, FP32).dimension for folder in folders] == [32, 32, 64, 24]
    assert size_of(folders[2]).dimension == 64
