"""What a model's folder holds: its modules, their files, and nothing that runs code when read."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")


@dataclass(frozen=True)
class Part:
    """One module of a model: the name of its class, the folder of its files, and the route of a Router it is on."""

    kind: str
    folder: Path
    route: str = ""

    @property
    def weights(self) -> list[Path]:
        """Its safetensors files, sorted; a bare adapter or another format's folder is not among them."""
        return sorted(self.folder.glob("*.safetensors"))


def parts(path: Path) -> list[Part]:
    """List a model's modules in the order they run, those of a Router route by route.

    A folder without a list is one transformer; a module that two routes share is there twice.

    Raises:
        FileNotFoundError: It is no model's folder.
        ValueError: The list names a folder outside the model.
    """
    listing = path / "modules.json"
    if not listing.is_file():
        if not (path / "config.json").is_file():
            raise FileNotFoundError(
                f"{path}: there is no modules.json and no config.json, so this is no model's folder"
            )
        return [Part("Transformer", path)]
    found = [
        part
        for entry in read_json(listing)
        for part in _routed(Part(entry["type"].rpartition(".")[2], path / entry["path"]))
    ]
    for part in found:
        if not part.folder.resolve().is_relative_to(path.resolve()):
            raise ValueError(f"{listing}: the module folder {part.folder} lies outside of the model")
    return found


def _routed(part: Part) -> list[Part]:
    """The modules of a Router's routes in its place; any other module as it is."""
    router = read_json(part.folder / "router_config.json") if part.kind == "Router" else {}
    types = {name: kind.rpartition(".")[2] for name, kind in router.get("types", {}).items()}
    return [
        Part(types[name], part.folder / name, route)
        for route, names in router.get("structure", {}).items()
        for name in names
    ] or [part]


def read_json(path: Path) -> Any:
    """Read a JSON file; a missing one is an empty object.

    Raises:
        ValueError: The file is not JSON; its path and the place are named.
    """
    if not path.is_file():
        return {}
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}:{error.lineno}: this is not JSON ({error.msg})") from error


def refuse_pickles(path: Path) -> None:
    """Refuse a model any of whose modules has weights only in a format that runs code when it is read.

    Raises:
        ValueError: Such a module, or a model without safetensors at all.
    """
    modules = parts(path)
    for part in modules:
        pickles = sorted(file.name for pattern in PICKLES for file in part.folder.glob(pattern))
        if pickles and not part.weights:
            raise ValueError(
                f"{part.folder}: there are weights only as {', '.join(pickles)}; reading a pickle runs whatever code "
                "it holds. Convert it to safetensors first, or take a revision that has them"
            )
    if not any(part.weights for part in modules):
        raise ValueError(f"{path}: no module has a .safetensors file, so there are no weights to read")
