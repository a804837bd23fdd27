"""The whole suite uses all cores, and a worker never starts other workers."""

import types

import pytest

from tests.structure.source import ROOT


def workers(pytestconfig, source):
    """The number of workers that the hook in ``conftest.py`` sets; None if it does not set it."""
    option = types.SimpleNamespace(numprocesses=None, usepdb=False)
    config = types.SimpleNamespace(
        args_source=source, ArgsSource=pytest.Config.ArgsSource, option=option,
        getoption=lambda name, default=None: getattr(option, name, default),
        hook=types.SimpleNamespace(pytest_xdist_auto_num_workers=lambda config: 2))
    conftest = pytestconfig.pluginmanager.get_plugin(str(ROOT / "conftest.py"))
    conftest.pytest_cmdline_main(config)
    return option.numprocesses


def test_who_starts_workers(pytestconfig, monkeypatch):
    whole, named = pytest.Config.ArgsSource.TESTPATHS, pytest.Config.ArgsSource.ARGS
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    assert workers(pytestconfig, whole) == 2
    assert workers(pytestconfig, named) is None
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    assert workers(pytestconfig, whole) is None
