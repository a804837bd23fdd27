"""Limits on the size of files and functions; docstrings and comments do not count."""

import ast

import pytest

from tests.structure.source import FILES, NAMES, code_lines, text, tree

FILE, FUNCTION, COLUMNS, METHODS = 600, 60, 100, 28


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_sizes(path):
    code = code_lines(tree(path), text(path))
    problems = []
    if len(code) > FILE:
        problems.append(f"{len(code)} lines of code, more than {FILE}")
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = sum(node.lineno <= line <= node.end_lineno for line in code)
            if lines > FUNCTION:
                problems.append(f"line {node.lineno}: {node.name} has {lines} lines of code, "
                                f"more than {FUNCTION}")
    for number, line in enumerate(text(path).splitlines(), 1):
        if len(line) > COLUMNS:
            problems.append(f"line {number}: {len(line)} columns, more than {COLUMNS}")
    assert not problems, "\n".join(problems)


def test_no_class_of_the_compiler_is_made_of_many_methods():
    """A class has few methods, including those of its bases: a large one is composed of parts."""
    classes = {node.name: node for path in FILES if "_compiler" in path.parts
               for node in tree(path).body if isinstance(node, ast.ClassDef)}

    def methods(name):
        node = classes.get(name)
        if node is None:
            return 0
        own = sum(isinstance(part, ast.FunctionDef) for part in node.body)
        return own + sum(methods(base.id) for base in node.bases if isinstance(base, ast.Name))

    assert len(classes) > 50
    assert not {name: methods(name) for name in classes if methods(name) > METHODS}


def test_docstrings_comments_and_blank_lines_are_free():
    source = '''"""Two
lines."""

# comment
def f():
    """Doc."""
    return (1,
            2)
'''
    assert code_lines(ast.parse(source), source) == {5, 7, 8}
