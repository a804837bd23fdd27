"""What the code generator knows about a processor."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Target"]


@dataclass(frozen=True)
class Target:
    """A processor, as LLVM knows it, and the bits of its vector registers."""

    triple: str
    cpu: str
    features: str
    vector_bits: int

    @property
    def vector_registers(self) -> int:
        """How many vector registers there are."""
        return 32 if self.multiplies_by_lane or self.vector_bits == 512 else 16

    @property
    def multiplies_bytes(self) -> bool:
        """Whether an instruction adds products of four bytes each to the words of a vector."""
        if self.multiplies_by_lane:
            return "+dotprod" in self.features
        wanted = {512: "+avx512vnni", 256: "+avxvnni"}.get(self.vector_bits)
        return wanted in self.features.split(",")

    @property
    def multiplies_pairs(self) -> bool:
        """Whether an instruction adds products of two numbers of bfloat16 each to float32."""
        return self.vector_bits == 512 and "+avx512bf16" in self.features.split(",")

    @property
    def has_matrix_registers(self) -> bool:
        """Whether registers hold 16 x 16 sums of products of pairs or of bytes (``amx.py``)."""
        return self.multiplies_pairs and {"+amx-bf16", "+amx-int8"} <= {*self.features.split(",")}

    @property
    def multiplies_signed_bytes(self) -> bool:
        """Whether that instruction takes the bytes of both factors to have signs."""
        return self.multiplies_by_lane

    @property
    def multiplies_by_lane(self) -> bool:
        """Whether an instruction multiplies a vector by one lane of another; else a scalar from
        memory is as quick."""
        return self.triple.startswith(("aarch64", "arm64"))

    @property
    def spares_addends(self) -> bool:
        """Whether an instruction that multiplies and adds can overwrite a factor, not the sum."""
        return not self.triple.startswith(("aarch64", "arm64"))

    @property
    def saturates(self) -> bool:
        """Whether vectors of floats that become integers are clipped by the same instruction."""
        return self.triple.startswith(("aarch64", "arm64"))

    @property
    def has_half(self) -> bool:
        """Whether there is arithmetic in float16, or LLVM at least makes as good as that."""
        return self.triple.startswith(("aarch64", "arm64")) or "+avx512fp16" in self.features
