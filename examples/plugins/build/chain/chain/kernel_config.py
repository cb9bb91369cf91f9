# Kernels and orchestration of chain

from pathlib import Path

from simpler.task_interface import ArgDirection as _D

_ROOT_DIR = Path(__file__).parent

RUNTIME_CONFIG = {
    "runtime": "tensormap_and_ringbuffer",
    "aicpu_thread_num": 0,
}

ORCHESTRATION = {
    "source": str(_ROOT_DIR / "orchestration" / "chain.cpp"),
    "function_name": "aicpu_orchestration_entry",
    "signature": [_D.IN, _D.IN, _D.OUT],
}

KERNELS = [
    {
        "func_id": 0,
        "name": "add_double",
        "source": str(_ROOT_DIR / "kernels" / "aiv" / "add_double.cpp"),
        "core_type": "aiv",
        "signature": [_D.IN, _D.IN, _D.INOUT, _D.OUT],
    },
]
