import math

import pypto.language as pl
import torch
from config import BATCH, FLASH as M

B = pl.dynamic("B")
HIDDEN = M.hidden
HEADS, HEAD_DIM = M.heads, M.head_dim
SCALE = M.softmax_scale
TILE = min(128, max(16, HEAD_DIM // 2))
ROWS = (BATCH * M.group + TILE - 1) // TILE * TILE
assert ROWS % TILE == 0 and HEAD_DIM % 16 == 0
NEG_INF = -3.0e38 if M.name != "tiny" else float("-inf")
STAGES = 2 if HIDDEN > 4096 else 1
LOG2E = math.log2(math.e)
OFFSETS = [sum(SIZES[:i]) for i in range(3)] if (SIZES := (16, 32, 64)) else []
FREQS = torch.arange(0, HEAD_DIM, 2)


def _row_kernel(tile, dtype=pl.FP32):
    rows = tile * 2
    shape = [rows, HEAD_DIM]

    @pl.jit.inline
    def kernel(x: pl.Tensor[shape, dtype], o: pl.Tensor[shape, dtype]):
        for i in pl.range(0, rows, tile):
            o[i : i + tile, :] = pl.mul(x[i : i + tile, :], SCALE)
        return o

    return kernel


scale_rows = _row_kernel(TILE)
scale_rows_bf16 = _row_kernel(TILE // 2, dtype=pl.BF16)


@pl.jit.inline
def attention(q: pl.Tensor[[B, HIDDEN], pl.BF16], o: pl.Tensor[[B, HIDDEN], pl.BF16]):
    for i in pl.parallel(0, ROWS, TILE):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="attn"):
            s = pl.maximum(pl.mul(q[i : i + TILE, 0 : HEADS * HEAD_DIM], SCALE * LOG2E), NEG_INF)
            o[i : i + TILE, OFFSETS[1] : HIDDEN] = pl.cast(s, pl.BF16)
    return o


def golden(q):
    freqs = FREQS.float() / HEAD_DIM
    return torch.softmax(q * SCALE, dim=-1) * freqs


if __name__ == "__main__":
    golden(torch.rand(4))
