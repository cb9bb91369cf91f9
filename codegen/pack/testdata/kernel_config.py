# Kernels and orchestration of main

from pathlib import Path

from simpler.task_interface import ArgDirection as _D

_ROOT_DIR = Path(__file__).parent

RUNTIME_CONFIG = {
    "runtime": "tensormap_and_ringbuffer",
    "aicpu_thread_num": 0,
}

ORCHESTRATION = {
    "source": str(_ROOT_DIR / "orchestration" / "main.cpp"),
    "function_name": "aicpu_orchestration_entry",
    "signature": [_D.IN, _D.INOUT, _D.OUT],
}

KERNELS = [
    {
        "func_id": 0,
        "name": "k",
        "source": str(_ROOT_DIR / "kernels" / "aiv" / "k.cpp"),
        "core_type": "aiv",
        "signature": [_D.IN, _D.OUT],
    },
    {
        "func_id": 1,
        "name": "mix_aic",
        "source": str(_ROOT_DIR / "kernels" / "aic" / "mix_aic.cpp"),
        "core_type": "aic",
        "signature": [_D.IN, _D.INOUT, _D.INOUT, _D.OUT],
    },
    {
        "func_id": 2,
        "name": "ext",
        "source": str(_ROOT_DIR / "kernels" / "src" / "ext.cpp"),
        "core_type": "aiv",
        "external": True,
        "extra_include_dirs": ["include", "third party"],
    },
]
