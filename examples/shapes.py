"""Sizes shared by the matrix examples."""

M = 64
N = 64
K = 128
TILE = 32

assert M % TILE == 0 and N % TILE == 0 and K % TILE == 0
