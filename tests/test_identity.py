"""Fingerprints name the same thing the same way everywhere."""

import subprocess
import sys

import pytest

from tasks.identity import canonical, file_fingerprint, fingerprint
from tasks.train.settings import Training

VALUES = {"b": [1, 2.5, None, True], "a": {"text": "größe", "n": 3}}


def test_a_fresh_process_gives_the_same_fingerprint() -> None:
    """Pitfall 5: a name that differs between processes makes everything stale on every run."""
    code = f"from tasks.identity import fingerprint; print(fingerprint({VALUES!r}))"
    for seed in ("0", "1"):
        made = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        )
        assert made.stdout.strip() == fingerprint(VALUES)


def test_the_order_of_keys_does_not_matter_and_the_order_of_items_does() -> None:
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint([1, 2]) != fingerprint([2, 1])


def test_parts_do_not_run_into_each_other() -> None:
    assert fingerprint("ab", "c") != fingerprint("a", "bc")
    assert fingerprint(1) != fingerprint("1")


@pytest.mark.parametrize("value", [{1, 2}, object(), float("nan"), float("inf"), {1: "a"}, b"bytes"])
def test_what_has_no_canonical_form_is_refused(value: object) -> None:
    """Pitfall 5: a set's order or an object's address would change the name from run to run."""
    with pytest.raises(TypeError, match="fingerprint"):
        canonical(value)


def test_settings_are_named_by_their_values() -> None:
    """Pitfall 2: a changed setting that keeps its name serves an old result."""
    assert fingerprint(Training()) == fingerprint(Training(steps=300))
    assert fingerprint(Training()) != fingerprint(Training(steps=301))


def test_a_file_is_named_by_its_bytes(tmp_path) -> None:
    for name, text in (("a", "one"), ("b", "one"), ("c", "two")):
        (tmp_path / name).write_text(text)
    assert file_fingerprint(tmp_path / "a") == file_fingerprint(tmp_path / "b")
    assert file_fingerprint(tmp_path / "a") != file_fingerprint(tmp_path / "c")
