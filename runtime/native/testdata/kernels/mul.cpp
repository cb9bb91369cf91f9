// z = x · y
#include <stdint.h>

#include "tensor.h"

extern "C" void kernel_entry(int64_t* args) {
    const Tensor &x = tensor_arg(args, 0), &y = tensor_arg(args, 1), &z = tensor_arg(args, 2);
    for (uint32_t i = 0; i < z.shapes[0]; ++i)
        for (uint32_t j = 0; j < z.shapes[1]; ++j) z.at<float>(i, j) = x.at<float>(i, j) * y.at<float>(i, j);
}
