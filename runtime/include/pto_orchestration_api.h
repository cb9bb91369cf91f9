// The orchestration API of the simulated Ascend runtime.
//
// Generated and hand-written orchestration C++ compiles against this one header. It accepts every naming generation of the API at once
// (all names of one concept are aliases of one type). User code links against nothing: runtime calls become commands in a buffer that the simulator
// binds after loading the shared object. A call that needs no answer only adds its command; task ids are known ahead. Nothing here throws: a
// misuse is reported with its call site, latches a fatal error, and every later call does nothing.
//
// The standard headers below are part of the contract: generated code uses std::min, std::max, std::vector and std::string without including
// anything. PTO_NO_SSTREAM leaves out <sstream>, which alone costs a quarter of the compile time, for code that does not name it.
//
// The layout of Tensor is ABI: kernels read it directly.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#ifndef PTO_NO_SSTREAM
#include <sstream>
#endif

#ifndef SIMPLER_DFX
#define SIMPLER_DFX 1
#endif
#ifndef SIMPLER_ORCH_PROFILING
#define SIMPLER_ORCH_PROFILING 0
#endif
#ifndef SIMPLER_SCHED_PROFILING
#define SIMPLER_SCHED_PROFILING 0
#endif
#ifndef SIMPLER_TENSORMAP_PROFILING
#define SIMPLER_TENSORMAP_PROFILING 0
#endif

#define PTO_FILE const char* file = __builtin_FILE(), int line = __builtin_LINE()
#define PTO_LINE int line = __builtin_LINE()

// ---- element types --------------------------------------------------------------------------------------------------------------

enum class DataType : uint8_t {
    FLOAT32 = 0, FLOAT16 = 1, INT32 = 2, INT16 = 3, INT8 = 4, UINT8 = 5, BFLOAT16 = 6, INT64 = 7, UINT64 = 8, UINT16 = 9, UINT32 = 10,
    BOOL = 11, FP8E4M3FN = 12, FP8E8M0 = 13, FP4E2M1 = 14, FP8E5M2 = 15,
};

inline uint32_t get_element_size(DataType t) {
    constexpr uint8_t bytes[] = {4, 2, 4, 2, 1, 1, 2, 8, 8, 2, 4, 1, 1, 1, 1, 1};
    return static_cast<uint8_t>(t) < sizeof(bytes) ? bytes[static_cast<uint8_t>(t)] : 1;
}

inline const char* get_dtype_name(DataType t) {
    constexpr const char* names[] = {"FLOAT32", "FLOAT16", "INT32", "INT16", "INT8", "UINT8", "BFLOAT16", "INT64",
                                     "UINT64", "UINT16", "UINT32", "BOOL", "FP8E4M3FN", "FP8E8M0", "FP4E2M1", "FP8E5M2"};
    return static_cast<uint8_t>(t) < sizeof(names) / sizeof(names[0]) ? names[static_cast<uint8_t>(t)] : "UNKNOWN";
}

// Storage for the element types that a host compiler lacks, with the conversions that get/set_tensor_data and scalars need.
namespace pto {

inline uint32_t bits_of(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
inline float float_of(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }

// Round to nearest, ties to even: IEEE half.
inline uint16_t to_half(float f) {
    const uint32_t u = bits_of(f), sign = (u >> 16) & 0x8000u, mag = u & 0x7fffffffu;
    if (mag > 0x7f800000u) {  // NaN keeps as much of its payload as fits
        const uint32_t man = (mag >> 13) & 0x3ffu;
        return static_cast<uint16_t>(sign | 0x7c00u | (man ? man : 0x200u));
    }
    if (mag >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);
    if (mag < 0x38800000u) {  // subnormal: let the addition align and round
        const float t = float_of(mag) + 0.5f;
        return static_cast<uint16_t>(sign | (bits_of(t) - bits_of(0.5f)));
    }
    return static_cast<uint16_t>(sign | ((mag - 0x38000000u + 0xfffu + ((mag >> 13) & 1u)) >> 13));
}

inline float from_half(uint16_t h) {
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16, exp = (h >> 10) & 0x1fu, man = h & 0x3ffu;
    if (exp == 31) return float_of(sign | 0x7f800000u | (man << 13));
    if (exp) return float_of(sign | ((exp + 112u) << 23) | (man << 13));
    const float f = static_cast<float>(man) * 5.9604644775390625e-8f;  // 2^-24
    return sign ? -f : f;
}

inline uint16_t to_bfloat(float f) {
    const uint32_t u = bits_of(f);
    if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((u >> 16) | ((u & 0x7f0000u) ? 0u : 0x40u));
    return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

template <class T> using if_number = std::enable_if_t<std::is_arithmetic<T>::value>;

// A byte-sized element type: stored, copied and passed, never computed with.
template <int Kind> struct Byte {
    uint8_t bits = 0;
    Byte() = default;
    template <class T, class = if_number<T>> explicit Byte(T v) : bits(static_cast<uint8_t>(v)) {}
};

}  // namespace pto

struct half {
    uint16_t bits = 0;
    half() = default;
    template <class T, class = pto::if_number<T>> explicit half(T v) : bits(pto::to_half(static_cast<float>(v))) {}
    operator float() const { return pto::from_half(bits); }
};
struct bfloat16_t {
    uint16_t bits = 0;
    bfloat16_t() = default;
    template <class T, class = pto::if_number<T>> explicit bfloat16_t(T v) : bits(pto::to_bfloat(static_cast<float>(v))) {}
    operator float() const { return pto::float_of(static_cast<uint32_t>(bits) << 16); }
};
using float16_t = half;
using float8_e4m3_t = pto::Byte<0>;
using float8_e4m3fn_t = pto::Byte<0>;
using float8_e5m2_t = pto::Byte<1>;
using float8_e8m0_t = pto::Byte<2>;
using float4_e2m1x2_t = pto::Byte<3>;
using hifloat8_t = pto::Byte<4>;

// The element type of a C++ type; UINT64 for one that has none.
template <class T> constexpr DataType dtype_of() {
    using std::is_same;
    if constexpr (is_same<T, bool>::value) return DataType::BOOL;
    else if constexpr (is_same<T, float>::value) return DataType::FLOAT32;
    else if constexpr (is_same<T, half>::value) return DataType::FLOAT16;
    else if constexpr (is_same<T, bfloat16_t>::value) return DataType::BFLOAT16;
    else if constexpr (is_same<T, float8_e4m3_t>::value) return DataType::FP8E4M3FN;
    else if constexpr (is_same<T, float8_e5m2_t>::value) return DataType::FP8E5M2;
    else if constexpr (is_same<T, float8_e8m0_t>::value) return DataType::FP8E8M0;
    else if constexpr (is_same<T, float4_e2m1x2_t>::value) return DataType::FP4E2M1;
    else if constexpr (std::is_enum<T>::value) return dtype_of<std::underlying_type_t<T>>();
    else if constexpr (!std::is_integral<T>::value) return DataType::UINT64;
    else if constexpr (sizeof(T) == 1) return std::is_signed<T>::value ? DataType::INT8 : DataType::UINT8;
    else if constexpr (sizeof(T) == 2) return std::is_signed<T>::value ? DataType::INT16 : DataType::UINT16;
    else if constexpr (sizeof(T) == 4) return std::is_signed<T>::value ? DataType::INT32 : DataType::UINT32;
    else return std::is_signed<T>::value ? DataType::INT64 : DataType::UINT64;
}

// Bit copies between a scalar and its 64-bit slot; the upper bits are zero.
template <class T> inline uint64_t to_u64(T v) {
    static_assert(sizeof(T) <= 8, "a scalar has at most 64 bits");
    uint64_t u = 0;
    memcpy(&u, &v, sizeof(T));
    return u;
}
template <class T> inline T from_u64(uint64_t u) {
    static_assert(sizeof(T) <= 8, "a scalar has at most 64 bits");
    T v;
    memcpy(static_cast<void*>(&v), &u, sizeof(T));
    return v;
}

// ---- limits, tags, ids ----------------------------------------------------------------------------------------------------------

constexpr uint32_t PTO_MAX_DIMS = 5;
constexpr uint32_t PTO_MAX_TENSORS = 32, PTO_MAX_SCALARS = 16;          // of a task
constexpr uint32_t PTO_MAX_ENTRY_TENSORS = 256, PTO_MAX_ENTRY_SCALARS = 128;
constexpr int32_t INVALID_KERNEL_ID = -1;

enum class TensorArgType : uint8_t { INPUT = 0, OUTPUT = 1, INOUT = 2, OUTPUT_EXISTING = 3, NO_DEP = 4 };
enum class ArgDirection : uint8_t { SCALAR = 0, IN = 1, OUT = 2, INOUT = 3 };
enum class PTO2ScopeMode : int32_t { AUTO = 0, MANUAL = 1 };
enum class PredicateOp : uint8_t { NONE = 0, EQ, NE, GT, LT, GE, LE };
enum class AddressSpace : uint8_t { HOST = 0, DEVICE = 1 };
// What a dependency edge does: order the tasks, keep the producer's buffers alive. The simulator does both for every edge, and reports a user of a buffer that the
// runtime would not keep alive.
enum DepFlags : uint8_t { DEP_WAIT = 1, DEP_RETAIN = 2 };

// ring << 32 | local. A default-made id is invalid.
struct PTO2TaskId {
    uint64_t raw = ~uint64_t(0);
    static PTO2TaskId invalid() { return PTO2TaskId{}; }
    static PTO2TaskId make(uint32_t ring, uint32_t local) { return PTO2TaskId{(static_cast<uint64_t>(ring) << 32) | local}; }
    uint32_t ring() const { return static_cast<uint32_t>(raw >> 32); }
    uint32_t local() const { return static_cast<uint32_t>(raw); }
    bool is_valid() const { return raw != ~uint64_t(0); }
    bool is_invalid() const { return !is_valid(); }
    friend bool operator==(PTO2TaskId a, PTO2TaskId b) { return a.raw == b.raw; }
    friend bool operator!=(PTO2TaskId a, PTO2TaskId b) { return a.raw != b.raw; }
};

struct MixedKernels {
    int32_t aic_kernel_id = INVALID_KERNEL_ID, aiv0_kernel_id = INVALID_KERNEL_ID, aiv1_kernel_id = INVALID_KERNEL_ID;
};

struct PTO2OrchestrationConfig { int32_t expected_arg_count; };

#define PTO_ERRORS(X) \
    X(NONE, 0) X(SCOPE_DEADLOCK, 1) X(HEAP_RING_DEADLOCK, 2) X(FLOW_CONTROL_DEADLOCK, 3) X(DEP_POOL_OVERFLOW, 4) X(INVALID_ARGS, 5) \
    X(REQUIRE_SYNC_START_INVALID, 7) X(TENSOR_WAIT_TIMEOUT, 8) X(EXPLICIT_ORCH_FATAL, 9) X(SCOPE_TASKS_OVERFLOW, 10) X(TENSORMAP_OVERFLOW, 11) \
    X(SCHEDULER_TIMEOUT, 100) X(ASYNC_COMPLETION_INVALID, 101) X(ASYNC_WAIT_OVERFLOW, 102) X(ASYNC_REGISTRATION_FAILED, 103)
#define PTO_ERROR_NAMES(NAME, CODE) constexpr int32_t PTO2_ERROR_##NAME = CODE, SIMPLER_ERROR_##NAME = CODE;
PTO_ERRORS(PTO_ERROR_NAMES)
#undef PTO_ERROR_NAMES
#undef PTO_ERRORS
constexpr int32_t SIMPLER_ERROR_FANIN_CAPACITY_EXCEEDED = 4;  // newer name of DEP_POOL_OVERFLOW

// ---- commands to the simulator --------------------------------------------------------------------------------------------------

struct Tensor;
struct TensorCreateInfo;

namespace pto {

struct PredicateOperand {
    const Tensor* tensor = nullptr;
    uint32_t ndims = 0;
    uint32_t indices[PTO_MAX_DIMS] = {};
};
struct Predicate {
    PredicateOperand operand;
    PredicateOp op = PredicateOp::NONE;
    int64_t target = 0;
};

// What is wrong, by the number of the report.
enum Fault : int32_t { BUILDER = 2, TENSOR = 15, VIEW = 16, TIMING_SLOT = 20, OUTPUT_INDEX = 29, ARGUMENT = 107, ASSERTION = 109, EXCEPTION = 110 };

// The arguments of one task, as the simulator reads them. Pointers are borrowed until the submit returns.
struct TaskBlock {
    uint32_t tensor_count = 0, scalar_count = 0;
    uint8_t tags[PTO_MAX_TENSORS];            // TensorArgType
    const void* refs[PTO_MAX_TENSORS];        // TensorCreateInfo* for OUTPUT, else Tensor*
    uint64_t scalars[PTO_MAX_SCALARS];
    uint8_t scalar_types[PTO_MAX_SCALARS];    // bytes, plus 0 signed, 16 unsigned, 32 floating, 48 bool
    const PTO2TaskId* deps = nullptr;
    uint64_t order_only = 0;                  // bit i: dependency i, one of the first 64, does not keep the buffers of its task alive
    uint32_t dep_count = 0;
    int32_t block_num = 1;
    int32_t timing_slot = -1;
    uint8_t sync_start = 0, early_resolve = 0, dump_all = 0, kind = 0;  // kind: 0 AIC, 1 AIV, 2 mixed, 3 dummy, 4 alloc
    uint32_t dump_mask = 0;                   // bit i: tensor argument i
    int32_t kernels[3] = {-1, -1, -1};
    Predicate pred;
    const char *error = nullptr, *hint = nullptr;  // first misuse recorded while building
    int32_t error_code = 0, error_line = 0;        // its Fault, and its place when that is not the submit
};

struct Outputs {
    PTO2TaskId task;
    const Tensor* tensors = nullptr;          // owned by the simulator, valid for the whole run
    uint32_t count = 0;
    uint64_t seq = 0;                         // of the command that makes them
};

// What the runtime is asked to do. The payload follows the command in the buffer, in this order and each part rounded up to 8 bytes:
//   SUBMIT   TaskHeader, tags, for each tensor argument a Tensor or TensorCreateInfo, scalars, scalar types, dependencies (none with DEPS_BY_POINTER),
//            and with a predicate its Predicate and Tensor
//   ALLOC    the TensorCreateInfos      READ, WRITE  Access, Tensor, indices
//   FATAL, MISUSE, LOG                  TextPointers
enum class Op : uint8_t { SCOPE_BEGIN, SCOPE_END, ALLOC, SUBMIT, READ, WRITE, COUNT, FATAL, MISUSE, LOG };
struct Command {
    Op op;
    uint8_t call;        // for reports: what the user called
    uint16_t flags;      // SUBMIT: DEPS_BY_POINTER; READ, WRITE: the type of the access
    int32_t line;        // of the call
    uint32_t bytes;      // of the command with its payload
    int32_t number;      // SCOPE_BEGIN: manual; ALLOC: infos; READ, WRITE: indices; COUNT: of vector cores; FATAL, MISUSE, LOG: code or level
    const char* file;    // of the call, nullptr: that of the last one
    uint64_t id;         // of the task that the caller was told
    Tensor* slots;       // where the handles of created outputs go
};
constexpr uint16_t DEPS_BY_POINTER = 1;  // there are too many to copy

struct TaskHeader {
    uint32_t tensor_count, scalar_count;
    const PTO2TaskId* deps;
    uint64_t order_only;
    uint32_t dep_count;
    int32_t block_num, timing_slot;
    uint8_t sync_start, early_resolve, dump_all, kind;
    uint32_t dump_mask;
    int32_t kernels[3];
    uint32_t predicated;
};
struct Access {
    uint64_t bits;
};
struct TextPointers {
    const char *message, *hint;
};

// What a report says when the process dies: the call that was made last, and where the stack of user code begins.
struct Progress {
    volatile int64_t call;   // call << 33 | inside << 32 | line
    volatile int64_t schedule;
    volatile int64_t stack;
};

// Shared with the simulator, which owns it.
struct Channel {
    void (*serve)();         // carries out the commands in the buffer
    Progress* progress;
    uint8_t* buffer;
    uint32_t capacity, used;
    int32_t dead;            // a fatal error is latched: calls do nothing
    uint32_t depth;          // of the open scope
    uint64_t seq, done;      // of the last command in the buffer, and of the last one carried out
    Tensor* slots;           // free handles
    uint32_t slot_count;
    uint32_t next[4];        // local number of the next task of each ring
    uint64_t answer;         // of READ and COUNT
};

// One pointer per shared object; set by pto_bind before the entry function is called.
inline Channel*& channel_pointer() { static Channel* c = nullptr; return c; }
inline Channel& channel() { return *channel_pointer(); }
inline void flush() {
    Channel& c = channel();
    if (c.used) c.serve();
}
inline bool dead() { flush(); return channel().dead != 0; }

// The names of runtime calls in reports.
enum Call : uint8_t { NO_CALL, SCOPE_BEGIN, SCOPE_END, ALLOC_TENSORS, SUBMIT_AIC, SUBMIT_AIV, SUBMIT_MIXED, SUBMIT_DUMMY, GET_DATA, SET_DATA, COUNTS, REPORT, LOGGING };

// A command while it is put into the buffer.
class Writer {
public:
    Writer(Op op, Call call, uint32_t payload, const char* file, int line) : c_(channel()) {
        const uint32_t bytes = static_cast<uint32_t>(sizeof(Command)) + payload;
        if (c_.used + bytes > c_.capacity) c_.serve();
        at_ = static_cast<int64_t>(call) << 33 | static_cast<uint32_t>(line);
        c_.progress->call = at_ | int64_t(1) << 32;
        command_ = reinterpret_cast<Command*>(c_.buffer + c_.used);
        *command_ = Command{op, call, 0, line, bytes, 0, file, ~uint64_t(0), nullptr};
        to_ = reinterpret_cast<uint8_t*>(command_ + 1);
    }
    Command* operator->() { return command_; }
    void put(const void* p, uint32_t n) {
        memcpy(to_, p, n);
        to_ += (n + 7) & ~7u;
    }
    // The id that the simulator will give to the task, and the places of its outputs, for which there must be room.
    Outputs outputs(uint32_t count) {
        const uint32_t ring = c_.depth < 3 ? c_.depth : 3;
        Outputs o;
        o.task = PTO2TaskId::make(ring, c_.next[ring]++);
        o.count = count;
        o.seq = c_.seq + 1;
        o.tensors = command_->slots = c_.slots;
        command_->id = o.task.raw;
        c_.slots = reinterpret_cast<Tensor*>(reinterpret_cast<uint8_t*>(c_.slots) + 128 * count);
        c_.slot_count -= count;
        return o;
    }
    // Puts the command into the buffer; one that needs an answer is carried out at once.
    void add(bool ask = false) {
        ++c_.seq;
        c_.used += command_->bytes;
        if (ask) c_.serve();
        c_.progress->call = at_;
    }

private:
    Channel& c_;
    Command* command_;
    uint8_t* to_;
    int64_t at_;
};
constexpr uint32_t rounded(uint32_t n) { return (n + 7) & ~7u; }

// Asks the simulator to report something. The texts are read at once.
inline void tell(Op op, Call call, int32_t number, const char* message, const char* hint, const char* file, int line) {
    if (channel().dead && op != Op::LOG) return;
    Writer w(op, call, sizeof(TextPointers), file, line);
    w->number = number;
    const TextPointers texts{message, hint};
    w.put(&texts, sizeof texts);
    w.add(true);
}

template <class... A> inline std::string text(const char* format, A... args) {
    char buf[512];
    snprintf(buf, sizeof buf, format, args...);
    return buf;
}
inline std::string text(const char* s) { return s; }

template <class... A> inline void misuse(const char* file, int line, Fault fault, const char* hint, const char* format, A... args) {
    tell(Op::MISUSE, REPORT, fault, text(format, args...).c_str(), hint, file, line);
}

}  // namespace pto

extern "C" __attribute__((visibility("default"), weak)) void pto_bind(pto::Channel* c) {
    pto::channel_pointer() = c;
    setvbuf(stdout, nullptr, _IOLBF, 0);  // what was printed before a crash is worth seeing
}

// ---- tensors --------------------------------------------------------------------------------------------------------------------

// A handle to a strided window of a buffer. Offsets and strides count elements. 128 bytes; kernels depend on the offsets.
struct alignas(64) Tensor {
    struct { uint64_t addr, size; } buffer;
    PTO2TaskId owner_task_id;
    uint64_t start_offset;
    int32_t version;
    uint32_t ndims;
    DataType dtype;
    bool manual_dep, is_contiguous;
    union { uint8_t child_memory; AddressSpace address_space; };
    uint32_t shapes[PTO_MAX_DIMS];
    uint64_t extent_elem_cache;
    uint32_t strides[PTO_MAX_DIMS];
    uint8_t reserved[36];

    Tensor() { memset(static_cast<void*>(this), 0, sizeof *this); owner_task_id = PTO2TaskId::invalid(); }

    uint64_t numel() const {
        uint64_t n = 1;
        for (uint32_t i = 0; i < ndims; ++i) n *= shapes[i];
        return n;
    }
    uint64_t nbytes() const { return numel() * get_element_size(dtype); }
    uint64_t extent_elem() const {
        uint64_t e = 1;
        for (uint32_t i = 0; i < ndims; ++i) {
            if (shapes[i] == 0) return 0;
            e += static_cast<uint64_t>(shapes[i] - 1) * strides[i];
        }
        return e;
    }
    bool is_child_memory() const { return child_memory != 0; }
    template <class T> T* data_as() const { return reinterpret_cast<T*>(static_cast<uintptr_t>(buffer.addr)); }
    uint64_t compute_flat_offset(const uint32_t* idx, uint32_t n) const {
        uint64_t o = start_offset;
        for (uint32_t i = 0; i < n && i < ndims; ++i) o += static_cast<uint64_t>(idx[i]) * strides[i];
        return o;
    }

    // A window of this view. Every dimension must stay inside it; a window with an extent of 0 is empty wherever it lies.
    Tensor view(const uint32_t* s, const uint32_t* o, bool manual = false, PTO_FILE) const {
        Tensor r = with(manual, file, line);
        bool empty = false;
        for (uint32_t i = 0; i < ndims; ++i) { r.shapes[i] = s[i]; empty = empty || s[i] == 0; }
        for (uint32_t i = 0; i < ndims && !empty; ++i) {
            if (static_cast<uint64_t>(o[i]) + s[i] > shapes[i])
                return r.wrong(file, line, "a view must stay inside the tensor that it views", "the view is out of bounds: axis %u covers [%u, %llu) of an extent of %u",
                               i, o[i], static_cast<unsigned long long>(o[i]) + s[i], shapes[i]);
            r.start_offset += static_cast<uint64_t>(o[i]) * strides[i];
        }
        return r.settled();
    }
    Tensor transpose(uint32_t x, uint32_t y, bool manual = false, PTO_FILE) const {
        Tensor r = with(manual, file, line);
        if (x >= ndims || y >= ndims) return r.wrong(file, line, "axes count from 0", "transpose of axes %u and %u of a tensor of %u dimensions", x, y, ndims);
        std::swap(r.shapes[x], r.shapes[y]);
        std::swap(r.strides[x], r.strides[y]);
        return r.settled();
    }
    Tensor permute(const uint32_t* order, bool manual = false, PTO_FILE) const {
        Tensor r = with(manual, file, line);
        uint32_t seen = 0;
        for (uint32_t i = 0; i < ndims; ++i) {
            if (order[i] >= ndims || (seen & (1u << order[i])))
                return r.wrong(file, line, "name every axis once", "permute: entry %u, axis %u, makes it no permutation of %u dimensions", i, order[i], ndims);
            seen |= 1u << order[i];
            r.shapes[i] = shapes[order[i]];
            r.strides[i] = strides[order[i]];
        }
        return r.settled();
    }
    Tensor reshape(const uint32_t* s, uint32_t n, bool manual = false, PTO_FILE) const {
        Tensor r = with(manual, file, line);
        if (!is_contiguous)
            return r.wrong(file, line, "only a packed row-major tensor can be reshaped; copy it into a fresh buffer first", "reshape of a tensor that is not contiguous");
        if (n > PTO_MAX_DIMS) return r.wrong(file, line, "merge dimensions", "reshape to %u dimensions: a tensor has at most %u", n, PTO_MAX_DIMS);
        uint64_t count = 1;
        for (uint32_t i = 0; i < n; ++i) count *= s[i];
        if (count != numel())
            return r.wrong(file, line, "a reshape keeps the number of elements", "reshape of %llu elements to %llu", static_cast<unsigned long long>(numel()),
                           static_cast<unsigned long long>(count));
        r.ndims = n;
        r.pack(s);
        return r.settled();
    }
    Tensor slice(uint32_t dim, uint32_t start, uint32_t end, uint32_t step = 1, bool manual = false, PTO_FILE) const {
        Tensor r = with(manual, file, line);
        if (dim >= ndims || start >= end || end > shapes[dim] || step == 0)
            return r.wrong(file, line, "a slice takes at least one element, up to the extent, with a step of 1 or more", "slice [%u:%u:%u] of axis %u does not fit", start, end, step, dim);
        if (static_cast<uint64_t>(strides[dim]) * step > UINT32_MAX) return r.wrong(file, line, "use a smaller step", "slice: a step of %u makes a stride beyond 32 bits", step);
        r.start_offset += static_cast<uint64_t>(start) * strides[dim];
        r.shapes[dim] = (end - start - 1) / step + 1;
        r.strides[dim] *= step;
        return r.settled();
    }
    std::string dump() const {
        std::string s = pto::text("Tensor{addr=0x%llx, start=%llu, %s[", static_cast<unsigned long long>(buffer.addr),
                                  static_cast<unsigned long long>(start_offset), get_dtype_name(dtype));
        for (uint32_t i = 0; i < ndims; ++i) s += pto::text(i ? ", %u" : "%u", shapes[i]);
        return s + "]}";
    }

    // Sets shapes and row-major strides.
    void pack(const uint32_t* s) {
        uint32_t stride = 1;
        for (uint32_t i = ndims; i-- > 0;) { shapes[i] = s[i]; strides[i] = stride; stride *= s[i]; }
    }

    // Brings what is cached of shapes and strides up to date.
    Tensor& settled() {
        uint64_t expect = 1;
        is_contiguous = true;
        for (uint32_t i = ndims; i-- > 0;) {
            if (shapes[i] != 1 && strides[i] != expect) is_contiguous = false;
            expect *= shapes[i];
        }
        extent_elem_cache = extent_elem();
        return *this;
    }

private:
    Tensor with(bool manual, const char* file, int line) const {
        Tensor r = *this;
        r.manual_dep = manual;
        if (!buffer.addr) r.wrong(file, line, "a tensor variable must be assigned on every path before it is used", "the tensor was never initialised");
        return r;
    }
    template <class... A> Tensor& wrong(const char* file, int line, const char* hint, const char* format, A... args) {
        pto::misuse(file, line, buffer.addr ? pto::VIEW : pto::TENSOR, hint, format, args...);
        return *this;
    }
};
static_assert(sizeof(Tensor) == 128 && offsetof(Tensor, shapes) == 44 && offsetof(Tensor, strides) == 72, "the layout of Tensor is ABI");

inline Tensor make_tensor_external(void* p, const uint32_t* shapes, uint32_t n, DataType t = DataType::FLOAT32, bool manual_dep = false,
                                   int32_t version = 0, uint8_t child_memory = 0, PTO_FILE) {
    Tensor r;
    if (n > PTO_MAX_DIMS) { pto::misuse(file, line, pto::TENSOR, "merge dimensions", "a tensor of %u dimensions: at most %u", n, PTO_MAX_DIMS); return r; }
    r.buffer.addr = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(p));
    r.version = version;
    r.ndims = n;
    r.dtype = t;
    r.manual_dep = manual_dep;
    r.is_contiguous = true;
    r.child_memory = child_memory;
    r.pack(shapes);
    r.extent_elem_cache = r.extent_elem();
    r.buffer.size = r.nbytes();
    return r;
}

// An external tensor with strides of its own, in elements.
inline Tensor make_tensor_strided(void* p, const uint32_t* shapes, const uint32_t* strides, uint32_t n, DataType t = DataType::FLOAT32,
                                  bool manual_dep = false, int32_t version = 0, uint8_t child_memory = 0, PTO_FILE) {
    Tensor r = make_tensor_external(p, shapes, n, t, manual_dep, version, child_memory, file, line);
    for (uint32_t i = 0; i < r.ndims; ++i) r.strides[i] = strides[i];
    r.settled();
    r.buffer.size = r.extent_elem_cache * get_element_size(t);
    return r;
}

// The oldest way to a new buffer: a handle without one, which the first task that has it as an output makes.
inline Tensor make_tensor(const uint32_t* shapes, uint32_t n, DataType t = DataType::FLOAT32, bool manual_dep = false, int32_t version = 0, PTO_FILE) {
    Tensor r = make_tensor_external(nullptr, shapes, n, t, manual_dep, version, 0, file, line);
    r.reserved[0] = 1;
    return r;
}

// A tensor that is asked for by position: it also answers .ref(), so both from_tensor_arg(args.tensor(i)) and args.tensor(i).ref() work.
struct TensorRef : Tensor {
    const Tensor& ref() const { return *this; }
};

// What a new buffer looks like. Must outlive the submit or alloc that uses it.
struct TensorCreateInfo {
    uint32_t ndims;
    DataType dtype;
    bool manual_dep, has_initial_value = false;
    uint32_t shapes[PTO_MAX_DIMS] = {};
    uint64_t initial_value = 0;

    TensorCreateInfo(const uint32_t* s, uint32_t n, DataType t = DataType::FLOAT32, bool manual = false, PTO_FILE)
        : ndims(n), dtype(t), manual_dep(manual) {
        if (n > PTO_MAX_DIMS) {
            pto::misuse(file, line, pto::TENSOR, "merge dimensions", "a tensor of %u dimensions: at most %u", n, PTO_MAX_DIMS);
            ndims = 0;
        }
        for (uint32_t i = 0; i < ndims; ++i) shapes[i] = s[i];
    }
    // The element pattern of v, of v's own width.
    template <class T> void set_initial_value(T v) { has_initial_value = true; initial_value = to_u64(v); }
    uint64_t buffer_size_bytes() const {
        uint64_t n = get_element_size(dtype);
        for (uint32_t i = 0; i < ndims; ++i) n *= shapes[i];
        return n;
    }
};

// The result of a submit or alloc: the task's id and the buffers made for it, in add_output order.
class [[maybe_unused]] TaskOutputTensors {
public:
    TaskOutputTensors() = default;
    explicit TaskOutputTensors(const pto::Outputs& o) : o_(o) {}
    bool empty() const { return o_.count == 0; }
    uint32_t size() const { return o_.count; }
    PTO2TaskId task_id() const { return o_.task; }
    const Tensor& get_ref(uint32_t i, PTO_FILE) const& {
        if (i < o_.count) {
            if (o_.seq > pto::channel().done) pto::flush();
            return o_.tensors[i];
        }
        pto::misuse(file, line, pto::OUTPUT_INDEX, "only buffers that the runtime makes are listed (add_output with a create-info), counted from 0 in argument order",
                    "get_ref(%u) of a task that made %u buffers", i, o_.count);
        static const Tensor none;
        return none;
    }
    const Tensor& get_ref(uint32_t) const&& = delete;

private:
    pto::Outputs o_;
};
using TaskSubmitResult = TaskOutputTensors;

// ---- task arguments -------------------------------------------------------------------------------------------------------------

// The arguments of one task. Stores pointers: tensors, create-infos and the dependency array must live until the submit.
class Arg {
public:
    Arg() = default;
    Arg(const Arg&) = delete;
    Arg& operator=(const Arg&) = delete;

    struct LaunchSpec {
        void set_block_num(int64_t n) { b_->block_num = static_cast<int32_t>(std::clamp<int64_t>(n, INT32_MIN, INT32_MAX)); }
        void set_core_num(int64_t n) { set_block_num(n); }
        int32_t block_num() const { return b_->block_num; }
        int32_t core_num() const { return b_->block_num; }
        void set_require_sync_start(bool v) { b_->sync_start = v; }
        bool require_sync_start() const { return b_->sync_start != 0; }
        explicit LaunchSpec(pto::TaskBlock* b) : b_(b) {}

    private:
        pto::TaskBlock* b_;
    };

private:
    pto::TaskBlock b_;

public:
    LaunchSpec launch_spec{&b_};

    template <class... T> void add_input(T&... t) { add(TensorArgType::INPUT, t...); }
    template <class... T> void add_inout(T&... t) { add(TensorArgType::INOUT, t...); }
    template <class... T> void add_no_dep(T&... t) { add(TensorArgType::NO_DEP, t...); }
    template <class... T> void add_output(T&... t) {
        constexpr bool tensors = (std::is_base_of<Tensor, std::remove_const_t<T>>::value && ...);
        constexpr bool infos = (std::is_same<TensorCreateInfo, std::remove_const_t<T>>::value && ...);
        static_assert(tensors || infos, "add_output takes either tensors or create-infos");
        if constexpr (tensors) add(TensorArgType::OUTPUT_EXISTING, t...);
        else (put(TensorArgType::OUTPUT, &t), ...);
    }
    template <class... T> void add_scalar(T... v) {
        static_assert(((std::is_arithmetic<T>::value || std::is_enum<T>::value) && ...), "a scalar argument is a number or an enum");
        (put_scalar(to_u64(v), scalar_type<T>()), ...);
    }
    void add_scalars(const uint64_t* v, int64_t n, PTO_LINE) {
        if (n < 0 || n > room()) { fail("add_scalars: a count that is negative or makes more than 16 scalars", "a task takes at most 16", line); return; }
        for (int64_t i = 0; i < n; ++i) put_scalar(v[i], scalar_type<uint64_t>());
    }
    void add_scalars_i32(const int32_t* v, int64_t n, PTO_LINE) {
        if (n < 0 || n > room()) { fail("add_scalars_i32: a count that is negative or makes more than 16 scalars", "a task takes at most 16", line); return; }
        for (int64_t i = 0; i < n; ++i) put_scalar(to_u64(v[i]), scalar_type<int32_t>());
    }
    void copy_scalars_from(const Arg& a, int64_t first, int64_t n, PTO_LINE) {
        const int64_t there = a.b_.scalar_count;
        if (first < 0 || n < 0 || first > there || n > there - first) { fail("copy_scalars_from: not so many scalars there", "scalars count from 0", line); return; }
        if (n > room()) { fail("copy_scalars_from: too many scalars", "a task takes at most 16", line); return; }
        for (int64_t i = 0; i < n; ++i) put_scalar(a.b_.scalars[first + i], a.b_.scalar_types[first + i]);
    }

    // One call with count > 0; count == 0 clears.
    void set_dependencies(const PTO2TaskId* deps, uint32_t count, PTO_LINE) {
        kinds_ = nullptr;
        b_.order_only = 0;
        if (count == 0) { b_.deps = nullptr; b_.dep_count = 0; own_.clear(); return; }
        if (!deps) { fail("set_dependencies: a null array with a count", "pass the array that holds the ids", line); return; }
        if (b_.dep_count) { fail("set_dependencies was called twice", "build one array with all dependencies and pass it once", line); return; }
        b_.deps = deps;
        b_.dep_count = count;
    }
    // The older way: one id after the other. It counts as the one call of set_dependencies.
    template <class... T> void add_dep(T... ids) {
        static_assert((std::is_same<T, PTO2TaskId>::value && ...), "a dependency is a task id");
        if (b_.dep_count != own_.size()) { fail("add_dep after set_dependencies", "give all dependencies in one of the two ways"); return; }
        (own_.push_back(ids), ...);
        b_.deps = own_.data();
        b_.dep_count = static_cast<uint32_t>(own_.size());
    }
    // The same with DepFlags for each edge; plain dependencies do both.
    template <class Kind> void set_dependencies_with_kinds(const PTO2TaskId* deps, const Kind* kinds, uint32_t count, PTO_LINE) {
        static_assert(sizeof(Kind) == 1, "the kinds are DepFlags");
        set_dependencies(deps, count, line);
        kinds_ = reinterpret_cast<const uint8_t*>(kinds);
        for (uint32_t i = 0; kinds && i < b_.dep_count && i < 64; ++i) b_.order_only |= static_cast<uint64_t>(!(kinds_[i] & DEP_RETAIN)) << i;
    }
    DepFlags explicit_dep_kind(uint32_t i) const { return static_cast<DepFlags>(kinds_ && i < b_.dep_count ? kinds_[i] : DEP_WAIT | DEP_RETAIN); }
    uint32_t explicit_dep_count() const { return b_.dep_count; }
    PTO2TaskId explicit_dep(uint32_t i) const { return i < b_.dep_count ? b_.deps[i] : PTO2TaskId::invalid(); }
    const PTO2TaskId* explicit_deps_data() const { return b_.deps; }

    void set_allow_early_resolve(bool v = true) { b_.early_resolve = v; }
    bool allow_early_resolve() const { return b_.early_resolve != 0; }
    void set_predicate(const pto::Predicate& p) { b_.pred = p; }
    const pto::Predicate& predicate() const { return b_.pred; }
    void set_task_timing_slot(int32_t s, PTO_LINE) {
        if (s < -1 || s > 15) { fail("set_task_timing_slot: there is no such slot", "the slots are 0 to 15, and -1 is none", line, pto::TIMING_SLOT); return; }
        b_.timing_slot = s;
    }
    int32_t task_timing_slot() const { return b_.timing_slot; }

    void dump() {
        if (b_.tensor_count == 0) { fail("dump() before any tensor was added", "add the tensors first"); return; }
        b_.dump_all = 1;
    }
    template <class... T> void dump(const T&... x) { (mark(&x), ...); }

    uint32_t tensor_count() const { return b_.tensor_count; }
    uint32_t scalar_count() const { return b_.scalar_count; }
    const TensorRef& tensor(uint32_t i) const { return *static_cast<const TensorRef*>(b_.refs[i]); }
    TensorArgType tag(uint32_t i) const { return static_cast<TensorArgType>(b_.tags[i]); }
    uint64_t scalar(uint32_t i) const { return b_.scalars[i]; }
    const uint64_t* scalars() const { return b_.scalars; }
    bool has_error() const { return b_.error != nullptr; }
    const char* error_msg() const { return b_.error ? b_.error : ""; }

    // clear keeps a recorded error, reset drops it; neither touches the launch spec.
    void clear() {
        const pto::TaskBlock old = b_;
        reset();
        b_.error = old.error;
        b_.hint = old.hint;
        b_.error_code = old.error_code;
        b_.error_line = old.error_line;
    }
    void reset() {
        const int32_t blocks = b_.block_num;
        const uint8_t sync = b_.sync_start;
        b_ = pto::TaskBlock();
        b_.block_num = blocks;
        b_.sync_start = sync;
        kinds_ = nullptr;
        own_.clear();
    }

    pto::TaskBlock& block() const { return const_cast<pto::TaskBlock&>(b_); }
    // Records the first misuse. Without a line it is reported at the submit.
    void fail(const char* message, const char* hint, int line = 0, pto::Fault fault = pto::BUILDER) {
        if (b_.error) return;
        b_.error = message;
        b_.hint = hint;
        b_.error_code = fault;
        b_.error_line = line;
    }

private:
    const uint8_t* kinds_ = nullptr;
    std::vector<PTO2TaskId> own_;  // of add_dep

    template <class T> static constexpr uint8_t scalar_type() {
        if constexpr (std::is_enum<T>::value) return scalar_type<std::underlying_type_t<T>>();
        else if constexpr (std::is_same<T, bool>::value) return 48 | 1;
        else if constexpr (std::is_floating_point<T>::value) return 32 | sizeof(T);
        else return (std::is_signed<T>::value ? 0 : 16) | sizeof(T);
    }
    int64_t room() const { return static_cast<int64_t>(PTO_MAX_SCALARS) - b_.scalar_count; }
    template <class... T> void add(TensorArgType tag, T&... t) {
        static_assert(sizeof...(T) > 0, "at least one tensor");
        static_assert((std::is_base_of<Tensor, std::remove_const_t<T>>::value && ...), "a tensor argument is a Tensor variable");
        (put(tag, static_cast<const Tensor*>(&t)), ...);
    }
    void put(TensorArgType tag, const void* p) {
        if (b_.scalar_count) { fail("a tensor was added after a scalar", "add all tensors before the first scalar"); return; }
        if (b_.tensor_count == PTO_MAX_TENSORS) {
            fail("more than 32 tensor arguments", "a task takes at most 32 tensors: pass one bigger buffer and views of it, or split the kernel");
            return;
        }
        b_.tags[b_.tensor_count] = static_cast<uint8_t>(tag);
        b_.refs[b_.tensor_count++] = p;
    }
    void put_scalar(uint64_t v, uint8_t type) {
        if (b_.scalar_count == PTO_MAX_SCALARS) { fail("more than 16 scalar arguments", "a task takes at most 16 scalars: put the values into a tensor"); return; }
        b_.scalar_types[b_.scalar_count] = type;
        b_.scalars[b_.scalar_count++] = v;
    }
    template <class T> void mark(const T* x) {
        for (uint32_t i = 0; i < b_.tensor_count; ++i)
            if (b_.refs[i] == static_cast<const void*>(x)) { b_.dump_mask |= 1u << i; return; }
        if (std::is_base_of<Tensor, T>::value || std::is_same<T, TensorCreateInfo>::value) fail("dump of a tensor that is not an argument", "name the variable that was added");
    }
};

// Arguments with a dependency list of their own.
template <uint32_t N = 16> class ArgWithDeps : public Arg {
public:
    template <class... T> void add_dep(T... ids) { (push(ids, DEP_WAIT | DEP_RETAIN), ...); }
    template <class... T> void add_dep_wait(T... ids) { (push(ids, DEP_WAIT), ...); }
    void finalize_for_submit() {
        Arg::set_dependencies(nullptr, 0);
        Arg::set_dependencies_with_kinds(deps_, flags_, n_);
    }
    void clear() { Arg::clear(); n_ = 0; }
    void reset() { Arg::reset(); n_ = 0; }

private:
    using Arg::set_dependencies;
    using Arg::set_dependencies_with_kinds;
    void push(PTO2TaskId id, int flags) {
        if (n_ == N) { fail("add_dep: more dependencies than the builder holds", "raise its template argument, or use set_dependencies with an array"); return; }
        deps_[n_] = id;
        flags_[n_++] = static_cast<uint8_t>(flags);
    }
    PTO2TaskId deps_[N];
    uint8_t flags_[N];
    uint32_t n_ = 0;
};

// ---- entry arguments ------------------------------------------------------------------------------------------------------------

class ChipStorageTaskArgs {
public:
    ChipStorageTaskArgs(const Tensor* tensors, uint32_t nt, const uint64_t* scalars, uint32_t ns)
        : tensors_(static_cast<const TensorRef*>(tensors)), scalars_(scalars), nt_(nt), ns_(ns) {}
    const TensorRef& tensor(uint32_t i, PTO_FILE) const {
        if (i < nt_) return tensors_[i];
        pto::misuse(file, line, pto::ARGUMENT, hint(), "tensor(%u) of an orchestration that got %u tensors", i, nt_);
        static const TensorRef none{};
        return none;
    }
    uint64_t scalar(uint32_t i, PTO_FILE) const {
        if (i < ns_) return scalars_[i];
        pto::misuse(file, line, pto::ARGUMENT, hint(), "scalar(%u) of an orchestration that got %u scalars", i, ns_);
        return 0;
    }
    uint32_t tensor_count() const { return nt_; }
    uint32_t scalar_count() const { return ns_; }
    const uint64_t* scalars() const { return scalars_; }

private:
    const char* hint() const {
        return nt_ + ns_ ? "tensors and scalars count separately, each from 0" : "describe the arguments: signature of a [[test]] in Pto.toml, or --signature";
    }
    const TensorRef* tensors_;
    const uint64_t* scalars_;
    uint32_t nt_, ns_;
};

inline Tensor from_tensor_arg(const Tensor& t, bool manual_dep = false, int32_t version = 0) {
    Tensor r = t;
    r.manual_dep = manual_dep;
    r.version = version;
    return r;
}

// ---- scopes ---------------------------------------------------------------------------------------------------------------------

namespace pto {

inline void scope_begin(PTO2ScopeMode mode, const char* file, int line) {
    if (channel().dead) return;
    Writer w(Op::SCOPE_BEGIN, SCOPE_BEGIN, 0, file, line);
    w->number = static_cast<int32_t>(mode);
    w.add();
    ++channel().depth;
}

inline void scope_end(const char* file, int line) {
    if (channel().dead) return;
    Writer(Op::SCOPE_END, SCOPE_END, 0, file, line).add();
    if (channel().depth) --channel().depth;
}

}  // namespace pto

class PTO2ScopeGuard {
public:
    explicit PTO2ScopeGuard(PTO2ScopeMode mode = PTO2ScopeMode::AUTO, PTO_FILE) : file_(file), line_(line) {
        pto::scope_begin(mode, file, line);
    }
    explicit PTO2ScopeGuard(pto::Channel*, PTO2ScopeMode mode = PTO2ScopeMode::AUTO, PTO_FILE) : PTO2ScopeGuard(mode, file, line) {}
    ~PTO2ScopeGuard() { pto::scope_end(file_, line_); }
    PTO2ScopeGuard(const PTO2ScopeGuard&) = delete;
    PTO2ScopeGuard& operator=(const PTO2ScopeGuard&) = delete;

private:
    const char* file_;
    int line_;
};

#define PTO_CAT2(a, b) a##b
#define PTO_CAT(a, b) PTO_CAT2(a, b)
#define PTO2_SCOPE(...) if (PTO2ScopeGuard PTO_CAT(pto2_scope_, __LINE__){__VA_ARGS__}; true)
#define PTO2_SCOPE_GUARD(...) PTO2ScopeGuard PTO_CAT(pto2_scope_, __LINE__){__VA_ARGS__}
#define SIMPLER_SCOPE(...) PTO2_SCOPE(__VA_ARGS__)
#define SIMPLER_SCOPE_GUARD(...) PTO2_SCOPE_GUARD(__VA_ARGS__)

inline void rt_scope_begin(PTO2ScopeMode mode = PTO2ScopeMode::AUTO, PTO_FILE) { pto::scope_begin(mode, file, line); }
inline void rt_scope_end(PTO_FILE) { pto::scope_end(file, line); }

// A loop that several orchestration threads once shared: (variable, end), (variable, begin, end) or (variable, begin, end, step). There is one thread.
#define PTO_LOOP2(i, end) PTO_LOOP4(i, 0, end, 1)
#define PTO_LOOP3(i, begin, end) PTO_LOOP4(i, begin, end, 1)
#define PTO_LOOP4(i, begin, end, step) for (int64_t i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end); i += static_cast<int64_t>(step))
#define PTO_LOOP(_1, _2, _3, _4, name, ...) name
#define PTO2_PARALLEL_FOR(...) PTO_LOOP(__VA_ARGS__, PTO_LOOP4, PTO_LOOP3, PTO_LOOP2, none)(__VA_ARGS__)

// ---- submits --------------------------------------------------------------------------------------------------------------------

namespace pto {

// More dependencies than this are not copied.
constexpr uint32_t MANY_DEPS = 256;

TaskOutputTensors submit_making(const Arg& a, uint8_t kind, int32_t aic, int32_t aiv0, int32_t aiv1, const char* file, int line);

// A tensor of make_tensor whose buffer no task has made yet.
inline bool unmade(const TaskBlock& b, uint32_t i) {
    const auto* t = static_cast<const Tensor*>(b.refs[i]);
    return b.tags[i] == static_cast<uint8_t>(TensorArgType::OUTPUT_EXISTING) && !t->buffer.addr && t->reserved[0];
}

inline TaskOutputTensors submit(const Arg& a, uint8_t kind, int32_t aic, int32_t aiv0, int32_t aiv1, const char* file, int line) {
    const TaskBlock& b = a.block();
    Channel& c = channel();
    const Call call = kind == 4 ? ALLOC_TENSORS : static_cast<Call>(SUBMIT_AIC + kind);
    if (c.dead) return TaskOutputTensors();
    if (b.error) {
        tell(Op::MISUSE, call, b.error_code, b.error, b.hint, file, b.error_line > 0 ? b.error_line : line);
        return TaskOutputTensors();
    }
    const bool predicated = b.pred.op != PredicateOp::NONE && b.pred.operand.tensor, many = b.dep_count > MANY_DEPS;
    const uint32_t n = b.tensor_count, scalars = b.scalar_count;
    uint32_t outputs = 0;
    for (uint32_t i = 0; i < n; ++i) {
        outputs += b.tags[i] == static_cast<uint8_t>(TensorArgType::OUTPUT);
        if (unmade(b, i)) return submit_making(a, kind, aic, aiv0, aiv1, file, line);
    }
    if (outputs > c.slot_count) c.serve();
    const uint32_t payload = static_cast<uint32_t>(sizeof(TaskHeader)) + rounded(n) + outputs * sizeof(TensorCreateInfo) + (n - outputs) * sizeof(Tensor) + 8 * scalars +
                             rounded(scalars) + (many ? 0 : 8 * b.dep_count) + (predicated ? sizeof(Predicate) + sizeof(Tensor) : 0);
    Writer w(Op::SUBMIT, call, payload, file, line);
    const TaskHeader h{n, scalars, b.deps, b.order_only, b.dep_count, b.block_num, b.timing_slot, b.sync_start, b.early_resolve, b.dump_all, kind, b.dump_mask, {aic, aiv0, aiv1}, predicated};
    w.put(&h, sizeof h);
    w.put(b.tags, n);
    for (uint32_t i = 0; i < n; ++i) w.put(b.refs[i], b.tags[i] == static_cast<uint8_t>(TensorArgType::OUTPUT) ? sizeof(TensorCreateInfo) : sizeof(Tensor));
    w.put(b.scalars, 8 * scalars);
    w.put(b.scalar_types, scalars);
    if (many) w->flags = DEPS_BY_POINTER;
    else w.put(b.deps, 8 * b.dep_count);
    if (predicated) {
        w.put(&b.pred, sizeof(Predicate));
        w.put(b.pred.operand.tensor, sizeof(Tensor));
    }
    const Outputs o = w.outputs(outputs);
    w.add(many);
    return c.dead ? TaskOutputTensors() : TaskOutputTensors(o);
}

// The task makes the buffers of its tensors of make_tensor, and the user's variables become their handles.
inline TaskOutputTensors submit_making(const Arg& a, uint8_t kind, int32_t aic, int32_t aiv0, int32_t aiv1, const char* file, int line) {
    TaskBlock& b = a.block();
    std::vector<std::pair<uint32_t, Tensor*>> made;
    std::vector<TensorCreateInfo> infos;
    infos.reserve(b.tensor_count);
    for (uint32_t i = 0; i < b.tensor_count; ++i) {
        if (!unmade(b, i)) continue;
        auto* t = const_cast<Tensor*>(static_cast<const Tensor*>(b.refs[i]));
        made.emplace_back(i, t);
        infos.emplace_back(t->shapes, t->ndims, t->dtype, t->manual_dep, file, line);
        b.refs[i] = &infos.back();
        b.tags[i] = static_cast<uint8_t>(TensorArgType::OUTPUT);
    }
    const TaskOutputTensors outs = submit(a, kind, aic, aiv0, aiv1, file, line);
    uint32_t output = 0;
    for (uint32_t i = 0, k = 0; i < b.tensor_count && k < made.size(); ++i) {
        if (i == made[k].first) {
            Tensor* t = made[k++].second;
            if (!outs.empty()) *t = outs.get_ref(output);
            b.refs[i] = t;
            b.tags[i] = static_cast<uint8_t>(TensorArgType::OUTPUT_EXISTING);
            ++output;
        } else {
            output += b.tags[i] == static_cast<uint8_t>(TensorArgType::OUTPUT);
        }
    }
    return outs;
}

inline TaskOutputTensors alloc(const TensorCreateInfo* const* infos, uint32_t n, const char* file, int line) {
    Channel& c = channel();
    if (c.dead) return TaskOutputTensors();
    const uint32_t sent = n <= PTO_MAX_TENSORS ? n : PTO_MAX_TENSORS;
    if (sent > c.slot_count) c.serve();
    Writer w(Op::ALLOC, ALLOC_TENSORS, sent * static_cast<uint32_t>(sizeof(TensorCreateInfo)), file, line);
    w->number = static_cast<int32_t>(n);
    for (uint32_t i = 0; i < sent; ++i) w.put(infos[i], sizeof(TensorCreateInfo));
    const Outputs o = w.outputs(sent);
    w.add();
    return TaskOutputTensors(o);
}

// The C++ type of an element access: its DataType, and DOUBLE for one that no tensor has.
constexpr uint16_t DOUBLE = 255;
template <class T> constexpr uint16_t element_type() { return std::is_same<T, double>::value ? DOUBLE : static_cast<uint16_t>(dtype_of<T>()); }

// Waits for the tasks that an element depends on, then reads or writes it.
inline uint64_t access(Op op, Call call, const Tensor& t, uint32_t n, const uint32_t* idx, uint64_t bits, uint16_t type, const char* file, int line) {
    Channel& c = channel();
    if (c.dead) return 0;
    const uint32_t sent = n <= PTO_MAX_DIMS ? n : PTO_MAX_DIMS + 1;
    Writer w(op, call, static_cast<uint32_t>(sizeof(Access) + sizeof(Tensor)) + rounded(4 * sent), file, line);
    w->number = static_cast<int32_t>(sent);
    w->flags = type;
    const Access a{bits};
    w.put(&a, sizeof a);
    w.put(&t, sizeof t);
    w.put(idx, 4 * sent);
    c.answer = 0;
    w.add(true);
    return c.dead ? 0 : c.answer;
}

inline int32_t cores(int32_t vector, const char* file, int line) {
    Channel& c = channel();
    Writer w(Op::COUNT, COUNTS, 0, file, line);
    w->number = vector;
    w.add(true);
    return static_cast<int32_t>(c.answer);
}

// A first argument that carries the call site of a variadic call.
template <class T> struct Sited {
    const T& value;
    const char* at_file;
    int at_line;
    Sited(const T& v, PTO_FILE) : value(v), at_file(file), at_line(line) {}
};

}  // namespace pto

inline TaskOutputTensors rt_submit_aic_task(int32_t kernel, const Arg& a, PTO_FILE) { return pto::submit(a, 0, kernel, -1, -1, file, line); }
inline TaskOutputTensors rt_submit_aiv_task(int32_t kernel, const Arg& a, PTO_FILE) { return pto::submit(a, 1, -1, kernel, -1, file, line); }
inline TaskOutputTensors rt_submit_task(const MixedKernels& k, const Arg& a, PTO_FILE) {
    return pto::submit(a, 2, k.aic_kernel_id, k.aiv0_kernel_id, k.aiv1_kernel_id, file, line);
}
inline TaskOutputTensors rt_submit_dummy_task(const Arg& a, PTO_FILE) { return pto::submit(a, 3, -1, -1, -1, file, line); }
template <uint32_t N> inline TaskOutputTensors rt_submit_aic_task(int32_t kernel, ArgWithDeps<N>& a, PTO_FILE) {
    a.finalize_for_submit();
    return rt_submit_aic_task(kernel, static_cast<const Arg&>(a), file, line);
}
template <uint32_t N> inline TaskOutputTensors rt_submit_aiv_task(int32_t kernel, ArgWithDeps<N>& a, PTO_FILE) {
    a.finalize_for_submit();
    return rt_submit_aiv_task(kernel, static_cast<const Arg&>(a), file, line);
}
template <uint32_t N> inline TaskOutputTensors rt_submit_task(const MixedKernels& k, ArgWithDeps<N>& a, PTO_FILE) {
    a.finalize_for_submit();
    return rt_submit_task(k, static_cast<const Arg&>(a), file, line);
}
template <uint32_t N> inline TaskOutputTensors rt_submit_dummy_task(ArgWithDeps<N>& a, PTO_FILE) {
    a.finalize_for_submit();
    return rt_submit_dummy_task(static_cast<const Arg&>(a), file, line);
}
// The oldest form names the runtime first.
inline TaskOutputTensors rt_submit_aic_task(pto::Channel*, int32_t kernel, const Arg& a, PTO_FILE) { return rt_submit_aic_task(kernel, a, file, line); }
inline TaskOutputTensors rt_submit_aiv_task(pto::Channel*, int32_t kernel, const Arg& a, PTO_FILE) { return rt_submit_aiv_task(kernel, a, file, line); }
inline TaskOutputTensors rt_submit_task(pto::Channel*, const MixedKernels& k, const Arg& a, PTO_FILE) { return rt_submit_task(k, a, file, line); }
inline TaskOutputTensors rt_submit_dummy_task(pto::Channel*, const Arg& a, PTO_FILE) { return rt_submit_dummy_task(a, file, line); }
inline void rt_scope_begin(pto::Channel*, PTO2ScopeMode mode = PTO2ScopeMode::AUTO, PTO_FILE) { pto::scope_begin(mode, file, line); }
inline void rt_scope_end(pto::Channel*, PTO_FILE) { pto::scope_end(file, line); }

template <class... T> inline TaskOutputTensors alloc_tensors(pto::Sited<TensorCreateInfo> first, const T&... rest) {
    static_assert((std::is_same<T, TensorCreateInfo>::value && ...), "alloc_tensors takes create-infos");
    const TensorCreateInfo* infos[] = {&first.value, &rest...};
    return pto::alloc(infos, 1 + sizeof...(rest), first.at_file, first.at_line);
}
inline TaskOutputTensors alloc_tensors(const TensorCreateInfo* infos, uint32_t n, PTO_FILE) {
    const TensorCreateInfo* p[PTO_MAX_TENSORS];
    for (uint32_t i = 0; i < n && i < PTO_MAX_TENSORS; ++i) p[i] = infos + i;
    return pto::alloc(p, n, file, line);
}
inline TaskOutputTensors alloc_tensors(const Arg& a, PTO_FILE) { return pto::submit(a, 4, -1, -1, -1, file, line); }

// ---- element access, queries, errors --------------------------------------------------------------------------------------------

// Waits for the producers, then reads one element; n == 0 reads the first element of the view.
template <class T = uint64_t> inline T get_tensor_data(const Tensor& t, uint32_t n, const uint32_t* idx, PTO_FILE) {
    return from_u64<T>(pto::access(pto::Op::READ, pto::GET_DATA, t, n, idx, 0, pto::element_type<T>(), file, line));
}
// Waits for the producers and their consumers, then writes one element.
template <class T> inline void set_tensor_data(const Tensor& t, uint32_t n, const uint32_t* idx, T v, PTO_FILE) {
    pto::access(pto::Op::WRITE, pto::SET_DATA, t, n, idx, to_u64(v), pto::element_type<T>(), file, line);
}
// A number as a 16-bit float, as on a device, where those are built-in types.
template <class T, class V, class = std::enable_if_t<(std::is_same<T, half>::value || std::is_same<T, bfloat16_t>::value) && std::is_arithmetic<V>::value>>
inline void set_tensor_data(const Tensor& t, uint32_t n, const uint32_t* idx, V v, PTO_FILE) {
    set_tensor_data<T>(t, n, idx, T(v), file, line);
}

inline int32_t rt_available_cluster_count(PTO_FILE) { return pto::cores(0, file, line); }
inline int32_t rt_available_aiv_count(PTO_FILE) { return pto::cores(1, file, line); }
inline bool rt_is_fatal() { return pto::dead(); }
inline void rt_orchestration_done() {}
#define rt_report_fatal(code, ...) pto::tell(pto::Op::FATAL, pto::REPORT, (code), pto::text(__VA_ARGS__).c_str(), nullptr, __FILE__, __LINE__)

#define PTO_LOG(level, ...) pto::tell(pto::Op::LOG, pto::LOGGING, level, pto::text(__VA_ARGS__).c_str(), nullptr, __FILE__, __LINE__)
#define LOG_ERROR(...) PTO_LOG(0, __VA_ARGS__)
#define LOG_WARN(...) PTO_LOG(1, __VA_ARGS__)
#define LOG_TIMING(...) PTO_LOG(2, __VA_ARGS__)
#define LOG_INFO(...) PTO_LOG(3, __VA_ARGS__)
#define LOG_DEBUG(...) PTO_LOG(4, __VA_ARGS__)
#define LOG_ALWAYS(...) PTO_LOG(3, __VA_ARGS__)
#define LOG_INFO_V0 LOG_INFO
#define LOG_INFO_V1 LOG_INFO
#define LOG_INFO_V2 LOG_INFO
#define LOG_INFO_V3 LOG_INFO
#define LOG_INFO_V4 LOG_INFO
#define LOG_INFO_V5 LOG_DEBUG
#define LOG_INFO_V6 LOG_DEBUG
#define LOG_INFO_V7 LOG_DEBUG
#define LOG_INFO_V8 LOG_DEBUG
#define LOG_INFO_V9 LOG_DEBUG

#define always_assert(cond) \
    do { if (!(cond)) pto::misuse(__FILE__, __LINE__, pto::ASSERTION, "the program checks this itself", "assertion failed: %s", #cond); } while (0)
#define debug_assert(cond) always_assert(cond)

#if SIMPLER_ORCH_PROFILING
inline uint64_t rt_orch_profile_now() { return 0; }
template <class... T> inline void rt_orch_profile_add_dynamic_dep_vector(const T&...) {}
#endif

// ---- the other names of the same things -----------------------------------------------------------------------------------------

using L0TaskArgs = Arg;
using CoreTaskArgs = Arg;
template <uint32_t N = 16> class L0TaskArgsWithDeps : public ArgWithDeps<N> {};  // classes, so that code may leave out the <>
template <uint32_t N = 16> class CoreTaskArgsWithDeps : public ArgWithDeps<N> {};
using PTOParam = Arg;
using L2TaskArgs = ChipStorageTaskArgs;
using ChipTaskArgs = ChipStorageTaskArgs;
using ChipTensor = Tensor;
using ContinuousTensor = Tensor;
using TaskId = PTO2TaskId;
using ScopeMode = PTO2ScopeMode;
using ScopeGuard = PTO2ScopeGuard;
using OrchestrationConfig = PTO2OrchestrationConfig;
using L0PredicateOperand = pto::PredicateOperand;
using CorePredicateOperand = pto::PredicateOperand;
using L0TaskPredicate = pto::Predicate;
using CoreTaskPredicate = pto::Predicate;
constexpr uint32_t RUNTIME_MAX_TENSOR_DIMS = PTO_MAX_DIMS;
constexpr uint32_t CHIP_TASK_WINDOW_SIZE = 16384;
using PTO2Runtime = pto::Channel;
inline PTO2Runtime* current_runtime() { return &pto::channel(); }
namespace simpler {
namespace tmr {
using ::Tensor; using ::TensorCreateInfo; using ::TensorArgType; using ::DataType; using ::TaskId; using ::TaskOutputTensors; using ::ScopeMode; using ::ScopeGuard;
using ::MixedKernels; using ::CoreTaskArgs; using ::CoreTaskArgsWithDeps; using ::ChipTaskArgs; using ::CoreTaskPredicate; using ::CorePredicateOperand; using ::PredicateOp;
using ::OrchestrationConfig; using ::make_tensor_external; using ::make_tensor_strided; using ::alloc_tensors; using ::rt_submit_task; using ::rt_submit_aic_task;
using ::rt_submit_aiv_task; using ::rt_submit_dummy_task; using ::rt_scope_begin; using ::rt_scope_end; using ::rt_available_cluster_count; using ::rt_available_aiv_count;
using ::rt_is_fatal; using ::get_tensor_data; using ::set_tensor_data; using ::to_u64; using ::from_u64; using ::get_element_size; using ::get_dtype_name; using ::AddressSpace;
using ::DepFlags; using ::DEP_WAIT; using ::DEP_RETAIN;
}  // namespace tmr
namespace hbg = tmr;
}  // namespace simpler

// The oldest names of functions, as macros so that the call site stays the user's.
#define pto2_rt_submit_task rt_submit_task
#define pto2_rt_submit_aic_task rt_submit_aic_task
#define pto2_rt_submit_aiv_task rt_submit_aiv_task
#define pto2_rt_submit_dummy_task rt_submit_dummy_task
#define pto2_rt_scope_begin rt_scope_begin
#define pto2_rt_scope_end rt_scope_end

#undef PTO_FILE
#undef PTO_LINE
