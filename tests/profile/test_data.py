"""Protocol buffers and profiles read as data."""

import random
import struct

import pytest

from tanx._profile.wire import Field, decode, encode
from tanx.errors import JaxRuntimeError
from tanx.profiler import ProfileData

INNER = {"x": Field(1, "int64"), "text": Field(2, "string")}
SCHEMA = {"i": Field(1, "int64"), "u": Field(2, "uint64"), "d": Field(3, "double"),
          "s": Field(4, "string"), "b": Field(5, "bytes"), "m": Field(6, "message", False, INNER),
          "many": Field(16, "int64", True), "texts": Field(17, "string", True),
          "messages": Field(18, "message", True, INNER)}
KINDS = {
    "int64": lambda r: r.choice((0, 1, -1, 127, 128, 1 << 62, -1 << 63, r.getrandbits(40))),
    "uint64": lambda r: r.choice((0, 127, 128, (1 << 64) - 1, r.getrandbits(64))),
    "double": lambda r: r.choice((0.0, -1.5, 1e300, r.random())),
    "string": lambda r: r.choice(("", "a", "\u00e9\0", "x" * 200)),
    "bytes": lambda r: r.randbytes(r.choice((0, 1, 300)))}


def some(r, schema):
    """A message with all repeated fields of a schema, and some of the others."""
    def one(field):
        return some(r, field.schema) if field.kind == "message" else KINDS[field.kind](r)
    return {name: [one(field) for _ in range(r.randrange(4))] if field.repeated else one(field)
            for name, field in schema.items() if field.repeated or r.random() < 0.7}


@pytest.mark.parametrize("seed", range(20))
def test_encoded_messages_decode_to_the_same(seed):
    message = some(random.Random(seed), SCHEMA)
    assert decode(SCHEMA, encode(SCHEMA, message)) == message


# The bytes are from the documentation of protocol buffers, or computed by hand.
@pytest.mark.parametrize("message, written", [
    ({"i": 150}, "089601"), ({"i": -1}, "08" + "ff" * 9 + "01"), ({"s": "testing"},
     "220774657374696e67"), ({"m": {"x": 150}}, "3203089601"), ({"many": [3, 270, 86942]},
     "820106038e029ea705"), ({"d": 1.0}, "19" + struct.pack("<d", 1.0).hex()),
])
def test_bytes_on_the_wire(message, written):
    assert encode(SCHEMA, message).hex() == written


@pytest.mark.parametrize("data", [b"\xff", b"\x08", b"\x22\x05abc", b"\x0f", b"\x09\x01",
                                  b"\x08" + b"\xff" * 11, b"\x20\x01"])
def test_damaged_bytes(data):
    with pytest.raises(ValueError):
        decode(SCHEMA, data)


def test_unknown_fields_are_skipped():
    assert decode(INNER, b"\x18\x05\x08\x01\x21" + bytes(8) + b"\x2d" + bytes(4)) == {"x": 1}


SPACE = """
planes {
  name: "a"  # a comment
  lines { name: "l" timestamp_ns: 10
          events { metadata_id: 1 offset_ps: 5000 duration_ps: 2000
                   stats { metadata_id: 7 str_value: "\\"x\\"" }
                   stats < metadata_id: 8, ref_value: 7 > } }
  event_metadata { key: 1 value { id: 1 name: "ev" } }
  stat_metadata: { key: 7 value: { id: 7 name: 'kind' } }
  stat_metadata { key: 8 value { id: 8 name: "same as" } }
}"""


def test_profiles_from_text():
    data = ProfileData.from_text_proto(SPACE)
    (plane,) = data.planes
    ((event,),) = [list(line.events) for line in plane.lines]
    assert (plane.name, event.name, event.start_ns, event.duration_ns, event.end_ns) == (
        "a", "ev", 15.0, 2.0, 17.0)
    assert list(event.stats) == [("kind", '"x"'), ("same as", "kind")]
    assert data.find_plane_with_name("b") is None
    short = 'planes { name: "a" lines { name: "l" events { metadata_id: 1 offset_ps: 5000 }}}'
    assert ProfileData.text_proto_to_serialized_xspace(short) == (
        b"\n\x0f\x12\x01a\x1a\n\x12\x01l\"\x05\x08\x01\x10\x88\'")


@pytest.mark.parametrize("text", ["planes { x", "planes { name: 3 }", "planes {", "planes: 3",
                                  "planes { id: }", "planes { id: 'x' }", "!", "planes { id"])
def test_texts_that_are_no_profile(text):
    with pytest.raises(RuntimeError, match="the text is not a profile"):
        ProfileData.from_text_proto(text)


def test_invalid_profiles_raise(tmp_path):
    with pytest.raises(JaxRuntimeError, match="the file cannot be read"):
        ProfileData.from_file(tmp_path / "none")
    with pytest.raises(RuntimeError, match="the bytes are not a profile"):
        ProfileData.from_serialized_xspace(b"\xff\xff")
    with pytest.raises(TypeError, match="needs the bytes of a profile"):
        ProfileData("text")
    with pytest.raises(NotImplementedError):
        ProfileData.from_raw_cpp_ptr(None)
    assert list(ProfileData(b"").planes) == []
