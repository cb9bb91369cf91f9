#pragma once
// Orchestrations find the handle in the API; kernels have a tensor.h of their own.
#include "pto_orchestration_api.h"
