// Each block writes one row, each vector lane of a mixed task its half.
#include <stdint.h>

#include "intrinsic.h"
#include "pipe_sync.h"
#include "tensor.h"

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args) {
    __gm__ Tensor* t = reinterpret_cast<__gm__ Tensor*>(args[0]);
    const float value = scalar_arg<float>(args, 1);
#if defined(__DAV_VEC__)
    const int core = 1 + get_sub_block_id(args);
#elif defined(__DAV_CUBE__)
    const int core = 0;
#endif
    float* p = reinterpret_cast<float*>(t->buffer.addr) + t->start_offset;
    p[get_block_idx(args) * t->strides[0] + core] = value + static_cast<float>(100 * get_block_num(args) + 10 * get_block_idx(args) + core);
    pipe_sync();
}
