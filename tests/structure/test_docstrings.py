"""Each public function has a docstring with an example, which is run."""

import doctest
import importlib
import importlib.util
import inspect
from types import ModuleType

import pytest

from conftest import EXAMPLE_NAMES

MODULES = (
    "",
    "debug",
    "dtypes",
    "example_libraries.optimizers",
    "example_libraries.stax",
    "experimental.checkify",
    "experimental.compilation_cache.compilation_cache",
    "experimental.jet",
    "experimental.ode",
    "experimental.rnn",
    "experimental.sparse",
    "experimental.sparse.linalg",
    "flatten_util",
    "image",
    "lax",
    "lax.linalg",
    "nn",
    "nn.initializers",
    "numpy",
    "numpy.fft",
    "numpy.linalg",
    "ops",
    "random",
    "scipy.cluster.vq",
    "scipy.fft",
    "scipy.integrate",
    "scipy.interpolate",
    "scipy.linalg",
    "scipy.ndimage",
    "scipy.optimize",
    "scipy.signal",
    "scipy.sparse.linalg",
    "scipy.spatial",
    "scipy.spatial.transform",
    "scipy.special",
    "test_util",
)
DISTRIBUTIONS = """
    bernoulli beta betabinom binom cauchy chi2 dirichlet expon gamma gennorm geom gumbel_l gumbel_r
    laplace logistic multinomial multivariate_normal nbinom norm pareto poisson t truncnorm uniform
    vonmises wrapcauchy""".split()
MODULES += ("scipy.stats", *(f"scipy.stats.{name}" for name in DISTRIBUTIONS))
EXCEPTIONS = {
    "debug.inspect_array_sharding": "there is nothing to inspect with one device",
}


def module(name):
    """A module that may not have been built yet."""
    full = f"tanx.{name}" if name else "tanx"
    if importlib.util.find_spec(full) is None:
        pytest.skip(f"{full} is yet to be built")
    return importlib.import_module(full)


def functions(name):
    """The public functions of a module, and objects of tanx that can be called, by name."""
    shown = module(name)
    for attribute in dir(shown):
        value = getattr(shown, attribute)
        if attribute.startswith("_") or not callable(value) or isinstance(value, type):
            continue
        if inspect.isroutine(value) or type(value).__module__.startswith("tanx"):
            yield attribute, value


@pytest.mark.parametrize("name", MODULES)
def test_each_function_has_an_example(name):
    missing = [attribute for attribute, function in functions(name)
               if ">>>" not in (inspect.getdoc(function) or "")
               and f"{name}.{attribute}".lstrip(".") not in EXCEPTIONS]
    assert not missing


@pytest.mark.parametrize("name", MODULES)
def test_dir_shows_only_public_names(name):
    """Names that a file imports for its own use are not in ``dir`` of the module."""
    shown = module(name)
    for attribute in dir(shown):
        assert attribute.startswith("_") or attribute in shown.__all__ or isinstance(
            getattr(shown, attribute), ModuleType), attribute


def test_examples_of_options_run():
    """Doctest finds only examples of functions and classes; options are objects."""
    names = {short: importlib.import_module(full) for short, full in EXAMPLE_NAMES.items()}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    options = [(attribute, value) for attribute, value in functions("")
               if not inspect.isfunction(value) and type(value).__module__ == "tanx._base.flags"]
    assert len(options) > 20
    for attribute, option in options:
        runner.run(doctest.DocTestParser().get_doctest(
            inspect.getdoc(option), dict(names), attribute, None, None))
    assert runner.summarize(verbose=False).failed == 0
