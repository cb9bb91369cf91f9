# Changes the configuration before the modules that read it are imported.
import dataclasses
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import config

config.EP_WORLD_SIZE = int(os.environ.get("EP", 16))
config.FLASH = dataclasses.replace(config.FLASH, hidden=4096, heads=32, name="moe")

import pypto.language as pl
import pypto.language.distributed as pld
from attention import HEAD_DIM, attention
from attention import scale_rows as rows

EXPERTS = 64
LOCAL = EXPERTS // config.EP_WORLD_SIZE
for _name, _size in (("GATE", 2), ("UP", 3)):
    globals_copy = {_name: _size * LOCAL}
if LOCAL < 1:
    raise ValueError("more ranks than experts")


@pl.jit.host
def run(x: pl.Tensor[[16, config.FLASH.hidden], pl.BF16], o: pl.Out[pl.Tensor[[16, config.FLASH.hidden], pl.BF16]]):
    for r in pl.range(pld.world_size()):
        for e in pl.range(LOCAL):
            o = attention(x, o)
            o = rows(o, o)
    return o


@pl.program
class Probe:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.Tensor[[HEAD_DIM, LOCAL * 4], pl.FP32]):
        return x
