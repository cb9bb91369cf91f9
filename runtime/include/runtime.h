#pragma once
// A name that some orchestrations include besides the API.
#include "pto_orchestration_api.h"
