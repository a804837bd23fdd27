"""JAX's reader of profiles reads those of tanx, and returns the same data as ours."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.oracle


def told(data):
    """All data of a profile."""
    return [(plane.name, list(plane.stats), [
        (line.name, [(event.name, event.start_ns, event.duration_ns, list(event.stats))
                     for event in line.events]) for line in plane.lines])
            for plane in data.planes]


def test_profiles_are_read_alike(tmp_path):
    f = tanx.jit(lambda x: jnp.sin(x) @ x)
    with tanx.profiler.trace(tmp_path) as session:
        for step in range(4):
            with tanx.profiler.StepTraceAnnotation("step", step_num=step, rate=0.5):
                f(np.ones((3, 3), np.float32))
    (file,) = tmp_path.glob("plugins/profile/*/*.xplane.pb")
    ours, theirs = told(session.profile_data), told(jax.profiler.ProfileData.from_file(str(file)))
    assert ours == theirs and sum(len(line[1]) for plane in ours for line in plane[2]) > 20


def test_texts_are_read_alike():
    text = """planes { name: "a" stats { metadata_id: 1 double_value: 1.5 }
                lines { name: "l" timestamp_ns: 7 events { metadata_id: 1 offset_ps: 5000 } }
                event_metadata { key: 1 value { id: 1 name: "e" } }
                stat_metadata { key: 1 value { id: 1 name: "s" } } }"""
    ours, theirs = tanx.profiler.ProfileData, jax.profiler.ProfileData
    assert told(ours.from_text_proto(text)) == told(theirs.from_text_proto(text))
    assert (ours.text_proto_to_serialized_xspace(text)
            == theirs.text_proto_to_serialized_xspace(text))
