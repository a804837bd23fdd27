"""Profiles of time: recorded events, the contents of files, and no cost without a profile."""

import gzip
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from functools import partial

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import profiler
from tanx._core.recording import current
from tanx._core.trace import EvalTrace
from tanx.errors import JaxRuntimeError
from tests.compiler.counting import calls

X = jnp.arange(6.0).reshape(2, 3)


def events_of(data):
    """The events of a profile, by name; each with its line."""
    host = data.find_plane_with_name("/host:CPU")
    return [(event.name, line.name, dict(event.stats), event)
            for line in host.lines for event in line.events]


def taken(function, **options):
    """The names of events while a function runs, and the events."""
    with profiler.ProfileSession(**options) as session:
        function()
    found = events_of(session.profile_data)
    return [name for name, *_ in found], found


@pytest.fixture
def double():
    @tanx.jit
    def double(x):
        return 2 * x + 0.125
    for _ in range(4):
        double(X)
    return double


def test_calls_that_are_native_otherwise_are_recorded(double):
    names, found = taken(lambda: [double(X) for _ in range(4)])
    assert names.count("jit(double)") == names.count("double") == 4
    facts = next(facts for name, _, facts, _ in found if name == "jit(double)")
    assert facts["category"] == "call" and facts["operands"] == "f32[2,3]"
    assert facts["source"].startswith(__file__ + ":")
    for _ in range(4):
        y = double(X)
        np.testing.assert_array_equal(y, 2 * np.asarray(X) + 0.125)
        assert y.shape == (2, 3) and y.dtype == np.float32 and not y.weak_type


def test_tracing_state_is_restored_afterwards(double):
    before = EvalTrace.process
    taken(lambda: double(X))
    assert EvalTrace.process is before and current.recorder is None
    with pytest.raises(ZeroDivisionError):
        taken(lambda: 1 / 0)
    assert EvalTrace.process is before and current.recorder is None
    # The first calls after a flag has changed run in Python, and so does the call that gets code
    # from the compiler's thread.
    for _ in range(100):
        if not any(calls(partial(double, X)) for _ in range(4)):
            return  # native again: no Python function is called
        time.sleep(0.01)
    pytest.fail("calls stay Python's")


def test_tracing_and_compiling_with_stages():
    @tanx.jit
    def fresh(x):
        return jnp.cumsum(x, 1) + 0.0625
    names, found = taken(lambda: fresh(X))
    assert names.index("trace fresh") < names.index("jit(fresh)") < names.index("compile fresh")
    by_name = {name: event for name, _, _, event in found}
    passes = [event for _, _, facts, event in found if facts.get("category") == "pass"]
    whole = by_name["compile fresh"]
    assert passes and all(
        whole.start_ns <= event.start_ns and event.end_ns <= whole.end_ns for event in passes)
    assert by_name["fresh"].start_ns >= whole.end_ns


def test_eager_operations_and_functions_of_the_library():
    names, found = taken(lambda: (X + X, [jnp.clip(X, 0, 1) for _ in range(4)]))
    assert "add" in names and "clip" in names
    facts = next(facts for name, _, facts, _ in found if name == "add")
    assert facts["operands"] == "f32[2,3], f32[2,3]" and facts["source"].startswith(__file__)


def test_callbacks():
    def host_side(x):
        return np.asarray(x) + 1
    f = tanx.jit(lambda x: tanx.pure_callback(host_side, x, x) * 2)
    names, _ = taken(lambda: [f(X) for _ in range(4)])
    assert names.count("tanx.pure_callback(host_side)") == 4


def test_work_in_the_background():
    f = tanx.jit(lambda x: x @ x @ x)
    x = jnp.ones((2000, 2000))  # 32 GFLOP: longer than a run in the foreground on any machine
    for _ in range(2):
        f(x).block_until_ready()
    _, found = taken(lambda: f(x).block_until_ready())
    runs = [(line, event) for name, line, facts, event in found
            if name == "<lambda>" and facts["category"] == "execute"]
    (line, event), = runs
    assert line.startswith("background of") and event.duration_ns > 1e5


def test_annotations():
    @profiler.annotate_function
    def prepare(x):
        return x + 1

    def program():
        with profiler.TraceAnnotation("outer", batch=3) as outer:
            assert outer.is_enabled()
            outer.set_metadata(loss=0.5)
            prepare(1)
        with profiler.StepTraceAnnotation("train", step_num=7):
            profiler.annotate_function(prepare, name="renamed", k=1)(2)
    _, found = taken(program)
    facts = {name: facts for name, _, facts, _ in found}
    assert facts["outer"]["batch"] == 3 and facts["outer"]["loss"] == 0.5
    assert facts["train"]["step_num"] == 7 and facts["train"]["_r"] == 1
    assert facts["renamed"]["k"] == 1 and any(name.endswith("prepare") for name in facts)
    assert not profiler.TraceAnnotation.is_enabled() and prepare.__name__ == "prepare"
    with pytest.raises(TypeError, match="the name must be a str"):
        profiler.TraceAnnotation(3)


def test_threads_have_lines_of_their_own():
    def work():
        with profiler.TraceAnnotation("elsewhere"):
            X + X
    def program():
        thread = threading.Thread(target=work, name="worker")
        thread.start()
        thread.join()
    _, found = taken(program)
    assert {line for name, line, *_ in found if name in ("elsewhere", "add")} == {"worker"}


def options(**settings):
    made = profiler.ProfileOptions()
    for name, value in settings.items():
        setattr(made, name, value)
    return made


def test_options():
    def program():
        with profiler.TraceAnnotation("mine"):
            X + X
    def mine():
        return program()
    assert taken(program, profiler_options=options(host_tracer_level=0))[0] == []
    assert taken(program, profiler_options=options(host_tracer_level=1))[0] == ["mine"]
    names, _ = taken(mine, profiler_options=options(python_tracer_level=1))
    line = mine.__code__.co_firstlineno
    assert f"$test_trace.py:{line} mine" in names and "add" in names
    assert not any("<string>" in name for name in names)
    later = options(start_timestamp_ns=time.time_ns() + 10 ** 12)
    assert taken(program, profiler_options=later)[0] == []
    short = options(duration_ms=1)
    assert taken(lambda: (time.sleep(0.005), program()), profiler_options=short)[0] == []
    for name, value in (("host_tracer_level", "2"), ("session_id", 3), ("duration_ms", True)):
        with pytest.raises(TypeError, match=f"ProfileOptions.{name}"):
            options(**{name: value})
    with pytest.raises(AttributeError):
        options(unknown=1)
    with pytest.raises(TypeError, match="must be a ProfileOptions"):
        profiler.ProfileSession(profiler_options=3).start()


def test_files(tmp_path, double):
    with profiler.trace(tmp_path, create_perfetto_trace=True) as session:
        with profiler.TraceAnnotation("mine", batch=3):
            double(X)
    (folder,) = (tmp_path / "plugins" / "profile").iterdir()
    time.strptime(folder.name, "%Y_%m_%d_%H_%M_%S")
    space, = folder.glob("*.xplane.pb")
    assert len(list(folder.glob("*.trace.json.gz"))) == 1
    read = profiler.ProfileData.from_file(space)
    assert [e[:3] for e in events_of(read)] == [e[:3] for e in events_of(session.profile_data)]
    content = json.loads(gzip.decompress((folder / "perfetto_trace.json.gz").read_bytes()))
    spans = {event["name"]: event for event in content["traceEvents"] if event["ph"] == "X"}
    assert spans["mine"]["args"]["batch"] == "3"
    inner, outer = spans["double"], spans["mine"]
    assert outer["ts"] <= inner["ts"]
    assert inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]
    assert {"process_name", "thread_name"} <= {e["name"] for e in content["traceEvents"]}
    profiler.export_profile_data(read, tmp_path / "again", session_id="mine")
    assert len(list((tmp_path / "again" / "plugins" / "profile" / "mine").iterdir())) == 2


def test_sessions():
    with pytest.raises(RuntimeError, match="no profile was started"):
        profiler.stop_trace()
    session = profiler.start_trace(None)
    assert session.is_running and session.profile_data is None
    with pytest.raises(RuntimeError, match="already been started"):
        profiler.ProfileSession().start()
    with pytest.raises(RuntimeError, match="already been started"):
        profiler.start_trace(None)
    data = profiler.stop_trace()
    assert data is session.profile_data and not session.is_running
    with pytest.raises(RuntimeError, match="there is no profile yet"):
        profiler.ProfileSession().export_profile_data("x")
    with pytest.raises(TypeError, match="must be a ProfileData"):
        profiler.export_profile_data(b"", "x")


def test_a_link_for_perfetto(tmp_path, capsys, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setattr("tanx._profile.web._PERFETTO", port)

    def fetch():
        while not (fetched or over.is_set()):
            try:
                url = f"http://127.0.0.1:{port}/perfetto_trace.json.gz"
                with urllib.request.urlopen(url) as answer:
                    fetched.append(answer.read())
            except urllib.error.URLError:  # the server has not started yet
                time.sleep(0.02)
    fetched, over = [], threading.Event()
    thread = threading.Thread(target=fetch)
    thread.start()
    try:
        with profiler.trace(tmp_path, create_perfetto_link=True):
            X + X
    finally:
        over.set()
        thread.join()
    assert json.loads(gzip.decompress(fetched[0]))["traceEvents"]
    assert f"https://ui.perfetto.dev/#!/?url=http://127.0.0.1:{port}/perfetto" in (
        capsys.readouterr().out)


def test_the_server():
    server = profiler.start_server(0)
    try:
        with pytest.raises(ValueError, match="a server is running already"):
            profiler.start_server(0)
        base = f"http://127.0.0.1:{server.port}"
        with urllib.request.urlopen(f"{base}/trace?duration_ms=1") as answer:
            assert "traceEvents" in json.loads(gzip.decompress(answer.read()))
        with urllib.request.urlopen(f"{base}/memory") as answer:
            assert gzip.decompress(answer.read())
        for page, code in (("/nothing", 404), ("/stop", 409)):
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(base + page)
            assert caught.value.code == code
        with pytest.raises(RuntimeError, match="cannot listen at the port"):
            type(server)(server.port)
    finally:
        profiler.stop_server()
    with pytest.raises(ValueError, match="no server is running"):
        profiler.stop_server()


def test_other_processes():
    """A server in this process simulates another process."""
    from tanx._profile import subprocesses
    from tanx._profile.data import ProfileData
    from tanx._profile.web import listening
    asked = []
    text = 'planes { name: "/host:CPU" lines { name: "theirs" } }'
    space = ProfileData.text_proto_to_serialized_xspace(text)
    other = listening(0, lambda path, query: asked.append(path) or (
        space if path == "/stop" else b""), "test")
    thread = threading.Thread(target=other.serve_forever)
    thread.start()
    try:
        profiler.register_subprocess(123, other.server_address[1])
        with profiler.ProfileSession() as session:
            X + X
        plane = session.profile_data.find_plane_with_name("/host:CPU of process 123")
        assert [line.name for line in plane.lines] == ["theirs"]
        assert asked == ["/health", "/start", "/stop"]
    finally:
        other.shutdown()
        other.server_close()
        thread.join()
    with profiler.ProfileSession():  # the other process has ended
        X + X
    assert not subprocesses._ports
    with pytest.raises(JaxRuntimeError, match="the server does not respond"):
        profiler.register_subprocess(123, other.server_address[1])
