"""Finds a model by name: a local folder, a folder inside an installed package, or a model of the Hugging Face hub."""

import re
from importlib.util import find_spec
from pathlib import Path

SAFE_FILES = ["*.safetensors", "*.json", "*.txt", "*.jinja"]
CODE = ["*.py"]
OTHER_FORMATS = ["onnx/*", "openvino/*", "*.onnx.json"]
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")


class ModelNotFound(FileNotFoundError):
    """No model is to be had under this name."""


def locate(name: str, trust_remote_code: bool = False) -> Path:
    """Find a model's folder.

    Args:
        name: A local folder; "package:NAME/sub/folder" for a folder inside an installed Python package,
            which is found without importing it; else a hub id ("owner/name"), of which safetensors,
            JSON and text files are fetched into the hub's own cache. Pickled weights never are.
        trust_remote_code: Fetch the Python files of a hub model too.

    Raises:
        ModelNotFound: There is no such folder or package, or the hub has no such model or can't be reached.
    """
    if name.startswith("package:"):
        return _in_package(name)
    if name and Path(name).expanduser().is_dir():
        return Path(name).expanduser().resolve()
    if not _HUB_ID.fullmatch(name) or name.startswith("."):
        raise ModelNotFound(
            f"model {name!r}: there is no such folder (looked in {Path.cwd()}), and it is no hub id, "
            "which would be written owner/name"
        )
    return _from_hub(name, SAFE_FILES + CODE if trust_remote_code else SAFE_FILES)


def _in_package(name: str) -> Path:
    package, _, rest = name.removeprefix("package:").partition("/")
    spec = find_spec(package) if re.fullmatch(r"[A-Za-z_]\w*", package) else None
    places = list(spec.submodule_search_locations or []) if spec is not None else []
    if not places:
        raise ModelNotFound(
            f"model {name!r}: no package {package!r} is installed here; install it, or give a folder or a hub id"
        )
    root = Path(places[0]).resolve()
    folder = (root / rest).resolve()
    if not folder.is_relative_to(root) or not folder.is_dir():
        raise ModelNotFound(f"model {name!r}: the package {package!r} is in {root}, but has no folder {rest!r}")
    return folder


def _from_hub(name: str, files: list[str]) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=files, ignore_patterns=OTHER_FORMATS))
    except (OSError, ValueError) as error:
        told = str(error).strip().partition("\n")[0].rstrip(". ")
        raise ModelNotFound(
            f"model {name!r}: there is no such folder here (looked in {Path.cwd()}), and the Hugging Face hub did not "
            f"give it: {type(error).__name__}: {told}. Check the spelling, the network, "
            "HF_TOKEN for a private model and HF_HUB_OFFLINE; or give a local folder"
        ) from error
