"""The flows that can be asked for by name: deployed, scheduled, resumed."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from flows.comparison import Comparison
from flows.curriculum import Curriculum
from flows.recipe import Named, Recipe
from flows.request import Request
from flows.variants import Sweep
from tasks.gather.settings import PairsFile
from tasks.ingest.settings import MeasuredSource
from tasks.teach.settings import TeacherSettings
from tasks.where import Where


@dataclass(frozen=True)
class Known:
    """A flow under its name.

    Attributes:
        name: As Prefect and the table `runs` have it.
        module: Where it is, imported late.
        function: What it is called there.
        asks: What it is told to do.
    """

    name: str
    module: str
    function: str
    asks: type[Named]

    def load(self) -> Any:
        """The flow itself."""
        return getattr(import_module(self.module), self.function)


@dataclass(frozen=True)
class Offered(Known):
    """A flow that is deployed for a recipe.

    Attributes:
        parameter: The name of what it is told to do among its parameters.
        defaults: What a deployment for a recipe has it do.
        about: One sentence for whoever looks at the deployment.
    """

    parameter: str
    defaults: Callable[[Recipe], Named]
    about: str

    def parameters(self, recipe: Recipe, where: Where, whole: bool = True) -> dict[str, Any]:
        """What a deployment of the flow starts with.

        Args:
            recipe: The recipe.
            where: Where.
            whole: Spell every field out, because forms show what stands there; else what differs from the defaults.
        """
        told = {self.parameter: self.defaults(recipe), "where": where}
        return {name: each.model_dump(mode="json", exclude_defaults=not whole) for name, each in told.items()}


def _same(recipe: Recipe) -> Named:
    return recipe


def _pairs(recipe: Recipe) -> Named:
    """Pairs of the recipe's corpus, to be judged by its teacher."""
    pairs = PairsFile(path="pairs.csv", corpus=recipe.source.corpus)
    return Request(name=recipe.name, pairs=pairs, teacher=recipe.teacher, out=None)


def _models(recipe: Recipe) -> Named:
    """The recipe's student as it comes, on the recipe's data."""
    source = MeasuredSource.model_validate(recipe.source.model_dump())
    teacher = recipe.teacher if len(recipe.teacher.model) == 1 else TeacherSettings()
    return Comparison(
        name=recipe.name, source=source, models=[recipe.student], teacher=teacher, evaluation=recipe.evaluation
    )


def _seeds(recipe: Recipe) -> Named:
    """The recipe under three seeds: how much of a difference is chance."""
    return Sweep(name=recipe.name, recipe=recipe, over={"seed": ["0", "1", "2"]})


OFFERED = (
    Offered(
        "distill",
        "flows.distill",
        "distill",
        Recipe,
        "recipe",
        _same,
        "The whole loop: warm up, then rounds of mining, scoring and training. Goes on from what is there.",
    ),
    Offered(
        "refresh",
        "flows.refresh",
        "refresh",
        Recipe,
        "recipe",
        _same,
        "What has come in since the last run, and nothing else; where nothing has changed, nothing is done.",
    ),
    Offered(
        "score",
        "flows.score",
        "score_pairs",
        Request,
        "request",
        _pairs,
        "A teacher's logits of the pairs of a file; name the file, and a teacher where the recipe teaches one.",
    ),
    Offered(
        "evaluate",
        "flows.evaluate",
        "evaluate_models",
        Comparison,
        "request",
        _models,
        "Models as they come on labelled data, beside chance and BM25; nothing is trained.",
    ),
    Offered(
        "sweep",
        "flows.sweep",
        "sweep_variants",
        Sweep,
        "sweep",
        _seeds,
        "Every combination of some settings' values, as a run each; what they share is computed once.",
    ),
)


# Not about one recipe, so no recipe's deployment.
TEACH = Known("teach", "flows.teach", "teach_general", Curriculum)


def offered(name: str) -> Known:
    """A flow by its name.

    Raises:
        LookupError: There is none of that name.
    """
    for each in (*OFFERED, TEACH):
        if each.name == name:
            return each
    raise LookupError(f"no flow is called {name!r}; there are {', '.join(each.name for each in (*OFFERED, TEACH))}")
