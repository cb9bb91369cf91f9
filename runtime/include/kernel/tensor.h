// Tensor handles as kernels see them. args[0] to args[T-1] of kernel_entry point to the task's own copies of its handles, in argument order.
//
// A kernel finds element (i, j) of a handle t at
//     reinterpret_cast<T*>(t->buffer.addr)[t->start_offset + i * t->strides[0] + j * t->strides[1]]
// which is what data<T>() and at<T>(i, j) do. Offsets and strides count elements; the layout is ABI.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum class DataType : uint8_t {
    FLOAT32 = 0, FLOAT16 = 1, INT32 = 2, INT16 = 3, INT8 = 4, UINT8 = 5, BFLOAT16 = 6, INT64 = 7, UINT64 = 8, UINT16 = 9, UINT32 = 10,
    BOOL = 11, FP8E4M3FN = 12, FP8E8M0 = 13, FP4E2M1 = 14, FP8E5M2 = 15,
};

inline uint32_t get_element_size(DataType t) {
    constexpr uint8_t bytes[] = {4, 2, 4, 2, 1, 1, 2, 8, 8, 2, 4, 1, 1, 1, 1, 1};
    return static_cast<uint8_t>(t) < sizeof(bytes) ? bytes[static_cast<uint8_t>(t)] : 1;
}

struct alignas(64) Tensor {
    struct { uint64_t addr, size; } buffer;
    struct { uint64_t raw; } owner_task_id;
    uint64_t start_offset;
    int32_t version;
    uint32_t ndims;
    DataType dtype;
    bool manual_dep, is_contiguous;
    uint8_t child_memory;
    uint32_t shapes[5];
    uint64_t extent_elem_cache;
    uint32_t strides[5];
    uint8_t reserved[36];

    uint64_t numel() const {
        uint64_t n = 1;
        for (uint32_t i = 0; i < ndims; ++i) n *= shapes[i];
        return n;
    }
    uint64_t nbytes() const { return numel() * get_element_size(dtype); }
    uint64_t extent_elem() const { return extent_elem_cache; }
    bool is_child_memory() const { return child_memory != 0; }
    uint64_t compute_flat_offset(const uint32_t* idx, uint32_t n) const {
        uint64_t o = start_offset;
        for (uint32_t i = 0; i < n && i < ndims; ++i) o += static_cast<uint64_t>(idx[i]) * strides[i];
        return o;
    }

    // The start of the buffer, which is not that of a view.
    template <class T> T* data_as() const { return reinterpret_cast<T*>(static_cast<uintptr_t>(buffer.addr)); }
    // The first element of the view.
    template <class T> T* data() const { return data_as<T>() + start_offset; }
    // The element at the given indices; there may be fewer than dimensions.
    template <class T, class... I> T& at(I... index) const {
        T* p = data<T>();
        const uint32_t* stride = strides;
        ((p += static_cast<uint64_t>(index) * *stride++), ...);
        return *p;
    }
};
static_assert(sizeof(Tensor) == 128 && offsetof(Tensor, shapes) == 44 && offsetof(Tensor, strides) == 72, "the layout of Tensor is ABI");

using ChipTensor = Tensor;

// Handle and scalar arguments by position: tensors first, then the raw 64 bits of each scalar.
inline const Tensor& tensor_arg(const int64_t* args, int i) { return *reinterpret_cast<const Tensor*>(static_cast<uintptr_t>(args[i])); }
template <class T> inline T scalar_arg(const int64_t* args, int i) {
    static_assert(sizeof(T) <= 8, "a scalar has at most 64 bits");
    T v;
    __builtin_memcpy(&v, &args[i], sizeof(T));
    return v;
}
