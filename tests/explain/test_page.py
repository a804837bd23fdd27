"""The page and the text: well-formed, complete, small, and without external resources."""

import html.parser
import json
import re

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._explain.text import COLUMNS, ROWS

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Checker(html.parser.HTMLParser):
    """Checks that elements are closed in order, and collects their text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.ids, self.links, self.tags = [], [], [], []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, names)
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [value for name, value in attrs if name in ("href", "src")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"


def step(w, x):
    def loss(w):
        return (jnp.tanh(x @ w) ** 2).sum()  # <script>alert(1)</script> & "quotes"
    return w - 0.1 * tanx.grad(loss)(w)


@pytest.fixture(scope="module")
def explanation():
    return tanx.explain(step)(np.ones((64, 32), np.float32), np.ones((16, 64), np.float32))


def test_the_page_is_well_formed_and_its_links_lead_somewhere(explanation):
    page = Checker(explanation.html)
    assert len(page.ids) == len(set(page.ids))
    assert page.links and all(link[0] == "#" and link[1:] in page.ids for link in page.links)
    assert page.tags.count("tr") >= len(explanation._facts.kernels)
    assert {"time", "source", "memory", "traces", "about", "theme", "facts"} <= set(page.ids)


def test_the_page_loads_nothing(explanation):
    assert not re.findall(r"https?:|@import|url\(|<link|<img|\bfetch\(|import\(", explanation.html)


def test_text_from_outside_is_escaped(explanation):
    assert "<script>alert" not in explanation.html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quotes&quot;" in explanation.html
    data = re.search(r'id="facts">(.*?)</script>', explanation.html, re.DOTALL)[1]
    facts = json.loads(data)
    assert len(facts["seconds"]) == len(explanation._facts.kernels)
    assert len(facts["equations"]) == len(explanation._facts.equations)


def test_the_text_fits_a_screen(explanation):
    lines = explanation.text.split("\n")
    assert len(lines) <= ROWS and max(map(len, lines)) <= COLUMNS
    assert lines[0].startswith("step") and str(explanation) == explanation.text
    assert any("dot_general" in line for line in lines)


def test_the_text_of_a_large_program_fits_too():
    steps = [jnp.sin, jnp.cos, jnp.tanh, jnp.exp, jnp.abs, jnp.sqrt, jnp.square, jnp.log1p,
             jnp.floor, jnp.sinh, jnp.cbrt, jnp.arctan, jnp.sign, jnp.expm1]

    def deep(x, w):
        for function in steps:
            x = function(x @ w)
        return x
    jitted = tanx.jit(deep)
    w = np.ones((8, 8), np.float32)
    for n in range(8):
        jitted.trace(np.ones((n + 1, 8), np.float32), w)
    lines = tanx.explain(jitted)(np.ones((64, 8), np.float32), w).text.split("\n")
    assert len(lines) <= ROWS and max(map(len, lines)) <= COLUMNS
    assert any("x: now f32[64,8], before f32[8,8]" in line for line in lines)


def test_saved_and_in_notebooks(explanation, tmp_path):
    path = explanation.save(tmp_path / "page.html")
    assert path.read_text(encoding="utf-8") == explanation.html
    frame = explanation._repr_html_()
    assert frame.startswith("<iframe") and "srcdoc=" in frame and "<script" not in frame
    assert repr(explanation) == "<Explanation of step>"


def test_explain_is_one_object_that_is_called_and_imported():
    import tanx.explain
    assert tanx.explain.Explanation.__module__ == "tanx.explain"
    for _ in range(4):
        assert isinstance(tanx.explain(jnp.sin)(1.0), tanx.explain.Explanation)
    assert "Explanation" in dir(tanx.explain)


@pytest.mark.slow
def test_the_page_of_a_transformers_training_step_is_small():
    from benchmarks.cases.networks import transformer_step
    fun, args = transformer_step(tanx, jnp, 4, 256, 4, 128)
    explanation = tanx.explain(fun)(*args)
    assert len(explanation.html.encode()) < 1_000_000
    Checker(explanation.html)
    facts = explanation._facts
    assert all(e.kernels and e.line is not None for e in facts.equations)
    lines = explanation.text.split("\n")
    assert len(lines) <= ROWS and max(map(len, lines)) <= COLUMNS
