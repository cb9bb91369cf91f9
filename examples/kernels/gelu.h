#pragma once

#include <cmath>

inline float gelu(float x, float factor) { return 0.5f * x * (1 + std::tanh(0.7978845608f * (x + factor * x * x * x))); }
