// The name of the API header in newer code.
#pragma once
#include "pto_orchestration_api.h"
