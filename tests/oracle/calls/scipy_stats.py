"""Distributions, statistics of data, and densities estimated from it."""

from tests.oracle.calls.call import each, lines

# Functions of each distribution, and their parameters.
REAL = {
    "norm": ("logpdf pdf cdf logcdf sf logsf", ["", ", 0.5, 2.0"]),
    "expon": ("logpdf pdf cdf logcdf sf logsf", ["", ", 0.5, 2.0"]),
    "cauchy": ("logpdf pdf cdf logcdf sf logsf", ["", ", 0.5, 2.0"]),
    "laplace": ("logpdf pdf cdf", ["", ", 0.5, 2.0"]),
    "logistic": ("logpdf pdf cdf sf", ["", ", 0.5, 2.0"]),
    "gumbel_l": ("logpdf pdf cdf logcdf sf logsf", ["", ", 0.5, 2.0"]),
    "gumbel_r": ("logpdf pdf cdf logcdf sf logsf", ["", ", 0.5, 2.0"]),
    "uniform": ("logpdf pdf cdf", ["", ", 0.5, 2.0"]),
    "gamma": ("logpdf pdf cdf logcdf sf logsf", [", 2.0", ", 0.5, 0.5, 2.0"]),
    "chi2": ("logpdf pdf cdf logcdf sf logsf", [", 3.0", ", 1.0, 0.5, 2.0"]),
    "beta": ("logpdf pdf cdf logcdf sf logsf", [", 2.0, 3.0", ", 0.5, 0.5, -1.0, 4.0"]),
    "pareto": ("logpdf pdf cdf logcdf sf logsf", [", 2.0", ", 0.5, -1.0, 0.5"]),
    "t": ("logpdf pdf", [", 3.0", ", 1.0, 0.5, 2.0"]),
    "truncnorm": ("logpdf pdf cdf logcdf sf logsf", [", -1.0, 2.0", ", 1.0, 3.0, 0.5, 2.0"]),
    "gennorm": ("logpdf pdf cdf", [", 1.5"]),
    "vonmises": ("logpdf pdf", [", 2.0"]),
    "wrapcauchy": ("logpdf pdf", [", 0.5"]),
}
WHOLE = {
    "bernoulli": [", 0.3", ", 0.0"], "binom": [", 5, 0.3", ", 5, 1.0, 1"],
    "betabinom": [", 5, 1.5, 2.0"], "geom": [", 0.3"], "nbinom": [", 3, 0.3"],
    "poisson": [", 1.3", ", 2, 1"],
}
QUANTILES = ["norm.ppf({})", "norm.isf({}, 0.5, 2.0)", "expon.ppf({})", "cauchy.ppf({})",
             "cauchy.isf({}, 0.5, 2.0)", "logistic.ppf({})", "logistic.isf({}, 0.5, 2.0)",
             "gumbel_l.ppf({})", "gumbel_r.ppf({})", "uniform.ppf({}, 0.5, 2.0)",
             "pareto.ppf({}, 2.0)", "bernoulli.ppf({}, 0.3)"]
KDE = "jax.scipy.stats.gaussian_kde"

CALLS = [
    *[call for name, (methods, parameters) in REAL.items() for call in each(
        "jax.scipy.stats." + name + ".{f}(f32_edge{p})", f=methods, p=parameters)],
    *[call for name, (methods, parameters) in REAL.items() for call in each(
        "jax.scipy.stats." + name + ".{f}(f32_pos3" + parameters[0] + ")", modes="jit vmap vjp",
        f=methods.split()[0])],
    *[call for name, (methods, parameters) in REAL.items() for call in each(
        "jax.scipy.stats." + name + ".{f}({x}" + parameters[-1] + ")", f=methods.split()[0],
        x="i32_3 bf16_3 2.5 f32_0")],
    *[call for name, parameters in WHOLE.items() for call in each(
        "jax.scipy.stats." + name + ".{f}({k}{p})", f="logpmf pmf", p=parameters,
        k=["i32_3", "jnp.arange(8)", "f32_pos3", "2", "jnp.array([-1.0, 0.0, 1.0, 3.0])"])],
    *[call for name, parameters in WHOLE.items() for call in each(
        "jax.scipy.stats." + name + ".logpmf(jnp.arange(4.0)" + parameters[0] + " + 0.1 * f32)",
        modes="jit vjp")],
    *each("jax.scipy.stats.{f}", f=[q.format(x) for q in QUANTILES for x in (
        "f32_unit3", "jnp.array([0.0, 0.25, 0.5, 0.75, 1.0])", "0.3")]),
    *each("jax.scipy.stats.poisson.{f}", f=[
        "cdf(jnp.arange(-1, 6), 1.3)", "cdf(f32_edge, 1.3)", "entropy(f32_pos3)", "entropy(3)",
        "entropy(jnp.array([0.0, 5.0, 50.0, 500.0, -1.0]))"]),
    *each("jax.scipy.stats.bernoulli.cdf({k}, 0.3)", k="i32_3 f32_edge 1"),
    *each("jax.scipy.stats.dirichlet.{f}({x}, {a})", f="logpdf pdf", a="f32_pos3 i32_pos3",
          x=["jnp.array([0.2, 0.3, 0.5])", "jnp.array([0.2, 0.3])", "jnp.ones((3, 4)) / 3",
             "jnp.array([0.2, 0.3, 0.6])", "jnp.ones(5)"]),
    *each("jax.scipy.stats.multinomial.{f}({x}, 6, jnp.array([0.2, 0.3, 0.5]))", f="logpmf pmf",
          x=["jnp.array([1, 2, 3])", "jnp.array([1, 2, 4])", "jnp.array([[6, 0, 0], [-1, 4, 3]])",
             "f32_3"]),
    *each("jax.scipy.stats.multivariate_normal.logpdf({x})", modes="eager jit vjp",
          x=["f32_3, f32_3b, jnp.eye(3) * 2", "f32_2x3, f32_3b, jnp.eye(3) + 0.5",
             "f32_2x3, f32_3b, 2.0", "f32_3, f32, 2.0",
             "f32_2x3, f32_2x3b, jnp.eye(3) * f32_pos3"]),
    *each("jax.scipy.stats.multivariate_normal.{f}", f=[
        "logpdf(1.0, 0.5, 2.0)", "logpdf(f32_3, f32_2, jnp.eye(2))", "logpdf(f32_3, f32_3, f32_3)",
        "logpdf(f32_2, f32_2, jnp.eye(2), True)", "pdf(i32_2, i32_2, jnp.eye(2, dtype=int))",
        "pdf(f32_2, f32_2, -jnp.eye(2))"]),
    *each("tuple(jax.scipy.stats.mode({a}{o}))", a="f32_2x3 i32_3x4 f32_nan3x4 b1_4 f32 bf16_4",
          o=["", ", axis=None", ", axis=-1, keepdims=True"]),
    *each("jax.scipy.stats.rankdata({a}, '{m}'{o})", a="i32_3x4 f32_nan3x4",
          m="average min max dense ordinal x", o=["", ", axis=1"]),
    *each("jax.scipy.stats.sem({a}{o})", a="f32_3x4 i32_3x4 f32_nan3x4 bf16_4 b1_4",
          o=["", ", axis=None", ", ddof=0", ", nan_policy='omit'", ", axis=-1, keepdims=True"]),
    *each("jax.scipy.stats.{f}", modes="jit vmap", f=[
        "mode(i32_3x4)", "rankdata(i32_3x4, axis=0)", "sem(f32_3x4)"]),
    *each("jax.scipy.stats.{f}", f=[
        "mode(f32_3, nan_policy='omit')", "mode(f32_3, nan_policy='x')", "mode([1, 2])",
        "rankdata(f32_3, nan_policy='raise')", "rankdata(f32, 'min')", "rankdata(f32_3, axis=1)",
        "sem(f32_3, nan_policy='raise')", "sem(f32_3, axis=1)", "norm.logpdf([1.0])",
        "norm.pdf(f32_3, f32_2)", "gamma.pdf(f32_3)", "beta.cdf(f32_3, None, 1.0)"]),
    *each(KDE + "({d}).{f}",
          d=["f32_8", "f32_8, 'silverman'", "f32_8, 0.3", "f32_8, None, f32_pos8"],
          f=["evaluate(f32_3)", "logpdf(f32_3)", "pdf(1.5)", "integrate_gaussian(0.5, 2.0)",
             "integrate_box_1d(-1, 0.5)", "covariance", "neff", "weights",
             "resample(jax.random.key(3), (4,))"]),
    *each(KDE + "(f32_2x8).{f}", modes="eager jit", f=[
        "evaluate(f32_2x3)", "logpdf(f32_2)", "integrate_gaussian(f32_2, jnp.eye(2))",
        f"integrate_kde({KDE}(f32_2x5))", "resample(jax.random.key(3), (4,))", "inv_cov"]),
    *each(KDE + "(f32_8).evaluate(f32_3)", modes="vmap vjp"),
    *lines(f"""
    {KDE}(f32_8[:1])
    {KDE}(f32_8, 'x')
    {KDE}(f32_8, None, f32_3)
    {KDE}(c64_4)
    {KDE}(f32_2x8)(f32_3)
    {KDE}(f32_2x8).integrate_box_1d(0, 1)
    {KDE}(f32_8).integrate_box(0, 1)
    {KDE}(f32_8).set_bandwidth()
    {KDE}(f32_8).integrate_kde({KDE}(f32_2x5))
    len(jax.tree.leaves({KDE}(f32_8)))
    """),
]
