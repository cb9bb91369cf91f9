# Model configurations, chosen by name from the environment or the command line.
import os
import sys
from dataclasses import dataclass, field
from typing import Optional


@dataclass(frozen=True)
class ModelConfig:
    name: str
    hidden: int
    heads: int = 32
    kv_heads: Optional[int] = None
    rope_theta: float = 10000.0
    layers: list = field(default_factory=lambda: [0] * 4)

    def __post_init__(self):
        if self.kv_heads is None:
            object.__setattr__(self, "kv_heads", self.heads // 4)
        if self.hidden % self.heads:
            raise ValueError(f"{self.name}: hidden {self.hidden} is not a multiple of {self.heads} heads")

    @property
    def head_dim(self) -> int:
        return self.hidden // self.heads

    @property
    def softmax_scale(self) -> float:
        return self.head_dim**-0.5

    @property
    def group(self):
        return self.heads // self.kv_heads


def _flag(name, default):
    for i, a in enumerate(sys.argv):
        if a == f"--{name}" and i + 1 < len(sys.argv):
            return type(default)(sys.argv[i + 1])
        if a.startswith(f"--{name}="):
            return type(default)(a.split("=", 1)[1])
    return type(default)(os.environ.get(name.upper(), default))


SMALL = ModelConfig(name="small", hidden=2048, heads=16)
LARGE = ModelConfig(name="large", hidden=8192, heads=64, kv_heads=8)
PRESETS = {c.name: c for c in (SMALL, LARGE)}
FLASH = PRESETS[_flag("preset", "small")]
EP_WORLD_SIZE = 8
BATCH = _flag("batch", 16)
assert FLASH.head_dim in (64, 128), FLASH
