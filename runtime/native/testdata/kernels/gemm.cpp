// c += a · b
#include <stdint.h>

#include "tensor.h"

extern "C" void kernel_entry(int64_t* args) {
#ifdef __DAV_CUBE__
    const Tensor &a = tensor_arg(args, 0), &b = tensor_arg(args, 1), &c = tensor_arg(args, 2);
    for (uint32_t i = 0; i < c.shapes[0]; ++i)
        for (uint32_t j = 0; j < c.shapes[1]; ++j)
            for (uint32_t k = 0; k < a.shapes[1]; ++k) c.at<float>(i, j) += a.at<float>(i, k) * b.at<float>(k, j);
#endif
}
