// What a kernel knows of where it runs. args is the argument of kernel_entry; its last two entries point to the contexts below.
#pragma once

#include <stdint.h>

#define PTO_ARG_LOCAL_CONTEXT 48
#define PTO_ARG_GLOBAL_CONTEXT 49

struct PtoLocalContext {
    int32_t block_idx, block_num;
    void* async_context;
};
struct PtoGlobalContext {
    int32_t sub_block_id, reserved;
    void* dma_workspace[6];
};

static inline const PtoLocalContext* pto_local_context(const int64_t* args) {
    return reinterpret_cast<const PtoLocalContext*>(static_cast<uintptr_t>(args[PTO_ARG_LOCAL_CONTEXT]));
}
static inline const PtoGlobalContext* pto_global_context(const int64_t* args) {
    return reinterpret_cast<const PtoGlobalContext*>(static_cast<uintptr_t>(args[PTO_ARG_GLOBAL_CONTEXT]));
}

// The logical block of an SPMD task, and how many there are.
static inline int32_t get_block_idx(const int64_t* args) { return pto_local_context(args)->block_idx; }
static inline int32_t get_block_num(const int64_t* args) { return pto_local_context(args)->block_num; }
// The vector lane of a mixed task: 0 or 1.
static inline int32_t get_sub_block_id(const int64_t* args) { return pto_global_context(args)->sub_block_id; }
// There is no DMA engine on a host.
static inline void* get_dma_workspace(const int64_t*, int) { return nullptr; }
