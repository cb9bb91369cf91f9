# Kernels and orchestration of rotary

from pathlib import Path

from simpler.task_interface import ArgDirection as _D

_ROOT_DIR = Path(__file__).parent

RUNTIME_CONFIG = {
    "runtime": "tensormap_and_ringbuffer",
    "aicpu_thread_num": 0,
}

ORCHESTRATION = {
    "source": str(_ROOT_DIR / "orchestration" / "rotary.cpp"),
    "function_name": "aicpu_orchestration_entry",
    "signature": [_D.IN, _D.IN, _D.OUT],
}

KERNELS = [
    {
        "func_id": 0,
        "name": "rotate",
        "source": str(_ROOT_DIR / "kernels" / "aiv" / "rotate.cpp"),
        "core_type": "aiv",
        "signature": [_D.IN, _D.IN, _D.INOUT],
    },
]
