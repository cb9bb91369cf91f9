// z = s0 · x + s1 · y + s2, over windows of up to two dimensions.
#include <stdint.h>

#include "tensor.h"

extern "C" void kernel_entry(int64_t* args) {
    const Tensor &x = tensor_arg(args, 0), &y = tensor_arg(args, 1), &z = tensor_arg(args, 2);
    const float s0 = scalar_arg<float>(args, 3), s1 = scalar_arg<float>(args, 4), s2 = scalar_arg<float>(args, 5);
    if (z.ndims == 1) {
        for (uint32_t i = 0; i < z.shapes[0]; ++i) z.at<float>(i) = s0 * x.at<float>(i) + s1 * y.at<float>(i) + s2;
        return;
    }
    for (uint32_t i = 0; i < z.shapes[0]; ++i)
        for (uint32_t j = 0; j < z.shapes[1]; ++j) z.at<float>(i, j) = s0 * x.at<float>(i, j) + s1 * y.at<float>(i, j) + s2;
}
